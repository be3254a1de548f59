"""Copy on write: which segments a filter means, and the rows of theirs that stay, written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.open_segment import WriteSpec
from versioned_catalog.datafile.reader import SegmentTask, read_marked, read_segment
from versioned_catalog.datafile.writer import write_segments
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filters import BoundFilter, columns_of
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.segments import every_match, some_match
from versioned_catalog.scan.scan import Scan
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import parse_transform, render_field
from versioned_catalog.storage.store import Store
from versioned_catalog.write.update import Updater, changed_where


@dataclass(frozen=True)
class Touched:
    """The segments that may hold a row for which a filter is true, by what metadata know of them.

    Args:
        whole: paths of those that hold nothing else.
        torn: paths of those that may hold others, too.
    """

    whole: tuple[str, ...]
    torn: tuple[str, ...]


@dataclass(frozen=True)
class Rewritten:
    """What a rewrite puts in the place of what; nobody sees it before a commit says so.

    Args:
        removed: paths of the segments that go.
        records: the segments that come.
    """

    removed: tuple[str, ...]
    records: tuple[SegmentRecord, ...]


def touched(state: TableState, bound: BoundFilter | None) -> Touched:
    """The segments of a snapshot that a filter (None: every row) touches."""
    paths = state.segments.core["path"]
    if bound is None:
        return Touched(tuple(paths.to_pylist()), ())
    some, every = some_match(state, bound), every_match(state, bound)
    torn = paths.filter(pc.and_not(some, every))
    return Touched(tuple(paths.filter(every).to_pylist()), tuple(torn.to_pylist()))


def whole_segments(state: TableState, bound: BoundFilter | None, table: str) -> tuple[str, ...]:
    """The segments that hold nothing but rows for which a filter is true.

    Args:
        state: the snapshot.
        bound: the filter, bound to its schema; None for every row.
        table: the table, for errors.

    Raises:
        InvalidRequestError: a segment may hold such rows and others.
    """
    found = touched(state, bound)
    if bound is not None and found.torn:
        columns = sorted(_column_name(i, state.schema) for i in columns_of(bound))
        raise InvalidRequestError(
            f"{table}: {len(found.torn)} segments, such as {found.torn[0]}, may hold both rows that the "
            f"filter on {', '.join(columns)} means and others, so that they can't be deleted unread; "
            "use Table.delete, or filter by what the table is partitioned by "
            f"({_partitioning(state.schema)})"
        )
    return found.whole


def _column_name(column_id: int, schema: Schema) -> str:
    return schema.path_text(column_id) if column_id in schema.ids else "an implicit column"


def _partitioning(schema: Schema) -> str:
    shown = [
        render_field(schema.path(field.source), parse_transform(field.transform))
        for field in schema.partitioning
    ]
    return ", ".join(shown) or "nothing so far"


def without_matches(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec
) -> Rewritten:
    """Take away the rows for which a filter is true, and copy the others of their segments.

    A segment of which metadata know that all its rows match is not read; one that may hold such rows
    is copied only if it does.

    Args:
        store: the table's folder.
        state: the snapshot.
        bound: the filter, bound to its schema; None for every row.
        spec: how the copies are written: of the snapshot's schema.

    Raises:
        CorruptTableError: a segment is not what the log says.
    """
    found = touched(state, bound)
    tasks = _tasks(store, state, bound, frozenset(found.torn))
    rewritten = _rewrite(store, spec, tasks, lambda task: _others(store, task))
    return replace(rewritten, removed=(*found.whole, *rewritten.removed))


def _rewrite(
    store: Store,
    spec: WriteSpec,
    tasks: Iterable[SegmentTask],
    rows: Callable[[SegmentTask], Iterator[pa.RecordBatch]],
) -> Rewritten:
    """Write what becomes of segments: one for each, or, of a partitioned table, one a partition."""
    removed = list[str]()

    def each() -> Iterator[Iterator[pa.RecordBatch]]:
        for task in tasks:
            removed.append(task.path)
            yield rows(task)

    together = [chain.from_iterable(each())] if spec.schema.partitioning else each()
    records = [record for batches in together for record in write_segments(store, spec, batches)]
    return Rewritten(tuple(removed), tuple(records))


def _others(store: Store, task: SegmentTask) -> Iterator[pa.RecordBatch]:
    """The rows of a segment for which its filter is false or null."""
    for batch, mask in read_marked(store, task):
        yield batch.filter(pc.invert(mask))


def with_updates(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec, updater: Updater
) -> Rewritten:
    """Change the rows for which a filter is true, and copy the others of their segments.

    Args:
        store, state, bound, spec: as for ``without_matches``.
        updater: what becomes of the rows.

    Raises:
        CorruptTableError: a segment is not what the log says.
        InvalidRequestError: a new value does not fit its column.
    """
    found = touched(state, bound)
    tasks = _tasks(store, state, bound, frozenset(found.torn), frozenset(found.whole))
    return _rewrite(store, spec, tasks, lambda task: _updated(store, task, updater))


def _updated(store: Store, task: SegmentTask, updater: Updater) -> Iterator[pa.RecordBatch]:
    for batch, mask in read_marked(store, task):
        yield from changed_where(batch, mask, updater).to_batches()


def _tasks(
    store: Store,
    state: TableState,
    bound: BoundFilter | None,
    torn: frozenset[str],
    whole: frozenset[str] = frozenset(),
) -> Iterator[SegmentTask]:
    """Tasks that read all columns: of some segments, and of those of others that hold a match."""
    if not torn and not whole:
        return
    looking = Scan(store, state, (), bound)
    reading = Scan(store, state, state.schema.columns, bound, like=looking)
    for (look, _), (read, _) in zip(looking.tasks(), reading.tasks(), strict=True):
        assert isinstance(look, SegmentTask), "rows of tables with a primary key are not copied"
        assert isinstance(read, SegmentTask), "the same segments are read twice"
        if read.path in whole or (read.path in torn and _holds_match(store, look)):
            yield read


def _holds_match(store: Store, task: SegmentTask) -> bool:
    return any(batch.num_rows for batch in read_segment(store, task))
