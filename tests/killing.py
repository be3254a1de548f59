"""Killing by -9."""

from __future__ import annotations

import contextlib
import os
import signal


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
