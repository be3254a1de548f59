"""Estimates of the values of columns from statistics, for a query planner."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.pruning.bounds import known_bounds
from versioned_catalog.scan.scan import Scan
from versioned_catalog.types.arrow_values import extreme_of
from versioned_catalog.types.types import Atom, Column
from versioned_catalog.values.literals import from_scalar_text

_COUNTABLE = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG, Atom.DATE)


@dataclass(frozen=True)
class ColumnEstimate:
    """Estimates for one column of a scan; None if unknown.

    Args:
        nulls: the number of nulls.
        distinct: the number of distinct values: all between ``least`` and ``greatest``, if there are
            as many rows.
        least, greatest: bounds of the values, as value text (FORMAT.md, section 4.2).
    """

    nulls: int | None
    distinct: int | None
    least: str | None
    greatest: str | None


def estimate(scan: Scan, column: Column) -> ColumnEstimate | None:
    """Estimate a column from the statistics of the segments of a scan; None if one has none for it.

    All rows of the segments count, also those that the filter rejects. The column is at the top level,
    and neither nested nor opaque.
    """
    bounds = known_bounds(scan.state, column)
    if bounds is None:
        return None
    rows, nulls = scan.of_kept(bounds.rows), scan.of_kept(bounds.nulls)
    if nulls.null_count:
        return None
    valued = pc.less(nulls, rows)
    low, high = scan.of_kept(bounds.min).filter(valued), scan.of_kept(bounds.max).filter(valued)
    empty = pc.sum(nulls).as_py() or 0
    if not len(low) or low.null_count or high.null_count:
        return ColumnEstimate(empty, None, None, None)
    least, greatest = extreme_of(low, False), extreme_of(high, True)
    values = (pc.sum(rows).as_py() or 0) - empty
    distinct = _distinct(column, least, greatest, values)
    return ColumnEstimate(empty, distinct, _text(least, column), _text(greatest, column))


def _distinct(column: Column, least: pa.Scalar, greatest: pa.Scalar, values: int) -> int | None:
    if column.type not in _COUNTABLE:
        return None
    size = pa.int32() if column.type is Atom.DATE else pa.int64()
    between: int = greatest.cast(size).as_py() - least.cast(size).as_py() + 1
    return between if between <= values else None


def _text(value: pa.Scalar, column: Column) -> str | None:
    text = from_scalar_text(value, column.type)
    return text if isinstance(text, str) else None
