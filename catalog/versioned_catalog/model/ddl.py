"""Column lists in Spark's DDL, and the clauses that DDL statements share."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.sql_literals import take_default, to_sql
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import (
    ColumnPath,
    parse_type,
    quote,
    render_comment,
    render_nullability,
    render_type,
    take_type,
)
from versioned_catalog.model.types import UNASSIGNED, Column, Constant, DataType, WriteDefault
from versioned_catalog.model.value_clauses import Clause, take_clause


def take_path(cursor: Cursor) -> ColumnPath:
    """Parse a dotted path of names."""
    names = [cursor.name()]
    while cursor.accept("."):
        names.append(cursor.name())
    return tuple(names)


def take_properties(cursor: Cursor) -> dict[str, str]:
    """Parse ``('key' = 'value', a.b = 1)``.

    Raises:
        InvalidRequestError: it does not parse, or a key is given twice.
    """
    properties: dict[str, str] = {}
    cursor.expect("(")
    while True:
        key = take_key(cursor)
        if key in properties:
            raise InvalidRequestError(f"the property {key} is given twice; name it once")
        cursor.accept("=")
        properties[key] = _value(cursor)
        if not cursor.accept(","):
            cursor.expect(")")
            return properties


def take_key(cursor: Cursor) -> str:
    """Parse the key of a property: a string, or dotted names."""
    if cursor.token.kind is TokenKind.STRING:
        return cursor.take().text
    return ".".join(take_path(cursor))


def _value(cursor: Cursor) -> str:
    if cursor.token.kind is TokenKind.STRING:
        return cursor.string()
    sign = "-" if cursor.accept("-") else ""
    if cursor.token.kind is TokenKind.NUMBER:
        return sign + cursor.take().text
    if not sign and cursor.at_word("TRUE", "FALSE"):
        return cursor.take().text.lower()
    raise cursor.error("the value of the property, in quotes, was expected")


def take_fields(cursor: Cursor) -> tuple[str, ...]:
    """Parse ``(days(ts), host)`` to the text of each field."""
    cursor.expect("(")
    fields = [take_field(cursor)]
    while cursor.accept(","):
        fields.append(take_field(cursor))
    cursor.expect(")")
    return tuple(fields)


def take_field(cursor: Cursor) -> str:
    """Parse a field of a partitioning, such as ``bucket(16, id)``, to its text."""
    start = end = cursor.token.start
    depth = 0
    while cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
        if depth == 0 and (cursor.at_symbol(",", ")") or cursor.at_word("WITH")):
            break
        depth += cursor.at_symbol("(") - cursor.at_symbol(")")
        end = cursor.take().end
    if end == start:
        raise cursor.error("a field of the partitioning, such as days(ts), was expected")
    return cursor.text[start:end]


def unenforced(name: str) -> InvalidRequestError:
    """The error of a CHECK constraint that is declared NOT ENFORCED."""
    return InvalidRequestError(
        f"the constraint {name} is NOT ENFORCED, and every CHECK is enforced; leave NOT ENFORCED out, "
        "or say what rows should be like in a comment",
        condition="NOT_SUPPORTED",
    )


def parse_columns(ddl: str) -> tuple[Column, ...]:
    """Parse a column list to columns without IDs.

    A DEFAULT is the read and the write default; ``current_timestamp()`` and ``current_date()`` are
    write defaults only.

    Raises:
        InvalidRequestError: it does not parse, a type can't be stored, or a default does not fit.
    """
    cursor = Cursor(ddl, "column list")
    if cursor.token.kind is TokenKind.END:
        raise InvalidRequestError("the column list is empty; write columns as: host STRING, n INT")
    with cursor.placing():
        columns = [take_column(cursor)]
        while cursor.accept(","):
            columns.append(take_column(cursor))
    cursor.expect_end()
    return tuple(columns)


def take_column(cursor: Cursor, end: str = ",", clauses: dict[str, Clause] | None = None) -> Column:
    """Parse a column at the cursor; after it, a comma or ``end`` must follow.

    Args:
        clauses: gets the clause of a column whose values are made, by its name; None to refuse it.

    Raises:
        InvalidRequestError: it does not parse, its type can't be stored, or its default does not fit.
    """
    cursor.begin_column()
    name = cursor.name()
    cursor.accept(":")
    try:
        column = take_options(cursor, name, take_type(cursor), clauses)
        at_end = cursor.token.kind is TokenKind.END or cursor.at_symbol(",", end)
        if not at_end and not (end == ")" and cursor.at_word("PRIMARY")):
            raise cursor.error("a comma, NOT NULL, DEFAULT or COMMENT was expected")
        return column
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {quote(name)}: {error}") from None


def take_options(
    cursor: Cursor, name: str, type_: DataType, clauses: dict[str, Clause] | None = None
) -> Column:
    """Parse NOT NULL, DEFAULT, COMMENT and GENERATED at the cursor, in any order, to a column.

    Args:
        clauses: gets what GENERATED says, by the name of the column; None to refuse it.
    """
    seen: set[str] = set()
    nullable = True
    default: WriteDefault | None = None
    comment: str | None = None
    while word := cursor.accept_word("NOT", "NULL", "DEFAULT", "COMMENT", "GENERATED"):
        option = "NULL" if word == "NOT" else word
        if option in seen:
            raise InvalidRequestError(f"{option} is given twice")
        seen.add(option)
        if word == "NOT":
            cursor.expect_word("NULL")
            nullable = False
        elif word == "DEFAULT":
            default = take_default(cursor, type_)
        elif word == "COMMENT":
            comment = cursor.string()
        elif word == "GENERATED":
            if clauses is None:
                raise InvalidRequestError(
                    "GENERATED belongs into CREATE TABLE; in Python, give generated= or identity= to "
                    "create_table",
                    condition="NOT_SUPPORTED",
                )
            clauses[name] = take_clause(cursor)
    return Column(
        UNASSIGNED,
        name,
        type_,
        nullable,
        read_default=default if isinstance(default, Constant) else None,
        write_default=default,
        comment=comment,
    )


def render_columns(columns: tuple[Column, ...]) -> str:
    """The DDL of columns. A DEFAULT in it is the write default."""
    return ", ".join(map(_render_column, columns))


def _render_column(column: Column) -> str:
    return f"{quote(column.name)} {render_type(column.type)}{render_options(column)}"


def render_options(column: Column) -> str:
    """NOT NULL, DEFAULT and COMMENT of a column, each after a space."""
    default = column.write_default
    shown = "" if default is None else f" DEFAULT {to_sql(default, column.type)}"
    return f"{render_nullability(column)}{shown}{render_comment(column)}"


__all__ = ["parse_columns", "parse_type", "render_columns", "render_type"]


SOURCE = "source.table"
"""Where the table was converted from, and the version of the source that was followed last."""

SOURCE_COLUMNS = "source.columns"
"""The source's schema that was followed last, with the IDs of this table."""

APPLIED_PROPERTIES = "applied_properties"
"""The properties after the last ``apply`` of a schema file, as JSON."""
