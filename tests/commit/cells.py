"""The cells of the conflict matrix, as FORMAT.md, section 11, writes them, and cases of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commit.planned import Planned, Step

FORMAT = Path(__file__).parents[2] / "catalog" / "FORMAT.md"
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NOTES = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")

Refusal = tuple[type[Exception], str]
"""An error, and a pattern of its message."""


@dataclass(frozen=True)
class Cell:
    """The outcome of one operation after another.

    Args:
        mine: the operation that is committed; the row.
        theirs: what others committed concurrently; the column.
        text: the cell's text, without its notes.
        notes: the numbers of its notes.
    """

    mine: str
    theirs: str
    text: str
    notes: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """An operation, a concurrent commit, and the expected outcome.

    Args:
        row, column: the cell.
        mine: the operation, planned on the base.
        theirs: what others commit after the base version.
        refused: the error; None if it is committed.
        note: the note that decides the outcome.
        before: the commits before the base version.
        table: options of the table, if it is not the plain one.
        noop: whether the operation succeeds without an entry.
        holds: a condition on the table afterwards.
    """

    row: str
    column: str
    mine: Step
    theirs: Step
    refused: Refusal | None = None
    note: int | None = None
    before: tuple[Step, ...] = ()
    table: dict[str, Any] = field(default_factory=dict)
    noop: bool = False
    holds: Callable[[Planned], bool] = lambda _: True


def _parsed(text: str) -> tuple[str, tuple[int, ...]]:
    notes = tuple(int(found.translate(_DIGITS)) for found in _NOTES.findall(text))
    return " ".join(_NOTES.sub("", text).split()), notes


def read_matrix() -> tuple[list[Cell], dict[str, tuple[int, ...]]]:
    """Return the cells, and the notes on whole rows."""
    section = FORMAT.read_text().split("\n## 11.")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    (_, *columns), *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    cells, of_rows = [], {}
    for name, *texts in rows[1:]:
        mine, of_rows_notes = _parsed(name)
        of_rows[mine] = of_rows_notes
        cells += [
            Cell(mine, theirs, *_parsed(text)) for theirs, text in zip(columns, texts, strict=True)
        ]
    return cells, of_rows
