"""Overlapping segments of a keyed table.

Two segments overlap if they may be of one partition and their ranges overlap in every column of the
row key. Ranges are ranks among all bounds, so that every type compares as an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import from_numpy, integers, one_array, scalar_of
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.read.bounds import SegmentBounds
from versioned_catalog.read.row_keys import comparable

Ranks = npt.NDArray[np.int64]

Range = tuple[Ranks, Ranks]
"""The ranks of the lower and of the upper bounds of one column, one per segment."""


def key_ranges(state: TableState) -> list[Range]:
    """The ranges of the partitions, if any, and of the columns of the row key, one per live segment.

    Unknown bounds lie beyond all others.
    """
    bounds_of = SegmentBounds(state, state.schema)
    ranges: list[Range] = [_partitions(state)] if state.schema.partitioning else []
    for column_id in state.schema.row_key:
        bounds = bounds_of(column_id)
        assert bounds is not None, "columns of the row key are top-level columns of plain types"
        ranges.append(_ranks(bounds.min, bounds.max))
    return ranges


def _partitions(state: TableState) -> Range:
    """The partition numbers; all rows of a key are in one partition, as only the row key determines it.

    A segment with another partitioning may hold rows of any partition.
    """
    core = state.segments.core
    versions = integers(one_array(core["schema_version"]).cast(pa.int64()))
    numbers: dict[PartitionKey, int] = {}
    low, high = np.full(len(core), -1), np.full(len(core), len(core))
    for version in np.unique(versions):
        schema = state.schemas[int(version)]
        read = key_reader(schema, state.schema)
        if read is None:
            continue
        places = np.flatnonzero(versions == version)
        keys, inverse = _distinct(
            core["partition"].take(from_numpy(places)), len(schema.partitioning)
        )
        codes = [numbers.setdefault(read(key), len(numbers)) for key in keys]
        low[places] = high[places] = np.array(codes, np.int64)[inverse]
    return low, high


def _distinct(partitions: pa.ChunkedArray, width: int) -> tuple[list[PartitionKey], Ranks]:
    """The distinct keys among partitions of ``width`` values, and the number of the key of each."""
    values = pc.dictionary_encode(pc.list_flatten(one_array(partitions)), "encode")
    texts = values.dictionary.to_pylist()
    codes = integers(values.indices.cast(pa.int64())).reshape(-1, width)
    keys, inverse = np.unique(codes, axis=0, return_inverse=True)
    return [tuple(texts[code] for code in key) for key in keys.tolist()], inverse.reshape(-1)


def _ranks(low: pa.Array, high: pa.Array) -> Range:
    low, high = comparable(low), comparable(high)
    values = pc.unique(pa.concat_arrays([low, high])).drop_null()
    values = values.take(pc.sort_indices(values))
    return _places(low, values, -1), _places(high, values, len(values))


def _places(bounds: pa.Array, values: pa.Array, unknown: int) -> Ranks:
    positions = pc.fill_null(pc.index_in(bounds, value_set=values), scalar_of(unknown, pa.int32()))
    return integers(positions.cast(pa.int64()))


def overlapping(ranges: Sequence[Range], places: Any) -> Ranks:
    """Number the segments at ``places`` by groups: no segment overlaps a segment of another group.

    Groups are cut at gaps in the ranges of single columns of the row key until no gap is left. A group
    may hold segments that do not overlap, if no gap in a single column separates them.
    """
    restricted = [(low[places], high[places]) for low, high in ranges]
    groups = np.zeros(len(places), np.int64)
    count, uncut, at = min(len(places), 1), 0, 0
    while count < len(places) and uncut < len(ranges):
        groups = _cut(*restricted[at % len(ranges)], groups)
        new_count = int(groups.max()) + 1
        uncut = uncut + 1 if new_count == count else 1
        count, at = new_count, at + 1
    return groups


def _cut(low: Ranks, high: Ranks, groups: Ranks) -> Ranks:
    """Cut groups where the ranges of one column leave a gap."""
    order = np.lexsort((low, groups))
    ordered = groups[order]
    # Each group is moved beyond the previous group, so that the running maximum starts anew in it.
    shift = ordered * (int(high.max()) - int(high.min()) + 1)
    reach = np.maximum.accumulate(high[order] + shift)
    begins = np.ones(len(order), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]) | (low[order][1:] + shift[1:] > reach[:-1])
    out = np.empty_like(groups)
    out[order] = np.cumsum(begins) - 1
    return out


def members_in_order(
    groups: Ranks, places: Any, wanted: npt.NDArray[np.bool_]
) -> tuple[Ranks, list[int]]:
    """The members of the wanted groups, each in order, groups by their first member.

    ``overlapping`` has numbered the segments at ``places``, which ascend; ``wanted`` has one element
    per group.

    Returns:
        The members of all groups, and where each group begins and the last one ends.
    """
    chosen = wanted[groups]
    groups, members = groups[chosen], np.asarray(places, np.int64)[chosen]
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    group_at = first[inverse]  # the groups, numbered by the position of their first member
    order = np.argsort(group_at, kind="stable")
    changes = np.diff(group_at[order], prepend=-1, append=len(members))
    return members[order], np.flatnonzero(changes).tolist() if len(members) else [0]


def members_of(groups: Ranks, places: Any, wanted: npt.NDArray[np.bool_]) -> list[list[int]]:
    """The groups of ``members_in_order``."""
    members, ends = members_in_order(groups, places, wanted)
    ordered = members.tolist()
    return [ordered[first:end] for first, end in pairwise(ends)]


def overlapping_groups(
    ranges: Sequence[tuple[Sequence[int], Sequence[int]]], places: Sequence[int]
) -> list[list[int]]:
    """All groups of ``overlapping`` with their members."""
    ordered = np.array(sorted(places), np.int64)
    groups = overlapping([(np.asarray(low), np.asarray(high)) for low, high in ranges], ordered)
    return members_of(groups, ordered, np.ones(len(ordered), bool))
