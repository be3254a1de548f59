"""Types and paths of columns as text, as Spark's SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.types import (
    DAY_TIME_UNITS,
    LEAVES,
    PARAMETRIC,
    UNASSIGNED,
    YEAR_MONTH_UNITS,
    Array,
    Atom,
    Char,
    Collated,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Map,
    Struct,
    Time,
    Varchar,
    YearMonthInterval,
    leaf_sql,
)

ColumnPath = tuple[str, ...]

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_NAMES = re.compile(
    "ANTI|CHECK|CONSTRAINT|CROSS|EXCEPT|FALSE|FOREIGN|FROM|FULL|IF|INNER|INTERSECT|JOIN|LATERAL|LEFT|"
    "MINUS|NATURAL|NOT|NULL|ON|PRIMARY|RIGHT|SELECT|SEMI|SETMINUS|TABLE|TRUE|UNION|UNIQUE|USING|WHERE",
    re.IGNORECASE,
)
"""Words that begin another clause somewhere in Spark's grammar."""


def parse_path(path: str | tuple[str, ...] | list[str]) -> ColumnPath:
    """A path from dotted text, with backticks around names that hold dots, or from a tuple.

    Raises:
        InvalidRequestError: it is empty, or a backtick is not closed.
    """
    if not isinstance(path, str):
        parts = tuple(path) if isinstance(path, tuple | list) else ()
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise InvalidRequestError(f"{path!r} is not a valid name", condition="INVALID_NAME")
        _check_encodable("".join(parts))
        return parts
    _check_encodable(path)
    names: list[str] = []
    at = 0
    while True:
        match = _PART.match(path, at)
        if match is None:
            raise InvalidRequestError(
                f"{path!r} is not a valid name; write names that hold dots in backticks, as `a.b`.c",
                condition="INVALID_NAME",
            )
        quoted, plain = match.groups()
        names.append(quoted.replace("``", "`") if quoted is not None else plain)
        at = match.end()
        if at == len(path):
            return tuple(names)
        if path[at] != ".":
            raise InvalidRequestError(
                f"{path!r} is not a valid name: a dot is missing at {at}", condition="INVALID_NAME"
            )
        at += 1


