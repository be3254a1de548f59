"""What a statement asks for, and the ends of statements that are passed on as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import ColumnPath


@dataclass(frozen=True)
class Said:
    """What a statement asks for.

    Args:
        table: the table's name, as it stands there; or that of a namespace, empty for the current one.
        procedure: the procedure to call; empty if the statement is refused.
        arguments: its arguments besides the table, as SQL.
        refused: why the statement is not supported, and what to do instead; None if it is.
        of_namespace: whether ``table`` is the name of a namespace.
    """

    table: ColumnPath
    procedure: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    refused: str | None = None
    of_namespace: bool = False


def take_table(cursor: Cursor) -> ColumnPath:
    """The name of a table, or a path as text, which means ``delta.`path` `` as in Delta."""
    if cursor.token.kind is TokenKind.STRING:
        return "delta", cursor.string()
    return take_path(cursor)


def is_at_end(cursor: Cursor) -> bool:
    """Whether nothing follows but perhaps a semicolon."""
    return cursor.token.kind is TokenKind.END or cursor.at_symbol(";")


def skip(cursor: Cursor) -> None:
    """Consume the rest of a statement that is refused."""
    while cursor.token.kind is not TokenKind.END:
        cursor.take()


def rest(cursor: Cursor) -> str:
    """The rest of the statement as it stands there."""
    return until(cursor)


def until(cursor: Cursor, *words: str) -> str:
    """The text up to one of these words outside parentheses, or to the end of the statement."""
    begin, end, depth = cursor.token.start, cursor.token.start, 0
    while cursor.token.kind is not TokenKind.END and not cursor.at_symbol(";"):
        if depth == 0 and words and cursor.at_word(*words):
            break
        token = cursor.take()
        depth += (token.kind is TokenKind.SYMBOL) * ((token.text == "(") - (token.text == ")"))
        end = token.end
    if begin == end:
        raise cursor.error("something was expected")
    return cursor.text[begin:end]
