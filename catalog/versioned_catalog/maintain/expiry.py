"""Expiry of old versions (FORMAT.md, section 9), and checks of the retention."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from versioned_catalog.commit import tags
from versioned_catalog.commit.operations import (
    Base,
    CloseBranch,
    DropBranches,
    DropLapsedTags,
    Expire,
)
from versioned_catalog.commit.table_entries import starts_to_forget
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import (
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
)
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Stub, stub_to_bytes
from versioned_catalog.log.features import LOG
from versioned_catalog.log.reader import MOST_AT_ONCE
from versioned_catalog.log.state import TableState, remembered
from versioned_catalog.maintain.log_check import in_parallel
from versioned_catalog.storage.store import Store
from versioned_catalog.write.retry import application_retention

DEFAULT_RETENTION = timedelta(days=7)
"""The default retention."""

SHORTEST_RETENTION = timedelta(hours=1)
"""The shortest retention that need not be forced."""


def check_retention(retention: object, table: str, risks: str, *, force: bool) -> timedelta:
    """Return a valid retention.

    Args:
        retention: the argument of the user.
        risks: what a short retention may break, for the error.
        force: allow a short retention.

    Raises:
        InvalidRequestError: not a timedelta, negative, or under an hour and not forced.
    """
    if not isinstance(retention, timedelta) or retention < timedelta(0):
        raise InvalidRequestError(
            f"{table}: retention must be a non-negative timedelta, got {retention!r}"
        )
    if retention < SHORTEST_RETENTION and not force:
        raise InvalidRequestError(
            f"{table}: a retention of {retention} is shorter than {SHORTEST_RETENTION}: {risks}; use a "
            "longer one, or force it if nobody reads or writes the table now (force => true in CALL, "
            "--force, force=True)"
        )
    return retention


def check_keep_last(keep_last: object, table: str) -> None:
    """Refuse a ``keep_last`` that is not a positive number of versions."""
    if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 1:
        raise InvalidRequestError(
            f"{table}: keep_last must be a number of versions, at least 1, got {keep_last!r}"
        )


def store_time(store: Store, *, dry_run: bool) -> datetime:
    """The time by the store's clock, which is read from the date of a new file.

    A dry run that may not write takes the clock of this machine.
    """
    try:
        return store.now()
    except StorageError:
        if dry_run:
            return datetime.now(UTC)
        raise


def newest_before(timeline: TableLog, state: TableState, cutoff: datetime) -> int:
    """Return the newest version as of a cutoff, by commit time and by modification time of its entry.

    The commit time is by the writer's clock; the modification time and the cutoff are by the store's.
    The result is the one before the oldest retained version if there is none.
    """
    young = _entries_after(timeline, cutoff)
    newest = timeline.version_at(cutoff, state.version)
    for version in range(state.floor, newest + 1):
        if posixpath.basename(timeline.entry_path(version)) in young:
            return version - 1
    return newest


def _entries_after(timeline: TableLog, cutoff: datetime) -> set[str]:
    """The names of the entries, or their stubs, that were written after a time by the store's clock."""
    return {file.name for file in timeline.store.files(LOG) if file.modified > cutoff}


def time_before(now: datetime, retention: timedelta) -> datetime:
    """Subtract a retention from a time; the earliest datetime on underflow."""
    try:
        return now - retention
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)


RISKS = (
    "a job that reads a version while it is expired and vacuumed fails, as does a write based on it"
)
"""What a short retention may break."""


