"""Partition transforms: how they are written, what they apply to, what they compute.

FORMAT.md, section 4.5, says what each one means. Values are computed a whole array at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.murmur import hash_longs, hash_slices
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path
from versioned_catalog.types.types import (
    Atom,
    DataType,
    Decimal,
    Time,
    is_floating,
    is_nested,
    is_opaque,
    is_text,
)
from versioned_catalog.types.widening import type_name


@dataclass(frozen=True, slots=True)
class Identity:
    """The value itself."""


@dataclass(frozen=True, slots=True)
class Years:
    """Years since 1970."""


@dataclass(frozen=True, slots=True)
class Months:
    """Months since January 1970."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days since 1970-01-01."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours since 1970-01-01 00:00."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The value's hash, modulo ``count``."""

    count: int


@dataclass(frozen=True, slots=True)
class Truncate:
    """Numbers floored to a multiple of ``width``; the first ``width`` characters or bytes."""

    width: int


Transform = Identity | Years | Months | Days | Hours | Bucket | Truncate

_PLAIN: dict[str, Transform] = {
    "identity": Identity(),
    "years": Years(),
    "months": Months(),
    "days": Days(),
    "hours": Hours(),
}
_SIZED: dict[str, type[Bucket] | type[Truncate]] = {"bucket": Bucket, "truncate": Truncate}
_INTEGERS = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG)
_INSTANTS = (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)

_CANONICAL = re.compile(r"([a-z]+)(?:\(([0-9]{1,10})\))?")
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_ARGUMENT = "((?:`(?:[^`]|``)*`|[^`,])+)"
_ARGUMENTS = re.compile(f"{_ARGUMENT}(?:,{_ARGUMENT})?", re.DOTALL)


def render(transform: Transform) -> str:
    """The text of a transform as FORMAT.md writes it: ``days``, ``bucket(16)``."""
    match transform:
        case Bucket(count):
            return f"bucket({count})"
        case Truncate(width):
            return f"truncate({width})"
        case Identity() | Years() | Months() | Days() | Hours():
            return type(transform).__name__.lower()


def parse_transform(text: str) -> Transform:
    """The transform that ``render`` wrote.

    Raises:
        InvalidRequestError: it is none.
    """
    match = _CANONICAL.fullmatch(text)
    name, number = match.groups() if match else ("", None)
    if number is None and name in _PLAIN:
        return _PLAIN[name]
    if number is not None and name in _SIZED:
        return _sized(name, number)
    raise InvalidRequestError(
        f"{text[:100]!r} is no partition transform; there are identity, years, months, days, "
        "hours, bucket(n) and truncate(n)"
    )


def _sized(name: str, number: str) -> Transform:
    size = int(number)
    if not 1 <= size < 2**31:
        raise InvalidRequestError(f"{name}({number}): the number must be from 1 to {2**31 - 1}")
    return _SIZED[name](size)


def parse_partitioning(texts: Iterable[str]) -> list[tuple[ColumnPath, Transform]]:
    """What a table is partitioned by, from the texts of a user.

    Args:
        texts: each a column path (``host``, ``identity(host)``), a part of time (``days(ts)``, also
            ``day``), ``bucket(16, host)`` or ``truncate(4, host)`` (also the number last).

    Raises:
        InvalidRequestError: one does not parse, or is there twice.
    """
    if isinstance(texts, str):
        raise InvalidRequestError(f"partitioning is a list of texts, such as [{texts!r}]")
    found = [_parse_field(text) for text in texts]
    for index, field in enumerate(found):
        if field in found[:index]:
            raise InvalidRequestError(f"{render_field(*field)} is twice in the partitioning")
    return found


def render_field(path: ColumnPath, transform: Transform) -> str:
    """One part of a partitioning as a user writes it: ``days(ts)``, ``bucket(16, host)``."""
    match transform:
        case Identity():
            return render_path(path)
        case Bucket(size) | Truncate(size):
            return f"{type(transform).__name__.lower()}({size}, {render_path(path)})"
        case Years() | Months() | Days() | Hours():
            return f"{render(transform)}({render_path(path)})"


def _parse_field(text: str) -> tuple[ColumnPath, Transform]:
    call = _CALL.fullmatch(text)
    if call is None:
        return parse_path(text.strip()), Identity()
    name = call[1].lower()
    split = _ARGUMENTS.fullmatch(call[2])
    arguments = [part.strip() for part in split.groups() if part] if split else []
    numbers = [argument for argument in arguments if re.fullmatch("[0-9]{1,10}", argument)]
    paths = [argument for argument in arguments if argument not in numbers]
    plural = name if name in _PLAIN else f"{name}s"
    if plural in _PLAIN and not numbers and len(paths) == 1:
        return parse_path(paths[0]), _PLAIN[plural]
    if name in _SIZED and len(numbers) == len(paths) == 1:
        return parse_path(paths[0]), _sized(name, numbers[0])
    raise InvalidRequestError(
        f"{text[:100]!r} is nothing to partition by; write a column, identity(c), years(c), "
        "months(c), days(c), hours(c), bucket(n, c) or truncate(n, c)"
    )


