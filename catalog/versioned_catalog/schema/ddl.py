"""Column lists in Spark's DDL: ``ts TIMESTAMP NOT NULL, host STRING DEFAULT 'a'``."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.paths import quote
from versioned_catalog.types.tokens import Cursor, TokenKind
from versioned_catalog.types.type_text import (
    parse_type,
    render_comment,
    render_nullability,
    render_type,
    take_type,
)
from versioned_catalog.types.types import UNASSIGNED, Column, Constant, DataType, WriteDefault
from versioned_catalog.values.sql_literals import take_default
from versioned_catalog.values.sql_rendering import to_sql


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
    columns = [take_column(cursor)]
    while cursor.accept(","):
        columns.append(take_column(cursor))
    cursor.expect_end()
    return tuple(columns)


def take_column(cursor: Cursor, end: str = ",") -> Column:
    """Parse a column at the cursor; after it, a comma or ``end`` must follow.

    Raises:
        InvalidRequestError: it does not parse, its type can't be stored, or its default does not fit.
    """
    cursor.begin_column()
    name = cursor.name()
    cursor.accept(":")
    try:
        column = take_options(cursor, name, take_type(cursor))
        at_end = cursor.token.kind is TokenKind.END or cursor.at_symbol(",", end)
        if not at_end and not (end == ")" and cursor.at_word("PRIMARY")):
            raise cursor.error("a comma, NOT NULL, DEFAULT or COMMENT was expected")
        return column
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {quote(name)}: {error}") from None


def take_options(cursor: Cursor, name: str, type_: DataType) -> Column:
    """Parse NOT NULL, DEFAULT and COMMENT at the cursor, in any order, to a column."""
    seen: set[str] = set()
    nullable = True
    default: WriteDefault | None = None
    comment: str | None = None
    while word := cursor.accept_word("NOT", "NULL", "DEFAULT", "COMMENT"):
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
