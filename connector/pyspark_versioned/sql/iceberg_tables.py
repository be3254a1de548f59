"""Iceberg's metadata tables under their names, from what a table records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa

from pyspark_versioned.sql import iceberg_history
from pyspark_versioned.sql.parquet import spark_urls
from pyspark_versioned.sql.protocol import messages
from versioned_catalog import Table
from versioned_catalog.log.features import entry_path
from versioned_catalog.log.marks import FileMark, mark_from_text

_FILES = pa.schema(
    {
        "content": pa.int32(),
        "file_path": pa.string(),
        "file_format": pa.string(),
        "partition": pa.list_(pa.string()),
        "record_count": pa.int64(),
        "file_size_in_bytes": pa.int64(),
        "deleted_record_count": pa.int64(),
    }
)
_DELETE_FILES = pa.schema(
    {
        "content": pa.int32(),
        "file_path": pa.string(),
        "file_format": pa.string(),
        "record_count": pa.int64(),
        "referenced_data_file": pa.string(),
    }
)
_ENTRIES = pa.schema(
    {
        "status": pa.int32(),
        "snapshot_id": pa.int64(),
        "sequence_number": pa.int64(),
        "file_sequence_number": pa.int64(),
        "file_path": pa.string(),
        "record_count": pa.int64(),
        "file_size_in_bytes": pa.int64(),
    }
)
_LOG = pa.schema(
    {
        "timestamp": pa.timestamp("us", "UTC"),
        "file": pa.string(),
        "latest_snapshot_id": pa.int64(),
        "latest_schema_id": pa.int32(),
        "latest_sequence_number": pa.int64(),
    }
)
_REFS = pa.schema(
    {
        "name": pa.string(),
        "type": pa.string(),
        "snapshot_id": pa.int64(),
        "max_reference_age_in_ms": pa.int64(),
        "min_snapshots_to_keep": pa.int32(),
        "max_snapshot_age_in_ms": pa.int64(),
    }
)

SCHEMAS = {
    "files": _FILES,
    "data_files": _FILES,
    "delete_files": _DELETE_FILES,
    "entries": _ENTRIES,
    "metadata_log_entries": _LOG,
    "refs": _REFS,
    "position_deletes": iceberg_history.POSITION_DELETES,
    "manifests": iceberg_history.MANIFESTS,
    "all_manifests": iceberg_history.MANIFESTS,
    "all_files": _FILES,
    "all_data_files": _FILES,
    "all_delete_files": _DELETE_FILES,
    "all_entries": _ENTRIES,
}
"""Schemas by name. Snapshot IDs and sequence numbers are versions."""

_POSITION_DELETES = 1
"""Iceberg's content of a file of deletes."""


def read(table: Table, ref: messages.TableRef, name: str) -> pa.Table:
    """The rows of one of these tables, at the version of ``table``."""
    match name:
        case "files" | "data_files":
            return _files(table, ref, table.state.segments.core)
        case "all_files" | "all_data_files":
            return _files(table, ref, iceberg_history.all_segments(table))
        case "delete_files":
            return _delete_files(table, ref, table.state.segments.core)
        case "all_delete_files":
            return _delete_files(table, ref, iceberg_history.all_segments(table))
        case "position_deletes":
            return _position_deletes(table, ref)
        case "entries":
            live = table.state.segments.core
            return _entries(table, ref, iceberg_history.EXISTING, live["sequence"], live)
        case "all_entries":
            entries = iceberg_history.all_entries(table)
            return pa.concat_tables(
                _entries(table, ref, status, [version] * core.num_rows, core)
                for status, version, core in entries
            )
        case "manifests" | "all_manifests":
            rows = iceberg_history.manifests(table, live_only=name == "manifests")
            return pa.Table.from_pylist(rows, iceberg_history.MANIFESTS)
        case "metadata_log_entries":
            return _log_entries(table)
        case "refs":
            return _refs(table)
    raise AssertionError(name)


def _urls(table: Table, ref: messages.TableRef, paths: Sequence[str]) -> list[str]:
    outside = spark_urls(table.store, ref, paths) if table.state.roots else [None] * len(paths)
    return [url or f"{table.location}/{path}" for url, path in zip(outside, paths, strict=True)]


