"""Gather what a page shows from a table's metadata; lists are cut, never silently."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog.drawing.figures import count_text, size_text
from versioned_catalog.drawing.lineage import trace
from versioned_catalog.handle import TableHandle
from versioned_catalog.inspection.arrow_rows import rows_of
from versioned_catalog.inspection.tables import segments
from versioned_catalog.log.state import TableState
from versioned_catalog.page.column_sizes import column_sizes
from versioned_catalog.page.log_walk import walk_log
from versioned_catalog.page.model import CommitLine, OlderCommits, PageModel, Point, Share
from versioned_catalog.schema.partition_changes import partition_fields

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
    sums = [sum(row[what] for row in rows) for what in ("rows_count", "rows_sum", "bytes_sum")]
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
    counts = Counter(one.operation or "expired" for one in commits)
    return OlderCommits(
        month=last if first == last else f"{first} to {last}",
        first=commits[-1].version,
        last=commits[0].version,
        operations=tuple(counts.most_common()),
        rows_added=sum(one.rows_added for one in commits),
    )
