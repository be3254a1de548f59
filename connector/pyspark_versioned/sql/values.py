"""Types, values and defaults that the jar sends, as those of the catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.errors import PySparkException

from pyspark_versioned.spark_types import from_spark, type_from_json
from pyspark_versioned.sql.protocol.base import SparkType, Value
from pyspark_versioned.sql.protocol.common import Default, TypedValue
from versioned_catalog import InvalidRequestError
from versioned_catalog.log.times import moment_of_micros
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.default_expressions import is_now, parse
from versioned_catalog.model.sql_literals import constant, decode, evaluated
from versioned_catalog.model.tokens import clip
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    NOW_FUNCTIONS,
    Array,
    Constant,
    DataType,
    Map,
    Struct,
    WriteDefault,
    can_have_default,
)


def parse_type(spark_type: SparkType, path: tuple[str, ...]) -> DataType:
    """Convert the Spark type of the column at `path` to a type of the catalog.

    Raises:
        InvalidRequestError: the type can't be stored.
    """
    try:
        parsed = type_from_json(spark_type)
    except PySparkException:
        raise InvalidRequestError(
            f"the column {render_path(path)} is {_unknown(spark_type)}, for which PySpark has no "
            "class, so that it can't be stored; cast it to a type that can, such as timestamp_ntz",
            condition="NOT_SUPPORTED",
        ) from None
    return from_spark(parsed, path)


def _unknown(spark_type: SparkType) -> str:
    """The part of a type that PySpark has no class for, or all of it."""
    text = json.dumps(spark_type)
    nanoseconds = re.search(r"timestamp_\w+\([0-9]\)", text)
    return clip(text) if nanoseconds is None else nanoseconds[0]


def parse_value(typed: TypedValue) -> Any:
    """The Python value of a typed value; None for null, whatever its type."""
    if typed.value is None:
        return None
    return _value(typed.value, parse_type(typed.type, ("a literal",)))


def column_in_errors(table: str, path: Sequence[str]) -> str:
    """The name of a table's column in errors."""
    return f"{table}: the column {render_path(tuple(path))}"


def _value(sent: Value, type_: DataType) -> Any:
    if sent is None:
        return None
    match type_:
        case Struct(fields):
            return {f.name: _value(item, f.type) for f, item in zip(fields, sent, strict=True)}
        case Array(element):
            return [_value(item, element.type) for item in sent]
        case Map(key, value):
            return [
                (_value(k, key.type), _value(v, value.type)) for k, v in zip(*sent, strict=True)
            ]
        case _ if not can_have_default(type_):
            raise InvalidRequestError(
                f"a value of {render_type(type_)} can't be a default or a constant; leave it out"
            )
        case _:
            return decode(sent, type_)


def parse_default(default: Default | None, type_: DataType, column: str) -> WriteDefault | None:
    """A column's default: a constant, or a function that the format knows by name.

    Raises:
        InvalidRequestError: the default does not fit the type, or its value changes with every write.
    """
    if default is None:
        return None
    sql = default.sql
    changing = [*default.changing, *(match[0] for match in _SPECIAL.finditer(sql))]
    now = NOW_FUNCTIONS.get(changing[0]) if default.one_function else None
    if now is not None and now.type is type_:
        return now
    if changing:
        return _expression(sql, type_, column, changing)
    if default.literal is None:
        raise InvalidRequestError(f"{column}: the type that DEFAULT {sql} is for is not known")
    try:
        return constant(parse_value(default.literal), type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{column}: {error}") from None


def _expression(
    sql: str, type_: DataType, column: str, changing: Sequence[str]
) -> WriteDefault | None:
    try:
        node = parse(sql)
        if is_now(node):
            raise InvalidRequestError("a CAST to the type of the column is needed")
        return evaluated(node, type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"{column}: DEFAULT {sql} of a {render_type(type_)} can't be stored, since its value is "
            f"not the same at all times ({', '.join(changing)}), and Python can't evaluate it: {error}; "
            "write another one, or leave it out, and give the value in the statement that writes"
        ) from None


_SPECIAL = re.compile(
    r"\b(?:DATE|TIMESTAMP(?:_LTZ|_NTZ)?)\s*(?:'\s*|\"\s*)(?:now|today|tomorrow|yesterday)\b[^'\"]*['\"]",
    re.IGNORECASE,
)
"""Literals that Spark replaces by the time of the statement."""


def parse_timestamp(micros: int) -> datetime:
    """The time of microseconds since 1970."""
    return moment_of_micros(micros, "the timestamp")


def read_default(default: WriteDefault | None) -> Constant | None:
    """The read default of a new column with a write default: the same, if it is a constant."""
    return default if isinstance(default, Constant) else None
