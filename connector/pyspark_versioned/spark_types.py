"""Spark's types as types of the catalog, and back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import types as spark

from versioned_catalog import InvalidRequestError
from versioned_catalog.model.type_text import ColumnPath, render_path, render_type
from versioned_catalog.model.types import (
    DAY_TIME_UNITS,
    UNASSIGNED,
    YEAR_MONTH_UNITS,
    Array,
    Atom,
    Char,
    Collated,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
    YearMonthInterval,
    children,
    walk,
)

_ATOMS: dict[Atom, spark.DataType] = {
    Atom.BOOLEAN: spark.BooleanType(),
    Atom.BYTE: spark.ByteType(),
    Atom.SHORT: spark.ShortType(),
    Atom.INT: spark.IntegerType(),
    Atom.LONG: spark.LongType(),
    Atom.FLOAT: spark.FloatType(),
    Atom.DOUBLE: spark.DoubleType(),
    Atom.STRING: spark.StringType(),
    Atom.BINARY: spark.BinaryType(),
    Atom.DATE: spark.DateType(),
    Atom.TIMESTAMP: spark.TimestampType(),
    Atom.TIMESTAMP_NTZ: spark.TimestampNTZType(),
    Atom.VARIANT: spark.VariantType(),
    Atom.VOID: spark.NullType(),
}
_UNITS = list(DAY_TIME_UNITS)
_MONTHS = list(YEAR_MONTH_UNITS)
_LENGTHS = "__CHAR_VARCHAR_TYPE_STRING"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FROM_SPARK = {spark_type: atom for atom, spark_type in reversed(_ATOMS.items())}


def to_spark_schema(columns: tuple[Column, ...]) -> spark.StructType:
    """The Spark schema of a table's columns. See ``to_spark`` and ``_metadata_of``."""
    return spark.StructType(
        [spark.StructField(c.name, to_spark(c.type), c.nullable, _metadata_of(c)) for c in columns]
    )


def _metadata_of(column: Column) -> dict[str, str]:
    """The metadata of a column in Spark: the comment, and the lengths of CHAR and VARCHAR, which Spark
    needs to compare a CHAR with shorter text."""
    declared = declared_type(column.type)
    if declared == to_spark(column.type):
        return _comment(column)
    return _comment(column) | {_LENGTHS: declared.simpleString()}


def _comment(column: Column) -> dict[str, str]:
    return {} if column.comment is None else {"comment": column.comment}


def _nested(column: Column, *, declared: bool) -> spark.StructField:
    type_ = to_spark(column.type, declared=declared)
    return spark.StructField(column.name, type_, column.nullable, _comment(column))


def to_spark(type_: DataType, *, declared: bool = False) -> spark.DataType:
    """The Spark type for a type of the catalog.

    Args:
        type_: the type of the catalog.
        declared: CHAR and VARCHAR as themselves; else as strings, as data sources pass them.
    """
    match type_:
        case Char(length) if declared:
            return spark.CharType(length)
        case Varchar(length) if declared:
            return spark.VarcharType(length)
        case Atom():
            return _ATOMS[type_]
        case Decimal(precision, scale):
            return spark.DecimalType(precision, scale)
        case Char() | Varchar():
            return spark.StringType()
        case Collated(collation):
            return spark.StringType(collation)
        case Time(precision):
            return spark.TimeType(precision)
        case DayTimeInterval(start, end):
            return spark.DayTimeIntervalType(_UNITS.index(start), _UNITS.index(end))
        case YearMonthInterval(start, end):
            return spark.YearMonthIntervalType(_MONTHS.index(start), _MONTHS.index(end))
        case Geometry(srid):
            return spark.GeometryType(srid)
        case Geography(srid):
            return spark.GeographyType(srid)
        case Struct(fields):
            return spark.StructType([_nested(field, declared=declared) for field in fields])
        case Array(element):
            return spark.ArrayType(to_spark(element.type, declared=declared), element.nullable)
        case Map(key, value):
            keys = to_spark(key.type, declared=declared)
            return spark.MapType(keys, to_spark(value.type, declared=declared), value.nullable)


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """The Arrow schema that Spark expects of a Python data source's batches; times are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    parameters = inspect.signature(to_arrow_schema).parameters
    # Before Spark 4.2, it is always UTC.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in parameters else {}
    try:
        return to_arrow_schema(schema, **zone)
    except PySparkTypeError:
        check_passes_python(from_spark_schema(schema))
        raise


def check_passes_python(columns: Iterable[Column], table: str = "") -> None:
    """Check that Spark can pass columns to Python and back.

    Raises:
        InvalidRequestError: it can't pass one of them.
    """
    for column, above in walk(tuple(columns)):
        if isinstance(column.type, YearMonthInterval):
            path = render_path(tuple(c.name for c in (*above, column)))
            raise InvalidRequestError(
                f"{table and f'{table}: '}the column {path} is {render_type(column.type)}, which Spark "
                "can't pass to or from Python; read and write it in SQL, with the jar and "
                "spark.versioned.io = native, in a table without a primary key, or with PyArrow",
                condition="NOT_SUPPORTED",
            )


def declared_type(type_: DataType) -> spark.DataType:
    """The Spark type of a type of a table, with CHAR and VARCHAR where Spark can declare them."""
    return to_spark(type_, declared=can_declare(type_))


def can_declare(type_: DataType) -> bool:
    """Whether Spark can declare CHAR and VARCHAR in a type: it writes nested types as text, without
    quotes around names, and parses that text again."""
    fields = children(type_) if isinstance(type_, Struct) else ()
    return all(_PLAIN.fullmatch(field.name) for field in fields) and all(
        can_declare(child.type) for child in children(type_)
    )


def struct_from_json(sent: Any) -> spark.StructType:
    """A struct of Spark's from the JSON of its schema."""
    return spark.StructType.fromJson(plain_json(sent))


