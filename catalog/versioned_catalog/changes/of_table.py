"""The changes of a table, by versions, tags or times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from versioned_catalog.changes.feed import Changes
from versioned_catalog.changes.history import check_range
from versioned_catalog.changes.planner import Request, plan_changes
from versioned_catalog.errors import NotFoundError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import moment

Point = int | str | datetime
"""A version, the name of a tag, or a time (UTC if it has no offset)."""


def table_changes(
    handle: TableHandle, start: Point, end: Point | None, request: Request
) -> Changes:
    """The changes that the commits from ``start`` to ``end`` made. See ``Table.changes``."""
    last, first = state_at(handle, end), first_version_from(handle, start)
    if first > last.version and _is_without_commits(start, end, first, last):
        first = last.version + 1
    else:
        check_range(handle.state, last, first, handle.name)
    return _changes(handle, first, last, request)


def _is_without_commits(start: Point, end: Point | None, first: int, last: TableState) -> bool:
    """Whether a range that holds no version is one all the same: it does not end before it starts."""
    if isinstance(start, datetime) and isinstance(end, datetime):
        return _utc(start) <= _utc(end)
    is_next = first == last.version + 1
    return is_next and (isinstance(start, datetime) or isinstance(end, datetime) or end is None)


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def changes_between(handle: TableHandle, start: int, end: int, request: Request) -> Changes:
    """The same, by versions; no changes if ``start`` is one above ``end``."""
    return _changes(handle, start, handle.at(end), request)


def _changes(handle: TableHandle, first: int, last: TableState, request: Request) -> Changes:
    if first != last.version + 1:
        check_range(handle.state, last, first, handle.name)
    return Changes(handle.store, plan_changes(handle.log, last, first, request, handle.name))


def state_at(handle: TableHandle, end: Point | None) -> TableState:
    """The state after a version or tag, or at a time; by default the newest."""
    return handle.at(timestamp=end) if isinstance(end, datetime) else handle.at(end)


def first_version_from(handle: TableHandle, start: Point) -> int:
    """The version or that of a tag, or the first one that was committed at a time or later."""
    if isinstance(start, datetime):
        try:
            return handle.version_at(moment(start, "the start") - timedelta(microseconds=1)) + 1
        except (NotFoundError, OverflowError):
            return handle.state.created_version  # before the table was created
    return handle.version_of(start)
