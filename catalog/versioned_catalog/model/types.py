"""Types and columns as values, and one description of every leaf type.

Code that handles values matches on the family, and reads the rest here. The rules of a single
type, such as the padding of CHAR, stand where they are applied.

Nested types hold columns, since every nested field has an ID of its own. The unions are closed:
``match`` on them exhaustively. ``leaves`` describes the leaf types.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeGuard, get_args

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError

DAY_TIME_UNITS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}
"""The units of day-time intervals, largest first, in microseconds."""


class Family(enum.Enum):
    """Leaf types whose values are stored, compared and written as text in the same way."""

    BOOLEAN = enum.auto()
    INTEGER = enum.auto()
    FLOAT = enum.auto()
    DECIMAL = enum.auto()
    TEXT = enum.auto()
    BINARY = enum.auto()
    TEMPORAL = enum.auto()
    """Stored as an integer: days for dates, microseconds for all others."""
    OPAQUE = enum.auto()
    """Groups of bytes without comparison and defaults."""
    COLLATED = enum.auto()
    """Strings that a collation compares, which metadata does not."""
    VOID = enum.auto()
    """No values: every row holds null."""


IcebergName = Literal[
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamptz",
    "time",
]
"""The Iceberg types as which ours are published, without parameters."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf type, or all leaf types that differ in their parameters only.

    Args:
        name: the name in FORMAT.md, without parameters.
        family: how its values are stored and compared.
        noun: the noun for its values in errors.
        iceberg: the Iceberg type that stores values alike; None if there is none.
        arrow: the Arrow type; None where it depends on the parameters (see ``to_arrow_type``).
        range: the smallest and the largest stored integer; None if it is not stored as one.
        sql: the name in SQL; the upper-case ``name`` if empty.
        aliases: other names that SQL accepts.
        feature: the feature of tables with such a column; empty for the types of the first version.
    """

    name: str
    family: Family
    noun: str
    iceberg: IcebergName | None
    arrow: Any = None
    range: tuple[int, int] | None = None
    sql: str = ""
    aliases: tuple[str, ...] = ()
    feature: str = ""

    @property
    def sql_name(self) -> str:
        """The name in SQL, without parameters."""
        return self.sql or self.name.upper()

    @property
    def sql_names(self) -> tuple[str, ...]:
        """All names that SQL accepts."""
        return (self.sql_name, *self.aliases)


def _signed(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


# PySpark recognizes a variant in Arrow data by these names and this metadata.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_WHOLE, _TEMPORAL = "a whole number", Family.TEMPORAL
_DATE = "a date (a datetime has one by .date())"
_UTC = pa.timestamp("us", tz="UTC")
_LOCAL = ("TIMESTAMP_LTZ",)
_TIME_OF_DAY = (0, DAY_TIME_UNITS["day"] - 1)

_ALL = (
    Leaf("boolean", Family.BOOLEAN, "a boolean", "boolean", pa.bool_()),
    Leaf("byte", Family.INTEGER, _WHOLE, "int", pa.int8(), _signed(8), "TINYINT", ("BYTE",)),
    Leaf("short", Family.INTEGER, _WHOLE, "int", pa.int16(), _signed(16), "SMALLINT", ("SHORT",)),
    Leaf("int", Family.INTEGER, _WHOLE, "int", pa.int32(), _signed(32), aliases=("INTEGER",)),
    Leaf("long", Family.INTEGER, _WHOLE, "long", pa.int64(), _signed(64), "BIGINT", ("LONG",)),
    Leaf("float", Family.FLOAT, "a number", "float", pa.float32(), aliases=("REAL",)),
    Leaf("double", Family.FLOAT, "a number", "double", pa.float64()),
    Leaf("decimal", Family.DECIMAL, "a number", "decimal", aliases=("DEC", "NUMERIC")),
    Leaf("string", Family.TEXT, "a string", "string", pa.string()),
    Leaf("char", Family.TEXT, "a string", "string", pa.string(), aliases=("CHARACTER",)),
    Leaf("varchar", Family.TEXT, "a string", "string", pa.string()),
    Leaf(
        "string collate", Family.COLLATED, "a string", "string", pa.string(), feature="collations"
    ),
    Leaf("binary", Family.BINARY, "bytes (X'0A' in SQL)", "binary", pa.binary()),
    Leaf("date", _TEMPORAL, _DATE, "date", pa.date32(), _signed(32)),
    Leaf("timestamp", _TEMPORAL, "a timestamp", "timestamptz", _UTC, _signed(64), aliases=_LOCAL),
    Leaf("timestamp_ntz", _TEMPORAL, "a timestamp", "timestamp", pa.timestamp("us"), _signed(64)),
    Leaf("time", _TEMPORAL, "a time of day", "time", pa.time64("us"), _TIME_OF_DAY),
    Leaf("interval", _TEMPORAL, "an interval", "long", pa.duration("us"), _signed(64)),
    Leaf(
        *("interval of months", _TEMPORAL, "a number of months", "int", pa.int32(), _signed(32)),
        sql="INTERVAL",
        feature="year-month-intervals",
    ),
    Leaf("variant", Family.OPAQUE, "another value", None, _VARIANT),
    Leaf("geometry", Family.OPAQUE, "another value", None),
    Leaf("geography", Family.OPAQUE, "another value", None),
    Leaf("void", Family.VOID, "null", None, pa.null(), feature="void"),
)
LEAVES = {leaf.name: leaf for leaf in _ALL}
"""Every leaf type by its name in FORMAT.md."""


UNASSIGNED = 0
"""The ID of a column that no table holds yet."""

FIRST_INTERNAL_ID = 2_147_483_000
"""IDs from here on are reserved; users' columns never get them (FORMAT.md, section 13)."""


