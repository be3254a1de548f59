"""Vacuum: files go that no kept version needs, nor a writer in flight (FORMAT.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from versioned_catalog.conflicts.operations import Base, Fence
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.maintenance.expiry import write_stubs
from versioned_catalog.maintenance.orphans import (
    Listing,
    Litter,
    References,
    find_litter,
    listing,
    references,
    references_since,
)
from versioned_catalog.maintenance.retention import ago, check_retention, newest_before
from versioned_catalog.progress import Progress
from versioned_catalog.storage.reserve import make_reserve, with_room
from versioned_catalog.storage.store import Store

BREAKS = "the segments of a write in flight may be deleted, and its commit is refused then"
"""What a short retention breaks."""

AT_ONCE = 1000
"""How many files are deleted in one go."""


@dataclass(frozen=True)
class Vacuumed:
    """What a vacuum did, or would do.

    Args:
        table: which one.
        dry_run: whether nothing was done.
        retention: what readers and writers in flight were protected by.
        fence: writes planned on a version below this one can't be committed any more.
        segments: the data files that went, by path.
        others: temporary files and checkpoints that went.
        bytes: the size of all that.
        foreign: files in ``data/`` that were left, since they are not ours by name.
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
    """A vacuum as it was planned on a state.

    Args:
        table: for people.
        retention: see ``Vacuumed``.
        cutoff: files written since then stay.
        state: the state.
        fence: what must be the fence before anything is deleted.
        listed: the files that were there before ``needed`` was read.
        needed: what the versions need that the state retains.
        litter: what may go, as far as all that tells.
    """

    table: str
    retention: timedelta
    cutoff: datetime
    state: TableState
    fence: int
    listed: Listing
    needed: References
    litter: Litter

    @property
    def needs_fence(self) -> bool:
        """Whether the fence must be committed first."""
        return bool(self.litter.segments) and self.state.fence < self.fence

    def told(self, *, dry_run: bool, version: int | None = None) -> Vacuumed:
        """What comes of it."""
        return Vacuumed(
            table=self.table,
            dry_run=dry_run,
            retention=self.retention,
            fence=max(self.fence, self.state.fence),
            segments=tuple(self.litter.segments),
            others=tuple(self.litter.others),
            bytes=self.litter.bytes,
            foreign=self.litter.foreign,
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
    span = check_retention(retention, handle.name, BREAKS, force=force)
    plan = plan_vacuum(handle.log, handle.refresh().state, handle.name, span)
    if dry_run or not plan.litter.paths:
        return plan.told(dry_run=dry_run)
    if plan.needs_fence:
        fence = Fence(Base.of(plan.state), plan.fence)
        with_room(handle.store, lambda: handle.commit(fence, commit_id), plan.litter.unfenced)
    done = clean(handle.log, plan, handle.refresh().state, progress)
    make_reserve(handle.store)
    return done


def plan_vacuum(
    timeline: TableTimeline, state: TableState, table: str, retention: timedelta
) -> Vacuum:
    """What a vacuum of a table may take away; nothing is written.

    Args:
        timeline: the table's log.
        state: its newest state.
        table: for people.
        retention: files younger than that stay, and who planned on a version that was the newest since.
    """
    cutoff = ago(timeline.store.now(), retention)
    fence = max(state.fence, newest_before(timeline, state, cutoff), 0)
    listed = listing(timeline.store)
    state, needed = references(timeline, state)
    litter = find_litter(listed, needed, fence, cutoff, timeline.is_stub)
    return Vacuum(table, retention, cutoff, state, fence, listed, needed, litter)


def clean(
    timeline: TableTimeline, plan: Vacuum, newest: TableState, progress: Progress
) -> Vacuumed:
    """Delete what a vacuum found, once the fence stands.

    What the retained versions need is looked up again in the state with the fence: a commit may have
    added segments since, and an expire may have moved the oldest retained version.

    Args:
        timeline: the table's log.
        plan: what was found.
        newest: the state with the fence, or a newer one.
        progress: is told of every thousand files.
    """
    _, needed = references_since(timeline, plan.state, plan.needed, newest)
    litter = find_litter(plan.listed, needed, plan.fence, plan.cutoff, timeline.is_stub)
    delete(timeline.store, litter.paths, progress)
    return replace(plan, litter=litter).told(dry_run=False, version=newest.version)


def vacuum_dropped(
    timeline: TableTimeline,
    state: TableState,
    table: str,
    retention: timedelta,
    *,
    dry_run: bool,
    progress: Progress,
) -> Vacuumed:
    """Take away all data of a table that was dropped; its log stays, as stubs.

    Arguments are those of ``plan_vacuum``; nothing goes while the drop is younger than the retention.
    """
    cutoff, listed = ago(timeline.store.now(), retention), listing(timeline.store)
    needed = References(frozenset(), frozenset(), state.version)
    if newest_before(timeline, state, cutoff) < state.version:
        litter = Litter({}, {}, ())
    else:
        # Entries below are stubs before anything is deleted.
        litter = find_litter(listed, needed, state.version, cutoff, lambda version: True)
    plan = Vacuum(table, retention, cutoff, state, state.fence, listed, needed, litter)
    if not dry_run and litter.segments:

        def close() -> None:
            timeline.write_kept(state)
            write_stubs(timeline, state.version, progress)

        with_room(timeline.store, close, litter.unfenced)
        delete(timeline.store, litter.paths, progress)
    return plan.told(dry_run=dry_run)


def delete(store: Store, paths: list[str], progress: Progress) -> None:
    """Delete files, many at a time."""
    for start in range(0, len(paths), AT_ONCE):
        store.delete_all(paths[start : start + AT_ONCE])
        progress("delete files", min(start + AT_ONCE, len(paths)), len(paths))
