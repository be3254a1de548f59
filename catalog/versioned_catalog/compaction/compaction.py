"""Compaction of a table: plan, run and commit it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from versioned_catalog.compaction.clustering import bind_zorder
from versioned_catalog.compaction.plan import Strategy, plan_tasks
from versioned_catalog.compaction.small_segments import is_due
from versioned_catalog.compaction.tasks import CompactionTask
from versioned_catalog.conflicts.operations import Base, Compact
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.progress import Progress, silent
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.scan.ttl_filter import age_time
from versioned_catalog.write.plan import plan_now

COMMIT_BYTES = 2 * 1024**3
"""Bytes read between two commits: a compaction that is killed loses no more work than that."""

_log = logging.getLogger("versioned_catalog")

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
        skipped: number of segments left alone because other commits removed segments of their group.
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
    bound = bind_filters(filters, state.known)
    if zorder and strategy == "small":
        raise InvalidRequestError(
            f"{name}: zorder rewrites large segments too; leave out the strategy 'small'"
        )
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
    kept: list[Done] = []
    for one in done:
        waiting.append(one)
        size += one[0].bytes
        if size >= COMMIT_BYTES and commit_id is None:
            kept += _commit(handle, base, waiting, None)
            waiting, size = [], 0
    kept += _commit(handle, base, waiting, commit_id)
    added = [record for _, made in kept for record in made]
    return _report(handle, tasks, [task for task, _ in kept], added, dry_run=False)


def compact_if_due(handle: TableHandle) -> None:
    """Compact small segments if the property ``auto_compact`` asks for it; failures are only logged."""
    try:
        if is_due(handle.state):
            compact(handle, None, "small")
    except VersionedError as error:
        _log.warning("%s was not compacted: %s", handle.name, error)


def _commit(handle: TableHandle, base: Base, done: list[Done], commit_id: str | None) -> list[Done]:
    """Commit the tasks whose segments are all live, and return those tasks."""
    while done:
        removed = tuple(path for task, _ in done for path in task.paths)
        records = tuple(record for _, made in done for record in made)
        try:
            handle.commit(Compact(base, records, removed), commit_id)
            return done
        except CommitConflictError:
            live = frozenset(handle.refresh().state.segments.paths)
            left = [one for one in done if live.issuperset(one[0].paths)]
            if len(left) == len(done):
                return []  # all segments are live: the new ones do not fit the table any more
            done = left
    return []


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
