"""Try inputs one after another: ``python -m fuzz TARGET --seed 7 --count 1000``.

It is a process of its own, since an input may crash it. An input depends only on the seed and its
number, so it can be repeated: ``--first N --count 1``.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

from fuzz.targets import TARGETS

ADDRESSES = 6 << 30
"""Bytes of address space."""

GROWTH = 1 << 20
"""The KiB by which one input may raise the peak memory."""

SECONDS = 20
"""Seconds of processor time that one input may take."""

WAITING = 300
"""Seconds by the clock that one input may take, on a busy machine."""


class TooLong(BaseException):
    """An exception that no code of the project catches."""


def _too_long(*_: Any) -> None:
    raise TooLong


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def attempt(target: str, data: bytes) -> str | None:
    """Run one input, and return the finding, or None."""
    before = _peak()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WAITING)
    try:
        TARGETS[target].attempt(data)
    except TooLong:
        return f"took more than {SECONDS} s\n{traceback.format_exc()}"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    grown = _peak() - before
    return f"took {grown >> 10} MiB" if grown > GROWTH else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seed", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--folder", type=Path, required=True, help="where findings are put")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(kind, _too_long)
    make, current = TARGETS[given.target].make, given.folder / "current"
    make(Random(0))
    end = time.monotonic() + given.seconds
    tried = 0
    for number in range(given.first, given.first + given.count):
        if time.monotonic() > end:
            break
        data = make(Random(f"{given.seed} {given.target} {number}"))
        current.write_bytes(b"%d\n" % number + data)
        wrong = attempt(given.target, data)
        if wrong is not None:
            (given.folder / f"{number}.input").write_bytes(data)
            (given.folder / f"{number}.txt").write_text(wrong, errors="backslashreplace")
        tried += 1
    print(json.dumps({"tried": tried, "peak_mib": _peak() >> 10}))


if __name__ == "__main__":
    sys.exit(main())
