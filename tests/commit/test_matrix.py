"""The conflict matrix of FORMAT.md, section 11: the outcome of each of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from commit.cases import CASES, drop
from commit.cells import Case, Cell, read_matrix
from commit.planned import Planned, now
from versioned_catalog.commit.matrix import MATRIX
from versioned_catalog.commit.operations import Operation

CELLS, NOTES_OF_ROWS = read_matrix()


def name(case: Case) -> str:
    what = "ok" if case.refused is None else "abort"
    note = "" if case.note is None else f" ({case.note})"
    return f"{case.row} / {case.column}: {what}{note}"


def parameters() -> Iterator[Any]:
    """All cases; the short set has the first of each name."""
    seen = set[str]()
    for case in CASES:
        marks = [pytest.mark.thorough] if name(case) in seen else []
        seen.add(name(case))
        yield pytest.param(case, id=name(case), marks=marks)


@pytest.mark.parametrize("case", [*parameters()])
def test_a_commit_lands_or_is_refused_as_the_matrix_says(case: Case) -> None:
    table = Planned(**case.table)
    for step in case.before:
        assert table.commit(now(step)(table))
    table.plan_here()
    mine = case.mine(table)
    assert table.commit(now(case.theirs)(table)), "the concurrent commit succeeds"
    before = table.state
    if case.refused is not None:
        error, words = case.refused
        with pytest.raises(error, match=words):
            table.commit(mine)
        assert table.state is before
    else:
        assert table.commit(mine) is not case.noop
        assert case.holds(table)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.mine} / {cell.theirs}")
def test_every_cell_has_its_cases(cell: Cell) -> None:
    """A cell has cases for both outcomes of each check, and for no outcome that it does not allow."""
    cases = [case for case in CASES if (case.row, case.column) == (cell.mine, cell.theirs)]
    found = {(case.note, case.refused is None) for case in cases}
    of_row = NOTES_OF_ROWS[cell.mine]
    plain = {committed for note, committed in found if note not in (*cell.notes, *of_row)}
    match cell.text:
        case "ok":
            assert (plain or {committed for _, committed in found}) == {True}
        case "abort":
            assert plain <= {False}
            assert False in {committed for _, committed in found}
        case "check":
            assert cell.notes
            assert plain <= {True}, "a refusal must name its note"
            missing = {
                (note, committed) for note in cell.notes for committed in (True, False)
            } - found
            assert not missing
        case "ok; after a drop: abort":
            assert {(case.theirs is drop, case.refused is None) for case in cases} == {
                (True, False),
                (False, True),
            }
        case "ok; an expire: check ; a drop: check" | "ok; a drop: check":
            assert plain == {True}
            assert {(note, ok) for note in cell.notes for ok in (True, False)} <= found
        case other:
            pytest.fail(f"the matrix has a new kind of cell: {other!r}")


def test_notes_of_rows_have_their_cases() -> None:
    for row, notes in NOTES_OF_ROWS.items():
        found = {(case.note, case.refused is None) for case in CASES if case.row == row}
        assert {(note, ok) for note in notes for ok in (True, False)} <= found


def test_every_case_is_in_a_cell() -> None:
    cells = {(cell.mine, cell.theirs): cell for cell in CELLS}
    for case in CASES:
        cell = cells[case.row, case.column]
        notes = {*cell.notes, *NOTES_OF_ROWS[cell.mine]}
        assert case.note is None or case.note in notes, name(case)


def test_every_operation_has_a_row() -> None:
    assert set(MATRIX) == set(get_args(Operation))
