"""The columns by which the segments of a scan are laid out, so that a filter can tell them apart."""

from __future__ import annotations

import pyarrow.compute as pc

from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.scan.scan import Scan
from versioned_catalog.types.arrow_values import extreme_of
from versioned_catalog.types.types import Column


def layout_columns(scan: Scan) -> tuple[Column, ...]:
    """The columns by which a filter may skip some segments of a scan, and keep others.

    These are the columns that the table is partitioned by, and those of its key and of its sort
    order whose values differ from segment to segment. Values of other columns are not looked at:
    a filter that arrives while a query runs costs time, and is unlikely to skip anything by them.

    Returns:
        Top-level columns, in the order of the scan's.
    """
    if scan.kept.num_rows < 2:
        return ()
    schema = scan.state.schema
    partitioned = {field.source for field in schema.partitioning}
    ordered = {*schema.row_key, *(field.source for field in schema.sort_by)}
    return tuple(
        column
        for column in scan.columns
        if column.id in partitioned or (column.id in ordered and _is_apart(scan, column))
    )


def _is_apart(scan: Scan, column: Column) -> bool:
    """Whether there are two segments of which one ends before the other begins."""
    bounds = SegmentBounds(scan.state, scan.state.schema)(column.id)
    if bounds is None:
        return False
    ends, begins = scan.of_kept(bounds.max).drop_null(), scan.of_kept(bounds.min).drop_null()
    if not len(ends) or not len(begins):
        return False
    apart: bool = pc.less(extreme_of(ends, False), extreme_of(begins, True)).as_py()
    return apart
