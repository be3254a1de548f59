"""The history of a table and its size at each version, from one pass over the log."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from versioned_catalog.handle import TableHandle
from versioned_catalog.inspection import tables
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub
from versioned_catalog.page.model import Point


def walk_log(handle: TableHandle) -> tuple[pa.Table, list[Point]]:
    """The commits as ``Inspection.history`` lists them, and the sizes of retained versions.

    Each entry is read once, since reading it takes a millisecond or more.
    """
    points: list[Point] = []
    return tables.history(_commits(handle, points)), points


def _commits(handle: TableHandle, points: list[Point]) -> Iterator[Commit | Stub]:
    """All entries, oldest first; adds the point of each retained version."""
    log, newest = handle.log, handle.state
    is_first = True
    for commit, state in log.walk(newest.version, newest.floor):
        if is_first and commit.head.version:
            yield from log.entries(0, commit.head.version - 1)
        is_first = False
        if not state.dropped:
            found = state.segments
            points.append(Point(state.version, state.time, found.rows, found.bytes))
        yield commit
