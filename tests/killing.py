"""Start applications in their own session, and kill them with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def kill_session(leader: int) -> None:
    """Kill a process and all processes of its session, if it leads one.

    For Spark these are the driver, its JVM and the Python workers, which have their own process groups.
    """
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
    """Start an application in its own session and wait until it prints ``ready``; kill it at the end."""
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
    """Let an application that is ready continue."""
    assert app.stdin is not None
    app.stdin.write(b"go\n")
    app.stdin.flush()
