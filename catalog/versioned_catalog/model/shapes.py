"""Boxes of shapes, which are read from their WKB (FORMAT.md, section 7, *Boxes*).

WKB is read for all shapes of an array at once: each round reads the next part of every shape that has
one. No geometry library is needed, so every reader finds the same boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from versioned_catalog.model.arrow import truths
from versioned_catalog.model.types import DataType, Geography, Geometry

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Box(NamedTuple):
    """A box with its edges: the least x and y, and the greatest."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    @property
    def crosses(self) -> bool:
        """Whether it crosses the antimeridian: from ``xmin`` to the east until ``xmax``."""
        return self.xmin > self.xmax

    def joined(self, other: Box) -> Box:
        """The box around two boxes."""
        low = min(self.xmin, other.xmin), min(self.ymin, other.ymin)
        return Box(*low, max(self.xmax, other.xmax), max(self.ymax, other.ymax))


def is_shape(type_: DataType) -> bool:
    """Whether values are shapes, so that columns of the type have boxes."""
    return isinstance(type_, Geometry | Geography)


MOST_PARTS = 65_536
"""Number of shapes and rings in a shape; a round takes as long for one shape as for thousands."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of the shapes of an array, with one element for each in every field.

    Args:
        corners: least x and y, greatest x and y. Undefined without points.
        has_points: whether there is a box: there is none for a null, and none without points.
        is_unknown: whether the box is not known, since the WKB is not understood.
        has_edges: whether there is anything but points.
    """

    corners: tuple[Floats, Floats, Floats, Floats]
    has_points: Mask
    is_unknown: Mask
    has_edges: Mask

    def around(self) -> Box | None:
        """The box around all shapes; None if there is no point."""
        if not self.has_points.any():
            return None
        xmin, ymin, xmax, ymax = (corner[self.has_points] for corner in self.corners)
        return Box(float(xmin.min()), float(ymin.min()), float(xmax.max()), float(ymax.max()))

    def intersect(self, box: Box) -> Mask:
        """Which shapes have a box that has a point in common with another one, be it on an edge."""
        xmin, ymin, xmax, ymax = self.corners
        west, east = xmin <= box.xmax, xmax >= box.xmin
        in_x = west | east if box.crosses else west & east
        met: Mask = self.has_points & in_x & (ymin <= box.ymax) & (ymax >= box.ymin)
        return met


def boxes_of(shapes: pa.StructArray, type_: DataType) -> Boxes:
    """The boxes of the shapes of a column of a type."""
    wkb = shapes.flatten()[1]  # null where the shape is
    _, starts, content = wkb.buffers()
    offsets = np.zeros(1, np.int64)
    if len(wkb):
        offsets = np.frombuffer(starts, np.int32)[wkb.offset :][: len(wkb) + 1].astype(np.int64)
    octets = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    reading = _Reading(octets, offsets[:-1].copy(), offsets[1:], truths(wkb.is_valid()))
    reading.read()
    boxes = reading.boxes()
    if isinstance(type_, Geography):
        unknown = boxes.is_unknown | boxes.has_edges
        return Boxes(boxes.corners, boxes.has_points & ~unknown, unknown, boxes.has_edges)
    return boxes


_POINT, _LINE, _POLYGON, _MULTI_POINT, _LAST = 1, 2, 3, 4, 7
_HAS_Z, _HAS_M, _HAS_SRID = 0x80000000, 0x40000000, 0x20000000
"""Flags of EWKB in the type of a shape."""

_XY = 16
"""Number of bytes of x and y."""


class _Points(NamedTuple):
    """Runs of points: whose they are, where each starts, how many there are, how far apart they are, and
    in which byte order. ``code`` is the type in the header before each point; 0 if there is none."""

    shape: Integers
    start: Integers
    number: Integers
    step: Integers
    is_little: Mask
    code: Integers


_NONE = np.zeros(0, np.int64)
_NO_POINTS = _Points(_NONE, _NONE, _NONE, _NONE, np.zeros(0, np.bool_), _NONE)


