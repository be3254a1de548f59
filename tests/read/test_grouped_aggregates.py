"""COUNT, MIN and MAX by groups come from metadata exactly where each segment holds one group."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.read.grouped_aggregates import (
    extremes_by,
    groups_by,
    rows_by,
    values_by,
)

Make = Callable[..., Table]
Answer = dict[tuple[str | None, ...], tuple[Any, ...]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    alone = {"properties": {"auto_maintain": "off", "row_changes": "mark"}}
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **(alone | more))


def answer(table: Table, *by: str, of: str = "n") -> Answer | None:
    """By group: count(*), count(n), min(n), max(n), None where metadata does not tell."""
    scan = table.scan()
    column = scan.state.schema.get((of,))
    groups = groups_by(scan, [scan.state.schema.get((name,)) for name in by])
    if groups is None:
        return None
    unknown = [None] * groups.count
    shown = zip(
        rows_by(groups),
        values_by(groups, column) or unknown,
        extremes_by(groups, column, False) or unknown,
        extremes_by(groups, column, True) or unknown,
        strict=True,
    )
    found = dict(zip(zip(*groups.keys, strict=True), shown, strict=True))
    assert len(found) == groups.count
    return found


def rows(**columns: list[Any]) -> pa.Table:
    types = {"p": pa.string(), "q": pa.int32(), "n": pa.int64(), "x": pa.float64(), "k": pa.int64()}
    return pa.table({name: pa.array(of, types[name]) for name, of in columns.items()})


def test_by_a_partition(make: Make) -> None:
    table = make("p STRING, n BIGINT", partitioned_by=["p"])
    table.append(rows(p=["a", "b", None, "a"], n=[1, 2, 3, None]))
    table.append(rows(p=["b", None], n=[-5, None]))
    assert answer(table, "p") == {
        ("a",): (2, 1, "1", "1"),
        ("b",): (2, 2, "-5", "2"),
        (None,): (2, 1, "3", "3"),
    }


def test_by_two_columns_of_which_one_is_not_a_partition(make: Make) -> None:
    table = make("p STRING, q INT, n BIGINT", partitioned_by=["p"])
    table.append(rows(p=["a", "b"], q=[1, 1], n=[1, 2]))
    table.append(rows(p=["a"], q=[2], n=[7]))
    assert answer(table, "p", "q") == {
        ("a", "1"): (1, 1, "1", "1"),
        ("b", "1"): (1, 1, "2", "2"),
        ("a", "2"): (1, 1, "7", "7"),
    }
    assert answer(table, "q") == {("1",): (2, 2, "1", "2"), ("2",): (1, 1, "7", "7")}


def test_a_segment_of_several_groups_does_not_tell(make: Make) -> None:
    table = make("p STRING, n BIGINT")
    table.append(rows(p=["a", "a"], n=[1, 2]))
    assert answer(table, "p") == {("a",): (2, 2, "1", "2")}
    table.append(rows(p=["a", None], n=[1, 2]))
    assert answer(table, "p") is None


def test_without_rows_there_are_no_groups(make: Make) -> None:
    table = make("p STRING, n BIGINT", partitioned_by=["p"])
    assert answer(table, "p") == {}
    table.append(rows(p=["a"], n=[1]))
    table.delete([("n", "=", 1)])
    assert answer(table, "p") == {}


def test_an_added_column_groups_by_its_default(make: Make) -> None:
    table = make("n BIGINT")
    table.append(rows(n=[1, 2]))
    table.alter_sql("ALTER TABLE t ADD COLUMN p STRING DEFAULT 'old'").commit()
    table.append(rows(n=[3], p=["new"]))
    assert answer(table, "p") == {("old",): (2, 2, "1", "2"), ("new",): (1, 1, "3", "3")}


def test_a_dropped_column_that_is_added_again_is_null(make: Make) -> None:
    table = make("p STRING, n BIGINT")
    table.append(rows(p=["a"], n=[1]))
    table.alter_sql("ALTER TABLE t DROP COLUMN p").commit()
    table.alter_sql("ALTER TABLE t ADD COLUMN p STRING").commit()
    assert answer(table, "p") == {(None,): (1, 1, "1", "1")}


def test_marked_rows(make: Make) -> None:
    """Rows are counted without them; the least value of a marked segment may be that of such a row."""
    table = make("p STRING, n BIGINT", partitioned_by=["p"])
    table.append(rows(p=["a"] * 10 + ["b"] * 10, n=[*range(10), *[3] * 10]))
    table.update({"n": 100}, [("n", "=", 9)])
    table.delete([("n", "=", 8)])
    assert table.state.segments.has_marks
    assert answer(table, "p") == {("a",): (9, 9, None, "100"), ("b",): (10, 10, None, "3")}
    assert answer(table, "p", of="p") == {("a",): (9, 9, "a", "a"), ("b",): (10, 10, "b", "b")}


@pytest.mark.parametrize(
    ("kind", "values", "low", "high"),
    [
        ("STRING", ["x" * 70, "y"], None, "y"),  # the least is a bound that was cut
        ("DOUBLE", [1.0, 2.0], None, None),
        ("BINARY", [b"a", b"b"], "YQ==", "Yg=="),
        ("ARRAY<INT>", [[1], [2]], None, None),
    ],
)
def test_types(make: Make, kind: str, values: list[Any], low: str | None, high: str | None) -> None:
    table = make(f"p STRING, n {kind}", partitioned_by=["p"])
    table.append(pa.table({"p": ["a", "a"], "n": values}, table.scan().schema))
    assert answer(table, "p") == {("a",): (2, 2, low, high)}


def test_floats_do_not_group(make: Make) -> None:
    table = make("x DOUBLE, n BIGINT")
    table.append(rows(x=[0.0], n=[1]))
    assert answer(table, "x") is None


def test_merged_rows_are_not_counted_from_metadata(make: Make) -> None:
    table = make("k BIGINT NOT NULL, n BIGINT", primary_key=["k"], properties={})
    table.append(rows(k=[1], n=[1]))
    assert answer(table, "n", of="k") == {("1",): (1, 1, "1", "1")}
    table.append(rows(k=[1], n=[2]))
    assert answer(table, "n", of="k") is None


def test_tombstones_of_unknown_keys_are_no_rows(make: Make) -> None:
    key = {"primary_key": ["p", "k"], "partitioned_by": ["p"], "properties": {}}
    table = make("p STRING NOT NULL, k BIGINT NOT NULL", **key)
    table.append(rows(p=["a"] * 3, k=[1, 2, 3]))
    table.delete_keys(rows(p=["a", "b"], k=[99, 7]))
    assert table.scan().to_arrow().num_rows == 3
    assert answer(table, "p", of="k") in (None, {("a",): (3, 3, "1", "3")})


@pytest.mark.parametrize("seed", range(20))
def test_random_rows(make: Make, seed: int) -> None:
    chance = random.Random(seed)
    table = make("p STRING, q INT, n BIGINT", partitioned_by=["p", "q"])
    written: list[tuple[str | None, int | None, int | None]] = []
    for _ in range(chance.randrange(1, 5)):
        more = [
            (
                chance.choice(["a", "b", None]),
                chance.choice([1, 2, None]),
                chance.choice([7, 8, None]),
            )
            for _ in range(chance.randrange(1, 12))
        ]
        written += more
        p, q, n = (list(values) for values in zip(*more, strict=True))
        table.append(rows(p=p, q=q, n=n))
    for by in (("p",), ("q",), ("p", "q"), ("q", "p")):
        assert answer(table, *by) == _expected(written, by)


def _expected(
    written: list[tuple[str | None, int | None, int | None]], by: tuple[str, ...]
) -> Answer:
    groups: dict[tuple[str | None, ...], list[int | None]] = {}
    for p, q, n in written:
        key = {"p": p, "q": None if q is None else str(q)}
        groups.setdefault(tuple(key[name] for name in by), []).append(n)
    found: Answer = {}
    for key_of, values in groups.items():
        known = [value for value in values if value is not None]
        ends = (str(min(known)), str(max(known))) if known else (None, None)
        found[key_of] = (len(values), len(known), *ends)
    return found
