"""Which segments to compact: small ones of a partition, and those whose keys overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.features import DELETE_ROW
from versioned_catalog.log.marks import mark_from_text
from versioned_catalog.log.record import Delta, SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import FALSE, ZERO, scalar_of
from versioned_catalog.model.bound_changes import newly_not_null
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.overlaps import overlapping_groups
from versioned_catalog.read.planning import next_fit
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import (
    PREFETCH_SEGMENTS,
    Task,
    read_ahead,
    read_merged,
    read_segment,
)
from versioned_catalog.storage.store import PREFIX, Store
from versioned_catalog.write.clustering import Clustering, clustered
from versioned_catalog.write.segment_writer import (
    KEYED_ROW_GROUP_ROWS,
    PLAIN_ROWS,
    SegmentKind,
    WriteSpec,
)
from versioned_catalog.write.writer import (
    SORTED_BYTES,
    SORTED_ROWS,
    buffered,
    target_bytes,
    write_groups,
    write_segments,
)

READERS = 2
"""Threads that read from a local disk while another thread writes."""


@dataclass(frozen=True)
class CompactionTask:
    """A group of segments to rewrite.

    Args:
        paths, sizes: the segments to remove, and the bytes of each.
        tasks: read their rows, without those that are marked.
        kind: the kind of the new segments; in a table with a primary key, with their order.
        clustering: how to cluster the rows, if at all.
    """

    paths: tuple[str, ...]
    sizes: tuple[int, ...]
    tasks: tuple[Task, ...]
    spec: WriteSpec
    kind: SegmentKind = PLAIN_ROWS
    clustering: Clustering | None = None

    @property
    def bytes(self) -> int:
        """The size of the segments to remove."""
        return sum(self.sizes)

    def is_remarked(self, segments: SegmentSet) -> bool:
        """Whether live segments have other marks than when the task was planned."""
        return any(
            segments.rows_of(task.path) is not None and segments.mark_of(task.path) != task.mark
            for task in self._single
        )

    def is_current(self, segments: SegmentSet) -> bool:
        """Whether the segments are live, and have the marks with which the task was planned."""
        are_live = all(segments.rows_of(path) is not None for path in self.paths)
        return are_live and not self.is_remarked(segments)

    @property
    def clears_marks(self) -> bool:
        """Whether it is worth running for the marks of one of its segments alone."""
        return any(t.mark is not None and _is_much(t.mark.rows, t.rows) for t in self._single)

    @property
    def schema_versions(self) -> frozenset[int]:
        """The schema versions of the segments that are read one by one."""
        return frozenset(task.schema_version for task in self._single)

    def keeps_order(self, written: Sequence[SegmentRecord]) -> bool:
        """Whether the new segments hold every row that is shown of the old ones, in the same order."""
        if self.clustering is not None or self.spec.schema.sort_by or self.spec.schema.row_key:
            return False
        if len({record.partition for record in written}) > 1:
            return False  # rows of another partitioning are split
        shown = sum(t.rows - (0 if t.mark is None else t.mark.rows) for t in self._single)
        return shown == sum(record.rows for record in written)

    @property
    def _single(self) -> Iterator[SegmentTask]:
        """The segments that are read one by one; those that are merged have no marks."""
        return (task for task in self.tasks if isinstance(task, SegmentTask))

    def run(self, store: Store, scratch: str | None = None) -> tuple[SegmentRecord, ...]:
        """Read the segments and write the new ones, which become visible when they are committed.

        ``scratch`` is a local folder for rows that do not fit in memory; Python's default if omitted.

        Raises:
            CorruptTableError: a segment does not match the log.
        """
        batches = _read(store, self.tasks)
        if self.clustering is not None:
            sampled = _read(store, self.clustering.sampled)
            columns = self.spec.schema.columns
            groups = clustered(batches, sampled, columns, self.clustering, scratch)
        elif self.spec.schema.sort_by or (self.spec.schema.row_key and not self.spec.ops):
            return tuple(write_segments(store, self.spec, batches, scratch))
        else:
            bare = _without_shared_sequence(batches, self)
            # In one array a column: statistics of many short arrays take twice the time.
            rows = KEYED_ROW_GROUP_ROWS if self.spec.schema.row_key else SORTED_ROWS
            tables = buffered(bare, SORTED_BYTES, rows)
            groups = (table.combine_chunks() for table in tables)
        return tuple(write_groups(store, self.spec, groups, self.kind, scratch))


def _read(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    threads = PREFETCH_SEGMENTS if store.is_remote else READERS
    return read_ahead(store, tasks, threads, _read_task)


def _read_task(store: Store, task: Task) -> Iterator[pa.RecordBatch]:
    """Read a task; most of a merge is the reading of its segments."""
    if isinstance(task, SegmentTask):
        return read_segment(store, task)
    return read_merged(store, task, READERS)


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


Order = tuple[int, int]


@dataclass(frozen=True)
class Levels:
    """The live segments of a table with a primary key.

    Args:
        ranges: bounds of each column of the row key, one element a segment.
        orders: (sequence, ordinal) of each segment.
        deltas: the delta metadata of each segment.
        bytes: the size of each segment.
        partitioned: whether the first range is that of the partition.
        nulls: segments that may hold null in a column that is NOT NULL by now.
    """

    ranges: Sequence[tuple[Sequence[int], Sequence[int]]]
    orders: Sequence[Order]
    deltas: Sequence[Delta]
    bytes: Sequence[int]
    partitioned: bool = False
    nulls: Container[int] = ()

    def overlaps(self, at: int, other: int) -> bool:
        """Whether the ranges of two segments overlap in every column of the row key."""
        return all(low[at] <= high[other] and low[other] <= high[at] for low, high in self.ranges)

    def groups(self, positions: Sequence[int]) -> list[list[int]]:
        """Group segments whose row keys overlap, directly or by way of others."""
        return overlapping_groups(self.ranges, positions)

    def closure(self, chosen: Iterable[int]) -> set[int]:
        """Closure of segments that must be compacted together.

        A PATCH needs all older rows of its keys, or it would become a row of its own. A row with a null
        that is not allowed any more needs the newer row that hides it. Segments of one commit are
        ordered by their ordinals only, so overlapping ones stay together.
        """
        closed, waiting = set[int](), list(chosen)
        while waiting:
            position = waiting.pop()
            if position in closed:
                continue
            closed.add(position)
            waiting += [at for at in self._near(position) if self._needs(position, at)]
        return closed

    def _near(self, at: int) -> Sequence[int]:
        """Candidates for ``_needs``: the segments of the same commit; for a PATCH or nulls, all."""
        if self.deltas[at].patch is not None or at in self.nulls:
            return range(len(self.orders))
        return self._commits[self.orders[at][0]]

    @cached_property
    def _commits(self) -> dict[int, list[int]]:
        by_sequence: dict[int, list[int]] = {}
        for at, (sequence, _) in enumerate(self.orders):
            by_sequence.setdefault(sequence, []).append(at)
        return by_sequence

    def _needs(self, at: int, other: int) -> bool:
        if at == other or not self.overlaps(at, other):
            return False
        patches = self.deltas[at].patch is not None and self._older(other, at)
        hidden = at in self.nulls and self._older(at, other)
        alone = self.deltas[at].sequences is None and self.deltas[other].sequences is None
        return patches or hidden or (alone and self.orders[at][0] == self.orders[other][0])

    def _older(self, other: int, at: int) -> bool:
        """Whether ``other`` may hold rows older than the newest of ``at``."""
        return self.least_sequence(other) <= self.orders[at][0]

    def least_sequence(self, position: int) -> int:
        """The least sequence of the rows of a segment."""
        sequences = self.deltas[position].sequences
        return self.orders[position][0] if sequences is None else sequences[0]

    def needs_tombstones(self, chosen: set[int]) -> bool:
        """Whether an unchosen segment may hold a row that a tombstone in a chosen one deletes."""
        deletes = [at for at in chosen if DELETE_ROW in self.deltas[at].ops]
        others = [at for at in range(len(self.orders)) if at not in chosen]
        return any(
            self._older(other, position) and self.overlaps(other, position)
            for position in deletes
            for other in others
        )

    def neighbours(self, alone: Sequence[int], target: int) -> list[list[int]]:
        """Group small segments that overlap nothing, adjacent in key order, up to ``target`` bytes."""
        every = range(len(self.orders))
        ordered = sorted(every, key=lambda at: [low[at] for low, _ in self.ranges])
        small, runs = set(alone), list[list[int]]()
        size = 0
        for at in ordered:
            fits = size + self.bytes[at] <= target
            if at in small and runs and runs[-1] and fits and self._together(runs[-1][-1], at):
                runs[-1].append(at)
                size += self.bytes[at]
            else:
                runs.append([at] if at in small else [])
                size = self.bytes[at]
        return [run for run in runs if len(run) > 1 and self._is_clear(run)]

    def _together(self, at: int, other: int) -> bool:
        """Whether two segments are of one partition; others would be split again."""
        return not self.partitioned or self.ranges[0][0][at] == self.ranges[0][0][other]

    def _is_clear(self, positions: list[int]) -> bool:
        """Whether no other segment overlaps the joint range of these."""
        inside = set(positions)
        hull = [
            (low, high, min(map(low.__getitem__, positions)), max(map(high.__getitem__, positions)))
            for low, high in self.ranges
        ]
        return not any(
            all(low[at] <= to and fro <= high[at] for low, high, fro, to in hull)
            for at in range(len(self.orders))
            if at not in inside
        )


Row = dict[str, Any]

SMALL = 0.5
"""A segment is small below this fraction of the target size."""

MARKED = 0.1
"""The fraction of its rows from which on a marked segment is worth to be written again."""

Due = Callable[[Row], bool]
"""Whether a segment is compacted, also if it is large or alone."""


def every_segment(row: Row) -> bool:
    """All segments are due."""
    return True


def no_segment(row: Row) -> bool:
    """Only small segments are compacted."""
    return False


def much_marked(row: Row) -> bool:
    """Whether many of a segment's rows are marked.

    Adopted files are copied only on demand, since their owner keeps them.
    """
    return not row["path"].startswith(PREFIX) and _is_much(_marked_rows(row), row["rows"])


def may_be_due(state: TableState, due: Due) -> pa.ChunkedArray:
    """Whether each live segment is small or may be ``due``: few are, of a table of many segments."""
    segments = state.segments
    if due is every_segment:
        return pc.is_valid(segments.column("path"))
    small = small_segments(state)
    return pc.or_(small, pc.is_valid(segments.column("mark"))) if due is much_marked else small


def _is_much(marked: int, rows: int) -> bool:
    return marked >= MARKED * rows > 0


def _marked_rows(row: Row) -> int:
    text: str | None = row["mark"]
    return 0 if text is None else mark_from_text(text).rows


def _shown_bytes(row: Row) -> int:
    """The share of a segment's bytes that belongs to rows that are not marked."""
    size, rows = int(row["bytes"]), int(row["rows"])
    return size - size * _marked_rows(row) // max(rows, 1)


