"""Boxes of shapes by hand, for each type of WKB, and against a model for random ones."""

from __future__ import annotations

import math
import struct
from random import Random

import pyarrow as pa
import pytest

import wkb
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.shapes import Box, Boxes, boxes_of
from versioned_catalog.model.types import Geography, Geometry
from wkb import COLLECTION, EMPTY, FORMS, LINES, POINTS, POLYGON, POLYGONS, Form, Shape, line, point

PLANE = Geometry(0)
NAN, INF = math.nan, math.inf
SHELL = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 0.0))
HOLE = ((1.0, -9.0), (2.0, 1.0), (1.0, 2.0), (1.0, -9.0))


def array_of(values: list[bytes | None], type_: Geometry | Geography = PLANE) -> pa.StructArray:
    shapes = [None if value is None else {"srid": type_.srid, "wkb": value} for value in values]
    return pa.array(shapes, to_arrow_type(type_))


def boxes(values: list[bytes | None], type_: Geometry | Geography = PLANE) -> list[object]:
    """The box of each shape: None if it has none, ``"unknown"`` if it is not known."""
    return listed(boxes_of(array_of(values, type_), type_))


def listed(found: Boxes) -> list[object]:
    corners = zip(*(corner.tolist() for corner in found.corners), strict=True)
    each = zip(corners, found.has_points.tolist(), found.is_unknown.tolist(), strict=True)
    return ["unknown" if lost else box if there else None for box, there, lost in each]


NESTED = Shape(COLLECTION, parts=(point(7, 7),))

BY_HAND = [
    (point(1, 2), (1, 2, 1, 2)),
    (point(-0.0, -1e300), (0, -1e300, 0, -1e300)),
    (point(INF, 1), (INF, 1, INF, 1)),
    (point(*EMPTY), None),
    (point(NAN, 1), None),
    (line((0, 0), (3, -1), (1, 5)), (0, -1, 3, 5)),
    (line((0, 0), (NAN, -9), (1, NAN), (2, 1)), (0, 0, 2, 1)),
    (line(), None),
    (Shape(POLYGON, (SHELL, HOLE)), (0, -9, 4, 3)),
    (Shape(POLYGON, ((), SHELL)), (0, 0, 4, 3)),
    (Shape(POLYGON), None),
    (Shape(POINTS, parts=(point(1, 2), point(*EMPTY), point(-1, 9))), (-1, 2, 1, 9)),
    (Shape(POINTS), None),
    (Shape(LINES, parts=(line((1, 1), (2, 2)), line(), line((0, 5)))), (0, 1, 2, 5)),
    (Shape(POLYGONS, parts=(Shape(POLYGON, (SHELL,)), Shape(POLYGON, (HOLE,)))), (0, -9, 4, 3)),
    (Shape(COLLECTION, parts=(NESTED, line((1, 2)), Shape(POLYGON))), (1, 2, 7, 7)),
    (Shape(COLLECTION), None),
    (Shape(COLLECTION, parts=(Shape(COLLECTION), point(*EMPTY))), None),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_box_of_each_type_of_shape(form: Form) -> None:
    assert boxes([shape.wkb(form) for shape, _ in BY_HAND]) == [box for _, box in BY_HAND]


def test_a_null_has_no_box_and_a_slice_has_its_own() -> None:
    shapes = array_of([point(9, 9).wkb(), None, b"x", point(1, 2).wkb(), None])
    assert listed(boxes_of(shapes, Geometry(0))) == [
        (9, 9, 9, 9), None, "unknown", (1, 2, 1, 2), None
    ]  # fmt: skip
    assert listed(boxes_of(shapes.slice(3), Geometry(0))) == [(1, 2, 1, 2), None]
    assert boxes_of(shapes.slice(3), Geometry(0)).around() == Box(1, 2, 1, 2)
    assert boxes([]) == []
    assert boxes([None]) == [None]
    assert boxes_of(array_of([None]), Geometry(0)).around() is None
    assert listed(boxes_of(pa.nulls(2, to_arrow_type(Geometry(0))), Geometry(0))) == [None, None]


CURVE = struct.pack("<BII6d", 1, 8, 3, 0, 0, 1, 1, 2, 0)
OTHER_ORDER = Form("<").head(POINTS) + struct.pack("<I", 1) + point(1, 2).wkb(Form(">"))
OTHER_SIZE = Form("<", "z").head(POINTS) + struct.pack("<I", 1) + point(1, 2).wkb() + bytes(8)


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"\x01", b"\x02" + point(1, 2).wkb()[1:], point(1, 2).wkb() + b"\0", CURVE),
        *(OTHER_ORDER, OTHER_SIZE, Form().head(COLLECTION) + struct.pack("<I", 1) + CURVE),
        struct.pack("<BI2d", 1, 4001, 1, 2),
        struct.pack("<BI2d", 1, 0, 1, 2),
        struct.pack("<BII2d", 1, wkb.LINE, 2**32 - 1, 1, 2),
        struct.pack("<BII", 1, POLYGON, 2**32 - 1),
        struct.pack("<BII", 1, COLLECTION, 2**32 - 1),
        *(BY_HAND[8][0].wkb()[:size] for size in range(0, 145, 13)),
    ],
)
def test_wkb_that_is_not_understood_has_no_known_box(value: bytes) -> None:
    assert boxes([point(1, 2).wkb(), value, line((3, 4)).wkb()]) == [
        (1, 2, 1, 2), "unknown", (3, 4, 3, 4)
    ]  # fmt: skip


