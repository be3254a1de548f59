"""Defaults as SQL that ``sql_literals`` reads back."""

from __future__ import annotations

from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types import types
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.tokens import sql_string
from versioned_catalog.types.type_text import render_type
from versioned_catalog.values.leaf_text import double_text, float32_text, leaf_text
from versioned_catalog.values.temporal import temporal
from versioned_catalog.values.value_text import decode_raw, parse_json


def to_sql(default: types.WriteDefault, type_: types.DataType) -> str:
    """The SQL of a default. Raises CorruptTableError if it is not a constant of the type."""
    if isinstance(default, types.Now):
        return f"{default.value}()"
    return _sql(decode_raw(parse_json(default.json), type_), type_)


def _sql(value: Any, type_: types.DataType, *, inside: bool = False) -> str:
    """The SQL of a value; ``inside`` another one, where Spark does not narrow what a literal is."""
    if value is None:
        return "NULL"
    match type_:
        case types.Struct(fields):
            parts = [f"{sql_string(f.name)}, {_inner_sql(value[f.name], f)}" for f in fields]
            return f"named_struct({', '.join(parts)})"
        case types.Array(element):
            return f"array({', '.join(_inner_sql(item, element) for item in value)})"
        case types.Map(key, item):
            parts = [f"{_inner_sql(k, key)}, {_inner_sql(v, item)}" for k, v in value]
            return f"map({', '.join(parts)})"
        case types.Atom.BYTE | types.Atom.SHORT if inside:
            return _leaf_sql(value, type_) + ("Y" if type_ is types.Atom.BYTE else "S")
        case types.Decimal() | types.Time() if inside:
            return f"CAST({_leaf_sql(value, type_)} AS {render_type(type_)})"
        case _:
            return _leaf_sql(value, type_)


def _inner_sql(value: Any, column: types.Column) -> str:
    """The SQL of a value inside another one."""
    text = _sql(value, column.type, inside=True)
    if column.nullable or not text.startswith(("float(", "double(")):
        return text
    # To Spark, the result of such a cast may be null, which a NOT NULL field does not take.
    return f"coalesce({text}, {'0F' if text.startswith('float') else '0D'})"


def _leaf_sql(value: Any, type_: types.LeafType) -> str:
    match type_.leaf.family:
        case Family.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Family.INTEGER | Family.DECIMAL:
            return leaf_text(value, type_)
        case Family.FLOAT if type_ is types.Atom.FLOAT:
            return _float_sql(float32_text(value), "F")
        case Family.FLOAT:
            return _float_sql(double_text(value), "D")
        case Family.TEXT:
            return sql_string(value)
        case Family.BINARY:
            return f"X'{value.hex().upper()}'"
        case Family.TEMPORAL:
            return temporal(type_).to_sql(value)
        case Family.OPAQUE:
            raise InvalidRequestError(f"{render_type(type_)} columns have no constants")


def _float_sql(text: str, suffix: str) -> str:
    # Spark rejects the largest float as out of range when it has the suffix.
    if text[-1].isdigit() and "e+" not in text:
        return f"{text}{suffix}"
    return f"{'float' if suffix == 'F' else 'double'}('{text}')"
