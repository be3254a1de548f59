"""A table as one HTML page, which loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.log.clones import protections
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.column_tables import rows_of
from versioned_catalog.maintain.metadata_tables import segments
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.types import walk
from versioned_catalog.storage.secrets import without_credentials
from versioned_interop.pages.charts import bars, steps
from versioned_interop.pages.commits import history
from versioned_interop.pages.contents import Point, Sizes, column_sizes, walk_log
from versioned_interop.pages.described import column_facts, declared, kept
from versioned_interop.pages.drawing import (
    Markup,
    count_text,
    plural,
    size_text,
    tag,
    time_text,
)
from versioned_interop.pages.frame import facts, html_page, search, section
from versioned_interop.pages.lanes import counted, draw_lineage
from versioned_interop.pages.lineage import evenly, trace

MOST_LANES = 40
MOST_POINTS = 200
MOST_SHARES = 24
MOST_TAGS = 8


def head(state: TableState, title: str) -> Markup:
    """The name of the table, its comment and its figures."""
    schema = state.seen.schema
    key = ", ".join(map(schema.path_text, schema.primary_key))
    nested = sum(1 for _ in walk(schema.columns)) - len(schema.columns)
    clones = protections(state.tags)
    tags = sorted((name, at) for name, at in state.tags.items() if name not in clones)
    figures = [
        ("version", count_text(state.version)),
        ("stored rows" if key else "rows", count_text(state.segments.shown_rows)),
        ("size", size_text(state.segments.bytes)),
        ("segments", count_text(state.segments.count)),
        ("columns", count_text(len(schema.columns))),
        ("nested fields", count_text(nested) if nested else ""),
        ("schema version", count_text(schema.version)),
        ("primary key", key),
        ("partitioned by", ", ".join(partition_fields(schema))),
        ("tags", ", ".join(f"{name} = {at}" for name, at in tags[:MOST_TAGS])),
        ("more tags", count_text(len(tags) - MOST_TAGS) if len(tags) > MOST_TAGS else ""),
    ]
    comment = [tag("p", state.comment, class_="comment")] if state.comment else []
    when = tag("p", f"As of {time_text(state.time)} UTC", class_="soft")
    return tag("header", tag("h1", title), *comment, when, facts(figures))


def lineage(state: TableState, dates: Mapping[int, datetime]) -> Markup:
    """The columns through the schema versions."""
    columns = {version: schema.visible.columns for version, schema in state.schemas.items()}
    traced = trace(columns)
    live = [lane for lane in traced.lanes if lane.is_live]
    dropped = [lane for lane in traced.lanes if not lane.is_live]
    note = f"{counted(live)}; {counted(dropped)} dropped. " if dropped else f"{counted(live)}. "
    note += (
        "Each line is a column, from the schema version that added it to the one that dropped it; "
        "a number before a change is its schema version."
    )
    drawn = draw_lineage(traced, MOST_LANES, unfolds=True, facts=column_facts(state), dates=dates)
    return section("Columns", note, search(".vt-lane", "column", len(traced.lanes)), drawn)


def growth(versions: Sequence[Point]) -> Markup:
    """Rows and bytes over time."""
    points = evenly(versions, MOST_POINTS)
    note = "Rows and bytes in live segments, by the time of the commit (UTC)."
    if len(points) < len(versions):
        note += f" {len(points)} of {count_text(len(versions))} versions are drawn."
    charts = [
        steps("Rows", points, lambda point: point.rows, count_text),
        steps("Size", points, lambda point: point.bytes, size_text),
    ]
    return section("Growth", note, tag("div", *charts, class_="pair"))


def shares(state: TableState) -> Markup:
    """Live segments by the schema version of their writer, oldest first; many are joined to ranges."""
    totals = (
        segments(state)
        .group_by("schema_version")
        .aggregate([("rows", "count"), ("rows", "sum"), ("bytes", "sum")])
    )
    rows = sorted(rows_of(totals), key=lambda row: row["schema_version"])
    size = max(1, -(-len(rows) // MOST_SHARES))
    groups = [_share(rows[at : at + size]) for at in range(0, len(rows), size)]
    total = max((stored for *_, stored in groups), default=0) or 1
    drawn = [
        (label, stored / total, text, f"{label}: {text}, {size_text(stored)}")
        for label, text, stored in groups
    ]
    note = (
        "Live segments by the schema version that they were written under. A change of the schema "
        "rewrites none."
    )
    return section("Segments by schema", note, bars(drawn))


def _share(rows: Sequence[dict[str, Any]]) -> tuple[str, str, int]:
    """The label, the numbers of segments and rows, and the bytes of some schema versions."""
    first, last = rows[0]["schema_version"], rows[-1]["schema_version"]
    count, stored_rows, stored = (
        sum(row[name] for row in rows) for name in ("rows_count", "rows_sum", "bytes_sum")
    )
    text = f"{plural(count, 'segment')}, {plural(stored_rows, 'row')}"
    return f"schema {first}" if first == last else f"schema {first}–{last}", text, stored


def sizes(measured: Sizes) -> Markup:
    """Bytes by column."""
    total = max((size for _, size in measured.columns), default=0) or 1
    rows = [
        (name, size / total, size_text(size), f"{name}: {count_text(size)} bytes")
        for path, size in measured.columns
        for name in ("dropped columns" if path is None else path,)
    ]
    others, rest = measured.others
    if others:
        rows.append((plural(others, "other column"), rest / max(total, rest), size_text(rest), ""))
    note = "Compressed bytes in live segments."
    if measured.measured < measured.live:
        live = plural(measured.live, "segment")
        note = f"Compressed bytes, estimated from {measured.measured} of {live}."
    return section("Size by column", note, bars(rows))


def table_page(handle: TableHandle) -> str:
    """The page of a table, as the text of an HTML file in UTF-8."""
    title, state = without_credentials(handle.name), handle.state
    walked = walk_log(handle)
    return html_page(
        title,
        head(state, title),
        lineage(state, walked.dates),
        growth(walked.points),
        declared(state),
        kept(state),
        shares(state),
        sizes(column_sizes(handle.store, state)),
        history(rows_of(walked.commits)[::-1], walked.rows),
    )
