"""Streams into a table, without Spark: ALTERs in mid-stream, and batches that come again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream.tables import Row, ids, table_at
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.alteration import Alteration
from versioned_catalog.stream.sink import TableSink


def found(table: Table) -> list[Row]:
    rows: list[Row] = table.refresh().scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


ALTERS: dict[str, tuple[Callable[[Alteration], Alteration], Row]] = {
    "rename": (lambda a: a.rename_column("n", "m"), {"id": 1, "m": 10}),
    "rename to a name that was taken": (
        lambda a: a.rename_column("n", "old").rename_column("id", "n").rename_column("old", "id"),
        {"n": 1, "id": 10},
    ),
    "add": (lambda a: a.add_column("z", "INT", default=7), {"id": 1, "n": 10, "z": 7}),
    "widen": (lambda a: a.change_type("n", "DECIMAL(20, 2)"), {"id": 1, "n": 10}),
    "widen, with a default that does not fit": (
        lambda a: a.change_type("n", "BIGINT").set_default("n", 1 << 40),
        {"id": 1, "n": 10},
    ),
    "drop": (lambda a: a.drop_column("n"), {"id": 1}),
    "drop and add again": (
        lambda a: a.drop_column("n").add_column("n", "INT"),
        {"id": 1, "n": None},
    ),
    "drop and add again as another type": (
        lambda a: a.drop_column("n").add_column("n", "DATE"),
        {"id": 1, "n": None},
    ),
    "move": (lambda a: a.move_column("n", first=True), {"n": 10, "id": 1}),
}


@pytest.mark.parametrize("name", ALTERS)
def test_alters_in_mid_stream(name: str, tmp_path: Path) -> None:
    alter, expected = ALTERS[name]
    table = table_at(tmp_path)
    sink = table.sink("job")
    alter(table.alter()).commit()
    sink.write(ids(1), 0)
    assert found(table) == [expected]
    assert sink.write(ids(1), 0) == table.version, "the batch came again"
    assert found(table) == [expected]


def test_fields_of_structs_match_by_id(tmp_path: Path) -> None:
    table = table_at(
        tmp_path, "id BIGINT, p STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<a: INT, b: INT>>"
    )
    sink = table.sink("job")
    change = table.alter().rename_column("p.x", "w").drop_column("p.y").add_column("p.y", "STRING")
    change.add_column("p.v", "INT").drop_column("l.element.a").change_type("l.element.b", "BIGINT")
    change.commit()
    row = {"id": 1, "p": {"x": 1, "y": "old"}, "l": [{"a": 2, "b": 3}]}
    types = {
        "p": pa.struct({"x": pa.int32(), "y": pa.string()}),
        "l": pa.list_(pa.struct({"a": pa.int32(), "b": pa.int32()})),
    }
    schema = pa.schema([("id", pa.int64()), *types.items()])
    sink.write(pa.Table.from_pylist([row], schema), 0)
    assert found(table) == [{"id": 1, "p": {"w": 1, "y": None, "v": None}, "l": [{"b": 3}]}]


def test_a_column_that_a_pin_hides_takes_no_values(tmp_path: Path) -> None:
    """To a stream that is not pinned, it was dropped; a pinned one still writes it."""
    table = table_at(tmp_path)
    table.pin_schema("old")
    plain, pinned = table.sink("plain"), table.seen_as("old").sink("pinned")
    table.alter().drop_column("n").commit()
    plain.write(ids(1), 0)
    pinned.write(ids(2), 0)
    assert found(table) == [{"id": 1}, {"id": 2}]
    assert found(table.seen_as("old")) == [{"id": 1, "n": None}, {"id": 2, "n": 20}]


def test_not_null_counts_as_it_is_now(tmp_path: Path) -> None:
    table = table_at(tmp_path, "id BIGINT, n INT NOT NULL")
    sink = table.sink("job")
    nothing = pa.table({"id": [1], "n": pa.array([None], pa.int32())})
    with pytest.raises(InvalidRequestError, match=r"\bn\b.*NOT NULL"):
        sink.write(nothing, 0)
    table.alter().drop_not_null("n").commit()
    sink.write(nothing, 0)
    table.alter().drop_column("n").commit()
    sink.write(nothing, 1)
    assert found(table) == [{"id": 1}, {"id": 1}]


def test_batches_come_again_and_in_order(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    sink = table.sink("job")
    sink.write(ids(1), 0)
    sink.write(ids(2), 1)
    for batch, rows in ((0, ids(1)), (1, ids(2)), (1, ids(3))):
        sink.write(rows, batch)
    assert [row["id"] for row in found(table)] == [1, 2]
    table.sink("other").write(ids(3), 1)
    assert [row["id"] for row in found(table)] == [1, 2, 3]


def test_a_batch_without_rows_commits_nothing(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    sink = table.sink("job")
    assert sink.write(ids(), 0) == 0
    sink.write(ids(1), 0)
    assert [row["id"] for row in found(table)] == [1], "it may come again with rows"
    sink.write(ids(), 1, replace=True)
    assert found(table) == []


def test_a_batch_that_replaces_rows_takes_effect_once(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    sink = table.sink("job")
    sink.write(ids(1), 0, replace=True)
    table.alter().rename_column("n", "m").commit()
    sink.write(ids(1, 2), 1, replace=True)
    sink.write(ids(1), 0, replace=True)
    assert found(table) == [{"id": 1, "m": 10}, {"id": 2, "m": 20}]


def test_a_stream_into_a_keyed_table_upserts(tmp_path: Path) -> None:
    table = table_at(tmp_path, "id BIGINT NOT NULL, n INT", primary_key=["id"])
    sink = table.sink("job")
    sink.write(ids(1, 2), 0)
    table.alter().rename_column("id", "key").commit()
    rows = pa.table({"id": [2, 3], "n": pa.array([7, 8], pa.int32())})
    sink.write(rows, 1)
    rows = table.refresh().scan().to_arrow().sort_by("key").to_pylist()
    assert rows == [{"key": 1, "n": 10}, {"key": 2, "n": 7}, {"key": 3, "n": 8}]


def test_an_alter_between_the_plan_and_the_commit(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    sink, rows = table.sink("job"), ids(1)
    plan = sink.plan(rows.schema)
    records = plan.write(rows.schema, rows.to_batches())
    table.alter().rename_column("n", "m").add_column("n", "INT").commit()
    sink.commit(plan, records, 0)
    assert found(table) == [{"id": 1, "m": 10, "n": None}]


def test_rows_of_an_earlier_schema_version(tmp_path: Path) -> None:
    """A process that is started in mid-stream knows the columns of the stream's start."""
    table = table_at(tmp_path)
    table.alter().rename_column("n", "m").commit()
    table.sink("job", schema_version=0).write(ids(1), 0)
    assert found(table) == [{"id": 1, "m": 10}]


@pytest.mark.parametrize(
    "rows, says",
    [
        ({"id": pa.array([1]), "m": pa.array([1])}, "no column m"),
        ({"id": pa.array([1]), "n": pa.array([1 << 40])}, "n is INT, and BIGINT does not widen"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: Any, says: str, tmp_path: Path) -> None:
    table = table_at(tmp_path)
    with pytest.raises(InvalidRequestError, match=says):
        table.sink("job").write(pa.table(rows), 0)
    assert table.refresh().version == 0


def replaced(catalog: Catalog) -> None:
    catalog.replace_table("t", "id BIGINT, n INT")


def dropped(catalog: Catalog) -> None:
    catalog.drop_table("t")
    catalog.create_table("t", "id BIGINT, n INT")


@pytest.mark.parametrize("change", [replaced, dropped])
def test_another_table_under_the_name_is_refused(
    change: Callable[[Catalog], None], tmp_path: Path
) -> None:
    table = table_at(tmp_path)
    sink: TableSink = table.sink("job")
    sink.write(ids(1), 0)
    change(Catalog(tmp_path))
    with pytest.raises(NotFoundError):
        sink.write(ids(2), 1)
    assert found(Catalog(tmp_path).load_table("t")) == []
