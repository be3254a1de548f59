"""Iceberg's metadata tables about all versions that can be read, and its columns of ``history``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog import InvalidRequestError, Table
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.features import KEPT, LOG, entry_path
from versioned_catalog.log.marks import mark_from_text, marked_rows
from versioned_catalog.log.state import TableState

_TIME = pa.timestamp("us", "UTC")
HISTORY = pa.schema(
    {
        "made_current_at": _TIME,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "is_current_ancestor": pa.bool_(),
    }
)
"""Iceberg's columns of ``history``, which follow ours. Snapshot IDs are versions."""

SNAPSHOTS = pa.schema(
    {
        "committed_at": _TIME,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "manifest_list": pa.string(),
        "summary": pa.map_(pa.string(), pa.string()),
    }
)
"""Iceberg's columns of ``snapshots``, which follow ours."""

MANIFESTS = pa.schema(
    {
        "content": pa.int32(),
        "path": pa.string(),
        "length": pa.int64(),
        "partition_spec_id": pa.int32(),
        "added_snapshot_id": pa.int64(),
        "added_data_files_count": pa.int32(),
        "existing_data_files_count": pa.int32(),
        "deleted_data_files_count": pa.int32(),
        "added_delete_files_count": pa.int32(),
        "existing_delete_files_count": pa.int32(),
        "deleted_delete_files_count": pa.int32(),
    }
)
POSITION_DELETES = pa.schema(
    {
        "file_path": pa.string(),
        "pos": pa.int64(),
        "partition": pa.list_(pa.string()),
        "delete_file_path": pa.string(),
    }
)
EXISTING, ADDED, DELETED = 0, 1, 2
"""Iceberg's statuses of entries."""

MOST_POSITIONS = 1_000_000
"""The most rows of ``position_deletes``, which go through the driver."""


def with_iceberg_columns(
    rows: pa.Table, more: Mapping[str, list[Any]], schema: pa.Schema
) -> pa.Table:
    """Our rows of a metadata table with the columns that Iceberg's has."""
    for field in schema:
        rows = rows.append_column(field, pa.array(more[field.name], field.type))
    return rows


def history(table: Table, limit: int | None) -> pa.Table:
    """``table.inspect.history``, with Iceberg's columns."""
    rows = table.inspect.history(limit)
    versions = rows["version"].to_pylist()
    entries = table.handle.log.entries(versions[0], versions[-1])
    parents = {version: _parent(entry) for version, entry in zip(versions, entries, strict=True)}
    current: set[int] = set()
    newest: int | None = versions[-1]
    while newest is not None and newest in parents:
        current.add(newest)
        newest = parents[newest]
    columns = {
        "made_current_at": rows["time"].to_pylist(),
        "snapshot_id": versions,
        "parent_id": list(parents.values()),
        "is_current_ancestor": [version in current for version in versions],
    }
    return with_iceberg_columns(rows, columns, HISTORY)


def _parent(entry: Commit | Stub) -> int | None:
    """The version that a version follows: of a rollback, the one that it restores."""
    if isinstance(entry, Stub):
        return entry.version - 1 if entry.version else None
    head, restored = entry.head, entry.details.get("to")
    if head.operation == "rollback" and type(restored) is int and 0 <= restored < head.version:
        return restored
    return head.version - 1 if head.version else None


def snapshots(table: Table) -> pa.Table:
    """``table.inspect.snapshots``, with Iceberg's columns."""
    rows = table.inspect.snapshots()
    facts: dict[int, tuple[int | None, dict[str, str]]] = {
        state.version: (None if commit is None else _parent(commit), _summary(commit, state))
        for commit, state in table.inspect.readable()
    }
    versions = rows["version"].to_pylist()
    columns = {
        "committed_at": rows["time"].to_pylist(),
        "snapshot_id": versions,
        "parent_id": [facts[version][0] for version in versions],
        "manifest_list": [f"{table.location}/{entry_path(version)}" for version in versions],
        "summary": [list(facts[version][1].items()) for version in versions],
    }
    return with_iceberg_columns(rows, columns, SNAPSHOTS)


def _summary(commit: Commit | None, state: TableState) -> dict[str, str]:
    """What a commit did, under Iceberg's names."""
    segments = state.segments
    totals = {
        "total-data-files": segments.count,
        "total-records": segments.shown_rows,
        "total-files-size": segments.bytes,
    }
    if commit is None:
        return {key: str(number) for key, number in totals.items()}
    by = commit.details.get("by")
    application = by.get("application") if isinstance(by, dict) else None
    counts = {
        "added-data-files": len(commit.added),
        "deleted-data-files": len(commit.removed),
        "added-records": sum(record.rows for record in commit.added),
        "added-delete-files": sum(mark is not None for mark in commit.marked.values()),
    }
    shown = {key: str(number) for key, number in counts.items() if number} | {
        key: str(number) for key, number in totals.items()
    }
    return {"spark.app.id": application} | shown if isinstance(application, str) else shown


