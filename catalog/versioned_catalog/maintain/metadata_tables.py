"""Metadata tables: history, snapshots, segments, partitions, consumers and schema pins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.authorship import facts_of
from versioned_catalog.commit.effects import effect_of
from versioned_catalog.log.entry import Commit, Head, Stub
from versioned_catalog.log.pinned_state import RetiredPin, retired_pins
from versioned_catalog.log.segment_table import CORE, OPTIONAL, parse_texts
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.column_tables import COLUMNS, TIME, table_of
from versioned_catalog.model.arrow import array_of, from_numpy
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.model.pins import Pin, breaks
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.model.types import walk

CONSUMERS = pa.schema(
    {
        "name": pa.string(),
        "version": pa.int64(),
        "moved": TIME,
        "versions_behind": pa.int64(),
        "rows_behind": pa.int64(),
        "unread_since": TIME,
        "kept_until": TIME,
        "lapsed": pa.bool_(),
    }
)


def consumers(state: TableState, entries: Iterable[Commit | Stub], now: datetime) -> pa.Table:
    """See ``Inspection.consumers``.

    Args:
        entries: those after the version of the consumer that is the furthest behind.
        now: the store's time.
    """
    by_version = {entry.head.version: entry for entry in entries if isinstance(entry, Commit)}
    rows = [_consumer_row(name, state, by_version, now) for name in sorted(state.consumers)]
    return table_of(rows, CONSUMERS)


def _consumer_row(
    name: str, state: TableState, by_version: dict[int, Commit], now: datetime
) -> dict[str, Any]:
    consumer = state.consumers[name]
    row = {"name": name, "version": consumer.version, "moved": consumer.moved}
    unread = range(consumer.version + 1, state.version + 1)
    if unread and unread[0] not in by_version:
        return row | {"versions_behind": len(unread), "lapsed": True}
    commits = [by_version[version] for version in unread if by_version[version].consumers is None]
    since = commits[0].head.time if commits else None
    until = None if since is None else since + consumer.keep
    return row | {
        "versions_behind": len(commits),
        "rows_behind": sum(
            record.rows
            for commit in commits
            if commit.head.operation != "compact"
            for record in commit.added
        ),
        "unread_since": since,
        "kept_until": until,
        "lapsed": until is not None and until < now,
    }


SCHEMA_PINS = pa.schema(
    {
        "label": pa.string(),
        "schema_version": pa.int32(),
        "owner": pa.string(),
        "until": TIME,
        "declared": pa.bool_(),
        "needs_hidden": pa.list_(pa.string()),
        "may_fail": pa.list_(pa.string()),
        "writes": pa.int64(),
        "last_version": pa.int64(),
        "last_time": TIME,
        "retired_version": pa.int64(),
    }
)


def schema_pins(state: TableState, commits: Iterable[Commit | Stub]) -> pa.Table:
    """See ``Inspection.schema_pins``."""
    entries = list(commits)
    retired = retired_pins(entries)
    writes: dict[str, list[Head]] = {}
    for entry in entries:
        label = entry.details.get("seen_as") if isinstance(entry, Commit) else None
        if isinstance(entry, Commit) and isinstance(label, str):
            writes.setdefault(label, []).append(entry.head)
    others = sorted((writes.keys() | retired.keys()) - state.pins.keys())
    rows = [
        _pin_row(state, label, state.pins.get(label), retired.get(label), writes.get(label, []))
        for label in (*sorted(state.pins), *others)
    ]
    return table_of(rows, SCHEMA_PINS)


def _pin_row(
    state: TableState, label: str, pin: Pin | None, retired: RetiredPin | None, writes: list[Head]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "label": label,
        "declared": pin is not None,
        "writes": len(writes),
        "last_version": writes[-1].version if writes else None,
        "last_time": writes[-1].time if writes else None,
    }
    if pin is None and retired is not None:
        return row | {
            "schema_version": retired.pin.schema_version,
            "owner": retired.pin.owner,
            "until": retired.pin.until,
            "retired_version": retired.version,
        }
    if pin is None:
        return row | {"schema_version": int(label) if label.isdigit() else None}
    pinned = state.schemas[pin.schema_version].visible
    hidden = [column.id for column, _ in walk(state.schema.columns) if column.hidden]
    return row | {
        "schema_version": pin.schema_version,
        "owner": pin.owner,
        "until": pin.until,
        "needs_hidden": [pinned.path_text(i) for i in hidden if i in pinned.ids],
        "may_fail": list(breaks(pinned, state.schema)),
    }


HISTORY = pa.schema(
    {
        "version": pa.int64(),
        "time": TIME,
        "operation": pa.string(),
        "schema_version": pa.int32(),
        "rows_added": pa.int64(),
        "segments_added": pa.int64(),
        "segments_removed": pa.int64(),
        "base_version": pa.int64(),
        "changes": pa.list_(pa.string()),
        "writer": pa.string(),
        "commit_id": pa.string(),
        "user": pa.string(),
        "application": pa.string(),
        "message": pa.string(),
        "parameters": pa.list_(pa.string()),
        "condition": pa.string(),
        "rows_inserted": pa.int64(),
        "rows_updated": pa.int64(),
        "rows_deleted": pa.int64(),
        "bytes_added": pa.int64(),
        "bytes_removed": pa.int64(),
        "duration_ms": pa.int64(),
    }
)

PARTITIONS = pa.schema(
    {"partition": pa.list_(pa.string()), "rows": pa.int64(), "segments": pa.int64()}
)

SEGMENTS = pa.schema(
    [field for field in CORE if field.name not in ("ordinal", "extra", *OPTIONAL)]
).append(pa.field("marked_rows", pa.int64()))

SNAPSHOTS = pa.schema(
    {
        "version": pa.int64(),
        "time": TIME,
        "operation": pa.string(),
        "schema_version": pa.int32(),
        "segments": pa.int64(),
        "rows": pa.int64(),
        "bytes": pa.int64(),
        "tags": pa.list_(pa.string()),
    }
)

SCHEMAS: dict[str, pa.Schema] = {
    "history": HISTORY,
    "schemas": COLUMNS,
    "segments": SEGMENTS,
    "snapshots": SNAPSHOTS,
    "partitions": PARTITIONS,
    "schema_pins": SCHEMA_PINS,
}
"""Schemas of the metadata tables, by the method of ``Inspection`` that returns them."""


def history(entries: Iterable[Commit | Stub], schema_version: int) -> pa.Table:
    """See ``Inspection.history``; ``schema_version`` is that of the last entry."""
    rows = [_history_row(entry) for entry in _since_first(entries)]
    return table_of([*_with_schema_versions(reversed(rows), schema_version)][::-1], HISTORY)


def commits(newest_first: Iterable[Commit | Stub], schema_version: int) -> Iterator[dict[str, Any]]:
    """See ``Inspection.commits``; ``schema_version`` is that of the first of these entries."""
    return _with_schema_versions(map(_history_row, _since_first(newest_first)), schema_version)


def _since_first(entries: Iterable[Commit | Stub]) -> Iterator[Commit | Stub]:
    """Entries without those before the version that the log of a clone begins at."""
    return (e for e in entries if not (isinstance(e, Stub) and e.begins_at is not None))


def _with_schema_versions(
    newest_first: Iterable[dict[str, Any]], schema_version: int
) -> Iterator[dict[str, Any]]:
    """Rows of which only those have a schema version that made it, with those of the others."""
    for row in newest_first:
        new_version = row["schema_version"]
        yield row if row["operation"] is None else row | {"schema_version": schema_version}
        if new_version is not None:
            schema_version = new_version - 1


def _history_row(entry: Commit | Stub) -> dict[str, Any]:
    if isinstance(entry, Stub):
        head = {"version": entry.version, "time": entry.time, "commit_id": entry.commit_id}
        return dict.fromkeys(HISTORY.names) | head
    return {
        "version": entry.head.version,
        "time": entry.head.time,
        "operation": entry.head.operation,
        "schema_version": None if entry.schema is None else entry.schema.version,
        "rows_added": sum(record.rows for record in entry.added),
        "segments_added": len(entry.added),
        "segments_removed": len(entry.removed),
        "base_version": entry.head.base_version,
        "changes": _changes(entry.details.get("changes")),
        "writer": entry.head.writer,
        "commit_id": entry.head.commit_id,
        **facts_of(entry.details),
        "parameters": list(_parameters(entry)) or None,
        "bytes_added": sum(record.bytes for record in entry.added),
        **effect_of(entry.details),
    }


_PARAMETERS = (
    *("seen_as", "to", "branch", "base", "merged", "branch_version", "dropped", "consumer"),
)
"""The members of an entry's details that say with what it was asked for (FORMAT.md, section 5)."""


