"""The changes of tables without a primary key: segments read whole, and segments compared.

In a table with row IDs, the rows of segments are matched by these.

The segments of all commits of a range are planned together, so the cost of a commit is that of its
entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.model.types import Column
from versioned_catalog.read.metadata_columns import (
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
    ROW_ID_METADATA_COLUMNS,
    nullable,
)
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_history import Marked, Part, Rows, Step, marked_of, net_parts
from versioned_catalog.stream.change_tasks import (
    ChangeTask,
    DifferenceTask,
    IdentityTask,
    Output,
    Planned,
    Stamp,
    WholeRead,
    WholeTask,
    segment_tasks,
)
from versioned_catalog.stream.changed_segments import ChangedRows, Stamped, sets_of

_KeyReader = Callable[[PartitionKey], PartitionKey]
_Pair = tuple[Rows, Rows, Stamp]
"""Rows to compare: those that a commit removed, and those that it added."""


@dataclass(frozen=True)
class PlainPlanner:
    """Plans the changes of a table without a primary key.

    Args:
        state: the last version, able to read all segments of the range.
        carryovers: whether rows that are in both removed and added segments count.
    """

    store: Store
    state: TableState
    output: Output
    carryovers: bool

    def inserts(self, segments: SegmentSet, stamp: Stamp) -> Planned:
        """All rows of some segments, as inserts."""
        rows = Rows(segments, frozenset(segments.paths))
        return tuple(self._whole([(rows, stamp)], INSERT)), ()

    def each(self, steps: Sequence[Step], types: Sequence[frozenset[str]]) -> Planned:
        """The changes of each commit, of the types that are wanted of it."""
        alone: dict[str, list[Stamped]] = {DELETE: [], INSERT: []}
        pairs = list[_Pair]()
        for step, wanted in zip(steps, types, strict=True):
            for old, new in self._parts(step):
                if not self.carryovers and old.paths and new.paths:
                    pairs += [(old, new, step.stamp)] if wanted & self._types(old, new) else ()
                    continue
                for type_, rows in ((DELETE, old), (INSERT, new)):
                    alone[type_] += [(rows, step.stamp)] if type_ in wanted else ()
        whole = [read for type_, rows in alone.items() for read in self._whole(rows, type_)]
        partial = [task for type_, rows in alone.items() for task in self._partial(rows, type_)]
        return tuple(whole), (*partial, *self._differences(pairs))

    def net(self, steps: Sequence[Step], stamp: Stamp) -> Planned:
        """The difference between the states before and after all commits."""
        if not any(step.commit.removed or step.commit.marked for step in steps):
            return tuple(self._whole([(step.added, stamp) for step in steps], INSERT)), ()
        removed, added = net_parts(steps)
        compares = bool(removed and added)
        by_id = compares and all(self._have_ids(*step.changed) for step in steps)
        columns = self._compared(by_id=by_id) if compares else self.output.shown
        old, new = (self._of_parts(steps, parts, columns) for parts in (removed, added))
        if compares:
            kind = IdentityTask if by_id else DifferenceTask
            return (), (kind(tuple(old), tuple(new), stamp, self.output),)
        tasks = [(task, DELETE) for task in old] + [(task, INSERT) for task in new]
        return (), tuple(WholeTask(task, type_, stamp, self.output) for task, type_ in tasks)

    def _types(self, old: Rows, new: Rows) -> frozenset[str]:
        """The types of changes that rows to compare may be."""
        plain = frozenset({DELETE, INSERT})
        return (
            plain | {PREIMAGE, POSTIMAGE} if self._have_ids(old.segments, new.segments) else plain
        )

    def _have_ids(self, *parts: SegmentSet) -> bool:
        """Whether all rows of some segments have IDs: not those from before the property was set."""
        return self.state.has_row_ids and not any(
            part.column("first_row_id").null_count for part in parts
        )

    def _compared(self, *, by_id: bool) -> tuple[Column, ...]:
        """The columns of rows to compare."""
        return (*self.output.every, *((_ROW_ID,) if by_id else ()))

    def _of_parts(
        self, steps: Iterable[Step], parts: Sequence[Part], columns: tuple[Column, ...]
    ) -> list[SegmentTask]:
        """Tasks that read parts, as often as they are there."""
        missing, tasks = {rows for rows, _ in parts}, dict[Marked, SegmentTask]()
        for segments in (segments for step in steps for segments in step.changed):
            here = missing.intersection(marked_of(segments))
            if not here:
                continue
            missing -= here
            read = self._read(segments.only({path for path, _ in here}), columns)
            tasks |= {(task.path, task.mark): task for task in read}
        # The statistics of a segment may say that no row of it matches.
        return [replace(tasks[rows], only=only) for rows, only in parts if rows in tasks]

    def _whole(self, rows: Iterable[Stamped], type_: str) -> Iterator[WholeRead]:
        """Reads of the segments of which all rows are meant."""
        for segments in sets_of((part.whole, stamp) for part, stamp in rows):
            state = replace(self.state, segments=segments)
            yield WholeRead(self.store, state, type_, self.output)

    def _partial(self, rows: Sequence[Stamped], type_: str) -> Iterator[ChangeTask]:
        """Tasks that read the segments of which only marked rows are meant."""
        partial = [(part.partial, stamp) for part, stamp in rows if part.only]
        for segment, stamp in self._tasks(partial, self.output.shown).values():
            yield WholeTask(segment, type_, stamp, self.output)

    def _differences(self, pairs: Sequence[_Pair]) -> Iterator[ChangeTask]:
        for by_id, kind in ((False, DifferenceTask), (True, IdentityTask)):
            chosen = [p for p in pairs if self._have_ids(p[0].segments, p[1].segments) is by_id]
            columns = self._compared(by_id=by_id)
            removed = self._tasks([(old, stamp) for old, _, stamp in chosen], columns)
            added = self._tasks([(new, stamp) for _, new, stamp in chosen], columns)
            for old, new, stamp in chosen:
                before = _those_of(old, stamp, removed)
                after = _those_of(new, stamp, added)
                if before or after:
                    yield kind(before, after, stamp, self.output)

    def _tasks(
        self, rows: Sequence[Stamped], columns: tuple[Column, ...]
    ) -> dict[ChangedRows, tuple[SegmentTask, Stamp]]:
        """Tasks that read columns of the rows that match, or of all rows with their IDs."""
        only = {
            (path, stamp.version): mark for part, stamp in rows for path, mark in part.only.items()
        }
        stamps = {stamp.version: stamp for _, stamp in rows}
        tasks = [task for part in sets_of(rows) for task in self._read(part, columns)]
        return {
            (task.path, task.sequence): (
                replace(task, only=only.get((task.path, task.sequence))),
                stamps[task.sequence],
            )
            for task in tasks
        }

    def _read(self, segments: SegmentSet, columns: tuple[Column, ...]) -> list[SegmentTask]:
        state = replace(self.state, segments=segments)
        # An image that does not match may be that of a row of which the other one matches.
        prune = _ROW_ID not in columns
        return segment_tasks(Scan(self.store, state, columns, self.output.filter, prune=prune))

    def _parts(self, step: Step) -> list[tuple[Rows, Rows]]:
        """The rows that a commit removed and added; by partition, so that few are compared."""
        removed, added = step.parts
        schema, schemas = self.state.schema, self.state.schemas
        if not (schema.partitioning and removed.paths and added.paths) or self.carryovers:
            return [(removed, added)]
        if self._have_ids(removed.segments, added.segments):
            return [(removed, added)]  # an updated row may be in another partition
        versions = removed.schema_versions | added.schema_versions
        readers = {version: key_reader(schemas[version], schema) for version in versions}
        usable = {version: reader for version, reader in readers.items() if reader is not None}
        if len(usable) < len(readers):
            return [(removed, added)]
        old, new = (_partitions(part.segments, usable) for part in (removed, added))
        return [
            (removed.within(old.get(key, ())), added.within(new.get(key, ())))
            for key in dict.fromkeys((*old, *new))
        ]


_ROW_ID = nullable(ROW_ID_METADATA_COLUMNS[0])


def _those_of(
    rows: Rows, stamp: Stamp, tasks: dict[ChangedRows, tuple[SegmentTask, Stamp]]
) -> tuple[SegmentTask, ...]:
    """The tasks of rows that a commit changed, in the order of segments."""
    places = [(path, stamp.version) for path in rows.ordered_paths]
    return tuple(tasks[place][0] for place in places if place in tasks)


def _partitions(
    segments: SegmentSet, readers: dict[int, _KeyReader]
) -> dict[PartitionKey, list[str]]:
    """The paths of segments by partition."""
    core = segments.core
    by_partition: dict[PartitionKey, list[str]] = defaultdict(list)
    columns = (core[name].to_pylist() for name in ("path", "schema_version", "partition"))
    for path, version, partition in zip(*columns, strict=True):
        by_partition[readers[version](tuple(partition or ()))].append(path)
    return by_partition
