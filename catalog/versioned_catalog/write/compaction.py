"""Compaction of a table: plan, run and commit it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

import pyarrow.compute as pc

from versioned_catalog.commit.operations import Base, Compact
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.observe.records import WARNING, record
from versioned_catalog.read.arrays import ColumnPath
from versioned_catalog.read.bounds import every_match, some_match
from versioned_catalog.read.filters import BoundFilter, filter_on
from versioned_catalog.read.merge_planning import Ends, MergePlanner, ends_of
from versioned_catalog.read.metadata_columns import KEYED_METADATA_COLUMNS, stored_columns
from versioned_catalog.read.overlaps import key_ranges
from versioned_catalog.read.planning import TaskPlanner, order_of, task_rows
from versioned_catalog.read.scan_columns import age_time, bind_filters, held_columns, with_ttl
from versioned_catalog.write.clustering import Clustering, bind_zorder, top_columns
from versioned_catalog.write.compaction_choice import (
    SMALL,
    CompactionTask,
    Levels,
    Row,
    bins,
    every_segment,
    is_due,
    may_be_due,
    much_marked,
    no_segment,
    positions_with_nulls,
)
from versioned_catalog.write.plan import plan_now
from versioned_catalog.write.resolving import check_resolvable, resolve
from versioned_catalog.write.segment_writer import SegmentKind, WriteSpec

Strategy = Literal["auto", "full", "small", "resolve"]

CLUSTER_SEGMENTS = 32
"""How many segments of the target size are clustered together; they must fit on a local disk."""
BUCKET_BYTES = 32 * 1024 * 1024
"""Size of a bucket of rows that is sorted in memory during clustering."""
MOST_BUCKETS = 256


def plan_tasks(
    state: TableState,
    spec: WriteSpec,
    where: BoundFilter | None,
    paths: Collection[str] | None,
    strategy: Strategy,
    zorder: tuple[ColumnPath, ...] = (),
    time: datetime | None = None,
) -> list[CompactionTask]:
    """Plan the tasks of a compaction.

    Args:
        where: compact only segments that may match this filter; None for all.
        paths: compact these segments, and those that must be compacted with them; None to choose.
        strategy: see ``Maintenance.compact``.
        zorder: columns to cluster by, in a table without a sort order.
        time: from ``age_time``; None if no row is expired.
    """
    unexpired = with_ttl(state, None, time)
    if state.schema.is_keyed:
        return _KeyedPlanner(state, spec, unexpired).tasks(where, paths, strategy)
    due = much_marked if strategy == "auto" else no_segment
    if strategy == "full" or paths is not None or zorder:
        due = every_segment
    chosen = may_be_due(state, due)
    if where is not None:
        chosen = pc.and_(chosen, some_match(state, where))
    near = task_rows(state.segments.core.filter(chosen))
    rows = [row for row in near if paths is None or row["path"] in paths]
    if zorder:
        _check_partitioning(state, rows)
    spec = replace(spec, row_ids=state.has_row_ids)
    columns = stored_columns(state.schema, row_ids=state.has_row_ids)
    wide, narrowing = held_columns(state, columns)
    planner = TaskPlanner.of(state, wide, unexpired, narrowing=narrowing)
    wide, narrowing = held_columns(state, top_columns(zorder))
    sampling = TaskPlanner.of(state, wide, narrowing=narrowing)
    target = spec.target_bytes * (CLUSTER_SEGMENTS if zorder else 1)
    planned: list[CompactionTask] = []
    for bin_rows in bins(rows, state.schemas, target, due):
        tasks = [planner.task(row) for row in bin_rows]
        task = _task(bin_rows, tuple(tasks), spec)
        if zorder:
            sampled = tuple(sampling.task(row) for row in bin_rows)
            clustering = Clustering(zorder, sampled, _buckets(task.bytes, spec.target_bytes))
            task = replace(task, clustering=clustering)
        planned.append(task)
    return planned


def _check_partitioning(state: TableState, rows: Sequence[Row]) -> None:
    """Require the current partitioning: otherwise every bucket of a curve would be split again."""
    wanted = state.schema.partitioning
    others = sum(state.schemas[row["schema_version"]].partitioning != wanted for row in rows)
    if others:
        raise InvalidRequestError(
            f"{others} segments have another partitioning than the table; compact with strategy 'full' "
            "and without zorder first"
        )


def _buckets(size: int, target: int) -> int:
    return min(MOST_BUCKETS, -(-size // min(BUCKET_BYTES, target)))


def _task(
    rows: Sequence[Row], tasks: Any, spec: WriteSpec, kind: SegmentKind | None = None
) -> CompactionTask:
    return CompactionTask(
        tuple(row["path"] for row in rows),
        tuple(row["bytes"] for row in rows),
        tasks,
        spec,
        kind or SegmentKind(),
    )


class _KeyedPlanner:
    """Plans the compaction of a table with a primary key."""

    def __init__(self, state: TableState, spec: WriteSpec, unexpired: BoundFilter | None) -> None:
        self._state = state
        self._unexpired = unexpired
        self._spec = replace(spec, ops=True)
        self._rows = task_rows(state.segments.core)
        self._deltas = state.segments.deltas.decode()
        self._levels = Levels(
            [(low.tolist(), high.tolist()) for low, high in key_ranges(state)],
            [order_of(row, delta) for row, delta in zip(self._rows, self._deltas, strict=True)],
            self._deltas,
            [row["bytes"] for row in self._rows],
            bool(state.schema.partitioning),
            positions_with_nulls(state),
        )

    def tasks(
        self, where: BoundFilter | None, paths: Collection[str] | None, strategy: Strategy
    ) -> list[CompactionTask]:
        """See ``plan_tasks``."""
        if paths is not None:
            chosen = [at for at, row in enumerate(self._rows) if row["path"] in paths]
            return [self._task(group) for group in self._groups(self._levels.closure(chosen))]
        groups = self._levels.groups(self._near(where))
        wanted = [group for group in groups if strategy == "full" or self._is_needed(group)]
        alone = [group[0] for group in groups if group not in wanted and self._is_small(group[0])]
        if strategy == "small":
            # Scans merge them with the large segments of their group anyway, so a single one stays.
            small = [[at for at in group if self._is_small(at)] for group in wanted]
            wanted = [group for group in small if len(group) > 1]
        wanted += self._levels.neighbours(alone, self._spec.target_bytes)
        planned: list[CompactionTask] = []
        taken: set[int] = set()
        for group in wanted:
            whole = self._levels.closure(group) - taken
            if strategy == "small" and not all(map(self._is_small, whole)):
                continue
            if whole and self._levels.closure(whole) == whole:
                taken |= whole
                planned.append(self._task(sorted(whole)))
        return planned

    def _groups(self, chosen: set[int]) -> list[list[int]]:
        return self._levels.groups(sorted(chosen)) if chosen else []

    def _near(self, where: BoundFilter | None) -> list[int]:
        """Positions of the segments that may hold matching keys."""
        by_key = None if where is None else filter_on(where, self._state.schema.row_key)
        if by_key is None:
            return list(range(len(self._rows)))
        positions: list[int] = pc.indices_nonzero(some_match(self._state, by_key)).to_pylist()
        return positions

    def _is_small(self, at: int) -> bool:
        size: int = self._rows[at]["bytes"]
        return size < SMALL * self._spec.target_bytes

    def _is_needed(self, group: list[int]) -> bool:
        """Whether a scan has to merge the group, or to filter expired rows in it."""
        if len(group) > 1 or self._deltas[group[0]].ops:
            return True
        return group[0] in self._partially_expired

    @property
    def _partially_expired(self) -> set[int]:
        if self._unexpired is None:
            return set()
        whole = every_match(self._state, self._unexpired)
        return set(pc.indices_nonzero(pc.invert(whole)).to_pylist())

    def _task(self, group: Sequence[int]) -> CompactionTask:
        state, chosen = self._state, set(group)
        wanted, narrowing = held_columns(state, (*state.schema.columns, *KEYED_METADATA_COLUMNS))
        planner = MergePlanner(
            state,
            wanted,
            self._unexpired,
            len(wanted),
            narrowing=narrowing,
            tombstones=self._levels.needs_tombstones(chosen),
        )
        members = [(self._rows[at], self._deltas[at], self._ends[at]) for at in group]
        task = planner.task(members)
        return _task([self._rows[at] for at in group], (task,), self._spec, self._kind(group))

    @cached_property
    def _ends(self) -> list[Ends]:
        return ends_of(self._state)

    def _kind(self, group: Sequence[int]) -> SegmentKind:
        orders = [self._levels.orders[at] for at in group]
        mixed = any(self._deltas[at].sequences for at in group) or len({o[0] for o in orders}) > 1
        return SegmentKind(order=max(orders), sequences=mixed)


COMMIT_BYTES = 2 * 1024**3
"""Bytes read between two commits: a compaction that is killed loses no more work than that."""


Done = tuple[CompactionTask, tuple[SegmentRecord, ...]]
"""A task, and the segments that it wrote."""


@dataclass(frozen=True)
class Compacted:
    """Result of a compaction.

    Args:
        table: name of the table.
        dry_run: whether it was only planned.
        version: version of the last commit; the version that was planned on if there was none.
        removed, removed_bytes: number and size of the segments that were removed.
        added, added_bytes: number and size of the segments that were added; 0 in a dry run.
        skipped: number of segments left alone because other commits removed segments of their group, or
            marked rows of one.
    """

    table: str
    dry_run: bool
    version: int
    removed: int
    removed_bytes: int
    added: int
    added_bytes: int
    skipped: int


def compact(
    handle: TableHandle,
    filters: Any,
    strategy: Strategy,
    *,
    paths: Collection[str] | None = None,
    zorder: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress = silent,
    commit_id: str | None = None,
) -> Compacted:
    """Plan a compaction, run it and commit it. See ``Maintenance.compact``."""
    tasks = plan_compaction(handle, filters, strategy, paths=paths, zorder=zorder)
    if strategy == "resolve":
        options: dict[str, Any] = {"dry_run": dry_run, "progress": progress, "commit_id": commit_id}
        resolved = resolve(handle, filters, paths=paths, **options)
        return replace(_report(handle, (), (), (), dry_run=dry_run), skipped=resolved.skipped)
    if dry_run:
        return _report(handle, tasks, tasks, (), dry_run=True)

    def results() -> Iterator[Done]:
        for number, task in enumerate(tasks, 1):
            progress("compact", number - 1, len(tasks))
            yield task, task.run(handle.store)
            progress("compact", number, len(tasks))

    return commit_compaction(handle, tasks, results(), commit_id)


def plan_compaction(
    handle: TableHandle,
    filters: Any,
    strategy: Strategy,
    *,
    paths: Collection[str] | None = None,
    zorder: Sequence[str] = (),
) -> list[CompactionTask]:
    """Plan a compaction. See ``Maintenance.plan_compaction``."""
    state, name = handle.state, handle.name
    if strategy not in get_args(Strategy):
        raise InvalidRequestError(
            f"{name}: strategy must be one of {', '.join(map(repr, get_args(Strategy)))}, "
            f"got {strategy!r}"
        )
    spec = plan_now(handle.store, state, name).spec
    bound = bind_filters(filters, state.known, state)
    if zorder and strategy == "small":
        raise InvalidRequestError(
            f"{name}: zorder rewrites large segments too; leave out the strategy 'small'"
        )
    if strategy == "resolve":
        if zorder:
            raise InvalidRequestError(
                f"{name}: the strategy 'resolve' rewrites no segment, so it can't cluster rows; leave "
                "out zorder, or the strategy"
            )
        check_resolvable(state, name)
        return []
    try:
        lines = bind_zorder(state.schema, zorder) if zorder else ()
        time = age_time(handle.store, state)
        return plan_tasks(state, spec, bound, paths, strategy, lines, time)
    except (InvalidRequestError, NotFoundError) as error:
        raise type(error)(f"{name}: {error}") from None


def commit_compaction(
    handle: TableHandle,
    tasks: Sequence[CompactionTask],
    done: Iterable[Done],
    commit_id: str | None,
) -> Compacted:
    """Commit tasks as they finish. See ``Maintenance.commit_compaction``."""
    base, waiting, size = Base.of(handle.state), list[Done](), 0
    committed: list[Done] = []
    for result in done:
        waiting.append(result)
        size += result[0].bytes
        if size >= COMMIT_BYTES and commit_id is None:
            committed += _commit(handle, base, waiting, None)
            waiting, size = [], 0
    committed += _commit(handle, base, waiting, commit_id)
    added = [record for _, written in committed for record in written]
    return _report(handle, tasks, [task for task, _ in committed], added, dry_run=False)


def compact_if_due(handle: TableHandle) -> None:
    """Compact small segments if the property ``auto_compact`` asks for it; failures are only logged."""
    if handle.store.is_staging:
        return
    try:
        if is_due(handle.state):
            compact(handle, None, "small")
    except VersionedError as error:
        record(WARNING, "%s was not compacted: %s", handle.name, error, table=handle.name)


def _commit(handle: TableHandle, base: Base, done: list[Done], commit_id: str | None) -> list[Done]:
    """Commit the tasks whose segments are as they were read, and return those tasks."""
    # The commit refuses marks since the base, which may be newer than the version that was planned on.
    done = [result for result in done if not result[0].is_remarked(handle.state.segments)]
    while done:
        removed = tuple(path for task, _ in done for path in task.paths)
        records = tuple(record for _, written in done for record in written)
        try:
            handle.commit(Compact(base, records, removed=removed, moved=_moved(done)), commit_id)
            return done
        except CommitConflictError:
            segments = handle.refresh().state.segments
            remaining = [result for result in done if result[0].is_current(segments)]
            if len(remaining) == len(done):
                return []  # all segments are live: the new ones do not fit the table any more
            done = remaining
    return []


def _moved(done: Sequence[Done]) -> tuple[tuple[int, int, bool], ...]:
    return tuple((len(t.paths), len(new), t.keeps_order(new)) for t, new in done)


def _report(
    handle: TableHandle,
    planned: Sequence[CompactionTask],
    done: Sequence[CompactionTask],
    added: Sequence[SegmentRecord],
    *,
    dry_run: bool,
) -> Compacted:
    removed = sum(len(task.paths) for task in done)
    return Compacted(
        table=handle.name,
        dry_run=dry_run,
        version=handle.state.version,
        removed=removed,
        removed_bytes=sum(task.bytes for task in done),
        added=len(added),
        added_bytes=sum(record.bytes for record in added),
        skipped=sum(len(task.paths) for task in planned) - removed,
    )
