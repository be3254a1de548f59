"""A store in which another writer acts around a put."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from faults.store import FaultyStore, Plan, shape
from versioned_catalog.storage.store import Put, Store


@dataclass
class Interruption:
    """What another writer does, once, before or after a put of a certain shape takes effect."""

    at: str
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None
    happened: bool = False


class InterruptedStore(FaultyStore):
    """A store around another one, whose puts can be interrupted."""

    def __init__(
        self, inner: Store, plan: Plan, interruption: Interruption, prefix: str = ""
    ) -> None:
        super().__init__(inner, plan, prefix)
        self._interruption = interruption

    def child(self, path: str) -> Store:
        prefix = f"{self._prefix}{path}/"
        return InterruptedStore(self._inner.child(path), self._plan, self._interruption, prefix)

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        what = self._interruption
        struck = not what.happened and shape("put", self._prefix + path) == what.at
        what.happened |= struck
        if struck and what.before:
            what.before()
        outcome = super().put_if_absent(path, data, dated)
        if struck and what.after:
            what.after()
        return outcome
