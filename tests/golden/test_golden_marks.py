"""A table with marks, written once by format version 1, stays readable and writable."""

from __future__ import annotations

from pathlib import Path

from versioned_catalog import Table
from versioned_catalog.log.marks import FileMark, InlineMark

GOLDEN = Path(__file__).parent / "v1-marks"
LEFT = [one for one in range(3000) if one % 5 >= 2]


def ids(table: Table, version: int | None = None) -> list[int]:
    return sorted(table.scan(["id"], version=version).to_arrow()["id"].to_pylist())


def test_each_version_shows_its_rows(table: Table) -> None:
    assert ids(table, 1) == list(range(3000))
    assert ids(table, 3) == [*LEFT, 9001, 9002, 9003]
    assert ids(table, 5) == [*LEFT, 9001, 9002, 9003]
    assert ids(table) == [*LEFT[1:], 9001, 9003]
    assert table.count() == 1801
    assert table.scan(["n"]).to_arrow()["n"].null_count == 1801
    updated = table.scan(filters=[("id", ">", 9000)], version=4).to_arrow().to_pylist()
    assert sorted((row["id"], row["n"]) for row in updated) == [(9001, 7), (9002, 8), (9003, 7)]
    assert table.maintenance.verify(deep=True).findings == ()


def test_its_marks_are_of_both_kinds(table: Table) -> None:
    marks = table.state.segments.marks.values()
    assert {(type(mark), mark.rows) for mark in marks} == {(FileMark, 1201), (InlineMark, 1)}


def test_it_takes_marks_and_loses_them(table: Table) -> None:
    table.delete([("id", "=", 9003)])
    assert ids(table.refresh()) == [*LEFT[1:], 9001]
    table.maintenance.compact(strategy="full")
    assert ids(table.refresh()) == [*LEFT[1:], 9001]
    assert not table.state.segments.has_marks
    table.rollback(1)
    assert ids(table.refresh()) == list(range(3000))
