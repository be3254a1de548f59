"""The rules that each operation must pass, and the entry that it writes (FORMAT.md, section 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.commit import incarnation_rules as incarnation
from versioned_catalog.commit import operations
from versioned_catalog.commit import row_rules as rows
from versioned_catalog.commit import schema_rules as schema
from versioned_catalog.commit import segment_entries as write_entries
from versioned_catalog.commit import segment_rules as segments
from versioned_catalog.commit import table_entries as entries
from versioned_catalog.commit import version_rules as versions
from versioned_catalog.commit.attempt import Attempt, Rule
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import settled_time
from versioned_catalog.model.keys import hides_rows, without_false_floor


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
    segments.segments_above_fence,
    schema.schema_of_base,
    schema.types_fit,
    schema.nulls_fit,
)

MATRIX: Mapping[type, Row] = {
    operations.Create: Row(
        required=(incarnation.table_is_absent,),
        rules=(schema.schema_as_planned,),
        entry=entries.create_entry,
    ),
    operations.Replace: Row(
        required=(*SAME_TABLE, incarnation.new_incarnation, incarnation.no_pins_lost),
        rules=(
            segments.replacement_above_fence,
            rows.replaced_rows_unchanged,
            schema.schema_as_planned,
        ),
        entry=entries.replace_entry,
    ),
    operations.Append: Row(
        required=SAME_INCARNATION,
        rules=(
            segments.batch_is_new,
            segments.files_are_new,
            segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=write_entries.append_entry,
    ),
    operations.Import: Row(
        required=SAME_INCARNATION,
        is_noop=write_entries.imports_nothing,
        rules=(
            segments.batch_is_new,
            segments.files_are_new,
            segments.removed_are_live,
            segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=write_entries.import_entry,
    ),
    operations.Overwrite: Row(
        required=SAME_INCARNATION,
        rules=(
            segments.batch_is_new,
            segments.removed_are_live,
            segments.segments_are_new,
            *SEGMENTS_FIT,
        ),
        entry=write_entries.overwrite_entry,
    ),
    operations.Rewrite: Row(
        required=SAME_INCARNATION,
        is_noop=write_entries.is_empty,
        rules=(
            segments.batch_is_new,
            segments.files_are_new,
            segments.removed_are_live,
            segments.segments_are_new,
            rows.copies_are_complete,
            rows.reads_unchanged,
            segments.read_above_fence,
            rows.row_keys_unchanged,
            *SEGMENTS_FIT,
        ),
        entry=write_entries.rewrite_entry,
    ),
    operations.Compact: Row(
        required=SAME_INCARNATION,
        is_noop=write_entries.is_empty,
        rules=(segments.removed_are_live, rows.no_rows_restored, *SEGMENTS_FIT),
        entry=write_entries.compact_entry,
    ),
    operations.Rollback: Row(
        required=(
            *SAME_INCARNATION,
            schema.in_current_schema,
            versions.nothing_unseen,
            versions.target_is_retained,
            versions.target_in_incarnation,
        ),
        is_noop=write_entries.is_rolled_back,
        entry=write_entries.rollback_entry,
    ),
    operations.Alter: Row(
        required=(*SAME_INCARNATION, schema.in_current_schema, schema.schema_unaltered),
        is_noop=entries.is_altered,
        rules=(schema.no_nulls,),
        entry=entries.alter_entry,
    ),
    operations.Tag: Row(
        required=(*SAME_TABLE, versions.tag_can_change),
        is_noop=entries.is_tagged,
        entry=entries.tag_entry,
    ),
    operations.Consume: Row(
        required=(*SAME_INCARNATION, versions.consumer_can_change), entry=entries.consumer_entry
    ),
    operations.Drop: Row(
        required=(*SAME_INCARNATION, schema.in_current_schema, incarnation.no_pins_lost),
        entry=entries.drop_entry,
    ),
    operations.Fence: Row(
        required=SAME_INCARNATION, is_noop=entries.is_fenced, entry=entries.fence_entry
    ),
    operations.Expire: Row(
        required=SAME_INCARNATION,
        is_noop=entries.is_expired,
        rules=(versions.tags_are_kept, versions.consumers_are_kept),
        entry=entries.expire_entry,
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
