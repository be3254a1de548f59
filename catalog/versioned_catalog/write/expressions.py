"""Values that an update computes of a row, as SQL writes them: ``expr("n + 1")``.

The semantics are those of Spark's ANSI mode: integers overflow with an error, a division by zero is one,
and null makes null of everything but ``coalesce``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.projection.arrays import struct_child
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.tokens import Cursor, Kind, clip
from versioned_catalog.types.types import Column, Struct, is_repeated

_DEEPEST = 50
_DIGITS = 38
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}

Values = Any
"""An Arrow array, or a scalar that stands for the same value in every row."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A value that is computed of the row as it was, by SQL text; made by ``expr``.

    Args:
        text: columns, literals, ``+ - * / %``, ``||``, ``coalesce(…)`` and parentheses.
    """

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


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a column, or of a field of a struct."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class Known:
    """The same value in every row."""

    scalar: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function of other values."""

    operator: str
    parts: tuple[Term, ...]


Term = Name | Known | Call


def parse(text: str) -> Term:
    """What an expression says.

    Raises:
        InvalidRequestError: it is none.
    """
    cursor = Cursor(text, "expression")
    found = _concatenation(cursor, 0)
    cursor.expect_end()
    return found


def _concatenation(cursor: Cursor, depth: int) -> Term:
    """As in Spark, ``||`` binds looser than ``+``."""
    found = _sum(cursor, depth)
    while cursor.at_symbol("|") and cursor.peek().text == "|":
        cursor.take()
        cursor.take()
        found = Call("||", (found, _sum(cursor, depth)))
    return found


def _sum(cursor: Cursor, depth: int) -> Term:
    found = _product(cursor, depth)
    while cursor.at_symbol("+", "-"):
        found = Call(cursor.take().text, (found, _product(cursor, depth)))
    return found


def _product(cursor: Cursor, depth: int) -> Term:
    found = _signed(cursor, depth)
    while cursor.at_symbol("*", "/", "%"):
        found = Call(cursor.take().text, (found, _signed(cursor, depth)))
    return found


def _signed(cursor: Cursor, depth: int) -> Term:
    if depth > _DEEPEST:
        raise cursor.error(f"it is nested more than {_DEEPEST} deep; make it flatter")
    if cursor.accept("-"):
        if cursor.token.kind is Kind.NUMBER:
            return _number(cursor, "-")
        return Call("negate", (_signed(cursor, depth + 1),))
    if cursor.accept("+"):
        return _signed(cursor, depth + 1)
    if cursor.accept("("):
        found = _concatenation(cursor, depth + 1)
        cursor.expect(")")
        return found
    return _single(cursor, depth)


def _single(cursor: Cursor, depth: int) -> Term:
    match cursor.token.kind:
        case Kind.NUMBER:
            return _number(cursor, "")
        case Kind.STRING:
            return Known(pa.scalar(cursor.string()))
        case Kind.WORD if cursor.peek().text == "(":
            return _call(cursor, depth)
    word = cursor.accept_word("TRUE", "FALSE", "NULL")
    if word is not None:
        return Known(pa.scalar({"TRUE": True, "FALSE": False, "NULL": None}[word]))
    names = [cursor.name()]
    while cursor.accept("."):
        names.append(cursor.name())
    return Name(tuple(names))


def _call(cursor: Cursor, depth: int) -> Call:
    if not cursor.at_word("COALESCE"):
        raise cursor.error("the one function is coalesce(…); compute others with pyarrow.compute")
    cursor.take()
    cursor.expect("(")
    parts = [_concatenation(cursor, depth + 1)]
    while cursor.accept(","):
        parts.append(_concatenation(cursor, depth + 1))
    cursor.expect(")")
    return Call("coalesce", tuple(parts))


