"""Partition transforms (FORMAT.md, section 4.5): their text, and the types they apply to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.calendars import format_date
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import Atom, DataType, Family, Time, family, is_compared
from versioned_catalog.model.widening import type_name


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
_INSTANTS = (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ)

_CANONICAL = re.compile(r"([a-z]+)(?:\(([0-9]{1,10})\))?")
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_ARGUMENT = "((?:`(?:[^`]|``)*`|[^`,])+)"
_ARGUMENTS = re.compile(f"{_ARGUMENT}(?:,{_ARGUMENT})?", re.DOTALL)


def render(transform: Transform) -> str:
    """The text of a transform in FORMAT.md: ``days``, ``bucket(16)``."""
    match transform:
        case Bucket(count):
            return f"bucket({count})"
        case Truncate(width):
            return f"truncate({width})"
        case Identity() | Years() | Months() | Days() | Hours():
            return type(transform).__name__.lower()


def shown_value(transform: Transform, text: str | None) -> str | None:
    """A partition value as people read it: a year, month, day or hour instead of its number.

    >>> shown_value(Days(), "20784"), shown_value(Hours(), "-1"), shown_value(Bucket(4), "3")
    ('2026-11-27', '1969-12-31-23', '3')
    """
    if text is None:
        return None
    match transform:
        case Years():
            return f"{1970 + int(text):04}"
        case Months():
            return f"{1970 + int(text) // 12:04}-{int(text) % 12 + 1:02}"
        case Days():
            return format_date(int(text))
        case Hours():
            return f"{format_date(int(text) // 24)}-{int(text) % 24:02}"
        case Identity() | Bucket() | Truncate():
            return text


def parse_transform(text: str) -> Transform:
    """The transform of a text that ``render`` wrote.

    Raises:
        InvalidRequestError: it is not a transform.
    """
    match = _CANONICAL.fullmatch(text)
    name, number = match.groups() if match else ("", None)
    if number is None and name in _PLAIN:
        return _PLAIN[name]
    if number is not None and name in _SIZED:
        return _sized(name, number)
    raise InvalidRequestError(
        f"{text[:100]!r} is not a partition transform; the transforms are identity, years, months, "
        "days, hours, bucket(n) and truncate(n)"
    )


def _sized(name: str, number: str) -> Transform:
    size = int(number)
    if not 1 <= size < 2**31:
        raise InvalidRequestError(f"{name}({number}): the number must be from 1 to {2**31 - 1}")
    return _SIZED[name](size)


def parse_partitioning(texts: Iterable[str]) -> list[tuple[ColumnPath, Transform]]:
    """Parse a partitioning as a user writes it.

    Args:
        texts: one text per field: a column path (``host``, ``identity(host)``), a unit of time
            (``days(ts)``, also ``day``), ``bucket(16, host)`` or ``truncate(4, host)`` (also with the
            number last).

    Raises:
        InvalidRequestError: a text does not parse, or a field occurs twice.
    """
    if isinstance(texts, str):
        raise InvalidRequestError(
            f"partitioning must be a list of texts, such as [{texts!r}], not a text"
        )
    fields = [_parse_field(text) for text in texts]
    for index, field in enumerate(fields):
        if field in fields[:index]:
            raise InvalidRequestError(
                f"{render_field(*field)} is twice in the partitioning; name it once"
            )
    return fields


def render_field(path: ColumnPath, transform: Transform) -> str:
    """A field of a partitioning as a user writes it: ``days(ts)``, ``bucket(16, host)``."""
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
        f"{text[:100]!r} is not a field of a partitioning; write a column, identity(c), years(c), "
        "months(c), days(c), hours(c), bucket(n, c) or truncate(n, c)"
    )


def result_type(transform: Transform, source_type: DataType) -> DataType:
    """The type of a transform's results.

    Raises:
        InvalidRequestError: the transform does not apply to ``source_type``.
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


_EXACT = (Family.INTEGER, Family.DECIMAL, Family.TEXT, Family.BINARY)


def _applies(transform: Transform, type_: DataType) -> bool:
    match transform:
        case Identity():
            return is_compared(type_) and type_.leaf.family is not Family.FLOAT
        case Years() | Months() | Days():
            return type_ is Atom.DATE or type_ in _INSTANTS
        case Hours():
            return type_ in _INSTANTS
        case Truncate():
            return family(type_) in _EXACT
        case Bucket():
            is_time = type_ is Atom.DATE or type_ in _INSTANTS or isinstance(type_, Time)
            return family(type_) in _EXACT or is_time


def _domain(transform: Transform) -> str:
    match transform:
        case Identity():
            return (
                "all types but floats, collated strings, nested ones, variant, geometry, geography and "
                "void"
            )
        case Years() | Months() | Days():
            return "date, timestamp and timestamp_ntz"
        case Hours():
            return "timestamp and timestamp_ntz"
        case Truncate():
            return "integers, decimals, strings and binary"
        case Bucket():
            return "integers, decimals, strings, binary, date, timestamp, timestamp_ntz and time"


def monotone(transform: Transform) -> bool:
    """Whether a ≤ b implies transform(a) ≤ transform(b)."""
    return not isinstance(transform, Bucket)
