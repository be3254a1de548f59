"""The rules that each operation must pass, and the entry that it writes (FORMAT.md, section 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.commit import (
    append_only,
    branch_entries,
    branch_rules,
    check_rules,
    computed_rules,
    identity_rules,
    incarnation_rules,
    logical_rules,
    mark_rules,
    merge_entries,
    narrowing_rules,
    operations,
    resolve_rules,
    restore_entries,
    row_id_rules,
    row_rules,
    schema_rules,
    segment_entries,
    segment_rules,
    table_entries,
    version_rules,
)
from versioned_catalog.commit.attempt import Attempt, Rule
from versioned_catalog.commit.authorship import signed
from versioned_catalog.commit.segment_entries import write_entry
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import features_of_properties
from versioned_catalog.log.state import TableState, properties_after
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


SAME_TABLE = (
    incarnation_rules.table_exists,
    incarnation_rules.same_table,
    incarnation_rules.writable,
)
SAME_INCARNATION = (
    incarnation_rules.table_exists,
    incarnation_rules.same_incarnation,
    incarnation_rules.writable,
)
ON_TABLE = (branch_rules.on_table,)
WRITTEN_ONCE = (
    segment_rules.batch_is_new,
    segment_rules.files_are_new,
    segment_rules.removed_are_live,
    segment_rules.segments_are_new,
)
SEGMENTS_FIT = (
    segment_rules.segments_above_fence,
    schema_rules.schema_of_base,
    schema_rules.types_fit,
    schema_rules.nulls_fit,
)

MATRIX: Mapping[type, Row] = {
    operations.Create: Row(
        required=(incarnation_rules.table_is_absent,),
        rules=(schema_rules.schema_as_planned,),
        entry=table_entries.create_entry,
    ),
    operations.Replace: Row(
        required=(
            *SAME_TABLE,
            *ON_TABLE,
            incarnation_rules.new_incarnation,
            incarnation_rules.no_pins_lost,
            branch_rules.no_branches_lost,
        ),
        rules=(
            segment_rules.replacement_above_fence,
            row_rules.replaced_rows_unchanged,
            schema_rules.schema_as_planned,
        ),
        entry=table_entries.replace_entry,
    ),
    operations.Append: Row(
        required=SAME_INCARNATION, rules=WRITTEN_ONCE + SEGMENTS_FIT, entry=write_entry
    ),
    operations.Overwrite: Row(
        required=SAME_INCARNATION,
        rules=(
            *WRITTEN_ONCE,
            mark_rules.marks_are_new,
            mark_rules.copied_marks_unchanged,
            *SEGMENTS_FIT,
        ),
        entry=write_entry,
    ),
    operations.Import: Row(
        required=(*SAME_INCARNATION, *ON_TABLE),
        is_noop=segment_entries.is_empty,
        rules=(*WRITTEN_ONCE, mark_rules.copied_marks_unchanged, *SEGMENTS_FIT),
        entry=write_entry,
    ),
    operations.Rewrite: Row(
        required=SAME_INCARNATION,
        is_noop=segment_entries.is_empty,
        rules=(
            *WRITTEN_ONCE,
            mark_rules.marks_are_new,
            mark_rules.copied_marks_unchanged,
            row_rules.copies_are_complete,
            row_rules.reads_unchanged,
            segment_rules.read_above_fence,
            row_rules.row_keys_unchanged,
            *SEGMENTS_FIT,
        ),
        entry=write_entry,
    ),
    operations.Compact: Row(
        required=(*SAME_INCARNATION, *ON_TABLE),
        is_noop=segment_entries.is_empty,
        rules=(
            segment_rules.removed_are_live,
            mark_rules.copied_marks_unchanged,
            row_rules.no_rows_restored,
            *SEGMENTS_FIT,
        ),
        entry=write_entry,
    ),
    operations.Resolve: Row(
        required=(*SAME_INCARNATION, *ON_TABLE),
        rules=(resolve_rules.segments_are_live, segment_rules.segments_above_fence),
        is_noop=resolve_rules.is_resolved,
        entry=write_entry,
    ),
    operations.Rollback: Row(
        required=(
            *SAME_INCARNATION,
            *ON_TABLE,
            schema_rules.in_current_schema,
            version_rules.nothing_unseen,
            version_rules.target_can_be_restored,
            restore_entries.incarnation_can_end,
        ),
        is_noop=segment_entries.is_rolled_back,
        entry=segment_entries.rollback_entry,
    ),
    operations.Alter: Row(
        required=(*SAME_INCARNATION, schema_rules.in_current_schema, schema_rules.schema_unaltered),
        is_noop=table_entries.is_altered,
        rules=(
            schema_rules.no_nulls,
            narrowing_rules.values_fit,
            schema_rules.publishes_own_files,
        ),
        entry=table_entries.alter_entry,
    ),
    operations.Tag: Row(
        required=(
            *SAME_TABLE,
            *ON_TABLE,
            version_rules.tag_can_change,
            branch_rules.no_branch_of_name,
        ),
        is_noop=table_entries.is_tagged,
        entry=table_entries.tag_entry,
    ),
    operations.DropLapsedTags: Row(
        required=SAME_TABLE,
        is_noop=table_entries.has_no_lapsed_tags,
        entry=table_entries.drop_lapsed_tags_entry,
    ),
    operations.MakeBranch: Row(
        required=(*SAME_INCARNATION, *ON_TABLE, branch_rules.branch_can_begin),
        entry=branch_entries.make_branch_entry,
    ),
    operations.DropBranches: Row(
        required=(*SAME_INCARNATION, *ON_TABLE),
        is_noop=branch_rules.is_dropped,
        entry=branch_entries.drop_branches_entry,
    ),
    operations.MergeBranch: Row(
        required=(
            *SAME_INCARNATION,
            *ON_TABLE,
            branch_rules.branch_is_there,
            merge_entries.can_move_forward,
        ),
        is_noop=merge_entries.is_merged,
        entry=merge_entries.merge_entry,
    ),
    operations.CloseBranch: Row(
        required=(*SAME_INCARNATION, branch_rules.has_not_gone_on),
        entry=branch_entries.close_branch_entry,
    ),
    operations.Consume: Row(
        required=(*SAME_INCARNATION, *ON_TABLE, version_rules.consumer_can_change),
        entry=table_entries.consumer_entry,
    ),
    operations.Drop: Row(
        required=(
            *SAME_INCARNATION,
            *ON_TABLE,
            schema_rules.in_current_schema,
            incarnation_rules.no_pins_lost,
            incarnation_rules.no_clones_lost,
        ),
        entry=table_entries.drop_entry,
    ),
    operations.Undrop: Row(
        required=(
            incarnation_rules.table_exists,
            incarnation_rules.same_dropped_table,
            incarnation_rules.writable,
            incarnation_rules.not_purged,
        ),
        is_noop=table_entries.is_undropped,
        entry=table_entries.undrop_entry,
    ),
    operations.Purge: Row(
        required=(
            incarnation_rules.table_exists,
            incarnation_rules.same_dropped_table,
            incarnation_rules.writable,
            incarnation_rules.dropped,
        ),
        is_noop=table_entries.is_purged,
        entry=table_entries.purge_entry,
    ),
    operations.Fence: Row(
        required=SAME_INCARNATION, is_noop=table_entries.is_fenced, entry=table_entries.fence_entry
    ),
    operations.Expire: Row(
        required=(*SAME_INCARNATION, *ON_TABLE),
        is_noop=table_entries.is_expired,
        rules=(version_rules.tags_are_kept, version_rules.consumers_are_kept),
        entry=table_entries.expire_entry,
    ),
}
"""A row for each operation."""


def propose(
    operation: operations.Operation,
    state: TableState | None,
    commit_id: str,
    table: str,
    log: TableLog,
    *,
    looks_at_rows: bool = True,
) -> Commit | None:
    """Check an operation against the newest state, and build its entry; None if it changes nothing.

    Args:
        looks_at_rows: whether rules may read rows; without it, they check what no rows can change.

    Raises:
        CommitConflictError: it conflicts with what was committed since it was planned.
        AlreadyExistsError, NotFoundError, InvalidRequestError, UnsupportedFeatureError: it is not
            possible in that state.
    """
    row = MATRIX[type(operation)]
    attempt = Attempt(operation, state, commit_id, table, log, looks_at_rows)
    for rule in row.required:
        rule(attempt)
    if row.is_noop(attempt):
        return None
    for rule in row.rules:
        rule(attempt)
    entry = branch_rules.checked(signed(row.entry(attempt)), attempt)
    entry = row_id_rules.with_row_ids(entry, attempt)
    needed = features_of_properties(properties_after(state, entry))
    entry = replace(entry, head=replace(entry.head, features=entry.head.features | needed))
    append_only.check_keeps_rows(entry, attempt)
    check_rules.check_constraints(entry, attempt)
    computed_rules.check_computed_values(entry, attempt)
    identity_rules.check_identity_columns(entry, attempt)
    logical_rules.check_logical_values(entry, attempt)
    return entry if state is None else _without_future_ttl_floor(entry, state, log)


def _without_future_ttl_floor(entry: Commit, state: TableState, log: TableLog) -> Commit:
    """Remove a ``ttl_floor`` that a clock which was ahead left in the properties (section 13, *TTL*)."""
    properties = properties_after(state, entry)
    if not hides_rows(properties):
        return entry
    sound = without_false_floor(properties, settled_time(log.store, state.version, state.time))
    return entry if sound == dict(properties) else replace(entry, properties=sound)
