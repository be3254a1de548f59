"""Where the parts of a picture of a lineage go: lanes, the slots of versions, and labels that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from versioned_catalog.drawing.figures import clip
from versioned_catalog.drawing.lineage import Event, Kind, Lane, Lineage

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
        known, compared: how many schema versions there are, and were compared.
    """

    slots: tuple[Slot, ...]
    rows: tuple[Row, ...]
    omitted: int
    quiet: bool
    known: int
    compared: int


def lay_out(lineage: Lineage, most_lanes: int) -> Layout:
    """Choose lanes and slots, and place the labels."""
    slots = _slots(lineage.versions)
    lanes = _chosen(lineage.lanes, most_lanes)
    drawn = {lane.column_id for lane in lanes}
    rest = [lane for lane in lineage.lanes if lane.column_id not in drawn]
    size = max(1, -(-len(lineage.versions) // MOST_SLOTS))
    rows = tuple(_row(lane, slots, size) for lane in lanes)
    quiet = not any(lane.events for lane in rest)
    return Layout(slots, rows, len(rest), quiet, lineage.known, len(lineage.versions))


def _slots(versions: Sequence[int]) -> tuple[Slot, ...]:
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


def _row(lane: Lane, slots: Sequence[Slot], size: int) -> Row:
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
    found: list[str | None] = []
    taken = 0.0  # up to which pixel texts are drawn
    for x, end, text in zip(xs, [*xs[1:], 100.0], texts, strict=False):
        need, start = len(text) * CHARACTER + 8, x / 100 * width
        if need <= end / 100 * width - start:
            found.append("start")
            taken = start + need
        elif end == 100.0 and need <= start - taken:
            found.append("end")
        else:
            found.append(None)
    return found


def _full(events: Sequence[Event], slot: Slot) -> str:
    what = "; ".join(event.text for event in events)
    return f"schema {slot.text}: {what}"
