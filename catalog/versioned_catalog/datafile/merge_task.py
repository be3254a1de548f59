"""The task of merging segments whose rows may replace each other's."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from versioned_catalog.datafile.merge_prefetch import PREFETCH_SEGMENTS, MergePrefetch
from versioned_catalog.datafile.reader import Lookup, read_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.expressions.evaluate import keep_mask
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.merge_on_read.keys import Key
from versioned_catalog.merge_on_read.merge import Run, Shape, merge
from versioned_catalog.projection.adapter import batch_of_nothing
from versioned_catalog.projection.narrowing import Narrowing
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_schema
from versioned_catalog.types.types import Column


@dataclass(frozen=True)
class Member:
    """One segment of a merge.

    Args:
        task: reads the row key, then the values, the sequence and the type of operation. Its filter
            concerns the row key only.
        order: (sequence, ordinal), by which its rows replace others of their keys.
        sequences: the least and the greatest sequence of its rows.
        patched: the places of the values that its PATCH rows assign; None if it has no such rows.
        lower, upper: bounds of the first column of the row key; None where unknown.
    """

    task: SegmentTask
    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    upper: Key | None


@dataclass(frozen=True)
class MergeTask:
    """The task of merging segments. The driver decides its values, executors read.

    Args:
        keys, values: the number of columns of the row key in merged rows, and of those after it.
        columns: the wanted columns.
        places: their places in merged rows.
        filter: which rows are wanted, over ``columns``; None for all. It is applied to merged rows.
        shown: how many of the columns are shown; only the filter needs the others.
        tombstones: whether deleted rows are wanted, too, with their type of operation.
        narrowing: as of ``SegmentTask``, over ``columns``.
    """

    members: tuple[Member, ...]
    keys: int
    values: int
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    filter: BoundFilter | None
    shown: int
    tombstones: bool = False
    narrowing: Narrowing | None = None

    @property
    def rows(self) -> int:
        """The number of rows to read."""
        return sum(member.task.rows for member in self.members)

    @property
    def bytes(self) -> int:
        """The size of the files to read."""
        return sum(member.task.bytes for member in self.members)

    @property
    def shape(self) -> Shape:
        """The layout of merged rows."""
        return Shape(self.keys, self.values)


def restrict_merge(task: MergeTask, paths: Container[str]) -> MergeTask | None:
    """Restrict a merge to some segments; None if none is left."""
    members = tuple(member for member in task.members if member.task.path in paths)
    return replace(task, members=members) if members else None


def read_merged(store: Store, task: MergeTask) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a merge, sorted by row key.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    with open_runs(store, task) as runs:
        schema = to_arrow_schema(task.columns)
        for batch in merge(runs, task.shape, tombstones=task.tombstones):
            found = _wanted(batch, task, schema)
            if found.num_rows:
                yield _narrowed(found, task, store)


@contextmanager
def open_runs(store: Store, task: MergeTask) -> Iterator[list[Run]]:
    """The runs of a merge, read ahead on remote storage until the end of the block."""
    if not store.is_remote:
        yield [_run(member, partial(read_segment, store, member.task)) for member in task.members]
        return
    with ThreadPoolExecutor(PREFETCH_SEGMENTS) as pool:
        ahead = MergePrefetch(store, [member.task for member in task.members], pool)
        yield [_run(member, partial(ahead.read, at)) for at, member in enumerate(task.members)]


Reading = Callable[[int], Iterator[pa.RecordBatch]]


def _run(member: Member, reading: Reading) -> Run:
    return Run(
        member.order, member.sequences, member.patched, member.lower, member.task.rows, reading
    )


def _wanted(batch: pa.RecordBatch, task: MergeTask, schema: pa.Schema) -> pa.RecordBatch:
    if not task.places:
        return batch_of_nothing(batch.num_rows)
    found = pa.RecordBatch.from_arrays([batch.column(at) for at in task.places], schema=schema)
    if task.filter is not None:
        whole = found if task.narrowing is None else task.narrowing.for_filter(found)
        lookup = Lookup(task.columns, whole)
        found = found.filter(keep_mask(task.filter, lookup, found.num_rows))
    if task.shown == 0:
        return batch_of_nothing(found.num_rows)
    return found if task.shown == len(task.places) else found.select(range(task.shown))


def _narrowed(found: pa.RecordBatch, task: MergeTask, store: Store) -> pa.RecordBatch:
    if task.narrowing is None:
        return found
    first = f"{store.url}/{task.members[0].task.path}"
    return task.narrowing.show(found, f"{first}, or a segment that is merged with it,")
