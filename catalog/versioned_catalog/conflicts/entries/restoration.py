"""The entry of a rollback: the table as it was at a version (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.entries.creation import features_of
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.operations import Rollback
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.apply_pins import (
    PINS,
    check_no_breaks,
    refuses_breaks,
    rolled_back,
)
from versioned_catalog.iceberg.property import PUBLISH
from versioned_catalog.log.delta import delta_from_text
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.external import constants_from_text
from versioned_catalog.log.imported import LedgerChange
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.schema.id_map import id_map_from_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.arrow_values import array_of

_KEPT = (PINS, PUBLISH)
"""Properties that a rollback leaves as they are."""


@once
def rollback_entry(attempt: Attempt[Rollback]) -> Commit:
    """The entry of a rollback."""
    state, then = attempt.state, attempt.at(attempt.operation.version)
    assert then is not None, "the rule target_in_incarnation comes first"
    schema = _restored_schema(then, state, attempt.table)
    added, removed = _missing(then, state, attempt.log), _paths_not_in(state, then)
    properties = _restored_properties(then, state)
    sets_comment = then.comment != state.comment
    head = next_head(attempt, "rollback")
    restored = state.schema if schema is None else schema
    return Commit(
        replace(head, features=head.features | features_of(restored, ())),
        state.next_column_id,
        schema=schema,
        properties=None if properties == dict(state.properties) else properties,
        comment=then.comment if sets_comment else None,
        sets_comment=sets_comment,
        added=added,
        removed=tuple(removed),
        imported=None if then.ledger == state.ledger else LedgerChange(then.ledger, complete=True),
        details={"to": attempt.operation.version},
    )


def is_rolled_back(attempt: Attempt[Rollback]) -> bool:
    """Whether the table is as it was."""
    entry = rollback_entry(attempt)
    changed = entry.added or entry.removed or entry.sets_comment or entry.imported is not None
    return not changed and entry.schema is None and entry.properties is None


def _restored_properties(then: TableState, state: TableState) -> dict[str, str]:
    """The properties of the target, except those that are no part of a version.

    These stay: what protects the pins, as the pins do; and whether each commit is published, since a
    rollback that ended it would leave other engines on the rows that it takes back.
    """
    properties = {key: text for key, text in then.properties.items() if key not in _KEPT}
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


def _paths_not_in(state: TableState, other: TableState) -> list[str]:
    """Segments that are live in one state and not in another, in order."""
    known = array_of(other.segments.paths, pa.string())
    paths = state.segments.core["path"]
    found: list[str] = paths.filter(pc.invert(pc.is_in(paths, known))).to_pylist()
    return found


def _missing(then: TableState, state: TableState, log: TableLog) -> tuple[SegmentRecord, ...]:
    """Records of the segments that were live then and are not now, in the order of then."""
    wanted = _paths_not_in(then, state)
    core = then.segments.core
    core = core.filter(pc.is_in(core["path"], array_of(wanted, pa.string())))
    logged = dict(_logged(pc.unique(core["sequence"]).to_pylist(), log))
    rows = core.drop_columns(["commit_time"]).to_pylist()
    found = [(row, logged.get(row["path"]) or _without_statistics(row)) for row in rows]
    if not then.schema.is_keyed:
        return tuple(record for _, record in found)
    return tuple(_in_order(record, (row["sequence"], row["ordinal"])) for row, record in found)


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