def result_type(transform: Transform, source_type: DataType) -> DataType:
    """The type of what the transform computes from values of ``source_type``.

    Raises:
        InvalidRequestError: it does not apply to that type.
    """
    if not _applies(transform, source_type):
        raise InvalidRequestError(
            f"{render(transform)} does not apply to {type_name(source_type)}; "
            f"it applies to {_domain(transform)}"
        )
    match transform:
        case Identity() | Truncate():
            return source_type
        case Years() | Months() | Days() | Hours() | Bucket():
            return Atom.INT


def _applies(transform: Transform, type_: DataType) -> bool:
    exact = type_ in _INTEGERS or isinstance(type_, Decimal)
    text = is_text(type_) or type_ is Atom.BINARY
    match transform:
        case Identity():
            return not (is_nested(type_) or is_opaque(type_) or is_floating(type_))
        case Years() | Months() | Days():
            return type_ is Atom.DATE or type_ in _INSTANTS
        case Hours():
            return type_ in _INSTANTS
        case Truncate():
            return exact or text
        case Bucket():
            moment = type_ is Atom.DATE or type_ in _INSTANTS or isinstance(type_, Time)
            return exact or text or moment


def _domain(transform: Transform) -> str:
    match transform:
        case Identity():
            return "all types but floats, nested ones, variant, geometry and geography"
        case Years() | Months() | Days():
            return "date, timestamp and timestamp_ntz"
        case Hours():
            return "timestamp and timestamp_ntz"
        case Truncate():
            return "integers, decimals, strings and binary"
        case Bucket():
            return "integers, decimals, strings, binary, date, timestamp, timestamp_ntz and time"


def monotone(transform: Transform) -> bool:
    """Whether a ≤ b gives transform(a) ≤ transform(b), so that ranges of values can be pruned."""
    return not isinstance(transform, Bucket)


def apply(
    transform: Transform, source_type: DataType, array: pa.Array | pa.ChunkedArray
) -> pa.Array:
    """What the transform computes from each value; null from null.

    Args:
        transform: the transform.
        source_type: the type of the values, in which they are taken: 5 and 5.0 hash apart.
        array: the values; made ``to_arrow_type(source_type)`` if they are not yet.

    Returns:
        As many values of ``to_arrow_type(result_type(transform, source_type))``.

    Raises:
        InvalidRequestError: the transform does not apply to the type, or a result is out of range.
    """
    result = to_arrow_type(result_type(transform, source_type))
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    if len(chunks) != 1:
        parts = [apply(transform, source_type, chunk) for chunk in chunks]
        return pa.concat_arrays(parts) if parts else pa.array([], result)
    (values,) = chunks
    wanted = to_arrow_type(source_type)
    if values.type != wanted:
        values = values.cast(wanted)
    return _compute(transform, source_type, values)


def _compute(transform: Transform, source_type: DataType, array: pa.Array) -> pa.Array:
    match transform:
        case Identity():
            return array
        case Years():
            return _calendar(array, "Y")
        case Months():
            return _calendar(array, "M")
        case Days():
            return _ints(_days(array), array)
        case Hours():
            return _hours(array)
        case Bucket(count):
            hashes = _hash(source_type, array) & np.uint32(0x7FFFFFFF)
            return _ints(hashes % np.uint32(count), array)
        case Truncate(width):
            return _truncate(source_type, array, width)


def _ints(values: npt.NDArray[Any], like: pa.Array) -> pa.Array:
    """Values as Arrow's int32, null where ``like`` is."""
    return _with_nulls(pa.array(values.astype(np.int32)), like)


def _with_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    if like.null_count == 0:
        return values
    return pc.if_else(like.is_valid(), values, pa.scalar(None, values.type))


def _longs(array: pa.Array) -> npt.NDArray[np.int64]:
    """The values as integers of 64 bits, whatever they stand for; 0 for null."""
    width = array.type.bit_width
    numbers = array.view(pa.int32() if width == 32 else pa.int64()) if width >= 32 else array
    values: npt.NDArray[Any] = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    return values.astype(np.int64)


def _days(array: pa.Array) -> npt.NDArray[np.int64]:
    values = _longs(array)
    # numpy's // floors, also below zero.
    return values if pa.types.is_date32(array.type) else values // 86_400_000_000


def _calendar(array: pa.Array, unit: str) -> pa.Array:
    # Arrow's own year() wraps beyond the year 32767, numpy's calendar does not.
    return _ints(
        _days(array).astype("datetime64[D]").astype(f"datetime64[{unit}]").view(np.int64), array
    )


