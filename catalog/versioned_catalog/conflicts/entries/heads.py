"""The head of the next entry."""

from __future__ import annotations

from typing import Any

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.log.features import Features
from versioned_catalog.log.head import WRITER, Head
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import UNIX_EPOCH


def next_head(attempt: Attempt[Any], operation: str, base_version: int | None = None) -> Head:
    """The head of an attempt's entry; ``base_version`` is that of the operation's base by default."""
    base = attempt.operation.base.version if base_version is None else base_version
    return head_after(attempt.newest, attempt.commit_id, operation, base)


def head_after(state: TableState | None, commit_id: str, operation: str, base_version: int) -> Head:
    """The head of the entry that follows a state; the log dates it."""
    return Head(
        table_uuid="" if state is None else state.table_uuid,
        version=0 if state is None else state.version + 1,
        commit_id=commit_id,
        base_version=base_version,
        time=UNIX_EPOCH,
        operation=operation,
        writer=WRITER,
        features=Features() if state is None else state.features,
    )
