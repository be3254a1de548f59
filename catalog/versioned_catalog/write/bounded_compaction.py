"""Compaction within bounds: what is worth rewriting, at most so many bytes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of, from_numpy, one_array
from versioned_catalog.read.bounds import some_match
from versioned_catalog.read.overlaps import key_ranges, overlapping
from versioned_catalog.read.scan_columns import age_time, with_ttl
from versioned_catalog.storage.store import Store
from versioned_catalog.write.compaction import (
    Compacted,
    Done,
    commit_compaction,
    plan_compaction,
)
from versioned_catalog.write.compaction_choice import CompactionTask

FEWEST = 4
"""So many segments are worth merging, whatever their sizes."""
LARGEST_SHARE = 0.75
"""Fewer are worth it if the largest has no more than this share of their bytes."""


@dataclass(frozen=True)
class BoundedPlan:
    """What a bounded compaction rewrites, and what it leaves.

    Args:
        small: tasks that merge small segments, which no scan has to merge by key.
        overlapping: tasks that merge segments whose row keys overlap, or drop rows that are too old.
        left: tasks that are worth it, and too large for the bound.
    """

    small: tuple[CompactionTask, ...]
    overlapping: tuple[CompactionTask, ...]
    left: tuple[CompactionTask, ...]

    @property
    def tasks(self) -> tuple[CompactionTask, ...]:
        """All tasks to run."""
        return self.small + self.overlapping


def plan_within(handle: TableHandle, most_bytes: int) -> BoundedPlan:
    """Plan the compaction of what is worth it, reading at most ``most_bytes`` of segments.

    Those go first that remove the most segments for their bytes. Of a group of overlapping segments
    that is too large as a whole, only the small ones are merged.
    """
    state = handle.state
    is_worthwhile = _worth(handle)
    every = [task for task in plan_compaction(handle, None, "auto") if is_worthwhile(task)]
    chosen, left = _fitting(every, most_bytes)
    if left and state.schema.is_keyed:
        taken = {path for task in chosen for path in task.paths}
        parts = [
            task
            for task in plan_compaction(handle, None, "small")
            if is_worthwhile(task) and taken.isdisjoint(task.paths)
        ]
        chosen += _fitting(parts, most_bytes - sum(task.bytes for task in chosen))[0]
    if not state.schema.is_keyed:
        return BoundedPlan(tuple(chosen), (), tuple(left))
    merged = overlapping_segments(state).paths
    alone = [len(task.paths) > 1 and merged.isdisjoint(task.paths) for task in chosen]
    return BoundedPlan(
        tuple(task for task, is_alone in zip(chosen, alone, strict=True) if is_alone),
        tuple(task for task, is_alone in zip(chosen, alone, strict=True) if not is_alone),
        tuple(left),
    )


def compact_within(
    handle: TableHandle, plan: BoundedPlan, progress: Progress = silent
) -> Compacted:
    """Run and commit a plan; tasks whose segments another commit has removed are skipped."""
    return commit_compaction(handle, plan.tasks, _run(handle, plan.tasks, progress), None)


def _run(
    handle: TableHandle, tasks: Sequence[CompactionTask], progress: Progress
) -> Iterator[Done]:
    watched = TableHandle(handle.log, handle.loaded, handle.name)
    for number, task in enumerate(tasks, 1):
        # Another compaction may be doing the same: do not rewrite what would be refused anyway.
        if _all_live(watched.refresh().state, task.paths):
            yield task, task.run(handle.store)
        progress("compact", number, len(tasks))


def _all_live(state: TableState, paths: Sequence[str]) -> bool:
    wanted = array_of(list(paths), pa.string())
    count: int = pc.sum(pc.is_in(state.segments.column("path"), wanted)).as_py() or 0
    return count == len(paths)


def _fitting(
    tasks: Iterable[CompactionTask], most_bytes: int
) -> tuple[list[CompactionTask], list[CompactionTask]]:
    """Divide tasks into those that fit into a number of bytes together, and the others."""
    fitting: list[CompactionTask] = []
    left: list[CompactionTask] = []
    room = most_bytes
    for task in sorted(tasks, key=lambda task: task.bytes / len(task.paths)):
        if task.bytes <= room:
            fitting.append(task)
            room -= task.bytes
        else:
            left.append(task)
    return fitting, left


def _worth(handle: TableHandle) -> Callable[[CompactionTask], bool]:
    """Return the function that says whether a task is worth it."""
    expired = _expired(handle.store, handle.state)

    def is_worthwhile(task: CompactionTask) -> bool:
        if task.clears_marks:
            return True
        if len(task.paths) == 1:
            return task.paths[0] in expired
        return is_worth_merging(task.sizes)

    return is_worthwhile


def is_worth_merging(sizes: Sequence[int]) -> bool:
    """Whether to merge segments of these sizes.

    A large segment is not rewritten for a few rows that were added: it waits until more segments have
    gathered, or until they are large, too. So each row is rewritten a few times only.
    """
    return len(sizes) >= FEWEST or max(sizes) <= LARGEST_SHARE * sum(sizes)


def _expired(store: Store, state: TableState) -> frozenset[str]:
    """The segments of which the ``ttl`` hides every row."""
    unexpired = with_ttl(state, None, age_time(store, state))
    if unexpired is None:
        return frozenset()
    hidden = pc.invert(some_match(state, unexpired))
    return frozenset(state.segments.column("path").filter(hidden).to_pylist())


@dataclass(frozen=True)
class OverlappingSegments:
    """Segments that scans of a table with a primary key have to merge.

    Args:
        groups: number of groups that are merged separately.
        bytes: their size.
    """

    paths: frozenset[str] = frozenset()
    groups: int = 0
    bytes: int = 0


def overlapping_segments(state: TableState) -> OverlappingSegments:
    """Find the live segments whose row keys overlap with another one's."""
    segments = state.segments
    if not state.schema.is_keyed or not segments.count:
        return OverlappingSegments()
    groups = overlapping(key_ranges(state), np.arange(segments.count))
    members = np.bincount(groups)
    chosen: pa.Array = from_numpy(members[groups] > 1)
    paths = one_array(segments.column("path")).filter(chosen)
    size: int = pc.sum(one_array(segments.column("bytes")).filter(chosen)).as_py() or 0
    return OverlappingSegments(
        frozenset(paths.to_pylist()), int(np.count_nonzero(members > 1)), size
    )
