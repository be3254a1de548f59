"""Row-level operations: evaluate DELETE, UPDATE and REPLACE WHERE on a table, and commit the result.

A table without a primary key copies the segments that hold affected rows; a table with one gets new
rows and tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from versioned_catalog.conflicts.operations import Append, Base, Rewrite
from versioned_catalog.conflicts.rows import KeyConflictError
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.write import keyed_changes
from versioned_catalog.write.copy_on_write import with_updates, without_matches
from versioned_catalog.write.key_check import key_check
from versioned_catalog.write.plan import (
    WritePlan,
    batches_of,
    check_changes_rows,
    plan_delta,
    plan_now,
)
from versioned_catalog.write.unseen import updater_of
from versioned_catalog.write.update import RowUpdater

MOST_ATTEMPTS = 32
"""How often a statement is evaluated while other writers keep writing the same row keys."""


def delete(handle: TableHandle, filters: Any, commit_id: str | None) -> int:
    """Delete the rows that match a filter. See ``Table.delete``."""
    state = handle.state
    check_changes_rows(state, handle.name)
    bound = bind_filters(filters, state.known)
    if state.schema.is_keyed and bound is not None:
        return _retry_on_key_conflict(
            handle, handle, lambda _: _delete_keyed(handle, bound, commit_id)
        )
    spec = plan_now(handle.store, state, handle.name).spec
    found = without_matches(handle.store, state, bound, spec)
    operation = Rewrite(Base.of(state), "delete", found.records, found.removed, bound)
    return handle.commit(operation, commit_id)


def update(
    handle: TableHandle, assignments: Mapping[str, Any], filters: Any, commit_id: str | None
) -> int:
    """Assign new values in the rows that match a filter. See ``Table.update``."""
    state = handle.state
    check_changes_rows(state, handle.name)
    bound, now = bind_filters(filters, state.known), plan_now(handle.store, state, handle.name).now
    updater = updater_of(assignments, state.seen, handle.name, now)
    if state.schema.is_keyed:
        keyed_changes.check_assigns_no_key(assignments, state.seen.schema, handle.name)
        return _retry_on_key_conflict(
            handle, handle, lambda _: _update_keyed(handle, updater, bound, commit_id)
        )
    spec = plan_now(handle.store, state, handle.name).spec
    found = with_updates(handle.store, state, bound, spec, updater)
    operation = Rewrite(Base.of(state), "update", found.records, found.removed, bound)
    return handle.commit(operation, commit_id)


def delete_keys(handle: TableHandle, keys: Any, commit_id: str | None) -> int:
    """Delete rows by row key. See ``Table.delete_keys``."""
    plan = plan_delta(handle.store, handle.state, handle.name)
    arrow, batches = batches_of(keys)
    records = keyed_changes.write_tombstones(handle.store, plan, arrow, batches)
    return handle.commit(Append(plan.based_on, tuple(records)), commit_id)


def overwrite_where(
    handle: TableHandle,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    filters: Any,
    own_rows: bool,
    commit_id: str | None,
) -> int:
    """Replace the rows that match a filter. See ``Transaction.commit_overwrite_where``."""
    state = handle.planned_on(plan.based_on)
    check_changes_rows(state, handle.name)
    bound = bind_filters(filters, state.known)
    if state.schema.is_keyed:
        return _overwrite_where_keyed(handle, plan, records, filters, own_rows, commit_id)
    spec = plan_now(handle.store, state, handle.name).spec
    copied = without_matches(handle.store, state, bound, spec)
    added = (*records, *copied.records)
    reads = None if own_rows else bound
    operation = Rewrite(plan.based_on, "overwrite", added, copied.removed, reads, plan.changes)
    return handle.commit(operation, commit_id)


def commit_delta(
    handle: TableHandle,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    kind: str,
    bound: BoundFilter | None,
    commit_id: str | None,
) -> int:
    """Commit rows and tombstones, tombstones first. See ``Transaction.commit_delta``."""
    state = handle.planned_on(plan.based_on)
    written = tuple(sorted(records, key=lambda record: not record.delta.deletes_only))
    check = key_check(handle.store, state, plan.spec.schema, written)
    operation = Rewrite(plan.based_on, kind, written, (), bound, plan.changes, check)
    return handle.commit(operation, commit_id)


def _delete_keyed(handle: TableHandle, bound: BoundFilter, commit_id: str | None) -> int:
    plan = plan_delta(handle.store, handle.state, handle.name)
    records = keyed_changes.delete_rows(handle.store, handle.state, bound, plan.spec)
    return commit_delta(handle, plan, records, "delete", bound, commit_id)


def _update_keyed(
    handle: TableHandle, updater: RowUpdater, bound: BoundFilter | None, commit_id: str | None
) -> int:
    plan = plan_now(handle.store, handle.state, handle.name)
    records = keyed_changes.update_rows(handle.store, handle.state, bound, plan.spec, updater)
    return commit_delta(handle, plan, records, "update", bound, commit_id)


def _overwrite_where_keyed(
    handle: TableHandle,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    filters: Any,
    own_rows: bool,
    commit_id: str | None,
) -> int:
    """Delete the rows that match a filter and upsert others, in one commit.

    If another commit wrote the same keys meanwhile, the filter is evaluated again and the commit is
    retried. With ``own_rows`` it is a conflict: the rows to write were computed from rows that changed.
    """

    def attempt(shown: TableHandle) -> int:
        deletes = plan_delta(shown.store, shown.state, shown.name)
        bound = bind_filters(filters, shown.state.known)
        gone = keyed_changes.delete_rows(shown.store, shown.state, bound, deletes.spec)
        added = (*gone, *records)
        written = added if own_rows else gone
        check = key_check(shown.store, shown.state, plan.spec.schema, written)
        reads = None if own_rows else bound
        operation = Rewrite(plan.based_on, "overwrite", added, (), reads, plan.changes, check)
        return handle.commit(operation, commit_id)

    planned = handle.pinned(plan.based_on.version)
    return attempt(planned) if own_rows else _retry_on_key_conflict(handle, planned, attempt)


def _retry_on_key_conflict(
    handle: TableHandle, first: TableHandle, attempt: Callable[[TableHandle], int]
) -> int:
    """Evaluate and commit, again on the newest state for as long as others write the same row keys.

    ``attempt`` commits what it reads from a handle: ``first``, then ``handle``, refreshed each time.
    """
    read, schema = first, first.state.schema
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return attempt(read)
        except KeyConflictError:
            read = handle.refresh()
            if read.state.schema != schema:
                raise  # the names in the statement may mean other columns now
    return attempt(read)
