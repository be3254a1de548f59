"""CHAR and VARCHAR in SQL: lengths, padding and comparisons, at the top level and nested.

Needs a JVM because Spark pads, checks and compares the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import plan_of
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.ddl import render_type

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
PADDING = "spark.sql.readSideCharPadding"
LEGACY = "spark.sql.legacy.charVarcharAsString"
NESTED = (
    "k INT, s STRUCT<x: VARCHAR(5), c: CHAR(3)>, a ARRAY<VARCHAR(5)>, "
    "m MAP<VARCHAR(5), VARCHAR(5)>, l ARRAY<STRUCT<z: VARCHAR(5)>>"
)


@pytest.mark.parametrize("path", ["s.x", "s.c", "a.element", "m.key", "m.value", "l.element.z"])
def test_nested_chars_widen(tmp_path: Path, path: str) -> None:
    table = Catalog.create_path(tmp_path / "t", NESTED)
    for type_ in ("VARCHAR(10)", "STRING"):
        table.alter().change_type(path, type_).commit()
        assert render_type(table.schema.get(tuple(path.split("."))).type) == type_
    with pytest.raises(InvalidRequestError, match=r"VARCHAR|key of a map"):
        table.alter().change_type(path, "VARCHAR(10)").commit()


@pytest.mark.thorough
def test_nested_chars_widen_by_sql(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table, name = catalog.create_table(f"{ns}.t", NESTED), f"versioned.{ns}.t"
    for path in ("s.x", "a.element", "m.key", "l.element.z"):
        for type_ in ("VARCHAR(10)", "STRING"):
            sql_spark.sql(f"ALTER TABLE {name} ALTER COLUMN {path} TYPE {type_}")
            column = table.refresh().schema.get(tuple(path.split(".")))
            assert render_type(column.type) == type_
    with pytest.raises(Exception, match="INT"):
        sql_spark.sql(f"ALTER TABLE {name} ALTER COLUMN s.c TYPE INT")


@pytest.fixture
def legacy(sql_spark: SparkSession) -> Iterator[Any]:
    """A function that sets ``charVarcharAsString``; unset after the test."""
    yield lambda enabled: sql_spark.conf.set(LEGACY, enabled)
    sql_spark.conf.unset(LEGACY)


@pytest.mark.thorough
@pytest.mark.parametrize("writes", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_chars_are_padded_and_found(
    sql_spark: SparkSession, catalog: Catalog, ns: str, legacy: Any, writes: bool
) -> None:
    legacy(writes)
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} (k INT, c CHAR(3), v VARCHAR(2), s STRUCT<x: CHAR(2)>)")
    sql_spark.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, 'x', 'a', named_struct('x', 'b')), (2, 'y', 'b', NULL)"
    )
    for bad in ("'xxxx', 'a', NULL", "'x', 'abc', NULL", "'x', 'a', named_struct('x', 'abc')"):
        with pytest.raises(Exception, match=r"EXCEED_LIMIT_LENGTH|characters"):
            sql_spark.sql(f"INSERT INTO {name} VALUES (3, {bad})")
    table = catalog.load_table(f"{ns}.t")
    assert table.scan().to_arrow().to_pylist() == [
        {"k": 1, "c": "x  ", "v": "a", "s": {"x": "b "}},
        {"k": 2, "c": "y  ", "v": "b", "s": None},
    ]
    legacy(not writes)
    for condition in ("c = 'x'", "c = 'x  '", "c IN ('x', 'q')", "s.x = 'b '"):
        rows = sql_spark.sql(f"SELECT k, c FROM {name} WHERE {condition}").collect()
        assert [tuple(row) for row in rows] == [(1, "x  ")], condition
    legacy(writes)
    sql_spark.sql(f"UPDATE {name} SET k = 5 WHERE c = 'x'")
    sql_spark.sql(f"DELETE FROM {name} WHERE c = 'y'")
    assert table.refresh().scan(columns=["k", "c"]).to_arrow().to_pylist() == [{"k": 5, "c": "x  "}]


@pytest.mark.thorough
def test_frames_by_path_compare_chars_as_sql_does(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    name = f"versioned.{ns}.t"
    sql_spark.sql(
        f"CREATE TABLE {name} (k INT, c CHAR(3) COMMENT 'code', v VARCHAR(3), s STRUCT<x: CHAR(2)>)"
    )
    sql_spark.sql(f"INSERT INTO {name} VALUES (1, 'x', 'x', named_struct('x', 'b'))")
    sql_spark.sql(f"ALTER TABLE {name} ADD COLUMN w CHAR(2) DEFAULT 'w'")
    sql_spark.sql(f"INSERT INTO {name} VALUES (2, 'y', 'y ', NULL, 'z')")
    path = catalog.load_table(f"{ns}.t").location
    by_path = sql_spark.read.format("versioned").load(path)
    by_python = sql_spark.read.format("versioned").option("io", "python").load(path)
    for frame in (sql_spark.table(name), by_path, by_python):
        assert "__CHAR_VARCHAR_TYPE_STRING" not in frame.schema["k"].metadata
        assert frame.schema["c"].metadata["__CHAR_VARCHAR_TYPE_STRING"] == "char(3)"
        assert frame.schema["c"].metadata["comment"] == "code"
        assert frame.schema["v"].metadata["__CHAR_VARCHAR_TYPE_STRING"] == "varchar(3)"
        assert frame.schema["s"].metadata["__CHAR_VARCHAR_TYPE_STRING"] == "struct<x:char(2)>"
        for condition, keys in (
            ("c = 'x'", [1]),
            ("c NOT IN ('x')", [2]),
            ("c IN ('y', 'q')", [2]),
            ("v = 'y'", []),
            ("w = 'w'", [1]),
            ("w = 'z' AND c > 'x'", [2]),
        ):
            assert [row.k for row in frame.where(condition).collect()] == keys, condition
    for io in ("native", "python"):
        reader = sql_spark.read.format("versioned").option("io", io).option("versionAsOf", 0)
        empty = reader.load(path)
        assert empty.schema["c"].metadata["__CHAR_VARCHAR_TYPE_STRING"] == "char(3)"
        assert empty.collect() == []


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["copy", pytest.param("mark", marks=pytest.mark.nightly)])
def test_statements_find_the_rows_that_a_query_finds(
    sql_spark: SparkSession, ns: str, how: str
) -> None:
    """Spark pads no constant that it compares with a nested CHAR, so it equals no shorter one."""
    name = f"versioned.{ns}.t"
    sql_spark.sql(
        f"CREATE TABLE {name} (id INT, n INT, s STRUCT<c: CHAR(3), d: INT>) "
        f"TBLPROPERTIES ('row_changes' = '{how}')"
    )
    sql_spark.sql(f"INSERT INTO {name} SELECT id, 0, named_struct('c', 'a', 'd', 1) FROM range(3)")
    for condition, found in (
        ("s.c = 'a'", 0),
        ("s.c = 'a  '", 3),
        ("NOT (s.c = 'a')", 3),
        ("NOT (s.c = 'a  ')", 0),
        ("s.c <> 'a' OR id IS NULL", 3),
        ("s.c IN ('a', 'b')", 0),
        ("s.c NOT IN ('a', 'b')", 3),
        ("s.c <=> 'a'", 0),
        ("s.c > 'a'", 3),
        ("s.c <= 'a'", 0),
    ):
        query = f"SELECT count(*) FROM {name} WHERE {condition}"
        assert sql_spark.sql(query).collect() == [(found,)], condition
        sql_spark.sql(f"UPDATE {name} SET n = n + 1 WHERE {condition}")
        changed = sql_spark.sql(f"SELECT sum(n) FROM {name}").collect()
        assert changed == [(found,)], condition
        sql_spark.sql(f"UPDATE {name} SET n = 0")
    sql_spark.sql(f"DELETE FROM {name} WHERE s.c = 'a'")
    assert sql_spark.table(name).count() == 3
    sql_spark.sql(f"DELETE FROM {name} WHERE s.c <> 'a'")
    assert sql_spark.table(name).count() == 0


@pytest.mark.thorough
def test_filters_of_nested_chars_that_python_applies(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "s STRUCT<c: CHAR(3)>")
    table.append(pa.table({"s": [{"c": "a"}, {"c": "b"}]}))
    sql_spark.conf.set(PUSHDOWN, True)
    sql_spark.conf.set(PADDING, False)  # else Spark applies it, to padded texts
    try:
        for condition, found in (("s.c = 'a'", 0), ("s.c = 'a  '", 1), ("s.c IN ('a', 'b')", 0)):
            reader = sql_spark.read.format("versioned").options(io="python", pushdown="true")
            frame = reader.load(table.location).where(condition)
            assert "Filter" not in plan_of(frame).replace("RuntimeFilters", ""), "Python applies it"
            assert len(frame.collect()) == found, condition
    finally:
        sql_spark.conf.unset(PADDING)
        sql_spark.conf.unset(PUSHDOWN)
