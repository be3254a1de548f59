"""A table as one HTML page, which loads nothing."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.column_tables import rows_of
from versioned_catalog.maintain.metadata_tables import segments
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.storage.secrets import without_credentials
from versioned_interop.pages.contents import Point, Sizes, column_sizes, walk_log
from versioned_interop.pages.drawing import (
    STYLE,
    Markup,
    count_text,
    join,
    plural,
    size_text,
    tag,
    time_text,
)
from versioned_interop.pages.lineage import evenly, trace
from versioned_interop.pages.lineage_svg import draw_lineage, lay_out

_WIDTH, _HEIGHT = 1000.0, 120.0


def steps(
    name: str, points: Sequence[Point], value: Callable[[Point], int], text: Callable[[int], str]
) -> Markup:
    """A number over time: it stays until the next version, and starts at zero on the scale."""
    values = [value(point) for point in points]
    most = max(values)
    places = _places(points)
    lines = [f"M0,{_y(values[0], most):.1f}"]
    for x, number in zip(places[1:], values[1:], strict=True):
        lines += [f"H{x:.1f}", f"V{_y(number, most):.1f}"]
    outline = " ".join([*lines, f"H{_WIDTH:g}"])
    area = tag("path", d=f"{outline} V{_HEIGHT:g} H0 Z", class_="area")
    line = tag("path", d=outline, class_="step", vector_effect="non-scaling-stroke")
    hovers = [
        _hover(x, end, f"version {point.version}, {time_text(point.time)}: {text(number)}")
        for x, end, point, number in zip(places, [*places[1:], _WIDTH], points, values, strict=True)
    ]
    box = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    drawn = tag("svg", area, line, *hovers, viewBox=box, preserveAspectRatio="none", class_="chart")
    head = [tag("span", name, class_="soft"), " ", tag("b", text(values[-1]))]
    if most > values[-1]:
        head.append(tag("span", f" · most {text(most)}", class_="soft"))
    ends = [tag("span", text) for text in _ends(points[0].time, points[-1].time)]
    return tag("figure", tag("figcaption", *head), drawn, tag("div", *ends, class_="ends soft"))


def _ends(first: datetime, last: datetime) -> tuple[str, str]:
    short = last - first < timedelta(hours=1)
    if short:
        return f"{first.astimezone(UTC):%H:%M:%S}", f"{last.astimezone(UTC):%H:%M:%S}"
    return time_text(first), time_text(last)


def _places(points: Sequence[Point]) -> list[float]:
    """x by time, or by version if all have one time."""
    times = [point.time.timestamp() for point in points]
    if max(times) <= min(times):
        times = [float(at) for at in range(len(points))]
    # Commit times may decrease.
    sorted_times = sorted(times)
    start, span = sorted_times[0], (sorted_times[-1] - sorted_times[0]) or 1.0
    # The newest version has a width of its own, so that it can be seen.
    return [(time - start) / span * _WIDTH * 0.98 for time in sorted_times]


def _y(value: int, most: int) -> float:
    return _HEIGHT - (_HEIGHT - 4) * value / (most or 1)


def _hover(start: float, end: float, text: str) -> Markup:
    title = tag("title", text)
    width = max(end - start, 1.0)
    return tag("rect", title, x=start, y=0, width=width, height=_HEIGHT, class_="hover")


def bars(rows: Sequence[tuple[str, float, str, str]]) -> Markup:
    """Bars below each other: label, length from 0 to 1, text, and a longer text as its tooltip."""
    if not rows:
        return tag("p", "No segments.")
    return tag("div", *(_bar(*row) for row in rows), class_="bars")


def _bar(label: str, length: float, text: str, full: str) -> Markup:
    bar = tag("div", style=f"width:{100 * length:.2f}%", class_="bar")
    cells = [
        tag("div", label, class_="label"),
        tag("div", bar, class_="track"),
        tag("div", text, class_="value"),
    ]
    return tag("div", *cells, class_="row", title=full)


MOST_LANES = 60
MOST_POINTS = 200
MOST_SHARES = 24
MOST_COMMITS = 100
MOST_MONTHS = 24


def head(state: TableState, title: str) -> Markup:
    """The name of the table, its comment and its figures."""
    schema = state.seen.schema
    key = ", ".join(map(schema.path_text, schema.primary_key))
    facts = [
        ("version", count_text(state.version)),
        ("stored rows" if key else "rows", count_text(state.segments.shown_rows)),
        ("size", size_text(state.segments.bytes)),
        ("segments", count_text(state.segments.count)),
        ("columns", count_text(len(schema.columns))),
        ("schema version", count_text(schema.version)),
        ("primary key", key),
        ("partitioned by", ", ".join(partition_fields(schema))),
        ("tags", ", ".join(f"{name} = {version}" for name, version in sorted(state.tags.items()))),
    ]
    shown = [
        tag("div", tag("dt", name), tag("dd", text), class_="fact") for name, text in facts if text
    ]
    comment = [tag("p", state.comment, class_="comment")] if state.comment else []
    when = tag("p", f"As of {time_text(state.time)} UTC", class_="soft")
    return tag("header", tag("h1", title), *comment, when, tag("dl", *shown))


def lineage(state: TableState) -> Markup:
    """The columns through the schema versions."""
    columns = {version: schema.visible.columns for version, schema in state.schemas.items()}
    return _section(
        "Columns",
        "Each line is a column, from the schema version that added it to the one that dropped it. "
        "The numbers at the top are schema versions.",
        draw_lineage(lay_out(trace(columns), MOST_LANES)),
    )


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
    return _section("Growth", note, tag("div", *charts, class_="pair"))


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
    return _section("Segments by schema", note, bars(drawn))


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
    return _section("Size by column", note, bars(rows))


def history(commits: Sequence[dict[str, Any]]) -> Markup:
    """The commits, newest first."""
    names = ("Version", "Time (UTC)", "Commit", "Rows added", "Segments", "Writer")
    numbers = {"Version", "Rows added", "Segments"}
    header = [tag("th", name, class_="number" if name in numbers else None) for name in names]
    newest, older = commits[:MOST_COMMITS], commits[MOST_COMMITS:]
    months = [list(group) for _, group in itertools.groupby(older, _month)]
    if joined := months[MOST_MONTHS - 1 :]:
        months[MOST_MONTHS - 1 :] = [list(itertools.chain.from_iterable(joined))]
    rows = [*map(_commit, newest), *map(_older, months)]
    note = "Newest first."
    if older:
        note += f" The {count_text(len(older))} commits before the newest {len(newest)} are "
        note += "summed up by month."
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *rows), class_="history")
    return _section("History", note, table)


def _month(commit: dict[str, Any]) -> str:
    return f"{commit['time']:%Y-%m}"


def _commit(commit: dict[str, Any]) -> Markup:
    cell: list[str] = [tag("b", commit["operation"] or "expired")]
    if commit["changes"]:
        cell.append(tag("div", "; ".join(commit["changes"]), class_="soft changes"))
    signs = (("+", commit["segments_added"]), ("−", commit["segments_removed"]))
    return tag(
        "tr",
        tag("td", count_text(commit["version"]), class_="number version"),
        tag("td", time_text(commit["time"]), class_="time"),
        tag("td", *cell, class_="what"),
        _rows_cell(commit["rows_added"] or 0),
        tag(
            "td",
            " ".join(f"{sign}{count_text(count)}" for sign, count in signs if count),
            class_="number segments",
        ),
        tag("td", commit["writer"] or "", class_="soft who"),
    )


def _rows_cell(rows: int) -> Markup:
    return tag("td", f"+{count_text(rows)}" if rows else "", class_="number rows")


def _older(commits: Sequence[dict[str, Any]]) -> Markup:
    """The commits of a month, or of several, summed up."""
    first, last = _month(commits[-1]), _month(commits[0])
    counts = Counter(commit["operation"] or "expired" for commit in commits)
    cell = ", ".join(
        f"{count_text(count)} {operation}" for operation, count in counts.most_common()
    )
    versions = f"{count_text(commits[-1]['version'])}–{count_text(commits[0]['version'])}"
    return tag(
        "tr",
        tag("td", versions, class_="number version"),
        tag("td", last if first == last else f"{first} to {last}", class_="time"),
        tag("td", cell, class_="what"),
        _rows_cell(sum(commit["rows_added"] or 0 for commit in commits)),
        tag("td", "", class_="number segments"),
        tag("td", "", class_="who"),
        class_="older",
    )


def _section(title: str, note: str, inside: Markup) -> Markup:
    return tag("section", tag("h2", title), tag("p", note, class_="soft"), inside)


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fcfcfa; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --paper: #14181d; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); }
main.vt { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 1.1rem; font-weight: 650; margin: 0; }
section { margin-top: 2.75rem; }
section > .soft { margin: .15rem 0 1rem; max-width: 44rem; }
.soft { color: var(--vt-soft); }
.comment { font-size: 1.05rem; margin: .3rem 0 0; max-width: 44rem; }
dl { display: flex; flex-wrap: wrap; gap: .9rem 2.2rem; margin: 1.3rem 0 0; }
dt { color: var(--vt-soft); font-size: .8rem; }
dd { margin: 0; font-size: 1.05rem; font-weight: 600; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .35rem; }
.chart { width: 100%; height: 120px; border-bottom: 1px solid var(--vt-faint); }
.chart .area { fill: var(--vt-line); opacity: .13; }
.chart .step { fill: none; stroke: var(--vt-line); stroke-width: 2; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--vt-faint); }
.ends { display: flex; justify-content: space-between; font-size: .8rem; margin-top: .25rem; }
.bars { display: grid; gap: .3rem; }
.bars .row { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr minmax(6rem, 13rem);
  gap: .9rem; align-items: center; }
.bars .label { font-weight: 600; }
.bars .value { text-align: right; }
.bars .track { height: .6rem; }
.bars .bar { height: 100%; min-width: 2px; background: var(--vt-line); border-radius: 2px; }
.history { width: 100%; border-collapse: collapse; }
.history th { text-align: left; font-weight: 400; font-size: .8rem; color: var(--vt-soft);
  padding: 0 .9rem .35rem 0; }
.history td { padding: .42rem .9rem .42rem 0; border-top: 1px solid var(--vt-faint);
  vertical-align: top; }
.history .number { text-align: right; white-space: nowrap; }
.history .time { white-space: nowrap; }
.history .what { width: 45%; }
.history .who { padding-right: 0; }
.history .changes { font-size: .88rem; }
@media (max-width: 700px) {
  main.vt { padding: 1.4rem 1rem 3rem; }
  .pair { grid-template-columns: 1fr; gap: 1.5rem; }
  .bars { gap: .7rem; }
  .bars .row { grid-template-columns: 1fr auto; gap: .1rem .9rem; }
  .bars .track { grid-column: 1 / -1; grid-row: 2; }
  .history thead { display: none; }
  .history tr { display: grid; grid-template-columns: auto 1fr auto; gap: 0 .8rem;
    border-top: 1px solid var(--vt-faint); padding: .5rem 0; }
  .history td { border: 0; padding: 0; }
  .history .what { grid-column: 2; grid-row: 1; width: auto; }
  .history .version { grid-column: 1; grid-row: 1; color: var(--vt-soft); min-width: 2.2rem; }
  .history .rows { grid-column: 3; grid-row: 1; }
  .history .time { grid-column: 2; grid-row: 2; color: var(--vt-soft); font-size: .88rem; }
  .history .segments { grid-column: 3; grid-row: 2; color: var(--vt-soft); font-size: .88rem; }
  .history .who { grid-column: 2; grid-row: 3; font-size: .88rem; }
}
@media print { :root { --ink: #000; --paper: #fff; } section { break-inside: avoid; } }
"""


def table_page(handle: TableHandle) -> str:
    """The page of a table, as the text of an HTML file in UTF-8."""
    title, state = without_credentials(handle.name), handle.state
    commits, points = walk_log(handle)
    head_element = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<link rel="icon" href="data:,">'),  # or browsers ask for one
        tag("title", title),
        STYLE,
        tag("style", Markup(_STYLE)),
    )
    main = tag(
        "main",
        head(state, title),
        lineage(state),
        growth(points),
        shares(state),
        sizes(column_sizes(handle.store, state)),
        history(rows_of(commits)[::-1]),
        class_="vt",
    )
    page = tag("html", head_element, tag("body", main), lang="en")
    return str(join(Markup("<!doctype html>\n"), page))