@dataclass(frozen=True)
class Expired:
    """Result of an expiry.

    Args:
        table: name of the table.
        dry_run: whether it was only planned.
        oldest_version: the oldest retained version.
        versions: number of newly expired versions.
        tagged: older versions that are kept by tags.
        consumers: names of consumers for which versions are kept that would be expired otherwise.
        lapsed: names of consumers that have not read all expired versions, and kept them no longer.
        forgotten: number of applications whose last batch is not known any more.
        version: the newest version afterwards.
        branches: names of branches that were dropped, since nothing was committed to them for as long as
            they were to be kept.
        tags: names of tags that were dropped, since they were not to be kept longer.
    """

    table: str
    dry_run: bool
    oldest_version: int
    versions: int
    tagged: tuple[int, ...]
    consumers: tuple[str, ...]
    lapsed: tuple[str, ...]
    forgotten: int
    version: int
    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def expire(
    handle: TableHandle,
    older_than: timedelta,
    keep_last: int,
    *,
    dry_run: bool,
    force: bool,
    progress: Progress,
    commit_id: str | None,
) -> Expired:
    """Expire old versions of a table. See ``Maintenance.expire``."""
    span = check_retention(older_than, handle.name, RISKS, force=force)
    check_keep_last(keep_last, handle.name)
    state = handle.refresh().state
    now = store_time(handle.store, dry_run=dry_run)
    lapsed_tags = tags.lapsed_tags(handle, now)
    if lapsed_tags and dry_run:
        state = _without_tags(state, lapsed_tags)
    elif lapsed_tags:
        handle.commit(DropLapsedTags(Base.of(state), lapsed_tags))
        state = handle.state
    # Versions that were current at the cutoff or later are kept, and the last ones in any case.
    at_cutoff = newest_before(handle.log, state, time_before(now, span))
    allowed = max(state.floor, min(at_cutoff, state.version - keep_last + 1))
    kept_from = kept_for_consumers(handle.log, state, allowed, now)
    oldest = min(kept_from.values(), default=allowed)
    lapsed = {name: c.version for name, c in state.consumers.items() if c.version < oldest}
    newly_tagged = tagged_below(state, oldest) - tagged_below(state, state.floor)
    forget = _forgets_below(handle.log, state, now)
    forgotten = len(state.applications) - len(remembered(state.applications, forget))
    moves = oldest > state.floor
    is_due = moves or forgotten or starts_to_forget(state)
    if not dry_run and is_due and (not moves or _keep_states(handle, state, oldest)):
        kept = tagged_below(state, oldest)
        operation = Expire(Base.of(state), oldest, kept, lapsed, forget, state.properties)
        handle.commit(operation, commit_id)
    while not dry_run and is_unfinished(handle.log, handle.refresh().state):
        # An expiry that died may have left entries that are not yet stubs.
        floor = handle.state.floor
        if _keep_states(handle, handle.state, floor, again=True):
            write_stubs(handle.log, floor, progress)
    lapsed_branches = _lapsed_branches(handle, now)
    if not dry_run and lapsed_branches:
        lapsed_branches = {n: b for n, b in lapsed_branches.items() if _is_closed(handle, n, b)}
        dropped = {name: handle.state.branches[name].id for name in lapsed_branches}
        handle.commit(DropBranches(Base.of(handle.state), dropped))
    return Expired(
        table=handle.name,
        dry_run=dry_run,
        oldest_version=oldest,
        versions=oldest - state.floor - len(newly_tagged),
        tagged=tuple(sorted(tagged_below(state if dry_run else handle.state, oldest))),
        consumers=tuple(sorted(kept_from)),
        lapsed=tuple(sorted(lapsed)),
        forgotten=forgotten,
        version=handle.state.version,
        branches=tuple(sorted(lapsed_branches)),
        tags=tuple(sorted(lapsed_tags)),
    )


def _without_tags(state: TableState, names: Collection[str]) -> TableState:
    return replace(
        state, tags={tag: version for tag, version in state.tags.items() if tag not in names}
    )


def _lapsed_branches(handle: TableHandle, now: datetime) -> dict[str, TableState]:
    """The branches that nothing was committed to for as long as they are kept: their newest states."""
    lapsed = {}
    for name, branch in handle.state.branches.items():
        if branch.keep is not None:
            newest = branch_log(handle.store, branch).load().state
            if newest is not None and newest.time < time_before(now, branch.keep):
                lapsed[name] = newest
    return lapsed


