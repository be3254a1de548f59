"""Planning a change feed: from the commits of a range to tasks.

A commit that adds segments inserts their rows, and one that removes segments, or marks rows, deletes
those. If it does both, as a copy on write does, rows that are in both are not changes.

DuckLake and Iceberg derive changes from added and removed files, too. Here the schema of the last
version applies to the whole range, so a fixed range has one answer, whatever is altered later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.model.pins import Overflow, Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import is_nested
from versioned_catalog.model.widening import widens
from versioned_catalog.read.apply_plan import narrowing
from versioned_catalog.read.filters import columns_of
from versioned_catalog.read.metadata_columns import DELETE, INSERT, check_names, nullable
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters, shown_columns
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_history import (
    History,
    Marked,
    Part,
    Rows,
    Step,
    keeps_rows,
    marked_of,
    net_parts,
    read_steps,
    schema_versions,
    segments_added,
)
from versioned_catalog.stream.change_tasks import (
    ChangeTask,
    DifferenceTask,
    Output,
    Plan,
    Stamp,
    WholeTask,
)
from versioned_catalog.stream.keyed_changes import KeyedPlanner


def readable(state: TableState, versions: Iterable[int], table: str) -> TableState:
    """A state that can read segments of all these schema versions, and shows the same schema.

    A rollback takes back the widening of a column, but segments of before hold the wider type. They are
    read in that type and then narrowed, as through a schema pin.

    Raises:
        InvalidRequestError: a column had two types of which neither widens to the other.
    """
    stored = state.schema
    wide = stored
    for version in sorted(set(versions)):
        wide = _widened(wide, state.schemas[version], table)
    if wide is stored:
        return state
    named = replace(wide, version=state.schemas.newest.version + 1)
    lens = state.lens or Lens(str(stored.version), state.seen, Overflow.ERROR)
    return replace(
        state,
        schemas=state.schemas.grown(named),
        schema_version=named.version,
        lens=replace(lens, seen=Seen(lens.seen.schema, named)),
    )


def _widened(schema: Schema, other: Schema, table: str) -> Schema:
    """A schema whose columns also hold the values of another schema."""
    wide = replace(schema, columns=tuple(map(Seen(schema, other).widened, schema.columns)))
    for column in map(wide.column, sorted(wide.ids & other.ids)):
        before = other.column(column.id).type
        if not is_nested(column.type) and not widens(before, column.type):
            raise InvalidRequestError(
                f"{table}: the column {schema.path_text(column.id)} was {render_type(before)} and is "
                f"{render_type(column.type)} after a rollback, and no type holds both; ask for the "
                "changes after the rollback, and apart from them for those before"
            )
    return schema if wide.columns == schema.columns else wide


_KeyReader = Callable[[PartitionKey], PartitionKey]


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

    def inserts(self, segments: SegmentSet, stamp: Stamp) -> list[ChangeTask]:
        """All rows of some segments, as inserts."""
        return list(self._whole(Rows(segments), INSERT, stamp))

    def each(self, steps: Iterable[Step]) -> list[ChangeTask]:
        """The changes of each commit."""
        tasks: list[ChangeTask] = []
        for inserts, run in groupby(steps, _only_inserts):
            if inserts:
                tasks += self._inserted(segments_added(step.commit for step in run))
            else:
                tasks += [task for step in run for task in self._of_step(step)]
        return tasks

    def _inserted(self, segments: SegmentSet) -> Iterator[ChangeTask]:
        """All rows of segments of several commits, as inserts of their commits."""
        for task in self._read(Rows(segments)):
            yield WholeTask(task, INSERT, Stamp(task.sequence, task.commit_time), self.output)

    def net(self, steps: Sequence[Step], stamp: Stamp) -> list[ChangeTask]:
        """The difference between the states before and after all commits."""
        removed, added = net_parts(steps)
        compares = bool(removed and added)
        old, new = (self._of_parts(steps, parts, every=compares) for parts in (removed, added))
        if compares:
            return [DifferenceTask(tuple(old), tuple(new), stamp, self.output)]
        tasks = [(task, DELETE) for task in old] + [(task, INSERT) for task in new]
        return [WholeTask(task, type_, stamp, self.output) for task, type_ in tasks]

    def _of_parts(
        self, steps: Iterable[Step], parts: Sequence[Part], *, every: bool
    ) -> list[SegmentTask]:
        """Tasks that read parts, as often as they are there."""
        missing, tasks = {rows for rows, _ in parts}, dict[Marked, SegmentTask]()
        for segments in (segments for step in steps for segments in step.changed):
            here = missing.intersection(marked_of(segments))
            if not here:
                continue
            missing -= here
            read = self._read(Rows(segments.only({path for path, _ in here})), every=every)
            tasks |= {(task.path, task.mark): task for task in read}
        # The statistics of a segment may say that no row of it matches.
        return [replace(tasks[rows], only=only) for rows, only in parts if rows in tasks]

    def _of_step(self, step: Step) -> Iterator[ChangeTask]:
        compares = not self.carryovers and all(part.segments.count for part in step.parts)
        for old, new in self._by_partition(*step.parts) if compares else [step.parts]:
            if compares and old.segments.count and new.segments.count:
                removed, added = (tuple(self._read(part, every=True)) for part in (old, new))
                yield DifferenceTask(removed, added, step.stamp, self.output)
            else:
                yield from self._whole(old, DELETE, step.stamp)
                yield from self._whole(new, INSERT, step.stamp)

    def _whole(self, rows: Rows, type_: str, stamp: Stamp) -> Iterator[ChangeTask]:
        for task in self._read(rows):
            yield WholeTask(task, type_, stamp, self.output)

    def _read(self, rows: Rows, *, every: bool = False) -> list[SegmentTask]:
        """Tasks that read the rows that match, with the shown columns or with ``every`` column."""
        if not rows.segments.count:
            return []
        columns = self.output.every if every else self.output.shown
        state = replace(self.state, segments=rows.segments)
        scan = Scan(self.store, state, columns, self.output.filter)
        tasks = [task for task, _ in scan.tasks() if isinstance(task, SegmentTask)]
        if not rows.only:
            return tasks
        return [replace(task, only=rows.only.get(task.path)) for task in tasks]

    def _by_partition(self, removed: Rows, added: Rows) -> list[tuple[Rows, Rows]]:
        """Rows to compare, by partition; all together if their partitions are not comparable."""
        schema, schemas = self.state.schema, self.state.schemas
        versions = {*schema_versions(removed.segments), *schema_versions(added.segments)}
        readers = {version: key_reader(schemas[version], schema) for version in versions}
        usable = {version: reader for version, reader in readers.items() if reader is not None}
        if not schema.partitioning or len(usable) < len(readers):
            return [(removed, added)]
        old, new = (_partitions(part.segments, usable) for part in (removed, added))
        return [
            (removed.within(old.get(key, ())), added.within(new.get(key, ())))
            for key in dict.fromkeys((*old, *new))
        ]


def _only_inserts(step: Step) -> bool:
    """Whether a commit only added segments, so that it is planned with others."""
    return not step.commit.removed and not step.commit.marked


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


@dataclass(frozen=True)
class Request:
    """The requested changes of a range, and their form.

    Args:
        net: only the difference between the states before and after the range; all of its changes have
            the last version and its time.
        carryovers: also rows that a commit rewrote without a change.
        updates: tables with a primary key report updates as such, or else as a delete and an insert.
        columns: names of top-level columns; None for all.
        filters: as of ``Table.scan``; None for all rows.
    """

    net: bool = False
    carryovers: bool = False
    updates: bool = True
    columns: Sequence[str] | None = None
    filters: object = None


def plan_inserts(
    store: Store, end: TableState, segments: SegmentSet, request: Request, table: str
) -> Plan:
    """Plan the rows of some segments of a state as changes that inserted them, at its version.

    Args:
        end: the state; its lens, if any, is the schema of the changes.
    """
    state = readable(replace(end, properties={}), schema_versions(segments), table)
    output = _output(state, request, table)
    planner = _planner(store, state, output, request)
    tasks = planner.inserts(segments, Stamp(end.version, end.time))
    return Plan(end.version, end.version, output.shown, tuple(tasks))


def plan_changes(
    store: Store, history: History, end: TableState, start: int, request: Request, table: str
) -> Plan:
    """Plan the changes that the commits from ``start`` to the version of ``end`` made.

    Args:
        history: of the table.
        end: the state at the last version. Its lens, if any, is the schema of the changes; by default it
            is the schema of that version. A stream fixes the schema of its start by a lens.
        start: the first version, at most one above the last; checked by ``check_range``.

    Raises:
        InvalidRequestError: the arguments contradict each other, or a column can't be shown.
        NotFoundError: there is no such column, or entries were expired meanwhile.
    """
    if request.net and request.carryovers:
        raise InvalidRequestError(
            f"{table}: net changes have no carry-overs; leave out net or carryovers"
        )
    steps = read_steps(history, end, start) if start <= end.version else []
    versions = {version for step in steps for version in step.schema_versions}
    state = readable(replace(end, properties={}), versions, table)
    output = _output(state, request, table)
    kept = [step for step in steps if not keeps_rows(step, state)]
    stamp = Stamp(end.version, end.time)
    planner = _planner(store, state, output, request)
    tasks = planner.net(kept, stamp) if request.net else planner.each(kept)
    return Plan(start, end.version, output.shown, tuple(tasks))


def _planner(
    store: Store, state: TableState, output: Output, request: Request
) -> KeyedPlanner | PlainPlanner:
    kind = KeyedPlanner if state.schema.is_keyed else PlainPlanner
    return kind(store, state, output, request.carryovers)


def _output(state: TableState, request: Request, table: str) -> Output:
    """The rows and columns that all tasks return."""
    schema = state.seen.schema
    named = schema.columns if request.columns is None else shown_columns(schema, request.columns)
    unknown = [column.name for column in named if column.id < 0]
    if unknown:
        raise InvalidRequestError(
            f"{table}: changes have no column {', '.join(unknown)}; ask for columns of the table"
        )
    check_names(schema, named, table)
    every = tuple(map(nullable, schema.columns))
    by_id = {column.id: at for at, column in enumerate(every)}
    read = tuple(map(state.seen.widened, every))
    overflow = Overflow.ERROR if state.lens is None else state.lens.overflow
    places = tuple(by_id[column.id] for column in named)
    bound = bind_filters(request.filters, state.known)
    if bound is not None and not columns_of(bound) <= frozenset(schema.ids):
        raise InvalidRequestError(f"{table}: filters of changes must be on columns of the table")
    return Output(
        read=read,
        every=every,
        places=places,
        filter=bound,
        narrowing=narrowing(read, every, overflow),
        updates=request.updates,
    )
