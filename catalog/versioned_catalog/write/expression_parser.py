"""The parser of SQL expressions in updates."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa

from versioned_catalog.expressions.dialects import Call, Field, Node, Value
from versioned_catalog.schema.statements import take_path
from versioned_catalog.types.tokens import Cursor, TokenKind
from versioned_catalog.write.sql_functions import MOST_DIGITS

_DEEPEST = 50
"""How deep an expression may be nested."""


def parse(text: str) -> Node:
    """Parse an expression. Raises InvalidRequestError on a syntax error."""
    cursor = Cursor(text, "expression")
    found = _concatenation(cursor, 0)
    cursor.expect_end()
    return found


def _concatenation(cursor: Cursor, depth: int) -> Node:
    """In Spark, ``||`` binds less tightly than ``+``."""
    found = _sum(cursor, depth)
    while cursor.at_symbol("|") and cursor.peek().text == "|":
        cursor.take()
        cursor.take()
        found = Call("||", (found, _sum(cursor, depth)))
    return found


def _sum(cursor: Cursor, depth: int) -> Node:
    found = _product(cursor, depth)
    while cursor.at_symbol("+", "-"):
        found = Call(cursor.take().text, (found, _product(cursor, depth)))
    return found


def _product(cursor: Cursor, depth: int) -> Node:
    found = _signed(cursor, depth)
    while cursor.at_symbol("*", "/", "%"):
        found = Call(cursor.take().text, (found, _signed(cursor, depth)))
    return found


def _signed(cursor: Cursor, depth: int) -> Node:
    if depth > _DEEPEST:
        raise cursor.error(f"it is nested more than {_DEEPEST} deep; make it flatter")
    if cursor.accept("-"):
        if cursor.token.kind is TokenKind.NUMBER:
            return _number(cursor, "-")
        return Call("negate", (_signed(cursor, depth + 1),))
    if cursor.accept("+"):
        return _signed(cursor, depth + 1)
    if cursor.accept("("):
        found = _concatenation(cursor, depth + 1)
        cursor.expect(")")
        return found
    return _single(cursor, depth)


def _single(cursor: Cursor, depth: int) -> Node:
    match cursor.token.kind:
        case TokenKind.NUMBER:
            return _number(cursor, "")
        case TokenKind.STRING:
            return Value(pa.scalar(cursor.string()))
        case TokenKind.WORD if cursor.peek().text == "(":
            return _call(cursor, depth)
    word = cursor.accept_word("TRUE", "FALSE", "NULL")
    if word is not None:
        return Value(pa.scalar({"TRUE": True, "FALSE": False, "NULL": None}[word]))
    return Field(take_path(cursor))


def _call(cursor: Cursor, depth: int) -> Call:
    if not cursor.at_word("COALESCE"):
        raise cursor.error("the only function is coalesce(…); use pyarrow.compute for others")
    cursor.take()
    cursor.expect("(")
    parts = [_concatenation(cursor, depth + 1)]
    while cursor.accept(","):
        parts.append(_concatenation(cursor, depth + 1))
    cursor.expect(")")
    return Call("coalesce", tuple(parts))


def _number(cursor: Cursor, sign: str) -> Value:
    """A number in Spark's type: INT, else BIGINT, else DECIMAL; or as a suffix or exponent says."""
    unfit = cursor.error("a number was expected")
    text = cursor.take().text.upper()
    try:
        match text[-1]:
            case "L":
                return Value(pa.scalar(int(sign + text[:-1]), pa.int64()))
            case "D" if not text.endswith("BD"):
                return Value(_double(sign + text[:-1]))
            case _ if "E" in text and not text.endswith("BD"):
                return Value(_double(sign + text))
            case _ if text.isdigit() and -(2**63) <= int(sign + text) < 2**63:
                value = int(sign + text)
                return Value(
                    pa.scalar(value, pa.int32() if -(2**31) <= value < 2**31 else pa.int64())
                )
        return Value(_decimal(Decimal(sign + text.removesuffix("BD"))))
    except (ArithmeticError, ValueError, pa.ArrowException):
        raise unfit from None


def _double(text: str) -> pa.Scalar:
    value = float(text)
    if math.isinf(value):
        raise OverflowError
    return pa.scalar(value)


def _decimal(value: Decimal) -> pa.Scalar:
    found = pa.scalar(value)
    if found.type.precision > MOST_DIGITS:
        raise OverflowError
    return found
