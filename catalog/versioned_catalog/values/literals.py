"""Typed values and what they are written as; the parts stand in modules of their own."""

from versioned_catalog.values.constants import (
    constant,
    from_scalar,
    from_scalar_text,
    rekey_constant,
    to_python,
    to_scalar,
    widen,
)
from versioned_catalog.values.sql_literals import constant_from_sql, to_sql
from versioned_catalog.values.value_text import ValueText, decode, encode

__all__ = [
    "ValueText",
    "constant",
    "constant_from_sql",
    "decode",
    "encode",
    "from_scalar",
    "from_scalar_text",
    "rekey_constant",
    "to_python",
    "to_scalar",
    "to_sql",
    "widen",
]
