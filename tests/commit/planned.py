"""The log of a table in memory. Its commits name segments that do not exist: rules read no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.operations import (
    Alter,
    Append,
    Base,
    Compact,
    Create,
    Expire,
    Fence,
    Import,
    KeyCheck,
    NewFiles,
    Operation,
    Overwrite,
    PlannedOn,
    Replace,
    Resolve,
    Rewrite,
    Rollback,
    Tag,
)
from versioned_catalog.log.ledger import ImportedFile, Taken
from versioned_catalog.log.marks import marked_rows
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import AddColumn, Change
from versioned_catalog.model.types import Atom
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import timeline_at
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.storage.opening import open_store

UNKNOWN = -1
"""In place of a number of nulls: the segment has no statistics."""


class Planned:
    """A table with the columns ``k`` (ID 1) and ``v`` (ID 2), created by version 0.

    Version 1 adds segment ``a`` with k from 1 to 10, version 2 segment ``b`` with k from 11 to 20.
    An operation is planned on the base: the version at the last call of ``plan_here``.
    """

    def __init__(self, ddl: str = "k INT, v INT", **how: Any) -> None:
        self.log = timeline_at(open_store(f"memory://{uuid4()}"))
        self.loaded = self.log.load()
        self.commit(creation(ddl, **how))
        self.plan_here()
        self.a = self.segment(1, 10)
        self.commit(Append(self.here, (self.a,)))
        self.plan_here()
        self.b = self.segment(11, 20)
        self.commit(Append(self.here, (self.b,)))
        self.plan_here()

    @property
    def state(self) -> TableState:
        assert self.loaded.state is not None
        return self.loaded.state

    @property
    def here(self) -> Base:
        """The newest version, as a base."""
        return Base.of(self.state)

    def plan_here(self) -> None:
        """Take the newest version as the base of the operations that follow."""
        self.planned = self.state
        self.base = self.here

    def commit(self, operation: Operation) -> bool:
        """Commit an operation, and return whether it wrote an entry."""
        before, commit_id = self.loaded.version, str(uuid4())
        self.loaded = self.log.commit(
            self.loaded,
            commit_id,
            lambda state: propose(operation, state, commit_id, "t", self.log),
        ).loaded
        return self.loaded.version > before

    @property
    def live(self) -> set[str]:
        return set(self.state.segments.paths)

    # Operations that are planned on the base.

    def segment(
        self, low: int, high: int, nulls: int = 0, base: int | None = None
    ) -> SegmentRecord:
        """A segment of the base's schema with k from ``low`` to ``high``, and nulls in v."""
        columns = {1: ColumnStats(nulls=0, min=str(low), max=str(high))}
        if nulls != UNKNOWN:
            columns[2] = ColumnStats(nulls=nulls, min="0", max="9")
        name = f"data/{self.base.version if base is None else base}-{uuid4().hex}.parquet"
        return SegmentRecord(name, self.base.schema.version, 10, 1000, columns=columns)

    def append(self, low: int = 21, high: int = 30, *, takes: str = "", **how: Any) -> Append:
        new = self._new_files(takes) if takes else None
        return Append(self.base, (self.segment(low, high, **how),), new_files=new)

    def _new_files(self, *names: str) -> NewFiles:
        return NewFiles(tuple(map(_copied, names)), self.base.version)

    def imports(
        self, *names: str, removed: tuple[SegmentRecord, ...] = (), looked: bool = True, **how: Any
    ) -> Import:
        """An import of files by name, one segment for all, in place of some segments."""
        files = tuple(map(_copied, names))
        paths = tuple(record.path for record in removed)
        new = NewFiles(files, self.base.version) if looked else None
        added = (self.segment(21, 30, **how),)
        return Import(self.base, added, removed=paths, new_files=new, files=files)

    def append_with_column(self) -> Append:
        bound, after = self._bound(AddColumn(("w",), Atom.INT))
        record = replace(self.segment(21, 30), schema_version=after.schema.version)
        return Append(self.base, (record,), bound)

    def overwrite(self, *removed: SegmentRecord, nulls: int = 0, low: int = 31) -> Overwrite:
        """An overwrite of all rows of the base, or of some segments."""
        paths = tuple(record.path for record in removed) or None
        added = (self.segment(low, low + 9, nulls),)
        return Overwrite(self.base, added, removed=paths)

    def rewrite(
        self,
        kind: str,
        *removed: SegmentRecord,
        nulls: int = 0,
        where: list[Any] | None = None,
        low: int | None = 31,
        changes: tuple[Change, ...] = (),
        takes: str = "",
    ) -> Rewrite:
        """Replace segments by one with k from ``low`` on; rows that match ``where`` were read."""
        bound, after = self._bound(*changes) if changes else ((), None)
        added = () if low is None else (self.segment(low, low + 9, nulls),)
        if after is not None:
            added = tuple(replace(one, schema_version=after.schema.version) for one in added)
        reads = bind_filters(where, self.base.schema)
        paths = tuple(record.path for record in removed)
        new = self._new_files(takes) if takes else None
        return Rewrite(self.base, added, bound, paths, new_files=new, kind=kind, reads=reads)

    def mark(
        self,
        kind: str,
        segment: SegmentRecord,
        *positions: int,
        where: list[Any] | None = None,
        low: int | None = None,
    ) -> Rewrite:
        """Mark rows of a segment as deleted, and add one with k from ``low`` on, if given."""
        rewrite = self.rewrite(kind, where=where, low=low)
        return replace(rewrite, marks={segment.path: np.array(positions, np.int64)})

    def marked(self, segment: SegmentRecord) -> list[int] | None:
        """The marked rows of a segment; None if it has no mark, or is not live."""
        mark = self.state.segments.mark_of(segment.path)
        if mark is None:
            return None
        return marked_rows(self.log.store, mark, segment.path, segment.rows).tolist()

    def upsert_of_read_rows(self, kind: str, low: int, *, meets: bool = True) -> Rewrite:
        """Upsert rows that were computed from rows of the base, into a keyed table."""
        added = (self.segment(low, low + 9),)
        keys = KeyCheck(self.base.version, added, lambda *_: meets)
        reads = bind_filters(None, self.base.schema)
        return Rewrite(self.base, added, kind=kind, reads=reads, keys=keys)

    def compact(self, *removed: SegmentRecord, nulls: int = 0, moved: bool = False) -> Compact:
        """Replace segments by ``merged``, of which the rows are in the same order if ``moved``."""
        paths = tuple(record.path for record in removed)
        self.merged = replace(self.segment(1, 20, nulls), rows=10 * len(removed))
        groups = ((len(removed), 1, True),) if moved else ()
        return Compact(self.base, (self.merged,), removed=paths, moved=groups)

    def resolve(self, **hidden: tuple[int, ...]) -> Resolve:
        """Mark the hidden rows of the segments ``a`` and ``b``, by name."""
        marks = {
            getattr(self, name).path: np.array(rows, np.int64) for name, rows in hidden.items()
        }
        return Resolve(self.base, (), hidden=marks)

    def resolved(self, segment: SegmentRecord) -> int | None:
        """The version up to which the hidden rows of a segment are marked."""
        mark = self.state.segments.mark_of(segment.path)
        return None if mark is None else mark.resolved

    def alter(
        self, *changes: Change, nulls_in_data: int = 0, needs_the_plan: bool = False
    ) -> Alter:
        """An ALTER, which may need the schema and the properties that it was planned on."""
        bound, _ = self._bound(*changes)
        planned_on = PlannedOn.of(self.planned) if needs_the_plan else None
        return Alter(self.base, bound, lambda *_: nulls_in_data, planned_on)

    def rollback(self, version: int) -> Rollback:
        return Rollback(self.base, version)

    def tag(self, name: str, version: int | None) -> Tag:
        return Tag(self.base, name, version)

    def fence(self, version: int) -> Fence:
        return Fence(self.base, version)

    def expire(self, floor: int, *kept: int) -> Expire:
        return Expire(self.base, floor, frozenset(kept))

    def replace(self, *, rows: bool = False, read: int | None = None) -> Replace:
        created: Create = creation("k INT, v INT")
        if rows:
            version = self.planned.schemas.newest.version + 1
            record = replace(self.segment(41, 50), schema_version=version)
            created = replace(created, records=(record,), first_column_id=self.base.next_column_id)
        return Replace(created, self.base.created_uuid, self.base.version, read)

    def _bound(self, *changes: Change) -> Any:
        state = self.planned
        return plan_changes(changes, state.evolution, state.schemas.newest.version + 1)


def _copied(name: str) -> ImportedFile:
    return ImportedFile(name, 1000, 1, "", Taken.COPIED)


Step = Callable[[Planned], Operation]
"""Plans an operation on the base of a table."""


def now(step: Step) -> Step:
    """The same operation, planned on the newest version."""

    def planned(planned: Planned) -> Operation:
        kept = planned.planned, planned.base
        planned.plan_here()
        created = step(planned)
        planned.planned, planned.base = kept
        return created

    return planned