def _files(table: Table, ref: messages.TableRef, segments: pa.Table) -> pa.Table:
    """Segments, with the number of rows that their marks delete."""
    count = segments.num_rows
    marks = segments["mark"].to_pylist()
    return pa.table(
        {
            "content": pa.array([0] * count, pa.int32()),
            "file_path": _urls(table, ref, segments["path"].to_pylist()),
            "file_format": ["PARQUET"] * count,
            "partition": segments["partition"],
            "record_count": segments["rows"],
            "file_size_in_bytes": segments["bytes"],
            "deleted_record_count": [mark_from_text(m).rows if m else 0 for m in marks],
        },
        _FILES,
    )


def _delete_files(table: Table, ref: messages.TableRef, segments: pa.Table) -> pa.Table:
    """The marks of segments; small ones are in the table's log."""
    marked = segments.filter(segments["mark"].is_valid())
    paths = marked["path"].to_pylist()
    marks = [mark_from_text(text) for text in marked["mark"].to_pylist()]
    rows = [
        {
            "content": _POSITION_DELETES,
            "file_path": f"{table.location}/{mark.path}" if isinstance(mark, FileMark) else None,
            "file_format": "PUFFIN",
            "record_count": mark.rows,
            "referenced_data_file": url,
        }
        for mark, url in zip(marks, _urls(table, ref, paths), strict=True)
        if mark.rows
    ]
    return pa.Table.from_pylist(rows, _DELETE_FILES)


def _position_deletes(table: Table, ref: messages.TableRef) -> pa.Table:
    """The rows that marks of the live segments delete."""
    core = table.state.segments.core
    marked = core.filter(core["mark"].is_valid())
    paths = marked["path"].to_pylist()
    marks = [mark_from_text(text) for text in marked["mark"].to_pylist()]
    mark_urls = [
        f"{table.location}/{mark.path}" if isinstance(mark, FileMark) else None for mark in marks
    ]
    urls = dict(zip(paths, _urls(table, ref, paths), strict=True))
    return iceberg_history.position_deletes(table, urls, dict(zip(paths, mark_urls, strict=True)))


def _entries(
    table: Table,
    ref: messages.TableRef,
    status: int,
    versions: Sequence[int] | pa.ChunkedArray,
    segments: pa.Table,
) -> pa.Table:
    """Segments, each with the version that did something with it, and the one that wrote it."""
    return pa.table(
        {
            "status": pa.array([status] * segments.num_rows, pa.int32()),
            "snapshot_id": versions,
            "sequence_number": segments["sequence"],
            "file_sequence_number": segments["sequence"],
            "file_path": _urls(table, ref, segments["path"].to_pylist()),
            "record_count": segments["rows"],
            "file_size_in_bytes": segments["bytes"],
        },
        _ENTRIES,
    )


def _log_entries(table: Table) -> pa.Table:
    """The entries of the table's log, one for each version."""
    history = table.inspect.history()
    versions = history["version"]
    return pa.table(
        {
            "timestamp": history["time"],
            "file": [f"{table.location}/{entry_path(each)}" for each in versions.to_pylist()],
            "latest_snapshot_id": versions,
            "latest_schema_id": history["schema_version"],
            "latest_sequence_number": versions,
        },
        _LOG,
    )


def _refs(table: Table) -> pa.Table:
    """The newest version, the branches and the tags."""
    rows: list[dict[str, object]] = [
        {"name": "main", "type": "BRANCH", "snapshot_id": table.version}
    ]
    rows += [
        {
            "name": name,
            "type": "BRANCH",
            "snapshot_id": table.branch(name).version,
            "max_reference_age_in_ms": _milliseconds(branch.keep),
        }
        for name, branch in sorted(table.branches.items())
    ]
    rows += [
        {
            "name": name,
            "type": "TAG",
            "snapshot_id": version,
            "max_reference_age_in_ms": _milliseconds(table.state.tags_kept.get(name)),
        }
        for name, version in sorted(table.state.tags.items())
    ]
    return pa.Table.from_pylist(rows, _REFS)


def _milliseconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds() * 1000)