def _parameters(entry: Commit) -> Iterator[str]:
    """What an entry says beside its changes, as ``seen_as=billing``."""
    for name in _PARAMETERS:
        match entry.details.get(name):
            case str() | int() as value:
                yield f"{name}={value}"
            case list() as values:
                yield f"{name}={', '.join(map(str, values))}"
            case _:
                pass
    condition = effect_of(entry.details)["condition"]
    if condition is not None:
        yield f"condition={condition}"
    if entry.batch is not None:
        yield f"batch={entry.batch.application}/{entry.batch.id}"
    if entry.floor is not None:
        yield f"oldest_version={entry.floor}"


def _changes(value: Any) -> list[str] | None:
    """The changes of an entry, if they are a list: readers must not rely on an entry's details."""
    return list(map(str, value)) if isinstance(value, list) else None


def segments(state: TableState) -> pa.Table:
    """See ``Inspection.segments``."""
    marked = from_numpy(state.segments.marked_counts)
    return state.segments.core.append_column("marked_rows", marked).select(SEGMENTS.names)


def snapshots(
    walked: Iterable[tuple[Commit | None, TableState]], tags: Mapping[str, int]
) -> pa.Table:
    """See ``Inspection.snapshots``."""
    rows = [
        {
            "version": state.version,
            "time": state.time,
            "operation": None if commit is None else commit.head.operation,
            "schema_version": state.schema_version,
            "segments": state.segments.count,
            "rows": state.segments.shown_rows,
            "bytes": state.segments.bytes,
            "tags": sorted(name for name, version in tags.items() if version == state.version),
        }
        for commit, state in walked
        if not state.dropped
    ]
    return table_of(rows, SNAPSHOTS)


