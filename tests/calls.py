"""Count the function calls of some work, for tests that must not depend on time."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """The number of function calls, including those in C."""
    count = 0

    def hook(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
