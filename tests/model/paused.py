"""A store that pauses or ends one storage operation of maintenance, and whose clock stands still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from faults.store import FaultyStore, Plan
from versioned_catalog import Table
from versioned_catalog.storage.store import Store


class Killed(BaseException):
    """The process that used the store is gone; no handler of ordinary errors sees it."""


@dataclass
class Pause:
    """Where an operation stops, and what happens there.

    Args:
        method: the storage call that it stops at; empty for any call.
        skip: how many such calls pass before that.
        then: what runs at that point; None if the process is killed there.
        reached: whether the call came.
        running: whether ``then`` is running.
    """

    method: str = ""
    skip: int = 0
    then: Callable[[], object] | None = None
    reached: bool = False
    running: bool = False

    def strike(self, method: str) -> None:
        """Run what happens at this call, if it is the one.

        Raises:
            Killed: the process is killed here, or was killed before.
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
    """A store around another one, which is stopped at one call.

    Args:
        inner: the store that does the work.
        clock: what time it shows.
        pause: where it stops; None for nowhere.
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
    """The same table over a store that is stopped, or whose clock shows another time."""
    store = PausedStore(table.store, clock, pause)
    timeline = type(table.log)(store, table.log._codec)
    return Table(timeline, table.loaded, table.name)
