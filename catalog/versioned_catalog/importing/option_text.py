"""Options of an import as one text each, for SQL and the command line."""

from __future__ import annotations

from versioned_catalog.schema.statements import take_path
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.tokens import Cursor, TokenKind


def parse_aliases(text: str | None) -> dict[str, str]:
    """Aliases.

    Raises:
        InvalidRequestError: it does not parse.

    >>> parse_aliases("plz = zip, `a.b`.c = d")
    {'plz': 'zip', '`a.b`.c': 'd'}
    """
    found: dict[str, str] = {}
    cursor = Cursor(text or "", "list of aliases")
    while cursor.token.kind is not TokenKind.END:
        old = render_path(take_path(cursor))
        cursor.expect("=")
        found[old] = render_path(take_path(cursor))
        if not cursor.accept(","):
            cursor.expect_end()
    return found


def parse_paths(text: str | None) -> list[str]:
    """Columns.

    Raises:
        InvalidRequestError: it does not parse.

    >>> parse_paths("a, b.c")
    ['a', 'b.c']
    """
    found: list[str] = []
    cursor = Cursor(text or "", "list of columns")
    while cursor.token.kind is not TokenKind.END:
        found.append(render_path(take_path(cursor)))
        if not cursor.accept(","):
            cursor.expect_end()
    return found
