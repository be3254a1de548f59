"""The examples of the documents on which keyed tables are based; the results are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from plans import is_identity, source_needed
from test_evolution_examples import read_all, rows
from versioned_catalog import Catalog, Schema, Table
from versioned_catalog.model.keys import OP_TYPE, SEQUENCE, arranged_columns
from versioned_catalog.model.types import Column
from versioned_catalog.read.projection import plan_columns

INTERNAL = (SEQUENCE, OP_TYPE)
INTS = pa.int32()
Step = Callable[[Table], object]


def ints(**columns: Sequence[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, INTS) for name, values in columns.items()})


def store_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns of a segment that holds the internal ones, too."""
    return (*arranged_columns(schema), *INTERNAL)


def names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


# GreptimeDB's schema structs

KEY = ["datacenter", "host", "ts"]
THEN = datetime(1970, 1, 1, tzinfo=UTC)
ROW = {"ts": THEN, "host": "h", "usage_user": 1.0, "usage_system": 2.0, "datacenter": "d"}


@pytest.fixture
def cpu(tmp_path: Path) -> Table:
    table = Catalog.create_path(
        tmp_path / "cpu",
        "ts TIMESTAMP, host STRING, usage_user DOUBLE, usage_system DOUBLE, datacenter STRING",
        primary_key=["datacenter", "host"],
        time_index="ts",
    )
    table.append(cpu_rows(ROW))
    return table


def cpu_rows(*given: dict[str, Any]) -> pa.Table:
    kinds = {"ts": pa.timestamp("us", "UTC"), "host": pa.string(), "datacenter": pa.string()}
    fields = [(name, kinds.get(name, pa.float64())) for name in given[0]]
    return pa.Table.from_pylist(list(given), pa.schema(fields))


def test_the_schemas_of_cpu(cpu: Table) -> None:
    schema = cpu.schema
    shown = ["ts", "host", "usage_user", "usage_system", "datacenter"]
    assert names(schema.columns) == shown == cpu.scan().schema.names
    ids = [column.id for column in schema.columns]
    assert [ids.index(key) for key in schema.primary_key] == [4, 1]
    assert [at for at, key in enumerate(ids) if key not in schema.row_key] == [2, 3]
    assert schema.time_index is not None
    assert ids.index(schema.time_index) == 0
    user = ["datacenter", "host", "ts", "usage_user", "usage_system"]
    assert names(arranged_columns(schema)) == user
    assert names(store_columns(schema)) == [*user, "__sequence", "__op_type"]
    assert [column.id for column in INTERNAL] == [2_147_483_646, 2_147_483_647]
    assert len(schema.row_key) == 3
    assert schema.version == 0


def test_the_schemas_of_cpu_with_usage_idle(cpu: Table) -> None:
    cpu.alter().add_column("usage_idle", "double").commit()
    shown = ["ts", "host", "usage_user", "usage_system", "datacenter", "usage_idle"]
    assert names(cpu.schema.columns) == shown
    user = ["datacenter", "host", "ts", "usage_user", "usage_system", "usage_idle"]
    assert names(arranged_columns(cpu.schema)) == user
    assert names(store_columns(cpu.schema)) == [*user, "__sequence", "__op_type"]
    assert cpu.schema.version == 1


def projected(schema: Schema, *wanted: str) -> list[Column]:
    """The columns that a scan of a keyed table reads: those for the merge, and the requested ones."""
    return [
        column
        for column in store_columns(schema)
        if column.name in (*wanted, *KEY, *names(INTERNAL))
    ]


def test_the_projected_schema_of_cpu(cpu: Table) -> None:
    wanted = projected(cpu.schema, "ts", "usage_system")
    assert names(wanted) == [*KEY, "usage_system", "__sequence", "__op_type"]
    plan = plan_columns(store_columns(cpu.schema), wanted)
    needed = source_needed(plan, store_columns(cpu.schema))
    assert needed == (True, True, True, False, True, True, True)
    assert [getattr(output.step, "index", None) for output in plan.outputs] == [0, 1, 2, 3, 4, 5]
    assert is_identity(plan)


