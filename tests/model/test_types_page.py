"""The table of docs/schemas.md of the types that may change is the one of the code."""

from __future__ import annotations

import itertools
import re

from jar import ROOT
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.type_text import render_type
from versioned_catalog.model.types import DataType
from versioned_catalog.model.widening import narrows, widens

ROW = re.compile(
    r"^\| (?P<old>[A-Z][^|]*) \| (?P<new>[A-Z][^|]*) \| (?P<widens>yes|no) \| (?P<back>[^|]*) \|"
)


def types(cell: str) -> list[DataType]:
    return [parse_type(text) for text in re.findall(r"[A-Z_]+(?:\([0-9,]+\))?", cell)]


def rows() -> list[tuple[list[DataType], list[DataType], bool, str]]:
    page = (ROOT / "docs" / "schemas.md").read_text()
    section = page.split("## Types that may change\n")[1].split("\n## ")[0]
    found = filter(None, map(ROW.match, section.splitlines()))
    return [
        (types(row["old"]), types(row["new"]), row["widens"] == "yes", row["back"]) for row in found
    ]


def test_each_row_says_what_the_code_does() -> None:
    found = rows()
    assert len(found) == 22
    for olds, news, is_wider, back in found:
        for old, new in itertools.product(olds, news):
            pair = f"{render_type(old)} to {render_type(new)}"
            assert widens(old, new) is is_wider, pair
            if back != "–":
                assert narrows(new, old) is back.startswith("if"), f"{pair}, back"


def test_the_table_has_each_pair_that_widens() -> None:
    listed = {
        pair
        for olds, news, is_wider, _ in rows()
        if is_wider
        for pair in itertools.product(olds, news)
    }
    every = {type_ for olds, news, *_ in rows() for type_ in (*olds, *news)}
    wider = {(a, b) for a, b in itertools.permutations(every, 2) if widens(a, b)}
    assert wider == listed
