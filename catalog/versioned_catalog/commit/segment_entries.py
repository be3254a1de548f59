"""Entries that add and remove segments: of writes, compactions and rollbacks (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt, once
from versioned_catalog.commit.effects import effect_details
from versioned_catalog.commit.identity_rules import given_back
from versioned_catalog.commit.mark_rules import write_marks
from versioned_catalog.commit.moved_rows import MOVED, counts_of, removal
from versioned_catalog.commit.operations import (
    Append,
    Base,
    Compact,
    Import,
    Overwrite,
    Resolve,
    Rewrite,
    Rollback,
    Write,
)
from versioned_catalog.commit.restore_entries import restore_entry, restores_incarnation
from versioned_catalog.commit.table_entries import change_details, features_of, next_head
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import ADOPTIONS, EXTERNAL_ROOTS, IMPORTS, Features
from versioned_catalog.log.kept_statistics import kept_statistics
from versioned_catalog.log.ledger import LedgerChange, added_files, adopted_files
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.record import UNASSIGNED_ROW_IDS, RowIds, SegmentRecord
from versioned_catalog.log.segment_table import OF_ROW_IDS, constants_from_text, delta_from_text
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.bound_changes import apply_all
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.iceberg import PUBLICATION
from versioned_catalog.model.id_map import id_map_from_text
from versioned_catalog.model.identity import latest
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.model.pin_changes import PINS, check_no_breaks, refuses_breaks, rolled_back
from versioned_catalog.model.schema import Schema
from versioned_catalog.storage.store import PREFIX, adopted_at


def is_empty(attempt: Attempt[Write]) -> bool:
    """Whether a write adds, removes, marks and records nothing."""
    operation = attempt.operation
    if isinstance(operation, Import) and (operation.files or operation.batch is not None):
        return False
    if isinstance(operation, Rewrite) and operation.marks:
        return False
    return not (operation.records or operation.removed or operation.changes)


def schema_after(attempt: Attempt[Write]) -> Schema:
    """The current schema once the write is committed."""
    evolved = _evolved(attempt)
    return attempt.state.schema if evolved is None else evolved.schema


@once
def _evolved(attempt: Attempt[Write]) -> Evolution | None:
    """The table with the columns that a write brings along, or None if it brings none."""
    changes, state = attempt.operation.changes, attempt.state
    if not changes:
        return None
    return apply_all(changes, state.evolution, state.schemas.newest.version + 1)


def write_entry(attempt: Attempt[Write]) -> Commit:
    """The entry of an operation that adds segments, or replaces some."""
    operation, state, evolved = attempt.operation, attempt.state, _evolved(attempt)
    head, records = next_head(attempt, _kind(operation)), _with_identity(attempt)
    schema = schema_after(attempt)
    properties = dict(state.properties if evolved is None else evolved.properties)
    properties = given_back(properties, operation.base.taken, operation.records)
    marking = write_marks(attempt)
    features = head.features | features_of(schema, records, marking.marks)
    if isinstance(operation, Import):
        files = operation.files
    else:  # files that a write takes in without an import, such as those of a converted table
        files = (*adopted_files(attempt.log.store, operation.records), *operation.copied)
    imported = added_files(state.ledger, files)
    if imported is not None or isinstance(operation, Import):
        features |= Features(write=frozenset({IMPORTS}))  # refused by writers without the ledger
    roots = {**state.roots, **operation.roots}
    removed = (*_removed(attempt), *marking.whole)
    return Commit(
        replace(head, features=features),
        state.next_column_id if evolved is None else evolved.next_column_id,
        schema=None if schema.version == state.schema.version else schema,
        properties=properties if properties != state.properties else None,
        added=records,
        removed=removed,
        marked=marking.marks,
        batch=operation.batch,
        roots=None if roots == state.roots else roots,
        imported=imported,
        details=change_details(operation.changes)
        | _seen_as(operation.base)
        | _moved(operation)
        | effect_details(attempt, removed, marking),
    )


def _removed(attempt: Attempt[Write]) -> tuple[str, ...]:
    """The segments that leave: in the order of a compaction's groups, else in that of the state."""
    operation = attempt.operation
    if isinstance(operation, Compact) and operation.moved and operation.removed:
        return operation.removed
    return removal(attempt).paths


def _moved(operation: Write) -> dict[str, Any]:
    if not isinstance(operation, Compact) or not operation.moved:
        return {}
    return {MOVED: counts_of(operation.moved)}


