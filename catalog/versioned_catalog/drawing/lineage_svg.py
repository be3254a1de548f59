"""A lineage as SVG. Places are percentages, so that it fits every width and its text keeps its size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from versioned_catalog.drawing.figures import clip, plural
from versioned_catalog.drawing.lineage import Kind
from versioned_catalog.drawing.lineage_layout import (
    CHARACTER,
    MOST_TEXT,
    NARROW,
    WIDE,
    Label,
    Layout,
    Row,
    Slot,
)
from versioned_catalog.drawing.markup import Markup, join, tag

_TOP, _ROW = 26, 46
_LINE, _TEXT = 21, 38
"""Where the line and the labels of a row are, from its top."""

_REACH = 4.5
"""The radius of a mark, by which texts begin before its middle."""


def draw_lineage(layout: Layout) -> Markup:
    """The picture, with a line below it about what it leaves out."""
    height = _TOP + _ROW * len(layout.rows) + 4
    picture = tag(
        "svg",
        *_slots(layout.slots, height),
        *(_row(row, _TOP + _ROW * at) for at, row in enumerate(layout.rows)),
        class_="vt-lineage",
        width="100%",
        height=height,
        role="img",
        aria_label="Columns through schema versions",
    )
    return join(picture, *(tag("p", one, class_="vt-note") for one in _left_out(layout)))


def _left_out(layout: Layout) -> list[str]:
    found = []
    if layout.omitted:
        which = "that never changed" if layout.quiet else "with fewer changes"
        found.append(f"{plural(layout.omitted, 'more column')} {which}.")
    if layout.compared < layout.known:
        known = plural(layout.known, "schema version")
        found.append(
            f"{layout.compared} of {known} were compared; what happened between two of them is "
            "shown at the later one."
        )
    return found


def _slots(slots: Sequence[Slot], height: int) -> Iterator[Markup]:
    for slot in slots:
        x = f"{slot.x:.6g}%"
        yield tag("line", x1=x, x2=x, y1=18, y2=height, class_="vt-grid")
    shown = {width: _ticks(slots, width) for width in (NARROW, WIDE)}
    classes = {(True, True): "vt-tick", (False, True): "vt-tick vt-wide"}
    classes[True, False] = "vt-tick vt-slim"
    for at, slot in enumerate(slots):
        class_ = classes.get((at in shown[NARROW], at in shown[WIDE]))
        if class_ is not None:
            yield tag("text", slot.text, x=f"{slot.x:.6g}%", y=11, class_=class_)


def _ticks(slots: Sequence[Slot], width: int) -> set[int]:
    """The slots that have a label at a width of the picture: as many as fit, at even distances."""
    needs = [len(slot.text) * CHARACTER + 10 for slot in slots]
    step = max(1, math.ceil(max(needs, default=1) * len(slots) / width))
    return {
        at
        for at in range(0, len(slots), step)
        if at == 0 or slots[at].x / 100 * width + needs[at] <= width + 10
    }


def _row(row: Row, top: int) -> Markup:
    lane = row.lane
    state = "vt-lane" if lane.is_live else "vt-lane vt-gone"
    lines = [_line(start, end, top + _LINE, lane.depth) for start, end in row.spans]
    labels = [_label(label, top) for label in row.labels]
    return tag("g", *_titles(row, top), *lines, *labels, class_=state)


def _titles(row: Row, top: int) -> list[Markup]:
    """The title at the start of the line, or at the right edge where it does not fit."""
    slim, wide = row.fits
    start = row.spans[0][0]
    if slim == wide:
        return [_title(row, top, start if wide else None, None)]
    return [_title(row, top, start, "vt-wide"), _title(row, top, None, "vt-slim")]


def _title(row: Row, top: int, start: float | None, class_: str | None) -> Markup:
    lane = row.lane
    return tag(
        "text",
        tag("tspan", clip(lane.path, MOST_TEXT), class_="vt-name"),
        " ",
        tag("tspan", clip(lane.type, 24), class_="vt-type"),
        tag("title", f"{lane.path} {lane.type}, column ID {lane.column_id}"),
        x="100%" if start is None else f"{start:.6g}%",
        y=top + 12,
        dx=-_REACH if start else None,
        text_anchor="end" if start is None else "start",
        class_=class_,
    )


def _line(start: float, end: float, y: int, depth: int) -> Markup:
    nested = "vt-line vt-nested" if depth else "vt-line"
    x1, x2 = f"{start:.6g}%", f"{end:.6g}%"
    return tag("line", x1=x1, x2=x2, y1=y, y2=y, class_=nested)


def _label(label: Label, top: int) -> Markup:
    x = f"{label.x:.6g}%"
    title = tag("title", label.full)
    mark = tag("circle", title, cx=x, cy=top + _LINE, r=_REACH, class_=_mark(label))
    slim, wide = label.anchors
    ways = [(wide, "vt-event vt-wide"), (slim, "vt-event vt-slim")]
    if slim == wide:
        ways = [(wide, "vt-event")]
    return join(mark, *(_text(label, x, top, anchor, class_) for anchor, class_ in ways if anchor))


def _text(label: Label, x: str, top: int, anchor: str, class_: str) -> Markup:
    return tag(
        "text",
        label.text,
        tag("title", label.full),
        x=x,
        y=top + _TEXT,
        dx=-_REACH if anchor == "start" else _REACH,
        text_anchor=anchor,
        class_=class_,
    )


def _mark(label: Label) -> str:
    match label.kind:
        case Kind.ADDED | Kind.RESTORED:
            return "vt-mark vt-added"
        case Kind.DROPPED:
            return "vt-mark vt-dropped"
        case Kind.RENAMED | Kind.WIDENED | Kind.MOVED | Kind.CHANGED:
            return "vt-mark"
