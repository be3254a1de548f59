"""Evaluation of a filter on the live segments of a snapshot."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.pruning.inclusive import may_match
from versioned_catalog.pruning.partitions import partition_may_match
from versioned_catalog.pruning.strict import all_match


def some_match(state: TableState, bound: BoundFilter) -> pa.BooleanArray:
    """Which live segments must be read; the others hold no row that the filter selects."""
    bounds = SegmentBounds(state, state.known)
    found = may_match(bound, bounds, state.segments.count)
    return pc.and_(found, partition_may_match(bound, state))


def every_match(state: TableState, bound: BoundFilter) -> pa.BooleanArray:
    """Which live segments are known to hold only rows that the filter selects."""
    return all_match(bound, SegmentBounds(state, state.known), state.segments.count)
