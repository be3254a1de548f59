"""ANALYZE TABLE counts distinct values, and estimates use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.analysis import AnalyzedColumn, analyzed_columns
from versioned_catalog.read.aggregates import estimate
from versioned_catalog.read.selectivity import matching_rows
from versioned_catalog.read.sketches import EMPTY, KEPT, Sketch


def sketch_of(*values: Any, kind: pa.DataType | None = None) -> Sketch:
    return EMPTY.with_values(pa.array(values, kind))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0),
        ([None, None], 0),
        ([1, 2, 2, None], 2),
        (["a", "b", "a", ""], 3),
        ([0.5, float("nan"), float("nan")], 2),
        ([True, False, None], 2),
        ([*range(KEPT - 1)] * 2, KEPT - 1),
    ],
)
def test_few_values_are_counted_exactly(values: list[Any], expected: int) -> None:
    assert sketch_of(*values).count == expected


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("count", [5_000, 200_000])
def test_many_values_are_estimated(count: int, text: bool) -> None:
    """Five standard errors at most; the hashes are always the same."""
    values: pa.Array = pa.array(range(7, count + 7), pa.int64())
    values = values.cast(pa.string()) if text else values
    sketch = EMPTY
    for start in range(0, count, 1000):
        sketch = sketch.with_values(values.slice(start, 2000))  # each value twice
    assert abs(sketch.count - count) < 5 * count / KEPT**0.5
    halves = EMPTY.with_values(values[: count // 2]), EMPTY.with_values(values[count // 3 :])
    assert halves[0].merged(halves[1]).count == sketch.count
    assert Sketch.of_text(sketch.text()).count == sketch.count


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        (AnalyzedColumn(1000, 20), 1000, 20),
        (AnalyzedColumn(1000, 20), 100_000, 20),
        (AnalyzedColumn(1000, 20), 5, 5),
        (AnalyzedColumn(1000, 900), 10_000, 9000),  # most rows have a value of their own
        (AnalyzedColumn(1000, 900), 100, 90),
    ],
)
def test_numbers_grow_with_the_table(column: AnalyzedColumn, values: int, expected: int) -> None:
    assert column.among(values) == expected


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, s STRING, x DOUBLE, l ARRAY<INT>")
    for start in (0, 500):
        rows = range(start, start + 500)
        table.append(
            pa.table(
                {
                    "id": pa.array(rows, pa.int64()),
                    "s": [f"s{n % 40}" for n in rows],
                    "x": pa.array([None if n % 2 else n % 4 / 2 for n in rows], pa.float64()),
                    "l": pa.array([[n] for n in rows], pa.list_(pa.int32())),
                }
            )
        )
    return table


def test_an_analysis(table: Table) -> None:
    done = table.maintenance.analyze()
    assert done.rows == 1000
    assert done.distinct == {"id": 1000, "s": 40, "x": 2}
    assert done.version == 3
    assert json.loads(table.refresh().state.properties["analyzed_columns"]) == {
        "1": {"rows": 1000, "distinct": 1000},
        "2": {"rows": 1000, "distinct": 40},
        "3": {"rows": 1000, "distinct": 2},
    }
    assert table.properties == {}
    assert Catalog.load_path(table.location).scan().to_arrow().num_rows == 1000


def test_estimates_use_it(table: Table) -> None:
    def estimated() -> tuple[int, int | None]:
        scan = table.scan(filters=[("s", "=", "s7")])
        found = estimate(table.scan(), table.schema.get(("s",)))
        assert found is not None
        return matching_rows(scan), found.distinct

    assert estimated() == (100, None)
    table.maintenance.analyze(["s"])
    assert estimated() == (25, 40)
    table.alter_sql("ALTER TABLE t RENAME COLUMN s TO renamed").commit()
    table.alter_sql("ALTER TABLE t RENAME COLUMN renamed TO s").commit()
    assert estimated() == (25, 40)
    table.alter_sql("ALTER TABLE t DROP COLUMN s").commit()
    table.alter_sql("ALTER TABLE t ADD COLUMN s STRING DEFAULT 's7'").commit()
    assert estimated() == (1000, None)


def test_two_analyses_of_different_columns_at_once(table: Table) -> None:
    one, other = (Catalog.load_path(table.location) for _ in range(2))
    one.maintenance.analyze(["id"])
    other.maintenance.analyze(["s"])
    found = analyzed_columns(table.refresh().state.properties)
    assert {column_id: each.distinct for column_id, each in found.items()} == {1: 1000, 2: 40}


def test_a_dropped_column_leaves_the_analysis(table: Table) -> None:
    table.maintenance.analyze()
    table.alter_sql("ALTER TABLE t DROP COLUMN s").commit()
    table.maintenance.analyze(["x"])
    assert sorted(analyzed_columns(table.state.properties)) == [1, 3]


def test_merged_rows_count_once(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "k", "k BIGINT, s STRING", primary_key=["k"])
    for text in ("a", "b"):
        table.append(pa.table({"k": pa.array([1, 2], pa.int64()), "s": [text, text]}))
    assert table.maintenance.analyze().distinct == {"k": 2, "s": 1}


def test_an_empty_table(tmp_path: Path) -> None:
    done = Catalog.create_path(tmp_path / "e", "id BIGINT").maintenance.analyze()
    assert (done.rows, done.distinct) == (0, {"id": 0})


def test_columns_without_values_stay_unknown(tmp_path: Path) -> None:
    """A table that is analysed before it is filled is not taken for one of a single value."""
    table = Catalog.create_path(tmp_path / "t", "s STRING, n BIGINT")
    table.maintenance.analyze()
    rows = pa.table({"s": [f"s{n}" for n in range(1000)], "n": pa.array(range(1000), pa.int64())})
    table.append(rows)
    assert matching_rows(table.scan(filters=[("s", "=", "s7")])) == 100
    found = estimate(table.scan(), table.schema.get(("n",)))
    assert found is not None
    assert found.distinct == 1000


def test_numbers_without_bounds_are_not_reported(tmp_path: Path) -> None:
    """Spark takes a known number of values without bounds for no values."""
    table = Catalog.create_path(tmp_path / "t", "x DOUBLE")
    for value in (1.0, float("nan")):
        table.append(pa.table({"x": [value]}))
    table.maintenance.analyze()
    found = estimate(table.scan(), table.schema.get(("x",)))
    assert found is None or found.least is not None or found.distinct is None


def test_a_hidden_column_is_not_analysed(table: Table) -> None:
    table.pin_schema("job")
    table.alter_sql("ALTER TABLE t DROP COLUMN s").commit()
    assert sorted(table.maintenance.analyze().distinct) == ["id", "x"]
    with pytest.raises(InvalidRequestError):
        table.seen_as("job").maintenance.analyze()


def test_what_is_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"column l can't be analysed.*leave it out"):
        table.maintenance.analyze(["l"])
    with pytest.raises(NotFoundError, match="nowhere"):
        table.maintenance.analyze(["nowhere"])
    with pytest.raises(InvalidRequestError, match="run ANALYZE TABLE"):
        table.alter().set_property("analyzed_columns", "{}").commit()
    with pytest.raises(InvalidRequestError, match="run ANALYZE TABLE"):
        table.alter_sql("ALTER TABLE t UNSET TBLPROPERTIES ('analyzed_columns')").commit()
    with pytest.raises(InvalidRequestError, match="run ANALYZE TABLE"):
        Catalog.create_path(tmp_path / "u", "id BIGINT", properties={"analyzed_columns": "{}"})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"x": {}}', '{"1": 5}', '{"1": {"rows": "many", "distinct": 1}}', "null"],
)
def test_an_analysis_of_other_software_is_ignored(text: str) -> None:
    assert analyzed_columns({"analyzed_columns": text}) == {}


def test_the_command(table: Table) -> None:
    from click.testing import CliRunner

    from versioned_catalog.cli.main import main

    found = CliRunner().invoke(main, ["analyze", table.location, "--columns", "s, x", "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["columns"] == [
        {"column": "s", "distinct": 40},
        {"column": "x", "distinct": 2},
    ]
