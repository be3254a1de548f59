"""Columns matched by name: the schema of a read, checked and bound to column IDs, and that of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import types as spark

from pyspark_versioned.spark_types import from_spark, to_spark
from versioned_catalog import InvalidRequestError, NotFoundError
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Array, Column, Map, Struct, children, with_children
from versioned_catalog.read.metadata_columns import find_metadata


def project(
    wanted: spark.StructType, schema: Schema, table: str, more: tuple[Column, ...] = ()
) -> tuple[Column, ...]:
    """The columns of a Spark schema, in its order and spelling.

    Args:
        wanted: the schema, from the user or from Spark; structs may lack fields.
        more: columns beside those of the table: metadata columns for unseen parts (see
            ``unseen``), or the columns of a feed.

    Raises:
        NotFoundError: the table has no such column.
        InvalidRequestError: a column has another type, or is NOT NULL only in ``wanted``.
    """
    others = {name_key(column.name): column for column in more}

    def find(name: str) -> Column | None:
        return schema.find((name,)) or others.get(name_key(name)) or find_metadata(name)

    return tuple(_match(field, find(field.name), (field.name,), table) for field in wanted.fields)


def _match(field: spark.StructField, column: Column | None, path: ColumnPath, table: str) -> Column:
    if column is None:
        raise NotFoundError(
            f"{table} has no column {render_path(path)}, which the schema names; leave it out",
            condition="COLUMN_NOT_FOUND",
        )
    if column.nullable and not field.nullable:
        raise InvalidRequestError(
            f"{table}: the schema says that {render_path(path)} is NOT NULL, but it may be null; "
            "make it nullable in the schema"
        )
    return replace(
        _cut(field.dataType, column, path, table), name=field.name, nullable=field.nullable
    )


def _cut(wanted: spark.DataType, column: Column, path: ColumnPath, table: str) -> Column:
    match wanted, column.type:
        case spark.StructType(), Struct(fields):
            by_name = {name_key(f.name): f for f in fields}
            inner = tuple(
                _match(f, by_name.get(name_key(f.name)), (*path, f.name), table)
                for f in wanted.fields
            )
            return replace(column, type=Struct(inner))
        case spark.ArrayType(), Array(element):
            item = spark.StructField("element", wanted.elementType, wanted.containsNull)
            return replace(column, type=Array(_match(item, element, (*path, "element"), table)))
        case spark.MapType(), Map(key, value):
            keys = spark.StructField("key", wanted.keyType, nullable=False)
            values = spark.StructField("value", wanted.valueType, wanted.valueContainsNull)
            cut = _match(keys, key, (*path, "key"), table)
            return replace(column, type=Map(cut, _match(values, value, (*path, "value"), table)))
        case _ if _same(wanted, column, path):
            return column
        case _:
            raise InvalidRequestError(
                f"{table}: the schema says that {render_path(path)} is {wanted.simpleString()}, and "
                f"it is {to_spark(column.type).simpleString()}; read it as it is, and cast it"
            )


def _same(wanted: spark.DataType, column: Column, path: ColumnPath) -> bool:
    actual = to_spark(column.type)
    if isinstance(wanted, spark.CharType | spark.VarcharType):
        return from_spark(wanted, path) == column.type
    return wanted == actual


def finder(columns: tuple[Column, ...]) -> Callable[[ColumnPath], Column]:
    """A function that finds columns by path.

    It raises NotFoundError if there is no such column, and InvalidRequestError for a path through a
    list or map.
    """
    top = {name_key(column.name): column for column in reversed(columns)}

    def find(path: ColumnPath) -> Column:
        siblings: tuple[Column, ...] = ()
        column: Column | None = None
        for part in path:
            if column is not None and not isinstance(column.type, Struct):
                raise InvalidRequestError(f"{render_path(path)} is inside a list or map")
            inside = (c for c in siblings if name_key(c.name) == name_key(part))
            column = top.get(name_key(part)) if column is None else next(inside, None)
            if column is None:
                raise NotFoundError(
                    f"there is no column {render_path(path)}", condition="COLUMN_NOT_FOUND"
                )
            siblings = children(column.type)
        assert column is not None
        return column

    return find


def bound(row_columns: Sequence[Column], table_columns: Sequence[Column]) -> tuple[Column, ...]:
    """Columns with the IDs of the table's columns that they name. Each name must exist."""
    columns = []
    for column in row_columns:
        target = named(column.name, table_columns)
        inner = bound(children(column.type), children(target.type))
        columns.append(replace(column, id=target.id, type=with_children(column.type, inner)))
    return tuple(columns)


def named(name: str, columns: Sequence[Column]) -> Column:
    """The column of a name."""
    return next(column for column in columns if name_key(column.name) == name_key(name))
