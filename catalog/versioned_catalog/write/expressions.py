"""SQL expressions in updates: ``expr("n + 1")``, with the semantics of Spark's ANSI mode.

Integer overflow and division by zero are errors; an operation on null is null, except ``coalesce``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.ddl import take_path
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import Cursor, TokenKind, clip
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column, is_repeated
from versioned_catalog.read.dialects import Call, Field, Node, Value
from versioned_catalog.write.segment_writer import column_of

MOST_DIGITS = 38
"""The greatest precision of a DECIMAL."""
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}

Values = Any
"""An Arrow array, or a scalar: the same value in every row."""


def _numbers(left: Values, right: Values, operator: str) -> tuple[Values, Values]:
    """Cast two operands to the type that Spark casts both to."""
    for value in (left, right):
        if not (_is_number(value.type) or pa.types.is_null(value.type)):
            raise TypeError(f"{operator} takes numbers, not {value.type}")
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        common = right.type if pa.types.is_null(left.type) else left.type
        return left.cast(common), right.cast(common)
    if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
        kind = left.type if left.type == right.type else pa.float64()
        return _to_float(left, kind), _to_float(right, kind)
    if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        return _to_decimal(left), _to_decimal(right)
    return left, right


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _to_float(values: Values, kind: pa.DataType) -> Values:
    """Cast to the nearest floating-point number; Arrow's cast of decimals may be one bit off."""
    if pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.string())
    return values if values.type == kind else pc.cast(values, kind, safe=False)


def _to_decimal(values: Values) -> Values:
    """Cast integers to Spark's decimal type for them, which determines overflow."""
    digits = _INTEGER_DIGITS.get(values.type)
    return values if digits is None else values.cast(pa.decimal128(digits, 0))


def _check_common(kinds: list[pa.DataType]) -> None:
    """Refuse decimals that Spark would round to fit a common type."""
    scale = max(kind.scale for kind in kinds)
    if scale + max(kind.precision - kind.scale for kind in kinds) > MOST_DIGITS:
        raise TypeError(f"coalesce: no DECIMAL holds the digits of {' and '.join(map(str, kinds))}")


def _arithmetic(kernel: str, operator: str) -> Callable[[Values, Values], Values]:
    def compute(left: Values, right: Values) -> Values:
        return pc.call_function(kernel, list(_numbers(left, right, operator)))

    return compute


def _divide(left: Values, right: Values) -> Values:
    """Divide as DOUBLE, as Spark divides integers; its rules for decimals are not implemented."""
    left, right = _numbers(left, right, "/")
    if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        raise TypeError("decimals cannot be divided; multiply, or use a pyarrow.compute expression")
    return pc.divide_checked(_to_float(left, pa.float64()), _to_float(right, pa.float64()))


def _remainder(left: Values, right: Values) -> Values:
    """The remainder of integers, with the sign of the dividend."""
    left, right = _numbers(left, right, "%")
    if not (pa.types.is_integer(left.type) and pa.types.is_integer(right.type)):
        raise TypeError("% takes integers")
    # The least integer divided by -1 overflows, but the remainder is 0.
    divisor = pc.if_else(pc.equal(right, -1), pa.scalar(1, right.type), right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, divisor), divisor))


def _concatenate(left: Values, right: Values) -> Values:
    for value in (left, right):
        if not (pa.types.is_string(value.type) or pa.types.is_null(value.type)):
            raise TypeError(f"|| takes text, not {value.type}")
    return pc.binary_join_element_wise(left.cast(pa.string()), right.cast(pa.string()), "")


def _coalesce(*values: Values) -> Values:
    typed = [value for value in values if not pa.types.is_null(value.type)]
    if not typed:
        return values[0]
    if all(_is_number(value.type) for value in typed):
        typed = [
            reduce(lambda left, right: _numbers(left, right, "coalesce")[0], typed, v)
            for v in typed
        ]
        if all(pa.types.is_decimal(value.type) for value in typed):
            _check_common([value.type for value in typed])
    elif any(value.type != typed[0].type for value in typed):
        # Arrow would cast dates to timestamps, and bytes to text.
        raise TypeError(f"coalesce takes values of one type, not {typed[0].type} and others")
    return pc.coalesce(*typed)


FUNCTIONS: dict[str, Callable[..., Values]] = {
    "+": _arithmetic("add_checked", "+"),
    "-": _arithmetic("subtract_checked", "-"),
    "*": _arithmetic("multiply_checked", "*"),
    "/": _divide,
    "%": _remainder,
    "negate": pc.negate_checked,
    "||": _concatenate,
    "coalesce": _coalesce,
}


