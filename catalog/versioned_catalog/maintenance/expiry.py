"""Expiry: old versions are given up, and their entries become stubs (FORMAT.md, section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from versioned_catalog.conflicts.operations import Base, Expire
from versioned_catalog.errors import CorruptTableError, InvalidRequestError, NotFoundError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.entry import Stub, stub_to_bytes
from versioned_catalog.log.reading import MOST_AT_ONCE
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.maintenance.retention import ago, check_retention, newest_before
from versioned_catalog.progress import Progress

BREAKS = "who reads a version while it is expired and vacuumed fails, and so does who writes on it"
"""What a short retention breaks."""


@dataclass(frozen=True)
class Expired:
    """What an expiry did, or would do.

    Args:
        table: which one.
        dry_run: whether nothing was done.
        floor: the first version that is kept.
        versions: how many versions are expired by it that were not before.
        tagged: versions below the floor that are kept for their tags.
        version: the newest version afterwards.
    """

    table: str
    dry_run: bool
    floor: int
    versions: int
    tagged: tuple[int, ...]
    version: int


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
    span = check_retention(older_than, handle.name, BREAKS, force=force)
    if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 1:
        raise InvalidRequestError(
            f"{handle.name}: keep_last must be a number of versions, at least 1, got {keep_last!r}"
        )
    state = handle.refresh().state
    floor = next_floor(handle.log, state, ago(handle.store.now(), span), keep_last)
    spared = tagged_below(state, floor) - tagged_below(state, state.floor)
    if not dry_run and floor > state.floor:
        _move_floor(handle, state, floor, commit_id)
    while not dry_run and is_unfinished(handle.log, handle.refresh().state):
        # An expire that moved it further may have died before it wrote its stubs.
        _finish(handle, handle.state.floor, progress)
    return Expired(
        table=handle.name,
        dry_run=dry_run,
        floor=floor,
        versions=floor - state.floor - len(spared),
        tagged=tuple(sorted(tagged_below(handle.state, floor))),
        version=handle.state.version,
    )


def _move_floor(handle: TableHandle, state: TableState, floor: int, commit_id: str | None) -> None:
    """Commit the oldest retained version, unless another expire has moved it further meanwhile."""
    if _keep_states(handle, state, floor):
        handle.commit(Expire(Base.of(state), floor, tagged_below(state, floor)), commit_id)


def _finish(handle: TableHandle, floor: int, progress: Progress) -> None:
    """Write the stubs below the floor, unless another expire has moved it further meanwhile."""
    if _keep_states(handle, handle.state, floor, again=True):
        write_stubs(handle.log, floor, progress)


def _keep_states(
    handle: TableHandle, state: TableState, floor: int, *, again: bool = False
) -> bool:
    """``keep_states``; False if another expire has moved the floor further meanwhile."""
    try:
        keep_states(handle.log, state, floor, again=again)
    except (NotFoundError, CorruptTableError):
        if handle.refresh().state.floor <= floor:
            raise
        return False
    return True


def next_floor(timeline: TableTimeline, state: TableState, cutoff: datetime, keep_last: int) -> int:
    """The first version to keep: what was the newest at the cutoff, or an earlier one.

    Args:
        timeline: the table's log.
        state: its newest state.
        cutoff: versions that were the newest since then are kept.
        keep_last: so many are kept in any case.
    """
    then = newest_before(timeline, state, cutoff)
    return max(state.floor, min(then, state.version - keep_last + 1))


def tagged_below(state: TableState, floor: int) -> frozenset[int]:
    """The versions below a floor that tags keep."""
    return frozenset(version for version in state.tags.values() if version < floor)


def keep_states(
    timeline: TableTimeline, state: TableState, floor: int, *, again: bool = False
) -> None:
    """Write down the states that are read when the entries below a floor are stubs.

    Args:
        timeline: the table's log.
        state: its newest state.
        floor: the first version that is kept.
        again: only those that somebody took away meanwhile.
    """
    for version in sorted({floor, *tagged_below(state, floor)}):
        if not again or timeline.stored(timeline.kept_path(version)) is None:
            then = timeline.load(version).state
            assert then is not None
            timeline.write_kept(then)
            if timeline.restore(version, timeline.kept_path(version)) is None:
                raise CorruptTableError(
                    f"{timeline.store.url}: the state at version {version} can't be read back once it "
                    "is written; nothing is expired"
                )


def is_unfinished(timeline: TableTimeline, state: TableState) -> bool:
    """Whether entries below the floor are there that should be stubs."""
    return _stubbed(timeline) < state.floor


def _stubbed(timeline: TableTimeline) -> int:
    """Below which version all entries are stubs: the stub of version 0 is written last, and says."""
    first = timeline.head(0)
    return first.floor if isinstance(first, Stub) else 0


def write_stubs(timeline: TableTimeline, floor: int, progress: Progress) -> None:
    """Put stubs in the place of all entries below a floor; what somebody did already is left.

    Raises:
        CorruptTableError: an entry is missing or damaged, so that nobody could say who it was.
    """
    done = _stubbed(timeline)
    if floor <= done:
        return
    total = floor - done
    for number, _ in enumerate(_overwritten(timeline, max(done, 1), floor), 1):
        progress("expire versions", number, total)
    _overwrite(timeline, 0, floor)
    progress("expire versions", total, total)


def _overwritten(timeline: TableTimeline, start: int, floor: int) -> Iterator[int]:
    versions = range(start, floor)
    if not timeline.store.is_remote:
        yield from (_overwrite(timeline, version, floor) for version in versions)
        return
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for first in range(start, floor, 64 * MOST_AT_ONCE):
            some = versions[first - start : first - start + 64 * MOST_AT_ONCE]
            yield from pool.map(lambda version: _overwrite(timeline, version, floor), some)


def _overwrite(timeline: TableTimeline, version: int, floor: int) -> int:
    """Put a stub in the place of an entry, and give its version."""
    (head,) = timeline.heads(version, version)
    if isinstance(head, Stub):
        if version:
            return version
        floor = max(floor, head.floor)
    stub = Stub(version, head.commit_id, head.time, floor)
    timeline.store.overwrite(timeline.entry_path(version), stub_to_bytes(stub))
    return version
