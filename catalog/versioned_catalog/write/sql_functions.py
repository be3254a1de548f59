"""The operators and functions of SQL expressions, by Spark's ANSI rules, on Arrow values."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
        # Arrow would cast dates to timestamps, and bytes to text.
        raise TypeError(f"coalesce takes values of one type, not {known[0].type} and others")
    return pc.coalesce(*known)


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
