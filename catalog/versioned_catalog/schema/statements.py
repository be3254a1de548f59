"""Parts that statements of DDL have in common."""

from __future__ import annotations

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.tokens import Cursor, TokenKind


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
    found: dict[str, str] = {}
    cursor.expect("(")
    while True:
        key = take_key(cursor)
        if key in found:
            raise InvalidRequestError(f"the property {key} is given twice; name it once")
        cursor.accept("=")
        found[key] = _value(cursor)
        if not cursor.accept(","):
            cursor.expect(")")
            return found


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
    found = [take_field(cursor)]
    while cursor.accept(","):
        found.append(take_field(cursor))
    cursor.expect(")")
    return tuple(found)


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
