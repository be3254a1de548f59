"""Two jobs on one table, interleaved at every storage call of the first."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from faults.store import Fault, FaultyStore, Plan
from maintenance.tables import shown
from versioned_catalog import Catalog, Table
from versioned_catalog.catalog.locations import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Store

Steps = Mapping[int, Callable[[], object]]


class Died(BaseException):
    """The process ended at a storage call."""


class SteppedStore(FaultyStore):
    """A store that calls back before some of the calls to it.

    Args:
        inner: the real one.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, Plan())
        self._steps: dict[int, Callable[[], object]] = {}

    @property
    def calls(self) -> list[str]:
        """The calls since the steps were set."""
        return self._plan.calls

    def begin(self, steps: Steps) -> None:
        """Count calls from here on.

        Args:
            steps: what happens before which call, from 0; an exception ends the job.
        """
        self._plan.calls.clear()
        self._steps = dict(steps)

    def _fault(self, method: str, path: str) -> Fault | None:
        if then := self._steps.pop(len(self._plan.calls), None):
            then()
        return super()._fault(method, path)


def stepped(root: Path, at: int, then: Callable[[], object], more: Steps | None = None) -> Table:
    """The table, calling back before a storage call; counted from the first call after loading."""
    store = SteppedStore(LocalStore(str(root / "t")))
    table = load_at(store, "t")
    store.begin({at: then} | (more or {}))
    return table


def calls_of(
    root: Path,
    job: Callable[[Table], object],
    at: int = -1,
    then: Callable[[Path], object] = lambda root: None,
) -> list[str]:
    """The storage calls that a job makes, tried on a copy of the table; with something in between."""
    copy = root / "counted"
    shutil.copytree(root / "t", copy / "t")
    table = stepped(copy, at, lambda: then(copy))
    job(table)
    shutil.rmtree(copy)
    found = table.store
    assert isinstance(found, SteppedStore)
    return found.calls


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
