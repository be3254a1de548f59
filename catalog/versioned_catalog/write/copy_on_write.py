"""Delete or update rows of a table without a primary key, by marks or by copies of their segments.

Statistics and partition values classify the segments first: those whose rows all match the filter are
dropped or rewritten whole, those without a possible match stay, and only the others are read.
``marking`` decides which of these are marked, and which are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.mark_rules import RowChanges, row_changes_of
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.bounds import every_match, some_match
from versioned_catalog.read.filters import BoundFilter, columns_of
from versioned_catalog.read.metadata_columns import METADATA_COLUMNS, ROW_POSITION, stored_columns
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import read_segment, read_with_matches
from versioned_catalog.storage.store import Store
from versioned_catalog.write.marking import Choice, choose
from versioned_catalog.write.segment_writer import WriteSpec
from versioned_catalog.write.update import KeepsRowIds, RowUpdater, changed_where
from versioned_catalog.write.writer import write_segments


@dataclass(frozen=True)
class MatchingSegments:
    """The segments that a filter may match, by their metadata.

    Args:
        whole: paths of the segments in which every row matches.
        partial: paths of the segments in which some rows may match.
    """

    whole: tuple[str, ...]
    partial: tuple[str, ...]


@dataclass(frozen=True)
class Rewritten:
    """Result of a rewrite, not yet committed.

    Args:
        removed: paths of the segments that leave.
        records: the new segments.
        marks: the rows that it marks, by the paths of their segments.
        updated: how many rows have new values.
    """

    removed: tuple[str, ...]
    records: tuple[SegmentRecord, ...]
    marks: Mapping[str, Positions] = field(default_factory=dict)
    updated: int | None = None


def matching_segments(state: TableState, bound: BoundFilter | None) -> MatchingSegments:
    """Return the segments of a snapshot that may match a filter (None: every row)."""
    paths = state.segments.core["path"]
    if bound is None:
        return MatchingSegments(tuple(paths.to_pylist()), ())
    some, every = some_match(state, bound), every_match(state, bound)
    partial = paths.filter(pc.and_not(some, every))
    return MatchingSegments(tuple(paths.filter(every).to_pylist()), tuple(partial.to_pylist()))


def whole_segments(state: TableState, bound: BoundFilter | None, table: str) -> tuple[str, ...]:
    """Return the segments in which every row matches; refuse a filter that may match part of a segment.

    Args:
        bound: the filter, bound to its schema; None for every row.

    Raises:
        InvalidRequestError: a segment may hold matching and other rows.
    """
    matching = matching_segments(state, bound)
    if bound is not None and matching.partial:
        columns = ", ".join(sorted(_column_name(i, state.schema) for i in columns_of(bound)))
        raise InvalidRequestError(
            f"{table}: {len(matching.partial)} segments, such as {matching.partial[0]}, may match the "
            f"filter on {columns} in part, so they cannot be deleted unread; use Table.delete, "
            f"or filter by the partitioning ({', '.join(partition_fields(state.schema)) or 'none'})"
        )
    return matching.whole


def _column_name(column_id: int, schema: Schema) -> str:
    return schema.path_text(column_id) if column_id in schema.ids else "a metadata column"


def without_matches(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec
) -> Rewritten:
    """Delete the rows that match a filter: mark them, or copy the other rows of their segments.

    A segment in which every row matches is removed without being read. A segment in which some rows may
    match is read, and marked or copied only if a row does match.

    Args:
        bound: the filter, bound to its schema; None for every row.

    Raises:
        CorruptTableError: a segment does not match the log.
        InvalidRequestError: the property ``row_changes`` has no valid value.
    """
    spec = replace(spec, row_ids=state.has_row_ids)
    matching = matching_segments(state, bound)
    segments = _Segments.of(store, state, bound, matching.partial)
    copied = list(segments.tasks(segments.choice.copied))
    copies = (_others(store, task) for task in copied)
    removed = (*matching.whole, *(task.path for task in copied))
    return Rewritten(removed, _write(store, spec, copies), segments.choice.marks)


def with_updates(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec, updater: RowUpdater
) -> Rewritten:
    """Update the rows that match a filter: write them, or their whole segments, with the new values.

    Args:
        store, state, bound, spec: as for ``without_matches``.

    Raises:
        CorruptTableError: a segment does not match the log.
        InvalidRequestError: a new value does not fit its column, or as for ``without_matches``.
    """
    if state.has_row_ids:
        spec, updater = replace(spec, row_ids=True), KeepsRowIds(updater)
    matching = matching_segments(state, bound)
    segments = _Segments.of(store, state, bound, matching.partial)
    choice = segments.choice
    copied = list(segments.tasks(choice.copied.union(matching.whole)))
    counts = [sum(map(len, choice.marks.values()))]
    copies = (_updated(store, task, updater, counts) for task in copied)
    changed = (updater.update(batch) for batch in segments.matches(choice.marks.keys()))
    records = _write(store, spec, chain(copies, [changed]))
    return Rewritten(tuple(task.path for task in copied), records, choice.marks, sum(counts))


def _write(
    store: Store, spec: WriteSpec, copies: Iterable[Iterator[pa.RecordBatch]]
) -> tuple[SegmentRecord, ...]:
    """Write a new segment for the rows of each copy; in a partitioned table, for each partition."""
    together = [chain.from_iterable(copies)] if spec.schema.partitioning else copies
    return tuple(record for batches in together for record in write_segments(store, spec, batches))


def _others(store: Store, task: SegmentTask) -> Iterator[pa.RecordBatch]:
    """The rows of a segment that do not match its filter."""
    for batch, mask in read_with_matches(store, task):
        yield batch.filter(pc.invert(mask))


def _updated(
    store: Store, task: SegmentTask, updater: RowUpdater, counts: list[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of a segment, those that match its filter with new values; appends how many do."""
    for batch, mask in read_with_matches(store, task):
        counts.append(mask.true_count)
        yield from changed_where(batch, mask, updater).to_batches()


_POSITION = next(column for column in METADATA_COLUMNS if column.id == ROW_POSITION)


@dataclass(frozen=True, eq=False)
class _Segments:
    """The segments that a filter may match, and how those that it matches in part are changed."""

    store: Store
    reading: Scan
    choice: Choice

    @staticmethod
    def of(
        store: Store, state: TableState, bound: BoundFilter | None, partial: Collection[str]
    ) -> _Segments:
        """Read which rows of the ``partial`` segments match, and choose how to change them."""
        positions = Scan(store, state, (_POSITION,), bound)
        columns = stored_columns(state.schema, row_ids=state.has_row_ids)
        reading = Scan(store, state, columns, bound, like=positions)
        if not partial:
            return _Segments(store, reading, Choice({}, frozenset()))
        how = row_changes_of(state.properties)
        if how is RowChanges.AUTO and state.branch is not None:
            how = RowChanges.MARK  # a merge can unite marks, and no copies
        tasks = _tasks(positions, frozenset(partial))
        return _Segments(store, reading, choose(store, tasks, how))

    def tasks(self, paths: Collection[str]) -> Iterator[SegmentTask]:
        """The tasks that read whole rows of some segments, in the order of the state."""
        return _tasks(self.reading, paths)

    def matches(self, paths: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some segments that match the filter."""
        for task in self.tasks(paths):
            yield from read_segment(self.store, task)


def _tasks(scan: Scan, paths: Collection[str]) -> Iterator[SegmentTask]:
    for task, _ in scan.tasks() if paths else ():
        assert isinstance(task, SegmentTask), (
            "tables with a primary key are neither marked nor copied"
        )
        if task.path in paths:
            yield task
