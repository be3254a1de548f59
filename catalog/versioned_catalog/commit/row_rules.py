"""Rules about rows and keys: the source rows of an operation must still be current.

Notes 7 and 13 to 16 of FORMAT.md, section 11, and section 13.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt, find_conflict, once
from versioned_catalog.commit.moved_rows import groups_of
from versioned_catalog.commit.operations import Compact, Replace, Rewrite
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.widening import widens
from versioned_catalog.read.bounds import SegmentBounds, partition_may_match, some_match
from versioned_catalog.read.evaluators import ColumnBounds, may_match
from versioned_catalog.read.filters import filter_on
from versioned_catalog.read.overlaps import key_ranges
from versioned_catalog.spelling import one_of

ISOLATION = "isolation"
"""The table property that sets the isolation of DELETE, UPDATE, MERGE and overwrites of some rows."""


class Isolation(enum.Enum):
    """Concurrent commits that an operation which reads rows and writes others conflicts with."""

    SNAPSHOT = "snapshot"
    """Commits that removed a segment which it removes."""
    SERIALIZABLE = "serializable"
    """Also commits that added or removed rows of a segment which may hold rows that it looked for."""


def isolation_of(
    properties: Mapping[str, str], what: str = f"the property {ISOLATION}"
) -> Isolation:
    """The isolation that a table's properties set; ``what`` names the property in errors.

    Raises:
        InvalidRequestError: the property has another value.
    """
    return one_of(Isolation, properties.get(ISOLATION, Isolation.SNAPSHOT.value), what)


def reads_unchanged(attempt: Attempt[Rewrite]) -> None:
    """Refuse a rewrite whose result may differ after the concurrent commits.

    Raises:
        CommitConflictError: a segment that a concurrent commit added or removed, or of which it marked
            rows, may match what the operation looked for.
    """
    operation, state = attempt.operation, attempt.state
    base = operation.base.version
    if state.version == base:
        return
    what = f"{attempt.table}: the property {ISOLATION}"
    if isolation_of(state.properties, what) is Isolation.SNAPSHOT:
        return

    compactions: list[Commit] = []

    def conflicts(commit: Commit) -> bool:
        if commit.head.operation == "compact":
            compactions.append(commit)
            return False  # it holds the same rows
        changed = _changed_paths(commit, state)
        if changed and not _read_paths(attempt, commit, compactions).isdisjoint(changed):
            return True
        return _may_match(operation, commit, state)

    conflict = find_conflict(attempt, base, conflicts)
    if conflict is not None:
        raise _read_conflict(attempt, conflict.version, conflict.kind)


def _changed_paths(commit: Commit, state: TableState) -> Collection[str]:
    """The segments of which a commit removed or marked rows that were shown.

    In a table with a primary key, marked rows are hidden by others anyway.
    """
    return commit.removed if state.schema.is_keyed else (*commit.removed, *commit.marked)


def _read_conflict(attempt: Attempt[Rewrite], version: int, kind: str) -> CommitConflictError:
    operation = attempt.operation
    return CommitConflictError(
        f"{attempt.table}: version {version} ({kind}) may have added or removed rows that this "
        f"{operation.kind}, planned on version {operation.base.version}, looked for "
        f"({ISOLATION}={Isolation.SERIALIZABLE.value}); refresh() the table and run it again"
    )


def _read_paths(
    attempt: Attempt[Rewrite], changing: Commit, compactions: Iterable[Commit]
) -> set[str]:
    """The segments that may hold a row that the operation looked for, also after some compactions."""
    try:
        paths = {*_candidates(attempt)}
    except NotFoundError:
        raise _read_conflict(attempt, changing.head.version, "whose base is expired") from None
    for compaction in compactions:
        for group in groups_of(compaction):
            if not paths.isdisjoint(group.removed):
                paths.update(record.path for record in group.added)
    return paths


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
    version, time = commit.head.version, commit.head.time
    segments = SegmentSet().add(commit.added, version, time, state.schemas, state.schema_version)
    added = replace(state, segments=segments)
    written = [state.schemas[record.schema_version] for record in commit.added]
    bounds = _ComparableBounds(added, operation.base.schema, written)
    matching = pc.and_(may_match(reads, bounds, segments.count), partition_may_match(reads, added))
    return bool(pc.any(matching).as_py())


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
        schemas = [schema for schema in self._schemas if column_id in schema.ids]
        # A rollback may have made the column narrower than a segment holds it.
        fits = all(widens(schema.column(column_id).type, type_) for schema in schemas)
        return fits and self._base.column(column_id).type == type_


class KeyConflictError(CommitConflictError):
    """A concurrent commit wrote rows of keys that were read: read them again."""


def row_keys_unchanged(attempt: Attempt[Rewrite]) -> None:
    """Refuse a write whose source rows another commit has changed.

    Raises:
        KeyConflictError: a commit since may have written one of the keys, or removed rows.
    """
    keys, state = attempt.operation.keys, attempt.state
    if keys is None:
        return
    schema = attempt.operation.base.schema

    def conflicts(commit: Commit) -> bool:
        if commit.head.operation == "compact":
            return False  # it holds the same rows
        if commit.removed:
            return True
        near = [record for record in commit.added if _overlaps(keys.records, record, schema, state)]
        return bool(near) and keys.meet(near, state)

    conflict = find_conflict(attempt, keys.since, conflicts)
    if conflict is not None:
        key = ", ".join(map(state.schema.path_text, state.schema.row_key))
        raise KeyConflictError(
            f"{attempt.table}: version {conflict.version} ({conflict.kind}) wrote or removed rows of "
            f"the same row key ({key}) as this, which read version {keys.since}; refresh() the table "
            "and run it again"
        )


def _overlaps(
    ours: Sequence[SegmentRecord], theirs: SegmentRecord, written: Schema, state: TableState
) -> bool:
    """Whether the row key ranges of their segment and of one of our segments overlap."""
    # Our segments may name a schema version that this commit adds.
    renumbered = [replace(record, schema_version=written.version) for record in ours]
    records, current = [*renumbered, theirs], state.schema_version
    both = SegmentSet().add(records, state.version, state.time, state.schemas, current)
    ranges = key_ranges(replace(state, segments=both))
    last = len(renumbered)
    return any(
        all(low[at] <= high[last] and low[last] <= high[at] for low, high in ranges)
        for at in range(last)
    )


def copies_are_complete(attempt: Attempt[Rewrite]) -> None:
    """Refuse copied rows that lack a column which a concurrent rollback restored.

    Such a column was created before the base version but is not in its schema, so the rows were read and
    written again without its values. Tombstones copy nothing.

    Raises:
        CommitConflictError: naming the column.
    """
    base, schema = attempt.operation.base, attempt.state.schema
    if all(record.delta.deletes_only for record in attempt.operation.records):
        return
    for column_id in sorted(schema.ids - base.schema.ids):
        if column_id < base.next_column_id:
            raise CommitConflictError(
                f"{attempt.table}: this write copied rows of version {base.version}, and a concurrent "
                f"rollback restored the column {schema.path_text(column_id)}, whose values the copies "
                "lack. Nothing was written: refresh() the table and run the write again"
            )


def replaced_rows_unchanged(attempt: Attempt[Replace]) -> None:
    """Refuse a replacement if rows were added or removed since the version that it read.

    Raises:
        CommitConflictError: naming the first commit that added or removed rows.
    """
    read, state = attempt.operation.read_version, attempt.state

    def conflicts(commit: Commit) -> bool:
        if commit.head.operation in NEW_INCARNATION:
            return True
        changed = commit.added or _changed_paths(commit, state)
        return commit.head.operation != "compact" and bool(changed)

    conflict = None if read is None else find_conflict(attempt, read, conflicts)
    if conflict is not None:
        raise CommitConflictError(
            f"{attempt.table}: version {conflict.version} ({conflict.kind}) added or removed rows since "
            f"version {read}, from whose rows this replacement was made; refresh() the table and run it "
            "again"
        )


def no_rows_restored(attempt: Attempt[Compact]) -> None:
    """Refuse a compaction after a rollback: it may have dropped a tombstone that is needed again.

    Raises:
        CommitConflictError: the table was rolled back since the base, or may have been.
    """
    base = attempt.operation.base.version
    if find_conflict(attempt, base, lambda commit: commit.head.operation == "rollback"):
        raise CommitConflictError(
            f"{attempt.table}: the table was rolled back since version {base}, on which this "
            "compaction was planned; run it again"
        )
