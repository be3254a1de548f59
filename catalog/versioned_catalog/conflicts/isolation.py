"""Rule: under ``serializable``, the rows that were read stay (FORMAT.md, section 11, note 7)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Rewrite
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.expressions.filters import filter_on
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.pruning.inclusive import ColumnBounds, may_match
from versioned_catalog.pruning.partitions import partition_may_match
from versioned_catalog.pruning.segments import some_match
from versioned_catalog.schema.schema import Schema
from versioned_catalog.spelling import one_of
from versioned_catalog.types.widening import widens

ISOLATION = "isolation"
"""The table property that sets the isolation of DELETE, UPDATE, MERGE and overwrites of some rows."""


class Isolation(enum.Enum):
    """Concurrent commits that an operation which reads rows and writes others conflicts with."""

    SNAPSHOT = "snapshot"
    """Commits that removed a segment which it removes."""
    SERIALIZABLE = "serializable"
    """Also commits that added or removed a segment which may hold rows that it looked for."""


def isolation_of(properties: Mapping[str, str]) -> Isolation:
    """The isolation that a table's properties set.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(ISOLATION, Isolation.SNAPSHOT.value)
    return one_of(Isolation, text, f"the property {ISOLATION}")


def reads_unchanged(attempt: Attempt[Rewrite]) -> None:
    """Refuse a rewrite that might have had another result after the concurrent commits.

    Raises:
        CommitConflictError: a segment that a concurrent commit added or removed may match what the
            operation looked for.
    """
    operation, state = attempt.operation, attempt.state
    base = operation.base.version
    if state.version == base or _isolation(state, attempt.table) is Isolation.SNAPSHOT:
        return

    def conflicts(commit: Commit) -> bool:
        if commit.head.operation == "compact":
            return False  # it holds the same rows
        gone = bool(commit.removed) and not _read_paths(attempt, commit).isdisjoint(commit.removed)
        return gone or _may_match(operation, commit, state)

    found = find_conflict(attempt, base, conflicts)
    if found is not None:
        raise _conflict(attempt, found.version, found.what)


def _isolation(state: TableState, table: str) -> Isolation:
    try:
        return isolation_of(state.properties)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{table}: {error}") from None


def _conflict(attempt: Attempt[Rewrite], version: int, what: str) -> CommitConflictError:
    operation = attempt.operation
    return CommitConflictError(
        f"{attempt.table}: version {version} ({what}) may have added or removed rows that this "
        f"{operation.kind}, planned on version {operation.base.version}, looked for "
        f"({ISOLATION}={Isolation.SERIALIZABLE.value}); refresh() the table and run it again"
    )


def _read_paths(attempt: Attempt[Rewrite], removing: Commit) -> frozenset[str]:
    """The segments of the base that may hold a row which was looked for."""
    try:
        return _candidates(attempt)
    except NotFoundError:
        raise _conflict(attempt, removing.head.version, "whose base is expired") from None


@once
def _candidates(attempt: Attempt[Rewrite]) -> frozenset[str]:
    reads, state = attempt.operation.reads, attempt.at(attempt.operation.base.version)
    assert state is not None, "an operation is planned on a table"
    if reads is None:
        return frozenset(state.segments.paths)
    return frozenset(state.segments.core["path"].filter(some_match(state, reads)).to_pylist())


def _may_match(operation: Rewrite, commit: Commit, state: TableState) -> bool:
    """Whether a segment that a commit added may hold a row that was looked for."""
    reads = operation.reads
    if reads is not None and state.schema.is_keyed:
        # A row that does not match may have replaced one that did.
        reads = filter_on(reads, state.schema.row_key)
    if not commit.added or reads is None:
        return bool(commit.added)
    segments = SegmentSet().add(commit.added, commit.head.version, commit.head.time, state.schemas)
    added = replace(state, segments=segments)
    written = [state.schemas[record.schema_version] for record in commit.added]
    bounds = _ComparableBounds(added, operation.base.schema, written)
    found = may_match(reads, bounds, segments.count)
    return bool(pc.any(pc.and_(found, partition_may_match(reads, added))).as_py())


class _ComparableBounds:
    """Bounds of segments in the terms of an older schema, for the columns that did not change since."""

    def __init__(self, added: TableState, base: Schema, written: Iterable[Schema]) -> None:
        self._bounds = SegmentBounds(added, added.schema)
        self._base = base
        self._schemas = [base, *written]
        self._now = added.schema

    def __call__(self, column_id: int) -> ColumnBounds | None:
        """The bounds of a column, or None if they are unknown."""
        return self._bounds(column_id) if self._is_same(column_id) else None

    def _is_same(self, column_id: int) -> bool:
        if not (column_id in self._base.ids and column_id in self._now.ids):
            return False
        type_ = self._now.column(column_id).type
        held = [schema for schema in self._schemas if column_id in schema.ids]
        # A rollback may have made the column narrower than a segment holds it.
        fits = all(widens(schema.column(column_id).type, type_) for schema in held)
        return fits and self._base.column(column_id).type == type_
