"""Types and single values between the jar's JSON and ours."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import types as spark

from pyspark_versioned.spark_types import from_spark
from versioned_catalog.schema.literals import constant, constant_from_sql, decode
from versioned_catalog.schema.types import Constant, DataType, Now, WriteDefault, is_nested


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
    return decode(literal["value"], parse_type(literal["type"], ("a literal",)))


def parse_default(default: dict[str, Any] | None, type_: DataType) -> WriteDefault | None:
    """A column's default.

    Args:
        default: ``sql``, as the user wrote it, and ``literal``, what Spark made of it, where it did.
        type_: the column's.

    Raises:
        InvalidRequestError: it does not fit the type.
    """
    if default is None:
        return None
    now = _now(default["sql"])
    if now is not None:
        return now
    literal = default.get("literal")
    if literal is None or is_nested(type_):
        return constant_from_sql(default["sql"], type_)
    return constant(parse_literal(literal), type_)


def _now(sql: str) -> Now | None:
    word = sql.strip().lower().removesuffix("()").strip()
    return next((now for now in Now if now.value == word), None)


def read_default(default: WriteDefault | None) -> Constant | None:
    """What rows show that are there already, of a default that a new table's column is given."""
    return default if isinstance(default, Constant) else None
