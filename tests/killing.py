"""Killing by -9."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def kill_session(leader: int) -> None:
    """Kill a process and its session: of Spark the driver, its JVM, and Python's workers, which have
    process groups of their own. Of one that leads no session, itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGKILL)
    for _ in range(3):
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.getsid(int(entry)) == leader:
                    os.kill(int(entry), signal.SIGKILL)


@contextlib.contextmanager
def ready(
    module: str, *arguments: str, stderr: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """An application in a session of its own, which has said that it is ready; killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr.open("wb"),
        env=environment,
        cwd=stderr.parent,
        start_new_session=True,
    ) as app:
        assert app.stdout is not None
        try:
            while (line := app.stdout.readline()) != b"ready\n":
                assert line, stderr.read_text()[-3000:]
            yield app
        finally:
            kill_session(app.pid)


def go(app: subprocess.Popen[bytes]) -> None:
    """Tell an application that is ready to begin."""
    assert app.stdin is not None
    app.stdin.write(b"go\n")
    app.stdin.flush()