def type_from_json(sent: Any) -> spark.DataType:
    """A type of Spark's from its JSON."""
    return spark._parse_datatype_json_value(plain_json(sent))


def plain_json(sent: Any) -> Any:
    """A copy of the JSON of a type, with the SQL types of user-defined ones.

    PySpark would import the class of a user-defined type, and changes the JSON of collations as it
    parses it.
    """
    match sent:
        case {"type": "udt", "sqlType": inner}:
            return plain_json(inner)
        case dict():
            return {key: plain_json(value) for key, value in sent.items()}
        case list():
            return [plain_json(item) for item in sent]
        case _:
            return sent


def from_spark_schema(schema: spark.StructType, above: ColumnPath = ()) -> tuple[Column, ...]:
    """Columns without IDs from a Spark schema.

    Raises:
        InvalidRequestError: a type that can't be stored, named with its column.
    """
    return tuple(_column(field, above) for field in schema.fields)


def _column(field: spark.StructField, above: ColumnPath) -> Column:
    path = (*above, field.name)
    comment = (field.metadata or {}).get("comment")
    type_ = from_spark(field.dataType, path)
    return Column(UNASSIGNED, field.name, type_, field.nullable, comment=comment)


def from_spark(type_: spark.DataType, path: ColumnPath) -> DataType:
    """The type of the catalog for the Spark type of the column at a path.

    Raises:
        InvalidRequestError: the type can't be stored.
    """
    match type_:
        case spark.CharType():
            return Char(type_.length)
        case spark.VarcharType():
            return Varchar(type_.length)
        case spark.StringType() if not type_.isUTF8BinaryCollation():
            return Collated(type_.collation)
        case spark.DecimalType():
            return Decimal(type_.precision, type_.scale)
        case spark.TimeType():
            return Time(type_.precision)
        case spark.DayTimeIntervalType():
            end = 3 if type_.endField is None else type_.endField
            return DayTimeInterval(_UNITS[type_.startField or 0], _UNITS[end])
        case spark.YearMonthIntervalType():
            return YearMonthInterval(_MONTHS[type_.startField], _MONTHS[type_.endField])
        case spark.GeometryType():
            return Geometry(_srid(type_.srid, path))
        case spark.GeographyType():
            return Geography(_srid(type_.srid, path))
        case spark.UserDefinedType():
            return from_spark(type_.sqlType(), path)
        case spark.StructType():
            return Struct(from_spark_schema(type_, path))
        case spark.ArrayType():
            element = from_spark(type_.elementType, (*path, "element"))
            return Array(Column(UNASSIGNED, "element", element, type_.containsNull))
        case spark.MapType():
            key = Column(
                UNASSIGNED, "key", from_spark(type_.keyType, (*path, "key")), nullable=False
            )
            value = from_spark(type_.valueType, (*path, "value"))
            return Map(key, Column(UNASSIGNED, "value", value, type_.valueContainsNull))
        case _ if type_ in _FROM_SPARK:
            return _FROM_SPARK[type_]
        case _:
            raise InvalidRequestError(
                f"the column {render_path(path)} is {type_.simpleString()}, which can't be stored; "
                "cast it to a type that can, such as string",
                condition="NOT_SUPPORTED",
            )


def _srid(srid: object, path: ColumnPath) -> int:
    if not isinstance(srid, int) or srid < 0:
        raise InvalidRequestError(
            f"the column {render_path(path)} has shapes of any reference system, which can't be "
            "stored; declare the system, as in GEOMETRY(4326)",
            condition="NOT_SUPPORTED",
        )
    return srid
