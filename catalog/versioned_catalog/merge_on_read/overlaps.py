"""Which segments of a keyed table touch: they are of one partition, and their ranges overlap in every
column of the row key."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.keys import comparable
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.schema.partition_values import PartitionKey, key_reader
from versioned_catalog.types.arrow_values import scalar_of

Range = tuple[Sequence[int], Sequence[int]]
"""The ranks of the lower and of the upper bounds of one column, one a segment."""


def key_ranges(state: TableState) -> list[Range]:
    """The partitions, and the ranges of the columns of the row key, over the live segments, in order.

    Only how they compare counts: bounds that are not known lie beyond all others.
    """
    bounds = SegmentBounds(state, state.schema)
    found: list[Range] = [_partitions(state)] if state.schema.partitioning else []
    for column_id in state.schema.row_key:
        known = bounds(column_id)
        assert known is not None, "columns of the row key are top-level columns of plain types"
        found.append(_ranks(known.min, known.max))
    return found


def _partitions(state: TableState) -> Range:
    """The partitions by number: rows of one key are in one, since only the row key decides. Segments
    that are partitioned otherwise may hold rows of any."""
    core = state.segments.core
    readers = {
        version: key_reader(state.schemas[version], state.schema)
        for version in pc.unique(core["schema_version"]).to_pylist()
    }
    numbers: dict[PartitionKey, int] = {}
    low: list[int] = []
    high: list[int] = []
    pairs = zip(core["schema_version"].to_pylist(), core["partition"].to_pylist(), strict=True)
    for version, texts in pairs:
        read = readers[version]
        number = (
            None if read is None else numbers.setdefault(read(tuple(texts or ())), len(numbers))
        )
        low.append(-1 if number is None else number)
        high.append(len(core) if number is None else number)
    return low, high


def _ranks(low: pa.Array, high: pa.Array) -> Range:
    low, high = comparable(low), comparable(high)
    values = pc.unique(pa.concat_arrays([low, high])).drop_null()
    values = values.take(pc.sort_indices(values))
    lowest, highest = -1, len(values)
    places = [pc.index_in(one, value_set=values) for one in (low, high)]
    return (
        pc.fill_null(places[0], scalar_of(lowest, pa.int32())).to_pylist(),
        pc.fill_null(places[1], scalar_of(highest, pa.int32())).to_pylist(),
    )


def touching(ranges: Sequence[Range], places: Sequence[int]) -> list[list[int]]:
    """Segments in groups: none touches one of another group.

    Groups are cut where the ranges of one column leave a gap, again and again, so that some hold
    segments that are apart in ways that no gap tells.

    Args:
        ranges: of each column of the row key, over all segments.
        places: the segments in question.
    """
    waiting, done = [list(places)] if places else [], []
    while waiting:
        group = waiting.pop()
        parts = _cut(ranges, group)
        if len(parts) > 1:
            waiting += parts
        else:
            done.append(sorted(group))
    return sorted(done)


def _cut(ranges: Sequence[Range], group: list[int]) -> list[list[int]]:
    """The group cut by the first column that has a gap in it."""
    if len(group) < 2:
        return [group]
    for low, high in ranges:
        parts: list[list[int]] = []
        end = None
        for place in sorted(group, key=low.__getitem__):
            if end is None or low[place] > end:
                parts.append([])
                end = high[place]
            parts[-1].append(place)
            end = max(end, high[place])
        if len(parts) > 1:
            return parts
    return [group]
