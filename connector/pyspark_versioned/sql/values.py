"""Types and single values between the jar's JSON and ours."""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark.sql import types as spark

from pyspark_versioned.spark_types import from_spark
from versioned_catalog import InvalidRequestError
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.types.types import (
    NOW_FUNCTIONS,
    Array,
    Constant,
    DataType,
    Map,
    Struct,
    WriteDefault,
)
from versioned_catalog.values.literals import constant, decode


def parse_type(given: Any, path: tuple[str, ...]) -> DataType:
    """Our type for Spark's as JSON (``"integer"``, ``{"type": "struct", ...}``).

    Args:
        given: the JSON, parsed.
        path: the column, for errors.

    Raises:
        InvalidRequestError: it can't be stored.
    """
    return from_spark(spark._parse_datatype_json_string(json.dumps(given)), path)


def parse_literal(literal: dict[str, Any]) -> Any:
    """The Python value of ``{"type": ..., "value": text}``; null, and what has no type, is None."""
    if literal["value"] is None:
        return None
    return _value(literal["value"], parse_type(literal["type"], ("a literal",)))


def _value(given: Any, type_: DataType) -> Any:
    if given is None:
        return None
    match type_:
        case Struct(fields):
            return {f.name: _value(one, f.type) for f, one in zip(fields, given, strict=True)}
        case Array(element):
            return [_value(one, element.type) for one in given]
        case Map(key, value):
            return [
                (_value(k, key.type), _value(v, value.type)) for k, v in zip(*given, strict=True)
            ]
        case _:
            return decode(given, type_)


def parse_default(
    default: dict[str, Any] | None, type_: DataType, where: str
) -> WriteDefault | None:
    """A column's default: a constant, or one of the functions that the format knows by name.

    Args:
        default: ``sql``, as the user wrote it; ``changing``, the functions in it whose value is not
            the same at all times, as texts; ``one_function``, whether it is one of these and nothing
            else; ``literal``, its value, where there are none.
        type_: the column's.
        where: the table and the column, for errors.

    Raises:
        InvalidRequestError: it does not fit the type, or has another value with every write.
    """
    if default is None:
        return None
    sql = default["sql"]
    changing = [*default["changing"], *(match[0] for match in _SPECIAL.finditer(sql))]
    now = NOW_FUNCTIONS.get(changing[0]) if default["one_function"] else None
    if now is not None and now.type is type_:
        return now
    if changing:
        raise InvalidRequestError(
            f"{where}: DEFAULT {sql} of a {render_type(type_)} can't be stored, since its value is "
            f"not the same at all times ({', '.join(changing)}). A default is a constant, "
            "current_timestamp() of a TIMESTAMP or current_date() of a DATE; leave it out, and give "
            "the value in the statement that writes"
        )
    if "literal" not in default:
        raise InvalidRequestError(f"{where}: the type that DEFAULT {sql} is for is not known")
    try:
        return constant(parse_literal(default["literal"]), type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where}: {error}") from None


_SPECIAL = re.compile(
    r"\b(?:DATE|TIMESTAMP(?:_LTZ|_NTZ)?)\s*(?:'\s*|\"\s*)(?:now|today|tomorrow|yesterday)\b[^'\"]*['\"]",
    re.IGNORECASE,
)
"""Literals that Spark reads as the time of the statement."""


def read_default(default: WriteDefault | None) -> Constant | None:
    """What rows show that are there already, of a default that a new table's column is given."""
    return default if isinstance(default, Constant) else None
