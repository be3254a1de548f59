"""COUNT, MIN and MAX from metadata where it has them exactly, and estimates for planners."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.state import TableState
from versioned_catalog.model.analysis import analyzed_columns
from versioned_catalog.model.arrow import (
    FALSE,
    TRUE,
    ZERO,
    array_of,
    extreme_of,
    from_numpy,
    repeat,
)
from versioned_catalog.model.sql_literals import from_scalar_text
from versioned_catalog.model.types import Atom, Column, is_compared, is_floating
from versioned_catalog.read.bounds import every_match, known_bounds, some_match
from versioned_catalog.read.evaluators import ColumnBounds
from versioned_catalog.read.scan import Scan

UNKNOWN: tuple[bool, str | None] = (False, None)


def count_rows(scan: Scan) -> int | None:
    """The number of rows of a scan; None if metadata does not tell."""
    whole = whole_segments(scan)
    return None if whole is None else _total(scan.state.segments.shown_counts.filter(whole))


def count_values(scan: Scan, column: Column) -> int | None:
    """The number of non-null values of a top-level column; None if metadata does not tell."""
    whole, bounds = whole_segments(scan), _bounds(scan.state, column)
    if whole is None or bounds is None:
        return None
    values = value_counts(scan.state, bounds).filter(whole)
    return None if values.null_count else _total(values)


def value_counts(state: TableState, bounds: ColumnBounds) -> pa.Array:
    """The number of non-null values of a column in each segment; null if unknown.

    Statistics also count marked rows, so of a marked segment it is known only if all rows are alike.
    """
    values = pc.subtract(bounds.rows, bounds.nulls)
    if not state.segments.has_marks:
        return values
    shown, unknown = state.segments.shown_counts, pa.nulls(1, pa.int64())[0]
    of_marked = pc.case_when(
        pc.make_struct(pc.equal(bounds.nulls, ZERO), pc.equal(values, ZERO)), shown, ZERO, unknown
    )
    return pc.if_else(pc.less(shown, bounds.rows), of_marked, values)


def extreme(scan: Scan, column: Column, greatest: bool) -> tuple[bool, str | None]:
    """The greatest or the least value of a top-level column, as for MAX and MIN.

    NaN is the greatest. A zero of a float is unknown, since its sign may differ. Values of marked rows
    are not counted, and a bound of a marked segment may be one of them.

    Returns:
        Whether metadata determines it, and its value text (FORMAT.md, section 4.2); None if there is no
        value.
    """
    if not is_compared(column.type):
        return UNKNOWN
    whole, bounds = whole_segments(scan), _bounds(scan.state, column)
    if whole is None or bounds is None:
        return UNKNOWN
    ends = _Ends(
        bounds.rows.filter(whole),
        bounds.nulls.filter(whole),
        (bounds.max if greatest else bounds.min).filter(whole),
        pc.or_(is_inexact(scan.state, column, greatest), may_be_gone(scan.state, bounds)).filter(
            whole
        ),
    )
    if not is_floating(column.type):
        return ends.answer(column, greatest)
    assert bounds.nans is not None
    shows_all = pc.invert(_is_marked(scan.state)).filter(whole)
    return _with_nans(ends, _Nans(bounds.nans.filter(whole), shows_all), column, greatest)


def whole_segments(scan: Scan) -> pa.BooleanArray | None:
    """The segments that match a scan entirely; None if a segment matches partially."""
    selected = scan.selected
    if not scan.decides_by_statistics:
        return None
    if scan.limit is not None or selected.groups:
        return None
    read = repeat(True, scan.state.segments.count) if selected.chosen is None else selected.chosen
    if scan.filter is None:
        return read
    some, every = some_match(scan.state, scan.filter), every_match(scan.state, scan.filter)
    partial = pc.and_(read, pc.and_not(some, every))
    return None if pc.any(partial).as_py() else pc.and_(read, every)


def _bounds(state: TableState, column: Column) -> ColumnBounds | None:
    """The bounds of a top-level column, one per segment."""
    top = column.id in {c.id for c in state.schema.columns}
    return known_bounds(state, column) if top else None


def is_inexact(state: TableState, column: Column, greatest: bool) -> pa.ChunkedArray:
    """Whether the bound of a segment is inexact."""
    flags = state.segments.statistic("inexact", column, state.schemas)
    bit = pc.bit_wise_and(flags, _MAX_BIT if greatest else _MIN_BIT)
    return pc.fill_null(pc.not_equal(bit, _NO_BIT), FALSE)


def may_be_gone(state: TableState, bounds: ColumnBounds) -> pa.BooleanArray:
    """Whether the bounds of a segment may be values of marked rows alone."""
    marked = _is_marked(state)
    if bounds.nans is not None or not state.segments.has_marks:
        return marked
    alike = pc.and_(pc.equal(bounds.min, bounds.max), pc.equal(bounds.nulls, ZERO))
    return pc.and_not(marked, pc.fill_null(alike, FALSE))


def _is_marked(state: TableState) -> pa.BooleanArray:
    """Whether rows of a segment are marked."""
    return from_numpy(state.segments.marked_counts > 0)


_NO_BIT, _MIN_BIT, _MAX_BIT = array_of([0, 1, 2], pa.int8())


def _total(counts: pa.Array) -> int:
    total: int = pc.sum(counts).as_py() or 0
    return total


@dataclass(frozen=True)
class _Ends:
    """One end of the values of a column in each segment, NaN excluded.

    Args:
        empty: the number of rows without such a value; null if unknown.
        bound: the bound; null if unknown, or if there is no value.
        inexact: whether the bound may not occur.
    """

    rows: pa.Array
    empty: pa.Array
    bound: pa.Array
    inexact: pa.Array

    def answer(self, column: Column, greatest: bool) -> tuple[bool, str | None]:
        """The extreme value at that end."""
        nothing = pc.fill_null(pc.equal(self.empty, self.rows), FALSE)
        if pc.any(pc.and_not(pc.is_null(self.bound), nothing)).as_py():
            return UNKNOWN
        bounds = self.bound.drop_null()
        if not len(bounds):
            return True, None
        best = extreme_of(bounds, greatest)
        # An inexact bound lies beyond its values: it is not a result, nor does it exclude an exact one.
        exact = pc.and_not(pc.equal(self.bound, best), self.inexact)
        if not pc.any(exact).as_py():
            return UNKNOWN
        return True, exact_text(best, column)


def exact_text(value: pa.Scalar, column: Column) -> str:
    """The value text of a value of a column that has bounds."""
    text = from_scalar_text(value, column.type)
    assert isinstance(text, str)
    return text


@dataclass(frozen=True)
class _Nans:
    """The NaN values of a column in each segment.

    Args:
        counts: how many there are; null if unknown.
        certain: whether these are values of rows that are not marked.
    """

    counts: pa.Array
    certain: pa.BooleanArray

    @property
    def are_there(self) -> bool:
        """Whether there is certainly one."""
        some: bool = pc.any(pc.and_(pc.greater(self.counts, ZERO), self.certain)).as_py()
        return some


def _with_nans(
    numbers: _Ends, known: _Nans, column: Column, greatest: bool
) -> tuple[bool, str | None]:
    """``_Ends.answer`` for floats, where NaN is the greatest value."""
    nans = known.counts
    if greatest:
        has_values = pc.fill_null(pc.less(numbers.empty, numbers.rows), TRUE)
        may = pc.fill_null(pc.greater(nans, ZERO), TRUE)
        if known.are_there:
            return True, "NaN"
        if pc.any(pc.and_(has_values, may)).as_py():
            return UNKNOWN
    sane = pc.if_else(pc.is_nan(numbers.bound), pa.nulls(1, numbers.bound.type)[0], numbers.bound)
    all_null = pc.equal(numbers.empty, numbers.rows)
    empty = pc.if_else(all_null, numbers.empty, pc.add(numbers.empty, nans))
    rest = replace(numbers, empty=empty, bound=sane)
    is_known, text = rest.answer(column, greatest)
    if is_known and text is None and pc.any(pc.greater(nans, ZERO)).as_py():
        return (True, "NaN") if known.are_there else UNKNOWN
    return UNKNOWN if text in _ZEROS else (is_known, text)


_ZEROS = ("0.0", "-0.0")


_COUNTABLE = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG, Atom.DATE)


@dataclass(frozen=True)
class ColumnEstimate:
    """Estimates for one column of a scan; None if unknown.

    Args:
        nulls: the number of nulls.
        distinct: the number of distinct values, as analysed; else all between ``least`` and
            ``greatest``, if there are as many rows.
        least, greatest: bounds of the values, as value text (FORMAT.md, section 4.2).
    """

    nulls: int | None
    distinct: int | None
    least: str | None
    greatest: str | None


def estimate(scan: Scan, column: Column) -> ColumnEstimate | None:
    """Estimate a column from the statistics of the segments of a scan; None if a segment has none.

    All rows of the segments count, also those that the filter rejects. The column is at the top level,
    and neither nested nor opaque.
    """
    bounds = known_bounds(scan.state, column)
    if bounds is None:
        return None
    rows = scan.of_kept(scan.state.segments.shown_counts)
    nulls = pc.min_element_wise(scan.of_kept(bounds.nulls), rows, skip_nulls=False)
    if nulls.null_count:
        return None
    valued = pc.less(nulls, rows)
    low, high = scan.of_kept(bounds.min).filter(valued), scan.of_kept(bounds.max).filter(valued)
    empty = pc.sum(nulls).as_py() or 0
    values = (pc.sum(rows).as_py() or 0) - empty
    analyzed = analyzed_columns(scan.state.properties).get(column.id)
    counted = None if analyzed is None or not values else analyzed.among(values)
    if not len(low) or low.null_count or high.null_count:
        return ColumnEstimate(empty, None, None, None)
    least, greatest = extreme_of(low, False), extreme_of(high, True)
    distinct = _distinct(column, least, greatest, values, counted)
    return ColumnEstimate(empty, distinct, _text(least, column), _text(greatest, column))


def _distinct(
    column: Column, least: pa.Scalar, greatest: pa.Scalar, values: int, counted: int | None
) -> int | None:
    if column.type not in _COUNTABLE:
        return counted
    size = pa.int32() if column.type is Atom.DATE else pa.int64()
    between: int = greatest.cast(size).as_py() - least.cast(size).as_py() + 1
    if counted is not None:
        return min(counted, between)
    return between if between <= values else None


def _text(value: pa.Scalar, column: Column) -> str | None:
    text = from_scalar_text(value, column.type)
    return text if isinstance(text, str) else None


def layout_columns(scan: Scan) -> tuple[Column, ...]:
    """The top-level columns by which a filter may skip some segments of a scan, but not all.

    These are the partition columns, and the columns of the key and of the sort order whose ranges
    differ between segments, in the order of the scan's. Other columns are left out: a filter that
    arrives at run time costs time, and is unlikely to skip a segment by them.
    """
    if scan.kept.num_rows < 2:
        return ()
    schema = scan.state.schema
    partitioned = {field.source for field in schema.partitioning}
    ordered = {*schema.row_key, *(field.source for field in schema.sort_by)}
    return tuple(
        column
        for column in scan.columns
        if column.id in partitioned or (column.id in ordered and _has_disjoint_ranges(scan, column))
    )


def _has_disjoint_ranges(scan: Scan, column: Column) -> bool:
    """Whether the range of one segment ends before that of another begins."""
    bounds = known_bounds(scan.state, column)
    if bounds is None:
        return False
    ends, begins = scan.of_kept(bounds.max).drop_null(), scan.of_kept(bounds.min).drop_null()
    if not len(ends) or not len(begins):
        return False
    apart: bool = pc.less(extreme_of(ends, False), extreme_of(begins, True)).as_py()
    return apart
