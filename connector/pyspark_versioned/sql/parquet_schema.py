"""What Spark's Parquet code is told of columns: physical names, and IDs where Spark knows them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as spark

from pyspark_versioned.spark_types import to_spark
from versioned_catalog.schema.types import Array, Column, DataType, Map, Struct

FIELD_ID = "parquet.field.id"
"""The metadata of a field in which Spark looks for its ID in Parquet."""


def parquet_schema(columns: Iterable[Column]) -> spark.StructType:
    """Columns as they are in files; anything may be null, since older files lack newer fields."""
    return spark.StructType([_field(column) for column in columns])


def _field(column: Column) -> spark.StructField:
    meta = {FIELD_ID: column.id}
    return spark.StructField(column.physical_name, _type(column.type), metadata=meta)


def _type(type_: DataType) -> spark.DataType:
    match type_:
        case Struct(fields):
            return parquet_schema(fields)
        case Array(element):
            return spark.ArrayType(_type(element.type), element.nullable)
        case Map(key, value):
            return spark.MapType(_type(key.type), _type(value.type), value.nullable)
        case _:
            return to_spark(type_)
