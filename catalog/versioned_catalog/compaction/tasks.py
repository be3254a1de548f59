"""A piece of a compaction: segments that are read together and written anew. It travels to executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.compaction.clustering import Clustering, clustered
from versioned_catalog.datafile.merge_prefetch import PREFETCH_SEGMENTS
from versioned_catalog.datafile.read_ahead import read_ahead
from versioned_catalog.datafile.segment_writer import PLAIN_ROWS, SegmentKind, WriteSpec
from versioned_catalog.datafile.tasks import Task
from versioned_catalog.datafile.writer import write_groups, write_segments, write_sorted
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.storage.store import Store

READERS = 2
"""Threads that read from a disk of this machine while another one writes."""


@dataclass(frozen=True)
class Piece:
    """Segments, and what is made of them.

    Args:
        paths: the segments that go.
        bytes: how large they are.
        tasks: how their rows are read.
        spec: how they are written.
        kind: what they are; of a table with a primary key, with their order.
        clustering: along what curve they are put, if along one.
    """

    paths: tuple[str, ...]
    bytes: int
    tasks: tuple[Task, ...]
    spec: WriteSpec
    kind: SegmentKind = PLAIN_ROWS
    clustering: Clustering | None = None

    def carry_out(self, store: Store, scratch: str | None = None) -> tuple[SegmentRecord, ...]:
        """Read the segments and write the new ones, which nobody sees before a commit names them.

        Args:
            store: the table's folder.
            scratch: a folder of the local disk for rows that do not fit in memory; None for
                Python's own.

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
        laid = _laid(batches, self)
        return tuple(write_sorted(store, self.spec, laid, self.kind, scratch))


def _read(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    return read_ahead(store, tasks, PREFETCH_SEGMENTS if store.is_remote else READERS)


def _laid(batches: Iterable[pa.RecordBatch], piece: Piece) -> Iterator[pa.RecordBatch]:
    """Rows without the sequence that all of them share."""
    sequence = len(piece.spec.schema.columns)
    for batch in batches:
        if piece.spec.ops and not piece.kind.sequences:
            kept = [at for at in range(batch.num_columns) if at != sequence]
            yield batch.select(kept)
        else:
            yield batch
