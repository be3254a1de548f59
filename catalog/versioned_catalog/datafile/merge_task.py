"""Segments whose rows may replace each other's, read as one: a task that travels to executors."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from versioned_catalog.datafile.open_ahead import AHEAD, OpenedAhead
from versioned_catalog.datafile.reader import Lookup, SegmentTask, read_segment
from versioned_catalog.expressions.evaluate import keep_mask
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.merge_on_read.keys import Key
from versioned_catalog.merge_on_read.merge import Run, Shape, merge
from versioned_catalog.projection.adapter import batch_of_nothing
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_schema
from versioned_catalog.types.types import Column


@dataclass(frozen=True)
class Member:
    """One segment of a merge.

    Args:
        task: how it is read: the row key, then values, sequence and type of operation. Its filter
            looks at the row key only.
        order: (sequence, ordinal): what its rows go by among those of their keys.
        sequences: the least and the greatest sequence of its rows.
        patched: which of the values its PATCH rows assign, by place; None where it has none.
        lower, upper: of one column: no row's key is less, and none begins with more; None where that is
            not known.
    """

    task: SegmentTask
    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    upper: Key | None


@dataclass(frozen=True)
class MergeTask:
    """A merge, planned.

    Args:
        members: the segments.
        keys, values: how many columns of merged rows are the row key, and how many follow it.
        columns: the wanted columns.
        places: where they are in merged rows.
        filter: which rows are wanted, over ``columns``; None for all. A row is judged after its
            versions were merged.
        shown: how many of the columns are shown; the rest is there for the filter.
        tombstones: whether rows that were deleted are given, too, with their type of operation.
    """

    members: tuple[Member, ...]
    keys: int
    values: int
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    filter: BoundFilter | None
    shown: int
    tombstones: bool = False

    @property
    def rows(self) -> int:
        """How many rows are read."""
        return sum(member.task.rows for member in self.members)


def restricted(task: MergeTask, paths: Container[str]) -> MergeTask | None:
    """The merge of those of its segments that are named; None where there is none."""
    members = tuple(member for member in task.members if member.task.path in paths)
    return replace(task, members=members) if members else None


def read_merged(store: Store, task: MergeTask) -> Iterator[pa.RecordBatch]:
    """The wanted rows, sorted by row key.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    if not store.is_remote:
        yield from _merged(task, [_reader(store, member) for member in task.members])
        return
    with ThreadPoolExecutor(AHEAD) as pool:
        ahead = OpenedAhead(store, [member.task for member in task.members], pool)
        yield from _merged(task, [partial(ahead.read, at) for at in range(len(task.members))])


Reading = Callable[[int], Iterator[pa.RecordBatch]]


def _reader(store: Store, member: Member) -> Reading:
    return partial(read_segment, store, member.task)


def _merged(task: MergeTask, readings: Sequence[Reading]) -> Iterator[pa.RecordBatch]:
    pairs = zip(task.members, readings, strict=True)
    runs = [_run(member, reading) for member, reading in pairs]
    schema = to_arrow_schema(task.columns)
    for batch in merge(runs, Shape(task.keys, task.values), tombstones=task.tombstones):
        found = _wanted(batch, task, schema)
        if found.num_rows:
            yield found


def _run(member: Member, reading: Reading) -> Run:
    return Run(
        member.order,
        member.sequences,
        member.patched,
        member.lower,
        member.task.rows,
        reading,
    )


def _wanted(batch: pa.RecordBatch, task: MergeTask, schema: pa.Schema) -> pa.RecordBatch:
    if not task.places:
        return batch_of_nothing(batch.num_rows)
    found = pa.RecordBatch.from_arrays([batch.column(at) for at in task.places], schema=schema)
    if task.filter is not None:
        lookup = Lookup(task.columns, found)
        found = found.filter(keep_mask(task.filter, lookup, found.num_rows))
    if task.shown == 0:
        return batch_of_nothing(found.num_rows)
    return found if task.shown == len(task.places) else found.select(range(task.shown))