def _is_closed(handle: TableHandle, name: str, newest: TableState) -> bool:
    """End the log of a branch, so that nobody can write to it any more; False if somebody has."""
    if newest.dropped:
        return True  # an expiry died here
    try:
        handle.branch(name).commit(CloseBranch(Base.of(newest)))
    except CommitConflictError:
        return False
    return True


def _forgets_below(timeline: TableLog, state: TableState, now: datetime) -> int:
    """The version below which last batches are old enough for their applications to be forgotten."""
    last_batches = state.applications.values()
    oldest = min((last.version for last in last_batches if last.version is not None), default=None)
    if oldest is None:
        return 0
    cutoff = time_before(now, application_retention(state.properties))
    young = _entries_after(timeline, cutoff)
    for version in range(timeline.version_at(cutoff, state.version), oldest - 1, -1):
        if posixpath.basename(timeline.entry_path(version)) not in young:
            return version + 1
    return 0


def _keep_states(
    handle: TableHandle, state: TableState, floor: int, *, again: bool = False
) -> bool:
    """Write the states that are loaded when entries below ``floor`` are stubs.

    ``again`` writes only states that were deleted meanwhile. False if another expiry has moved the
    oldest retained version further.
    """
    log = handle.log
    try:
        for version in sorted({floor, *tagged_below(state, floor)}):
            path = log.kept_path(version)
            if again and log.stored(path) is not None:
                continue
            stored_state = log.load(version).state
            assert stored_state is not None
            log.write_kept(stored_state)
            if log.restore(version, path) is None:
                raise CorruptTableError(
                    f"{handle.location}: the state at version {version} cannot be read back after "
                    "writing; nothing is expired"
                )
    except (NotFoundError, CorruptTableError):
        if handle.refresh().state.floor <= floor:
            raise
        return False
    return True


def kept_for_consumers(
    timeline: TableLog, state: TableState, oldest: int, now: datetime
) -> dict[str, int]:
    """Return the consumers that keep versions below ``oldest``, with the oldest version of each.

    A consumer keeps the versions it has not read, each for its ``keep`` time after it was replaced.
    """
    kept_from = {}
    for name, consumer in state.consumers.items():
        if consumer.version < oldest:
            long_enough = newest_before(timeline, state, time_before(now, consumer.keep))
            kept_from[name] = max(consumer.version, state.floor, long_enough)
    return {name: first for name, first in kept_from.items() if first < oldest}


def tagged_below(state: TableState, floor: int) -> frozenset[int]:
    """Return the versions below another that tags keep."""
    return frozenset(version for version in state.tags.values() if version < floor)


def is_unfinished(timeline: TableLog, state: TableState) -> bool:
    """Whether entries below the oldest retained version are not yet stubs."""
    return _stubbed(timeline) < state.floor


def _stubbed(timeline: TableLog) -> int:
    """The version below which all entries are stubs, by the stub of version 0, which is written last."""
    first = timeline.head(0)
    return first.floor if isinstance(first, Stub) else 0


def write_stubs(timeline: TableLog, floor: int, progress: Progress) -> None:
    """Replace all entries below a version by stubs; existing stubs stay.

    Raises:
        CorruptTableError: an entry is missing or damaged, so its commit ID is unknown.
    """
    done = _stubbed(timeline)
    if floor <= done:
        return
    total, versions = floor - done, range(max(done, 1), floor)
    overwrite = partial(_overwrite, timeline, floor)
    remote = timeline.store.is_remote
    overwritten = (
        in_parallel(overwrite, versions, MOST_AT_ONCE) if remote else map(overwrite, versions)
    )
    for number, _ in enumerate(overwritten, 1):
        progress("expire versions", number, total)
    overwrite(0)
    progress("expire versions", total, total)


def _overwrite(timeline: TableLog, floor: int, version: int) -> int:
    """Replace an entry by a stub, and return its version."""
    (head,) = timeline.heads(version, version)
    if isinstance(head, Stub):
        if version:
            return version
        floor = max(floor, head.floor)
    stub = Stub(version, head.commit_id, head.time, floor)
    timeline.store.overwrite(timeline.entry_path(version), stub_to_bytes(stub))
    return version
