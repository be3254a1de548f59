"""Binding of filters: names become column IDs, values become literals of the columns' types.

A comparison with a value of another type (an INT column with 1.5, a DECIMAL with 0.1, a DATE with a
time of day) is rewritten with values of the column's type: ``x < 1.5`` becomes ``x <= 1``. Binding does
this once, so neither rows nor bounds are ever cast, and comparing them neither overflows nor rounds.

The rules are those of Spark's ANSI mode: integers and decimals compare exactly, and as doubles if
either side is a float; text is parsed where the column holds dates or times. What Spark refuses (a
boolean with a number), or reads by the session's settings, is refused.
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.arrow import Stored, to_arrow_type
from versioned_catalog.model.calendars import temporal
from versioned_catalog.model.shapes import Box
from versioned_catalog.model.tokens import clip, clip_repr
from versioned_catalog.model.type_text import ColumnPath, has_surrogate, render_path, render_type
from versioned_catalog.model.types import (
    Atom,
    Char,
    Collated,
    Column,
    DataType,
    Decimal,
    Family,
    Geography,
    Geometry,
    LeafType,
    NestedType,
    family,
    is_compared,
    is_text,
)
from versioned_catalog.model.value_text import to_float32
from versioned_catalog.read.filters import (
    NEGATION,
    AllOf,
    Always,
    And,
    AnyOf,
    BoundFilter,
    Compare,
    Comparison,
    In,
    Intersects,
    IsNull,
    Literal,
    Meets,
    Not,
    NullSafe,
    NullSafeEqual,
    NullTest,
    OneOf,
    Op,
    Or,
    StoredText,
    TextKind,
    TextMatch,
    TextTest,
    UnboundFilter,
)


@dataclass(frozen=True, slots=True)
class Equal:
    """A value that equals every value of the column from ``low`` to ``high``: usually a single value."""

    low: Literal
    high: Literal

    @property
    def is_single(self) -> bool:
        """Whether it equals exactly one value of the column."""
        return self.low is self.high or self.low == self.high  # NaN equals itself by identity only


@dataclass(frozen=True, slots=True)
class Above:
    """A value that no column value equals: greater than ``literal``, less than the next value."""

    literal: Literal


@dataclass(frozen=True, slots=True)
class Below:
    """A value that no column value equals: less than ``literal``, greater than the previous value."""

    literal: Literal


BoundLiteral = Equal | Above | Below
"""A Python value in terms of the values that a column can have."""

_GREATEST_FLOAT = (2 - 2**-23) * 2.0**127


def plain(value: Any) -> Any:
    """The Python value of a Python, NumPy, pandas or Arrow value; null values are None.

    Raises:
        ValueError, OverflowError: Python has no such value (a year 10000, nanoseconds).
    """
    if isinstance(value, pa.Scalar):
        return _from_arrow(value)
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if getattr(value, "nanosecond", 0):
        raise ValueError("finer than a microsecond")
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return _from_numpy(value)
    return value


def _from_arrow(value: Any) -> Any:
    unit = getattr(value.type, "unit", None)
    if unit == "ns" and value.is_valid:
        # as_py() imports pandas for nanoseconds; the cast refuses to lose any.
        parts = {pa.types.is_timestamp: pa.timestamp("us", getattr(value.type, "tz", None))}
        parts |= {pa.types.is_duration: pa.duration("us"), pa.types.is_time: pa.time64("us")}
        value = value.cast(next(to for is_it, to in parts.items() if is_it(value.type)))
    return value.as_py()


def _from_numpy(value: Any) -> Any:
    kind = value.dtype.kind
    if kind in "mM":
        short = value.astype(f"{kind}8[us]")
        converted = short.item()
        if converted is not None and short != value:
            raise ValueError("finer than a microsecond, or out of range")
        return converted
    return value.item()


def bind_literal(type_: DataType, value: Any) -> BoundLiteral | None:
    """Bind a value from ``plain`` to the values of a type; None if the two can't be compared."""
    if isinstance(type_, NestedType):
        return None
    match type_.leaf.family:
        case Family.BOOLEAN:
            return _value(type_, value) if isinstance(value, bool) else None
        case Family.INTEGER | Family.DECIMAL:
            return _Grid.of(type_).bind_number(value) if _is_number(value) else None
        case Family.FLOAT:
            return _bind_float(type_, value)
        case Family.TEXT if not isinstance(value, str) or has_surrogate(value):
            return None
        case Family.TEXT if isinstance(type_, Char) and not isinstance(value, StoredText):
            return _bind_char(type_, value)
        case Family.TEXT:
            return _value(type_, str(value))
        case Family.BINARY:
            is_bytes = isinstance(value, bytes | bytearray | memoryview)
            return _value(type_, bytes(value)) if is_bytes else None
        case Family.TEMPORAL:
            try:
                count = temporal(type_).compared(value)
            except ValueError:
                return None
            return None if count is None else _Grid.of(type_).bind_exact(Fraction(count))
        case Family.OPAQUE | Family.COLLATED | Family.VOID:
            return None


