"""What a page shows of a table, gathered from its metadata; lists are cut, never silently."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import VersionedError
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain import metadata_tables
from versioned_catalog.maintain.column_tables import rows_of
from versioned_catalog.maintain.metadata_tables import segments
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet
from versioned_catalog.storage.store import Store
from versioned_interop.pages.drawing import count_text, size_text
from versioned_interop.pages.lineage import Lineage, trace


@dataclass(frozen=True)
class Point:
    """The size of the table at a version."""

    version: int
    time: datetime
    rows: int
    bytes: int


@dataclass(frozen=True)
class Share:
    """The live segments of some schema versions, mostly of one."""

    schemas: str
    segments: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class ColumnSize:
    """The bytes of a column in the live segments; ``path`` is None for all dropped columns."""

    path: str | None
    bytes: int


@dataclass(frozen=True)
class Sizes:
    """Sizes by column, largest first.

    Args:
        measured: the number of segments whose footers were read.
        live: the number of live segments; if more, sizes are estimated from those measured.
        others: the number of smaller columns that are not listed, and their bytes.
    """

    columns: tuple[ColumnSize, ...]
    measured: int
    live: int
    others: tuple[int, int]


@dataclass(frozen=True)
class CommitLine:
    """A commit; expired ones have only a version and a time."""

    version: int
    time: datetime
    operation: str | None
    rows_added: int
    segments_added: int
    segments_removed: int
    changes: tuple[str, ...]
    writer: str | None


@dataclass(frozen=True)
class OlderCommits:
    """The commits of a month, summed up."""

    month: str
    first: int
    last: int
    operations: tuple[tuple[str, int], ...]
    rows_added: int


@dataclass(frozen=True)
class PageModel:
    """A page.

    Args:
        facts: names and texts for the head of the page.
        growth: sizes by version, oldest first; ``versions`` says of how many these are a sample.
        commits: newest first.
        older: newest first.
    """

    title: str
    comment: str | None
    version: int
    time: datetime
    facts: tuple[tuple[str, str], ...]
    lineage: Lineage
    growth: tuple[Point, ...]
    versions: int
    shares: tuple[Share, ...]
    sizes: Sizes
    commits: tuple[CommitLine, ...]
    older: tuple[OlderCommits, ...]


MOST_FOOTERS = 64
MOST_COLUMNS = 30


def column_sizes(store: Store, state: TableState) -> Sizes:
    """Measure up to ``MOST_FOOTERS`` segments, evenly chosen; leave out those that can't be read."""
    live = state.segments.core.select(["path", "schema_version"]).to_pylist()
    bytes_by_id, measured, total = Counter[int | None](), 0, 0
    for row in _sample(live):
        names = _names(state, row["schema_version"])
        try:
            sizes = _of_file(store, row["path"])
        except VersionedError:
            continue
        measured += 1
        for name, size in sizes.items():
            bytes_by_id[names.get(name)] += size
            total += size
    stored = state.segments.bytes
    scale = stored / total if measured < len(live) and total else 1.0
    return _sizes(
        {key: round(size * scale) for key, size in bytes_by_id.items()}, state, measured, len(live)
    )


