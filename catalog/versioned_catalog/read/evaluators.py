"""Evaluation of filters: on rows exactly, and on metadata inclusively or strictly.

Rows are evaluated in three-valued logic with Spark's semantics. A *unit* of metadata is a segment or a
row group; all units are evaluated at once, as arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.arrow import (
    FALSE,
    NULL,
    TRUE,
    ZERO,
    array_of,
    from_numpy,
    one_array,
    repeat,
)
from versioned_catalog.model.shapes import Box, boxes_of
from versioned_catalog.model.types import Column, Geography
from versioned_catalog.read.filters import (
    NEGATION,
    Always,
    And,
    BoundFilter,
    Compare,
    In,
    IsNull,
    Leaf,
    Literal,
    Meets,
    NullSafeEqual,
    Op,
    Or,
    TextKind,
    TextMatch,
)

ColumnOf = Callable[[int], Any]
"""Returns a column's values by ID: an Array or ChunkedArray of the column's Arrow type."""


def keep_mask(bound: BoundFilter, column_of: ColumnOf, rows: int) -> pa.BooleanArray:
    """Which rows a filter selects: those for which it is true, not false or null."""
    return pc.fill_null(evaluate(bound, column_of, rows), FALSE)


def evaluate(bound: BoundFilter, column_of: ColumnOf, rows: int) -> pa.BooleanArray:
    """A filter's value for each row: true, false or null.

    ``column_of`` returns values by column ID, of the types that the filter was bound to.
    """
    match bound:
        case And(parts) | Or(parts):
            join = pc.and_kleene if isinstance(bound, And) else pc.or_kleene
            if not parts:
                return repeat(isinstance(bound, And), rows)
            return functools.reduce(join, (evaluate(part, column_of, rows) for part in parts))
        case Always(value):
            return repeat(value, rows)
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch() | Meets():
            return one_array(_leaf_values(bound, column_of(bound.column_id)))


def _leaf_values(bound: Leaf, values: Any) -> Any:
    match bound:
        case Compare(_, op, literal):
            return _compare_values(values, op, literal)
        case NullSafeEqual(_, literal, negated):
            return _negate(pc.fill_null(_compare_values(values, Op.EQ, literal), FALSE), negated)
        case In(_, literals, has_null, negated):
            mask = _is_among(values, literals)
            if has_null:
                mask = pc.if_else(mask, TRUE, NULL)
            return _negate(mask, negated)
        case IsNull(_, negated):
            return pc.is_valid(values) if negated else pc.is_null(values)
        case TextMatch(_, kind, text, negated):
            return _negate(_matches_text(values, kind, text), negated)
        case Meets():
            return _negate(_meets(one_array(values), bound), bound.negated)


def _negate(mask: Any, negated: bool) -> Any:
    return pc.invert(mask) if negated else mask


def _compare_values(values: Any, op: Op, literal: Literal) -> Any:
    """Compare the values of a column with a literal of its type; null where a value is null."""
    return compare_with_nan(values, op) if literal.is_nan else compare(values, op, literal.scalar)


def compare(values: Any, op: Op, scalar: Any) -> Any:
    """Compare values with a scalar that is not NaN; both may be PyArrow expressions."""
    match op:
        case Op.EQ:
            return pc.equal(values, scalar)
        case Op.NE:
            return pc.not_equal(values, scalar)
        case Op.LT:
            return pc.less(values, scalar)
        case Op.LE:
            return pc.less_equal(values, scalar)
        # In Arrow, NaN is neither less nor greater. As "not less", it is the greatest.
        case Op.GT:
            return pc.invert(pc.less_equal(values, scalar))
        case Op.GE:
            return pc.invert(pc.less(values, scalar))


def compare_with_nan(values: Any, op: Op) -> Any:
    """Compare values with NaN; they may be a PyArrow expression."""
    nan = pc.is_nan(values)
    match op:
        case Op.EQ | Op.GE:
            return nan
        case Op.NE | Op.LT:
            return pc.invert(nan)
        case Op.LE:
            return pc.or_(nan, pc.invert(nan))
        case Op.GT:
            return pc.and_(nan, pc.invert(nan))


def _is_among(values: Any, literals: tuple[Literal, ...]) -> Any:
    mask = pc.is_in(values, value_set=array_of(_hashable(literals), values.type))
    if any(literal.is_nan for literal in literals):
        mask = pc.or_(mask, pc.fill_null(pc.is_nan(values), FALSE))
    if values.null_count == 0:
        return mask
    return pc.if_else(pc.is_valid(values), mask, NULL)


def _hashable(literals: tuple[Literal, ...]) -> list[Any]:
    """The values for ``is_in``, without NaN, and with both zeros, which it distinguishes."""
    values = [literal.value for literal in literals if not literal.is_nan]
    if any(isinstance(value, float) and value == 0 for value in values):
        values += [0.0, -0.0]
    return values


def _matches_text(values: Any, kind: TextKind, text: str) -> Any:
    match kind:
        case TextKind.PREFIX:
            return pc.starts_with(values, pattern=text)
        case TextKind.SUFFIX:
            return pc.ends_with(values, pattern=text)
        case TextKind.CONTAINS:
            return pc.match_substring(values, pattern=text)


def _meets(shapes: pa.StructArray, bound: Meets) -> pa.BooleanArray:
    """Which shapes have a box that has a point in common with that of a filter; null for a null.

    Raises:
        InvalidRequestError: the box of a shape is not known.
    """
    boxes = boxes_of(shapes, bound.type)
    if boxes.is_unknown.any():
        reason = "its WKB is not understood: it may hold curves, or be damaged"
        if isinstance(bound.type, Geography) and boxes.has_edges[boxes.is_unknown].any():
            reason = (
                "its edges are arcs of great circles, which leave the box of their ends: a GEOGRAPHY "
                "is compared with a box only if it holds points"
            )
        raise InvalidRequestError(
            f"the column {bound.name} has a shape whose box is not known, so it can't be compared with "
            f"a box: {reason}; read without this filter, or delete such rows"
        )
    return pc.if_else(pc.is_valid(shapes), from_numpy(boxes.intersect(bound.box)), NULL)


class Lookup:
    """Looks up columns of a batch by ID, also inside structs."""

    def __init__(self, columns: Sequence[Column], batch: pa.RecordBatch) -> None:
        self._columns = columns
        self._batch = batch

    def __call__(self, column_id: int) -> pa.Array:
        for at, column in enumerate(self._columns):
            values = _inside(column, self._batch.column(at), column_id)
            if values is not None:
                return values
        raise KeyError(column_id)


def _inside(column: Any, array: pa.Array, column_id: int) -> pa.Array | None:
    if column.id == column_id:
        return array
    for at, child in enumerate(getattr(column.type, "fields", ())):
        # struct_field gives null where the parent is null.
        values = _inside(child, pc.struct_field(array, at), column_id)
        if values is not None:
            return values
    return None


@dataclass(frozen=True)
class ColumnBounds:
    """Counts and bounds of one column, as arrays with one element per unit; null is unknown.

    Args:
        rows: the number of rows, int64.
        nulls: the number of nulls, int64, those of null parents included.
        nans: the number of NaNs, int64; None if it is unknown in all units. Not used for types that
            are not floating-point.
        min: a lower bound of the values that are neither null nor NaN, of the column's type. It need
            not occur as a value.
        max: an upper bound; likewise.
    """

    rows: Any
    nulls: Any
    nans: Any | None
    min: Any
    max: Any

    @property
    def type(self) -> pa.DataType:
        """The type of the bounds."""
        bound_type: pa.DataType = self.min.type
        return bound_type


class LazyBounds(ColumnBounds):
    """Counts and bounds that are computed when they are first used.

    Args:
        rows: the number of rows, int64.
        type_: the type of the bounds.
        compute: returns ``nulls``, ``nans``, ``min`` or ``max``, by its name.
    """

    def __init__(self, rows: Any, type_: pa.DataType, compute: Callable[[str], Any]) -> None:
        self.__dict__.update(rows=rows, _type=type_, _compute=compute)

    def __getattr__(self, name: str) -> Any:
        if name not in ("nulls", "nans", "min", "max"):
            raise AttributeError(name)
        computed = self.__dict__[name] = self.__dict__["_compute"](name)
        return computed

    @property
    def type(self) -> pa.DataType:
        """The type of the bounds."""
        bound_type: pa.DataType = self.__dict__["_type"]
        return bound_type


BoundsOf = Callable[[int], ColumnBounds | None]

MOST_RANGES = 32
"""Longer lists of values are grouped into this many ranges of adjacent values."""


def may_match(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Which units must be read, never null; in the rest, no row matches the filter.

    ``bounds_of`` returns the bounds of a column by ID, or None if nothing is known.
    """
    match bound:
        case And(parts) | Or(parts):
            join = pc.and_ if isinstance(bound, And) else pc.or_
            if not parts:
                return repeat(isinstance(bound, And), count)
            return functools.reduce(join, (may_match(part, bounds_of, count) for part in parts))
        case Always(value):
            return repeat(value is True, count)
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch() | Meets():
            bounds = bounds_of(bound.column_id)
            if bounds is None:
                return repeat(True, count)
            return one_array(_unless_unknown(_leaf(bound, _sane(bounds))))