def to_stored(values: Values, kind: pa.DataType) -> Any:
    """Cast numbers to the type of a column as Spark does on assignment; leave other types alone."""
    has = values.type
    if has == kind or pa.types.is_null(has) or not (_is_number(has) and _is_number(kind)):
        return values.cast(kind) if pa.types.is_null(has) else values
    if pa.types.is_integer(kind):
        return values.cast(kind) if pa.types.is_integer(has) else values
    if pa.types.is_decimal(kind) and not pa.types.is_floating(has):
        if pa.types.is_decimal(has):
            room = pa.decimal256(MOST_DIGITS + 1 + has.scale, has.scale)  # 9.99 becomes 10.0
            values = pc.round(values.cast(room), kind.scale, "half_towards_infinity")
        return values.cast(pa.decimal128(MOST_DIGITS, kind.scale)).cast(kind)
    return _to_float(values, kind) if pa.types.is_floating(kind) else values


_DEEPEST = 50
"""How deep an expression may be nested."""
_OPERATORS = (("||",), ("+", "-"), ("*", "/", "%"))
"""The binary operators; as in Spark, ``||`` binds less tightly than ``+``."""


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
    if "||" not in names:
        return cursor.take().text if cursor.at_symbol(*names) else None
    if cursor.at_symbol("|") and cursor.peek().text == "|":
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
    if not cursor.at_word("COALESCE"):
        raise cursor.error("the only function is coalesce(…); use pyarrow.compute for others")
    cursor.take()
    cursor.expect("(")
    parts = [_binary(cursor, depth + 1)]
    while cursor.accept(","):
        parts.append(_binary(cursor, depth + 1))
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
    scalar = pa.scalar(value)
    if scalar.type.precision > MOST_DIGITS:
        raise OverflowError
    return scalar


@dataclass(frozen=True, slots=True)
class Expression:
    """An SQL expression over the row as it was before the update. See ``expr``."""

    text: str


def expr(text: str) -> Expression:
    """Return an SQL expression for ``Table.update``; without ``expr``, text is the value itself.

    Args:
        text: columns by name or path, numbers, ``'text'``, TRUE, FALSE, NULL, ``+ - * / %``, ``||`` and
            ``coalesce(a, b, …)``, with Spark's ANSI semantics.

    Raises:
        InvalidRequestError: the text cannot be parsed.

    >>> from versioned_catalog import expr
    >>> table = catalog.create_table("stock", "item STRING, amount BIGINT")
    >>> table.append(pa.table({"item": ["bolt", "nut"], "amount": [4, None]}))
    1
    >>> table.update({"amount": expr("coalesce(amount, 0) + 1")})
    2
    >>> table.scan().to_arrow()["amount"].to_pylist()
    [5, 1]
    """
    parse(text)
    return Expression(text)


class Evaluator:
    """Evaluates an expression, in the type of the column that it is assigned to.

    Args:
        expression: the expression.
        target: the column that it is assigned to.
        schema: the table schema.
        table: the table's name in errors.
    """

    def __init__(self, expression: Expression, target: Column, schema: Schema, table: str) -> None:
        self._text = clip(expression.text)
        self._target = target
        self._schema = schema
        self._table = table
        self._term = parse(expression.text)

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """Evaluate the expression for a batch of rows with all columns of the table.

        Raises:
            NotFoundError: the expression names an unknown column.
            InvalidRequestError: it names a field inside a list or map, the types do not match, a number
                overflows, or a divisor is zero.
        """
        try:
            values = to_stored(self._values(self._term, batch), to_arrow_type(self._target.type))
        except (pa.ArrowException, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"{self._table}: {self._text} cannot be computed for column {self._target.name}: "
                f"{reason}"
            ) from None
        return pa.repeat(values, batch.num_rows) if isinstance(values, pa.Scalar) else values

    def _values(self, term: Node, batch: pa.RecordBatch) -> Values:
        match term:
            case Value(scalar):
                return scalar
            case Field(path):
                return column_of(batch, self._schema, self._column_id(path))
            case Call(operator, parts):
                values = [self._values(part, batch) for part in parts]
                return FUNCTIONS[operator](*values)

    def _column_id(self, path: ColumnPath) -> int:
        column = self._schema.find(path)
        if column is None:
            raise NotFoundError(
                f"{self._table} has no column {render_path(path)}; the columns are "
                f"{', '.join(self._schema.names)}; write text in quotes: 'a'"
            )
        if is_repeated(self._schema.ancestors(column.id)):
            raise InvalidRequestError(
                f"{self._table}: {render_path(path)} has many values in one row, since it is inside a "
                "list or map; name a column or a field of a struct"
            )
        return column.id
