"""A Spark application that is killed as a whole, by -9, when the kernel tells of a call on its disk."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from killing import go, kill_session, ready
from sql.inotify import Watch
from sql.test_statements import environment

PATIENCE = 300.0
"""Seconds that a statement may take."""


@dataclass(frozen=True)
class Death:
    """When an application is killed: at an event, counted among those of its name."""

    event: str
    number: int = 0


def run(warehouse: Path, statement: str, death: Death | None) -> tuple[list[str], bool]:
    """Run a statement in an application of its own.

    Returns:
        What happened on the disk until it ended or died, and whether it was acknowledged.
    """
    stderr = warehouse.parent / f"{warehouse.name}.txt"
    given = (str(warehouse), statement)
    with ready("sql.run_killed", *given, stderr=stderr, environment=environment()) as app:
        assert app.stdout is not None
        with Watch(warehouse) as watch:
            go(app)
            os.set_blocking(app.stdout.fileno(), False)
            return _watched(app, watch, death)


def _watched(
    app: subprocess.Popen[bytes], watch: Watch, death: Death | None
) -> tuple[list[str], bool]:
    assert app.stdout is not None
    seen: list[str] = []
    for event in watch.events(time.monotonic() + PATIENCE):
        if event:
            seen.append(event)
            if death is not None and event == death.event and seen.count(event) > death.number:
                kill_session(app.pid)
                app.wait()
                return seen, app.stdout.read() == b"done\n"
        elif app.stdout.readline() == b"done\n":
            return seen, True
        else:
            assert app.poll() is None, "the statement failed"
    raise AssertionError("the statement does not end")
