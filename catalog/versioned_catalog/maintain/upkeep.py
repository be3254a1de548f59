"""Do what advice says is due: expire, vacuum, compact within bounds, then resolve what is left."""

from __future__ import annotations

from dataclasses import dataclass

from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.maintain.advice import (
    COMPACT,
    EXPIRE,
    MERGE,
    RESOLVE,
    VACUUM,
    Advice,
    MaintenanceBounds,
    advise,
    expire_within,
)
from versioned_catalog.maintain.clone_release import release_unneeded
from versioned_catalog.maintain.expiry import Expired
from versioned_catalog.maintain.vacuum import Vacuumed, vacuum
from versioned_catalog.write.bounded_compaction import compact_within, plan_within
from versioned_catalog.write.compaction import Compacted
from versioned_catalog.write.resolving import Resolved, resolve_within


@dataclass(frozen=True)
class Maintained:
    """Result of the maintenance of one table.

    Args:
        table: name of the table.
        dry_run: whether it was only planned.
        advice: what was due, and why.
        expired_versions: number of versions that were expired.
        deleted_files, deleted_bytes: number and size of the files that were deleted.
        removed_segments, removed_bytes: number and size of the segments that were rewritten.
        added_segments, added_bytes: number and size of the segments that replace them.
        skipped_segments: number of segments left alone because another commit changed their group.
        resolved_segments: number of overlapping segments that scans need not merge any more.
        version: the newest version afterwards.
    """

    table: str
    dry_run: bool
    advice: Advice
    expired_versions: int
    deleted_files: int
    deleted_bytes: int
    removed_segments: int
    removed_bytes: int
    added_segments: int
    added_bytes: int
    skipped_segments: int
    resolved_segments: int
    version: int


@dataclass(frozen=True)
class Unmaintained:
    """A table of a warehouse that was not looked after.

    Args:
        table: name of the table.
        why: the error, or that its property ``auto_maintain`` is ``off``.
        error: the error, if it failed.
    """

    table: str
    why: str
    error: Exception | None = None


def maintain(
    handle: TableHandle, bounds: MaintenanceBounds, *, dry_run: bool, progress: Progress
) -> Maintained:
    """Do the maintenance of a table that is due. See ``Maintenance.maintain``."""
    if not dry_run:
        bounds.check(handle.name)
        release_unneeded(handle)
    advice = advise(handle, bounds)
    if dry_run:
        return _report(handle, advice, None, None, None, None, dry_run=True)
    # Files are deleted first: on a full disk, a compaction needs the room.
    expired = vacuumed = compacted = None
    if advice.is_due(EXPIRE):
        expired = expire_within(handle, bounds, progress, dry_run=False)
    if advice.is_due(EXPIRE) or advice.is_due(VACUUM):
        vacuumed = _vacuum(handle, bounds, progress)
    if advice.is_due(COMPACT) or advice.is_due(MERGE):
        # What has been committed since the advice is taken into account, too.
        plan = plan_within(handle.refresh(), bounds.most_bytes)
        compacted = compact_within(handle, plan, progress)
    resolved = None
    if advice.is_due(MERGE) or advice.is_due(RESOLVE):
        resolved = resolve_within(handle.refresh(), None, progress)
    handle.refresh()
    return _report(handle, advice, expired, vacuumed, compacted, resolved, dry_run=False)


def _vacuum(handle: TableHandle, bounds: MaintenanceBounds, progress: Progress) -> Vacuumed:
    return vacuum(
        handle,
        bounds.retention,
        dry_run=False,
        force=bounds.force,
        progress=progress,
        commit_id=None,
    )


def _report(
    handle: TableHandle,
    advice: Advice,
    expired: Expired | None,
    vacuumed: Vacuumed | None,
    compacted: Compacted | None,
    resolved: Resolved | None,
    *,
    dry_run: bool,
) -> Maintained:
    return Maintained(
        table=handle.name,
        dry_run=dry_run,
        advice=advice,
        expired_versions=expired.versions if expired else 0,
        deleted_files=len(vacuumed.segments) + len(vacuumed.others) if vacuumed else 0,
        deleted_bytes=vacuumed.bytes if vacuumed else 0,
        removed_segments=compacted.removed if compacted else 0,
        removed_bytes=compacted.removed_bytes if compacted else 0,
        added_segments=compacted.added if compacted else 0,
        added_bytes=compacted.added_bytes if compacted else 0,
        skipped_segments=sum(step.skipped for step in (compacted, resolved) if step),
        resolved_segments=resolved.segments if resolved else 0,
        version=handle.state.version,
    )
