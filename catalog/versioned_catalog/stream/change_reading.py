"""Carrying out the tasks of a change feed, on the driver or on executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from versioned_catalog.log.features import PUT_ROW
from versioned_catalog.model.arrow import scalar_of, to_arrow_schema, truths
from versioned_catalog.read.apply_plan import Narrowing
from versioned_catalog.read.evaluators import Lookup, keep_mask
from versioned_catalog.read.merge import merge, merge_images
from versioned_catalog.read.metadata_columns import (
    DELETE,
    INSERT,
    constant_columns,
    feed_schema,
    microseconds,
    type_names,
)
from versioned_catalog.read.row_hashes import indices
from versioned_catalog.read.row_keys import Run, Shape
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import (
    MergeTask,
    open_runs,
    read_segment,
    read_segments,
    read_with_mask,
)
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_tasks import (
    ChangeTask,
    DifferenceTask,
    IdentityTask,
    ImagesTask,
    Output,
    Stamp,
    StatesTask,
    WholeTask,
)
from versioned_catalog.stream.keyed_changes import (
    Changed,
    Pairs,
    changed_rows,
    pairs_of_commits,
    pairs_of_states,
    without_equal,
)
from versioned_catalog.stream.row_difference import NEW, difference, parts_of
from versioned_catalog.stream.row_identity import matched

FEED_ROWS = 64 * 1024
"""Rows of a batch of a feed, at most: its three columns, which all batches of a task share, would take
more time than a column that is read, if they were as long as the batches of a scan."""


def read_changes(store: Store, task: ChangeTask) -> Iterator[pa.RecordBatch]:
    """Read the changes of a task, in the columns of ``feed_schema``.

    Raises:
        CorruptTableError: a segment is missing or not the one that the log records.
        InvalidRequestError: a value does not fit the type in which it is returned.
        StorageError: the local disk is full, or fails.
    """
    match task:
        case WholeTask():
            batches = read_segment(store, task.segment)
            return _stamped(batches, task.type, task.stamp, task.output)
        case DifferenceTask():
            return _differing(store, task)
        case IdentityTask():
            return _matched(store, task)
        case ImagesTask():
            return _of_commits(store, task)
        case StatesTask():
            return _of_states(store, task)


def _stamped(
    batches: Iterable[pa.RecordBatch], type_: str, stamp: Stamp, output: Output
) -> Iterator[pa.RecordBatch]:
    """Rows in the shown columns, as changes of one type and commit."""
    schema = feed_schema(output.shown)
    feed: list[pa.Array] = []  # of the largest batch so far; smaller ones share it
    for whole in batches:
        for start in range(0, whole.num_rows, FEED_ROWS):
            batch = whole.slice(start, FEED_ROWS)
            if not feed or len(feed[0]) < batch.num_rows:
                feed = constant_columns(type_, stamp.version, stamp.time, batch.num_rows)
            shared = (column.slice(0, batch.num_rows) for column in feed)
            yield pa.RecordBatch.from_arrays([*batch.columns, *shared], schema=schema)


def _differing(store: Store, task: DifferenceTask) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(task.output.every)
    old, new = (read_segments(store, list(part)) for part in (task.removed, task.added))
    for side, batch in difference(old, new, schema, parts_of(task.rows, task.bytes)):
        shown = batch.select(list(task.output.places))
        type_ = INSERT if side == NEW else DELETE
        yield from _stamped([shown], type_, task.stamp, task.output)


def _matched(store: Store, task: IdentityTask) -> Iterator[pa.RecordBatch]:
    """The changes of rows that are matched by their IDs; an image is shown if it matches the filter."""
    output = task.output
    width = len(output.every)
    schema = to_arrow_schema(output.every)
    schema = schema.append(pa.field("matches", pa.bool_())).append(pa.field("id", pa.int64()))
    old, new = (_with_matches(store, part, schema) for part in (task.removed, task.added))
    for both in matched(old, new, schema, parts_of(task.rows, task.bytes)):
        pairs = without_equal(both.pairs, both.rows.columns[:width])
        changed = changed_rows(pairs, output)
        mask = truths(both.rows.column(width))[changed.places]
        changed = Changed(changed.places[mask], changed.types[mask], changed.sequences[mask])
        if len(changed.places):
            shown = both.rows.select(list(output.places)).take(indices(changed.places))
            yield _with_stamps(shown, changed, (task.stamp,), output)


def _with_matches(
    store: Store, tasks: Iterable[SegmentTask], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """All rows of some segments, followed by whether each matches the filter, and its ID."""
    for task in tasks:
        for rows, matches in read_with_mask(store, task):
            *columns, ids = rows.columns
            yield pa.RecordBatch.from_arrays([*columns, matches, ids], schema=schema)


def _of_commits(store: Store, task: ImagesTask) -> Iterator[pa.RecordBatch]:
    since = task.stamps[0].version
    with open_runs(store, task.merge) as runs:
        for batch in merge_images(runs, task.merge.shape, since, each=not task.net):
            pairs = pairs_of_commits(batch, task.merge.shape, since)
            stamps = task.stamps[-1:] if task.net else task.stamps
            yield from _changes(store, batch, pairs, task, task.merge, stamps)


def _of_states(store: Store, task: StatesTask) -> Iterator[pa.RecordBatch]:
    shape = task.before.shape
    with open_runs(store, task.before) as old, open_runs(store, task.after) as new:
        both = [_state(runs, shape, at) for at, runs in enumerate((old, new))]
        for batch in merge_images(both, shape, 1, each=False):
            pairs = pairs_of_states(batch, shape)
            yield from _changes(store, batch, pairs, task, task.before, (task.stamp,))


def _state(runs: list[Run], shape: Shape, sequence: int) -> Run:
    """The merged rows of one state as a run, with a sequence that distinguishes the state."""
    lowest = [run.lower for run in runs]
    lower = min((bound for bound in lowest if bound is not None), default=None)
    return Run(
        order=(sequence, 0),
        sequences=(sequence, sequence),
        patched=None,
        lower=None if None in lowest else lower,
        rows=sum(run.rows for run in runs),
        open=partial(_merged_state, runs, shape, sequence),
    )


def _merged_state(
    runs: list[Run], shape: Shape, sequence: int, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    for batch in merge(runs, shape):
        for start in range(0, batch.num_rows, batch_rows):
            part = batch.slice(start, batch_rows)
            sequences = pa.repeat(scalar_of(sequence, pa.int64()), part.num_rows)
            ops = pa.repeat(scalar_of(PUT_ROW, pa.int8()), part.num_rows)
            arrays = [*part.columns[: shape.sequence], sequences, ops]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _changes(
    store: Store,
    batch: pa.RecordBatch,
    pairs: Pairs,
    task: ImagesTask | StatesTask,
    merge: MergeTask,
    stamps: tuple[Stamp, ...],
) -> Iterator[pa.RecordBatch]:
    """The changes of pairs of images; a single stamp applies to all of them."""
    output = task.output
    if not len(pairs.before):
        return
    # Only images that exist are narrowed: the values of a DELETE have no meaning.
    changed = changed_rows(pairs, output)
    is_used = np.zeros(batch.num_rows, bool)
    is_used[changed.places] = True
    used = np.flatnonzero(is_used)
    arrays = [batch.column(at).take(indices(used)) for at in merge.places]
    wide = pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(output.read))
    rows = _narrow(wide, output.narrowing, store.url)
    among = np.cumsum(is_used) - 1
    before, after = (np.where(at < 0, at, among[at]) for at in (pairs.before, pairs.after))
    pairs = Pairs(before, after, pairs.sequences)
    if isinstance(task, StatesTask) or not task.carryovers:
        pairs = without_equal(pairs, rows.columns)
    changed = _matching(changed_rows(pairs, output), wide, output)
    if len(changed.places):
        shown = rows.select(list(output.places)).take(indices(changed.places))
        yield _with_stamps(shown, changed, stamps, output)


def _narrow(wide: pa.RecordBatch, narrowing: Narrowing | None, table: str) -> pa.RecordBatch:
    if narrowing is None:
        return wide
    return narrowing.show(wide, f"segments of {table}")


def _matching(changed: Changed, wide: pa.RecordBatch, output: Output) -> Changed:
    """The changes whose rows match the filter."""
    if output.filter is None:
        return changed
    rows = wide if output.narrowing is None else output.narrowing.for_filter(wide)
    kept = keep_mask(output.filter, Lookup(output.read, rows), rows.num_rows)
    mask = kept.to_numpy(zero_copy_only=False)[changed.places]
    return Changed(changed.places[mask], changed.types[mask], changed.sequences[mask])


def _with_stamps(
    shown: pa.RecordBatch, changed: Changed, stamps: tuple[Stamp, ...], output: Output
) -> pa.RecordBatch:
    versions = np.array([stamp.version for stamp in stamps], np.int64)
    times = np.array([microseconds(stamp.time) for stamp in stamps], np.int64)
    at = (
        np.searchsorted(versions, changed.sequences)
        if len(stamps) > 1
        else np.zeros(len(changed.places), np.int64)
    )
    schema = feed_schema(output.shown)
    feed = [
        type_names(indices(changed.types)),
        indices(versions[at]),
        indices(times[at]).view(schema[-1].type),
    ]
    return pa.RecordBatch.from_arrays([*shown.columns, *feed], schema=schema)
