"""Functions and operators of SQL expressions over Arrow arrays and scalars, as in Spark's ANSI mode.

Integer overflow and division by zero are errors; an operation on null is null, except ``coalesce``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import integers

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


def _modulo(left: Values, right: Values) -> Values:
    """The remainder of integers, which is not negative for a positive divisor."""
    left, right = _numbers(left, right, "pmod")
    if not (left.type in _INTEGER_DIGITS and right.type in _INTEGER_DIGITS):
        raise TypeError("pmod takes integers")
    wider = max(left.type, right.type, key=_INTEGER_DIGITS.__getitem__)
    if wider in (pa.int8(), pa.int16()):  # which Java adds as INT
        return _modulo(left.cast(pa.int32()), right.cast(pa.int32())).cast(wider)
    rest = _remainder(left, right)
    return pc.if_else(pc.less(rest, 0), _remainder(pc.add(rest, right), right), rest)


def _part(kernel: Callable[..., Values], *, of_day: bool = False) -> Callable[[Values], Values]:
    """A part of a date, or of a time of day."""

    def compute(values: Values) -> Values:
        kind = values.type
        if not (pa.types.is_timestamp(kind) or (pa.types.is_date(kind) and not of_day)):
            raise TypeError(f"a date or timestamp is expected, not {kind}")
        return kernel(values).cast(pa.int32())

    return compute


def _date(values: Values) -> Values:
    if not (pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)):
        raise TypeError(f"CAST takes dates and timestamps to DATE, not {values.type}")
    return values.cast(pa.date32(), safe=False)


def _text(values: Values) -> Values:
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_string(kind)):
        raise TypeError(f"CAST takes integers and dates to STRING, not {kind}")
    return values.cast(pa.string())


def _integer(kind: pa.DataType) -> Callable[[Values], Values]:
    def compute(values: Values) -> Values:
        if not pa.types.is_integer(values.type):
            raise TypeError(f"CAST takes integers to integers, not {values.type}")
        return values.cast(kind)

    return compute


_TRUNCATED_TO = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
}


def _truncate(values: Values, to: Values) -> Values:
    unit = _TRUNCATED_TO.get(str(_constant(to, "trunc")).lower())
    if unit is None:
        raise TypeError(f"trunc takes {', '.join(_TRUNCATED_TO)}, not {to.as_py()!r}")
    return pc.floor_temporal(_date(values), unit=unit).cast(pa.date32())


def _constant(values: Values, function: str) -> Any:
    if not isinstance(values, pa.Scalar) or not values.is_valid:
        raise TypeError(f"{function} takes constants after its first argument")
    return values.as_py()


def _substring(values: Values, start: Values, size: Values | None = None) -> Values:
    if not pa.types.is_string(values.type):
        raise TypeError(f"substring takes text, not {values.type}")
    first = _constant(start, "substring")
    length = None if size is None else _constant(size, "substring")
    if not isinstance(first, int) or first < 1 or not isinstance(length, int | None):
        raise TypeError("substring counts characters from 1")
    stop = None if length is None else first - 1 + max(length, 0)
    return pc.utf8_slice_codeunits(values, first - 1, stop)


def _length(values: Values) -> Values:
    if not pa.types.is_string(values.type):
        raise TypeError(f"length takes text, not {values.type}")
    return pc.utf8_length(values)


def _absolute(values: Values) -> Values:
    if not _is_number(values.type):
        raise TypeError(f"abs takes numbers, not {values.type}")
    return pc.abs_checked(values)


def _concat(*values: Values) -> Values:
    return reduce(_concatenate, values, pa.scalar(""))


def _day_of_week(values: Values) -> Values:
    return pc.day_of_week(values, count_from_zero=False, week_start=7)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or operator.

    Args:
        compute: computes it from Arrow arrays and scalars; raises TypeError if it takes no such types.
        least, most: the number of arguments.
        local: whether its first argument, if it is a TIMESTAMP, is meant in a time zone.
    """

    compute: Callable[..., Values]
    least: int = 1
    most: int = 1
    local: bool = False


_OF_TWO: dict[str, Any] = {"least": 2, "most": 2}
_ANY = 100

