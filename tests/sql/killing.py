"""Kill a whole Spark application with SIGKILL when inotify reports a given file event."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from killing import go, kill_session, ready
from sql.inotify import Watch
from sql.test_statements import environment

TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class KillPoint:
    """The moment to kill an application: after the event, and ``number`` earlier ones of its name."""

    event: str
    number: int = 0


def run(warehouse: Path, statement: str, kill_point: KillPoint | None) -> tuple[list[str], bool]:
    """Run a statement in its own application; see ``run_module``."""
    arguments = (str(warehouse), statement)
    return run_module("sql.run_one_statement", arguments, warehouse, kill_point)


def run_module(
    module: str,
    arguments: Sequence[str],
    watched: Path,
    kill_point: KillPoint | None,
    hear: Callable[[str], str] = str,
) -> tuple[list[str], bool]:
    """Run an application that prints ``ready``, waits for a line, works, and prints ``done``.

    Args:
        watched: the folder whose file events count.
        hear: called with each event; returns its name.

    Returns:
        The file events until it ended or was killed, and whether the work was acknowledged.
    """
    stderr = watched.parent / f"{watched.name}.txt"
    with ready(module, *arguments, stderr=stderr, environment=environment()) as app:
        assert app.stdout is not None
        with Watch(watched) as watch:
            go(app)
            os.set_blocking(app.stdout.fileno(), False)
            return _watched(app, watch, kill_point, hear)


def _watched(
    app: subprocess.Popen[bytes],
    watch: Watch,
    kill_point: KillPoint | None,
    hear: Callable[[str], str],
) -> tuple[list[str], bool]:
    assert app.stdout is not None
    seen: list[str] = []
    for event in watch.events(time.monotonic() + TIMEOUT_SECONDS):
        if event:
            name = hear(event)
            seen.append(name)
            if (
                kill_point is not None
                and name == kill_point.event
                and seen.count(name) > kill_point.number
            ):
                kill_session(app.pid)
                app.wait()
                return seen, app.stdout.read() == b"done\n"
        elif app.stdout.readline() == b"done\n":
            return seen, True
        else:
            assert app.poll() is None, "the work failed"
    raise AssertionError("the work did not end in time")