class _Reading:
    """Reads the WKB of shapes: each round one part of every shape, until none has more.

    Shapes come in order, each before those inside it, so it is enough to count those that are still to
    come. ``at`` is where the next part of each shape is.
    """

    def __init__(
        self, octets: npt.NDArray[np.uint8], at: Integers, end: Integers, valid: Mask
    ) -> None:
        self._octets, self._at, self._end, self._is_valid = octets, at, end, valid
        count = len(at)
        self._to_come = valid.astype(np.int64)
        self._rings = np.zeros(count, np.int64)
        self._dimensions = np.zeros(count, np.int64)
        self._is_little = np.zeros(count, np.bool_)
        self._is_unknown = np.zeros(count, np.bool_)
        self._has_edges = np.zeros(count, np.bool_)
        self._points: list[_Points] = [_NO_POINTS]

    def read(self) -> None:
        """Find the points of all shapes, and the shapes that are not understood."""
        active = np.flatnonzero(self._to_come)
        for _ in range(MOST_PARTS):
            if not len(active):
                break
            in_polygon = self._rings[active] > 0
            if in_polygon.any():
                self._read_rings(active[in_polygon])
            if not in_polygon.all():
                self._read_heads(active[~in_polygon])
            more = (self._to_come[active] > 0) | (self._rings[active] > 0)
            active = active[more & ~self._is_unknown[active]]
        self._is_unknown[active] = True
        self._is_unknown |= self._is_valid & (self._at != self._end)

    def _read_heads(self, shapes: Integers) -> None:
        """Read the start of the next shape inside each of some shapes."""
        shapes = self._with_room(shapes, 5)
        at = self._at[shapes]
        order = self._octets[at]
        is_little = order == 1
        code = self._number(at + 1, is_little)
        dimension, kind = (code & 0x1FFFFFFF) // 1000, (code & 0x1FFFFFFF) % 1000
        known = (order <= 1) & (kind >= _POINT) & (kind <= _LAST) & (dimension <= 3)
        has_count = kind != _POINT
        body = at + 5 + 4 * ((code & _HAS_SRID) != 0)
        known &= body + 4 * has_count <= self._end[shapes]
        self._refuse(shapes[~known])
        parsed: tuple[Any, ...] = (shapes, code, kind, dimension, body, is_little, has_count)
        shapes, code, kind, dimension, body, is_little, has_count = (
            values[known] for values in parsed
        )
        count = np.ones(len(shapes), np.int64)
        count[has_count] = self._number(body[has_count], is_little[has_count])
        has_z = ((code & _HAS_Z) != 0) | (dimension == 1) | (dimension == 3)
        has_m = ((code & _HAS_M) != 0) | (dimension >= 2)
        self._at[shapes] = body + 4 * has_count
        self._dimensions[shapes] = 2 + has_z + has_m
        self._is_little[shapes] = is_little
        self._to_come[shapes] -= 1
        is_edged = (kind != _POINT) & (kind != _MULTI_POINT) & (kind != _LAST)
        self._has_edges[shapes] |= is_edged
        self._take(shapes, count, kind, code & ~np.int64(_HAS_SRID))

    def _take(self, shapes: Integers, count: Integers, kind: Integers, code: Integers) -> None:
        """Go on after the starts of shapes, each with the number of what is inside."""
        is_points, is_multi = (kind <= _LINE) | (kind == _MULTI_POINT), kind == _MULTI_POINT
        if is_points.any():
            code = np.where(is_multi, code - _MULTI_POINT + _POINT, 0)
            self._take_points(shapes[is_points], count[is_points], code[is_points])
        self._rings[shapes] = np.where(kind == _POLYGON, count, 0)
        self._to_come[shapes] += np.where(kind > _MULTI_POINT, count, 0)

    def _read_rings(self, shapes: Integers) -> None:
        """Read the next ring of a polygon in each of some shapes."""
        shapes = self._with_room(shapes, 4)
        count = self._number(self._at[shapes], self._is_little[shapes])
        self._at[shapes] += 4
        self._rings[shapes] -= 1
        self._take_points(shapes, count, np.zeros(len(shapes), np.int64))

    def _take_points(self, shapes: Integers, count: Integers, code: Integers) -> None:
        """Remember runs of points, and go on after them. With a code, each point has a header."""
        header = np.where(code > 0, 5, 0)
        step = header + 8 * self._dimensions[shapes]
        fits = self._at[shapes] + count * step <= self._end[shapes]
        self._refuse(shapes[~fits])
        shapes, count, code, header, step = (
            values[fits] for values in (shapes, count, code, header, step)
        )
        start, is_little = self._at[shapes] + header, self._is_little[shapes]
        self._points.append(_Points(shapes, start, count, step, is_little, code))
        self._at[shapes] += count * step

    def _with_room(self, shapes: Integers, size: int) -> Integers:
        """Those of the shapes with at least so many bytes left; the others are not understood."""
        fits = self._at[shapes] + size <= self._end[shapes]
        self._refuse(shapes[~fits])
        return shapes[fits]

    def _refuse(self, shapes: Integers) -> None:
        self._is_unknown[shapes] = True

    def _number(self, at: Integers, is_little: Mask) -> Integers:
        """The unsigned 32-bit integers at some bytes."""
        numbers: Integers = self._values(at, is_little, "u4").astype(np.int64)
        return numbers

    def _values(self, at: Integers, is_little: Mask, kind: str) -> Any:
        """The numbers at some bytes, each in its byte order: ``u4`` or ``f8``."""
        size = int(kind[1])
        room = max(len(self._octets) - size + 1, 0)
        # Views with a number at every byte, which overlap.
        little, big = (
            np.ndarray((room,), order + kind, self._octets.data, strides=(1,))
            if room
            else np.zeros(0)
            for order in "<>"
        )
        if is_little.all():
            return little[at]
        values = np.empty(len(at), kind)
        values[is_little], values[~is_little] = little[at[is_little]], big[at[~is_little]]
        return values

    def boxes(self) -> Boxes:
        """The boxes, after ``read``."""
        shape, x, y = self._all_points()
        count = len(self._at)
        has_points = np.bincount(shape, minlength=count) > 0
        corners = tuple(
            _extremes(least, shape, values, has_points)
            for least, values in (
                (np.minimum, x),
                (np.minimum, y),
                (np.maximum, x),
                (np.maximum, y),
            )
        )
        xmin, ymin, xmax, ymax = corners
        known = has_points & ~self._is_unknown
        return Boxes((xmin, ymin, xmax, ymax), known, self._is_unknown, self._has_edges)

    def _all_points(self) -> tuple[Integers, Floats, Floats]:
        """Whose all points are, in the order of the shapes, and their x and y, none of them NaN."""
        joined: list[Any] = [np.concatenate(each) for each in zip(*self._points, strict=True)]
        in_order = np.argsort(joined[0], kind="stable")
        runs = _Points(*(values[in_order] for values in joined))
        of = np.repeat(np.arange(len(runs.number)), runs.number)
        first: Integers = np.cumsum(runs.number, dtype=np.int64) - runs.number
        nth: Integers = np.arange(len(of), dtype=np.int64) - first[of]
        at = runs.start[of] + nth * runs.step[of]
        shape, is_little = runs.shape[of], runs.is_little[of]
        self._check_headers(shape, at, is_little, runs.code[of])
        x, y = self._values(at, is_little, "f8"), self._values(at + 8, is_little, "f8")
        there = ~(np.isnan(x) | np.isnan(y))
        return shape[there], x[there], y[there]

    def _check_headers(
        self, shape: Integers, at: Integers, is_little: Mask, code: Integers
    ) -> None:
        """Refuse shapes with a multi-point whose points have another byte order, or other dimensions."""
        has = code > 0
        shape, at, is_little, code = shape[has], at[has], is_little[has], code[has]
        same = (self._octets[at - 5] == is_little) & (self._number(at - 4, is_little) == code)
        self._refuse(shape[~same])


def _extremes(least: np.ufunc, shape: Integers, values: Floats, has_points: Mask) -> Floats:
    """The least of the values of each shape, or the greatest; values come in the order of the shapes."""
    corner = np.zeros(len(has_points))
    if len(shape):
        corner[has_points] = least.reduceat(values, np.flatnonzero(np.diff(shape, prepend=-1)))
    return corner
