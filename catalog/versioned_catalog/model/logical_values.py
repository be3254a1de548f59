"""Which values a logical type has: vectorized checks of arrays of its base type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import scalar_of
from versioned_catalog.model.logical import (
    Bitmask,
    CalendarInterval,
    Enumeration,
    Fixed,
    Float16,
    IpAddress,
    Json,
    LogicalType,
    NdArray,
    Numeric,
    Oid,
    Range,
    Unsigned,
    Uuid,
)

_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_NUMERIC = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
_MOST_DIGITS = 100_000
_MOST_DIMENSIONS = 32


def requirement(logical: LogicalType, base: pa.DataType) -> str:
    """What a value of a logical type must be, for errors.

    Args:
        base: the Arrow type of the column.
    """
    match logical:
        case Unsigned(bits):
            return f"a number from 0 to {2**bits - 1}"
        case Oid():
            return f"a number from 0 to {2**32 - 1}"
        case Enumeration(labels):
            return f"the ordinal of a label, from 1 to {len(labels)}"
        case Uuid() if pa.types.is_string(base):
            return (
                "32 hexadecimal digits in lower case, in groups of 8, 4, 4, 4 and 12 with - between"
            )
        case Uuid() | IpAddress():
            return "16 bytes"
        case Json():
            return "one JSON text"
        case Fixed(size):
            return f"{size} bytes"
        case Bitmask(bits):
            return f"{logical.size} bytes, in which bits after the first {bits} are 0"
        case Float16():
            return "a number that 16 bits hold exactly"
        case CalendarInterval():
            return "months, days and microseconds, none of them null"
        case Numeric():
            return (
                "digits without leading zeros, with a point only before digits of which the last is not "
                "0, as exact, and the nearest DOUBLE as approximate"
            )
        case Range():
            return (
                "empty and without bounds, or a lower bound below the upper one (or equal, if both are "
                "inclusive); a missing bound is not inclusive, and of integers and dates the lower one "
                "is inclusive and the upper one is not"
            )
        case NdArray():
            return (
                f"a lower bound and a length for each of at most {_MOST_DIMENSIONS} dimensions, and as "
                "many elements as the product of the lengths, which are positive (without any, none)"
            )


def unfit(logical: LogicalType, values: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values of an array of the base type are no values of a logical type; nulls are."""
    return np.asarray(_unfit(logical, values), np.bool_) & _present(values)


def is_unfit(logical: LogicalType, value: pa.Scalar) -> bool:
    """Whether a value of the base type is no value of a logical type; null is one."""
    return bool(unfit(logical, pa.array([value.as_py()], value.type))[0])


def _unfit(logical: LogicalType, values: pa.Array) -> Any:
    match logical:
        case Uuid() if pa.types.is_string(values.type):
            return ~_truths(pc.match_substring_regex(values, _UUID))
        case Uuid() | IpAddress():
            return ~_are(pc.binary_length(values), 16)
        case Fixed(size):
            return ~_are(pc.binary_length(values), size)
        case Bitmask(bits):
            return _unfit_mask(values, logical.size, bits % 8)
        case Float16():
            numbers = _numbers(values, np.float32)
            with np.errstate(over="ignore"):
                rounded = numbers.astype(np.float16).astype(np.float32)
            return (rounded != numbers) & ~np.isnan(numbers)
        case Json():
            return _each(values, _is_no_json)
        case CalendarInterval():
            return _any_null(values, ("months", "days", "microseconds"))
        case Numeric():
            return _each(values, _is_no_numeric)
        case Range():
            return _unfit_ranges(values)
        case NdArray():
            return _unfit_arrays(values)
        case Unsigned(bits):
            return _outside(values, 2**bits - 1)
        case Oid():
            return _outside(values, 2**32 - 1)
        case Enumeration(labels):
            known = np.array([False, *(label is not None for label in labels)])
            ordinals = _numbers(values, np.int64)
            return ~known[np.where((ordinals > 0) & (ordinals < len(known)), ordinals, 0)]