def _hours(array: pa.Array) -> pa.Array:
    hours = _longs(array) // 3_600_000_000
    if len(hours) and (hours.min() < -(2**31) or hours.max() >= 2**31):
        raise InvalidRequestError(
            "a timestamp is more than 2^31 hours from 1970, which hours() can't tell; "
            "partition by days() instead, or keep such timestamps out"
        )
    return _ints(hours, array)


def _hash(source_type: DataType, array: pa.Array) -> npt.NDArray[np.uint32]:
    if isinstance(source_type, Decimal):
        return _hash_decimals(array)
    if is_text(source_type) or source_type is Atom.BINARY:
        return _hash_bytes(array)
    return hash_longs(_longs(array))


def _hash_bytes(array: pa.Array) -> npt.NDArray[np.uint32]:
    offsets, data = _var_buffers(array)
    starts = offsets[:-1].astype(np.int64)
    return hash_slices(data, starts, np.diff(offsets).astype(np.int64))


def _var_buffers(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The offsets (one more than values) and the bytes of an array of strings or binaries."""
    _, raw, data = array.buffers()
    if raw is None or raw.size == 0:  # Arrow allows that where there are no values
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    offsets = np.frombuffer(raw, np.int32, len(array) + 1, array.offset * 4)
    return offsets, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _limbs(array: pa.Array) -> npt.NDArray[np.uint64]:
    """The unscaled values, two's complement, as a low and a high half each; 0 for null."""
    raw = array.buffers()[1]
    if raw is None or not len(array):
        return np.zeros((0, 2), np.uint64)
    halves = np.frombuffer(raw, "<u8", len(array) * 2, array.offset * 16).reshape(-1, 2).copy()
    if array.null_count:
        halves[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return halves


def _hash_decimals(array: pa.Array) -> npt.NDArray[np.uint32]:
    # Little-endian halves, reversed as bytes, are the whole number big-endian.
    digits = np.ascontiguousarray(_limbs(array).view(np.uint8).reshape(-1, 16)[:, ::-1])
    negative = digits[:, :1] >> 7
    filler = digits == negative * np.uint8(0xFF)
    # A leading byte says nothing if it and the first bit after it only repeat the sign.
    idle = filler[:, :-1] & ((digits[:, 1:] >> 7) == negative)
    skipped = np.logical_and.accumulate(idle, axis=1).sum(axis=1)
    starts = np.arange(len(digits)) * 16 + skipped
    return hash_slices(digits.reshape(-1), starts, 16 - skipped)


def _truncate(source_type: DataType, array: pa.Array, width: int) -> pa.Array:
    if isinstance(source_type, Decimal):
        return _truncate_decimals(array, width, source_type.precision)
    if is_text(source_type):
        return pc.utf8_slice_codeunits(array, 0, width)
    if source_type is Atom.BINARY:
        return pc.binary_slice(array, 0, width)
    return _truncate_integers(array, width)


def _truncate_integers(array: pa.Array, width: int) -> pa.Array:
    values = _longs(array)
    excess = values % width
    # The lowest multiple may lie below the type: the type's own least value then stands for it,
    # which keeps the order and no two multiples alike.
    least = -(2 ** (array.type.bit_width - 1))
    floored = np.where(values < least + excess, least, values - excess)
    return _with_nulls(pa.array(floored.astype(array.type.to_pandas_dtype())), array)


def _truncate_decimals(array: pa.Array, width: int, precision: int) -> pa.Array:
    halves = _limbs(array)
    low, high = halves[:, 0], halves[:, 1].view(np.int64)
    excess = _modulo(halves, width)
    high = high - (low < excess)
    low = low - excess
    # As for integers: -999 stands for -1000 where there are three digits.
    least_high, least_low = divmod(-(10**precision - 1), 2**64)
    below = (high < least_high) | ((high == least_high) & (low < np.uint64(least_low)))
    floored = np.empty((len(halves), 2), np.uint64)
    floored[:, 0] = np.where(below, np.uint64(least_low), low)
    floored[:, 1] = np.where(below, np.int64(least_high), high).view(np.uint64)
    result = pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(floored)])
    return _with_nulls(result, array)


def _modulo(halves: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint64]:
    """The unscaled values modulo a width below 2^31, never negative."""
    rest = np.zeros(len(halves), np.uint64)
    for half in (halves[:, 1], halves[:, 0]):
        for limb in (half >> np.uint64(32), half & np.uint64(0xFFFFFFFF)):
            rest = ((rest << np.uint64(32)) | limb) % np.uint64(width)
    # Read as unsigned, a negative value is 2^128 too large.
    surplus = np.where(halves[:, 1] >> np.uint64(63), 2**128 % width, 0).astype(np.uint64)
    return (rest + np.uint64(width) - surplus) % np.uint64(width)
