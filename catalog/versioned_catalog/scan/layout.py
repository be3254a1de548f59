"""The columns by which a filter can skip segments of a scan."""

from __future__ import annotations

import pyarrow.compute as pc

from versioned_catalog.pruning.bounds import known_bounds
from versioned_catalog.scan.scan import Scan
from versioned_catalog.types.arrow_values import extreme_of
from versioned_catalog.types.types import Column


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
