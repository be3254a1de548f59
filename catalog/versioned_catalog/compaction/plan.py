"""Plan the tasks of a compaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import pyarrow.compute as pc

from versioned_catalog.compaction.clustering import Clustering, top_columns
from versioned_catalog.compaction.overlapping import Levels
from versioned_catalog.compaction.small_segments import SMALL, Row, bins
from versioned_catalog.compaction.tasks import CompactionTask
from versioned_catalog.datafile.arrange import ColumnPath
from versioned_catalog.datafile.segment_writer import SegmentKind, WriteSpec
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filters import BoundFilter, filter_on
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges
from versioned_catalog.projection.metadata_columns import KEYED_METADATA_COLUMNS
from versioned_catalog.pruning.segments import every_match, some_match
from versioned_catalog.scan.merge_planning import Ends, MergePlanner, ends_of
from versioned_catalog.scan.tasks import TaskPlanner, order_of, task_rows
from versioned_catalog.scan.ttl_filter import with_ttl

Strategy = Literal["auto", "full", "small"]

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
    every = strategy == "full" or paths is not None or bool(zorder)
    return _without_key(state, spec, unexpired, where, paths, zorder, every=every)


def _without_key(
    state: TableState,
    spec: WriteSpec,
    unexpired: BoundFilter | None,
    where: BoundFilter | None,
    paths: Collection[str] | None,
    zorder: tuple[ColumnPath, ...],
    *,
    every: bool,
) -> list[CompactionTask]:
    core = state.segments.core
    near = core if where is None else core.filter(some_match(state, where))
    rows = [row for row in task_rows(near) if paths is None or row["path"] in paths]
    if zorder:
        _check_partitioning(state, rows)
    planner = TaskPlanner.of(state, state.schema.columns, unexpired)
    sampling = TaskPlanner.of(state, top_columns(zorder))
    target = spec.target_bytes * (CLUSTER_SEGMENTS if zorder else 1)
    found: list[CompactionTask] = []
    for one in bins(rows, state.schemas, target, every=every):
        tasks = [planner.task(row) for row in one]
        task = _task(one, tuple(tasks), spec)
        if zorder:
            sampled = tuple(sampling.task(row) for row in one)
            clustering = Clustering(zorder, sampled, _buckets(task.bytes, spec.target_bytes))
            task = replace(task, clustering=clustering)
        found.append(task)
    return found


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
        sum(row["bytes"] for row in rows),
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
        )

    def tasks(
        self, where: BoundFilter | None, paths: Collection[str] | None, strategy: Strategy
    ) -> list[CompactionTask]:
        """See ``plan_tasks``."""
        if paths is not None:
            chosen = [at for at, row in enumerate(self._rows) if row["path"] in paths]
            return [self._task(one) for one in self._groups(self._levels.closure(chosen))]
        groups = self._levels.groups(self._near(where))
        wanted = [group for group in groups if strategy == "full" or self._is_needed(group)]
        alone = [group[0] for group in groups if group not in wanted and self._is_small(group[0])]
        if strategy == "small":
            # Scans merge them with the large segments of their group anyway: one is as good as many.
            small = [[at for at in group if self._is_small(at)] for group in wanted]
            wanted = [group for group in small if len(group) > 1]
        wanted += self._levels.neighbours(alone, self._spec.target_bytes)
        found: list[CompactionTask] = []
        taken: set[int] = set()
        for group in wanted:
            whole = self._levels.closure(group) - taken
            if strategy == "small" and not all(map(self._is_small, whole)):
                continue
            if whole and self._levels.closure(whole) == whole:
                taken |= whole
                found.append(self._task(sorted(whole)))
        return found

    def _groups(self, chosen: set[int]) -> list[list[int]]:
        return self._levels.groups(sorted(chosen)) if chosen else []

    def _near(self, where: BoundFilter | None) -> list[int]:
        """The segments that may hold keys that match the filter."""
        by_key = None if where is None else filter_on(where, self._state.schema.row_key)
        if by_key is None:
            return list(range(len(self._rows)))
        found: list[int] = pc.indices_nonzero(some_match(self._state, by_key)).to_pylist()
        return found

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
        wanted = (*state.schema.columns, *KEYED_METADATA_COLUMNS)
        planner = MergePlanner(
            state,
            wanted,
            self._unexpired,
            len(wanted),
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
