"""Two jobs on one table, interleaved at every storage call of the first."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from faults.store import Fault, FaultyStore, Plan
from maintain.tables import shown
from versioned_catalog import Catalog, Table
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Store

Steps = Mapping[int, Callable[[], object]]


class Died(BaseException):
    """The process died at a storage call."""


class SteppedStore(FaultyStore):
    """A store that calls back before some of its calls.

    Args:
        inner: the store that does the work.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, Plan())
        self._steps: dict[int, Callable[[], object]] = {}

    @property
    def calls(self) -> list[str]:
        """The calls since ``begin``."""
        return self._plan.calls

    def begin(self, steps: Steps) -> None:
        """Count calls from now on.

        Args:
            steps: what happens before which call, counted from 0; an exception ends the job.
        """
        self._plan.calls.clear()
        self._steps = dict(steps)

    def _fault(self, method: str, path: str) -> Fault | None:
        if then := self._steps.pop(len(self._plan.calls), None):
            then()
        return super()._fault(method, path)


def stepped(root: Path, at: int, then: Callable[[], object], more: Steps | None = None) -> Table:
    """The table on a store that calls back; calls are counted from the first one after loading."""
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
    """The storage calls of a job, recorded on a copy of the table; ``then`` runs in between."""
    copy = root / "counted"
    shutil.copytree(root / "t", copy / "t")
    table = stepped(copy, at, lambda: then(copy))
    job(table)
    shutil.rmtree(copy)
    found = table.store
    assert isinstance(found, SteppedStore)
    return found.calls


def die() -> None:
    """End a job as the death of its process would."""
    raise Died


def forget(root: Path) -> None:
    """Delete the hint and all checkpoints, so that readers start from the log and from kept states."""
    shutil.rmtree(root / "t/_versioned/checkpoint", ignore_errors=True)
    (root / "t/_versioned/last_checkpoint.json").unlink(missing_ok=True)


def check_whole(root: Path, expected: Callable[[int], list[int] | None]) -> None:
    """Check that a fresh reader can read every retained version and tag, from the log alone.

    Args:
        root: the folder of the table.
        expected: the rows of a version, or None if it does not exist.
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
