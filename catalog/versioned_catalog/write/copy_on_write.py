"""Copy on write: delete or update rows by rewriting the segments that hold them.

Statistics and partition values classify the segments first: those whose rows all match the filter are
dropped or rewritten whole, those without a possible match stay, and only the others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.bounds import every_match, some_match
from versioned_catalog.read.filters import BoundFilter, columns_of
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import read_marked, read_segment
from versioned_catalog.storage.store import Store
from versioned_catalog.write.segment_writer import WriteSpec
from versioned_catalog.write.update import RowUpdater, changed_where
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
    """Result of a rewrite, not yet committed."""

    removed: tuple[str, ...]
    records: tuple[SegmentRecord, ...]


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
    """Delete the rows that match a filter: copy the other rows of their segments to new segments.

    A segment in which every row matches is removed without being read. A segment in which some rows may
    match is read, and rewritten only if a row does match.

    Args:
        bound: the filter, bound to its schema; None for every row.

    Raises:
        CorruptTableError: a segment does not match the log.
    """
    matching = matching_segments(state, bound)
    tasks = _tasks(store, state, bound, frozenset(matching.partial))
    rewritten = _rewrite(store, spec, tasks, lambda task: _others(store, task))
    return replace(rewritten, removed=(*matching.whole, *rewritten.removed))


def _rewrite(
    store: Store,
    spec: WriteSpec,
    tasks: Iterable[SegmentTask],
    rows: Callable[[SegmentTask], Iterator[pa.RecordBatch]],
) -> Rewritten:
    """Write one new segment for each old one; in a partitioned table, one for each partition."""
    removed = list[str]()

    def each() -> Iterator[Iterator[pa.RecordBatch]]:
        for task in tasks:
            removed.append(task.path)
            yield rows(task)

    together = [chain.from_iterable(each())] if spec.schema.partitioning else each()
    records = [record for batches in together for record in write_segments(store, spec, batches)]
    return Rewritten(tuple(removed), tuple(records))


def _others(store: Store, task: SegmentTask) -> Iterator[pa.RecordBatch]:
    """The rows of a segment that do not match its filter."""
    for batch, mask in read_marked(store, task):
        yield batch.filter(pc.invert(mask))


def with_updates(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec, updater: RowUpdater
) -> Rewritten:
    """Update the rows that match a filter: write their segments again, with the new values.

    Args:
        store, state, bound, spec: as for ``without_matches``.

    Raises:
        CorruptTableError: a segment does not match the log.
        InvalidRequestError: a new value does not fit its column.
    """
    matching = matching_segments(state, bound)
    tasks = _tasks(store, state, bound, frozenset(matching.partial), frozenset(matching.whole))
    return _rewrite(store, spec, tasks, lambda task: _updated(store, task, updater))


def _updated(store: Store, task: SegmentTask, updater: RowUpdater) -> Iterator[pa.RecordBatch]:
    for batch, mask in read_marked(store, task):
        yield from changed_where(batch, mask, updater).to_batches()


def _tasks(
    store: Store,
    state: TableState,
    bound: BoundFilter | None,
    partial: frozenset[str],
    whole: frozenset[str] = frozenset(),
) -> Iterator[SegmentTask]:
    """Return tasks for the ``whole`` segments, and for each ``partial`` one in which a row matches."""
    if not partial and not whole:
        return
    probing = Scan(store, state, (), bound)
    reading = Scan(store, state, state.schema.columns, bound, like=probing)
    for (probe, _), (read, _) in zip(probing.tasks(), reading.tasks(), strict=True):
        assert isinstance(probe, SegmentTask), "tables with a primary key are not copied on write"
        assert isinstance(read, SegmentTask), "both scans read the same segments"
        if read.path in whole or (read.path in partial and _holds_match(store, probe)):
            yield read


def _holds_match(store: Store, task: SegmentTask) -> bool:
    return any(batch.num_rows for batch in read_segment(store, task))
