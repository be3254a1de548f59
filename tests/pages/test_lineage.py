"""The picture of a lineage: which lines and labels it has, against expectations by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from versioned_catalog.model.types import Atom, Column, Constant, Struct
from versioned_interop.pages.lanes import draw_lineage
from versioned_interop.pages.lineage import Event, Kind, Lane, Lineage, trace
from versioned_interop.pages.notebooks import lineage_html

A = Column(1, "a", Atom.INT)
B = Column(2, "b", Atom.STRING)
X, Y = Column(4, "x", Atom.DOUBLE), Column(5, "y", Atom.FLOAT)
S = Column(3, "s", Struct((X, Y)))
LONG = replace(A, type=Atom.LONG)
NEW = Column(6, "new", Atom.INT, read_default=Constant('"7"'), write_default=Constant('"7"'))

HISTORY = {
    0: (A, B, S),
    1: (LONG, replace(B, name="c"), S),
    2: (replace(B, name="c"), LONG, replace(S, type=Struct((replace(X, name="z"),)))),
    3: (LONG, replace(S, type=Struct((replace(X, name="z"),))), NEW),
}
"""a is widened, b renamed, one of both moved; s.y is dropped, s.x renamed; b is dropped, new added."""


def lanes(lineage: Lineage) -> dict[str, Lane]:
    return {lane.path: lane for lane in lineage.lanes}


def test_what_happened_to_each_column() -> None:
    found = lanes(trace(HISTORY))
    assert {path: (lane.type, lane.spans) for path, lane in found.items()} == {
        "c": ("STRING", ((0, 3),)),
        "a": ("BIGINT", ((0, None),)),
        "s": ("STRUCT", ((0, None),)),
        "s.z": ("DOUBLE", ((0, None),)),
        "s.y": ("FLOAT", ((0, 2),)),
        "new": ("INT", ((3, None),)),
    }
    assert found["a"].events[0] == Event(1, Kind.WIDENED, "INT → BIGINT")
    assert found["c"].events[0] == Event(1, Kind.RENAMED, "b → c")
    assert found["c"].events[-1] == Event(3, Kind.DROPPED, "dropped")
    moves = [e for lane in found.values() for e in lane.events if e.kind is Kind.MOVED]
    assert moves == [Event(2, Kind.MOVED, "moved")]  # one of a and c, not both
    assert found["s"].events == ()
    assert found["s.z"].events == (Event(2, Kind.RENAMED, "x → z"),)
    assert found["s.y"].events == (Event(2, Kind.DROPPED, "dropped"),)
    assert found["new"].events == (Event(3, Kind.ADDED, "added, default 7"),)


def test_lanes_are_in_the_order_of_the_newest_schema_with_dropped_ones_beside_a_neighbour() -> None:
    assert [lane.path for lane in trace(HISTORY).lanes] == ["c", "a", "s", "s.z", "s.y", "new"]
    gone = Column(9, "gone", Atom.INT)
    order = [lane.path for lane in trace({0: (S, gone, A), 1: (S, A)}).lanes]
    assert order == ["s", "s.x", "s.y", "gone", "a"]  # behind the fields of s, not among them


def test_a_column_of_the_same_name_is_another_line() -> None:
    again = Column(8, "b", Atom.LONG)
    found = trace({0: (A, B), 1: (A,), 2: (A, again)}).lanes
    assert [(lane.column_id, lane.path, lane.spans) for lane in found] == [
        (1, "a", ((0, None),)),
        (2, "b", ((0, 1),)),
        (8, "b", ((2, None),)),
    ]


def test_a_column_that_a_rollback_restored_has_a_gap() -> None:
    lane = lanes(trace({0: (A, B), 1: (A,), 2: (A, B)}))["b"]
    assert lane.spans == ((0, 1), (2, None))
    assert [event.text for event in lane.events] == ["dropped", "restored"]


def test_null_and_defaults() -> None:
    strict = replace(A, nullable=False, write_default=Constant('"1"'))
    lane = trace({0: (A,), 1: (strict,), 2: (A,)}).lanes[0]
    texts = [(event.at, event.text) for event in lane.events]
    assert texts == [(1, "not null"), (1, "default 1"), (2, "nullable"), (2, "no default")]


def test_the_move_of_one_column_over_many_is_one_move() -> None:
    many = tuple(Column(i, f"c{i}", Atom.INT) for i in range(1, 6))
    found = trace({0: many, 1: (many[4], *many[:4])}).lanes
    assert [lane.path for lane in found if lane.events] == ["c5"]


def drawn(schemas: dict[int, tuple[Column, ...]], most: int = 60, **options: Any) -> ET.Element:
    return ET.fromstring(f"<div>{draw_lineage(trace(schemas), most, **options)}</div>")


def rows(picture: ET.Element) -> dict[str, ET.Element]:
    """The row of each column, by the tooltip of its name."""
    return {
        str(
            next(part for part in row.iter("span") if part.get("class") == "vt-name").get("title")
        ): row
        for row in picture.iter("li")
        if "vt-lane" in str(row.get("class")).split()
    }


def lines(picture: ET.Element) -> dict[str, list[tuple[str | None, str | None]]]:
    return {
        title: [(line.get("x1"), line.get("x2")) for line in row.iter("line")]
        for title, row in rows(picture).items()
    }


def changes(row: ET.Element) -> list[str]:
    """The changes of a column, as text."""
    return ["".join(item.itertext()) for events in row.iter("ol") for item in events]


def test_the_lines_of_the_picture() -> None:
    assert lines(drawn(HISTORY)) == {
        "c STRING, column ID 2": [("0%", "75%")],
        "a BIGINT, column ID 1": [("0%", "100%")],
        "s STRUCT, column ID 3": [("0%", "100%")],
        "s.z DOUBLE, column ID 4": [("0%", "100%")],
        "s.y FLOAT, column ID 5": [("0%", "50%")],
        "new INT, column ID 6": [("75%", "100%")],
    }


def test_the_marks_of_the_picture_are_at_their_versions() -> None:
    picture = drawn(HISTORY)
    marks = {(mark.get("cx"), mark.findtext("title")) for mark in picture.iter("circle")}
    assert ("25%", "schema 1: INT → BIGINT") in marks
    assert ("25%", "schema 1: b → c") in marks
    assert ("75%", "schema 3: dropped") in marks
    assert ("75%", "schema 3: added, default 7") in marks


def test_every_change_is_written_out_with_its_schema_version() -> None:
    found = {title: changes(row) for title, row in rows(drawn(HISTORY)).items()}
    assert found["new INT, column ID 6"] == ["3 added, default 7"]
    assert found["s.z DOUBLE, column ID 4"] == ["2 x → z"]
    assert "1 INT → BIGINT" in found["a BIGINT, column ID 1"]
    assert found["c STRING, column ID 2"][0] == "1 b → c"
    assert found["c STRING, column ID 2"][-1] == "3 dropped"


def test_many_changes_unfold() -> None:
    names = [f"a_rather_long_name_{i}" for i in range(20)]
    picture = drawn({i: (replace(A, name=name),) for i, name in enumerate(names)})
    assert len(list(picture.iter("circle"))) == 19
    (row,) = rows(picture).values()
    assert [text.split()[0] for text in changes(row)] == list(map(str, range(1, 20)))
    folded = row.find(".//details")
    assert folded is not None
    assert folded.findtext("summary") == "13 earlier changes"
    assert len(list(folded.iter("li"))) == 13


def test_dropped_columns_are_drawn_apart() -> None:
    gone = {
        title: "vt-gone" in str(row.get("class")) for title, row in rows(drawn(HISTORY)).items()
    }
    assert [title for title, is_gone in gone.items() if is_gone] == [
        "c STRING, column ID 2",
        "s.y FLOAT, column ID 5",
    ]


def test_of_a_thousand_columns_those_that_changed_come_first() -> None:
    many = tuple(Column(i, f"c{i}", Atom.INT) for i in range(1, 1001))
    changed = (*many[:900], replace(many[900], name="renamed"), *many[901:])
    picture = drawn({0: many, 1: changed}, most=10)
    shown = [title.split()[0] for title in lines(picture)]
    assert shown == ["renamed", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]
    assert picture.findtext("p") == "990 columns more, which never changed."


def test_on_a_page_all_columns_are_there() -> None:
    many = tuple(Column(i, f"c{i}", Atom.INT) for i in range(1, 301))
    changed = (*many[:250], replace(many[250], name="renamed"), *many[251:])
    picture = drawn({0: many, 1: changed}, most=10, unfolds=True)
    titles = [title.split()[0] for title in rows(picture)]
    assert sorted(titles) == sorted(["renamed", *(f"c{i}" for i in range(1, 301) if i != 251)])
    folded = picture.find("details")
    assert folded is not None
    assert folded.findtext("summary") == "290 columns more, which never changed"
    assert picture.find("p") is None


def test_numbers_are_of_columns_and_of_nested_fields() -> None:
    picture = drawn({0: (A, B, S)}, most=1, unfolds=True)
    assert picture.findtext("details/summary") == (
        "2 columns and 2 nested fields more, which never changed"
    )


def test_the_axis_has_dates() -> None:
    dates = {0: datetime(2026, 1, 2, tzinfo=UTC), 2: datetime(2026, 3, 4, 5, 6, tzinfo=UTC)}
    picture = drawn(HISTORY, dates=dates)
    ticks = [
        "".join(t.itertext()) for t in picture.iter("span") if "vt-tick" in str(t.get("class"))
    ]
    assert ticks == ["schema 02026-01-02", "schema 1", "schema 22026-03-04", "schema 3", "newest"]
    times = {
        part.text: part.get("title")
        for part in picture.iter("span")
        if part.get("class") == "vt-at"
    }
    assert times == {
        "1": "schema 1",
        "2": "schema 2, 2026-03-04 05:06 UTC",
        "3": "schema 3",
    }


def test_long_names_are_cut_and_whole_in_the_tooltip() -> None:
    name = "a" * 200
    picture = drawn({0: (replace(A, name=name),)})
    (span,) = (part for part in picture.iter("span") if part.get("class") == "vt-name")
    assert len(str(span.text)) == 60
    assert span.get("title") == f"{name} INT, column ID 1"


def test_many_schema_versions_are_joined_and_sampled() -> None:
    schemas = {i: (replace(A, name=f"n{i}"),) for i in range(1000)}
    picture = drawn(schemas)
    ticks = [str(t.text) for t in picture.iter("span") if "vt-tick" in str(t.get("class"))]
    assert len(ticks) <= 24
    assert ticks[0].startswith("schema 0–")
    assert "200 of 1,000 schema versions were compared" in str(picture.findtext("p"))
    assert [lane.path for lane in trace(schemas).lanes] == ["n999"]  # the newest one is among them


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=y>', "a\u202eb\x07"]
)
def test_names_are_text(name: str) -> None:
    page = lineage_html(name, [name], {0: (A,), 1: (replace(A, name=name),)})
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\x07" not in page
    ET.fromstring(f"<div>{draw_lineage(trace({0: (replace(A, name=name),)}), 9)}</div>")


def test_no_columns_and_no_schemas() -> None:
    assert trace({}).lanes == ()
    assert lines(drawn({})) == {}
    assert lines(drawn({0: ()})) == {}
