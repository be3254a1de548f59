"""A lineage as HTML: a row for each column, with a line through the schema versions and its changes.

Every change is written out as text that wraps, so that no label overlaps another or is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from versioned_interop.pages.drawing import (
    Markup,
    clip,
    count_text,
    date_text,
    join,
    plural,
    tag,
    time_text,
)
from versioned_interop.pages.lineage import Event, Kind, Lane, Lineage

MOST_SLOTS = 24
MOST_NAME, MOST_TYPE, MOST_TEXT = 60, 40, 120
"""The most characters that are shown of a name, a type and a change; tooltips have the whole."""

MOST_EVENTS = 6
"""How many changes of a column are shown at once, the newest; the others unfold."""

MOST_ROWS = 5_000
"""How many columns a page has at most."""

NARROW, WIDE = 330, 560
"""The width of the lines on a phone and on other screens, in pixels, for the axis."""

_TICK = 78
"""The width of a label of the axis, in pixels."""


@dataclass(frozen=True)
class Facts:
    """What is known of a column beside its lane: phrases such as ``not null``, and its comment."""

    phrases: tuple[str, ...] = ()
    comment: str | None = None


@dataclass(frozen=True)
class Slot:
    """Schema versions that are drawn as one: mostly one version. ``x`` is in percent of the width."""

    x: float
    first: int
    last: int

    @property
    def text(self) -> str:
        """The versions, such as ``3`` or ``4–9``."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Picture:
    """How columns are drawn.

    Args:
        slots: the places of schema versions, as ``Event.at`` counts them in ``size`` a slot.
        versions: the schema versions that were compared.
        facts: of columns, by their IDs.
        dates: when schema versions were committed, as far as that is known.
    """

    slots: tuple[Slot, ...]
    size: int
    versions: Sequence[int]
    facts: Mapping[int, Facts] = field(default_factory=dict)
    dates: Mapping[int, datetime] = field(default_factory=dict)

    def x(self, at: int) -> float:
        """Where a schema version is, in percent."""
        return self.slots[at // self.size].x

    def when(self, at: int) -> str:
        """A schema version and its time."""
        version = self.versions[at]
        time = self.dates.get(version)
        return f"schema {version}" + (f", {time_text(time)} UTC" if time is not None else "")


def draw_lineage(
    lineage: Lineage,
    most: int,
    *,
    unfolds: bool = False,
    facts: Mapping[int, Facts] | None = None,
    dates: Mapping[int, datetime] | None = None,
) -> Markup:
    """Draw the columns, and say below what is left out.

    Args:
        most: how many columns are shown at once. If there are more, those with the most changes come
            first, then the first ones.
        unfolds: whether the others are there, too, folded; else they are only counted.
        facts: of columns, by their IDs.
        dates: when schema versions were committed.
    """
    size = max(1, -(-len(lineage.versions) // MOST_SLOTS))
    slots = _slots(lineage.versions, size)
    picture = Picture(slots, size, lineage.versions, facts or {}, dates or {})
    shown, rest = _split(lineage.lanes, most)
    kept = rest[: MOST_ROWS - most] if unfolds else []
    parts = [tag("ul", *_rows(picture, shown, indent=not rest), class_="vt-lanes")]
    if kept:
        folded = tag("ul", *_rows(picture, kept, indent=True), class_="vt-lanes")
        parts.append(tag("details", tag("summary", _more(kept)), folded, class_="vt-rest"))
    notes = _left_out(lineage, rest[len(kept) :])
    return join(_axis(picture), *parts, *(tag("p", text, class_="vt-note") for text in notes))


def _slots(versions: Sequence[int], size: int) -> tuple[Slot, ...]:
    parts = [versions[at : at + size] for at in range(0, len(versions), size)]
    return tuple(Slot(100 * at / len(parts), part[0], part[-1]) for at, part in enumerate(parts))


def _split(lanes: Sequence[Lane], most: int) -> tuple[Sequence[Lane], Sequence[Lane]]:
    """The lanes that are shown at once, those that changed first, and the others in their order."""
    if len(lanes) <= most:
        return lanes, ()
    places = range(len(lanes))
    best = sorted(places, key=lambda at: (-len(lanes[at].events), lanes[at].depth, at))[:most]
    shown = set(best)
    return [lanes[at] for at in best], [lanes[at] for at in places if at not in shown]


def counted(lanes: Iterable[Lane]) -> str:
    """How many columns and nested fields: ``2 columns and 1 nested field``."""
    depths = [lane.depth for lane in lanes]
    nested = sum(depth > 0 for depth in depths)
    parts = [plural(len(depths) - nested, "column")] if nested < len(depths) or not nested else []
    return " and ".join([*parts, *([plural(nested, "nested field")] if nested else [])])


def _more(lanes: Sequence[Lane]) -> str:
    quiet = not any(lane.events for lane in lanes)
    return f"{counted(lanes)} more, {'which never changed' if quiet else 'with fewer changes'}"


def _left_out(lineage: Lineage, rest: Sequence[Lane]) -> list[str]:
    notes = [f"{_more(rest)}."] if rest else []
    if len(lineage.versions) < lineage.total:
        versions = plural(lineage.total, "schema version")
        notes.append(
            f"{len(lineage.versions)} of {versions} were compared; what happened between two of them is "
            "shown at the later one."
        )
    return notes


def _axis(picture: Picture) -> Markup:
    """Schema versions and their dates above the lines; the events say the same in words."""
    shown = {width: _ticks(picture, width) for width in (NARROW, WIDE)}
    classes = {(True, True): "vt-tick", (False, True): "vt-tick vt-wide"}
    classes[True, False] = "vt-tick vt-slim"
    ticks = [
        tag("span", *_tick(picture, slot), class_=class_, style=f"left:{slot.x:.6g}%")
        for at, slot in enumerate(picture.slots)
        if (class_ := classes.get((at in shown[NARROW], at in shown[WIDE]))) is not None
    ]
    newest = tag("span", "newest", class_="vt-tick vt-newest")
    line = tag("div", *ticks, newest, class_="vt-axis-line")
    return tag("div", line, class_="vt-axis", aria_hidden="true")


def _tick(picture: Picture, slot: Slot) -> list[str]:
    date = picture.dates.get(slot.first)
    second = [tag("span", date_text(date), class_="vt-date")] if date is not None else []
    return [f"schema {slot.text}", *second]


def _ticks(picture: Picture, width: int) -> set[int]:
    """The slots that have a label at a width of the picture: as many as fit."""
    ticks, taken = set[int](), 0.0
    for at, slot in enumerate(picture.slots):
        start = slot.x / 100 * width
        need = max(_TICK, (len(slot.text) + 7) * 6.2 + 8)
        if start >= taken and (at == 0 or start + need <= width - 46):
            ticks.add(at)
            taken = start + need
    return ticks


def _rows(picture: Picture, lanes: Sequence[Lane], *, indent: bool) -> Iterator[Markup]:
    return (_row(picture, lane, lane.depth if indent else 0) for lane in lanes)


def _row(picture: Picture, lane: Lane, depth: int) -> Markup:
    when = [_track(picture, lane)]
    if lane.events:
        when.append(_events(picture, lane.events))
    return tag(
        "li",
        tag("div", *_what(picture.facts.get(lane.column_id, Facts()), lane), class_="vt-what"),
        tag("div", *when, class_="vt-when"),
        class_="vt-lane" if lane.is_live else "vt-lane vt-gone",
        style=f"--vt-depth:{min(depth, 6)}" if depth else None,
    )


def _what(facts: Facts, lane: Lane) -> list[str]:
    full = f"{lane.path} {lane.type}, column ID {lane.column_id}"
    phrases = facts.phrases if lane.is_live else ("dropped", *facts.phrases)
    parts: list[str] = [
        tag("span", clip(lane.path, MOST_NAME), class_="vt-name", title=full),
        " ",
        tag("span", clip(lane.type, MOST_TYPE), class_="vt-type", title=lane.type),
    ]
    for phrase in phrases:
        parts += [" ", tag("span", clip(phrase, MOST_TEXT), class_="vt-fact", title=phrase)]
    if facts.comment:
        parts.append(tag("div", facts.comment, class_="vt-note"))
    return parts


_HEIGHT, _RADIUS = 12, 4.5


def _track(picture: Picture, lane: Lane) -> Markup:
    """The line of a column, with a mark at each schema version that changed it."""
    middle = _HEIGHT / 2
    lines = [
        tag(
            "line",
            x1=f"{picture.x(first):.6g}%",
            x2=f"{100.0 if end is None else picture.x(end):.6g}%",
            y1=middle,
            y2=middle,
            class_="vt-line vt-nested" if lane.depth else "vt-line",
        )
        for first, end in lane.spans
    ]
    by_slot: dict[int, list[Event]] = {}
    for event in lane.events:
        by_slot.setdefault(event.at // picture.size, []).append(event)
    marks = [
        tag(
            "circle",
            tag("title", _full(events, picture.slots[slot])),
            cx=f"{picture.slots[slot].x:.6g}%",
            cy=middle,
            r=_RADIUS,
            class_=f"vt-mark {_class_of(events[0].kind)}".strip(),
        )
        for slot, events in by_slot.items()
    ]
    return tag(
        "svg", *lines, *marks, width="100%", height=_HEIGHT, class_="vt-track", aria_hidden="true"
    )


def _full(events: Sequence[Event], slot: Slot) -> str:
    return f"schema {slot.text}: {'; '.join(event.text for event in events)}"


def _events(picture: Picture, events: Sequence[Event]) -> Markup:
    newest, older = events[-MOST_EVENTS:], events[:-MOST_EVENTS]
    listed = tag("ol", *(_event(picture, event) for event in newest), class_="vt-events")
    if not older:
        return listed
    summary = tag("summary", plural(len(older), "earlier change"))
    folded = tag("ol", *(_event(picture, event) for event in older), class_="vt-events")
    return join(tag("details", summary, folded, class_="vt-older"), listed)


def _event(picture: Picture, event: Event) -> Markup:
    number = count_text(picture.versions[event.at])
    at = tag("span", number, class_="vt-at", title=picture.when(event.at))
    text = tag("span", clip(event.text, MOST_TEXT), title=event.text)
    return tag("li", at, " ", text, class_=_class_of(event.kind) or None)


def _class_of(kind: Kind) -> str:
    match kind:
        case Kind.ADDED | Kind.RESTORED:
            return "vt-added"
        case Kind.DROPPED:
            return "vt-dropped"
        case Kind.RENAMED | Kind.WIDENED | Kind.MOVED | Kind.CHANGED:
            return ""
