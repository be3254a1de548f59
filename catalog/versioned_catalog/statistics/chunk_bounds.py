"""The bounds of Parquet column chunks as Arrow arrays."""

from __future__ import annotations

import decimal
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog.storage.footer import Chunk
from versioned_catalog.types.arrow_values import array_of

_FORMATS = {0: "<?", 1: "<i", 2: "<q", 4: "<f", 5: "<d"}
"""By physical type, of BOOLEAN, INT32, INT64, FLOAT and DOUBLE."""

_BYTES = {6, 7}
"""The physical types BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY."""


def chunk_bounds(
    chunks: Sequence[Chunk], held: pa.DataType, type_: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    """The lower and the upper bounds of chunks; all null if one is not a value of the type.

    Args:
        chunks: of one column.
        held: the type of the column in the file.
        type_: the type that it was written in.
    """
    try:
        lows = [_value(chunk.min, chunk.physical_type, held, type_) for chunk in chunks]
        highs = [_value(chunk.max, chunk.physical_type, held, type_) for chunk in chunks]
        return array_of(lows, type_), array_of(highs, type_)
    except (struct.error, TypeError, ValueError, ArithmeticError, AttributeError):
        unknown = pa.nulls(len(chunks), type_)
        return unknown, unknown


def _value(raw: bytes | None, physical: int, held: pa.DataType, type_: pa.DataType) -> Any:
    """A bound as ``array_of`` takes it.

    Raises:
        ValueError, struct.error: it is not a value of the type.
    """
    if raw is None:
        return None
    if _is_time(type_) and held != type_:
        raise ValueError("the unit or the time zone is another one")
    if physical in _FORMATS:
        (value,) = struct.unpack(_FORMATS[physical], raw)
        return decimal.Decimal(value) if pa.types.is_decimal(type_) else value
    if physical not in _BYTES:
        raise ValueError("values of this physical type have no order")
    if pa.types.is_decimal(type_):
        return decimal.Decimal(int.from_bytes(raw, "big", signed=True))
    return raw.decode() if pa.types.is_string(type_) else raw


def _is_time(type_: pa.DataType) -> bool:
    """Whether values are integers whose meaning depends on the unit in the file."""
    return bool(pa.types.is_timestamp(type_) or pa.types.is_time(type_))
