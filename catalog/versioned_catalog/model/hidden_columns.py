"""Columns that are hidden, and types that a key may have."""

from __future__ import annotations

import re
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    Constant,
    DataType,
    Map,
    Struct,
    children,
    is_compared,
    is_floating,
    is_nested,
    with_children,
)
from versioned_catalog.model.value_text import ValueText, constant_of, field_key, parse_json
from versioned_catalog.model.widening import type_name

TIMES = (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.DATE)
"""The types of time indexes."""


def check_key_type(column: Column) -> None:
    """Check that a column can be in a row key.

    Raises:
        InvalidRequestError: it is nullable, or its type is nested, opaque or floating-point.
    """
    name = render_path((column.name,))
    if column.nullable:
        raise InvalidRequestError(f"the column {name} is in the row key, so it must be NOT NULL")
    if not is_compared(column.type) or is_floating(column.type):
        raise InvalidRequestError(
            f"the column {name} can't be in the row key as {type_name(column.type)}; use "
            "whole numbers, decimals, text, binary, dates or times, but not DOUBLE or FLOAT"
        )


def check_time_index_type(column: Column) -> None:
    """Check that a column can be a time index.

    Raises:
        InvalidRequestError: it has another type.
    """
    if column.type not in TIMES:
        raise InvalidRequestError(
            f"the time index {render_path((column.name,))} is {type_name(column.type)}; it must be "
            "TIMESTAMP, TIMESTAMP_NTZ or DATE"
        )


_PREFIX = "__hidden_"


def hidden_name(column_id: int) -> str:
    """The name of a hidden column."""
    return f"{_PREFIX}{column_id}"


def is_hidden_name(name: str) -> bool:
    """Whether a name is reserved for hidden columns."""
    return re.fullmatch(f"{_PREFIX}[0-9]+", name, re.IGNORECASE) is not None


def visible(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns that are not hidden, each without hidden columns inside."""
    return tuple(
        replace(column, type=with_children(column.type, visible(children(column.type))))
        if is_nested(column.type)
        else column
        for column in columns
        if not column.hidden
    )


def with_hidden_defaults(constant: Constant, type_: DataType) -> Constant:
    """A constant of the visible part of a type, with the write defaults of hidden fields."""
    text = _with_hidden(parse_json(constant.json), type_)
    return constant if text is None else constant_of(text)


def _with_hidden(text: ValueText, type_: DataType) -> ValueText:
    match type_:
        case Struct(fields) if isinstance(text, dict):
            return {field_key(field): _field(text, field) for field in fields}
        case Array(element) if isinstance(text, list):
            return [_with_hidden(item, element.type) for item in text]
        case Map(key, value) if isinstance(text, list):
            return [[_with_hidden(k, key.type), _with_hidden(v, value.type)] for k, v in text]
        case _:
            return text


def _field(text: dict[str, ValueText], field: Column) -> ValueText:
    if not field.hidden:
        return _with_hidden(text.get(field_key(field)), field.type)
    default = field.write_default
    return parse_json(default.json) if isinstance(default, Constant) else None
