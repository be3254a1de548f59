"""A table as one HTML page, which loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.storage.secrets import without_credentials
from versioned_interop.pages.contents import (
    ColumnSize,
    CommitLine,
    OlderCommits,
    PageModel,
    Point,
    Share,
    gather,
)
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
    return tag("div", *(_bar(*row) for row in rows), class_="bars")


def _bar(label: str, length: float, text: str, full: str) -> Markup:
    bar = tag("div", style=f"width:{100 * length:.2f}%", class_="bar")
    cells = [
        tag("div", label, class_="label"),
        tag("div", bar, class_="track"),
        tag("div", text, class_="value"),
    ]
    return join(tag("div", *cells, class_="row", title=full))


MOST_LANES = 60


def head(model: PageModel) -> Markup:
    """The name of the table, its comment and its figures."""
    facts = [
        tag("div", tag("dt", name), tag("dd", text), class_="fact") for name, text in model.facts
    ]
    comment = [tag("p", model.comment, class_="comment")] if model.comment else []
    when = tag("p", f"As of {time_text(model.time)} UTC", class_="soft")
    return tag("header", tag("h1", model.title), *comment, when, tag("dl", *facts))


def lineage(model: PageModel) -> Markup:
    """The columns through the schema versions."""
    return _section(
        "Columns",
        "Each line is a column, from the schema version that added it to the one that dropped it. "
        "The numbers at the top are schema versions.",
        draw_lineage(lay_out(model.lineage, MOST_LANES)),
    )


def growth(model: PageModel) -> Markup:
    """Rows and bytes over time."""
    points = model.growth
    note = "Rows and bytes in live segments, by the time of the commit (UTC)."
    if len(points) < model.versions:
        note += f" {len(points)} of {count_text(model.versions)} versions are drawn."
    charts = [
        steps("Rows", points, lambda point: point.rows, count_text),
        steps("Size", points, lambda point: point.bytes, size_text),
    ]
    return _section("Growth", note, tag("div", *charts, class_="pair"))


def shares(model: PageModel) -> Markup:
    """Which live segments were written under which schema version."""
    total = max((share.bytes for share in model.shares), default=0) or 1
    rows = [
        (f"schema {share.schemas}", share.bytes / total, _share_text(share), _share_full(share))
        for share in model.shares
    ]
    note = (
        "Live segments by the schema version that they were written under. A change of the schema "
    )
    note += "rewrites none."
    return _section("Segments by schema", note, bars(rows) if rows else _nothing("No segments."))


def _share_text(share: Share) -> str:
    return f"{plural(share.segments, 'segment')}, {plural(share.rows, 'row')}"


def _share_full(share: Share) -> str:
    return f"schema {share.schemas}: {_share_text(share)}, {size_text(share.bytes)}"


def sizes(model: PageModel) -> Markup:
    """Bytes by column."""
    column_sizes = model.sizes
    total = max((size.bytes for size in column_sizes.columns), default=0) or 1
    rows = [_size(size, total) for size in column_sizes.columns]
    others, rest = column_sizes.others
    if others:
        rows.append((plural(others, "other column"), rest / max(total, rest), size_text(rest), ""))
    note = "Compressed bytes in live segments."
    if column_sizes.measured < column_sizes.live:
        live = plural(column_sizes.live, "segment")
        note = f"Compressed bytes, estimated from {column_sizes.measured} of {live}."
    return _section("Size by column", note, bars(rows) if rows else _nothing("No segments."))


def _size(size: ColumnSize, total: int) -> tuple[str, float, str, str]:
    name = "dropped columns" if size.path is None else size.path
    full = f"{name}: {count_text(size.bytes)} bytes"
    return name, size.bytes / total, size_text(size.bytes), full


def history(model: PageModel) -> Markup:
    """The commits, newest first."""
    names = ("Version", "Time (UTC)", "Commit", "Rows added", "Segments", "Writer")
    numbers = {"Version", "Rows added", "Segments"}
    header = [tag("th", name, class_="number" if name in numbers else None) for name in names]
    rows = [*map(_commit, model.commits), *map(_older, model.older)]
    note = "Newest first."
    if model.older:
        older = sum(count for summary in model.older for _, count in summary.operations)
        note += f" The {count_text(older)} commits before the newest {len(model.commits)} are "
        note += "summed up by month."
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *rows), class_="history")
    return _section("History", note, table)


def _commit(commit: CommitLine) -> Markup:
    cell: list[str] = [tag("b", commit.operation or "expired")]
    if commit.changes:
        cell.append(tag("div", "; ".join(commit.changes), class_="soft changes"))
    return tag(
        "tr",
        tag("td", count_text(commit.version), class_="number version"),
        tag("td", time_text(commit.time), class_="time"),
        tag("td", *cell, class_="what"),
        _rows_cell(commit.rows_added),
        tag("td", _segments(commit), class_="number segments"),
        tag("td", commit.writer or "", class_="soft who"),
    )


def _rows_cell(rows: int) -> Markup:
    return tag("td", f"+{count_text(rows)}" if rows else "", class_="number rows")


def _segments(commit: CommitLine) -> str:
    added, removed = commit.segments_added, commit.segments_removed
    signs = [f"+{count_text(added)}"] if added else []
    return " ".join([*signs, *([f"−{count_text(removed)}"] if removed else [])])


def _older(summary: OlderCommits) -> Markup:
    cell = ", ".join(f"{count_text(count)} {operation}" for operation, count in summary.operations)
    versions = f"{count_text(summary.first)}–{count_text(summary.last)}"
    return tag(
        "tr",
        tag("td", versions, class_="number version"),
        tag("td", summary.month, class_="time"),
        tag("td", cell, class_="what"),
        _rows_cell(summary.rows_added),
        tag("td", "", class_="number segments"),
        tag("td", "", class_="who"),
        class_="older",
    )


def _section(title: str, note: str, inside: Markup) -> Markup:
    return tag("section", tag("h2", title), tag("p", note, class_="soft"), inside)


def _nothing(text: str) -> Markup:
    return tag("p", text)


def body(model: PageModel) -> Markup:
    """All sections."""
    parts = (head, lineage, growth, shares, sizes, history)
    return join(*(part(model) for part in parts))


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
    return document(gather(handle, without_credentials(handle.name)))


def document(model: PageModel) -> str:
    """A page as the text of an HTML file."""
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<link rel="icon" href="data:,">'),  # or browsers ask for one
        tag("title", model.title),
        STYLE,
        tag("style", Markup(_STYLE)),
    )
    main = tag("main", body(model), class_="vt")
    return str(join(Markup("<!doctype html>\n"), tag("html", head, tag("body", main), lang="en")))
