"""A lineage as SVG: where its parts go, in percentages, and the markup."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from versioned_interop.pages.drawing import Markup, clip, join, plural, tag
from versioned_interop.pages.lineage import Event, Kind, Lane, Lineage

NARROW, WIDE = 330, 940
"""The least width of the picture, in pixels, on a phone and on other screens (see ``style``)."""

CHARACTER = 5.8
"""The width of a character of a label, in pixels, at most for most texts."""

MOST_SLOTS = 24
MOST_TEXT = 46


@dataclass(frozen=True)
class Label:
    """A text at an event.

    Args:
        x: in percent of the width.
        text: as it is drawn.
        anchors: which end of the text is at x, on a phone and on other screens; None without room.
        full: everything that happened here.
        kind: of the first event.
    """

    x: float
    text: str
    anchors: tuple[str | None, str | None]
    full: str
    kind: Kind


@dataclass(frozen=True)
class Row:
    """A lane as it is drawn.

    Args:
        fits: whether its title fits behind its start on a phone, and on other screens.
        spans: pairs of x in percent; 100 is the newest version.
    """

    lane: Lane
    fits: tuple[bool, bool]
    spans: tuple[tuple[float, float], ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Slot:
    """Schema versions that are drawn as one: mostly one version."""

    x: float
    first: int
    last: int

    @property
    def text(self) -> str:
        """The versions, such as ``3`` or ``4–9``."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Layout:
    """A whole picture.

    Args:
        omitted: how many columns are not drawn.
        quiet: whether none of these ever changed.
        total, compared: numbers of schema versions, and of those that were compared.
    """

    slots: tuple[Slot, ...]
    rows: tuple[Row, ...]
    omitted: int
    quiet: bool
    total: int
    compared: int


def lay_out(lineage: Lineage, most_lanes: int) -> Layout:
    """Choose lanes and slots, and place the labels."""
    slots = _version_slots(lineage.versions)
    lanes = _chosen(lineage.lanes, most_lanes)
    drawn = {lane.column_id for lane in lanes}
    rest = [lane for lane in lineage.lanes if lane.column_id not in drawn]
    size = max(1, -(-len(lineage.versions) // MOST_SLOTS))
    rows = tuple(_row_of(lane, slots, size) for lane in lanes)
    quiet = not any(lane.events for lane in rest)
    return Layout(slots, rows, len(rest), quiet, lineage.total, len(lineage.versions))


def _version_slots(versions: Sequence[int]) -> tuple[Slot, ...]:
    size = max(1, -(-len(versions) // MOST_SLOTS))
    parts = [versions[at : at + size] for at in range(0, len(versions), size)]
    return tuple(Slot(100 * at / len(parts), part[0], part[-1]) for at, part in enumerate(parts))


def _chosen(lanes: Sequence[Lane], most: int) -> list[Lane]:
    """The lanes with the most changes, then the first ones; in their order."""
    if len(lanes) <= most:
        return list(lanes)
    places = range(len(lanes))
    best = sorted(places, key=lambda at: (-len(lanes[at].events), lanes[at].depth, at))[:most]
    return [lanes[at] for at in sorted(best)]


def _row_of(lane: Lane, slots: Sequence[Slot], size: int) -> Row:
    spans = tuple(
        (slots[first // size].x, 100.0 if end is None else slots[end // size].x)
        for first, end in lane.spans
    )
    start = spans[0][0]
    need = title_width(lane) if start else 0.0
    rooms = [need <= (100 - start) / 100 * width for width in (NARROW, WIDE)]
    return Row(lane, (rooms[0], rooms[1]), spans, tuple(_labels(lane.events, slots, size)))


def title_width(lane: Lane) -> float:
    """The width of the title of a lane, in pixels."""
    return (len(clip(lane.path, MOST_TEXT)) * 1.2 + 1 + len(clip(lane.type, 24))) * CHARACTER


def _labels(events: Sequence[Event], slots: Sequence[Slot], size: int) -> list[Label]:
    by_slot: dict[int, list[Event]] = {}
    for event in events:
        by_slot.setdefault(event.at // size, []).append(event)
    places = sorted(by_slot)
    xs = [slots[place].x for place in places]
    texts = [clip(", ".join(e.text for e in by_slot[place]), MOST_TEXT) for place in places]
    slim, wide = (_anchors(xs, texts, width) for width in (NARROW, WIDE))
    return [
        Label(
            xs[at],
            texts[at],
            (slim[at], wide[at]),
            _full(by_slot[place], slots[place]),
            by_slot[place][0].kind,
        )
        for at, place in enumerate(places)
    ]


def _anchors(xs: Sequence[float], texts: Sequence[str], width: int) -> list[str | None]:
    """Which end of each text is at its x, so that none overlaps the next; None for no text."""
    anchors: list[str | None] = []
    taken = 0.0  # up to which pixel texts are drawn
    for x, end, text in zip(xs, [*xs[1:], 100.0], texts, strict=False):
        need, start = len(text) * CHARACTER + 8, x / 100 * width
        if need <= end / 100 * width - start:
            anchors.append("start")
            taken = start + need
        elif end == 100.0 and need <= start - taken:
            anchors.append("end")
        else:
            anchors.append(None)
    return anchors


def _full(events: Sequence[Event], slot: Slot) -> str:
    changes = "; ".join(event.text for event in events)
    return f"schema {slot.text}: {changes}"


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
    return join(picture, *(tag("p", text, class_="vt-note") for text in _left_out(layout)))


def _left_out(layout: Layout) -> list[str]:
    notes = []
    if layout.omitted:
        which = "that never changed" if layout.quiet else "with fewer changes"
        notes.append(f"{plural(layout.omitted, 'more column')} {which}.")
    if layout.compared < layout.total:
        versions = plural(layout.total, "schema version")
        notes.append(
            f"{layout.compared} of {versions} were compared; what happened between two of them is "
            "shown at the later one."
        )
    return notes


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
