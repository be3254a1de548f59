"""Compaction tasks: groups of segments that are rewritten together. A task is sent to executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.compaction.clustering import Clustering, clustered
from versioned_catalog.datafile.merge_prefetch import PREFETCH_SEGMENTS
from versioned_catalog.datafile.read_ahead import read_ahead
from versioned_catalog.datafile.segment_writer import PLAIN_ROWS, SegmentKind, WriteSpec
from versioned_catalog.datafile.tasks import Task, read_task
from versioned_catalog.datafile.writer import write_groups, write_segments, write_sorted
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.storage.store import Store

READERS = 2
"""Threads that read from a local disk while another one writes."""


@dataclass(frozen=True)
class CompactionTask:
    """A group of segments to rewrite.

    Args:
        bytes: the size of the segments to remove.
        tasks: read their rows.
        kind: the kind of the new segments; in a table with a primary key, with their order.
        clustering: how to cluster the rows, if at all.
    """

    paths: tuple[str, ...]
    bytes: int
    tasks: tuple[Task, ...]
    spec: WriteSpec
    kind: SegmentKind = PLAIN_ROWS
    clustering: Clustering | None = None

    def run(self, store: Store, scratch: str | None = None) -> tuple[SegmentRecord, ...]:
        """Read the segments and write the new ones, which become visible when they are committed.

        ``scratch`` is a local folder for rows that do not fit in memory; Python's default if omitted.

        Raises:
            CorruptTableError: a segment is not what the log says.
        """
        batches = _read(store, self.tasks)
        if self.clustering is not None:
            sampled = _read(store, self.clustering.sampled)
            columns = self.spec.schema.columns
            groups = clustered(batches, sampled, columns, self.clustering, scratch)
            return tuple(write_groups(store, self.spec, groups, scratch=scratch))
        if self.spec.schema.sort_by or (self.spec.schema.row_key and not self.spec.ops):
            return tuple(write_segments(store, self.spec, batches, scratch))
        bare = _without_shared_sequence(batches, self)
        return tuple(write_sorted(store, self.spec, bare, self.kind, scratch))


def _read(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    threads = PREFETCH_SEGMENTS if store.is_remote else READERS
    return read_ahead(store, tasks, threads, read_task)


def _without_shared_sequence(
    batches: Iterable[pa.RecordBatch], task: CompactionTask
) -> Iterator[pa.RecordBatch]:
    """Drop the sequence column where all rows share one sequence."""
    sequence = len(task.spec.schema.columns)
    for batch in batches:
        if task.spec.ops and not task.kind.sequences:
            kept = [at for at in range(batch.num_columns) if at != sequence]
            yield batch.select(kept)
        else:
            yield batch
