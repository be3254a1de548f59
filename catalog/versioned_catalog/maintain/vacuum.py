"""Vacuum: delete files that no kept version and no writer in flight needs (FORMAT.md, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from versioned_catalog.commit.operations import Base, Fence
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.interop import interop
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import (
    check_retention,
    newest_before,
    store_time,
    time_before,
    write_stubs,
)
from versioned_catalog.maintain.orphans import (
    BranchFiles,
    Limits,
    OrphanFiles,
    References,
    branch_files,
    fence_at,
    find_orphans,
    listing,
    references,
    references_since,
)
from versioned_catalog.storage.local import make_reserve, with_room
from versioned_catalog.storage.store import Store

RISKS = "the segments of a write in flight may be deleted, and its commit is refused then"
"""What a short retention may break."""

AT_ONCE = 1000
"""Number of files to delete in one request."""


@dataclass(frozen=True)
class Vacuumed:
    """Result of a vacuum.

    Args:
        table: name of the table.
        dry_run: whether it was only planned.
        retention: the retention that protects readers and writers in flight.
        fence: writes planned on an older version can no longer be committed.
        segments: paths of the deleted data files.
        others: paths of the deleted temporary files and checkpoints.
        bytes: size of the deleted files.
        foreign: files in ``data/`` that were left because their names are not ours.
        version: the newest version afterwards.
    """

    table: str
    dry_run: bool
    retention: timedelta
    fence: int
    segments: tuple[str, ...]
    others: tuple[str, ...]
    bytes: int
    foreign: tuple[str, ...]
    version: int


def vacuum(
    handle: TableHandle,
    retention: timedelta,
    *,
    dry_run: bool,
    force: bool,
    progress: Progress,
    commit_id: str | None,
) -> Vacuumed:
    """Delete the orphan files of a table. See ``Maintenance.vacuum``.

    It keeps files younger than the retention, and allows writes on versions that were current since.
    """
    span, log = check_retention(retention, handle.name, RISKS, force=force), handle.log
    now = store_time(handle.store, dry_run=dry_run)
    cutoff = time_before(now, span)
    state = handle.refresh().state
    fence = fence_at(log, state, cutoff)
    listed = listing(handle.store)
    state, needed = references(log, state)
    limits = Limits.at(now, cutoff, fence)
    branches = branch_files(handle.store, state, cutoff)
    orphans = find_orphans(listed, needed, replace(limits, branches=branches), log.is_stub)
    version = state.version
    if not dry_run:
        interop("keep_readable")(handle, cutoff)
    if not dry_run and orphans.paths:
        if orphans.segments and state.fence < fence:
            operation = Fence(Base.of(state), fence)
            with_room(handle.store, lambda: handle.commit(operation, commit_id), orphans.unfenced)
        _fence_branches(handle, orphans, branches, commit_id)
        # Of a state with the fence: a commit may have added segments since, and an expiry may have
        # moved the oldest retained version.
        newest = handle.refresh().state
        _, needed = references_since(log, state, needed, newest)
        branches = branch_files(handle.store, newest, cutoff)
        orphans = find_orphans(listed, needed, replace(limits, branches=branches), log.is_stub)
        delete(handle.store, orphans.paths, progress)
        make_reserve(handle.store)
        version = newest.version
    fence = max(fence, state.fence)
    return _report(handle.name, span, fence, orphans, version, dry_run=dry_run)


def _fence_branches(
    handle: TableHandle,
    orphans: OrphanFiles,
    branches: Mapping[str, BranchFiles],
    commit_id: str | None,
) -> None:
    """Refuse commits to branches that would add a file which is to be deleted."""
    written_on = {branch_of_file(path) for path in orphans.segments}
    for name, branch in handle.state.branches.items():
        if branch.id in written_on and branch.id in branches and not branches[branch.id].is_closed:
            on_branch = handle.branch(name)
            fence = Fence(Base.of(on_branch.state), branches[branch.id].fence)
            with_room(handle.store, partial(on_branch.commit, fence, commit_id), orphans.unfenced)


def vacuum_dropped(
    timeline: TableLog,
    state: TableState,
    table: str,
    retention: timedelta,
    *,
    dry_run: bool,
    progress: Progress,
) -> Vacuumed:
    """Delete all data of a dropped table; its log stays, as stubs.

    Nothing is deleted while the drop is younger than the retention.

    Args:
        state: the state after the drop.
        table: the name for the result.
    """
    now = store_time(timeline.store, dry_run=dry_run)
    cutoff = time_before(now, retention)
    listed = listing(timeline.store)
    is_due = newest_before(timeline, state, cutoff) >= state.version
    orphans = OrphanFiles({}, {}, ())
    if is_due:
        # Older entries become stubs before anything is deleted.
        needed = References(frozenset(), frozenset(), state.version)
        limits = Limits.at(now, cutoff, state.version)
        orphans = find_orphans(listed, needed, limits, lambda version: True)
    if not dry_run and orphans.segments:

        def close() -> None:
            timeline.write_kept(state)
            write_stubs(timeline, state.version, progress)

        with_room(timeline.store, close, orphans.unfenced)
        delete(timeline.store, orphans.paths, progress)
    if not dry_run and is_due:
        interop("unpublish")(timeline.store)
    return _report(table, retention, state.fence, orphans, state.version, dry_run=dry_run)


def _report(
    table: str,
    retention: timedelta,
    fence: int,
    orphans: OrphanFiles,
    version: int,
    *,
    dry_run: bool,
) -> Vacuumed:
    return Vacuumed(
        table=table,
        dry_run=dry_run,
        retention=retention,
        fence=fence,
        segments=tuple(orphans.segments),
        others=tuple(orphans.others),
        bytes=orphans.bytes,
        foreign=orphans.foreign,
        version=version,
    )


def delete(store: Store, paths: list[str], progress: Progress) -> None:
    """Delete files in batches."""
    for start in range(0, len(paths), AT_ONCE):
        store.delete_all(paths[start : start + AT_ONCE])
        progress("delete files", min(start + AT_ONCE, len(paths)), len(paths))