def _unless_unknown(mask: Any) -> Any:
    """Replace null, which means unknown, by true: the unit must be read."""
    return pc.fill_null(mask, TRUE)


def _sane(bounds: ColumnBounds) -> ColumnBounds:
    """Make bounds unknown that are NaN, as some Parquet writers leave them."""
    if not pa.types.is_floating(bounds.type):
        return bounds
    nothing = pa.nulls(1, bounds.type)[0]

    def sane(name: str) -> Any:
        values = getattr(bounds, name)
        return pc.if_else(pc.is_nan(values), nothing, values) if name in ("min", "max") else values

    return LazyBounds(bounds.rows, bounds.type, sane)


def _leaf(bound: Leaf, bounds: ColumnBounds) -> Any:
    match bound:
        case IsNull(_, negated):
            return _has_values(bounds) if negated else _has_nulls(bounds)
        case NullSafeEqual(_, literal, True):
            return pc.or_(
                _has_nulls(bounds), _where_values(bounds, _compare(bounds, Op.NE, literal))
            )
        case NullSafeEqual(_, literal, False):
            return _where_values(bounds, _compare(bounds, Op.EQ, literal))
        case Compare(_, op, literal):
            return _where_values(bounds, _compare(bounds, op, literal))
        case In():
            return _where_values(bounds, _among(bound, bounds))
        case TextMatch(_, TextKind.PREFIX, text, negated):
            return _where_values(bounds, _starts(bounds, text, negated=negated))
        case TextMatch():
            return _has_values(bounds)
        case Meets(_, box, negated=negated):
            return _has_values(bounds) if negated else _where_values(bounds, _overlap(bounds, box))


