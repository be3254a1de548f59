"""Progress callbacks of long-running work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and its total."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
