"""Objects of JSON are maps where a provided schema or the table says so."""

from __future__ import annotations

from decimal import Decimal

import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def test_members_are_entries_and_a_null_is_not_a_missing_one(lake: Lake) -> None:
    lake.text(
        "x.json",
        '{"id": 1, "attrs": {"a": 1, "b": null}}\n\n{"id": 2, "attrs": {}}\n'
        '{"id": 3, "attrs": null}\n{"id": 4}\n{"attrs": {"c": 2}, "id": 5}\n',
    )
    lake.load(copy=True, schema="attrs MAP<STRING, BIGINT>")
    assert [(row["id"], row["attrs"]) for row in lake.rows()] == [
        (1, [("a", 1), ("b", None)]),
        (2, []),
        (3, None),
        (4, None),
        (5, [("c", 2)]),
    ]
    # The table knows by now: nothing has to be said again.
    lake.text("y.json", '{"id": 6, "attrs": {"2024-01-01": 7}}\n')
    lake.load(source="y.json", copy=True, kept="ignore")
    assert lake.rows()[5] == {"attrs": [("2024-01-01", 7)], "id": 6}


@pytest.mark.thorough
def test_maps_inside_others_below_aliases(lake: Lake) -> None:
    maps = '{"1": {"x": 1.50, "y": "ü"}, "02": {"x": 2}}'
    lake.text("x.json", f'{{"S": {{"m": {maps}}}, "l": [{{"k": {{"z": [1]}}}}, {{"k": {{}}}}]}}\n')
    schema = (
        "s.n MAP<INT, STRUCT<x: DECIMAL(30,20), y: STRING>>, "
        "l ARRAY<STRUCT<k: MAP<STRING, ARRAY<BIGINT>>>>"
    )
    lake.load(copy=True, schema=schema, aliases={"s.m": "n"})
    assert lake.rows() == [
        {
            "s": {"n": [(1, {"x": Decimal("1.5"), "y": "ü"}), (2, {"x": Decimal(2), "y": None})]},
            "l": [{"k": [("z", [1])]}, {"k": []}],
        }
    ]


@pytest.mark.thorough
def test_digits_of_numbers_in_maps_are_kept(lake: Lake) -> None:
    lake.text(
        "x.json", '{"m": {"a": 1.12345678901234567890, "b": 123456789012345678901}, "n": 0.10}\n'
    )
    lake.load(copy=True, schema="m MAP<STRING, STRING>, n STRING")
    assert lake.rows() == [
        {"m": [("a", "1.12345678901234567890"), ("b", "123456789012345678901")], "n": "0.10"}
    ]


@pytest.mark.nightly
def test_lines_of_different_kinds_and_many_keys(lake: Lake) -> None:
    values = [str(at) if at % 2 else '"x"' for at in range(3000)]
    lines = [f'{{"m": {{"k{at}": {at}}}, "v": {value}}}' for at, value in enumerate(values)]
    lake.text("x.json", "\n".join(lines))
    lake.load(copy=True, schema="m MAP<STRING, DOUBLE>, v STRING")
    assert lake.rows() == [
        {"m": [(f"k{at}", float(at))], "v": str(at) if at % 2 else "x"} for at in range(3000)
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"m": {"a": 1, "a": 2}}', "line 2 is no JSON object: the member a was specified twice"),
        ('{"m": {"a": 1}', "line 2 is no JSON object"),
        ('{"m": {"\\uF8F0": 1}}', r"the character U\+F8F0"),
        ('{"m": "x"}', "m is a MAP in 1 file .x.json. and STRING in 1 file"),
        ('{"m": {"a": "x"}}', "m.value holds a value that is no BIGINT: 'x' in line 2: a whole"),
    ],
)
@pytest.mark.thorough
def test_what_is_no_map_is_refused(lake: Lake, line: str, problem: str) -> None:
    lake.text("x.json", '{"m": {"b": 1}}\n' + line + "\n")
    with pytest.raises(InvalidRequestError, match=problem):
        lake.load(copy=True, schema="m MAP<STRING, BIGINT>")
