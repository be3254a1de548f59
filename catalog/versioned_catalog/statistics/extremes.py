"""Minimum and maximum of Arrow values, and their value text, cut where it is long.

In between they are Python values that compare as FORMAT.md says: temporal values as the stored
integers, text as its UTF-8 bytes.
"""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import Atom, DataType, NestedType
from versioned_catalog.values.leaf_text import leaf_text

Key = bool | int | float | decimal.Decimal | bytes
"""A value of a column; all of one column compare with one another."""

LONGEST = 64
"""Code points or bytes; longer bounds are cut."""


def has_bounds(type_: DataType) -> bool:
    """Whether columns of a type have a minimum and a maximum."""
    return not isinstance(type_, NestedType) and type_.leaf.family is not Family.OPAQUE


def extremes(array: pa.Array) -> tuple[Key, Key] | None:
    """The minimum and the maximum of an array, nulls and NaNs left out; None if nothing else is there.

    The values are of a type that ``has_bounds``.
    """
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    found = pc.min_max(array)
    least = found["min"]
    if not least.is_valid:
        return None
    low, high = _key(least), _key(found["max"])
    # The minimum is NaN only if all values are.
    return (low, high) if low == low else None  # noqa: PLR0124 - NaN differs from itself


def _key(scalar: Any) -> Any:
    # The bytes of text, which may not be UTF-8.
    is_bytes = pa.types.is_string(scalar.type) or pa.types.is_binary(scalar.type)
    return scalar.as_buffer().to_pybytes() if is_bytes else scalar.as_py()


def lower_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """The value text of a lower bound, and whether it was cut; None for bytes that are not UTF-8."""
    if not isinstance(key, bytes):
        return leaf_text(key, type_), False
    if type_ is Atom.BINARY:
        return leaf_text(key[:LONGEST], type_), len(key) > LONGEST
    text = _decoded(key)
    return None if text is None else (text[:LONGEST], len(text) > LONGEST)


def upper_text(key: Key, type_: DataType) -> tuple[str, bool] | None:
    """The value text of an upper bound, and whether it was cut.

    A cut bound is raised to stay an upper one. None if it can't be raised, or for bytes that are not
    UTF-8.
    """
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
    """The text of bytes; None if they are not UTF-8, which Arrow does not check."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


def _next(character: str) -> str:
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)