def partitions(state: TableState) -> pa.Table:
    """See ``Inspection.partitions``."""
    core, totals = state.segments.core, dict[PartitionKey, tuple[int, int]]()
    core = core.append_column("shown", state.segments.shown_counts)
    for version in pc.unique(core["schema_version"]).to_pylist():
        read = key_reader(state.schemas[version], state.schema)
        if read is None or not state.schema.partitioning:
            continue
        written = core.filter(pc.is_in(core["schema_version"], array_of([version], pa.int32())))
        pairs = zip(written["partition"].to_pylist(), written["shown"].to_pylist(), strict=True)
        for texts, count in pairs:
            key = read(tuple(texts))
            rows, number = totals.get(key, (0, 0))
            totals[key] = rows + count, number + 1
    records = [
        {"partition": list(key), "rows": rows, "segments": number}
        for key, (rows, number) in totals.items()
    ]
    return _sorted_by_value(table_of(records, PARTITIONS), state.schema)


def _sorted_by_value(table: pa.Table, schema: Schema) -> pa.Table:
    """Order partitions by value, null first."""
    keys: dict[str, pa.Array] = {}
    for at, field in enumerate(schema.partitioning):
        type_ = result_type(parse_transform(field.transform), schema.column(field.source).type)
        texts = [key[at] for key in table["partition"].to_pylist()]
        values = parse_texts(texts, type_)
        plain = values.cast(pa.int64()) if pa.types.is_duration(values.type) else values
        keys |= {f"valid{at}": plain.is_valid(), f"value{at}": plain}
    if not keys:
        return table
    order = [(name, "ascending") for name in keys]
    return table.take(pc.sort_indices(pa.table(keys), sort_keys=order))
