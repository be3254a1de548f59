"""Consumers, and how far behind each one is, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.inspection.arrow_rows import TIME, table_of
from versioned_catalog.log.consumers import Consumer
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub
from versioned_catalog.log.state import TableState

CONSUMERS = pa.schema(
    {
        "name": pa.string(),
        "version": pa.int64(),
        "moved": TIME,
        "versions_behind": pa.int64(),
        "rows_behind": pa.int64(),
        "unread_since": TIME,
        "kept_until": TIME,
        "lapsed": pa.bool_(),
    }
)


def consumers(state: TableState, entries: Iterable[Commit | Stub], now: datetime) -> pa.Table:
    """See ``Inspection.consumers``.

    Args:
        entries: those after the version of the consumer that is the furthest behind.
        now: the store's time.
    """
    known = {entry.head.version: entry for entry in entries if isinstance(entry, Commit)}
    found = [_row(name, one, state, known, now) for name, one in sorted(state.consumers.items())]
    return table_of(found, CONSUMERS)


def _row(
    name: str, consumer: Consumer, state: TableState, known: dict[int, Commit], now: datetime
) -> dict[str, Any]:
    row = {"name": name, "version": consumer.version, "moved": consumer.moved}
    unread = range(consumer.version + 1, state.version + 1)
    if unread and unread[0] not in known:
        return row | {"versions_behind": len(unread), "lapsed": True}
    commits = [known[version] for version in unread if known[version].consumers is None]
    since = commits[0].head.time if commits else None
    until = None if since is None else since + consumer.keep
    return row | {
        "versions_behind": len(commits),
        "rows_behind": sum(
            record.rows
            for one in commits
            if one.head.operation != "compact"
            for record in one.added
        ),
        "unread_since": since,
        "kept_until": until,
        "lapsed": until is not None and until < now,
    }
