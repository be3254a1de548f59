"""Entries that add and remove segments: appends, overwrites, rewrites, compactions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.entries.creation import features_of
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.operations import (
    Append,
    Base,
    Compact,
    Overwrite,
    Rewrite,
    Write,
)
from versioned_catalog.conflicts.removed_segments import removed_paths
from versioned_catalog.evolution.apply import apply_all
from versioned_catalog.evolution.changes import describe
from versioned_catalog.evolution.evolution import BoundChange, Evolution
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.schema import Schema


def append_entry(attempt: Attempt[Append]) -> Commit:
    """The entry of an append."""
    entry = _entry(attempt, "append")
    return replace(entry, batch=attempt.operation.batch, roots=_roots(attempt))


def overwrite_entry(attempt: Attempt[Overwrite]) -> Commit:
    """The entry of an overwrite."""
    entry, batch = _entry(attempt, "overwrite"), attempt.operation.batch
    return replace(entry, removed=removed_paths(attempt), batch=batch)


def rewrite_entry(attempt: Attempt[Rewrite]) -> Commit:
    """The entry of a DELETE, UPDATE, MERGE, or overwrite of some rows."""
    entry, operation = _entry(attempt, attempt.operation.kind), attempt.operation
    removed = removed_paths(attempt)
    return replace(entry, removed=removed, batch=operation.batch, roots=_roots(attempt))


def compact_entry(attempt: Attempt[Compact]) -> Commit:
    """The entry of a compaction."""
    return replace(_entry(attempt, "compact"), removed=removed_paths(attempt))


def is_empty(attempt: Attempt[Rewrite | Compact]) -> bool:
    """Whether a rewrite adds and removes nothing."""
    operation = attempt.operation
    return not (operation.records or operation.removed or operation.changes)


def schema_after(attempt: Attempt[Write]) -> Schema:
    """The current schema once the write is committed."""
    evolved = _evolved(attempt)
    return attempt.state.schema if evolved is None else evolved.schema


@once
def _evolved(attempt: Attempt[Write]) -> Evolution | None:
    """The table with the columns that a write brings along, or None if it brings none."""
    changes, state = attempt.operation.changes, attempt.state
    if not changes:
        return None
    return apply_all(changes, state.evolution, state.schemas.newest.version + 1)


def _entry(attempt: Attempt[Write], operation: str) -> Commit:
    head, evolved = next_head(attempt, operation), _evolved(attempt)
    records, changes = attempt.operation.records, attempt.operation.changes
    features = head.features | features_of(schema_after(attempt), records)
    return Commit(
        replace(head, features=features),
        attempt.state.next_column_id if evolved is None else evolved.next_column_id,
        schema=_if_changed(evolved, attempt.state),
        properties=_changed_properties(evolved, attempt.state),
        added=records,
        details=change_details(changes) | _seen_as(attempt.operation.base),
    )


def _if_changed(evolved: Evolution | None, state: TableState) -> Schema | None:
    if evolved is None or evolved.schema.version == state.schema.version:
        return None
    return evolved.schema


def _changed_properties(evolved: Evolution | None, state: TableState) -> dict[str, str] | None:
    if evolved is None or evolved.properties == state.properties:
        return None
    return dict(evolved.properties)


def _roots(attempt: Attempt[Append] | Attempt[Rewrite]) -> dict[str, str] | None:
    """The roots of the table once the write is committed; None if they stay as they are."""
    roots = {**attempt.state.roots, **attempt.operation.roots}
    return None if roots == attempt.state.roots else roots


def _seen_as(base: Base) -> dict[str, Any]:
    return {} if base.seen_as is None else {"seen_as": base.seen_as}


def change_details(changes: tuple[BoundChange, ...]) -> dict[str, Any]:
    """The member ``details`` of an entry that changes the schema."""
    return {"changes": [describe(change.request) for change in changes]} if changes else {}
