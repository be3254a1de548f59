"""Two jobs on one table, interleaved at every storage call of the first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from faults.store import Fault, FaultyStore, Plan
from maintenance.tables import shown
from versioned_catalog import Catalog, Table
from versioned_catalog.placing import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Store


class Died(BaseException):
    """The process ended at a storage call."""


class SteppedStore(FaultyStore):
    """A store that calls back before one of the calls to it.

    Args:
        inner: the real one.
        at: the number of that call, from 0.
        then: what happens there; an exception that it raises ends the job.
    """

    def __init__(self, inner: Store, at: int, then: Callable[[], object]) -> None:
        super().__init__(inner, Plan())
        self._at, self._then = at, then

    def _fault(self, method: str, path: str) -> Fault | None:
        if len(self._plan.calls) == self._at:
            self._at = -1
            self._then()
        return super()._fault(method, path)


def stepped(root: Path, at: int, then: Callable[[], object]) -> Table:
    """The table, calling back before a storage call; counted from the first call after loading."""
    store = SteppedStore(LocalStore(str(root / "t")), -1, then)
    table = load_at(store, "t")
    store._plan.calls.clear()
    store._at = at
    return table


def calls_of(root: Path, job: Callable[[Table], object]) -> list[str]:
    """The storage calls that a job makes, tried on a copy of the table."""
    copy = root / "counted"
    shutil.copytree(root / "t", copy / "t")
    table = stepped(copy, -1, lambda: None)
    job(table)
    shutil.rmtree(copy)
    found = table.store
    assert isinstance(found, SteppedStore)
    return found._plan.calls


def die() -> None:
    """End a job as a killed process does."""
    raise Died


def forget(root: Path) -> None:
    """Leave readers nothing to start from but the log and what expiry keeps."""
    shutil.rmtree(root / "t/_versioned/checkpoint", ignore_errors=True)
    (root / "t/_versioned/last_checkpoint.json").unlink(missing_ok=True)


def check_whole(root: Path, expected: Callable[[int], list[int] | None]) -> None:
    """Every retained version and tag is read by a fresh reader, from the log alone.

    Args:
        root: where the table is.
        expected: the rows of a version, or None where there was none.
    """
    newest = Catalog.load_path(root / "t").version
    forget(root)
    table = Catalog.load_path(root / "t")
    state = table.state
    assert state.version == newest
    for version in sorted({*range(state.floor, newest + 1), *state.tags.values()}):
        rows = expected(version)
        if rows is not None:
            assert shown(table, version) == rows, version
