"""Hidden columns: dropped, but kept for schema pins (FORMAT.md, section 4.6)."""

from __future__ import annotations

import re
from dataclasses import replace

from versioned_catalog.types.types import (
    Array,
    Column,
    Constant,
    DataType,
    Map,
    Struct,
    children,
    is_nested,
    with_children,
)
from versioned_catalog.values.value_text import ValueText, constant_of, field_key, parse_json

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
            return {field_key(one): _field(text, one) for one in fields}
        case Array(element) if isinstance(text, list):
            return [_with_hidden(one, element.type) for one in text]
        case Map(key, value) if isinstance(text, list):
            return [[_with_hidden(k, key.type), _with_hidden(v, value.type)] for k, v in text]
        case _:
            return text


def _field(text: dict[str, ValueText], field: Column) -> ValueText:
    if not field.hidden:
        return _with_hidden(text.get(field_key(field)), field.type)
    default = field.write_default
    return parse_json(default.json) if isinstance(default, Constant) else None
