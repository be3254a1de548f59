"""User-defined types are stored as their SQL type; types that PySpark has no class for are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyspark_versioned.spark_types import plain_json, struct_from_json, type_from_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VECTOR = "struct<type:tinyint,size:int,indices:array<int>,values:array<double>>"


def test_no_class_of_a_user_defined_type_is_imported() -> None:
    """PySpark would import the module that the JSON names."""
    inner = {"type": "array", "elementType": "double", "containsNull": False}
    udt = {"type": "udt", "class": None, "pyClass": "nowhere.at.all.Point", "sqlType": inner}
    assert plain_json({"type": "array", "elementType": udt, "containsNull": True}) == {
        "type": "array",
        "elementType": inner,
        "containsNull": True,
    }
    assert type_from_json(udt).simpleString() == "array<double>"


def test_the_json_of_a_schema_can_be_parsed_again() -> None:
    field = {
        "name": "x",
        "type": "string",
        "nullable": True,
        "metadata": {"__COLLATIONS": {"x": "icu.UNICODE_CI"}},
    }
    sent = {"type": "struct", "fields": [field]}
    shown = {struct_from_json(sent).simpleString() for _ in range(2)}
    assert shown == {"struct<x:string collate UNICODE_CI>"}


@pytest.mark.nightly
def test_vectors_are_stored_as_their_sql_type(
    sql_spark: SparkSession, ns: str, tmp_path: Path
) -> None:
    from pyspark.ml.linalg import Vectors

    rows = [(1, Vectors.dense([1.0, 2.0])), (2, Vectors.sparse(3, [1], [5.0]))]
    frame = sql_spark.createDataFrame(rows, ["id", "v"]).coalesce(1)
    name, path = f"versioned.{ns}.t", str(tmp_path / "by_path")
    frame.writeTo(name).create()
    frame.createOrReplaceTempView("vectors")
    sql_spark.sql(f"INSERT INTO {name} SELECT id + 2, v FROM vectors")
    for _ in range(2):
        frame.write.format("versioned").option("io", "python").mode("append").save(path)
    by_path = sql_spark.read.format("versioned").option("io", "python").load(path)
    for found in (sql_spark.table(name), by_path):
        assert found.schema["v"].dataType.simpleString() == VECTOR
        assert found.selectExpr("sum(v.values[0])", "count(v.size)").collect()[0] == (12.0, 2)


@pytest.mark.thorough
def test_nanoseconds_are_refused_by_name(sql_spark: SparkSession, ns: str) -> None:
    """Spark 4.3 has these types, and PySpark has no class for them."""
    sql_spark.conf.set("spark.sql.timestampNanosTypes.enabled", True)
    reason = r"t: the column x is timestamp_..z\(.\), for which PySpark has no class"
    for type_ in ("TIMESTAMP_NTZ(9)", "ARRAY<TIMESTAMP_LTZ(7)>"):
        with pytest.raises(
            Exception,
            match=reason,
        ):
            sql_spark.sql(f"CREATE TABLE versioned.{ns}.t (x {type_})")
    sql_spark.conf.unset("spark.sql.timestampNanosTypes.enabled")
    with pytest.raises(Exception, match="the precision of TIME is 9; it must be from 0 to 6"):
        sql_spark.sql(f"CREATE TABLE versioned.{ns}.t (x TIME(9))")
