"""The sections of a page."""

from __future__ import annotations

from versioned_catalog.drawing.figures import count_text, plural, size_text, time_text
from versioned_catalog.drawing.lineage_layout import lay_out
from versioned_catalog.drawing.lineage_svg import draw_lineage
from versioned_catalog.drawing.markup import Markup, join, tag
from versioned_catalog.page.charts import bars, steps
from versioned_catalog.page.model import ColumnSize, CommitLine, OlderCommits, PageModel, Share

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
    found = model.sizes
    total = max((one.bytes for one in found.columns), default=0) or 1
    rows = [_size(one, total) for one in found.columns]
    others, rest = found.others
    if others:
        rows.append((plural(others, "other column"), rest / max(total, rest), size_text(rest), ""))
    note = "Compressed bytes in live segments."
    if found.measured < found.live:
        note = (
            f"Compressed bytes, estimated from {found.measured} of {plural(found.live, 'segment')}."
        )
    return _section("Size by column", note, bars(rows) if rows else _nothing("No segments."))


def _size(one: ColumnSize, total: int) -> tuple[str, float, str, str]:
    name = "dropped columns" if one.path is None else one.path
    return name, one.bytes / total, size_text(one.bytes), f"{name}: {count_text(one.bytes)} bytes"


def history(model: PageModel) -> Markup:
    """The commits, newest first."""
    names = ("Version", "Time (UTC)", "Commit", "Rows added", "Segments", "Writer")
    numbers = {"Version", "Rows added", "Segments"}
    header = [tag("th", name, class_="number" if name in numbers else None) for name in names]
    rows = [*map(_commit, model.commits), *map(_older, model.older)]
    note = "Newest first."
    if model.older:
        older = sum(count for one in model.older for _, count in one.operations)
        note += f" The {count_text(older)} commits before the newest {len(model.commits)} are "
        note += "summed up by month."
    table = tag("table", tag("thead", tag("tr", *header)), tag("tbody", *rows), class_="history")
    return _section("History", note, table)


def _commit(one: CommitLine) -> Markup:
    what: list[str] = [tag("b", one.operation or "expired")]
    if one.changes:
        what.append(tag("div", "; ".join(one.changes), class_="soft changes"))
    return tag(
        "tr",
        tag("td", count_text(one.version), class_="number version"),
        tag("td", time_text(one.time), class_="time"),
        tag("td", *what, class_="what"),
        tag("td", f"+{count_text(one.rows_added)}" if one.rows_added else "", class_="number rows"),
        tag("td", _segments(one), class_="number segments"),
        tag("td", one.writer or "", class_="soft who"),
    )


def _segments(one: CommitLine) -> str:
    added, removed = one.segments_added, one.segments_removed
    signs = [f"+{count_text(added)}"] if added else []
    return " ".join([*signs, *([f"−{count_text(removed)}"] if removed else [])])


def _older(one: OlderCommits) -> Markup:
    what = ", ".join(f"{count_text(count)} {operation}" for operation, count in one.operations)
    return tag(
        "tr",
        tag("td", f"{count_text(one.first)}–{count_text(one.last)}", class_="number version"),
        tag("td", one.month, class_="time"),
        tag("td", what, class_="what"),
        tag("td", f"+{count_text(one.rows_added)}" if one.rows_added else "", class_="number rows"),
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
