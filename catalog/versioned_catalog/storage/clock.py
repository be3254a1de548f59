"""A store's clock, read now and then and kept by the monotonic clock in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from versioned_catalog.errors import StorageError

REFRESH_SECONDS = 300.0
"""Seconds after which a store's clock is read again."""

CLOCK_RESOLUTION = timedelta(seconds=2)
"""The resolution of stores' clocks: S3 shows whole seconds, a disk its last tick. If the clock of the
process differs by less, it shows the same time in finer steps."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True)
class _Reading:
    """A reading of a clock, ``at`` seconds after this machine started.

    ``is_own`` says that it was the clock of this process.
    """

    time: datetime
    at: float
    is_own: bool


class Clock:
    """A store's clock.

    The clock of this process may be wrong, or jump. It is used only if it agrees with the store's, or if
    the store's can't be read.
    """

    def __init__(self) -> None:
        self._last: _Reading | None = None

    def __reduce__(self) -> tuple[type[Clock], tuple[()]]:
        # Another machine counts its seconds from another start.
        return type(self), ()

    @property
    def is_own(self) -> bool:
        """Whether the last reading was of this process's clock, since the store's could not be read."""
        return self._last is not None and self._last.is_own

    def observe(self, time: datetime) -> None:
        """Record what the store's clock shows at this moment."""
        local = datetime.now(UTC)
        agrees = abs(local - time) < CLOCK_RESOLUTION
        self._last = _Reading(local if agrees else time, _steady(), is_own=False)

    def now(self, ask: Callable[[], datetime]) -> datetime:
        """The store's time; ``ask`` reads its clock, and is called if the last reading is old."""
        last = self._last
        if last is None or not 0 <= _steady() - last.at < REFRESH_SECONDS:
            last = self._ask(ask)
        return last.time + timedelta(seconds=_steady() - last.at)

    def _ask(self, ask: Callable[[], datetime]) -> _Reading:
        try:
            self.observe(ask())
        except StorageError:
            # A reader that may not write, or a store without a clock.
            self._last = _Reading(datetime.now(UTC), _steady(), is_own=True)
        assert self._last is not None
        return self._last


def _steady() -> float:
    """Seconds since this machine started, including sleep if the system counts it."""
    return time.clock_gettime(_STEADY)