def _number(cursor: Cursor, sign: str) -> Known:
    """A number of Spark's type: INT, else BIGINT, else DECIMAL, but for suffixes and exponents."""
    unfit = cursor.error("a number was expected")
    text = cursor.take().text.upper()
    try:
        match text[-1]:
            case "L":
                return Known(pa.scalar(int(sign + text[:-1]), pa.int64()))
            case "D" if not text.endswith("BD"):
                return Known(_double(sign + text[:-1]))
            case _ if "E" in text and not text.endswith("BD"):
                return Known(_double(sign + text))
            case _ if text.isdigit() and -(2**63) <= int(sign + text) < 2**63:
                value = int(sign + text)
                return Known(
                    pa.scalar(value, pa.int32() if -(2**31) <= value < 2**31 else pa.int64())
                )
        return Known(_decimal(Decimal(sign + text.removesuffix("BD"))))
    except (ArithmeticError, ValueError, pa.ArrowException):
        raise unfit from None


def _double(text: str) -> pa.Scalar:
    value = float(text)
    if math.isinf(value):
        raise OverflowError
    return pa.scalar(value)


def _decimal(value: Decimal) -> pa.Scalar:
    found = pa.scalar(value)
    if found.type.precision > _DIGITS:
        raise OverflowError
    return found


class Evaluator:
    """Computes an expression for rows, as a column stores it.

    Args:
        expression: what is computed.
        target: the column that it is assigned to.
        schema: the table's.
        table: the table, for errors.

    Raises:
        NotFoundError: it names a column that is not there.
        InvalidRequestError: it looks into a list or map.
    """

    def __init__(self, expression: Expression, target: Column, schema: Schema, table: str) -> None:
        self._text = clip(expression.text)
        self._target = target
        self._schema = schema
        self._table = table
        self._term = parse(expression.text)
        _check(self._term, schema, table)

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """The values for rows.

        Args:
            batch: rows as the table stores them, with all its columns.

        Raises:
            InvalidRequestError: the types do not go together, a number overflows, or a divisor is zero.
        """
        try:
            found = _stored(self._values(self._term, batch), to_arrow_type(self._target.type))
        except (pa.ArrowException, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"{self._table}: {self._text} can't be computed for the column {self._target.name}: "
                f"{reason}"
            ) from None
        return pa.repeat(found, batch.num_rows) if isinstance(found, pa.Scalar) else found

    def _values(self, term: Term, batch: pa.RecordBatch) -> Values:
        match term:
            case Known(scalar):
                return scalar
            case Name(path):
                return _column(self._schema, path, batch)
            case Call(operator, parts):
                values = [self._values(part, batch) for part in parts]
                return _OPERATORS[operator](*values)


def _check(term: Term, schema: Schema, table: str) -> None:
    match term:
        case Name(path):
            column = schema.find(path)
            if column is None:
                raise NotFoundError(
                    f"{table} has no column {render_path(path)}; the columns are "
                    f"{', '.join(schema.names)}; text stands in quotes: 'a'"
                )
            if is_repeated(schema.ancestors(column.id)):
                raise InvalidRequestError(
                    f"{table}: {render_path(path)} has many values in one row, since it is inside a "
                    "list or map"
                )
        case Call(_, parts):
            for part in parts:
                _check(part, schema, table)
        case Known():
            return


def _column(schema: Schema, path: ColumnPath, batch: pa.RecordBatch) -> pa.Array:
    column = schema.get(path)
    chain = [*schema.ancestors(column.id), column]
    top = [one.id for one in schema.columns].index(chain[0].id)
    found = batch.column(top)
    for above, inner in pairwise(chain):
        assert isinstance(above.type, Struct), "lists and maps were refused"
        at = [field.id for field in above.type.fields].index(inner.id)
        parent = found
        found = pc.if_else(
            parent.is_valid(),
            struct_child(parent, at),
            pa.scalar(None, struct_child(parent, at).type),
        )
    return found


def _numbers(left: Values, right: Values, operator: str) -> tuple[Values, Values]:
    """Two operands as Spark widens them to each other."""
    for value in (left, right):
        if not (_is_number(value.type) or pa.types.is_null(value.type)):
            raise TypeError(f"{operator} takes numbers, not {value.type}")
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        known = right.type if pa.types.is_null(left.type) else left.type
        return left.cast(known), right.cast(known)
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
    """The nearest floating-point numbers; Arrow's own cast of decimals may miss them by one bit."""
    if pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.string())
    return values if values.type == kind else pc.cast(values, kind, safe=False)