def _overlap(bounds: ColumnBounds, box: Box) -> Any:
    """Whether a shape inside the bounds may have a point in common with a box; null if unknown."""
    xmin, ymin, xmax, ymax = (
        pc.struct_field(corner, axis) for corner in (bounds.min, bounds.max) for axis in (0, 1)
    )
    west, east = pc.less_equal(xmin, box.xmax), pc.greater_equal(xmax, box.xmin)
    in_x = pc.or_(west, east) if box.crosses else pc.and_(west, east)
    in_y = pc.and_(pc.less_equal(ymin, box.ymax), pc.greater_equal(ymax, box.ymin))
    return pc.and_(in_x, in_y)


def _has_nulls(bounds: ColumnBounds) -> Any:
    return _unless_unknown(pc.greater(bounds.nulls, ZERO))


def _has_values(bounds: ColumnBounds) -> Any:
    return _unless_unknown(pc.less(bounds.nulls, bounds.rows))


def _where_values(bounds: ColumnBounds, mask: Any) -> Any:
    return pc.and_(_has_values(bounds), _unless_unknown(mask))


def _greatest(bounds: ColumnBounds) -> Any:
    """``max``, unknown where there may be a NaN, which is greater."""
    if not pa.types.is_floating(bounds.type):
        return bounds.max
    nothing = pa.nulls(1, bounds.type)[0]
    if bounds.nans is None:
        return pa.nulls(len(bounds.rows), bounds.type)
    # A null condition gives null, which is right here.
    return pc.if_else(pc.equal(bounds.nans, ZERO), bounds.max, nothing)


def _compare(bounds: ColumnBounds, op: Op, literal: Literal) -> Any:
    if literal.is_nan:
        return _compare_with_nan(bounds, op)
    scalar = literal.scalar
    match op:  # a bound that is not compared need not be decoded
        case Op.LT:
            return pc.less(bounds.min, scalar)
        case Op.LE:
            return pc.less_equal(bounds.min, scalar)
        case Op.GT:
            return pc.greater(_greatest(bounds), scalar)
        case Op.GE:
            return pc.greater_equal(_greatest(bounds), scalar)
        case Op.EQ:
            return _overlaps(bounds.min, _greatest(bounds), scalar, scalar)
        case Op.NE:
            # Equal bounds leave room for one value, even if the bounds need not occur.
            high = _greatest(bounds)
            only = pc.and_kleene(pc.equal(bounds.min, scalar), pc.equal(high, scalar))
            return pc.invert(only)


