"""Types and columns as values.

Nested types hold columns, since every nested field has an ID of its own. The union is closed:
``match`` on it exhaustively.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from versioned_catalog.errors import InvalidRequestError

DAY_TIME_UNITS = ("day", "hour", "minute", "second")
"""The units of day-time intervals, largest first."""

UNASSIGNED = 0
"""The ID of a column that no table has taken in yet."""

FIRST_INTERNAL_ID = 2_147_483_000
"""IDs from here on are never given to users' columns (FORMAT.md, section 13)."""


def _check_range(what: str, number: int, least: int, most: int = 2**31 - 1) -> None:
    if not least <= number <= most:
        raise InvalidRequestError(f"{what} is {number}; it must be from {least} to {most}")


class Atom(enum.Enum):
    """Types without parameters; the value is the name in FORMAT.md."""

    BOOLEAN = "boolean"
    BYTE = "byte"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class Decimal:
    """Exact numbers of ``precision`` digits, ``scale`` of them after the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise InvalidRequestError(
                f"DECIMAL({self.precision},{self.scale}) can't be; decimals have 1 to 38 digits, and "
                "no more than that after the point"
            )


@dataclass(frozen=True, slots=True)
class Char:
    """Strings padded with spaces to ``length`` characters."""

    length: int

    def __post_init__(self) -> None:
        _check_range("the length of CHAR", self.length, 1)


@dataclass(frozen=True, slots=True)
class Varchar:
    """Strings of at most ``length`` characters."""

    length: int

    def __post_init__(self) -> None:
        _check_range("the length of VARCHAR", self.length, 1)


@dataclass(frozen=True, slots=True)
class Time:
    """Times of day in microseconds, shown with ``precision`` digits of the second."""

    precision: int

    def __post_init__(self) -> None:
        _check_range("the precision of TIME", self.precision, 0, 6)


@dataclass(frozen=True, slots=True)
class DayTimeInterval:
    """Durations in microseconds; ``start`` and ``end`` are units as Spark names them."""

    start: str = "day"
    end: str = "second"

    def __post_init__(self) -> None:
        known = self.start in DAY_TIME_UNITS and self.end in DAY_TIME_UNITS
        if not known or DAY_TIME_UNITS.index(self.start) > DAY_TIME_UNITS.index(self.end):
            raise InvalidRequestError(f"INTERVAL {self.start} TO {self.end} can't be")


@dataclass(frozen=True, slots=True)
class Geometry:
    """Planar shapes in the reference system ``srid``."""

    srid: int

    def __post_init__(self) -> None:
        _check_range("the reference system of GEOMETRY", self.srid, 0)


@dataclass(frozen=True, slots=True)
class Geography:
    """Shapes on the globe in the reference system ``srid``."""

    srid: int

    def __post_init__(self) -> None:
        _check_range("the reference system of GEOGRAPHY", self.srid, 0)


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields, in order."""

    fields: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Lists of ``element``."""

    element: Column


@dataclass(frozen=True, slots=True)
class Map:
    """Maps of ``key``, never null, to ``value``."""

    key: Column
    value: Column


DataType = (
    Atom
    | Decimal
    | Char
    | Varchar
    | Time
    | DayTimeInterval
    | Geometry
    | Geography
    | Struct
    | Array
    | Map
)


@dataclass(frozen=True, slots=True)
class Constant:
    """A typed value, kept as the JSON text of its value text (FORMAT.md, section 4.2).

    ``Constant('"999"')`` is 999 for an INT column; what it means is in ``schema.literals``.
    """

    json: str


class Now(enum.Enum):
    """Write defaults that are evaluated once a write."""

    TIMESTAMP = "current_timestamp"
    DATE = "current_date"

    @property
    def type(self) -> Atom:
        """The type of its value; a column of another type can't have it."""
        return Atom.TIMESTAMP if self is Now.TIMESTAMP else Atom.DATE


NOW_FUNCTIONS = {
    "current_timestamp": Now.TIMESTAMP,
    "now": Now.TIMESTAMP,
    "current_date": Now.DATE,
    "curdate": Now.DATE,
}
"""Spark's functions, in lower case, that are such a default."""


WriteDefault = Constant | Now


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a nested field.

    Args:
        id: the column ID, or UNASSIGNED for a column that no table has taken in.
        name: the logical name, in the case it was given.
        type: its type.
        nullable: whether nulls are allowed.
        physical_name: the name inside Parquet files; empty while the ID is unassigned.
        read_default: what rows show that were written before the column existed; None is null.
        write_default: what a writer stores that is given no value; None is null.
        comment: for people.
    """

    id: int
    name: str
    type: DataType
    nullable: bool = True
    physical_name: str = ""
    read_default: Constant | None = None
    write_default: WriteDefault | None = None
    comment: str | None = None


def children(type_: DataType) -> tuple[Column, ...]:
    """The columns directly inside a type, in the order of their IDs."""
    match type_:
        case (
            Atom()  # first: it is what most columns are
            | Decimal()
            | Char()
            | Varchar()
            | Time()
            | DayTimeInterval()
            | Geometry()
            | Geography()
        ):
            return ()
        case Struct(fields):
            return fields
        case Array(element):
            return (element,)
        case Map(key, value):
            return (key, value)


def with_children(type_: DataType, columns: tuple[Column, ...]) -> DataType:
    """The same type around other columns, as many as ``children`` gave (structs: any number)."""
    match type_:
        case Struct():
            return Struct(columns)
        case Array():
            (element,) = columns
            return Array(element)
        case Map():
            key, value = columns
            return Map(key, value)
        case (
            Atom()
            | Decimal()
            | Char()
            | Varchar()
            | Time()
            | DayTimeInterval()
            | Geometry()
            | Geography()
        ):
            return type_


def map_columns(column: Column, change: Callable[[Column], Column]) -> Column:
    """Apply ``change`` to a column and to all below it, parents first."""
    changed = change(column)
    inner = tuple(map_columns(child, change) for child in children(changed.type))
    return replace(changed, type=with_children(changed.type, inner))


def walk(
    columns: tuple[Column, ...], above: tuple[Column, ...] = ()
) -> Iterator[tuple[Column, tuple[Column, ...]]]:
    """Every column in pre-order, with its ancestors, outermost first: after those of ``above``."""
    for column in columns:
        yield column, above
        inner = children(column.type)
        if inner:
            yield from walk(inner, (*above, column))


def is_nested(type_: DataType) -> bool:
    """Whether the type has columns inside."""
    return isinstance(type_, Struct | Array | Map)


def is_opaque(type_: DataType) -> bool:
    """Whether values are groups of bytes that are neither compared nor given defaults."""
    return type_ is Atom.VARIANT or isinstance(type_, Geometry | Geography)


def is_text(type_: DataType) -> bool:
    """Whether values are strings of whatever length rule."""
    return type_ is Atom.STRING or isinstance(type_, Char | Varchar)


def is_floating(type_: DataType) -> bool:
    """Whether values may be NaN."""
    return type_ in (Atom.FLOAT, Atom.DOUBLE)


def is_repeated(ancestors: tuple[Column, ...]) -> bool:
    """Whether a column below these may have many values, or none, in one row."""
    return any(isinstance(column.type, Array | Map) for column in ancestors)