def _check_range(quantity: str, number: int, least: int, most: int = 2**31 - 1) -> None:
    if not least <= number <= most:
        raise InvalidRequestError(f"{quantity} is {number}; it must be from {least} to {most}")


class Atom(enum.Enum):
    """Leaf types without parameters; the value is the name in FORMAT.md."""

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
    VOID = "void"

    @property
    def leaf(self) -> Leaf:
        """The description of the type."""
        return LEAVES[self.value]


@dataclass(frozen=True, slots=True)
class Decimal:
    """Exact numbers of ``precision`` digits, ``scale`` of them after the point."""

    leaf: ClassVar[Leaf] = LEAVES["decimal"]
    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise InvalidRequestError(
                f"DECIMAL({self.precision},{self.scale}) is not a type; a decimal has 1 to 38 digits, "
                "and at most that many after the point"
            )


@dataclass(frozen=True, slots=True)
class Char:
    """Strings padded with spaces to ``length`` characters."""

    leaf: ClassVar[Leaf] = LEAVES["char"]
    length: int

    def __post_init__(self) -> None:
        _check_range("the length of CHAR", self.length, 1)


@dataclass(frozen=True, slots=True)
class Varchar:
    """Strings of at most ``length`` characters."""

    leaf: ClassVar[Leaf] = LEAVES["varchar"]
    length: int

    def __post_init__(self) -> None:
        _check_range("the length of VARCHAR", self.length, 1)


_SPECIFIERS = ("CI", "CS", "AI", "AS", "RTRIM")
_LOCALE = re.compile(r"UTF8_LCASE|UTF8_BINARY|UNICODE|[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{3})?")


@dataclass(frozen=True, slots=True)
class Collated:
    """Strings that are compared by a collation, which is named as in Spark: ``UNICODE_CI``."""

    leaf: ClassVar[Leaf] = LEAVES["string collate"]
    collation: str

    def __post_init__(self) -> None:
        parts = self.collation.split("_")
        while parts[-1] in _SPECIFIERS:
            parts.pop()
        base = "_".join(parts)
        if not _LOCALE.fullmatch(base) or self.collation == "UTF8_BINARY":
            raise InvalidRequestError(
                f"{self.collation!r} is not a collation; write UTF8_LCASE, UNICODE, UNICODE_CI or a "
                "locale, such as de_CI_AI, each also with _RTRIM"
            )


@dataclass(frozen=True, slots=True)
class Time:
    """Times of day in microseconds, shown with ``precision`` digits of the second."""

    leaf: ClassVar[Leaf] = LEAVES["time"]
    precision: int

    def __post_init__(self) -> None:
        _check_range("the precision of TIME", self.precision, 0, 6)