def bins(
    rows: Iterable[Row], schemas: Mapping[int, Schema], target: int, due: Due
) -> list[list[Row]]:
    """Pack segments into bins of about ``target`` bytes, each of one partition, keeping their order.

    Small segments are packed with others, if they are not adopted; those that are ``due``, always.
    """
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        is_small = row["bytes"] < SMALL * target and not row["path"].startswith(PREFIX)
        if is_small or due(row):
            key = (schemas[row["schema_version"]].partitioning, *(row["partition"] or ()))
            partitions.setdefault(key, []).append(row)
    packed = (
        list(group)
        for same in partitions.values()
        for group in next_fit(((row, _shown_bytes(row)) for row in same), target)
    )
    return [group for group in packed if len(group) > 1 or due(group[0])]


def positions_with_nulls(state: TableState) -> set[int]:
    """Positions of the segments that may hold null in a column that became NOT NULL since."""
    found = set[int]()
    versions = state.segments.core["schema_version"]
    for version in pc.unique(versions).to_pylist():
        # For Python values, Arrow would import pandas.
        written = pc.equal(versions, scalar_of(version, versions.type))
        for column_id in newly_not_null(state.schemas[version], state.schema):
            column = state.schema.column(column_id)
            counts = state.segments.statistic("nulls", column, state.schemas)
            has_none = pc.fill_null(pc.equal(counts, ZERO), FALSE)
            found.update(pc.indices_nonzero(pc.and_not(written, has_none)).to_pylist())
    return found