def _kind(operation: Write) -> str:
    match operation:
        case Rewrite(kind=kind):
            return kind
        case Compact() | Resolve():
            return "compact"
        case Append() | Import(removed=()):
            return "append"
        case Overwrite() | Import():
            return "overwrite"
    raise AssertionError(f"{type(operation).__name__} is no write of the matrix")


def _with_identity(attempt: Attempt[Write]) -> tuple[SegmentRecord, ...]:
    """The records; those of files of others get paths that no earlier segment had (section 1.1).

    As long as every file that was ever adopted is live, a path that is not live was never used.
    """
    records, state = attempt.operation.records, attempt.state
    if not any(record.path.startswith(PREFIX) for record in records):
        return records
    paths = state.segments.column("path")
    live = paths.filter(pc.starts_with(paths, PREFIX))
    counted = IMPORTS in state.features.write or EXTERNAL_ROOTS not in state.features.read
    unused = counted and ADOPTIONS not in state.features.read and state.adoptions == len(live)
    adopted = array_of([r.path for r in records if r.path.startswith(PREFIX)], pa.string())
    if unused and not pc.any(pc.is_in(live, adopted)).as_py():
        return records
    return tuple(
        replace(record, path=adopted_at(record.path, state.version + 1))
        if record.path.startswith(PREFIX)
        else record
        for record in records
    )


def _seen_as(base: Base) -> dict[str, Any]:
    return {} if base.seen_as is None else {"seen_as": base.seen_as}


_KEPT = (PINS, ROW_IDS, *PUBLICATION)
"""Properties that a rollback leaves as they are."""


@once
def rollback_entry(attempt: Attempt[Rollback]) -> Commit:
    """The entry of a rollback, or of a restore if its version is of another incarnation."""
    state, then = attempt.state, attempt.at(attempt.operation.version)
    assert then is not None, "the rule target_can_be_restored comes first"
    if restores_incarnation(attempt):
        return restore_entry(attempt, then, _records(then, then.segments.paths, attempt.log))
    schema = _restored_schema(then, state, attempt.table)
    added = _records(then, paths_not_in(then, state), attempt.log)
    if state.has_row_ids and not then.has_row_ids:
        added = _with_versions(added, then)
    removed = paths_not_in(state, then)
    marked = _restored_marks(then, state, added)
    properties = _restored_properties(then, state)
    sets_comment = then.comment != state.comment
    head = next_head(attempt, "rollback")
    restored = state.schema if schema is None else schema
    return Commit(
        replace(head, features=head.features | features_of(restored, (), marked)),
        state.next_column_id,
        schema=schema,
        properties=None if properties == dict(state.properties) else properties,
        comment=then.comment if sets_comment else None,
        sets_comment=sets_comment,
        added=added,
        removed=tuple(removed),
        marked=marked,
        imported=None if then.ledger == state.ledger else LedgerChange(then.ledger, complete=True),
        details={"to": attempt.operation.version},
    )


def is_rolled_back(attempt: Attempt[Rollback]) -> bool:
    """Whether the table is already as it was at the version."""
    if restores_incarnation(attempt):
        return False
    entry = rollback_entry(attempt)
    changed = entry.changes_segments or entry.sets_comment or entry.imported is not None
    return not changed and entry.schema is None and entry.properties is None


def _restored_properties(then: TableState, state: TableState) -> dict[str, str]:
    """The properties of the target, and the current values of those that are no part of a version.

    The latter are the protection of the pins, whether rows have IDs, and whether each commit is
    published: if a rollback ended publishing, other engines would stay on the rows that it takes back.
    """
    before = latest(state.properties, then.properties)
    properties = {key: text for key, text in before.items() if key not in _KEPT}
    return properties | {key: state.properties[key] for key in _KEPT if key in state.properties}


def _restored_schema(then: TableState, state: TableState, table: str) -> Schema | None:
    """The schema of the target as a new version, or None if it is the current one."""
    try:
        schema = rolled_back(then.schema, state.schema, state.pinned_schemas)
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"{table} can't be rolled back to version {then.version}, which lacks a column: {error}",
            condition="NOT_SUPPORTED",
        ) from None
    if schema.same_but_version(state.schema):
        return None
    if refuses_breaks(state.properties):
        check_no_breaks(state.pinned_schemas, state.schema, schema)
    return schema.numbered(state.schemas.newest.version + 1)


