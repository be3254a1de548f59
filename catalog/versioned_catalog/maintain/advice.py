"""Advice: which maintenance of a table is due, why, and what it would gain; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import (
    DEFAULT_RETENTION,
    RISKS,
    Expired,
    check_keep_last,
    check_retention,
    expire,
    is_unfinished,
    store_time,
    tagged_below,
    time_before,
)
from versioned_catalog.maintain.orphans import (
    Limits,
    OrphanFiles,
    branch_files,
    fence_at,
    find_orphans,
    listing,
    references,
    references_from,
)
from versioned_catalog.read.hidden_rows import unresolved_groups
from versioned_catalog.write.bounded_compaction import (
    BoundedPlan,
    overlapping_segments,
    plan_within,
)
from versioned_catalog.write.compaction_choice import SMALL, CompactionTask, small_segments
from versioned_catalog.write.writer import target_bytes

JobName = Literal["compact", "merge", "resolve", "expire", "vacuum"]
"""The jobs."""

COMPACT: JobName = "compact"
MERGE: JobName = "merge"
RESOLVE: JobName = "resolve"
EXPIRE: JobName = "expire"
VACUUM: JobName = "vacuum"

MANY_VERSIONS = 100
"""So many old versions are expired although that makes no file deletable."""


@dataclass(frozen=True)
class MaintenanceBounds:
    """What a maintenance of one table may do.

    Args:
        retention: versions replaced less long ago are kept, and files that are younger.
        keep_last: number of versions to keep in any case.
        most_bytes: the most bytes of segments to rewrite.
        force: allow a retention under an hour.

    >>> from versioned_catalog import MaintenanceBounds
    >>> table = catalog.create_table("meters", "id BIGINT")
    >>> for n in range(4):
    ...     _ = table.append(pa.table({"id": [n]}))
    >>> bounds = MaintenanceBounds(most_bytes=1_000_000)
    >>> [(job.name, job.before, job.after) for job in table.maintenance.advise(bounds).due]
    [('compact', 4, 1)]
    >>> table.maintenance.maintain(bounds).removed_segments
    4
    """

    retention: timedelta = DEFAULT_RETENTION
    keep_last: int = 1
    most_bytes: int = 10 * 1024**3
    force: bool = False

    def check(self, table: str) -> None:
        """Refuse invalid bounds.

        Raises:
            InvalidRequestError: the retention is under an hour and not forced, ``keep_last`` is under
                1, or ``most_bytes`` is negative.
        """
        check_retention(self.retention, table, RISKS, force=self.force)
        check_keep_last(self.keep_last, table)
        most = self.most_bytes
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            raise InvalidRequestError(
                f"{table}: most_bytes must be a number of bytes, at least 0, got {most!r}"
            )


@dataclass(frozen=True)
class Job:
    """One job of maintenance, and whether it is due.

    Args:
        name: ``compact`` merges small segments, and writes those again of which many rows are marked;
            ``merge`` merges segments whose row keys overlap; ``resolve`` marks the replaced rows of
            those that it leaves, so that no scan merges them; ``expire`` and ``vacuum`` do what
            ``Maintenance`` does by these names.
        is_due: whether ``maintain`` would do it.
        why: the figures behind that, as a sentence.
        unit: what ``before`` and ``after`` count: ``segments``, ``versions`` or ``files``.
        before, after: how many the table has now, and would have after the job alone, at most.
        rewritten_bytes: size of the segments that it would read and write again.
        freed_bytes: size of the files that would be deleted; for ``expire``, by the vacuum after it.
        figures: further numbers, by name.
    """

    name: JobName
    is_due: bool
    why: str
    unit: str
    before: int
    after: int
    rewritten_bytes: int
    freed_bytes: int
    figures: Mapping[str, int]


@dataclass(frozen=True)
class Advice:
    """Which maintenance of a table is due.

    Args:
        table: name of the table.
        version: the version that was looked at.
        segments, bytes: number and size of its live segments.
        jobs: every job, due or not, by what it is about.
    """

    table: str
    version: int
    segments: int
    bytes: int
    jobs: tuple[Job, ...]

    @property
    def due(self) -> tuple[Job, ...]:
        """The jobs that are due."""
        return tuple(job for job in self.jobs if job.is_due)

    def is_due(self, name: JobName) -> bool:
        """Whether a job is due."""
        return any(job.name == name for job in self.due)


def advise(handle: TableHandle, bounds: MaintenanceBounds) -> Advice:
    """Say which maintenance of a table is due. See ``Maintenance.advise``."""
    bounds.check(handle.name)
    state = handle.refresh().state
    plan = plan_within(handle, bounds.most_bytes)
    return Advice(
        table=handle.name,
        version=state.version,
        segments=state.segments.count,
        bytes=state.segments.bytes,
        jobs=(
            _compact(state, plan),
            _merge(state, plan),
            _resolve(state, plan),
            *_old_files(handle, bounds),
        ),
    )


def _compact(state: TableState, plan: BoundedPlan) -> Job:
    mask = small_segments(state)
    count: int = pc.sum(mask).as_py() or 0
    size: int = pc.sum(state.segments.column("bytes").filter(mask)).as_py() or 0
    limit = int(SMALL * target_bytes(state.properties))
    why = f"{_many(count, 'segment')} under {limit:,} bytes, {size:,} bytes in all"
    marked = int(np.count_nonzero(state.segments.marked_counts))
    if marked:
        why += f"; {_many(marked, 'segment')} with marked rows"
    return _rewriting(
        COMPACT,
        plan.small,
        state,
        why,
        {"small_segments": count, "small_bytes": size},
        () if state.schema.is_keyed else plan.left,
    )


def _merge(state: TableState, plan: BoundedPlan) -> Job:
    overlapping = overlapping_segments(state)
    count, groups = len(overlapping.paths), overlapping.groups
    why = (
        f"{_many(count, 'segment')} with overlapping row keys in {_many(groups, 'group')}, "
        f"{overlapping.bytes:,} bytes in all"
    )
    return _rewriting(
        MERGE,
        plan.overlapping,
        state,
        why if state.schema.is_keyed else "the table has no primary key",
        {
            "overlapping_segments": count,
            "overlapping_groups": groups,
            "overlapping_bytes": overlapping.bytes,
        },
        plan.left if state.schema.is_keyed else (),
    )


def _resolve(state: TableState, plan: BoundedPlan) -> Job:
    merged = {path for task in plan.tasks for path in task.paths}
    groups = unresolved_groups(state)
    rest = [group for group in groups if group.resolvable and not merged.issuperset(group.paths)]
    patched = sum(len(group.paths) for group in groups if not group.resolvable)
    every, count = (sum(len(group.paths) for group in some) for some in (groups, rest))
    why = f"{_many(every, 'segment')} that scans have to merge, of which {count} would stay so"
    if patched:
        why += f"; {patched} with partial upserts, which only a compaction merges"
    return Job(
        name=RESOLVE,
        is_due=bool(rest),
        why=why if state.schema.is_keyed else "the table has no primary key",
        unit="segments",
        before=every,
        after=every - count,
        rewritten_bytes=0,
        freed_bytes=0,
        figures={"unresolved_groups": len(groups), "resolvable_segments": count},
    )


def _rewriting(
    name: JobName,
    tasks: Sequence[CompactionTask],
    state: TableState,
    why: str,
    figures: Mapping[str, int],
    left: Sequence[CompactionTask],
) -> Job:
    """A job that runs some tasks; others are ``left`` because they are too large."""
    count, target = state.segments.count, target_bytes(state.properties)
    rewritten, beyond = _segments(tasks), _segments(left)
    if beyond:
        why += f"; {_many(beyond, 'segment')} beyond the limit of bytes"
    return Job(
        name=name,
        is_due=bool(tasks),
        why=why,
        unit="segments",
        before=count,
        after=count - rewritten + sum(-(-task.bytes // target) for task in tasks),
        rewritten_bytes=sum(task.bytes for task in tasks),
        freed_bytes=0,
        figures={**figures, "rewritten_segments": rewritten, "beyond_the_limit": beyond},
    )


def _segments(tasks: Sequence[CompactionTask]) -> int:
    return sum(len(task.paths) for task in tasks)


def _old_files(handle: TableHandle, bounds: MaintenanceBounds) -> tuple[Job, Job]:
    """The jobs that expire versions and delete files; the folder is listed once for both."""
    log = handle.log
    now = store_time(handle.store, dry_run=True)
    cutoff = time_before(now, bounds.retention)
    expired = expire_within(handle, bounds, silent, dry_run=True)
    listed = listing(handle.store)
    state, needed = references(log, handle.state)
    limits = Limits.at(now, cutoff, fence_at(log, state, cutoff))
    limits = replace(limits, branches=branch_files(handle.store, state, cutoff))
    orphans = find_orphans(listed, needed, limits, log.is_stub)
    later = orphans
    if expired.versions:
        needed = references_from(log, state, max(expired.oldest_version, state.floor))
        later = find_orphans(listed, needed, limits, log.is_stub)
    files = sum(map(len, listed.values()))
    unfinished = is_unfinished(log, state)
    return _expire(state, expired, orphans, later, unfinished), _vacuum(orphans, files)


def expire_within(
    handle: TableHandle, bounds: MaintenanceBounds, progress: Progress, *, dry_run: bool
) -> Expired:
    """Expire the versions that are older than the bounds keep."""
    return expire(
        handle,
        bounds.retention,
        bounds.keep_last,
        dry_run=dry_run,
        force=bounds.force,
        progress=progress,
        commit_id=None,
    )


def _expire(
    state: TableState,
    expired: Expired,
    orphans: OrphanFiles,
    later: OrphanFiles,
    is_unfinished: bool,
) -> Job:
    """``later`` are the orphan files once the versions are expired."""
    freed = max(0, later.bytes - orphans.bytes)
    before = state.version - state.floor + 1 + len(tagged_below(state, state.floor))
    why = [f"{_many(expired.versions, 'version')} of {before} older than the retention"]
    if expired.tagged:
        why.append(f"{len(expired.tagged)} kept by tags")
    if expired.consumers:
        why.append(f"kept for consumers: {', '.join(expired.consumers)}")
    if expired.lapsed:
        why.append(f"consumers whose time is over: {', '.join(expired.lapsed)}")
    if expired.tags:
        why.append(f"tags whose time is over: {', '.join(expired.tags)}")
    if expired.branches:
        why.append(f"branches whose time is over: {', '.join(expired.branches)}")
    if is_unfinished:
        why.append("an expiry was interrupted")
    lapsed = expired.tags or expired.branches
    return Job(
        name=EXPIRE,
        is_due=bool(lapsed) or is_unfinished or freed > 0 or expired.versions >= MANY_VERSIONS,
        why="; ".join(why),
        unit="versions",
        before=before,
        after=before - expired.versions,
        rewritten_bytes=0,
        freed_bytes=freed,
        figures={
            "oldest_version": expired.oldest_version,
            "expired_versions": expired.versions,
            "tagged_versions": len(expired.tagged),
            "freed_files": len(later.paths) - len(orphans.paths),
        },
    )


def _vacuum(orphans: OrphanFiles, files: int) -> Job:
    count = len(orphans.paths)
    return Job(
        name=VACUUM,
        is_due=count > 0,
        why=f"{_many(count, 'file')} of {files} can be deleted, {orphans.bytes:,} bytes",
        unit="files",
        before=files,
        after=files - count,
        rewritten_bytes=0,
        freed_bytes=orphans.bytes,
        figures={"segments": len(orphans.segments), "others": len(orphans.others)},
    )


def _many(number: int, noun: str) -> str:
    """A number of things: ``1 segment``, ``2 segments``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
