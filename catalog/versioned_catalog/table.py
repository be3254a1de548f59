"""A table: read it, write to it, alter it, look into its past."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from versioned_catalog import inspection
from versioned_catalog.adapting.implicit import find_implicit
from versioned_catalog.alteration import Alteration
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.filtering.filters import bind, parse_filters
from versioned_catalog.log.beginning import evolution_of
from versioned_catalog.log.entry import Batch, Commit, Stub
from versioned_catalog.log.operations import (
    Alter,
    Append,
    Base,
    Drop,
    Operation,
    Overwrite,
)
from versioned_catalog.log.proposing import propose
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.timeline import Loaded, Timeline
from versioned_catalog.scanning.scan import Scan
from versioned_catalog.schema.binding import plan as plan_changes
from versioned_catalog.schema.changes import Change, SetProperty
from versioned_catalog.schema.paths import ColumnPath, parse_path, render_path
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import render_sort_by
from versioned_catalog.schema.transforms import parse_transform, render_field
from versioned_catalog.schema.types import Column, is_repeated
from versioned_catalog.segments.writer import target_bytes
from versioned_catalog.storage.store import Store
from versioned_catalog.writing.plan import WritePlan, batches_of, plan_write

TableTimeline = Timeline[Commit, TableState]


class Table:
    """One table, seen at one version: it sees its own commits at once, others' after ``refresh()``.

    Made by ``Catalog``.
    """

    def __init__(self, timeline: TableTimeline, loaded: Loaded[TableState], name: str) -> None:
        self._timeline = timeline
        self._loaded = loaded
        self.name = name

    def __repr__(self) -> str:
        return f"Table({self.name!r}, version={self.version})"

    @property
    def store(self) -> Store:
        """The table's folder."""
        return self._timeline.store

    @property
    def location(self) -> str:
        """Where the table's folder is."""
        return self.store.url

    @property
    def state(self) -> TableState:
        """The snapshot that this table shows."""
        state = self._loaded.state
        if state is None or state.dropped:
            raise NotFoundError(f"there is no table at {self.location}")
        return state

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.state.schema

    @property
    def version(self) -> int:
        """The version of the newest commit that this table has seen."""
        return self.state.version

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        sort_by = render_sort_by(self.schema)
        return {**self.state.properties, **({"sort_by": sort_by} if sort_by else {})}

    @property
    def comment(self) -> str | None:
        """The table's comment."""
        return self.state.comment

    @property
    def partitioning(self) -> list[str]:
        """What new segments are split by: ``["days(ts)"]``."""
        return [
            render_field(self.schema.path(f.source), parse_transform(f.transform))
            for f in self.schema.partitioning
        ]

    def refresh(self) -> Table:
        """See what others have committed.

        Returns:
            The table itself.
        """
        self._loaded = self._timeline.advance(self._loaded)
        return self

    # Reading

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        *,
        prune: bool = True,
    ) -> Scan:
        """A scan of one snapshot; it stays what it is, whatever is committed later.

        Args:
            columns: names of top-level columns, implicit ones too (``_segment``,
                ``_schema_version``, ``_row_position``, ``_sequence``, ``_commit_time``); None for
                the table's own.
            filters: tuples as in ``pyarrow.parquet.read_table``: a list of them is an AND, a list of
                lists an OR of ANDs; with Spark's semantics.
            version: read the table as of this version, with the schema of then.
            timestamp: or as of this time (without offset: UTC).
            prune: False reads all segments; the answer is the same.

        Raises:
            NotFoundError: a column, or the version, is not there.
            InvalidRequestError: the filters make no sense.
        """
        state = self.at(version, timestamp)
        shown = state.schema.columns if columns is None else self._columns(state.schema, columns)
        unbound = parse_filters(filters)
        bound = None if unbound is None else bind(unbound, lambda path: resolve(state.schema, path))
        return Scan(self.store, state, shown, bound, prune=prune)

    def _columns(self, schema: Schema, names: Sequence[str]) -> list[Column]:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidRequestError(f"columns must be a list of names, not {names!r}")
        names = list(names)
        if not all(isinstance(name, str) for name in names):
            raise InvalidRequestError(f"columns must be a list of names, not {names!r}")
        found = [resolve(schema, (name,)) for name in names]
        for column in found:
            above = schema.ancestors(column.id) if column.id > 0 else ()
            if above:
                raise InvalidRequestError(
                    f"{schema.path_text(column.id)} is inside {above[0].name}; a scan shows whole "
                    "columns, so ask for that one"
                )
        doubled = {c.name for c in found if sum(c.id == other.id for other in found) > 1}
        if doubled:
            raise InvalidRequestError(f"columns are asked for twice: {', '.join(sorted(doubled))}")
        return found

    def count(self) -> int:
        """How many rows there are, from metadata alone."""
        return self.state.segments.rows

    def at(self, version: int | None = None, timestamp: datetime | str | None = None) -> TableState:
        """The snapshot at a version or a time; the one this table shows where neither is given.

        Raises:
            NotFoundError: there was no table then.
            InvalidRequestError: both are given, or the time is none.
        """
        if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
            raise InvalidRequestError(f"{version!r} is no version, which is a whole number")
        if version is not None and timestamp is not None:
            raise InvalidRequestError("give a version or a timestamp, not both")
        if timestamp is not None:
            version = self._version_at(_time(timestamp))
        if version is None or version == self.version:
            return self.state
        if version < 0 or version > self.version:
            raise NotFoundError(
                f"{self.name} has no version {version}; the newest is {self.version}"
            )
        state = self._timeline.load(version).state
        if state is None or state.dropped:
            raise NotFoundError(f"{self.name} was dropped at version {version}")
        return state

    def _version_at(self, time: datetime) -> int:
        """The last version not later than a time, by halving."""
        low, high = -1, self.version
        while low < high:
            middle = (low + high + 1) // 2
            (entry,) = self._timeline.entries(middle, middle)
            then = entry.time if isinstance(entry, Stub) else entry.head.time
            low, high = (middle, high) if then <= time else (low, middle - 1)
        if low < 0:
            raise NotFoundError(f"{self.name} did not exist yet at {time.isoformat()}")
        return low

    # Writing

    def append(self, data: Any, *, merge_schema: bool = False) -> int:
        """Add rows.

        Columns are bound by name to the schema of now; one that is left out takes its default.

        Args:
            data: a pyarrow Table, RecordBatch or RecordBatchReader.
            merge_schema: add the columns that the table does not have, in the same commit.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: the rows do not fit the table; nothing is written.
            CommitConflictError: they do not fit what the table has become meanwhile.
            CommitOutcomeUnknown: the store did not say whether the commit landed.
        """
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_append(plan, records)

    def overwrite(self, data: Any, *, merge_schema: bool = False) -> int:
        """Put rows in the place of all that this table shows; schema, IDs and history stay.

        Arguments, result and errors are those of ``append``.
        """
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_overwrite(plan, records)

    def _write(self, data: Any, *, merge_schema: bool) -> tuple[WritePlan, list[SegmentRecord]]:
        arrow, batches = batches_of(data)
        plan = self.plan_write(arrow, merge_schema=merge_schema)
        return plan, plan.write(arrow, batches, self.store)

    def plan_write(self, arrow: pa.Schema, *, merge_schema: bool = False) -> WritePlan:
        """Plan a write that is carried out elsewhere, and committed by ``commit_append``."""
        return plan_write(self.store, self.state, self.name, arrow, merge_schema=merge_schema)

    def commit_append(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Commit segments that were written by a plan. See ``append``."""
        assert plan.base is not None
        return self._commit(Append(plan.base, tuple(records), plan.changes, batch), commit_id)

    def commit_overwrite(
        self, plan: WritePlan, records: Sequence[SegmentRecord], *, commit_id: str | None = None
    ) -> int:
        """Commit segments that replace all those of the plan's base. See ``overwrite``."""
        assert plan.base is not None
        return self._commit(Overwrite(plan.base, tuple(records), plan.changes), commit_id)

    def alter(self) -> Alteration:
        """Begin changing the schema or properties: chain changes, then ``commit()``."""
        return Alteration(self._alter)

    def _alter(self, changes: tuple[Change, ...]) -> int:
        if not changes:
            raise InvalidRequestError("there is nothing to commit: chain changes before commit()")
        state = self.state
        for change in changes:
            if isinstance(change, SetProperty):
                target_bytes({change.key: change.value})  # refuse what no write could obey
        bound, _ = plan_changes(changes, evolution_of(state), max(state.schemas) + 1)
        return self._commit(Alter(Base.of(state), bound, self._count_nulls))

    def _count_nulls(self, state: TableState, column: Column) -> int:
        """How often a column is null of itself, by reading it."""
        above = state.schema.ancestors(column.id)
        top = above[0] if above else column
        total = 0
        for batch in Scan(self.store, state, (top,)).to_batches():
            total += inspection.own_nulls(batch.column(0), (*above, column))
        return total

    def _commit(self, operation: Operation, commit_id: str | None = None) -> int:
        identity = commit_id or str(uuid.uuid4())
        self._loaded = self._timeline.commit(
            self._loaded, identity, lambda state: propose(operation, state, identity, self.name)
        )
        return self._loaded.version

    def drop(self) -> int:
        """End the table. Its log stays; ``Catalog.drop_table`` also frees the name."""
        return self._commit(Drop(Base.of(self.state)))

    def find_commit(self, commit_id: str, since: int = -1) -> int | None:
        """Whether a commit landed, after ``CommitOutcomeUnknown``.

        Args:
            commit_id: who it is.
            since: a version before it; the log is read from there.

        Returns:
            Its version, or None if it has not landed up to now.
        """
        self.refresh()
        return self._timeline.find_commit(commit_id, since, self._loaded.version)

    # Looking into it

    def history(self) -> pa.Table:
        """One row a commit, oldest first: ``version`` (int64), ``time`` (timestamp, UTC),
        ``operation``, ``schema_version`` (int32), ``rows_added``, ``segments_added``,
        ``segments_removed`` (int64), ``base_version`` (int64), ``changes`` (list of text),
        ``writer``, ``commit_id``. Expired commits show version, time and commit ID only.
        """
        return inspection.history(self._timeline.entries(0, self.version))

    def segments(self) -> pa.Table:
        """One row a live segment: ``path``, ``schema_version`` (int32), ``rows``, ``bytes``,
        ``sequence`` (int64: the version that added it), ``commit_time`` (timestamp, UTC),
        ``partition`` (list of text), ``checksum``.
        """
        return inspection.segments(self.state)

    def schemas(self) -> pa.Table:
        """One row a column and schema version: ``schema_version`` (int32), ``position`` (int32, in
        pre-order from 0), ``column_id`` (int32), ``parent_id`` (int32, null at the top), ``path``,
        ``physical_path``, ``type``, ``nullable``, ``read_default``, ``write_default`` (as SQL),
        ``comment``.
        """
        return inspection.schemas(self.state)


def resolve(schema: Schema, path: ColumnPath) -> Column:
    """The column that a path means in a scan: the table's own, or an implicit one.

    Raises:
        NotFoundError: there is none.
        InvalidRequestError: it has many values in one row.
    """
    found = schema.find(path)
    if found is None and len(path) == 1:
        found = find_implicit(path[0]) or schema.find(parse_path(path[0]))
    if found is None:
        return schema.get(path)
    if found.id > 0 and is_repeated(schema.ancestors(found.id)):
        raise InvalidRequestError(
            f"{render_path(path)} has many values in one row, since it is inside a list or map"
        )
    return found


def _time(value: datetime | str) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise InvalidRequestError(
                f"{value!r} is no timestamp; write it as 2026-01-31T12:00:00Z"
            ) from None
    if not isinstance(value, datetime):
        raise InvalidRequestError(f"{value!r} is no timestamp")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value
