"""The clock of a store as this process knows it, without a request for each look."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from versioned_catalog.errors import StorageError

ASKED_ANEW = 300.0
"""Seconds after which a store is asked again."""

COARSE = timedelta(seconds=2)
"""How coarse the clocks of stores are: S3 shows whole seconds, a disk its last tick. A process's clock
that differs by less shows the same time, only finer."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True)
class _Heard:
    """What a clock showed, and when that was by the steady clock of this machine.

    Args:
        time: what it showed.
        at: seconds since this machine started.
        is_own: whether it was this process's own clock.
    """

    time: datetime
    at: float
    is_own: bool


class Clock:
    """A store's clock: heard now and then, and carried on by the monotonic clock in between.

    The process's own clock may be wrong, or jump. It counts only where it agrees with the store's, and
    where the store can't be asked.
    """

    def __init__(self) -> None:
        self._heard: _Heard | None = None

    def __reduce__(self) -> tuple[type[Clock], tuple[()]]:
        # Another machine counts its seconds from another start.
        return type(self), ()

    @property
    def is_own(self) -> bool:
        """Whether the last look was at the process's own clock, since the store could not be asked."""
        return self._heard is not None and self._heard.is_own

    def hear(self, time: datetime) -> None:
        """Take note of what the store's clock shows at this moment."""
        own = datetime.now(UTC)
        self._heard = _Heard(own if abs(own - time) < COARSE else time, _steady(), is_own=False)

    def now(self, ask: Callable[[], datetime]) -> datetime:
        """The store's time.

        Args:
            ask: asks the store, where it was not heard of lately.
        """
        heard = self._heard
        if heard is None or not 0 <= _steady() - heard.at < ASKED_ANEW:
            heard = self._ask(ask)
        return heard.time + timedelta(seconds=_steady() - heard.at)

    def _ask(self, ask: Callable[[], datetime]) -> _Heard:
        try:
            self.hear(ask())
        except StorageError:
            # A reader that may not write, or a store without a clock.
            self._heard = _Heard(datetime.now(UTC), _steady(), is_own=True)
        assert self._heard is not None
        return self._heard


def _steady() -> float:
    """Seconds since this machine started, those in which it slept too, where that can be known."""
    return time.clock_gettime(_STEADY)