def paths_not_in(state: TableState, other: TableState) -> list[str]:
    """Segments that are live in one state and not in another, in order."""
    other_paths = array_of(other.segments.paths, pa.string())
    paths = state.segments.core["path"]
    missing: list[str] = paths.filter(pc.invert(pc.is_in(paths, other_paths))).to_pylist()
    return missing


def _records(then: TableState, paths: list[str], log: TableLog) -> tuple[SegmentRecord, ...]:
    """Records of segments that were live then, in the order of then."""
    records = records_of(then, paths, log)
    if not then.schema.is_keyed:
        return tuple(record for record, _ in records)
    return tuple(_in_order(record, order) for record, order in records)


def _with_versions(
    records: tuple[SegmentRecord, ...], then: TableState
) -> tuple[SegmentRecord, ...]:
    """Records of segments whose rows had no IDs then, which keep the versions of their rows."""
    core = then.segments.core
    versions = dict(zip(core["path"].to_pylist(), core["sequence"].to_pylist(), strict=True))
    return tuple(
        replace(record, row_ids=RowIds(updated=versions[record.path])) for record in records
    )


def records_in_order(state: TableState, log: TableLog) -> list[SegmentRecord]:
    """Records of all live segments, which say by themselves how old the rows of each are."""
    records = records_of(state, state.segments.paths, log)
    bare = [record.path for record, _ in records if not record.columns]
    kept = kept_statistics(state, bare) if bare else {}
    records = [
        (replace(record, columns=kept.get(record.path, record.columns)), order)
        for record, order in records
    ]
    if not state.schema.is_keyed:
        return [record for record, _ in records]
    return [_in_order(record, order) for record, order in records]


def records_of(
    state: TableState, paths: list[str], log: TableLog
) -> list[tuple[SegmentRecord, tuple[int, int]]]:
    """Records of live segments, and the sequence and ordinal of each, in the order of the state."""
    core = state.segments.core
    core = core.filter(pc.is_in(core["path"], array_of(paths, pa.string())))
    logged = dict(_logged(pc.unique(core["sequence"]).to_pylist(), log))
    rows = core.drop_columns(["commit_time"]).to_pylist()
    return [
        (
            replace(logged.get(row["path"]) or _without_statistics(row), row_ids=_row_ids(row)),
            (row["sequence"], row["ordinal"]),
        )
        for row in rows
    ]


def _row_ids(row: dict[str, Any]) -> RowIds:
    """The IDs of the rows of a segment, which keep them and their version in another commit."""
    first, updated, stored = (row[name] for name in OF_ROW_IDS)
    if first is None:
        return UNASSIGNED_ROW_IDS
    return RowIds(first, row["sequence"] if updated is None else updated, stored)


def _restored_marks(
    then: TableState, state: TableState, added: Collection[SegmentRecord]
) -> dict[str, Mark | None]:
    """The marks of the target that differ from those of the same segments now; None for no mark."""
    if not (then.segments.has_marks or state.segments.has_marks):
        return {}
    wanted, live = then.segments.marks, state.segments.marks
    back = {record.path for record in added}
    restored = {p: mark for p, mark in wanted.items() if p in back or mark != live.get(p)}
    cleared = [p for p in live if p not in wanted and then.segments.rows_of(p) is not None]
    return {**restored, **dict.fromkeys(cleared)}


def _in_order(record: SegmentRecord, order: tuple[int, int]) -> SegmentRecord:
    """A record whose rows keep their place among the versions of their keys."""
    return replace(record, delta=replace(record.delta, order=record.delta.order or order))


def _logged(versions: Iterable[int], log: TableLog) -> Iterable[tuple[str, SegmentRecord]]:
    """Records in the entries of some versions, by path; expired entries have none."""
    for version in versions:
        for entry in log.entries(version, version):
            if isinstance(entry, Commit):
                yield from ((record.path, record) for record in entry.added)


def _without_statistics(row: dict[str, Any]) -> SegmentRecord:
    """The record of a segment whose entry is expired, from its row in the state."""
    return SegmentRecord(
        row["path"],
        row["schema_version"],
        row["rows"],
        row["bytes"],
        tuple(row["partition"] or ()),
        checksum=row["checksum"],
        delta=delta_from_text(row["extra"]),
        id_map=None if row["id_map"] is None else id_map_from_text(row["id_map"]),
        constants=constants_from_text(row["constants"]),
    )