AUTO_COMPACT = "auto_compact"


def threshold(properties: Mapping[str, str]) -> int | None:
    """Return the number of small segments at which a writer compacts; None for never.

    Raises:
        InvalidRequestError: the property is not an integer of at least 2.
    """
    text = properties.get(AUTO_COMPACT)
    if text is None:
        return None
    if not isinstance(text, str) or not text.isdecimal() or not 2 <= int(text) < 10**9:
        raise InvalidRequestError(
            f"the property {AUTO_COMPACT} must be a number of small segments, at least 2, "
            f"got {text!r}",
            condition="INVALID_OPTION",
        )
    return int(text)


def is_due(state: TableState) -> bool:
    """Whether the table has as many small segments as ``auto_compact`` says."""
    wanted = threshold(state.properties)
    if wanted is None:
        return False
    limit, commits = small_bytes(state.properties), range(state.version + 1)
    return state.segments.count_small(limit, commits, partitioned=False)[0] >= wanted


def small_bytes(properties: Mapping[str, str]) -> int:
    """The number of bytes below which a segment is small."""
    return math.ceil(SMALL * target_bytes(properties))


def small_segments(state: TableState) -> pa.ChunkedArray:
    """Whether each live segment is small; adopted files, which stay as they are, count as large."""
    bytes_, paths = state.segments.column("bytes"), state.segments.column("path")
    small = pc.less(bytes_, scalar_of(small_bytes(state.properties), bytes_.type))
    return pc.and_not(small, pc.starts_with(paths, PREFIX))
