"""Logical types: what the values of a column mean beyond its type (FORMAT.md, section 4.12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.type_text import has_control_characters

_MOST_BYTES = 1_000_000
_MOST_LABELS = 10_000
_LONGEST_LABEL = 255


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Numbers from 0 to 2^bits - 1, of 8, 16, 32 or 64 bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class Oid:
    """Object identifiers as in PostgreSQL: numbers from 0 to 2^32 - 1."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of some labels, in the order in which they are declared.

    Args:
        labels: the label of each ordinal from 1 on; None if it is not in use any more.
    """

    labels: tuple[str | None, ...]

    def __post_init__(self) -> None:
        labels = [label for label in self.labels if label is not None]
        if not labels or len(self.labels) > _MOST_LABELS:
            raise _invalid(f"an ENUM has 1 to {_MOST_LABELS} labels")
        if len(set(labels)) < len(labels):
            raise _invalid("an ENUM has each label once")
        for label in labels:
            if not label or len(label) > _LONGEST_LABEL or has_control_characters(label):
                raise _invalid(
                    f"a label of an ENUM has 1 to {_LONGEST_LABEL} characters, no control characters"
                )


@dataclass(frozen=True, slots=True)
class Uuid:
    """UUIDs."""


@dataclass(frozen=True, slots=True)
class Json:
    """JSON texts."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes of one length."""

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= _MOST_BYTES:
            raise _invalid(f"FIXED has 1 to {_MOST_BYTES} bytes")


@dataclass(frozen=True, slots=True)
class Bitmask:
    """A number of bits, in as many bytes as they need."""

    bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 8 * _MOST_BYTES:
            raise _invalid(f"BITMASK has 1 to {8 * _MOST_BYTES} bits")

    @property
    def size(self) -> int:
        """The number of bytes."""
        return (self.bits + 7) // 8


@dataclass(frozen=True, slots=True)
class IpAddress:
    """Addresses of IPv6, and of IPv4 mapped to these (``::ffff:192.0.2.1``), in 16 bytes."""


@dataclass(frozen=True, slots=True)
class Float16:
    """Floating-point numbers of 16 bits."""


@dataclass(frozen=True, slots=True)
class CalendarInterval:
    """Months, days and microseconds, none of which is converted to another."""


@dataclass(frozen=True, slots=True)
class Numeric:
    """Decimal numbers of any length: the nearest double, and the exact number as text."""


@dataclass(frozen=True, slots=True)
class Range:
    """What lies between two bounds, of which either may be missing."""


@dataclass(frozen=True, slots=True)
class NdArray:
    """Arrays of several dimensions, each with a lower bound: the elements in row-major order."""


LogicalType = (
    Unsigned
    | Oid
    | Enumeration
    | Uuid
    | Json
    | Fixed
    | Bitmask
    | IpAddress
    | Float16
    | CalendarInterval
    | Numeric
    | Range
    | NdArray
)
"""Every logical type."""

_PLAIN: Mapping[str, LogicalType] = {
    "UUID": Uuid(),
    "JSON": Json(),
    "UINT8": Unsigned(8),
    "UINT16": Unsigned(16),
    "UINT32": Unsigned(32),
    "UINT64": Unsigned(64),
    "OID": Oid(),
    "FLOAT16": Float16(),
    "IP": IpAddress(),
    "INTERVAL": CalendarInterval(),
    "NUMERIC": Numeric(),
    "RANGE": Range(),
    "NDARRAY": NdArray(),
}
_NAMES = {logical: name for name, logical in _PLAIN.items()}
_ALL = ("FIXED(n)", "BITMASK(n)", "ENUM('a', 'b')")


def _invalid(problem: str) -> InvalidRequestError:
    return InvalidRequestError(problem, condition="INVALID_OPTION")


