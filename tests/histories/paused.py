"""A store that pauses or kills maintenance at one storage call, and whose clock stands still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from faults.store import FaultyStore, Plan
from versioned_catalog import Table
from versioned_catalog.storage.store import Store


class Killed(BaseException):
    """The process that uses the store died; handlers of ordinary errors do not catch this."""


@dataclass
class Pause:
    """The point at which an operation stops, and what runs there.

    Args:
        method: the storage call at which it stops; empty for any call.
        skip: the number of such calls to let pass.
        then: what runs at that point; None if the process dies there.
        reached: whether the call occurred.
        running: whether ``then`` is running.
    """

    method: str = ""
    skip: int = 0
    then: Callable[[], object] | None = None
    reached: bool = False
    running: bool = False

    def strike(self, method: str) -> None:
        """Run what happens at this call, if this is the point.

        Raises:
            Killed: the process dies here, or died before.
        """
        if self.reached and self.then is None:
            raise Killed
        if self.reached or self.running or (self.method and self.method != method):
            return
        if self.skip:
            self.skip -= 1
            return
        self.reached = True
        if self.then is None:
            raise Killed
        self.running = True
        self.then()
        self.running = False


class PausedStore(FaultyStore):
    """A store around another one that stops at one call.

    Args:
        inner: the store that does the work.
        clock: the time that it reports.
        pause: the point at which it stops; None for none.
    """

    def __init__(self, inner: Store, clock: datetime, pause: Pause | None) -> None:
        super().__init__(inner, Plan())
        self._clock = clock
        self._pause = pause

    def child(self, path: str) -> Store:
        return PausedStore(self._inner.child(path), self._clock, self._pause)

    def _fault(self, method: str, path: str) -> None:
        if self._pause is not None:
            self._pause.strike(method)

    def now(self) -> datetime:
        super().now()
        return self._clock


def over(table: Table, clock: datetime, pause: Pause | None = None) -> Table:
    """The same table on a store that stops, or that reports another time."""
    store = PausedStore(table.store, clock, pause)
    log = type(table.log)(store, table.log._codec)
    return Table(log, table.loaded, table.name)
