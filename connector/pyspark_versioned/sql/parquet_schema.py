"""Schemas for Spark's Parquet code: physical names, and column IDs where Spark supports them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import types as spark

from pyspark_versioned.spark_types import to_spark
from versioned_catalog.model.types import Array, Column, DataType, Map, Struct

FIELD_ID = "parquet.field.id"
"""The metadata key of a field in which Spark finds its ID in Parquet."""


def read_schema(columns: Iterable[Column], *, by_name: bool = False) -> spark.StructType:
    """The schema for reading files; all fields are nullable, since older files lack newer ones.

    Without IDs if columns are found ``by_name``: the IDs in foreign files are not the table's.
    """
    schema = _struct(columns, loose=True)
    return _without_ids(schema) if by_name else schema


def _without_ids(type_: Any) -> Any:
    match type_:
        case spark.StructType():
            return spark.StructType(
                [
                    spark.StructField(field.name, _without_ids(field.dataType), field.nullable)
                    for field in type_.fields
                ]
            )
        case spark.ArrayType():
            return spark.ArrayType(_without_ids(type_.elementType), type_.containsNull)
        case spark.MapType():
            key, value = _without_ids(type_.keyType), _without_ids(type_.valueType)
            return spark.MapType(key, value, type_.valueContainsNull)
        case _:
            return type_


def write_schema(columns: Iterable[Column]) -> spark.StructType:
    """The schema for writing files."""
    return _struct(columns, loose=False)


def _struct(columns: Iterable[Column], *, loose: bool) -> spark.StructType:
    return spark.StructType(
        [
            spark.StructField(
                column.physical_name,
                _type(column.type, loose=loose),
                loose or column.nullable,
                {FIELD_ID: column.id},
            )
            for column in columns
        ]
    )


def _type(type_: DataType, *, loose: bool) -> spark.DataType:
    match type_:
        case Struct(fields):
            return _struct(fields, loose=loose)
        case Array(element):
            return spark.ArrayType(_type(element.type, loose=loose), loose or element.nullable)
        case Map(key, value):
            keys, values = _type(key.type, loose=loose), _type(value.type, loose=loose)
            return spark.MapType(keys, values, loose or value.nullable)
        case _:
            return to_spark(type_)


def field_ids(columns: Iterable[Column], above: str = "") -> dict[str, int]:
    """Column IDs by the dotted path of each node in Spark's Parquet files."""
    ids: dict[str, int] = {}
    for column in columns:
        path = above + column.physical_name
        ids[path] = column.id
        match column.type:
            case Struct(fields):
                ids |= field_ids(fields, f"{path}.")
            case Array(element):
                ids |= field_ids((element,), f"{path}.list.")
            case Map(key, value):
                ids |= field_ids((key, value), f"{path}.key_value.")
            case _:
                pass
    return ids