def parse_logical(text: str) -> LogicalType:
    """Parse a logical type as users write it.

    >>> parse_logical("fixed(16)")
    Fixed(size=16)
    >>> parse_logical("ENUM('low', NULL, 'high')").labels
    ('low', None, 'high')

    Raises:
        InvalidRequestError: it is none.
    """
    if not isinstance(text, str):
        raise _invalid(f"a logical type must be text, got {text!r}")
    cursor = Cursor(text, "logical type")
    word = cursor.expect_word("FIXED", "BITMASK", "ENUM", *_PLAIN)
    if word in _PLAIN:
        logical = _PLAIN[word]
    else:
        cursor.expect("(")
        match word:
            case "FIXED":
                logical = Fixed(cursor.integer())
            case "BITMASK":
                logical = Bitmask(cursor.integer())
            case _:
                logical = Enumeration(tuple(_take_labels(cursor)))
        cursor.expect(")")
    cursor.expect_end()
    return logical


def _take_labels(cursor: Cursor) -> Iterator[str | None]:
    while True:
        yield None if cursor.accept_word("NULL") else _take_label(cursor)
        if not cursor.accept(","):
            return


def _take_label(cursor: Cursor) -> str:
    if cursor.token.kind is not TokenKind.STRING:
        raise cursor.error("a label in quotes was expected, or NULL")
    return cursor.string()


def render_logical(logical: LogicalType) -> str:
    """A logical type as users write it."""
    match logical:
        case Fixed(size):
            return f"FIXED({size})"
        case Bitmask(bits):
            return f"BITMASK({bits})"
        case Enumeration(labels):
            shown = ("NULL" if label is None else sql_string(label) for label in labels)
            return f"ENUM({', '.join(shown)})"
        case _:
            return _NAMES[logical]


def logical_to_json(logical: LogicalType) -> str:
    """A logical type as a property stores it."""
    members: dict[str, object]
    match logical:
        case Fixed(size):
            members = {"type": "fixed", "bytes": size}
        case Bitmask(bits):
            members = {"type": "bitmask", "bits": bits}
        case Enumeration(labels):
            members = {"type": "enum", "labels": list(labels)}
        case _:
            members = {"type": _NAMES[logical].lower()}
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


_NOT_STORED = (
    *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    InvalidRequestError,
)
"""What parsing raises if a property does not hold a logical type."""


def logical_from_json(text: str, key: str) -> LogicalType:
    """The logical type that a property stores.

    Args:
        key: the property, for the error.

    Raises:
        CorruptTableError: it stores none.
    """
    try:
        members = json.loads(text)
        match members.pop("type"):
            case "fixed":
                logical: LogicalType = Fixed(_number(members.pop("bytes")))
            case "bitmask":
                logical = Bitmask(_number(members.pop("bits")))
            case "enum":
                logical = Enumeration(tuple(map(_label, members.pop("labels"))))
            case name:
                logical = _PLAIN[name.upper()]
        if members:
            raise ValueError
        return logical
    except _NOT_STORED as error:
        raise CorruptTableError(f"the property {key[:100]} does not hold a logical type") from error


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _label(value: object) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError
    return value


def condition_of(logical: LogicalType, column: str) -> str | None:
    """What values satisfy, as the condition of a CHECK constraint; None if no condition says it.

    Args:
        column: the column, as the condition names it.
    """
    match logical:
        case Unsigned(bits):
            return _between(column, 0, 2**bits - 1)
        case Oid():
            return _between(column, 0, 2**32 - 1)
        case Enumeration(labels):
            unused = [str(at) for at, label in enumerate(labels, start=1) if label is None]
            inside = _between(column, 1, len(labels))
            return f"{inside} AND NOT ({column} IN ({', '.join(unused)}))" if unused else inside
        case _:
            return None


def _between(column: str, least: int, greatest: int) -> str:
    return f"{column} >= {least} AND {column} <= {greatest}"


def check_successor(before: LogicalType, after: LogicalType) -> None:
    """Refuse an enumeration that gives an ordinal of an earlier one to another label.

    Raises:
        InvalidRequestError: naming the label.
    """
    if not isinstance(before, Enumeration) or not isinstance(after, Enumeration):
        return
    for at, label in enumerate(before.labels):
        new = after.labels[at] if at < len(after.labels) else None
        kept = new == label or new is None
        if at < len(after.labels) and kept:
            continue
        raise InvalidRequestError(
            f"the label {at + 1} of the ENUM is {label!r}, and an ordinal is never given to another "
            f"label: declare {render_logical(before)} with more labels at its end, and NULL in the "
            "place of those that are to go",
            condition="NOT_SUPPORTED",
        )