def _to_decimal(values: Values) -> Values:
    """Integers as the decimals that Spark takes them for, which decide what fits."""
    digits = _INTEGER_DIGITS.get(values.type)
    return values if digits is None else values.cast(pa.decimal128(digits, 0))


def _check_common(kinds: list[pa.DataType]) -> None:
    """Refuse decimals that Spark would round to hold them in one type."""
    scale = max(kind.scale for kind in kinds)
    if scale + max(kind.precision - kind.scale for kind in kinds) > _DIGITS:
        raise TypeError(f"coalesce: no DECIMAL holds the digits of {' and '.join(map(str, kinds))}")


def _arithmetic(kernel: str, operator: str) -> Callable[[Values, Values], Values]:
    def compute(left: Values, right: Values) -> Values:
        return pc.call_function(kernel, list(_numbers(left, right, operator)))

    return compute


def _divide(left: Values, right: Values) -> Values:
    """``/`` of integers is a DOUBLE, as in Spark; its rules for decimals are not known here."""
    left, right = _numbers(left, right, "/")
    if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        raise TypeError("decimals are not divided here; multiply, or compute with pyarrow.compute")
    return pc.divide_checked(_to_float(left, pa.float64()), _to_float(right, pa.float64()))


def _remainder(left: Values, right: Values) -> Values:
    """The remainder of integers, with the sign of the dividend."""
    left, right = _numbers(left, right, "%")
    if not (pa.types.is_integer(left.type) and pa.types.is_integer(right.type)):
        raise TypeError("% takes integers")
    # The least integer divided by -1 overflows, though the remainder is 0.
    divisor = pc.if_else(pc.equal(right, -1), pa.scalar(1, right.type), right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, divisor), divisor))


def _concatenate(left: Values, right: Values) -> Values:
    for value in (left, right):
        if not (pa.types.is_string(value.type) or pa.types.is_null(value.type)):
            raise TypeError(f"|| takes text, not {value.type}")
    return pc.binary_join_element_wise(left.cast(pa.string()), right.cast(pa.string()), "")


def _coalesce(*values: Values) -> Values:
    known = [value for value in values if not pa.types.is_null(value.type)]
    if not known:
        return values[0]
    if all(_is_number(value.type) for value in known):
        known = [
            reduce(lambda left, right: _numbers(left, right, "coalesce")[0], known, v)
            for v in known
        ]
        if all(pa.types.is_decimal(value.type) for value in known):
            _check_common([value.type for value in known])
    elif any(value.type != known[0].type for value in known):
        # Arrow takes a date for midnight in UTC, and bytes for text.
        raise TypeError(f"coalesce takes values of one type, not {known[0].type} and others")
    return pc.coalesce(*known)


_OPERATORS: dict[str, Callable[..., Values]] = {
    "+": _arithmetic("add_checked", "+"),
    "-": _arithmetic("subtract_checked", "-"),
    "*": _arithmetic("multiply_checked", "*"),
    "/": _divide,
    "%": _remainder,
    "negate": pc.negate_checked,
    "||": _concatenate,
    "coalesce": _coalesce,
}


def _stored(values: Values, kind: pa.DataType) -> Any:
    """Numbers as a column stores them, as Spark assigns them; the rest is the writer's to refuse."""
    has = values.type
    if has == kind or pa.types.is_null(has) or not (_is_number(has) and _is_number(kind)):
        return values.cast(kind) if pa.types.is_null(has) else values
    if pa.types.is_integer(kind):
        return values.cast(kind) if pa.types.is_integer(has) else values
    if pa.types.is_decimal(kind) and not pa.types.is_floating(has):
        if pa.types.is_decimal(has):
            room = pa.decimal256(_DIGITS + 1 + has.scale, has.scale)  # 9.99 becomes 10.0
            values = pc.round(values.cast(room), kind.scale, "half_towards_infinity")
        return values.cast(pa.decimal128(_DIGITS, kind.scale)).cast(kind)
    return _to_float(values, kind) if pa.types.is_floating(kind) else values
