"""The first rows by a column, from the bounds of segments: which segments need not be read for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import ZERO, from_numpy, integers
from versioned_catalog.model.types import Column
from versioned_catalog.read.aggregates import exact_text
from versioned_catalog.read.bounds import has_exact_order, known_bounds
from versioned_catalog.read.scan import Scan


def top_bound(scan: Scan, column: Column, count: int, *, descending: bool) -> str | None:
    """A value that ``count`` rows reach, so that rows beyond it are not among the first by a column.

    Nulls and the values of rows that a merge may hide do not count.

    Args:
        scan: all rows of a snapshot.
        descending: whether the greatest values are wanted, and rows below the bound are not.

    Returns:
        The value text (FORMAT.md, section 4.2); None if no segment lies beyond it, or if metadata does
        not tell.
    """
    if scan.filter is not None or not has_exact_order(column):
        return None
    bounds = known_bounds(scan.state, column)
    if bounds is None:
        return None
    least, greatest = scan.of_kept(bounds.min), scan.of_kept(bounds.max)
    near, far = (least, greatest) if descending else (greatest, least)
    values = pc.subtract(scan.of_kept(scan.state.segments.shown_counts), scan.of_kept(bounds.nulls))
    certain = pc.and_(pc.fill_null(pc.greater(values, ZERO), False), pc.is_valid(near))
    certain = pc.and_not(certain, _merged(scan))
    reached = _reached(near.filter(certain), values.filter(certain), count, descending=descending)
    if reached is None:
        return None
    beyond = pc.less(far, reached) if descending else pc.greater(far, reached)
    if not pc.any(beyond).as_py():
        return None
    return exact_text(reached, column)


def _reached(ends: pa.Array, values: pa.Array, count: int, *, descending: bool) -> pa.Scalar | None:
    """The last of the ends, from the best on, that reaches enough values; None if there are less."""
    order = pc.array_sort_indices(ends, order="descending" if descending else "ascending")
    sums = np.cumsum(integers(values.take(order)))
    at = int(np.searchsorted(sums, count))
    return None if at == len(sums) else ends[order[at].as_py()]


def _merged(scan: Scan) -> pa.BooleanArray:
    """Which segments are merged, by their places in the scan."""
    merged = np.zeros(scan.kept.num_rows, bool)
    merged[[at for group in scan.selected.groups for at in group]] = True
    return from_numpy(merged)
