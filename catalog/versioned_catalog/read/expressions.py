"""SQL expressions over the columns of a row: parsed, evaluated and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.read.dialects import Call, Field, Node, Value
from versioned_catalog.read.functions import (
    CAST,
    CASTS,
    FUNCTIONS,
    MOST_DIGITS,
    OPERATORS,
    Values,
    function_of,
    in_zone,
)


def evaluate(node: Node, column_of: Callable[[Field], Values], zone: str = "UTC") -> Values:
    """The value of an expression, as an array, or as a scalar if it is the same in every row.

    Args:
        column_of: returns the values of a column.
        zone: the time zone in which parts of a TIMESTAMP are taken.

    Raises:
        pa.ArrowException: a number overflows, or a divisor is zero.
        TypeError: a function takes no values of such a type.
    """
    match node:
        case Value(scalar):
            return scalar
        case Field():
            return column_of(node)
        case Call(name, arguments):
            values = [evaluate(argument, column_of, zone) for argument in arguments]
            function = function_of(name)
            if function.local:
                values[0] = in_zone(values[0], zone)
            return function.compute(*values)


def render(node: Node, column: Callable[[Field, bool], str]) -> str:
    """An expression as SQL.

    Args:
        column: the SQL of a column, and whether it is taken as a local time if it is a TIMESTAMP.
    """
    text = _rendered(node, column, local=False)
    is_operation = isinstance(node, Call) and node.name in OPERATORS
    return text[1:-1] if is_operation else text


def _rendered(node: Node, column: Callable[[Field, bool], str], *, local: bool) -> str:
    match node:
        case Value(scalar):
            return _value_sql(scalar)
        case Field():
            return column(node, local)
        case Call(name, arguments):
            takes_local = function_of(name).local
            texts = [
                _rendered(part, column, local=takes_local if at == 0 else False)
                if name != "coalesce"
                else _rendered(part, column, local=local)
                for at, part in enumerate(arguments)
            ]
            if name.startswith(CAST):
                return f"CAST({texts[0]} AS {name.removeprefix(CAST)})"
            if name == "negate":
                return f"(- {texts[0]})"
            if name in OPERATORS:
                return f"({f' {name} '.join(texts)})"
            return f"{name}({', '.join(texts)})"


def _value_sql(scalar: pa.Scalar) -> str:
    value, kind = scalar.as_py(), scalar.type
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return sql_string(value)
    suffix = "L" if kind == pa.int64() else "D" if isinstance(value, float) else ""
    text = f"{format(value, 'f') if isinstance(value, Decimal) else value}{suffix}"
    return f"({text})" if text.startswith("-") else text


_DEEPEST = 50
"""How deep an expression may be nested."""
_OPERATORS = (("||", "+", "-"), ("*", "/", "%"))
"""The binary operators; as in Spark, ``||`` binds as ``+`` does."""


def parse(text: str) -> Node:
    """Parse an expression. Raises InvalidRequestError on a syntax error."""
    cursor = Cursor(text, "expression")
    node = _binary(cursor, 0)
    cursor.expect_end()
    return node


def _binary(cursor: Cursor, depth: int, operators: Sequence[Sequence[str]] = _OPERATORS) -> Node:
    """Operands and operators, the least tightly binding ones first."""
    if not operators:
        return _signed(cursor, depth)
    node = _binary(cursor, depth, operators[1:])
    while name := _operator(cursor, operators[0]):
        node = Call(name, (node, _binary(cursor, depth, operators[1:])))
    return node


def _operator(cursor: Cursor, names: Sequence[str]) -> str | None:
    if cursor.at_symbol(*names):
        return cursor.take().text
    if "||" in names and cursor.at_symbol("|") and cursor.peek().text == "|":
        return cursor.take().text + cursor.take().text
    return None


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
        node = _binary(cursor, depth + 1)
        cursor.expect(")")
        return node
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
    if cursor.at_word("CAST"):
        return _cast(cursor, depth)
    name = cursor.token.text.lower()
    if name not in FUNCTIONS:
        raise cursor.error(f"a function was expected: CAST(… AS …), {', '.join(FUNCTIONS)}")
    unfit = cursor.error(f"{name} has another number of arguments")
    cursor.take()
    cursor.expect("(")
    parts = [_binary(cursor, depth + 1)]
    while cursor.accept(","):
        parts.append(_binary(cursor, depth + 1))
    cursor.expect(")")
    if not FUNCTIONS[name].least <= len(parts) <= FUNCTIONS[name].most:
        raise unfit
    return Call(name, tuple(parts))


_TYPE_NAMES = {"INTEGER": "INT", "LONG": "BIGINT", "BYTE": "TINYINT", "SHORT": "SMALLINT"}


def _cast(cursor: Cursor, depth: int) -> Call:
    cursor.take()
    cursor.expect("(")
    value = _binary(cursor, depth + 1)
    cursor.expect_word("AS")
    name = cursor.expect_word(*CASTS, *_TYPE_NAMES)
    cursor.expect(")")
    return Call(CAST + _TYPE_NAMES.get(name, name), (value,))


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
    scalar = pa.scalar(value)
    if scalar.type.precision > MOST_DIGITS:
        raise OverflowError
    return scalar
