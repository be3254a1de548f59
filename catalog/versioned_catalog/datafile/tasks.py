"""Tasks of a scan: a segment, or segments to merge."""

from __future__ import annotations

from collections.abc import Container, Iterator

import pyarrow as pa

from versioned_catalog.datafile.merge_task import MergeTask, read_merged, restrict_merge
from versioned_catalog.datafile.reader import read_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.storage.store import Store

Task = SegmentTask | MergeTask


def restrict(task: Task, paths: Container[str]) -> Task | None:
    """Restrict a task to some segments; None if none is left."""
    match task:
        case SegmentTask():
            return task if task.path in paths else None
        case MergeTask():
            return restrict_merge(task, paths)


def read_task(store: Store, task: Task) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a task.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    match task:
        case SegmentTask():
            return read_segment(store, task)
        case MergeTask():
            return read_merged(store, task)
