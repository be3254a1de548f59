"""A table with resolved segments, written once by format version 1, stays readable and writable."""

from __future__ import annotations

from pathlib import Path

from versioned_catalog import Table
from versioned_catalog.log.marks import FileMark, InlineMark

GOLDEN = Path(__file__).parent / "v1-resolved"
FIRST = {key: 2 if key % 2 == 0 else 1 for key in range(4000) if key not in (1, 2)}
LAST = FIRST | {3: 5, 5000: 3, 5001: 4, 5002: 3, 7000: 4}


def values(table: Table, version: int | None = None) -> dict[int, int]:
    rows = table.scan(version=version).to_arrow()
    ids, numbers = (column.to_pylist() for column in rows.columns)
    assert len(set(ids)) == len(ids)
    return dict(zip(ids, numbers, strict=True))


def test_each_version_shows_its_rows(table: Table) -> None:
    assert values(table, 3) == FIRST
    assert values(table, 5) == values(table, 4) == FIRST | dict.fromkeys((5000, 5001, 5002), 3)
    assert values(table) == LAST
    assert table.maintenance.verify(deep=True).findings == ()


def test_resolved_segments_are_not_merged(table: Table) -> None:
    assert len(table.scan(version=4).selected.groups) == 1
    assert table.scan(version=8).selected.groups == ()
    assert len(table.scan().selected.groups) == 1
    assert table.scan(filters=[("id", ">", 4)]).selected.groups == ()
    marks = [table.state.segments.mark_of(path) for path in table.state.segments.paths]
    of_each = [None if mark is None else (type(mark), mark.rows, mark.resolved) for mark in marks]
    assert of_each == [
        *[(FileMark, 2001, 4), (InlineMark, 1, 4), (InlineMark, 2, 4)],
        *[(InlineMark, 1, 7), (InlineMark, 0, 7), None],
    ]


def test_it_is_resolved_again_and_compacted(table: Table) -> None:
    table.maintenance.resolve()
    assert table.scan().selected.groups == ()
    assert (values(table), table.count()) == (LAST, len(LAST))
    table.maintenance.compact(strategy="full")
    assert values(table.refresh()) == LAST
    assert not table.state.segments.has_marks
