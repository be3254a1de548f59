"""The rules that each operation must pass, and the entry that it writes (FORMAT.md, section 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.conflicts.added_columns import schema_as_planned, schema_of_base
from versioned_catalog.conflicts.added_segments import segments_are_new
from versioned_catalog.conflicts.attempt import Attempt, Rule
from versioned_catalog.conflicts.batches import batch_is_new
from versioned_catalog.conflicts.copied_rows import copies_are_complete
from versioned_catalog.conflicts.entries import alteration, creation, marks, restoration, writes
from versioned_catalog.conflicts.expiry import tags_are_kept, target_is_retained
from versioned_catalog.conflicts.fence import (
    read_above_fence,
    replacement_above_fence,
    segments_above_fence,
)
from versioned_catalog.conflicts.incarnation import (
    new_incarnation,
    same_incarnation,
    same_table,
    table_exists,
    table_is_absent,
    writable,
)
from versioned_catalog.conflicts.isolation import reads_unchanged
from versioned_catalog.conflicts.not_null import no_nulls
from versioned_catalog.conflicts.operations import (
    Alter,
    Append,
    Compact,
    Create,
    Drop,
    Expire,
    Fence,
    Operation,
    Overwrite,
    Replace,
    Rewrite,
    Rollback,
    Tag,
)
from versioned_catalog.conflicts.removed_segments import removed_are_live
from versioned_catalog.conflicts.replaced_rows import replaced_rows_unchanged
from versioned_catalog.conflicts.restored_rows import no_rows_restored
from versioned_catalog.conflicts.rollback import nothing_unseen, target_in_incarnation
from versioned_catalog.conflicts.row_keys import row_keys_unchanged
from versioned_catalog.conflicts.schema_fit import nulls_fit, types_fit
from versioned_catalog.conflicts.tags import tag_can_change
from versioned_catalog.log.commit_times import settled_time
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.schema.ttl import hides_rows, without_false_floor


def _never(_: Attempt[Any]) -> bool:
    return False


@dataclass(frozen=True)
class Row:
    """A row of the matrix.

    Args:
        required: rules that an operation must pass even if it changes nothing.
        rules: rules that it must pass to be committed, checked after ``required``.
        entry: builds the entry, once the rules are passed.
        is_noop: whether the operation changes nothing of the newest state, and makes no entry.
    """

    required: tuple[Rule, ...]
    rules: tuple[Rule, ...]
    entry: Callable[[Attempt[Any]], Commit]
    is_noop: Callable[[Attempt[Any]], bool] = _never


SAME_TABLE = (table_exists, same_table, writable)
SAME_INCARNATION = (table_exists, same_incarnation, writable)
SEGMENTS_FIT = (segments_above_fence, schema_of_base, types_fit, nulls_fit)

MATRIX: Mapping[type, Row] = {
    Create: Row(
        required=(table_is_absent,),
        rules=(schema_as_planned,),
        entry=creation.create_entry,
    ),
    Replace: Row(
        required=(*SAME_TABLE, new_incarnation),
        rules=(replacement_above_fence, replaced_rows_unchanged, schema_as_planned),
        entry=creation.replace_entry,
    ),
    Append: Row(
        required=SAME_INCARNATION,
        rules=(batch_is_new, segments_are_new, *SEGMENTS_FIT),
        entry=writes.append_entry,
    ),
    Overwrite: Row(
        required=SAME_INCARNATION,
        rules=(removed_are_live, segments_are_new, *SEGMENTS_FIT),
        entry=writes.overwrite_entry,
    ),
    Rewrite: Row(
        required=SAME_INCARNATION,
        is_noop=writes.is_empty,
        rules=(
            removed_are_live,
            segments_are_new,
            copies_are_complete,
            reads_unchanged,
            read_above_fence,
            row_keys_unchanged,
            *SEGMENTS_FIT,
        ),
        entry=writes.rewrite_entry,
    ),
    Compact: Row(
        required=SAME_INCARNATION,
        is_noop=writes.is_empty,
        rules=(removed_are_live, no_rows_restored, *SEGMENTS_FIT),
        entry=writes.compact_entry,
    ),
    Rollback: Row(
        required=(*SAME_INCARNATION, nothing_unseen, target_is_retained, target_in_incarnation),
        is_noop=restoration.is_rolled_back,
        rules=(),
        entry=restoration.rollback_entry,
    ),
    Alter: Row(
        required=SAME_INCARNATION,
        is_noop=alteration.is_altered,
        rules=(no_nulls,),
        entry=alteration.alter_entry,
    ),
    Tag: Row(
        required=(*SAME_TABLE, tag_can_change),
        is_noop=marks.is_tagged,
        rules=(),
        entry=marks.tag_entry,
    ),
    Drop: Row(
        required=SAME_INCARNATION,
        rules=(),
        entry=marks.drop_entry,
    ),
    Fence: Row(
        required=SAME_INCARNATION,
        is_noop=marks.is_fenced,
        rules=(),
        entry=marks.fence_entry,
    ),
    Expire: Row(
        required=SAME_INCARNATION,
        is_noop=marks.is_expired,
        rules=(tags_are_kept,),
        entry=marks.expire_entry,
    ),
}
"""A row for each operation."""


def propose(
    operation: Operation,
    state: TableState | None,
    commit_id: str,
    table: str,
    log: TableLog,
) -> Commit | None:
    """Check an operation against the newest state, and build its entry.

    Args:
        operation: the operation as planned.
        state: the newest state; None where there is no table yet.
        commit_id: ID of the commit.
        table: name of the table, for errors.
        log: the log that the state comes from.

    Returns:
        The entry, or None if the operation changes nothing.

    Raises:
        CommitConflictError: it conflicts with what was committed since it was planned.
        AlreadyExistsError, NotFoundError, InvalidRequestError, UnsupportedFeatureError: it is not
            possible in that state.
    """
    row, attempt = MATRIX[type(operation)], Attempt(operation, state, commit_id, table, log)
    for rule in row.required:
        rule(attempt)
    if row.is_noop(attempt):
        return None
    for rule in row.rules:
        rule(attempt)
    entry = row.entry(attempt)
    return entry if state is None else _without_future_ttl_floor(entry, state, log)


def _without_future_ttl_floor(entry: Commit, state: TableState, log: TableLog) -> Commit:
    """Remove a ``ttl_floor`` that a clock which was ahead left in the properties (section 13, *TTL*)."""
    kept = {} if entry.head.operation in NEW_INCARNATION else state.properties
    properties = kept if entry.properties is None else entry.properties
    if not hides_rows(properties):
        return entry
    sound = without_false_floor(properties, settled_time(log.store, state.version, state.time))
    return entry if sound == dict(properties) else replace(entry, properties=sound)
