"""Isolation: under ``serializable``, whether rows that an operation looked at came or went since."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from versioned_catalog.conflicts.operations import Rewrite
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.expressions.filters import filter_on
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.pruning.inclusive import ColumnBounds, may_match
from versioned_catalog.pruning.partitions import partition_may_match
from versioned_catalog.pruning.segments import some_match
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.widening import widens

ISOLATION = "isolation"
"""The table property that says what DELETE, UPDATE, MERGE and their like are kept apart from."""


class Isolation(enum.Enum):
    """What an operation that reads rows and writes others conflicts with."""

    SNAPSHOT = "snapshot"
    """Whoever removed a segment that it removes."""
    SERIALIZABLE = "serializable"
    """And whoever added or removed a segment that may hold rows that it looked for."""


def isolation_of(properties: Mapping[str, str]) -> Isolation:
    """What a table's properties ask for.

    Raises:
        InvalidRequestError: it is nothing that there is.
    """
    text = properties.get(ISOLATION, Isolation.SNAPSHOT.value)
    try:
        return Isolation(text)
    except ValueError:
        known = " or ".join(repr(level.value) for level in Isolation)
        raise InvalidRequestError(
            f"the property {ISOLATION} is {text!r}; it must be {known}", condition="INVALID_OPTION"
        ) from None


def check_reads(operation: Rewrite, state: TableState, log: TableTimeline, table: str) -> None:
    """Refuse a rewrite that another order of the commits since its base would have made another.

    Args:
        operation: what was planned.
        state: the newest state.
        log: where it comes from.
        table: the table, for errors.

    Raises:
        CommitConflictError: a segment that came or went since may match what was looked for.
    """
    base = operation.base
    if state.version == base.version or _isolation(state, table) is Isolation.SNAPSHOT:
        return
    looked_at: frozenset[str] | None = None
    for entry in log.since(base.version, state.version):
        if isinstance(entry, Stub):
            raise _conflict(operation, entry.version, "an expired commit", table)
        if entry.head.operation == "compact":
            continue  # it holds the rows that were there
        if entry.removed and looked_at is None:
            try:
                looked_at = _looked_at(operation, log)
            except NotFoundError:
                raise _conflict(
                    operation, entry.head.version, "whose base is expired", table
                ) from None
        gone = looked_at is not None and not looked_at.isdisjoint(entry.removed)
        if gone or _may_match(operation, entry, state):
            raise _conflict(operation, entry.head.version, entry.head.operation, table)


def _isolation(state: TableState, table: str) -> Isolation:
    try:
        return isolation_of(state.properties)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{table}: {error}") from None


def _conflict(operation: Rewrite, version: int, what: str, table: str) -> CommitConflictError:
    return CommitConflictError(
        f"{table}: version {version} ({what}) may have added or removed rows that this "
        f"{operation.kind}, planned on version {operation.base.version}, looked for "
        f"({ISOLATION}={Isolation.SERIALIZABLE.value}); refresh() the table and run it again"
    )


def _looked_at(operation: Rewrite, log: TableTimeline) -> frozenset[str]:
    """The segments of the base that may hold a row that was looked for."""
    state = log.load(operation.base.version).state
    assert state is not None, "an operation is planned on a table"
    if operation.reads is None:
        return frozenset(state.segments.paths)
    found = state.segments.core["path"].filter(some_match(state, operation.reads))
    return frozenset(found.to_pylist())


def _may_match(operation: Rewrite, entry: Commit, state: TableState) -> bool:
    """Whether a segment that an entry added may hold a row that was looked for."""
    reads = operation.reads
    if reads is not None and state.schema.is_keyed:
        # A row that does not match may have taken the place of one that did.
        reads = filter_on(reads, state.schema.row_key)
    if not entry.added or reads is None:
        return bool(entry.added)
    segments = SegmentSet().add(entry.added, entry.head.version, entry.head.time, state.schemas)
    added = replace(state, segments=segments)
    written = [state.schemas[record.schema_version] for record in entry.added]
    bounds = _Decidable(added, operation.base.schema, written)
    found = may_match(reads, bounds, segments.count)
    return bool(pc.any(pc.and_(found, partition_may_match(reads, added))).as_py())


class _Decidable:
    """Bounds of segments in terms of an older schema: of the columns that are now what they were.

    Args:
        added: a state that holds the segments.
        base: the schema that a filter was bound to.
        written: the schemas that the segments were written under.
    """

    def __init__(self, added: TableState, base: Schema, written: Iterable[Schema]) -> None:
        self._bounds = SegmentBounds(added, added.schema)
        self._base = base
        self._schemas = [base, *written]
        self._now = added.schema

    def __call__(self, column_id: int) -> ColumnBounds | None:
        """The bounds of a column, or None where nothing is known."""
        return self._bounds(column_id) if self._is_same(column_id) else None

    def _is_same(self, column_id: int) -> bool:
        if not (column_id in self._base.ids and column_id in self._now.ids):
            return False
        type_ = self._now.column(column_id).type
        held = [schema for schema in self._schemas if column_id in schema.ids]
        # A rollback may have made the column narrower than a segment holds it.
        fits = all(widens(schema.column(column_id).type, type_) for schema in held)
        return fits and self._base.column(column_id).type == type_