_SURROGATE = re.compile("[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    """Whether a text holds half a character (an unpaired surrogate), which UTF-8 can't encode."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def _check_encodable(text: str) -> None:
    if has_surrogate(text):
        raise InvalidRequestError(
            f"{text!r} holds half a character (an unpaired surrogate)", condition="INVALID_NAME"
        )


def quote(name: str) -> str:
    """A name in SQL, in backticks if it needs them."""
    plain = _PLAIN.fullmatch(name) and not _NOT_NAMES.fullmatch(name)
    return name if plain else "`" + name.replace("`", "``") + "`"


def render_path(path: ColumnPath) -> str:
    """The dotted text of a path."""
    return ".".join(quote(part) for part in path)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_STORED = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def has_control_characters(name: str) -> bool:
    """Whether a new name holds a control character (U+0000-1F, U+007F-9F) or an unpaired surrogate."""
    return _CONTROL.search(name) is not None


def has_control_characters_in_storage(name: str) -> bool:
    """The same for a column name that metadata holds, where U+0080-9F were once allowed."""
    return _CONTROL_IN_STORED.search(name) is not None


_ATOMS = {name: atom for atom in Atom for name in atom.leaf.sql_names}
_WITH_PARAMETERS = {
    sql: class_ for name, class_ in PARAMETRIC.items() for sql in LEAVES[name].sql_names
}
_INSIDE = {"ARRAY": "INT", "MAP": "STRING, INT", "STRUCT": "a: INT"}
"""Nested types, with a sample of the types inside."""
_UNITS = [unit.upper() for unit in DAY_TIME_UNITS]
_MONTH_UNITS = [unit.upper() for unit in YEAR_MONTH_UNITS]
_REFUSED = {
    "NULL": "NULL is not a type; a column of nulls that gets a type later is VOID",
    "OBJECT": "OBJECT can't be stored; use STRUCT, MAP or VARIANT",
    "UDT": "user-defined types can't be stored; use the SQL type that they are based on",
}


def parse_type(text: str) -> DataType:
    """Parse a type. Raises InvalidRequestError if it does not parse, or can't be stored."""
    cursor = Cursor(text, "type")
    type_ = take_type(cursor)
    cursor.expect_end()
    return type_


def take_type(cursor: Cursor, depth: int = 0) -> DataType:
    """Parse the type at the cursor, inside ``depth`` others.

    Raises:
        InvalidRequestError: it does not parse, or can't be stored.
    """
    if depth >= TYPE_DEPTH:
        raise InvalidRequestError(
            f"the type is nested more than {TYPE_DEPTH} deep; flatten it or store it as VARIANT",
            condition="NOT_SUPPORTED",
        )
    if cursor.token.kind is not TokenKind.WORD:
        raise cursor.error("a type was expected")
    word = cursor.token.text.upper()
    if word not in _ATOMS and word not in _INSIDE and word not in _WITH_PARAMETERS:
        problem = _REFUSED.get(word, f"unknown type {cursor.token.text}")
        cursor.take()  # where the error is
        raise InvalidRequestError(problem, condition="NOT_SUPPORTED")
    cursor.take()
    if word in _INSIDE:
        return _take_nested(cursor, word, depth + 1)
    if word in _ATOMS:
        return _take_atom(cursor, word)
    return _take_parameters(cursor, word, _WITH_PARAMETERS[word])


def _take_atom(cursor: Cursor, word: str) -> DataType:
    atom = _ATOMS[word]
    if atom in (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ) and cursor.at_symbol("("):
        (precision,) = _numbers(cursor, word, 1)
        raise InvalidRequestError(
            f"{word}({precision}) can't be stored; timestamps have microseconds: use {word}, and store "
            "the nanoseconds in another column",
            condition="NOT_SUPPORTED",
        )
    if atom is Atom.STRING and cursor.accept_word("COLLATE"):
        return _collated(cursor.name())
    if atom is Atom.TIMESTAMP:
        return Atom.TIMESTAMP if _take_zone(cursor, default=True) else Atom.TIMESTAMP_NTZ
    return atom


def _collated(name: str) -> DataType:
    """The type of strings of a collation, whose name is written as Spark does."""
    parts = name.split("_")
    given: set[str] = set()
    while len(parts) > 1 and parts[-1].upper() in ("CI", "CS", "AI", "AS", "RTRIM"):
        given.add(parts.pop().upper())
    base_name = "_".join(parts)
    if base_name.upper().startswith(("UTF8", "UNICODE")):
        base_name = base_name.upper()
    kept = [one for one in ("CI", "AI", "RTRIM") if one in given]  # others are the default
    collation = "_".join((base_name, *kept))
    return Atom.STRING if collation == "UTF8_BINARY" else Collated(collation)


def _take_zone(cursor: Cursor, *, default: bool) -> bool:
    """Parse WITH LOCAL TIME ZONE (true) or WITHOUT TIME ZONE (false), if either comes next."""
    word = cursor.accept_word("WITH", "WITHOUT")
    if word is None:
        return default
    for expected in ("LOCAL", "TIME", "ZONE") if word == "WITH" else ("TIME", "ZONE"):
        cursor.expect_word(expected)
    return word == "WITH"


def _take_parameters(cursor: Cursor, word: str, class_: Callable[..., DataType]) -> DataType:
    if class_ in (DayTimeInterval, YearMonthInterval):
        return _take_interval(cursor)
    if class_ is Decimal:
        return _decimal(_numbers(cursor, word, 2))
    if class_ is Time:
        (precision,) = _numbers(cursor, word, 1) or (6,)
        if precision > 6:
            raise InvalidRequestError(
                f"TIME({precision}) can't be stored; TIME has up to 6 digits: use TIME(6)",
                condition="NOT_SUPPORTED",
            )
        if _take_zone(cursor, default=False):
            raise InvalidRequestError("TIME has no time zone; leave it out, or use TIMESTAMP")
        return Time(precision)
    if class_ in (Char, Varchar):
        (length,) = _numbers(cursor, word, 1, f"a length, as {word}(10); or use STRING")
        if length < 1:
            raise InvalidRequestError(
                f"the length of {word}({length}) is too small; it is at least 1"
            )
        return class_(length)
    (srid,) = _numbers(cursor, word, 1, "the number of one reference system, as (4326)")
    return class_(srid)


def _decimal(numbers: tuple[int, ...]) -> Decimal:
    precision, scale = (*numbers, *(10, 0)[len(numbers) :])
    if not 1 <= precision <= 38 or scale > precision:
        raise InvalidRequestError(
            f"DECIMAL({precision},{scale}) can't be stored; "
            "it has 1 to 38 digits, and at most that many after the point",
            condition="NOT_SUPPORTED",
        )
    return Decimal(precision, scale)


def _numbers(cursor: Cursor, word: str, most: int, needed: str = "") -> tuple[int, ...]:
    if not cursor.at_symbol("("):
        if needed:
            raise InvalidRequestError(f"{word} needs {needed}")
        return ()
    cursor.take()
    if needed and cursor.token.kind is TokenKind.WORD:
        raise InvalidRequestError(f"{word}({cursor.token.text}) can't be stored; it needs {needed}")
    numbers = [cursor.integer()]
    while len(numbers) < most and cursor.accept(","):
        numbers.append(cursor.integer())
    cursor.expect(")")
    return tuple(numbers)


def _take_interval(cursor: Cursor) -> DataType:
    start = cursor.accept_word(*_UNITS, *_MONTH_UNITS)
    if start is None:
        raise InvalidRequestError(
            "intervals without a unit can't be stored; store INTERVAL DAY TO SECOND, or "
            "INTERVAL YEAR TO MONTH",
            condition="NOT_SUPPORTED",
        )
    if start in _MONTH_UNITS:
        return YearMonthInterval(start.lower(), take_month(cursor, start) or start.lower())
    return DayTimeInterval(start.lower(), take_end_unit(cursor, start) or start.lower())


def take_month(cursor: Cursor, start: str) -> str | None:
    """Parse ``TO MONTH`` after YEAR, in lower case; None if the cursor is not at it."""
    if start.upper() != "YEAR" or not cursor.accept_word("TO"):
        return None
    return cursor.expect_word("MONTH").lower()


def take_end_unit(cursor: Cursor, start: str) -> str | None:
    """Parse ``TO unit`` of an interval, in lower case; None if the cursor is not at TO.

    Raises:
        InvalidRequestError: the unit is not smaller than ``start``.
    """
    if not cursor.accept_word("TO"):
        return None
    smaller = _UNITS[_UNITS.index(start.upper()) + 1 :]
    if not smaller:
        raise cursor.error("no unit is smaller than SECOND; nothing more was expected")
    return cursor.expect_word(*smaller).lower()


def _take_nested(cursor: Cursor, word: str, depth: int) -> DataType:
    cursor.expect("<")
    if cursor.at_symbol(">"):
        raise InvalidRequestError(
            f"{word}<> is empty; name the types inside, as {word}<{_INSIDE[word]}>"
        )
    if word == "STRUCT":
        fields = [_take_field(cursor, depth)]
        while cursor.accept(","):
            fields.append(_take_field(cursor, depth))
        cursor.expect(">")
        return Struct(tuple(fields))
    cursor.begin_column()
    first = take_type(cursor, depth)
    if word == "ARRAY":
        cursor.expect(">")
        return Array(Column(UNASSIGNED, "element", first))
    cursor.expect(",")
    cursor.begin_column()
    value = take_type(cursor, depth)
    cursor.expect(">")
    return Map(Column(UNASSIGNED, "key", first, nullable=False), Column(UNASSIGNED, "value", value))


def _take_field(cursor: Cursor, depth: int) -> Column:
    cursor.begin_column()
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
                f"the field {quote(name)} has a DEFAULT inside a STRUCT type, which SQL does not allow; "
                "add the field, or set its default, by ALTER"
            )
        else:
            return Column(UNASSIGNED, name, type_, nullable, comment=comment)


def render_type(type_: DataType) -> str:
    """The SQL of a type, which can't express nested defaults and NOT NULL elements."""
    match type_:
        case Struct(fields):
            return f"STRUCT<{', '.join(map(_render_field, fields))}>"
        case Array(element):
            return f"ARRAY<{render_type(element.type)}>"
        case Map(key, value):
            return f"MAP<{render_type(key.type)}, {render_type(value.type)}>"
        case _:
            return leaf_sql(type_)


def _render_field(field: Column) -> str:
    options = render_nullability(field) + render_comment(field)
    return f"{quote(field.name)}: {render_type(field.type)}{options}"


def render_nullability(column: Column) -> str:
    """``NOT NULL`` after a space; empty for a nullable column."""
    return "" if column.nullable else " NOT NULL"


def render_comment(column: Column) -> str:
    """``COMMENT`` and the comment after a space; empty if there is none."""
    return "" if column.comment is None else f" COMMENT {sql_string(column.comment)}"
