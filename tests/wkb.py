"""Shapes as well-known binary, and the boxes around them, without our code."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

Point = tuple[float, ...]
POINT, LINE, POLYGON, POINTS, LINES, POLYGONS, COLLECTION = range(1, 8)
EMPTY = (math.nan, math.nan)


@dataclass(frozen=True)
class Form:
    """How WKB is written: its byte order, its further dimensions, and whether by ISO or as EWKB."""

    order: str = "<"
    more: str = ""
    is_iso: bool = True
    srid: int | None = None

    def head(self, kind: int, *, outermost: bool = False) -> bytes:
        if self.is_iso:
            code = kind + {"": 0, "z": 1000, "m": 2000, "zm": 3000}[self.more]
        else:
            code = kind | 0x80000000 * ("z" in self.more) | 0x40000000 * ("m" in self.more)
        with_srid = outermost and self.srid is not None
        code |= 0x20000000 * with_srid
        start = struct.pack(f"{self.order}BI", self.order == "<", code)
        return start + (struct.pack(f"{self.order}I", self.srid) if with_srid else b"")

    def count(self, items: Sequence[object]) -> bytes:
        return struct.pack(f"{self.order}I", len(items))

    def points(self, points: Sequence[Point]) -> bytes:
        size = 2 + len(self.more)
        return b"".join(struct.pack(f"{self.order}{size}d", *(*p, 7.0, 8.0)[:size]) for p in points)


@dataclass(frozen=True)
class Shape:
    """A shape: its points, by ring if it is a polygon, and the shapes inside it."""

    kind: int
    rings: tuple[tuple[Point, ...], ...] = ()
    parts: tuple[Shape, ...] = field(default=())

    def all_points(self) -> Iterator[Point]:
        for ring in self.rings:
            yield from ring
        for part in self.parts:
            yield from part.all_points()

    def box(self) -> tuple[float, float, float, float] | None:
        there = [(x, y) for x, y in self.all_points() if not (math.isnan(x) or math.isnan(y))]
        if not there:
            return None
        xs, ys = zip(*there, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def wkb(self, form: Form = Form(), *, outermost: bool = True) -> bytes:
        head = form.head(self.kind, outermost=outermost)
        match self.kind:
            case 1:
                return head + form.points(self.rings[0])
            case 2:
                return head + form.count(self.rings[0]) + form.points(self.rings[0])
            case 3:
                rings = b"".join(form.count(ring) + form.points(ring) for ring in self.rings)
                return head + form.count(self.rings) + rings
            case _:
                inside = b"".join(part.wkb(form, outermost=False) for part in self.parts)
                return head + form.count(self.parts) + inside


def point(x: float, y: float) -> Shape:
    return Shape(POINT, (((x, y),),))


def line(*points: Point) -> Shape:
    return Shape(LINE, (points,))


def random_shape(random: Random, depth: int = 0) -> Shape:
    """Any shape, near others, with parts that are empty now and then."""
    cx, cy = random.uniform(-50, 50), random.uniform(-50, 50)

    def near() -> Point:
        if random.random() < 0.05:
            return EMPTY
        return random.choice((0.0, round(cx), cx + random.random())), cy + random.random()

    def points(most: int) -> tuple[Point, ...]:
        return tuple(near() for _ in range(random.randrange(most)))

    kind = random.randint(POINT, COLLECTION if depth < 2 else POLYGONS)
    match kind:
        case 1:
            return point(*near())
        case 2:
            return line(*points(5))
        case 3:
            return Shape(POLYGON, tuple(points(6) for _ in range(random.randrange(4))))
        case 4:
            return Shape(kind, parts=tuple(point(*near()) for _ in range(random.randrange(4))))
        case 5:
            return Shape(kind, parts=tuple(line(*points(4)) for _ in range(random.randrange(4))))
        case 6:
            counts = [random.randrange(3) for _ in range(random.randrange(3))]
            rings = (tuple(points(5) for _ in range(count)) for count in counts)
            return Shape(kind, parts=tuple(Shape(POLYGON, some) for some in rings))
        case _:
            parts = (random_shape(random, depth + 1) for _ in range(random.randrange(4)))
            return Shape(kind, parts=tuple(parts))


FORMS = (
    *(Form(order, more) for order in "<>" for more in ("", "z", "m", "zm")),
    *(Form("<", more, False, srid) for more in ("", "z", "m", "zm") for srid in (None, 4326)),
    *(Form(">", more, False, srid) for more in ("", "z", "m", "zm") for srid in (None, 4326)),
)