@dataclass(frozen=True, slots=True)
class DayTimeInterval:
    """Durations in microseconds; ``start`` and ``end`` are units as Spark names them."""

    leaf: ClassVar[Leaf] = LEAVES["interval"]
    start: str = "day"
    end: str = "second"

    def __post_init__(self) -> None:
        units = list(DAY_TIME_UNITS)
        are_units = self.start in units and self.end in units
        if not are_units or units.index(self.start) > units.index(self.end):
            raise InvalidRequestError(
                f"INTERVAL {self.start} TO {self.end} is not a type; the units are {', '.join(units)}, "
                "the larger one first"
            )


YEAR_MONTH_UNITS = {"year": 12, "month": 1}
"""The units of year-month intervals, largest first, in months."""


@dataclass(frozen=True, slots=True)
class YearMonthInterval:
    """Numbers of months; ``start`` and ``end`` are units as Spark names them."""

    leaf: ClassVar[Leaf] = LEAVES["interval of months"]
    start: str = "year"
    end: str = "month"

    def __post_init__(self) -> None:
        if (self.start, self.end) not in (("year", "month"), ("year", "year"), ("month", "month")):
            raise InvalidRequestError(
                f"INTERVAL {self.start} TO {self.end} is not a type; the units are year and month"
            )


@dataclass(frozen=True, slots=True)
class Geometry:
    """Planar shapes in the spatial reference system ``srid``."""

    leaf: ClassVar[Leaf] = LEAVES["geometry"]
    srid: int

    def __post_init__(self) -> None:
        _check_range("the reference system of GEOMETRY", self.srid, 0)


@dataclass(frozen=True, slots=True)
class Geography:
    """Shapes on the globe in the spatial reference system ``srid``."""

    leaf: ClassVar[Leaf] = LEAVES["geography"]
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


LeafType = (
    Atom
    | Decimal
    | Char
    | Varchar
    | Collated
    | Time
    | DayTimeInterval
    | YearMonthInterval
    | Geometry
    | Geography
)
NestedType = Struct | Array | Map
DataType = LeafType | NestedType

PARAMETRIC: dict[str, Callable[..., LeafType]] = {
    class_.leaf.name: class_ for class_ in get_args(LeafType) if class_ is not Atom
}
"""The classes of leaf types with parameters, by their names in FORMAT.md."""


def leaf_name(type_: LeafType) -> str:
    """The name of a leaf type in FORMAT.md: ``decimal(10,2)``."""
    is_interval = isinstance(type_, DayTimeInterval | YearMonthInterval)
    return ("interval" if is_interval else type_.leaf.name) + _parameters(type_)


def leaf_sql(type_: LeafType) -> str:
    """The name of a leaf type in SQL: ``DECIMAL(10,2)``."""
    parameters = _parameters(type_)
    return type_.leaf.sql_name + (parameters if isinstance(type_, Collated) else parameters.upper())


def _parameters(type_: LeafType) -> str:
    match type_:
        case Atom():
            return ""
        case Decimal(precision, scale):
            return f"({precision},{scale})"
        case Char(number) | Varchar(number) | Time(number) | Geometry(number) | Geography(number):
            return f"({number})"
        case Collated(collation):
            return f" {collation}"
        case DayTimeInterval(start, end) | YearMonthInterval(start, end):
            return f" {start}" if start == end else f" {start} to {end}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A typed value, kept as the JSON text of its value text (FORMAT.md, section 4.2).

    ``Constant('"999"')`` is 999 for an INT column; ``model.sql_literals`` converts it.
    """

    json: str


class Now(enum.Enum):
    """Write defaults that are evaluated once per write, by their names in FORMAT.md."""

    TIMESTAMP = "current_timestamp"
    DATE = "current_date"

    @property
    def type(self) -> Atom:
        """The type of its value, and of the only columns that can have it."""
        return Atom[self.name]


NOW_FUNCTIONS = {**{now.value: now for now in Now}, "now": Now.TIMESTAMP, "curdate": Now.DATE}
"""The functions of Spark's SQL, in lower case, that are such a default."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A write default that is evaluated once per write, as SQL; see ``model.default_expressions``."""

    sql: str


