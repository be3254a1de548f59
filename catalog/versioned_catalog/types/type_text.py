"""Types as Spark's SQL writes them: ``STRUCT<a: INT NOT NULL, b: ARRAY<STRING>>``."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.types.paths import quote
from versioned_catalog.types.tokens import Cursor, Kind, sql_string
from versioned_catalog.types.types import (
    UNASSIGNED,
    Array,
    Atom,
    Char,
    Column,
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

MAX_DEPTH = TYPE_DEPTH
"""How deep types and literals may be nested; parsing is recursive."""

UNITS = ("day", "hour", "minute", "second")
"""The units of day-time intervals, from large to small."""

_ATOMS = {
    "BOOLEAN": Atom.BOOLEAN,
    "TINYINT": Atom.BYTE,
    "BYTE": Atom.BYTE,
    "SMALLINT": Atom.SHORT,
    "SHORT": Atom.SHORT,
    "INT": Atom.INT,
    "INTEGER": Atom.INT,
    "BIGINT": Atom.LONG,
    "LONG": Atom.LONG,
    "FLOAT": Atom.FLOAT,
    "REAL": Atom.FLOAT,
    "DOUBLE": Atom.DOUBLE,
    "STRING": Atom.STRING,
    "BINARY": Atom.BINARY,
    "DATE": Atom.DATE,
    "TIMESTAMP": Atom.TIMESTAMP,
    "TIMESTAMP_LTZ": Atom.TIMESTAMP,
    "TIMESTAMP_NTZ": Atom.TIMESTAMP_NTZ,
    "VARIANT": Atom.VARIANT,
}
_SQL_NAMES = {
    Atom.BOOLEAN: "BOOLEAN",
    Atom.BYTE: "TINYINT",
    Atom.SHORT: "SMALLINT",
    Atom.INT: "INT",
    Atom.LONG: "BIGINT",
    Atom.FLOAT: "FLOAT",
    Atom.DOUBLE: "DOUBLE",
    Atom.STRING: "STRING",
    Atom.BINARY: "BINARY",
    Atom.DATE: "DATE",
    Atom.TIMESTAMP: "TIMESTAMP",
    Atom.TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    Atom.VARIANT: "VARIANT",
}
_REFUSED = {
    "VOID": "VOID columns can't be stored; give the column the type it shall have, such as STRING",
    "NULL": "NULL is no type that can be stored; give the type it shall have, such as STRING",
    "OBJECT": "OBJECT can't be stored; use STRUCT, MAP or VARIANT",
    "UDT": "user-defined types can't be stored; use the SQL type below it",
}


def parse_type(text: str) -> DataType:
    """A type from SQL.

    Raises:
        InvalidRequestError: it does not parse, or can't be stored.
    """
    cursor = Cursor(text, "type")
    type_ = take_type(cursor)
    cursor.expect_end()
    return type_


def take_type(cursor: Cursor, depth: int = 0) -> DataType:
    """The type that is next; ``depth`` says how many types it is inside of.

    Raises:
        InvalidRequestError: it does not parse, or can't be stored.
    """
    if depth >= MAX_DEPTH:
        raise InvalidRequestError(
            f"the type is nested more than {MAX_DEPTH} deep; flatten it or store it as VARIANT",
            condition="NOT_SUPPORTED",
        )
    if cursor.token.kind is not Kind.WORD:
        raise cursor.error("a type was expected")
    word = cursor.token.text.upper()
    if word not in _ATOMS and word not in _NESTED and word not in _WITH_PARAMETERS:
        raise InvalidRequestError(
            _REFUSED.get(word, f"unknown type {cursor.token.text}"), condition="NOT_SUPPORTED"
        )
    cursor.take()
    if word in _NESTED:
        return _take_nested(cursor, word, depth + 1)
    if word in _ATOMS:
        return _take_atom(cursor, _ATOMS[word])
    return _take_parameters(cursor, word)


_NESTED = ("ARRAY", "MAP", "STRUCT")


def _take_atom(cursor: Cursor, atom: Atom) -> DataType:
    if atom is Atom.STRING and cursor.accept_word("COLLATE"):
        collation = cursor.name()
        if collation.upper() != "UTF8_BINARY":
            raise InvalidRequestError(
                f"STRING COLLATE {collation} can't be stored; "
                "store STRING and collate where it is queried",
                condition="NOT_SUPPORTED",
            )
    if atom is Atom.TIMESTAMP:
        return Atom.TIMESTAMP if _take_zone(cursor, default=True) else Atom.TIMESTAMP_NTZ
    return atom


def _take_zone(cursor: Cursor, *, default: bool) -> bool:
    """WITH LOCAL TIME ZONE or WITHOUT TIME ZONE, where one is next."""
    word = cursor.accept_word("WITH", "WITHOUT")
    if word is None:
        return default
    for expected in ("LOCAL", "TIME", "ZONE") if word == "WITH" else ("TIME", "ZONE"):
        cursor.expect_word(expected)
    return word == "WITH"


_WITH_PARAMETERS = (
    *("CHAR", "CHARACTER", "VARCHAR", "DECIMAL", "DEC", "NUMERIC"),
    *("TIME", "INTERVAL", "GEOMETRY", "GEOGRAPHY"),
)


def _take_parameters(cursor: Cursor, word: str) -> DataType:
    if word == "INTERVAL":
        return _take_interval(cursor)
    if word in ("CHAR", "CHARACTER", "VARCHAR"):
        (length,) = _numbers(cursor, word, 1, f"a length, as {word}(10); or use STRING")
        if length < 1:
            raise InvalidRequestError(f"{word}({length}) has no room; the length is at least 1")
        return Varchar(length) if word == "VARCHAR" else Char(length)
    if word in ("GEOMETRY", "GEOGRAPHY"):
        (srid,) = _numbers(cursor, word, 1, "the number of one reference system, as (4326)")
        return Geometry(srid) if word == "GEOMETRY" else Geography(srid)
    if word == "TIME":
        (precision,) = _numbers(cursor, word, 1) or (6,)
        if precision > 6:
            raise InvalidRequestError(
                f"TIME({precision}) can't be stored; TIME has up to 6 digits",
                condition="NOT_SUPPORTED",
            )
        if _take_zone(cursor, default=False):
            raise InvalidRequestError("TIME has no time zone; leave it out, or use TIMESTAMP")
        return Time(precision)
    return _decimal(_numbers(cursor, word, 2))


def _decimal(numbers: tuple[int, ...]) -> Decimal:
    precision, scale = (*numbers, *(10, 0)[len(numbers) :])
    if not 1 <= precision <= 38 or scale > precision:
        raise InvalidRequestError(
            f"DECIMAL({precision},{scale}) can't be stored; "
            "it has 1 to 38 digits, and not more than those after the point",
            condition="NOT_SUPPORTED",
        )
    return Decimal(precision, scale)


def _numbers(cursor: Cursor, word: str, most: int, needed: str = "") -> tuple[int, ...]:
    if not cursor.at_symbol("("):
        if needed:
            raise InvalidRequestError(f"{word} needs {needed}")
        return ()
    cursor.take()
    if needed and cursor.token.kind is Kind.WORD:
        raise InvalidRequestError(f"{word}({cursor.token.text}) can't be stored; it needs {needed}")
    found = [cursor.integer()]
    while len(found) < most and cursor.accept(","):
        found.append(cursor.integer())
    cursor.expect(")")
    return tuple(found)


def _take_interval(cursor: Cursor) -> DayTimeInterval:
    start = cursor.accept_word(*(unit.upper() for unit in UNITS))
    if start is None:
        raise InvalidRequestError(
            "intervals of months or without a unit can't be stored; "
            "store INTERVAL DAY TO SECOND, or months as INT",
            condition="NOT_SUPPORTED",
        )
    if not cursor.accept_word("TO"):
        return DayTimeInterval(start.lower(), start.lower())
    smaller = UNITS[UNITS.index(start.lower()) + 1 :]
    end = cursor.expect_word(*(unit.upper() for unit in smaller)) if smaller else None
    if end is None:
        raise cursor.error("there is no unit below SECOND; nothing more was expected")
    return DayTimeInterval(start.lower(), end.lower())


def _take_nested(cursor: Cursor, word: str, depth: int) -> DataType:
    cursor.expect("<")
    if cursor.at_symbol(">"):
        raise InvalidRequestError(
            f"{word}<> is empty; say what is inside, as {word}<{_INSIDE[word]}>"
        )
    if word == "STRUCT":
        fields = [_take_field(cursor, depth)]
        while cursor.accept(","):
            fields.append(_take_field(cursor, depth))
        cursor.expect(">")
        return Struct(tuple(fields))
    first = take_type(cursor, depth)
    if word == "ARRAY":
        cursor.expect(">")
        return Array(Column(UNASSIGNED, "element", first))
    cursor.expect(",")
    value = take_type(cursor, depth)
    cursor.expect(">")
    return Map(Column(UNASSIGNED, "key", first, nullable=False), Column(UNASSIGNED, "value", value))


_INSIDE = {"ARRAY": "INT", "MAP": "STRING, INT", "STRUCT": "a: INT"}


def _take_field(cursor: Cursor, depth: int) -> Column:
    name = cursor.name()
    cursor.accept(":")
    type_ = take_type(cursor, depth)
    nullable = True
    comment: str | None = None
    while True:
        if cursor.accept_word("NOT"):
            cursor.expect_word("NULL")
            nullable = False
        elif cursor.accept_word("COMMENT"):
            comment = cursor.string()
        elif cursor.at_word("DEFAULT"):
            raise InvalidRequestError(
                f"the field {quote(name)} has a DEFAULT inside a STRUCT type, which SQL can't say; "
                "add the field, or set its default, by ALTER"
            )
        else:
            return Column(UNASSIGNED, name, type_, nullable, comment=comment)


def render_type(type_: DataType) -> str:
    """The SQL of a type. What SQL can't say is left out: defaults inside, NOT NULL elements."""
    match type_:
        case Atom():
            return _SQL_NAMES[type_]
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Char(length):
            return f"CHAR({length})"
        case Varchar(length):
            return f"VARCHAR({length})"
        case Time(precision):
            return f"TIME({precision})"
        case DayTimeInterval(start, end):
            units = start if start == end else f"{start} to {end}"
            return f"INTERVAL {units.upper()}"
        case Geometry(srid):
            return f"GEOMETRY({srid})"
        case Geography(srid):
            return f"GEOGRAPHY({srid})"
        case Struct(fields):
            return f"STRUCT<{', '.join(map(_render_field, fields))}>"
        case Array(element):
            return f"ARRAY<{render_type(element.type)}>"
        case Map(key, value):
            return f"MAP<{render_type(key.type)}, {render_type(value.type)}>"


def _render_field(field: Column) -> str:
    options = render_nullability(field) + render_comment(field)
    return f"{quote(field.name)}: {render_type(field.type)}{options}"


def render_nullability(column: Column) -> str:
    """NOT NULL, with a space before, or nothing."""
    return "" if column.nullable else " NOT NULL"


def render_comment(column: Column) -> str:
    """COMMENT and the comment, with a space before, or nothing."""
    return "" if column.comment is None else f" COMMENT {sql_string(column.comment)}"
