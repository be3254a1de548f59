"""The history of columns over schema versions, as the values of its picture."""

from __future__ import annotations

import bisect
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.type_text import render_path, render_type
from versioned_catalog.model.types import Column, DataType, is_nested, walk

T = TypeVar("T")

MOST_VERSIONS = 200
MOST_CELLS = 200_000
"""How many schema versions, and columns of them, are compared: others are left out evenly."""


class Kind(enum.Enum):
    """What happened to a column in a schema version."""

    ADDED = "added"
    RENAMED = "renamed"
    WIDENED = "widened"
    MOVED = "moved"
    CHANGED = "changed"
    DROPPED = "dropped"
    RESTORED = "restored"


@dataclass(frozen=True)
class Event:
    """A change of a column; ``at`` is a place in ``Lineage.versions``."""

    at: int
    kind: Kind
    text: str


@dataclass(frozen=True)
class Lane:
    """A column through the schema versions.

    Args:
        path: the newest path.
        type: the newest type, as SQL.
        depth: how many columns it is inside of.
        spans: the places in ``Lineage.versions`` from and up to which it lives; None is the newest.
    """

    column_id: int
    path: str
    type: str
    depth: int
    spans: tuple[tuple[int, int | None], ...]
    events: tuple[Event, ...]

    @property
    def is_live(self) -> bool:
        """Whether the newest schema has the column."""
        return self.spans[-1][1] is None


@dataclass(frozen=True)
class Lineage:
    """Columns through schema versions.

    Args:
        versions: the schema versions that were compared, in order.
        total: the number of schema versions.
        lanes: the live columns in their order, each dropped one behind its last neighbour.
    """

    versions: tuple[int, ...]
    total: int
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class _Seen:
    """A column in one schema version: ``before`` is the column before it in pre-order."""

    column: Column
    path: str
    depth: int
    parent: int | None
    before: int | None

    @property
    def type(self) -> str:
        return type_text(self.column.type)


def type_text(kind: DataType) -> str:
    """A type as SQL, without the columns inside, which have lanes of their own."""
    return type(kind).__name__.upper() if is_nested(kind) else render_type(kind)


def trace(schemas: Mapping[int, Sequence[Column]]) -> Lineage:
    """Compare the columns of schema versions, by their IDs."""
    versions = _chosen(schemas)
    lanes: dict[int, _Growing] = {}
    before: dict[int, _Seen] = {}
    for at, version in enumerate(versions):
        now = _seen(schemas[version])
        moved = _moved(before, now)
        for column_id, seen in now.items():
            lane = lanes.setdefault(column_id, _Growing(seen))
            lane.show(at, before.get(column_id), seen, moved=column_id in moved)
        for column_id in before.keys() - now.keys():
            lanes[column_id].drop(at)
        before = now
    order = _order(lanes, before)
    return Lineage(versions, len(schemas), tuple(lanes[id_].lane(id_) for id_ in order))


def _chosen(schemas: Mapping[int, Sequence[Column]]) -> tuple[int, ...]:
    every = sorted(schemas)
    if not every:
        return ()
    columns = max(1, len(schemas[every[-1]]))
    return tuple(evenly(every, max(2, min(MOST_VERSIONS, MOST_CELLS // columns))))


def evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many items at even distances, the first and the last among them."""
    if len(items) <= most:
        return items
    last = len(items) - 1
    return [items[at * last // (most - 1)] for at in range(most)]


def _seen(columns: Sequence[Column]) -> dict[int, _Seen]:
    seen: dict[int, _Seen] = {}
    before: int | None = None
    for column, above in walk(tuple(columns)):
        path = render_path((*(ancestor.name for ancestor in above), column.name))
        parent = above[-1].id if above else None
        seen[column.id] = _Seen(column, path, len(above), parent, before)
        before = column.id
    return seen


def _moved(before: Mapping[int, _Seen], now: Mapping[int, _Seen]) -> set[int]:
    """The fewest columns whose move explains the new order of siblings."""
    place = {column_id: at for at, column_id in enumerate(before)}
    siblings: dict[int | None, list[int]] = {}
    for column_id, seen in now.items():
        if column_id in place:
            siblings.setdefault(seen.parent, []).append(column_id)
    moved: set[int] = set()
    for ids in siblings.values():
        places = [place[column_id] for column_id in ids]
        if places != sorted(places):
            stayed = _increasing(places)
            moved |= {id_ for id_, at in zip(ids, places, strict=True) if at not in stayed}
    return moved


def _increasing(numbers: Sequence[int]) -> set[int]:
    """A longest increasing subsequence of different numbers (patience sorting)."""
    tops: list[int] = []
    below: dict[int, int | None] = {}
    for number in numbers:
        at = bisect.bisect_left(tops, number)
        below[number] = tops[at - 1] if at else None
        tops[at : at + 1] = [number]
    members: set[int] = set()
    tail: int | None = tops[-1] if tops else None
    while tail is not None:
        members.add(tail)
        tail = below[tail]
    return members


class _Growing:
    """A lane while it is traced."""

    def __init__(self, first: _Seen) -> None:
        self.last = first
        self.end = -1
        self._spans: list[tuple[int, int | None]] = []
        self._events: list[Event] = []

    def show(self, at: int, before: _Seen | None, now: _Seen, *, moved: bool) -> None:
        """Record the column as part of a schema version."""
        if before is None:
            if self._spans:
                self._events.append(Event(at, Kind.RESTORED, "restored"))
            elif at:
                self._events.append(Event(at, Kind.ADDED, _added(now.column)))
            self._spans.append((at, None))
        else:
            self._events += _changes(at, before, now, moved=moved)
        self.last = now

    def drop(self, at: int) -> None:
        """Record the column as dropped in a schema version."""
        self._spans[-1] = (self._spans[-1][0], at)
        self._events.append(Event(at, Kind.DROPPED, "dropped"))
        self.end = at

    def lane(self, column_id: int) -> Lane:
        """The lane as far as it was traced."""
        last = self.last
        spans, events = tuple(self._spans), tuple(self._events)
        return Lane(column_id, last.path, last.type, last.depth, spans, events)


def _added(column: Column) -> str:
    default = column.read_default
    return "added" if default is None else f"added, default {to_sql(default, column.type)}"


def _changes(at: int, before: _Seen, now: _Seen, *, moved: bool) -> list[Event]:
    old, new = before.column, now.column
    events: list[Event] = []
    if old is new and not moved:
        return events
    if old.name != new.name:
        events.append(Event(at, Kind.RENAMED, f"{old.name} → {new.name}"))
    if before.type != now.type:
        events.append(Event(at, Kind.WIDENED, f"{before.type} → {now.type}"))
    if moved:
        events.append(Event(at, Kind.MOVED, "moved"))
    if old.nullable != new.nullable:
        events.append(Event(at, Kind.CHANGED, "nullable" if new.nullable else "not null"))
    if old.write_default != new.write_default:
        default = new.write_default
        text = "no default" if default is None else f"default {to_sql(default, new.type)}"
        events.append(Event(at, Kind.CHANGED, text))
    return events


def _order(lanes: Mapping[int, _Growing], newest: Mapping[int, _Seen]) -> list[int]:
    order = list(newest)
    dropped = [column_id for column_id in lanes if column_id not in newest]
    for column_id in sorted(dropped, key=lambda column_id: -lanes[column_id].end):
        last = lanes[column_id].last
        place = order.index(last.before) + 1 if last.before in order else 0
        while place < len(order) and lanes[order[place]].last.depth > last.depth:
            place += 1  # not between a struct and its fields
        order.insert(place, column_id)
    return order
