"""The examples of the documents on which the project is based; the results are written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans import is_identity, source_needed
from versioned_catalog import Catalog, Schema, Table
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.column_ids import new_schema
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.schema_json import schema_from_arrow, schema_to_arrow
from versioned_catalog.model.types import Array, Column, DataType, Map, Struct
from versioned_catalog.read.projection import FileLayout, Fill, Take


def rows(table: Table, **how: Any) -> list[dict[str, Any]]:
    return table.scan(**how).to_arrow().to_pylist()


def read_all(table: Table, filters: Any = None) -> Iterator[list[dict[str, Any]]]:
    """The rows, read by every API in Python; asserts that they are equal."""
    table.log.write_checkpoint(table.state)
    for view in (table, Catalog.load_path(table.location)):
        for prune in (True, False):
            scan = view.scan(filters=filters, prune=prune)
            found = scan.to_arrow().to_pylist()
            yield found
            yield pa.Table.from_batches(scan.to_batches(), scan.schema).to_pylist()
            assert scan.count() == len(found)


@pytest.fixture
def kudu(tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "x", "col_a INT, col_b INT")
    table.append(pa.table({"col_a": pa.array([1], pa.int32()), "col_b": pa.array([1], pa.int32())}))
    table.alter().drop_column("col_b").commit()
    table.alter().add_column("col_b", "int", default=999, nullable=False).commit()
    return table


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (None, [{"col_a": 1, "col_b": 999}]),
        ([("col_b", "=", 999)], [{"col_a": 1, "col_b": 999}]),
        ([("col_a", "=", 1)], [{"col_a": 1, "col_b": 999}]),
        ([("col_b", "=", 1)], []),
        ([("col_b", "<", 999)], []),
        ([[("col_b", "=", 1)], [("col_b", ">", 998)]], [{"col_a": 1, "col_b": 999}]),
    ],
)
def test_the_example_of_kudu(kudu: Table, filters: Any, expected: list[dict[str, Any]]) -> None:
    for found in read_all(kudu, filters):
        assert found == expected


def test_kudu_before_the_drop(kudu: Table) -> None:
    assert rows(kudu, version=1) == [{"col_a": 1, "col_b": 1}]
    assert rows(kudu, version=2) == [{"col_a": 1}]
    assert rows(kudu, columns=["col_b"]) == [{"col_b": 999}]


def test_the_example_of_materialize(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t1", "a STRING, b INT")
    table.append(pa.table({"a": ["hello"], "b": pa.array([5], pa.int32())}))
    table.alter().drop_column("b").commit()
    table.alter().add_column("b", "int", default=50).commit()
    for found in read_all(table, [("b", "=", 5)]):
        assert found == []
    for found in read_all(table, [("b", "=", 50)]):
        assert found == [{"a": "hello", "b": 50}]


@pytest.fixture
def cpu(tmp_path: Path) -> Table:
    ddl = "ts TIMESTAMP, host STRING, usage_user DOUBLE, usage_system DOUBLE, datacenter STRING"
    table = Catalog.create_path(tmp_path / "cpu", ddl)
    row = {
        "ts": pa.array([0], pa.timestamp("us", "UTC")),
        "host": ["h"],
        "usage_user": [1.0],
        "usage_system": [2.0],
        "datacenter": ["d"],
    }
    table.append(pa.table(row))
    table.alter().add_column("usage_idle", "double").commit()
    return table


def test_the_plan_of_the_example_of_greptimedb(cpu: Table) -> None:
    scan = cpu.scan(columns=["ts", "usage_system", "usage_idle"])
    plan = scan.plan(FileLayout(0))
    source = cpu.state.schemas[0].columns
    assert source_needed(plan, source) == (True, False, False, True, False)
    assert [getattr(output.step, "index", None) for output in plan.outputs] == [0, 1, None]
    assert [output.step for output in plan.outputs] == [Take(0), Take(1), Fill(None)]
    assert plan.physical_paths == ["ts", "usage_system"]
    assert scan.to_arrow().column("usage_system").to_pylist() == [2.0]
    assert scan.to_arrow().column("usage_idle").to_pylist() == [None]


def test_same_schema_needs_no_adapter(cpu: Table) -> None:
    cpu.append(cpu.scan().to_arrow())
    assert is_identity(cpu.scan().plan(FileLayout(1)))
    assert not is_identity(cpu.scan().plan(FileLayout(0)))


def test_round_trip_through_arrow(cpu: Table) -> None:
    assert schema_from_arrow(schema_to_arrow(cpu.schema)) == cpu.schema


def test_round_trip_keeps_all_metadata() -> None:
    ddl = (
        "a INT NOT NULL DEFAULT 7 COMMENT 'seven', s STRUCT<x: STRING COMMENT 'in', y: ARRAY<DATE>>, "
        "m MAP<STRING, DECIMAL(10,2)>, c CHAR(3), v VARCHAR(9), t TIME(3), n TIMESTAMP_NTZ, "
        "i INTERVAL DAY TO SECOND, now TIMESTAMP DEFAULT current_timestamp()"
    )
    schema, _ = new_schema(Schema.parse(ddl).columns, 1, 0)
    assert schema_from_arrow(schema_to_arrow(schema)) == schema


LEAVES = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12,3)"),
    *("STRING", "CHAR(4)", "VARCHAR(7)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
    *("TIME(2)", "INTERVAL DAY TO SECOND", "INTERVAL HOUR TO MINUTE", "VARIANT"),
]
NAMES = ["a", "B", "a b", "ß", "key", "element", "`", "日"]


def column_lists(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[tuple[Column, ...]]:
    """Columns without IDs, with different names."""
    columns = st.builds(
        Column,
        id=st.just(0),
        name=st.sampled_from(NAMES),
        type=types,
        nullable=st.booleans(),
        comment=st.none() | st.text("x'\"\\\n", max_size=3),
    )
    return st.lists(columns, min_size=1, max_size=4, unique_by=lambda c: c.name).map(tuple)


def containers(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    element = st.builds(Column, st.just(0), st.just("element"), types, st.booleans())
    key = st.builds(Column, st.just(0), st.just("key"), types, st.just(False))
    value = st.builds(Column, st.just(0), st.just("value"), types, st.booleans())
    maps = st.builds(Map, key, value)
    return column_lists(types).map(Struct) | st.builds(Array, element) | maps


TYPES = st.recursive(st.sampled_from(LEAVES).map(parse_type), containers, max_leaves=6)


@given(column_lists(TYPES), st.integers(1, 1000), st.integers(0, 9))
def test_every_schema_converts_to_arrow_and_back(
    columns: tuple[Column, ...], first_id: int, version: int
) -> None:
    schema, _ = new_schema(columns, first_id, version)
    arrow = schema_to_arrow(schema)
    assert schema_from_arrow(arrow) == schema
    # Also through Arrow's serialized form, in which schemas are sent to other processes.
    assert schema_from_arrow(pa.ipc.read_schema(arrow.serialize())) == schema
    bare = schema_from_arrow(arrow.remove_metadata())
    assert to_arrow_schema(bare.columns) == arrow.remove_metadata()


def test_metadata_of_another_schema_is_ignored(cpu: Table) -> None:
    cut = schema_to_arrow(cpu.schema).remove(0)
    assert [column.id for column in schema_from_arrow(cut).columns] == [0] * 5


def test_kudu_is_pruned_by_the_default(kudu: Table) -> None:
    # FORMAT.md, section 14: pruned by the constant 999, not by the bounds of the dropped column.
    for literal, pruned in [(1, 1), (999, 0)]:
        assert kudu.scan(filters=[("col_b", "=", literal)]).report().pruned == pruned