def all_segments(table: Table) -> pa.Table:
    """The segments that are live in some version that can be read, once for each of their marks."""
    return _distinct(_touched(table))


def all_entries(table: Table) -> Iterator[tuple[int, int, pa.Table]]:
    """What each version that can be read did: the status, the version, and the segments.

    A segment is added, removed, or was there before the first of these versions.
    """
    before: pa.Table | None = None
    for commit, state in table.inspect.readable():
        core = state.segments.core
        added = () if commit is None else [record.path for record in commit.added]
        if commit is None or before is None:
            yield EXISTING, state.version, _at(core, added, invert=True)
        else:
            yield DELETED, state.version, _at(before, commit.removed)
        yield ADDED, state.version, _at(core, added)
        before = None if commit is None else core


def _touched(table: Table) -> Iterator[pa.Table]:
    """The segments of the first version, and those that each later one added or marked."""
    follows = False
    for commit, state in table.inspect.readable():
        core = state.segments.core
        if commit is not None and follows:
            core = _at(core, [*(record.path for record in commit.added), *commit.marked])
        follows = commit is not None
        yield core


def _at(core: pa.Table, paths: Collection[str], *, invert: bool = False) -> pa.Table:
    are_in = pc.is_in(core["path"], pa.array(list(paths), pa.string()))
    return core.filter(pc.invert(are_in) if invert else are_in)


def _distinct(tables: Iterable[pa.Table]) -> pa.Table:
    seen: set[tuple[str, str | None]] = set()
    kept = []
    for core in tables:
        keys = list(zip(core["path"].to_pylist(), core["mark"].to_pylist(), strict=True))
        kept.append(core.filter(pa.array([key not in seen for key in keys], pa.bool_())))
        seen.update(keys)
    return pa.concat_tables(kept)


def manifests(table: Table, *, live_only: bool) -> list[dict[str, Any]]:
    """The entries of the log that list data files, as Iceberg's manifests do.

    Args:
        live_only: only those of versions that added a segment which is live.
    """
    sizes = {
        f"{folder}/{file.name}": file.bytes
        for folder in (LOG, KEPT)
        for file in table.store.files(folder)
    }
    live = set(table.state.segments.core["sequence"].to_pylist())
    rows: list[dict[str, Any]] = []
    for commit, state in table.inspect.readable():
        if commit is None:
            continue  # kept by a tag
        before = state.segments.count - len(commit.added)
        if state.version == table.state.floor and before:
            path = table.handle.log.kept_path(state.version)
            rows.append(_manifest(path, state) | {"existing_data_files_count": before})
        if commit.changes_segments and (state.version in live or not live_only):
            marked = sum(mark is not None for mark in commit.marked.values())
            counts = {
                "added_data_files_count": len(commit.added),
                "deleted_data_files_count": len(commit.removed),
                "added_delete_files_count": marked,
            }
            rows.append(_manifest(entry_path(state.version), state) | counts)
    return [
        row | {"path": f"{table.location}/{row['path']}", "length": sizes.get(row["path"])}
        for row in rows
    ]


def _manifest(path: str, state: TableState) -> dict[str, Any]:
    zeros = [field.name for field in MANIFESTS if field.name.endswith("_count")]
    return {
        "content": 0,
        "path": path,
        "partition_spec_id": state.schema_version,
        "added_snapshot_id": state.version,
        **dict.fromkeys(zeros, 0),
    }


def position_deletes(
    table: Table, urls: Mapping[str, str], mark_urls: Mapping[str, str | None]
) -> pa.Table:
    """The positions of rows that marks delete, by segment.

    Args:
        urls, mark_urls: the URL of each segment and of the file of its mark, by path.

    Raises:
        InvalidRequestError: they are too many for the driver.
    """
    core = table.state.segments.core
    core = core.filter(core["mark"].is_valid())
    marks = [mark_from_text(text) for text in core["mark"].to_pylist()]
    total = sum(mark.rows for mark in marks)
    if total > MOST_POSITIONS:
        raise InvalidRequestError(
            f"{table.name}: {total} rows are marked as deleted, more than the {MOST_POSITIONS} that "
            f"position_deletes shows; SELECT * FROM {table.name}.delete_files counts them by segment",
            condition="NOT_SUPPORTED",
        )
    chunks = []
    for mark, row in zip(
        marks, core.select(["path", "rows", "partition"]).to_pylist(), strict=True
    ):
        positions = marked_rows(table.store, mark, row["path"], row["rows"])
        count = len(positions)
        chunks.append(
            pa.table(
                {
                    "file_path": [urls[row["path"]]] * count,
                    "pos": positions,
                    "partition": pa.array([row["partition"]] * count, pa.list_(pa.string())),
                    "delete_file_path": pa.array([mark_urls[row["path"]]] * count, pa.string()),
                },
                POSITION_DELETES,
            )
        )
    return pa.concat_tables(chunks) if chunks else POSITION_DELETES.empty_table()