def _present(values: pa.Array) -> npt.NDArray[np.bool_]:
    return _truths(values.is_valid())


def _truths(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Booleans, null being false."""
    array: npt.NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return array


def _are(values: pa.Array, number: int) -> npt.NDArray[np.bool_]:
    return _truths(pc.equal(values, number))


def _numbers(values: pa.Array, kind: Any) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    return array.astype(kind, copy=False)


def _outside(values: pa.Array, greatest: int) -> npt.NDArray[np.bool_]:
    """Which numbers are below 0 or above a number that the type holds."""
    make = Decimal if pa.types.is_decimal(values.type) else int
    least, most = (scalar_of(make(number), values.type) for number in (0, greatest))
    return _truths(pc.or_(pc.less(values, least), pc.greater(values, most)))


def _each(values: pa.Array, is_unfit: Callable[[Any], bool]) -> list[bool]:
    """The check of values one by one, for which Arrow has no function."""
    return [value is not None and is_unfit(value) for value in values.to_pylist()]


def _unfit_mask(values: pa.Array, size: int, used: int) -> npt.NDArray[np.bool_]:
    unfit = ~_are(pc.binary_length(values), size)
    if used:
        last = pc.binary_slice(values, size - 1, size)
        allowed = pa.array([bytes([bits]) for bits in range(1 << used)], last.type)
        unfit |= ~_truths(pc.is_in(last, value_set=allowed))
    return unfit


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=len, parse_float=len, strict=True
)
"""Knows neither NaN nor Infinity, and converts no numbers."""


def _is_no_json(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except (ValueError, RecursionError):
        return True
    return False


def _any_null(values: pa.Array, names: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    unfit = np.zeros(len(values), np.bool_)
    for name in names:
        unfit |= ~_present(pc.struct_field(values, name))
    return unfit


def _is_no_numeric(value: dict[str, Any]) -> bool:
    exact, approximate = value["exact"], value["approximate"]
    if exact is None or len(exact) > _MOST_DIGITS or exact == "-0":
        return True
    return _NUMERIC.fullmatch(exact) is None or approximate != float(exact)


def _unfit_arrays(values: pa.Array) -> list[bool]:
    lower, lengths = (
        pc.struct_field(values, name).to_pylist() for name in ("lower_bounds", "lengths")
    )
    counts = pc.list_value_length(pc.struct_field(values, "elements")).to_pylist()
    return [_is_no_array(*parts) for parts in zip(lower, lengths, counts, strict=True)]


def _is_no_array(
    lower: list[int | None] | None, lengths: list[int | None] | None, count: int | None
) -> bool:
    if lower is None or lengths is None or count is None or len(lower) != len(lengths):
        return True
    numbers = [length for length in lengths if length is not None and length > 0]
    if None in lower or len(numbers) < len(lengths) or len(lengths) > _MOST_DIMENSIONS:
        return True
    return (_product(numbers) if numbers else 0) != count


def _product(numbers: list[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def _unfit_ranges(values: pa.Array) -> npt.NDArray[np.bool_]:
    lower, upper = (pc.struct_field(values, name) for name in ("lower", "upper"))
    names = ("lower_inclusive", "upper_inclusive", "empty")
    with_lower, with_upper, empty = (_truths(pc.struct_field(values, name)) for name in names)
    bounded_below, bounded_above = _present(lower), _present(upper)
    unfit = _any_null(values, names)
    unfit |= empty & (bounded_below | bounded_above | with_lower | with_upper)
    unfit |= (with_lower & ~bounded_below) | (with_upper & ~bounded_above)
    unfit |= _truths(pc.greater(lower, upper))
    unfit |= _truths(pc.equal(lower, upper)) & ~(with_lower & with_upper)
    if pa.types.is_integer(lower.type) or pa.types.is_date(lower.type):
        unfit |= (bounded_below & ~with_lower) | with_upper
    return unfit