WriteDefault = Constant | Now | Evaluated


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a nested field.

    Args:
        id: the column ID, or UNASSIGNED for a column that no table holds yet.
        name: the logical name, in its original case.
        type: the data type.
        nullable: whether nulls are allowed.
        physical_name: the name inside Parquet files; empty while the ID is unassigned.
        read_default: the value of rows that were written before the column existed; None is null.
        write_default: the value stored by a write that leaves the column out; None is null.
        comment: free text for people.
        hidden: whether it was dropped while a schema pin needs it (FORMAT.md, section 4.6).
        widest: the type that segments may hold it in, since it was narrowed; None if that is ``type``.
    """

    id: int
    name: str
    type: DataType
    nullable: bool = True
    physical_name: str = ""
    read_default: Constant | None = None
    write_default: WriteDefault | None = None
    comment: str | None = None
    hidden: bool = False
    widest: DataType | None = None


def children(type_: DataType) -> tuple[Column, ...]:
    """The columns directly inside a type, in the order of their IDs."""
    match type_:
        case Atom():  # first, since most columns are atoms
            return ()
        case Struct(fields):
            return fields
        case Array(element):
            return (element,)
        case Map(key, value):
            return (key, value)
        case _:
            return ()


def with_children(type_: DataType, columns: tuple[Column, ...]) -> DataType:
    """The same type around other columns: as many as it has, or any number for a struct."""
    match type_:
        case Struct():
            return Struct(columns)
        case Array():
            (element,) = columns
            return Array(element)
        case Map():
            key, value = columns
            return Map(key, value)
        case _:
            return type_


def map_columns(column: Column, change: Callable[[Column], Column]) -> Column:
    """Apply ``change`` to a column and to all columns below it, parents first."""
    changed = change(column)
    inner = tuple(map_columns(child, change) for child in children(changed.type))
    return replace(changed, type=with_children(changed.type, inner))


def walk(
    columns: tuple[Column, ...], above: tuple[Column, ...] = ()
) -> Iterator[tuple[Column, tuple[Column, ...]]]:
    """Every column in pre-order, each with its ancestors, outermost first.

    ``above`` are the ancestors of ``columns``.
    """
    for column in columns:
        yield column, above
        inner = children(column.type)
        if inner:
            yield from walk(inner, (*above, column))


def family(type_: DataType) -> Family | None:
    """The family of a leaf type; None for a nested type."""
    return None if isinstance(type_, NestedType) else type_.leaf.family


def is_nested(type_: DataType) -> bool:
    """Whether the type has columns inside."""
    return isinstance(type_, NestedType)


def is_opaque(type_: DataType) -> bool:
    """Whether values are groups of bytes without comparison and defaults."""
    return family(type_) is Family.OPAQUE


def is_compared(type_: DataType) -> TypeGuard[LeafType]:
    """Whether values have an order that metadata knows, so that bounds, keys and filters use it."""
    return family(type_) not in _NOT_COMPARED


_NOT_COMPARED = frozenset({None, Family.OPAQUE, Family.COLLATED, Family.VOID})


def can_have_default(type_: DataType) -> bool:
    """Whether columns of a type can have a default."""
    return family(type_) not in (Family.OPAQUE, Family.VOID)


def is_stored_alike(left: DataType, right: DataType) -> bool:
    """Whether types are the same, or temporal and differ in no more than their precision."""
    if isinstance(left, NestedType) or isinstance(right, NestedType):
        return left == right
    return left == right or (left.leaf is right.leaf and left.leaf.family is Family.TEMPORAL)


def is_text(type_: DataType) -> bool:
    """Whether values are strings, of limited length or not."""
    return family(type_) is Family.TEXT


def is_integer(type_: DataType) -> bool:
    """Whether values are whole numbers without a scale: BYTE, SHORT, INT or LONG."""
    return family(type_) is Family.INTEGER


def is_floating(type_: DataType) -> bool:
    """Whether values may be NaN."""
    return family(type_) is Family.FLOAT


def is_metadata(column: Column) -> bool:
    """Whether a column is a metadata column; columns of a table never have negative IDs."""
    return column.id < UNASSIGNED


def is_repeated(ancestors: tuple[Column, ...]) -> bool:
    """Whether a column below these may have any number of values in one row."""
    return any(isinstance(column.type, Array | Map) for column in ancestors)
