"""VOID: a column of nulls, until it gets a type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.model.ddl import render_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rows(table: Table) -> list[dict[str, object]]:
    found = table.refresh().scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def test_nulls_stay_null_when_the_column_gets_a_type(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, x VOID")
    table.append(pa.table({"id": [1, 2], "x": pa.nulls(2)}))
    table.append(pa.table({"id": [3]}))
    table.alter().change_type("x", "DECIMAL(5,2)").commit()
    table.append(pa.table({"id": [4], "x": pa.array([7], pa.decimal128(5, 2))}))
    assert [(row["id"], row["x"]) for row in rows(table)] == [
        (1, None),
        (2, None),
        (3, None),
        (4, 7),
    ]
    assert table.refresh().scan(filters=[("x", ">", 1)]).count() == 1
    table.refresh().maintenance.compact(strategy="full")
    assert [row["x"] for row in rows(table)] == [None, None, None, 7]


def test_a_void_column_is_stored_as_nulls_and_needs_a_feature(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, x VOID")
    table.append(pa.table({"id": [1]}))
    entry = json.loads((tmp_path / "t/_versioned/log" / f"{0:020d}.json").read_text())
    assert entry["features"] == {"read": ["void"], "write": ["checksums", "void"]}
    assert entry["schema"]["columns"][1]["type"] == "void"
    (segment,) = (tmp_path / "t/data").iterdir()
    stored = pq.ParquetFile(segment).schema.column(1)
    assert (stored.physical_type, str(stored.logical_type)) == ("INT32", "Null")


def test_nested_void_fields_get_types_one_by_one(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id INT, s STRUCT<a: INT, v: VOID>, l ARRAY<VOID>, o STRUCT<v: VOID>"
    )
    before = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "s": pa.array(
                [{"a": 5, "v": None}, None], pa.struct([("a", pa.int32()), ("v", pa.null())])
            ),
            "l": pa.array([[None, None], None], pa.list_(pa.null())),
            "o": pa.array([{"v": None}, None], pa.struct([("v", pa.null())])),
        }
    )
    table.append(before)
    assert rows(table) == before.to_pylist()
    table.alter().change_type("s.v", "STRING").commit()
    table.alter().change_type("l.element", "BIGINT").commit()
    table.alter().change_type("o.v", "DATE").commit()
    assert rows(table) == before.to_pylist()
    assert table.scan(["o"]).to_arrow().to_pylist() == [{"o": {"v": None}}, {"o": None}]


def test_a_value_is_refused_until_the_column_has_a_type(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, x VOID")
    with pytest.raises(
        InvalidRequestError,
        match="the column x is VOID, and INT does not",
    ):
        table.append(pa.table({"x": pa.array([1], pa.int32())}))
    for change in (
        table.alter().set_default("x", 1),
        table.alter().change_type("id", "VOID"),
        table.alter().change_type("x", "ARRAY<INT>"),
    ):
        with pytest.raises(InvalidRequestError):
            change.commit()


def test_a_live_table_gives_the_column_the_type_of_its_first_value(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id BIGINT, x VOID", properties={"schema_mode": "live"}
    )
    table.append(pa.table({"id": [1], "x": pa.nulls(1)}))
    assert render_type(table.refresh().schema.get(("x",)).type) == "VOID"
    table.append(pa.table({"id": [2], "x": ["a"]}))
    assert render_type(table.refresh().schema.get(("x",)).type) == "STRING"
    assert [row["x"] for row in rows(table)] == [None, "a"]


def test_a_pinned_reader_of_the_void_column_sees_nulls_and_no_other_value(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, x VOID")
    table.append(pa.table({"id": [1]}))
    table.pin_schema("job")
    table.refresh().alter().change_type("x", "INT").commit()
    assert rows(table.seen_as("job")) == [{"id": 1, "x": None}]
    table.refresh().append(pa.table({"id": [2], "x": pa.array([3], pa.int32())}))
    with pytest.raises(InvalidRequestError, match="do not fit VOID"):
        table.refresh().seen_as("job").scan().to_arrow()
    shown = table.refresh().seen_as("job", overflow="null").scan().to_arrow()
    assert sorted(shown["id"].to_pylist()) == [1, 2]
    assert shown["x"].null_count == 2


@pytest.mark.thorough
def test_ctas_of_null_makes_a_column_that_gets_a_type_later(
    sql_spark: SparkSession, ns: str
) -> None:
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} AS SELECT 1 AS id, NULL AS x, array() AS l")
    assert sql_spark.table(name).schema.simpleString() == "struct<id:int,x:void,l:array<void>>"
    sql_spark.sql(f"ALTER TABLE {name} ALTER COLUMN x TYPE INT")
    sql_spark.sql(f"INSERT INTO {name} VALUES (2, 7, array())")
    sql_spark.sql(f"UPDATE {name} SET x = 8 WHERE id = 1")
    found = sql_spark.sql(f"SELECT id, x, size(l) FROM {name} ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, 8, 0), (2, 7, 0)]


NEVER_NULL = {
    "x VOID NOT NULL": "the column x can't be VOID, which holds nulls only, since it is NOT NULL",
    "x STRUCT<v: VOID NOT NULL, a: INT>": "the column x.v can't be VOID",
    "x MAP<VOID, INT>": "the column x.key can't be VOID.*keys of maps are not null; CAST",
    "x ARRAY<MAP<STRUCT<v: VOID NOT NULL>, INT>>": "the column x.element.key.v can't be VOID",
}


@pytest.mark.parametrize("ddl", NEVER_NULL)
def test_a_void_column_that_is_never_null_is_refused(tmp_path: Path, ddl: str) -> None:
    """Arrow has no such field, so such a table could not be read."""
    catalog = Catalog(tmp_path)
    with pytest.raises(InvalidRequestError, match=f"table: {NEVER_NULL[ddl]}"):
        catalog.create_table("table", ddl)
    table = catalog.create_table("table", "id BIGINT, v VOID, s STRUCT<v: VOID, a: INT>")
    for path in ("v", "s.v"):
        with pytest.raises(InvalidRequestError, match=f"the column {path} can't be VOID"):
            table.alter().set_not_null(path).commit()
    table.append(pa.table({"id": [1]}))
    assert rows(table) == [{"id": 1, "v": None, "s": None}]
