"""The rules that each operation must pass, and the entry that it writes (FORMAT.md, section 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.conflicts import (
    added_columns,
    added_segments,
    batches,
    consumers,
    copied_rows,
    expiry,
    fence,
    imported_files,
    incarnation,
    isolation,
    not_null,
    operations,
    removed_segments,
    replaced_rows,
    restored_rows,
    rollback,
    row_keys,
    schema_fit,
    schema_pins,
    tags,
)
from versioned_catalog.conflicts.attempt import Attempt, Rule
from versioned_catalog.conflicts.entries import alteration, creation, marks, restoration, writes
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.log.times import settled_time
from versioned_catalog.schema.ttl import hides_rows, without_false_floor


def _never(_: Attempt[Any]) -> bool:
    return False


@dataclass(frozen=True)
class Row:
    """A row of the matrix.

    Args:
        required: rules that an operation must pass even if it changes nothing.
        entry: builds the entry, once all rules are passed.
        rules: rules that it must also pass to be committed.
        is_noop: whether the operation changes nothing of the newest state, and makes no entry.
    """

    required: tuple[Rule, ...]
    entry: Callable[[Attempt[Any]], Commit]
    rules: tuple[Rule, ...] = ()
    is_noop: Callable[[Attempt[Any]], bool] = _never


SAME_TABLE = (incarnation.table_exists, incarnation.same_table, incarnation.writable)
SAME_INCARNATION = (incarnation.table_exists, incarnation.same_incarnation, incarnation.writable)
SEGMENTS_FIT = (
    fence.segments_above_fence,
    added_columns.schema_of_base,
    schema_fit.types_fit,
    schema_fit.nulls_fit,
)

MATRIX: Mapping[type, Row] = {
    operations.Create: Row(
        required=(incarnation.table_is_absent,),
        rules=(added_columns.schema_as_planned,),
        entry=creation.create_entry,
    ),
    operations.Replace: Row(
        required=(*SAME_TABLE, incarnation.new_incarnation, schema_pins.no_pins_lost),
        rules=(
            fence.replacement_above_fence,
            replaced_rows.replaced_rows_unchanged,
            added_columns.schema_as_planned,
        ),
        entry=creation.replace_entry,
    ),
    operations.Append: Row(
        required=SAME_INCARNATION,
        rules=(
            batches.batch_is_new,
            imported_files.files_are_new,
            added_segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=writes.append_entry,
    ),
    operations.Import: Row(
        required=SAME_INCARNATION,
        is_noop=writes.imports_nothing,
        rules=(
            batches.batch_is_new,
            imported_files.files_are_new,
            removed_segments.removed_are_live,
            added_segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=writes.import_entry,
    ),
    operations.Overwrite: Row(
        required=SAME_INCARNATION,
        rules=(
            batches.batch_is_new,
            removed_segments.removed_are_live,
            added_segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=writes.overwrite_entry,
    ),
    operations.Rewrite: Row(
        required=SAME_INCARNATION,
        is_noop=writes.is_empty,
        rules=(
            batches.batch_is_new,
            imported_files.files_are_new,
            removed_segments.removed_are_live,
            added_segments.segments_are_new,
            copied_rows.copies_are_complete,
            isolation.reads_unchanged,
            fence.read_above_fence,
            row_keys.row_keys_unchanged,
            *SEGMENTS_FIT,
        ),
        entry=writes.rewrite_entry,
    ),
    operations.Compact: Row(
        required=SAME_INCARNATION,
        is_noop=writes.is_empty,
        rules=(removed_segments.removed_are_live, restored_rows.no_rows_restored, *SEGMENTS_FIT),
        entry=writes.compact_entry,
    ),
    operations.Rollback: Row(
        required=(
            *SAME_INCARNATION,
            rollback.nothing_unseen,
            expiry.target_is_retained,
            rollback.target_in_incarnation,
        ),
        is_noop=restoration.is_rolled_back,
        entry=restoration.rollback_entry,
    ),
    operations.Alter: Row(
        required=SAME_INCARNATION,
        is_noop=alteration.is_altered,
        rules=(not_null.no_nulls,),
        entry=alteration.alter_entry,
    ),
    operations.Tag: Row(
        required=(*SAME_TABLE, tags.tag_can_change), is_noop=marks.is_tagged, entry=marks.tag_entry
    ),
    operations.Consume: Row(
        required=(*SAME_INCARNATION, consumers.consumer_can_change), entry=marks.consumer_entry
    ),
    operations.Drop: Row(
        required=(*SAME_INCARNATION, schema_pins.no_pins_lost), entry=marks.drop_entry
    ),
    operations.Fence: Row(
        required=SAME_INCARNATION, is_noop=marks.is_fenced, entry=marks.fence_entry
    ),
    operations.Expire: Row(
        required=SAME_INCARNATION,
        is_noop=marks.is_expired,
        rules=(expiry.tags_are_kept, consumers.consumers_are_kept),
        entry=marks.expire_entry,
    ),
}
"""A row for each operation."""


def propose(
    operation: operations.Operation,
    state: TableState | None,
    commit_id: str,
    table: str,
    log: TableLog,
) -> Commit | None:
    """Check an operation against the newest state, and build its entry; None if it changes nothing.

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