def test_the_read_adapter_of_cpu(cpu: Table) -> None:
    source = store_columns(cpu.schema)
    cpu.alter().add_column("usage_idle", "double").commit()
    wanted = projected(cpu.schema, "ts", "usage_system", "usage_idle")
    assert names(wanted) == [*KEY, "usage_system", "usage_idle", "__sequence", "__op_type"]
    plan = plan_columns(source, wanted)
    assert [getattr(output.step, "index", None) for output in plan.outputs] == [
        0,
        1,
        2,
        3,
        None,
        4,
        5,
    ]
    assert source_needed(plan, source) == (True, True, True, False, True, True, True)


def test_cpu_is_read_in_the_requested_schema(cpu: Table) -> None:
    cpu.alter().add_column("usage_idle", "double").commit()
    wanted = ["ts", "usage_system", "usage_idle"]
    old = {"ts": THEN, "usage_system": 2.0, "usage_idle": None}
    assert rows(cpu, columns=wanted) == [old]
    cpu.append(cpu_rows(ROW | {"usage_system": 3.0, "usage_idle": 4.0}, ROW | {"host": "i"}))
    new = {"ts": THEN, "usage_system": 3.0, "usage_idle": 4.0}
    assert sorted(rows(cpu, columns=wanted), key=repr) == [old, new]
    assert rows(cpu, columns=["usage_system", "ts"], version=1) == [
        {"usage_system": 2.0, "ts": THEN}
    ]


def read_sorted(table: Table, filters: Any = None) -> Iterator[list[tuple[Any, ...]]]:
    """The rows ordered by key, read by every API in Python; asserts that they are equal."""
    for found in read_all(table, filters):
        yield sorted(tuple(row.values()) for row in found)


# Kudu: updates of a column that is dropped or added


def change(steps: Sequence[Step], table: Table, compacted: int | None) -> None:
    """Run all steps, with a compaction after one of them."""
    for at, step in enumerate(steps):
        step(table)
        if at == compacted:
            table.maintenance.compact()


def put(**columns: Sequence[int | None]) -> Step:
    return lambda table: table.append(ints(**columns))


def patch(**columns: Sequence[int | None]) -> Step:
    return lambda table: table.upsert(ints(**columns), partial=True)


def drop(name: str) -> Step:
    return lambda table: table.alter().drop_column(name).commit()


def add(name: str, default: int) -> Step:
    return lambda table: (
        table.alter().add_column(name, "int", default=default, nullable=False).commit()
    )


@pytest.fixture
def keyed(tmp_path: Path) -> Table:
    return Catalog.create_path(tmp_path / "x", "k INT, a INT, b INT", primary_key=["k"])


@pytest.mark.parametrize("compacted", [None, 0, 1, 2])
def test_an_update_of_a_column_dropped_later_is_ignored(
    keyed: Table, compacted: int | None
) -> None:
    steps = [put(k=[1, 2], a=[1, 2], b=[1, 2]), patch(k=[1], a=[3], b=[5]), drop("b")]
    change(steps, keyed, compacted)
    for found in read_sorted(keyed):
        assert found == [(1, 3), (2, 2)]


@pytest.mark.thorough
@pytest.mark.parametrize("compacted", [None, 0, 1, 2, 3, 4])
def test_such_an_update_does_not_reappear_in_a_new_column(
    keyed: Table, compacted: int | None
) -> None:
    steps = [
        put(k=[1, 2], a=[1, 2], b=[1, 2]),
        patch(k=[1], a=[3], b=[5]),
        patch(k=[3], a=[6], b=[5]),
        drop("b"),
        add("b", 999),
    ]
    change(steps, keyed, compacted)
    all_rows = [(1, 3, 999), (2, 2, 999), (3, 6, 999)]
    for filters, expected in [
        (None, all_rows),
        ([("b", "=", 5)], []),
        ([("b", "=", 1)], []),
        ([("b", "=", 999)], all_rows),
        ([("b", "<", 999)], []),
        ([("b", "=", 999), ("k", "=", 1)], all_rows[:1]),
    ]:
        for found in read_sorted(keyed, filters):
            assert found == expected


