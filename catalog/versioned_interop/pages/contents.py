"""Measures of a table for its page: its versions, and the bytes of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import VersionedError
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain import metadata_tables
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet
from versioned_catalog.storage.store import Store
from versioned_interop.pages.lineage import evenly


@dataclass(frozen=True)
class Point:
    """The size of the table at a version."""

    version: int
    time: datetime
    rows: int
    bytes: int


@dataclass(frozen=True)
class Sizes:
    """Sizes by column, largest first.

    Args:
        columns: the path of each column and its bytes; None for all dropped columns.
        measured: the number of segments whose footers were read.
        live: the number of live segments; if more, sizes are estimated from those measured.
        others: the number of smaller columns that are not listed, and their bytes.
    """

    columns: tuple[tuple[str | None, int], ...]
    measured: int
    live: int
    others: tuple[int, int]


MOST_FOOTERS = 64
MOST_COLUMNS = 30


def column_sizes(store: Store, state: TableState) -> Sizes:
    """Measure up to ``MOST_FOOTERS`` segments, evenly chosen; leave out those that can't be read."""
    live = state.segments.core.select(["path", "schema_version"]).to_pylist()
    schema, bytes_by_path, measured = state.seen.schema, Counter[str | None](), 0
    shown = {column.id for column in schema.columns}
    for row in evenly(live, MOST_FOOTERS):
        columns = state.schemas[row["schema_version"]].columns
        paths = {c.physical_name: schema.path_text(c.id) for c in columns if c.id in shown}
        try:
            sizes = _of_file(store, row["path"])
        except VersionedError:
            continue
        measured += 1
        for name, size in sizes.items():
            bytes_by_path[paths.get(name)] += size
    total = bytes_by_path.total()
    scale = state.segments.bytes / total if measured < len(live) and total else 1.0
    ordered = [(path, round(size * scale)) for path, size in bytes_by_path.most_common()]
    rest = ordered[MOST_COLUMNS:]
    others = (len(rest), sum(size for _, size in rest))
    return Sizes(tuple(ordered[:MOST_COLUMNS]), measured, len(live), others)


def _of_file(store: Store, path: str) -> Counter[str]:
    source, name = store.open(path), f"{store.url}/{path}"
    footer = open_parquet(source, name).metadata
    check_column_chunks(source, footer, name)
    sizes = Counter[str]()
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            sizes[chunk.path_in_schema.split(".")[0]] += chunk.total_compressed_size
    return sizes


def walk_log(handle: TableHandle) -> tuple[pa.Table, list[Point]]:
    """The commits as ``Inspection.history`` lists them, and the sizes of retained versions.

    Each entry is read once, since reading it takes a millisecond or more.
    """
    points: list[Point] = []
    return metadata_tables.history(_walk(handle, points), handle.state.schema_version), points


def _walk(handle: TableHandle, points: list[Point]) -> Iterator[Commit | Stub]:
    """All entries, oldest first; adds the point of each retained version."""
    log, newest = handle.log, handle.state
    is_first = True
    for commit, state in log.walk(newest.version, newest.floor):
        if is_first and commit.head.version:
            yield from log.entries(0, commit.head.version - 1)
        is_first = False
        if not state.dropped:
            segments = state.segments
            points.append(Point(state.version, state.time, segments.shown_rows, segments.bytes))
        yield commit
