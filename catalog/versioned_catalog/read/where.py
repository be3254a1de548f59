"""Conditions in SQL: ``host = 'a' AND n > 1``."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any

from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.read.dialects import TEXT_OPERATORS, ColumnOperator, column_filter
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    NullTest,
    OneOf,
    Op,
    UnboundFilter,
)

_DEEPEST = 50


def parse_where(text: str, zone: tzinfo = UTC) -> UnboundFilter:
    """Parse a condition: comparisons with constants, ``IN``, ``BETWEEN``, ``IS NULL``, AND, OR, NOT.

    Constants are numbers, ``'text'``, ``TRUE``, ``FALSE``, ``DATE '…'``, ``TIMESTAMP_NTZ '…'`` and
    ``TIMESTAMP '…'``.

    Args:
        text: the condition.
        zone: where a ``TIMESTAMP '…'`` without an offset is.

    Raises:
        InvalidRequestError: it does not parse.
    """
    cursor = Cursor(text, "condition")
    condition = _disjunction(cursor, 0, zone)
    cursor.expect_end()
    return condition


def _disjunction(
    cursor: Cursor, depth: int, zone: tzinfo, first: UnboundFilter | None = None
) -> UnboundFilter:
    """Conditions joined by OR; ``first`` is one that was parsed already."""
    parts = [_conjunction(cursor, depth, zone, first)]
    while cursor.accept_word("OR"):
        parts.append(_conjunction(cursor, depth, zone))
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def _conjunction(
    cursor: Cursor, depth: int, zone: tzinfo, first: UnboundFilter | None = None
) -> UnboundFilter:
    parts = [_condition(cursor, depth, zone) if first is None else first]
    while cursor.accept_word("AND"):
        parts.append(_condition(cursor, depth, zone))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _condition(cursor: Cursor, depth: int, zone: tzinfo) -> UnboundFilter:
    parsed = _parsed(cursor, depth, zone)
    # A column in parentheses is no condition yet.
    return _test(cursor, parsed, zone) if isinstance(parsed, tuple) else parsed


def _parsed(cursor: Cursor, depth: int, zone: tzinfo) -> UnboundFilter | ColumnPath:
    """A condition, or a column in parentheses, which a test follows."""
    if depth > _DEEPEST:
        raise cursor.error(
            f"parentheses and NOT may be nested up to {_DEEPEST} deep; flatten the condition"
        )
    if cursor.accept_word("NOT"):
        return Not(_condition(cursor, depth + 1, zone))
    if not cursor.accept("("):
        return _test(cursor, take_path(cursor), zone)
    inner = _begin_of_group(cursor, depth + 1, zone)
    if not isinstance(inner, tuple):
        inner = _disjunction(cursor, depth + 1, zone, inner)
    cursor.expect(")")
    return inner


def _begin_of_group(cursor: Cursor, depth: int, zone: tzinfo) -> UnboundFilter | ColumnPath:
    """The first condition in parentheses, or the column that is alone there."""
    parsed = (
        _parsed(cursor, depth, zone)
        if cursor.at_symbol("(") or cursor.at_word("NOT")
        else take_path(cursor)
    )
    if isinstance(parsed, tuple) and not cursor.at_symbol(")"):
        return _test(cursor, parsed, zone)
    return parsed


def _test(cursor: Cursor, path: ColumnPath, zone: tzinfo) -> UnboundFilter:
    if cursor.accept_word("IS"):
        negated = cursor.accept_word("NOT")
        cursor.expect_word("NULL")
        return Not(NullTest(path)) if negated else NullTest(path)
    negated = cursor.accept_word("NOT")
    if negated or cursor.at_word("IN", "BETWEEN"):
        word = cursor.expect_word("IN", "BETWEEN")
        test = _in(cursor, path, zone) if word == "IN" else _between(cursor, path, zone)
        return Not(test) if negated else test
    operator = _operator(cursor)
    return column_filter(operator, path, _value(cursor, zone))


def _in(cursor: Cursor, path: ColumnPath, zone: tzinfo) -> UnboundFilter:
    cursor.expect("(")
    values = [_value(cursor, zone)]
    while cursor.accept(","):
        values.append(_value(cursor, zone))
    cursor.expect(")")
    return OneOf(path, tuple(values))


def _between(cursor: Cursor, path: ColumnPath, zone: tzinfo) -> UnboundFilter:
    low = _value(cursor, zone)
    cursor.expect_word("AND")
    return AllOf((Comparison(path, Op.GE, low), Comparison(path, Op.LE, _value(cursor, zone))))


def _operator(cursor: Cursor) -> ColumnOperator:
    name = ""
    while cursor.at_symbol("=", "<", ">", "!") and len(name) < 3:
        name += cursor.take().text
    if name not in TEXT_OPERATORS:
        raise cursor.error("a comparison with a constant was expected, as in host = 'a'")
    return TEXT_OPERATORS[name]


def _value(cursor: Cursor, zone: tzinfo, depth: int = 0) -> Any:
    if depth <= _DEEPEST and cursor.accept("("):
        value = _value(cursor, zone, depth + 1)
        cursor.expect(")")
        return value
    if cursor.token.kind is TokenKind.STRING:
        return cursor.string()
    word = cursor.accept_word("TRUE", "FALSE", "NULL", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
    if word in ("TRUE", "FALSE"):
        return word == "TRUE"
    if word == "NULL":
        return None
    if word is not None:
        return _time(cursor, word, zone)
    return _number(cursor)


def _time(cursor: Cursor, word: str, zone: tzinfo) -> date | datetime:
    error = cursor.error(f"a {word} as in {word} '2026-01-31' was expected")
    try:
        if word == "DATE":
            return date.fromisoformat(cursor.string())
        time = datetime.fromisoformat(cursor.string().replace("Z", "+00:00"))
    except ValueError:
        raise error from None
    if word == "TIMESTAMP":
        return time.replace(tzinfo=zone) if time.tzinfo is None else time
    if time.tzinfo is not None:
        raise error
    return time


def _number(cursor: Cursor) -> int | Decimal:
    sign = cursor.take().text if cursor.at_symbol("-", "+") else ""
    text = sign + cursor.token.text
    unfit = cursor.error("a constant was expected: a number, 'text', TRUE, DATE '…', TIMESTAMP '…'")
    if cursor.token.kind is not TokenKind.NUMBER or len(text) > 1000:
        raise unfit
    cursor.take()
    try:
        return int(text) if text.lstrip("+-").isdigit() else Decimal(text)
    except InvalidOperation:
        raise unfit from None
