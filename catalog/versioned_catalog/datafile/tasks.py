"""Reading the rows of a task, whatever it is."""

from __future__ import annotations

from collections.abc import Container, Iterator

import pyarrow as pa

from versioned_catalog.datafile.merge_task import MergeTask, read_merged, restricted
from versioned_catalog.datafile.reader import read_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.storage.store import Store

Task = SegmentTask | MergeTask


def only(task: Task, paths: Container[str]) -> Task | None:
    """What is left of a task where only some segments are read; None for nothing."""
    match task:
        case SegmentTask():
            return task if task.path in paths else None
        case MergeTask():
            return restricted(task, paths)


def read_task(store: Store, task: Task) -> Iterator[pa.RecordBatch]:
    """The wanted rows of a task.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    match task:
        case SegmentTask():
            return read_segment(store, task)
        case MergeTask():
            return read_merged(store, task)
