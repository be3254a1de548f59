"""COUNT, MIN and MAX from metadata, if it has the exact result (FORMAT.md, section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.bounds import known_bounds
from versioned_catalog.pruning.inclusive import ColumnBounds
from versioned_catalog.pruning.segments import every_match, some_match
from versioned_catalog.scan.scan import Scan
from versioned_catalog.types.arrow_values import FALSE, TRUE, ZERO, array_of, extreme_of, repeat
from versioned_catalog.types.types import Column, is_floating, is_nested, is_opaque
from versioned_catalog.values.literals import from_scalar_text

UNKNOWN: tuple[bool, str | None] = (False, None)


def count_rows(scan: Scan) -> int | None:
    """The number of rows of a scan; None if it takes a read to know."""
    whole = _whole_segments(scan)
    return None if whole is None else _total(scan.state.segments.core["rows"].filter(whole))


def count_values(scan: Scan, column: Column) -> int | None:
    """The number of non-null values of a top-level column; None if it takes a read to know."""
    whole, known = _whole_segments(scan), _bounds(scan.state, column)
    if whole is None or known is None:
        return None
    values = pc.subtract(known.rows, known.nulls).filter(whole)
    return None if values.null_count else _total(values)


def extreme(scan: Scan, column: Column, greatest: bool) -> tuple[bool, str | None]:
    """The greatest or the least value of a top-level column, as for MAX and MIN.

    NaN is the greatest. A zero of a float is unknown, since its sign may differ.

    Returns:
        Whether it is known without a read, and its value text (FORMAT.md, section 4.2); None if there
        is no value.
    """
    if is_nested(column.type) or is_opaque(column.type):
        return UNKNOWN
    whole, known = _whole_segments(scan), _bounds(scan.state, column)
    if whole is None or known is None:
        return UNKNOWN
    found = _Ends(
        known.rows.filter(whole),
        known.nulls.filter(whole),
        (known.max if greatest else known.min).filter(whole),
        _is_inexact(scan.state, column, greatest).filter(whole),
    )
    if not is_floating(column.type):
        return found.answer(column, greatest)
    assert known.nans is not None
    return _with_nans(found, known.nans.filter(whole), column, greatest)


def _whole_segments(scan: Scan) -> pa.BooleanArray | None:
    """The segments that match a scan entirely; None if one matches partially."""
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
    """The bounds of a top-level column, one a segment."""
    top = column.id in {own.id for own in state.schema.columns}
    return known_bounds(state, column) if top else None


def _is_inexact(state: TableState, column: Column, greatest: bool) -> pa.ChunkedArray:
    """Whether the bound of a segment is inexact."""
    flags = state.segments.statistic("inexact", column, state.schemas)
    bit = pc.bit_wise_and(flags, _MAX_BIT if greatest else _MIN_BIT)
    return pc.fill_null(pc.not_equal(bit, _NO_BIT), FALSE)


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
        text = from_scalar_text(best, column.type)
        assert isinstance(text, str)
        return True, text


def _with_nans(
    numbers: _Ends, nans: pa.Array, column: Column, greatest: bool
) -> tuple[bool, str | None]:
    """``_Ends.answer`` for floats, where NaN is the greatest value."""
    if greatest:
        has_values = pc.fill_null(pc.less(numbers.empty, numbers.rows), TRUE)
        may = pc.fill_null(pc.greater(nans, ZERO), TRUE)
        if pc.any(pc.greater(nans, ZERO)).as_py():
            return True, "NaN"
        if pc.any(pc.and_(has_values, may)).as_py():
            return UNKNOWN
    sane = pc.if_else(pc.is_nan(numbers.bound), pa.nulls(1, numbers.bound.type)[0], numbers.bound)
    all_null = pc.equal(numbers.empty, numbers.rows)
    empty = pc.if_else(all_null, numbers.empty, pc.add(numbers.empty, nans))
    rest = replace(numbers, empty=empty, bound=sane)
    known, text = rest.answer(column, greatest)
    if known and text is None and pc.any(pc.greater(nans, ZERO)).as_py():
        return True, "NaN"
    return UNKNOWN if text in _ZEROS else (known, text)


_ZEROS = ("0.0", "-0.0")