def bind_literals(type_: DataType, values: Sequence[Any]) -> list[BoundLiteral | None]:
    """``bind_literal`` for the values of a list, all of which Spark compares in one type."""
    is_exact = family(type_) in (Family.INTEGER, Family.DECIMAL)
    if is_exact and any(isinstance(value, float) for value in values):
        values = [_to_double(value) if _is_number(value) else value for value in values]
    return [bind_literal(type_, value) for value in values]


def _value(type_: DataType, value: Stored) -> Equal:
    literal = Literal(value, to_arrow_type(type_))
    return Equal(literal, literal)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _to_double(value: float | decimal.Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _bind_float(type_: DataType, value: Any) -> BoundLiteral | None:
    if not _is_number(value) or (isinstance(value, decimal.Decimal) and not value.is_finite()):
        return None
    double = _to_double(value)
    if type_ is Atom.DOUBLE or not math.isfinite(double):
        return _value(type_, double)
    arrow = to_arrow_type(type_)
    try:
        near = to_float32(double)
    except ValueError:
        greatest = Literal(math.copysign(_GREATEST_FLOAT, double), arrow)
        return Above(greatest) if double > 0 else Below(greatest)
    if near == double:
        return _value(type_, near)
    # Compare with the nearest float: no float lies between it and the double.
    return Above(Literal(near, arrow)) if near < double else Below(Literal(near, arrow))


def _bind_char(type_: Char, value: str) -> BoundLiteral:
    """Spark pads the shorter side with spaces; the column's values have ``length`` characters."""
    kept, rest = value[: type_.length].ljust(type_.length), value[type_.length :].rstrip(" ")
    bound = _value(type_, kept)
    if not rest:
        return bound
    padding = " " * len(rest)
    return Above(bound.low) if rest > padding else Below(bound.low)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Evenly spaced values of a type: ``k / 10**scale`` for every ``k`` from ``first`` to ``last``."""

    scale: int
    first: int
    last: int
    type: pa.DataType

    @staticmethod
    def of(type_: LeafType) -> _Grid:
        """The values of an integer, decimal or temporal type."""
        arrow = to_arrow_type(type_)
        if isinstance(type_, Decimal):
            return _Grid(type_.scale, 1 - 10**type_.precision, 10**type_.precision - 1, arrow)
        assert type_.leaf.range is not None
        low, high = type_.leaf.range
        return _Grid(0, low, high, arrow)

    def bind_number(self, value: int | float | decimal.Decimal) -> BoundLiteral | None:
        """A number among the values of the grid; None for a decimal that is not finite."""
        if isinstance(value, float):
            return self._bind_double(value)
        if type(value) is int and not self.scale and self.first <= value <= self.last:
            literal = self._literal(value)  # the common case, in long lists of keys
            return Equal(literal, literal)
        exact = _fraction(value)
        return None if exact is None else self.bind_exact(exact)

    def bind_exact(self, value: Fraction) -> BoundLiteral:
        """An exact value among the values of the grid."""
        scaled = value * 10**self.scale
        k = math.floor(scaled)
        if k > self.last:
            return Above(self._literal(self.last))
        if k < self.first:
            return Below(self._literal(self.first))
        literal = self._literal(k)
        return Equal(literal, literal) if scaled == k else Above(literal)

    def _bind_double(self, value: float) -> BoundLiteral:
        """A double equals all values that round to it, half to even."""
        if math.isnan(value) or value > 1e40:
            return Above(self._literal(self.last))
        if value < -1e40:
            return Below(self._literal(self.first))
        exact, unit = Fraction(value), 10**self.scale
        low = (exact + Fraction(math.nextafter(value, -math.inf))) / 2 * unit
        high = (exact + Fraction(math.nextafter(value, math.inf))) / 2 * unit
        is_even = not struct.unpack("<q", struct.pack("<d", value))[0] & 1
        first = math.ceil(low) if is_even else math.floor(low) + 1
        last = math.floor(high) if is_even else math.ceil(high) - 1
        if first > self.last:
            return Above(self._literal(self.last))
        if last < self.first:
            return Below(self._literal(self.first))
        if first > last:
            return Above(self._literal(last))
        return Equal(self._literal(max(first, self.first)), self._literal(min(last, self.last)))

    def _literal(self, k: int) -> Literal:
        if not pa.types.is_decimal(self.type):
            return Literal(k, self.type)
        digits = decimal.Decimal(k).as_tuple().digits
        # Built from its parts, since arithmetic rounds to 28 digits.
        return Literal(decimal.Decimal((int(k < 0), digits, -self.scale)), self.type)


def _fraction(value: int | decimal.Decimal) -> Fraction | None:
    if isinstance(value, int):
        return Fraction(value)
    if not value.is_finite():
        return None
    # 1E+999999 is not written out: beyond 38 digits all values compare alike.
    if value and value.adjusted() > 60:
        return Fraction(10**60) * (-1 if value < 0 else 1)
    if value and value.adjusted() < -60:
        return Fraction(-1 if value < 0 else 1, 10**60)
    return Fraction(value)


ColumnAt = Callable[[ColumnPath], Column]
"""Returns the column at a path."""


def bind_filter(unbound: UnboundFilter, column_at: ColumnAt) -> BoundFilter:
    """Bind the columns of a filter to IDs and its values to the types of the columns.

    Args:
        column_at: returns the column at a path, or raises if a filter can't use it.

    Raises:
        InvalidRequestError: a column can't be compared with its value.
    """
    return _bind(unbound, column_at, negated=False)


def bind_if_known(unbound: UnboundFilter, column_at: ColumnAt) -> BoundFilter | None:
    """``bind_filter``; None if a column does not exist or can't be compared with the value."""
    try:
        return bind_filter(unbound, column_at)
    except (InvalidRequestError, NotFoundError):
        return None


def _bind(unbound: UnboundFilter, column_at: ColumnAt, *, negated: bool) -> BoundFilter:
    match unbound:
        case AllOf(parts) | AnyOf(parts):
            bound = tuple(_bind(part, column_at, negated=negated) for part in parts)
            if len(bound) == 1:
                return bound[0]
            return And(bound) if isinstance(unbound, AllOf) != negated else Or(bound)
        case Not(part):
            return _bind(part, column_at, negated=not negated)
        case NullTest(path):
            return IsNull(column_at(path).id, negated)
        case Comparison(path, op, value):
            return _bind_comparison(path, column_at(path), NEGATION[op] if negated else op, value)
        case NullSafe(path, value):
            return _bind_null_safe(path, column_at(path), value, negated=negated)
        case OneOf(path, values):
            return _bind_one_of(path, column_at(path), values, negated=negated)
        case TextTest(path, kind, text):
            return _bind_text(path, column_at(path), kind, text, negated=negated)
        case Intersects(path, box):
            return _bind_box(path, column_at(path), box, negated=negated)


def _bind_comparison(path: ColumnPath, column: Column, op: Op, operand: Any) -> BoundFilter:
    value = _literal_value(path, column, operand)
    if value is None:
        return Always(None)
    return _compare(column.id, op, _bind_value(path, column, value))


def _compare(column_id: int, op: Op, bound: BoundLiteral) -> BoundFilter:
    if op in (Op.EQ, Op.NE):
        return _equal(column_id, bound, negated=op is Op.NE)
    is_less = op in (Op.LT, Op.LE)
    match bound:
        case Equal(low, high):
            return Compare(column_id, op, low if op in (Op.LT, Op.GE) else high)
        case Above(literal):
            return Compare(column_id, Op.LE if is_less else Op.GT, literal)
        case Below(literal):
            return Compare(column_id, Op.LT if is_less else Op.GE, literal)


def _equal(column_id: int, bound: BoundLiteral, *, negated: bool) -> BoundFilter:
    match bound:
        case Equal(low, high) if bound.is_single:
            return Compare(column_id, Op.NE if negated else Op.EQ, low)
        case Equal(low, high):
            if negated:
                return Or((Compare(column_id, Op.LT, low), Compare(column_id, Op.GT, high)))
            return And((Compare(column_id, Op.GE, low), Compare(column_id, Op.LE, high)))
        case Above() | Below():
            return In(column_id, (), negated=negated)


def _bind_null_safe(path: ColumnPath, column: Column, value: Any, *, negated: bool) -> BoundFilter:
    value = None if value is None else _literal_value(path, column, value)
    if value is None:
        return IsNull(column.id, negated)
    bound = _bind_value(path, column, value)
    match bound:
        case Equal(low) if bound.is_single:
            return NullSafeEqual(column.id, low, negated)
        case Equal():
            equal, null = _equal(column.id, bound, negated=negated), IsNull(column.id, not negated)
            return Or((IsNull(column.id), equal)) if negated else And((null, equal))
        case Above() | Below():
            return Always(negated)


def _bind_one_of(
    path: ColumnPath, column: Column, operands: tuple[Any, ...], *, negated: bool
) -> BoundFilter:
    values = [_literal_value(path, column, value) for value in operands]
    if not values:
        return Always(negated)  # as Spark, even if the column is null
    non_null = [value for value in values if value is not None]
    literals = [
        bound if bound is not None else _refuse(path, column, value)
        for bound, value in zip(bind_literals(column.type, non_null), non_null, strict=True)
    ]
    equal = [bound for bound in literals if isinstance(bound, Equal)]  # others equal no value
    single = tuple(dict.fromkeys(bound.low for bound in equal if bound.is_single))
    listed = In(column.id, single, len(non_null) < len(values), negated)
    ranges = [_equal(column.id, bound, negated=negated) for bound in equal if not bound.is_single]
    if not ranges:
        return listed
    return And((listed, *ranges)) if negated else Or((listed, *ranges))


def _bind_text(
    path: ColumnPath, column: Column, kind: TextKind, text: str | None, *, negated: bool
) -> BoundFilter:
    if not is_text(column.type) or not isinstance(text, str | None):
        _refuse(path, column, text)
    return Always(None) if text is None else TextMatch(column.id, kind, text, negated)


def _bind_box(path: ColumnPath, column: Column, value: Any, *, negated: bool) -> BoundFilter:
    name = render_path(path)
    if not isinstance(column.type, Geometry | Geography):
        raise InvalidRequestError(
            f"the column {name} of type {clip(render_type(column.type))} has no shapes, so it can't be "
            "compared with a box; name a column of type GEOMETRY or GEOGRAPHY"
        )
    box = _box(value)
    is_round = isinstance(column.type, Geography)
    if box is None or box.ymin > box.ymax or (box.crosses and not is_round):
        raise InvalidRequestError(
            f"{clip_repr(value)} is no box for the column {name} of type {render_type(column.type)}; "
            "give four numbers (xmin, ymin, xmax, ymax), the least first"
            + (
                ", except that xmin is above xmax in a box across the antimeridian"
                if is_round
                else ""
            )
        )
    return Meets(column.id, box, column.type, name, negated)


def _box(value: Any) -> Box | None:
    """The box of four numbers; None for anything else, or if one is NaN."""
    if not isinstance(value, list | tuple) or len(value) != 4:
        return None
    try:
        numbers = [plain(number) for number in value]
    except (ValueError, OverflowError):
        return None
    if not all(map(_is_number, numbers)):
        return None
    box = Box(*map(_to_double, numbers))
    return None if any(map(math.isnan, box)) else box


def _literal_value(path: ColumnPath, column: Column, operand: Any) -> Any:
    if isinstance(column.type, Collated):
        raise InvalidRequestError(
            f"the column {render_path(path)} of type {render_type(column.type)} can't be compared "
            "outside Spark, which knows the collation; filter it in Spark's SQL, or by 'is null' or "
            "'is not null'"
        )
    if not is_compared(column.type):
        raise InvalidRequestError(
            f"the column {render_path(path)} of type {clip(render_type(column.type))} can't be "
            f"compared with a {type(operand).__name__}; filter it by 'is null' or 'is not null', or "
            "filter a field inside it"
        )
    try:
        return plain(operand)
    except (ValueError, OverflowError):
        _refuse(path, column, operand)


def _bind_value(path: ColumnPath, column: Column, value: Any) -> BoundLiteral:
    bound = bind_literal(column.type, value)
    return bound if bound is not None else _refuse(path, column, value)


def _refuse(path: ColumnPath, column: Column, value: Any) -> Any:
    type_ = clip(render_type(column.type))
    raise InvalidRequestError(
        f"the column {render_path(path)} of type {type_} can't be compared with {clip_repr(value)} "
        f"of type {type(value).__name__}; give a value of the column's type"
    )
