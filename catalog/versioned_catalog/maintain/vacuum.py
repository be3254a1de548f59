"""Vacuum: delete files that no kept version and no writer in flight needs (FORMAT.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from versioned_catalog.commit.operations import Base, Fence
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.interop import interop
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
    Listing,
    OrphanFiles,
    References,
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


@dataclass(frozen=True)
class Vacuum:
    """A planned vacuum.

    Args:
        retention: see ``Vacuumed``.
        cutoff: files written since then are kept.
        state: the state that it was planned on.
        fence: the fence to commit before anything is deleted.
        listed: the files, listed before ``needed`` was read.
        needed: the files that the versions retained by the state need.
    """

    table: str
    retention: timedelta
    cutoff: datetime
    state: TableState
    fence: int
    listed: Listing
    needed: References
    orphans: OrphanFiles

    def report(self, *, dry_run: bool, version: int | None = None) -> Vacuumed:
        """Return the result."""
        return Vacuumed(
            table=self.table,
            dry_run=dry_run,
            retention=self.retention,
            fence=max(self.fence, self.state.fence),
            segments=tuple(self.orphans.segments),
            others=tuple(self.orphans.others),
            bytes=self.orphans.bytes,
            foreign=self.orphans.foreign,
            version=self.state.version if version is None else version,
        )


def vacuum(
    handle: TableHandle,
    retention: timedelta,
    *,
    dry_run: bool,
    force: bool,
    progress: Progress,
    commit_id: str | None,
) -> Vacuumed:
    """Delete the orphan files of a table. See ``Maintenance.vacuum``."""
    span = check_retention(retention, handle.name, RISKS, force=force)
    now = store_time(handle.store, dry_run=dry_run)
    plan = plan_vacuum(handle.log, handle.refresh().state, handle.name, span, now)
    if not dry_run:
        interop("keep_readable")(handle, plan.cutoff)
    if dry_run or not plan.orphans.paths:
        return plan.report(dry_run=dry_run)
    if plan.orphans.segments and plan.state.fence < plan.fence:
        fence = Fence(Base.of(plan.state), plan.fence)
        with_room(handle.store, lambda: handle.commit(fence, commit_id), plan.orphans.unfenced)
    done = clean(handle.log, plan, handle.refresh().state, progress)
    make_reserve(handle.store)
    return done


def plan_vacuum(
    timeline: TableLog, state: TableState, table: str, retention: timedelta, now: datetime
) -> Vacuum:
    """Plan a vacuum of a table; nothing is written.

    It keeps files younger than the retention, and allows writes on versions that were current since.
    """
    cutoff = time_before(now, retention)
    fence = max(state.fence, newest_before(timeline, state, cutoff), 0)
    listed = listing(timeline.store)
    state, needed = references(timeline, state)
    orphans = find_orphans(listed, needed, fence, cutoff, timeline.is_stub)
    return Vacuum(table, retention, cutoff, state, fence, listed, needed, orphans)


def clean(timeline: TableLog, plan: Vacuum, newest: TableState, progress: Progress) -> Vacuumed:
    """Delete the orphan files of a plan after its fence is committed.

    The needed files are determined again, by a state that has the fence: a commit may have
    added segments since, and an expiry may have moved the oldest retained version.
    """
    _, needed = references_since(timeline, plan.state, plan.needed, newest)
    orphans = find_orphans(plan.listed, needed, plan.fence, plan.cutoff, timeline.is_stub)
    delete(timeline.store, orphans.paths, progress)
    return replace(plan, orphans=orphans).report(dry_run=False, version=newest.version)


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

    Arguments are those of ``plan_vacuum``. Nothing is deleted while the drop is younger than the
    retention.
    """
    cutoff = time_before(store_time(timeline.store, dry_run=dry_run), retention)
    listed = listing(timeline.store)
    needed = References(frozenset(), frozenset(), state.version)
    is_due = newest_before(timeline, state, cutoff) >= state.version
    if not is_due:
        orphans = OrphanFiles({}, {}, ())
    else:
        # Older entries become stubs before anything is deleted.
        orphans = find_orphans(listed, needed, state.version, cutoff, lambda version: True)
    plan = Vacuum(table, retention, cutoff, state, state.fence, listed, needed, orphans)
    if not dry_run and orphans.segments:

        def close() -> None:
            timeline.write_kept(state)
            write_stubs(timeline, state.version, progress)

        with_room(timeline.store, close, orphans.unfenced)
        delete(timeline.store, orphans.paths, progress)
    if not dry_run and is_due:
        interop("unpublish")(timeline.store)
    return plan.report(dry_run=dry_run)


def delete(store: Store, paths: list[str], progress: Progress) -> None:
    """Delete files in batches."""
    for start in range(0, len(paths), AT_ONCE):
        store.delete_all(paths[start : start + AT_ONCE])
        progress("delete files", min(start + AT_ONCE, len(paths)), len(paths))
