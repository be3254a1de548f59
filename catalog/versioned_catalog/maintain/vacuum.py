"""Vacuum: delete files that no kept version and no writer in flight needs (FORMAT.md, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from versioned_catalog.commit.operations import Base, Fence, Purge
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.interop import interop
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import (
    DEFAULT_RETENTION,
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
    listed_below,
    listing,
    references,
    references_since,
)
from versioned_catalog.storage.local import make_reserve, with_room
from versioned_catalog.storage.store import Store

RISKS = "the segments of a write in flight may be deleted, and its commit is refused then"
"""What a short retention may break."""

UNDROP_RETENTION = DEFAULT_RETENTION
"""How long a dropped table can be undropped, unless a vacuum is forced."""

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
    below: str = "",
) -> Vacuumed:
    """Delete the orphan files of a table. See ``Maintenance.vacuum``.

    It keeps files younger than the retention, and allows writes on versions that were current since.
    """
    span, log = check_retention(retention, handle.name, RISKS, force=force), handle.log
    now = store_time(handle.store, dry_run=dry_run)
    cutoff = time_before(now, span)
    state = handle.refresh().state
    fence = fence_at(log, state, cutoff)
    listed = listed_below(listing(handle.store), below)
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


def check_undroppable(state: TableState, retention: timedelta, table: str, *, force: bool) -> None:
    """Refuse to vacuum a dropped table as long as users are told that it can be undropped.

    Raises:
        InvalidRequestError: the retention is shorter than that time, and is not forced.
    """
    if state.can_be_undropped and retention < UNDROP_RETENTION and not force:
        raise InvalidRequestError(
            f"{table}: the table was dropped at {state.time.isoformat(' ', 'seconds')}, and can be "
            f"undropped for {UNDROP_RETENTION.days} days; a retention of {retention} is shorter: use "
            "a longer one, or force it to give up the dropped table"
        )


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

    Nothing is deleted while the drop is younger than the retention. Before anything is deleted, the
    table is purged, so that it can't be undropped any more.

    Args:
        state: the state after the drop, or after the purge of a vacuum that died.
        table: the name for the result.

    Raises:
        CommitConflictError: the table was undropped or created again meanwhile.
    """
    now = store_time(timeline.store, dry_run=dry_run)
    cutoff = time_before(now, retention)
    listed = listing(timeline.store)
    is_due = state.purged or newest_before(timeline, state, cutoff) >= state.version
    drop = state.floor if state.purged else state.version
    orphans = OrphanFiles({}, {}, ())
    if is_due:
        # Older entries become stubs before anything is deleted.
        needed = References(frozenset(), frozenset(), drop)
        limits = Limits.at(now, cutoff, drop)
        orphans = find_orphans(listed, needed, limits, lambda version: True)
    version = state.version
    if not dry_run and is_due:
        handle = TableHandle(timeline, LoadedState(state), table)

        def close() -> None:
            handle.commit(Purge(state.created_uuid))
            if orphans.segments:
                timeline.write_kept(state if drop == state.version else _at(timeline, drop))
                write_stubs(timeline, drop, progress)

        with_room(timeline.store, close, orphans.unfenced)
        version = handle.loaded.version
        if orphans.segments:
            delete(timeline.store, orphans.paths, progress)
        interop("unpublish")(timeline.store)
    return _report(table, retention, state.fence, orphans, version, dry_run=dry_run)


def _at(timeline: TableLog, version: int) -> TableState:
    state = timeline.load(version).state
    assert state is not None, "the log was read up to a later version"
    return state


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