def test_a_geography_has_a_box_if_it_is_points() -> None:
    pairs = Shape(POINTS, parts=(point(179, 1), point(-179, 2)))
    nested = Shape(COLLECTION, parts=(pairs, point(0, 0)))
    values = [shape.wkb() for shape in (point(1, 2), pairs, nested, line((0, 0), (1, 1)), line())]
    mixed = Shape(COLLECTION, parts=(point(0, 0), line((1, 1)))).wkb()
    assert boxes([*values, mixed], Geography(4326)) == [
        (1, 2, 1, 2), (-179, 1, 179, 2), (-179, 0, 179, 2), "unknown", "unknown", "unknown"
    ]  # fmt: skip


def test_random_shapes_in_all_forms_have_the_boxes_of_the_model() -> None:
    random = Random(11)
    shapes = [wkb.random_shape(random) for _ in range(600)]
    values = [shape.wkb(random.choice(FORMS)) for shape in shapes]
    assert boxes(values) == [shape.box() for shape in shapes]


CORNERS = [(0, 0), (1, 0), (3, 3), (5, 5), (5.5, 3), (3, -1), (-1, 3)]


@pytest.mark.parametrize(
    ("box", "met"),
    [
        (Box(0, 0, 5, 5), [True, True, True, True, False, False, False]),
        (Box(1, 0, 1, 0), [False, True, False, False, False, False, False]),
        (Box(-INF, -INF, INF, INF), [True] * 7),
        (Box(4, -9, 0, 9), [True, False, False, True, True, False, True]),
    ],
)
def test_a_point_meets_a_box_that_it_is_in_or_on(box: Box, met: list[bool]) -> None:
    values = [*(point(*corner).wkb() for corner in CORNERS), None, point(*EMPTY).wkb()]
    found = boxes_of(array_of(values), Geometry(0)).intersect(box)
    assert found.tolist() == [*met, False, False]


def test_boxes_that_touch_or_cross_have_a_point_in_common() -> None:
    cross = line((2, -5), (3, 9)).wkb()
    inside, around = line((2, 2), (3, 3)).wkb(), line((-9, -9), (9, 9)).wkb()
    beside, corner = line((5.1, 0), (6, 5)).wkb(), line((5, 5), (9, 9)).wkb()
    found = boxes_of(array_of([cross, inside, around, beside, corner]), Geometry(0))
    assert found.intersect(Box(0, 0, 5, 5)).tolist() == [True, True, True, False, True]
