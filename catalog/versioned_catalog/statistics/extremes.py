"""The least and the greatest of Arrow values, and the value text in which they are kept.

In between they are Python values that compare as FORMAT.md says: dates and times as integers, texts
as their UTF-8.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
)
from versioned_catalog.values.value_text import leaf_text

Key = bool | int | float | decimal.Decimal | bytes
"""A value of a column; all of one column compare with one another."""

LONGEST = 64
"""Code points or bytes; longer bounds are cut."""


def key_reader(type_: DataType) -> Callable[[pa.Scalar], Key] | None:
    """What turns an Arrow scalar of a type into a key; None where a type has no bounds."""
    match type_:
        case Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time():
            return lambda scalar: cast(int, scalar.value)
        case Atom.STRING | Char() | Varchar() | Atom.BINARY:
            return lambda scalar: cast(bytes, scalar.as_buffer().to_pybytes())
        case (
            Atom.BOOLEAN
            | Atom.BYTE
            | Atom.SHORT
            | Atom.INT
            | Atom.LONG
            | Atom.FLOAT
            | Atom.DOUBLE
            | Decimal()
            | DayTimeInterval()
        ):
            return lambda scalar: cast(Key, scalar.as_py())
        case Atom.VARIANT | Geometry() | Geography() | Struct() | Array() | Map():
            return None


def extremes(array: pa.Array, read: Callable[[pa.Scalar], Key]) -> tuple[Key, Key] | None:
    """The least and the greatest value, nulls and NaNs left out; None where there is no other."""
    if pa.types.is_duration(array.type):
        array = array.cast(pa.int64())  # there is no kernel for intervals
    found = pc.min_max(array)
    least = found["min"]
    if not least.is_valid:
        return None
    low, high = read(least), read(found["max"])
    # It gives NaN only where there is nothing else.
    return (low, high) if low == low else None  # noqa: PLR0124 - NaN differs from itself


def lower_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """A lower bound as value text, and whether it was cut; None where there is none."""
    if not isinstance(key, bytes):
        return leaf_text(key, type_), False
    if type_ is Atom.BINARY:
        return leaf_text(key[:LONGEST], type_), len(key) > LONGEST
    text = _decoded(key)
    return None if text is None else (text[:LONGEST], len(text) > LONGEST)


def upper_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """An upper bound as value text, and whether it was cut; None where there is none."""
    if not isinstance(key, bytes):
        return leaf_text(key, type_), False
    if type_ is Atom.BINARY:
        if len(key) <= LONGEST:
            return leaf_text(key, type_), False
        kept = key[:LONGEST].rstrip(b"\xff")
        above = kept[:-1] + bytes([kept[-1] + 1]) if kept else None
        return None if above is None else (leaf_text(above, type_), True)
    text = _decoded(key)
    if text is None or len(text) <= LONGEST:
        return None if text is None else (text, False)
    kept_text = text[:LONGEST].rstrip("\U0010ffff")
    return (kept_text[:-1] + _next(kept_text[-1]), True) if kept_text else None


def _decoded(key: bytes) -> str | None:
    """The text; None for bytes that are no UTF-8, which Arrow does not look at."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


def _next(character: str) -> str:
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)


def least(a: Any, b: Any) -> Any:
    """The lesser of two keys."""
    return b if b < a else a


def greatest(a: Any, b: Any) -> Any:
    """The greater of two keys."""
    return b if a < b else a
