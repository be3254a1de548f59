"""Measures of a table for its page: its versions, the rows of commits, and the bytes of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True)
class Walked:
    """What a walk through the log finds.

    Args:
        commits: as ``Inspection.history`` lists them.
        points: the sizes of retained versions.
        rows: how many rows retained versions added and removed.
        dates: when schema versions were committed, as far as that is retained.
    """

    commits: pa.Table
    points: tuple[Point, ...]
    rows: Mapping[int, RowCounts]
    dates: Mapping[int, datetime]


@dataclass(frozen=True)
class RowCounts:
    """How many rows a commit added and removed."""

    added: int
    removed: int


NEW_ROWS_ONLY = frozenset({"append", "overwrite"})
"""Operations whose new segments hold new rows only; others copy rows that stay."""


def walk_log(handle: TableHandle) -> Walked:
    """Read each entry once, since reading one takes a millisecond or more."""
    walk = _Walk([], {}, {})
    commits = metadata_tables.history(walk.entries(handle), handle.state.schema_version)
    return Walked(commits, tuple(walk.points), walk.rows, walk.dates)


@dataclass(frozen=True)
class _Walk:
    points: list[Point]
    rows: dict[int, RowCounts]
    dates: dict[int, datetime]

    def entries(self, handle: TableHandle) -> Iterator[Commit | Stub]:
        """All entries, oldest first; records what they and the states after them say."""
        log, newest = handle.log, handle.state
        before: TableState | None = None
        for commit, state in log.walk(newest.version, newest.floor):
            if before is None and commit.head.version:
                for entry in log.entries(0, commit.head.version - 1):
                    self._see(entry)
                    yield entry
            self._see(commit)
            self.rows[state.version] = _row_counts(before, commit, state)
            if not state.dropped:
                segments = state.segments
                point = Point(state.version, state.time, segments.shown_rows, segments.bytes)
                self.points.append(point)
            before = state
            yield commit

    def _see(self, entry: Commit | Stub) -> None:
        if isinstance(entry, Commit) and entry.schema is not None:
            self.dates[entry.schema.version] = entry.head.time


def _row_counts(before: TableState | None, commit: Commit, after: TableState) -> RowCounts:
    """How many rows a commit added and removed; of one that copies rows, the difference.

    Nothing is known of what the oldest retained commit removed.
    """
    added = sum(record.rows for record in commit.added)
    operation = commit.head.operation
    if operation == "compact":
        return RowCounts(0, 0)
    if before is None:
        return RowCounts(added, 0)
    now = 0 if after.dropped else after.segments.shown_rows
    then = 0 if before.dropped else before.segments.shown_rows
    if operation in NEW_ROWS_ONLY:
        return RowCounts(added, max(0, then + added - now))
    return RowCounts(max(0, now - then), max(0, then - now))