def _sample(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(rows) <= MOST_FOOTERS:
        return list(rows)
    return [rows[at * len(rows) // MOST_FOOTERS] for at in range(MOST_FOOTERS)]


def _names(state: TableState, schema_version: int) -> dict[str, int | None]:
    """IDs of the top-level columns of a schema by their names in files; None for dropped ones."""
    live = {column.id for column in state.seen.schema.columns}
    columns = state.schemas[schema_version].columns
    return {c.physical_name: c.id if c.id in live else None for c in columns}


def _of_file(store: Store, path: str) -> Counter[str]:
    source, name = store.open(path), f"{store.url}/{path}"
    footer = open_parquet(source, name).metadata
    check_column_chunks(source, footer, name)
    sizes = Counter[str]()
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            sizes[chunk.path_in_schema.split(".")[0]] += chunk.total_compressed_size
    return sizes


def _sizes(by_id: Mapping[int | None, int], state: TableState, measured: int, live: int) -> Sizes:
    schema = state.seen.schema
    sizes = [
        ColumnSize(None if column_id is None else schema.path_text(column_id), size)
        for column_id, size in sorted(by_id.items(), key=lambda pair: -pair[1])
    ]
    shown, rest = sizes[:MOST_COLUMNS], sizes[MOST_COLUMNS:]
    return Sizes(tuple(shown), measured, live, (len(rest), sum(size.bytes for size in rest)))


def walk_log(handle: TableHandle) -> tuple[pa.Table, list[Point]]:
    """The commits as ``Inspection.history`` lists them, and the sizes of retained versions.

    Each entry is read once, since reading it takes a millisecond or more.
    """
    points: list[Point] = []
    return metadata_tables.history(_walk(handle, points)), points


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
            points.append(Point(state.version, state.time, segments.rows, segments.bytes))
        yield commit


MOST_COMMITS = 100
MOST_MONTHS = 24
MOST_POINTS = 200
MOST_SHARES = 24


def gather(handle: TableHandle, title: str) -> PageModel:
    """Read the metadata of a table: its log, and the footers of some segments."""
    state = handle.state
    history, points = walk_log(handle)
    commits, older = _commits(rows_of(history))
    return PageModel(
        title=title,
        comment=state.comment,
        version=state.version,
        time=state.time,
        facts=_facts(state),
        lineage=trace(
            {version: schema.visible.columns for version, schema in state.schemas.items()}
        ),
        growth=_sampled(points),
        versions=len(points),
        shares=_shares(segments(state)),
        sizes=column_sizes(handle.store, state),
        commits=commits,
        older=older,
    )


def _facts(state: TableState) -> tuple[tuple[str, str], ...]:
    schema = state.seen.schema
    key = ", ".join(map(schema.path_text, schema.primary_key))
    facts = [
        ("version", count_text(state.version)),
        ("stored rows" if key else "rows", count_text(state.segments.rows)),
        ("size", size_text(state.segments.bytes)),
        ("segments", count_text(state.segments.count)),
        ("columns", count_text(len(schema.columns))),
        ("schema version", count_text(schema.version)),
        ("primary key", key),
        ("partitioned by", ", ".join(partition_fields(schema))),
        ("tags", ", ".join(f"{name} = {version}" for name, version in sorted(state.tags.items()))),
    ]
    return tuple((name, text) for name, text in facts if text)


def _sampled(points: Sequence[Point]) -> tuple[Point, ...]:
    if len(points) <= MOST_POINTS:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[at * last // (MOST_POINTS - 1)] for at in range(MOST_POINTS))


def _shares(live: pa.Table) -> tuple[Share, ...]:
    """The live segments by schema version, oldest first; many versions are joined to ranges."""
    totals = live.group_by("schema_version").aggregate(
        [("rows", "count"), ("rows", "sum"), ("bytes", "sum")]
    )
    rows = sorted(rows_of(totals), key=lambda row: row["schema_version"])
    size = max(1, -(-len(rows) // MOST_SHARES))
    return tuple(_share(rows[at : at + size]) for at in range(0, len(rows), size))


def _share(rows: Sequence[dict[str, Any]]) -> Share:
    first, last = rows[0]["schema_version"], rows[-1]["schema_version"]
    name = str(first) if first == last else f"{first}–{last}"
    sums = [sum(row[name] for row in rows) for name in ("rows_count", "rows_sum", "bytes_sum")]
    return Share(name, *sums)


def _commits(
    rows: Sequence[dict[str, Any]],
) -> tuple[tuple[CommitLine, ...], tuple[OlderCommits, ...]]:
    newest = [_commit(row) for row in rows[::-1][:MOST_COMMITS]]
    rest = [_commit(row) for row in rows[::-1][MOST_COMMITS:]]
    months = [list(group) for _, group in itertools.groupby(rest, _month)]
    kept, joined = months[: MOST_MONTHS - 1], months[MOST_MONTHS - 1 :]
    if joined:
        kept.append(list(itertools.chain.from_iterable(joined)))
    return tuple(newest), tuple(map(_older, kept))


def _month(commit: CommitLine) -> str:
    return f"{commit.time:%Y-%m}"


def _commit(row: dict[str, Any]) -> CommitLine:
    return CommitLine(
        row["version"],
        row["time"],
        row["operation"],
        row["rows_added"] or 0,
        row["segments_added"] or 0,
        row["segments_removed"] or 0,
        tuple(row["changes"] or ()),
        row["writer"],
    )


def _older(commits: Sequence[CommitLine]) -> OlderCommits:
    first, last = _month(commits[-1]), _month(commits[0])
    counts = Counter(commit.operation or "expired" for commit in commits)
    return OlderCommits(
        month=last if first == last else f"{first} to {last}",
        first=commits[-1].version,
        last=commits[0].version,
        operations=tuple(counts.most_common()),
        rows_added=sum(commit.rows_added for commit in commits),
    )