OPERATORS = {
    "+": Function(_arithmetic("add_checked", "+"), **_OF_TWO),
    "-": Function(_arithmetic("subtract_checked", "-"), **_OF_TWO),
    "*": Function(_arithmetic("multiply_checked", "*"), **_OF_TWO),
    "/": Function(_divide, **_OF_TWO),
    "%": Function(_remainder, **_OF_TWO),
    "||": Function(_concatenate, **_OF_TWO),
    "negate": Function(pc.negate_checked),
}
"""The operators."""

CASTS = {
    "DATE": Function(_date, local=True),
    "STRING": Function(_text),
    "TINYINT": Function(_integer(pa.int8())),
    "SMALLINT": Function(_integer(pa.int16())),
    "INT": Function(_integer(pa.int32())),
    "BIGINT": Function(_integer(pa.int64())),
}
"""The types that CAST takes a value to."""

FUNCTIONS = {
    "abs": Function(_absolute),
    "coalesce": Function(_coalesce, most=_ANY),
    "concat": Function(_concat, most=_ANY),
    "day": Function(_part(pc.day), local=True),
    "dayofmonth": Function(_part(pc.day), local=True),
    "dayofweek": Function(_part(_day_of_week), local=True),
    "dayofyear": Function(_part(pc.day_of_year), local=True),
    "hour": Function(_part(pc.hour, of_day=True), local=True),
    "length": Function(_length),
    "minute": Function(_part(pc.minute, of_day=True), local=True),
    "month": Function(_part(pc.month), local=True),
    "pmod": Function(_modulo, **_OF_TWO),
    "quarter": Function(_part(pc.quarter), local=True),
    "second": Function(_part(pc.second, of_day=True), local=True),
    "substr": Function(_substring, least=2, most=3),
    "substring": Function(_substring, least=2, most=3),
    "trunc": Function(_truncate, local=True, **_OF_TWO),
    "weekofyear": Function(_part(pc.iso_week), local=True),
    "year": Function(_part(pc.year), local=True),
}
"""The functions by their names in Spark's SQL."""

CAST = "cast as "


def function_of(name: str) -> Function:
    """The function of a call in a parsed expression."""
    if name.startswith(CAST):
        return CASTS[name.removeprefix(CAST)]
    return OPERATORS.get(name) or FUNCTIONS[name]


def in_zone(values: Values, zone: str) -> Values:
    """A TIMESTAMP as the local time in a zone; other values as they are."""
    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return values
    if isinstance(values, pa.Scalar):
        return in_zone(pa.array([values.as_py()], kind), zone)[0]
    local = pc.local_timestamp(values.cast(pa.timestamp("us", zone)))
    if zone[0] in "+-" or zone == "UTC":
        return local
    # Arrow knows no changes of the offset after 2037.
    late = pc.fill_null(pc.greater_equal(values.cast(pa.int64()), _ARROW_KNOWS), False)
    if not late.true_count:
        return local
    offsets = _late_offsets(integers(values.filter(late).cast(pa.int64())), ZoneInfo(zone))
    right = pc.add(values.filter(late).cast(pa.int64()), pa.array(offsets)).cast(local.type)
    return pc.replace_with_mask(local, late, right)


_ARROW_KNOWS = int(datetime(2037, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_QUARTER_HOUR = 900 * 1_000_000
_CYCLE = 146_097 * 86_400 * 1_000_000
"""400 years, after which the calendar repeats, with the days of the week."""


def _late_offsets(micros: npt.NDArray[np.int64], zone: ZoneInfo) -> npt.NDArray[np.int64]:
    """The offsets of times since 2037, in microseconds; they change at quarter hours only."""
    quarters = ((micros - _ARROW_KNOWS) % _CYCLE + _ARROW_KNOWS) // _QUARTER_HOUR
    distinct, places = np.unique(quarters, return_inverse=True)
    offsets = [
        datetime.fromtimestamp(quarter * 900, zone).utcoffset() or timedelta()
        for quarter in distinct.tolist()
    ]
    return np.array([int(o.total_seconds()) * 1_000_000 for o in offsets], np.int64)[places]


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
