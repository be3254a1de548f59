"""Rollback: the table as it was at a version, as a new commit (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.expiry import check_kept
from versioned_catalog.conflicts.incarnation import head_after
from versioned_catalog.conflicts.operations import Rollback
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.log.delta import delta_from_text
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.arrow_values import array_of


def propose_rollback(
    operation: Rollback, state: TableState, commit_id: str, table: str, log: TableTimeline
) -> Commit | None:
    """The entry that makes the table what it was. See ``proposing.propose``."""
    _check_quiet(operation, state, table, log)
    check_kept(operation.version, state, table)
    then = log.load(operation.version).state
    check_same_life(then, state, operation.version, table)
    assert then is not None
    schema = _schema(then, state)
    added, removed = _missing(then, state, log), _paths_not_in(state, then)
    properties = None if dict(then.properties) == dict(state.properties) else then.properties
    sets_comment = then.comment != state.comment
    if not (added or removed or sets_comment) and schema is None and properties is None:
        return None
    return Commit(
        head_after(state, commit_id, "rollback", operation.base.version),
        state.next_column_id,
        schema=schema,
        properties=properties,
        comment=then.comment if sets_comment else None,
        sets_comment=sets_comment,
        added=added,
        removed=tuple(removed),
        details={"to": operation.version},
    )


def check_same_life(then: TableState | None, state: TableState, version: int, table: str) -> None:
    """Refuse to roll back beyond the beginning of a table.

    Raises:
        InvalidRequestError: naming the version where this life began.
    """
    if then is None or then.table_uuid != state.table_uuid:
        raise InvalidRequestError(
            f"{table} can't be rolled back to version {version}, since it was made anew at version "
            f"{state.created_version}, with columns of its own; roll back to that or a later one, or "
            f"read version {version} and write its rows"
        )


def _check_quiet(operation: Rollback, state: TableState, table: str, log: TableTimeline) -> None:
    """Refuse to take back what whoever asked for it has not seen."""
    for entry in log.since(operation.base.version, state.version):
        if isinstance(entry, Stub) or _says_something(entry):
            version = entry.version if isinstance(entry, Stub) else entry.head.version
            raise CommitConflictError(
                f"{table}: version {version} was committed since this rollback was planned (on version "
                f"{operation.base.version}), and would be taken back with the rest; refresh() the "
                "table, look at it, and roll back again"
            )


def _says_something(entry: Commit) -> bool:
    """Whether a commit changed anything that a rollback brings back, or fenced it off."""
    return bool(
        entry.added
        or entry.removed
        or entry.schema is not None
        or entry.properties is not None
        or entry.sets_comment
        or entry.fence is not None
    )


def _schema(then: TableState, state: TableState) -> Schema | None:
    """The schema of then as a new version, or None where it is that of now."""
    if then.schema.same_but_version(state.schema):
        return None
    return then.schema.numbered(state.schemas.newest.version + 1)


def _paths_not_in(state: TableState, other: TableState) -> list[str]:
    """The segments that are live in one state and not in another, in order."""
    known = array_of(other.segments.paths, pa.string())
    paths = state.segments.core["path"]
    found: list[str] = paths.filter(pc.invert(pc.is_in(paths, known))).to_pylist()
    return found


def _missing(then: TableState, state: TableState, log: TableTimeline) -> tuple[SegmentRecord, ...]:
    """The records of the segments that were live then and are not now, in the order of then."""
    wanted = _paths_not_in(then, state)
    core = then.segments.core
    core = core.filter(pc.is_in(core["path"], array_of(wanted, pa.string())))
    told = dict(_told(pc.unique(core["sequence"]).to_pylist(), log))
    rows = core.drop_columns(["commit_time"]).to_pylist()
    found = [(row, told.get(row["path"]) or _bare(row)) for row in rows]
    if not then.schema.is_keyed:
        return tuple(record for _, record in found)
    return tuple(_in_order(record, (row["sequence"], row["ordinal"])) for row, record in found)


def _in_order(record: SegmentRecord, order: tuple[int, int]) -> SegmentRecord:
    """A record whose rows keep their place among the versions of their keys."""
    return replace(record, delta=replace(record.delta, order=record.delta.order or order))


def _told(versions: Iterable[int], log: TableTimeline) -> Iterable[tuple[str, SegmentRecord]]:
    """The records in the entries of some versions, by path; expired ones tell none."""
    for version in versions:
        for entry in log.entries(version, version):
            if isinstance(entry, Commit):
                yield from ((record.path, record) for record in entry.added)


def _bare(row: dict[str, Any]) -> SegmentRecord:
    """A record without statistics, whose entry is expired."""
    return SegmentRecord(
        row["path"],
        row["schema_version"],
        row["rows"],
        row["bytes"],
        tuple(row["partition"] or ()),
        checksum=row["checksum"],
        delta=delta_from_text(row["extra"]),
    )