def _compare_with_nan(bounds: ColumnBounds, op: Op) -> Any:
    match op:
        case Op.EQ | Op.GE:
            return _same(bounds, True) if bounds.nans is None else pc.greater(bounds.nans, ZERO)
        case Op.GT | Op.LT | Op.LE | Op.NE:
            return _same(bounds, op is not Op.GT)


def _overlaps(low: Any, high: Any, first: Any, last: Any) -> Any:
    """Whether a value from ``first`` to ``last`` may occur; null if unknown."""
    return pc.and_kleene(pc.less_equal(low, last), pc.greater_equal(high, first))


def _among(bound: In, bounds: ColumnBounds) -> Any:
    nothing = _same(bounds, False)
    if bound.negated:
        return nothing if bound.has_null else _not_among(bound.values, bounds)
    numbers = [literal for literal in bound.values if not literal.is_nan]
    high = _greatest(bounds)
    masks = [_overlaps(bounds.min, high, first, last) for first, last in _ranges(numbers)]
    if len(numbers) < len(bound.values):
        masks.append(_compare_with_nan(bounds, Op.EQ))
    return functools.reduce(pc.or_, map(_unless_unknown, masks), nothing)


def _same(bounds: ColumnBounds, value: bool) -> Any:
    return repeat(value, len(bounds.rows))


def _ranges(literals: list[Literal]) -> list[tuple[pa.Scalar, pa.Scalar]]:
    """At most ``MOST_RANGES`` ranges, in order, that together hold all the values."""
    if not literals:
        return []
    ordered = _sorted(literals)
    step = -(-len(ordered) // MOST_RANGES)
    starts = range(0, len(ordered), step)
    return [(ordered[i], ordered[min(i + step, len(ordered)) - 1]) for i in starts]


def _sorted(literals: list[Literal]) -> Any:
    values = array_of([literal.value for literal in literals], literals[0].type)
    # Arrow can't sort intervals, so they are sorted as integers.
    keys = values.cast(pa.int64()) if pa.types.is_duration(values.type) else values
    return values.take(pc.sort_indices(keys))


def _not_among(literals: tuple[Literal, ...], bounds: ColumnBounds) -> Any:
    """Whether a value outside the list may occur: not if the only value is in it."""
    if not literals:
        return _same(bounds, True)
    listed = pc.is_in(bounds.min, value_set=array_of([v.value for v in literals], bounds.min.type))
    only = pc.and_kleene(listed, pc.equal(bounds.min, _greatest(bounds)))
    return pc.invert(only)


def _starts(bounds: ColumnBounds, text: str, *, negated: bool) -> Any:
    low_starts = pc.starts_with(bounds.min, pattern=text)
    if negated:
        # Every text between two texts with the same prefix has that prefix.
        return pc.invert(pc.and_kleene(low_starts, pc.starts_with(bounds.max, pattern=text)))
    scalar = array_of([text], bounds.min.type)[0]
    not_after = pc.or_kleene(pc.less_equal(bounds.min, scalar), low_starts)
    return pc.and_kleene(not_after, pc.greater_equal(bounds.max, scalar))


def all_match(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Return for each unit (segment, row group) whether its bounds prove the filter true for all rows.

    ``bounds_of`` returns the bounds of a column by ID, or None if nothing is known. The result holds no
    nulls; for a unit without rows it may be true or false.
    """
    match bound:
        case And(parts) | Or(parts):
            # A single part of an OR must be true of all rows of a unit, since parts are evaluated apart.
            join = pc.and_ if isinstance(bound, And) else pc.or_
            if not parts:
                return repeat(isinstance(bound, And), count)
            return functools.reduce(join, (all_match(part, bounds_of, count) for part in parts))
        case Always(value):
            return repeat(value is True, count)
        case IsNull() | NullSafeEqual():  # never null
            return _none(replace(bound, negated=not bound.negated), bounds_of, count)
        case In(has_null=True, negated=True):  # never true
            return repeat(False, count)
        case Meets():  # the box of a segment may meet a box that none of its shapes meets
            return repeat(False, count)
        case Compare() | In() | TextMatch():
            no_nulls = _none(IsNull(bound.column_id), bounds_of, count)
            return pc.and_(no_nulls, _none(_negated(bound), bounds_of, count))


def _none(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    return pc.invert(may_match(bound, bounds_of, count))


def _negated(leaf: Compare | In | TextMatch) -> BoundFilter:
    """The negation of a leaf, for values that are not null."""
    match leaf:
        case Compare(column_id, op, value):
            return Compare(column_id, NEGATION[op], value)
        case In(column_id, values, _, negated):
            return In(column_id, values, negated=not negated)
        case TextMatch():
            return replace(leaf, negated=not leaf.negated)