@pytest.mark.parametrize("compacted", [None, 0, 1, 2, 3])
def test_an_update_of_an_added_column_replaces_its_default(
    keyed: Table, compacted: int | None
) -> None:
    steps = [
        put(k=[1, 2, 3], a=[1, 2, 3], b=[1, 2, 3]),
        add("c", 7),
        patch(k=[1], c=[8]),
        patch(k=[2], a=[5]),
    ]
    change(steps, keyed, compacted)
    expected = [(1, 1, 1, 8), (2, 5, 2, 7), (3, 3, 3, 7)]
    for found in read_sorted(keyed):
        assert found == expected
    for found in read_sorted(keyed, [("c", "=", 7)]):
        assert [row[0] for row in found] == [2, 3]
    for found in read_sorted(keyed, [("c", "=", 8)]):
        assert [row[0] for row in found] == [1]


@pytest.mark.parametrize("compacted", [None, 0, 1, 2, 3])
def test_an_update_from_before_a_column_keeps_its_default(
    keyed: Table, compacted: int | None
) -> None:
    steps = [
        put(k=[1], a=[1], b=[1]),
        patch(k=[1, 2], a=[5, 6]),
        add("c", 7),
        patch(k=[2], b=[9]),
    ]
    change(steps, keyed, compacted)
    for found in read_sorted(keyed):
        assert found == [(1, 5, 1, 7), (2, 6, 9, 7)]


# Materialize: DELETE over a column that was dropped and added again


@pytest.mark.parametrize("key", [[], ["a"]], ids=["unkeyed", "keyed"])
def test_a_delete_ignores_values_of_a_dropped_column(tmp_path: Path, key: list[str]) -> None:
    table = Catalog.create_path(tmp_path / "t1", "a STRING, b INT", primary_key=key)
    table.append(pa.table({"a": ["hello"], "b": pa.array([5], INTS)}))
    table.alter().drop_column("b").commit()
    table.alter().add_column("b", "int", default=50).commit()
    version = table.version
    assert table.delete([("b", "=", 5)]) == version
    assert table.update({"b": 6}, [("b", "=", 5)]) == version
    for found in read_all(table):
        assert found == [{"a": "hello", "b": 50}]
    table.update({"b": 51}, [("b", "=", 50)])
    assert table.delete([("b", "in", [5, 6, 50])]) == version + 1
    for found in read_all(table):
        assert found == [{"a": "hello", "b": 51}]
    table.delete([("b", "=", 51)])
    for found in read_all(table):
        assert found == []
    assert rows(table, version=1) == [{"a": "hello", "b": 5}]


@pytest.mark.parametrize("key", [[], ["a"]], ids=["unkeyed", "keyed"])
def test_a_delete_matches_the_values_that_are_shown(tmp_path: Path, key: list[str]) -> None:
    table = Catalog.create_path(tmp_path / "t1", "a STRING, b INT", primary_key=key)
    table.append(pa.table({"a": ["hello"], "b": pa.array([5], INTS)}))
    table.alter().drop_column("b").add_column("b", "int", default=50).commit()
    table.append(pa.table({"a": ["there"], "b": pa.array([5], INTS)}))
    table.delete([("b", "=", 50)])
    for found in read_all(table):
        assert found == [{"a": "there", "b": 5}]
    table.append(pa.table({"a": ["hello"]}))
    for found in read_all(table, [("b", "=", 50)]):
        assert found == [{"a": "hello", "b": 50}]
