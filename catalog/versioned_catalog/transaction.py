"""Transactions: plan a write, write its segments anywhere, commit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.operations import (
    Append,
    Base,
    Effect,
    Import,
    Operation,
    Overwrite,
    Rewrite,
)
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError, names_table_in_errors
from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.entry import REWRITES, Batch
from versioned_catalog.log.ledger import adopted_files
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.evolution import BoundChange
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.storage.store import file_of
from versioned_catalog.write import row_level
from versioned_catalog.write.auto_maintain import then_maintains
from versioned_catalog.write.compaction import compact_if_due
from versioned_catalog.write.copy_on_write import matching_segments, whole_segments
from versioned_catalog.write.external import ExternalFile, external_records, used_roots
from versioned_catalog.write.partitions import segments_of_partitions
from versioned_catalog.write.plan import (
    WritePlan,
    check_changes_rows,
    check_newest,
    plan_delta,
    plan_write,
)
from versioned_catalog.write.retry import commit_replanned, once
from versioned_catalog.write.row_level import key_check

Records = tuple[SegmentRecord, ...]
Changes = tuple[BoundChange, ...]

Importing = Callable[[Base, Records, Changes], Import]
"""Builds the operation of an import from its base, its segments, and the schema changes."""

Planned = Callable[[Base, Records, Changes], Operation]
"""Builds the operation of a write from the same."""


@names_table_in_errors(lambda transaction: transaction._handle.error_names)
class Transaction:
    """Writes that are planned and committed here, and executed in any process.

    Obtained as ``table.transaction()``. A plan says which snapshot it is based on; it can be sent to
    other processes, which write segments that are invisible until they are committed. Every ``commit_*``
    method validates the write against the commits since its base, and retries while others commit
    first. The methods of ``Table``, such as ``append``, do all of this in one call.

    Unless a method says otherwise, ``plan`` comes from ``plan_write``, ``records`` are the segments that
    ``plan.write`` wrote, and ``commit_id`` is the idempotency key of the commit, generated if omitted.
    Methods that commit return the version of the commit. A rewrite, delta or deletion of nothing returns
    the newest version; an append or overwrite always commits.

    >>> table = catalog.create_table("numbers", "n BIGINT")
    >>> rows = pa.table({"n": [1, 2, 3]})
    >>> transaction = table.transaction()
    >>> plan = transaction.plan_write(rows.schema)
    >>> records = plan.write(rows.schema, rows.to_batches())
    >>> table.count()
    0
    >>> transaction.commit_append(plan, records)
    1
    >>> table.count()
    3
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle

    def plan_write(
        self,
        arrow: pa.Schema,
        *,
        merge_schema: bool | None = None,
        partial: bool = False,
        change_column: str | None = None,
    ) -> WritePlan:
        """Plan a write of rows: an append, upsert or overwrite, or changes to apply.

        Args:
            arrow: the schema of the rows.
            merge_schema, partial: as for ``Table.upsert``.
            change_column: as for ``Table.apply_changes``. All changes of a key must go to the same call
                of ``plan.write``.

        Raises:
            InvalidRequestError: rows of this schema do not fit the table.
        """
        handle = self._handle
        return plan_write(
            handle.store,
            handle.state,
            handle.name,
            arrow,
            merge_schema=merge_schema,
            partial=partial,
            change_column=change_column,
        )

    def plan_delta(self) -> WritePlan:
        """Plan a write of rows and tombstones, for ``commit_delta``.

        Raises:
            InvalidRequestError: the table has no primary key.
        """
        return plan_delta(self._handle.store, self._handle.state, self._handle.name)

    def once(self, batch: Batch | None, commit: Callable[[], int]) -> int:
        """Commit a batch, unless it was committed already. See ``write.retry.once``."""
        return once(self._handle, batch, commit)

    @then_maintains
    def commit_append(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Add segments, as ``Table.append`` and ``Table.upsert`` do.

        Args:
            batch: application and batch number; a batch is committed at most once.

        Raises:
            CommitConflictError: the rows no longer fit the table.
        """
        version = self._commit(plan, records, partial(Append, batch=batch), commit_id)
        compact_if_due(self._handle)
        return version

    def commit_external(
        self,
        files: Sequence[ExternalFile],
        *,
        removed: Sequence[str] = (),
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Adopt Parquet files of somebody else in place, as ``Table.append_external`` does.

        Args:
            removed: paths of segments, or of their files, that leave the table in the same commit,
                unread: files that their owner has removed or rewritten.
            batch: application and batch number; a batch is committed at most once.

        Raises:
            InvalidRequestError: the table has a primary key, or a file does not fit it.
            CommitConflictError: the schema has changed since the files were mapped, or another commit
                removed one of the segments.
        """
        store, state = self._handle.store, self._handle.state

        def adopting(base: Base, records: Records, _: Changes) -> Import:
            removed_paths = self._known_segments(state, _live_paths(state, removed), "removal")
            return Import(
                base,
                records,
                removed=removed_paths,
                files=adopted_files(store, records),
                batch=batch,
            )

        return self.commit_adopted(files, adopting, commit_id)

    def commit_adopted(
        self,
        files: Sequence[ExternalFile],
        importing: Importing,
        commit_id: str | None = None,
    ) -> int:
        """Adopt the files of an import; ``versioned_interop.imports`` builds the operation."""
        handle, state = self._handle, self._handle.state
        check_newest(state, handle.name)
        records = external_records(handle.store, state, files, handle.name)
        operation = importing(Base.of(state), records, ())
        roots = used_roots(handle.store, records)
        return handle.commit(replace(operation, roots=roots), commit_id)

    @then_maintains
    def commit_copied(
        self, plan: WritePlan, records: Sequence[SegmentRecord], importing: Importing
    ) -> int:
        """Add the segments of an import, as ``commit_append`` does."""
        version = self._commit(plan, records, importing)
        compact_if_due(self._handle)
        return version

    @then_maintains
    def commit_overwrite(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        own_rows: bool = False,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Replace all segments of the plan's base, as ``Table.overwrite`` does.

        Args:
            batch: as for ``commit_append``.
            own_rows: whether the new rows were computed from rows of the base. The commit then
                conflicts with changes of those rows, as a MERGE does.
        """
        return self._overwrite(plan, records, None, own_rows, commit_id, batch)

    @then_maintains
    def commit_overwrite_partitions(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        own_rows: bool = False,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Replace the segments of the plan's base in the partitions of the new ones.

        An unpartitioned table is one partition. See ``Table.overwrite_partitions``, and
        ``commit_overwrite`` for the arguments.
        """
        state = self._handle.planned_on(plan.based_on)
        keys = {record.partition for record in records}
        removed = segments_of_partitions(state, plan.spec.schema, keys, self._handle.name)
        return self._overwrite(plan, records, removed, own_rows, commit_id, batch)

    @then_maintains
    def commit_overwrite_where(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        filters: Any,
        *,
        own_rows: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Replace the rows of the plan's base that match a filter.

        The other rows of segments that match in part are copied into new segments.

        Args:
            records: the segments that ``plan.write`` wrote; their rows need not match the filter.
            filters: tuples as for ``Table.scan``, or an ``Unbound``, over columns of the base.
            own_rows: whether the new rows were computed from rows of the base.
        """

        def commit(plan: WritePlan, records: Sequence[SegmentRecord]) -> int:
            return row_level.overwrite_where(
                self._handle, plan, records, filters, own_rows, commit_id
            )

        if own_rows:
            return commit(plan, records)
        return commit_replanned(self._handle, plan, records, commit)

    @then_maintains
    def commit_rewrite(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        removed: Sequence[str],
        *,
        kind: str,
        reads: Any = None,
        marks: Mapping[str, Positions] = MappingProxyType({}),
        effect: Effect | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Replace segments, or single rows of them, by segments whose rows were computed from them.

        Args:
            plan: from ``plan_write``; its base is the version that was read.
            removed: paths of the segments of the base to remove.
            kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
            reads: which rows of the base were read: tuples as for ``Table.scan``, or an ``Unbound``,
                over columns of the base; None for every row.
            marks: the rows to mark as deleted, by the path of a segment of the base that stays.
            effect: what the statement did, for the history.

        Raises:
            CommitConflictError: another commit removed one of the segments or marked one of the rows;
                or, if the table's ``isolation`` is ``serializable``, added or removed rows that match
                ``reads``.
        """
        name = self._handle.name
        if kind not in REWRITES:
            raise InvalidRequestError(
                f"{name}: kind must be one of {', '.join(REWRITES)}, got {kind!r}"
            )
        state = self._handle.planned_on(plan.based_on)
        removed_paths = self._known_segments(state, removed, kind)
        self._known_segments(state, tuple(marks), kind)
        bound = bind_filters(reads, state.known, state)
        operation = Rewrite(
            plan.based_on,
            tuple(records),
            plan.changes,
            removed_paths,
            kind=kind,
            reads=bound,
            marks=marks,
            effect=effect,
        )
        return self._handle.commit(operation, commit_id)

    @then_maintains
    def commit_delta(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        kind: str,
        reads: Any = None,
        effect: Effect | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Add rows and tombstones that were computed from rows of the plan's base.

        Args:
            plan: from ``plan_delta``; its base is the version that was read.
            kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
            reads, effect: as for ``commit_rewrite``.

        Raises:
            CommitConflictError: another commit wrote or removed rows of the same keys; or, if the
                table's ``isolation`` is ``serializable``, added or removed rows that match ``reads``.
        """
        bound = bind_filters(reads, self._handle.planned_on(plan.based_on).known)
        return row_level.commit_delta(self._handle, plan, records, kind, bound, commit_id, effect)

    def can_delete_whole(self, filters: Any) -> bool:
        """Whether no segment matches a filter in part, so that ``delete_whole`` can delete its rows.

        Args:
            filters: as for ``Table.scan``.
        """
        state = self._handle.state
        check_changes_rows(state, self._handle.name)
        bound = bind_filters(filters, state.known, state)
        if state.schema.is_keyed and bound is not None:
            return False  # removing a row may uncover an older one of the same key
        return not matching_segments(state, bound).partial

    @then_maintains
    def delete_whole(self, filters: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows that match a filter by removing segments; no data is read or written.

        Args:
            filters: as for ``Table.scan``.

        Raises:
            InvalidRequestError: a segment may match in part, or the table has a primary key.
        """
        state = self._handle.state
        check_changes_rows(state, self._handle.name)
        bound = bind_filters(filters, state.known, state)
        if bound is not None:
            self._check_removable(state.schema)
        removed = whole_segments(state, bound, self._handle.name)
        operation = Rewrite(Base.of(state), (), removed=removed, kind="delete", reads=bound)
        return self._handle.commit(operation, commit_id)

    def _commit(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        operation: Planned,
        commit_id: str | None = None,
    ) -> int:
        """Commit a write; replan it while others change the schema of a live table."""

        def commit(plan: WritePlan, records: Sequence[SegmentRecord]) -> int:
            planned = operation(plan.based_on, tuple(records), plan.changes)
            return self._handle.commit(planned, commit_id)

        return commit_replanned(self._handle, plan, records, commit)

    def _known_segments(
        self, state: TableState, removed: Sequence[str], kind: str
    ) -> tuple[str, ...]:
        """The different paths of segments to remove or mark, which a state must have."""
        if removed:
            self._check_removable(state.schema)
        unknown = sorted(set(removed) - set(state.segments.paths))
        if unknown:
            raise InvalidRequestError(
                f"{self._handle.name}: {unknown[0]} is not a segment of version {state.version}, on "
                f"which this {kind} was planned"
            )
        return tuple(dict.fromkeys(removed))

    def _check_removable(self, schema: Schema) -> None:
        """Refuse to remove segments of a table with a primary key."""
        if schema.is_keyed:
            raise InvalidRequestError(
                f"{self._handle.name} has a primary key: removing segments would bring back older rows "
                "of the same keys; use delete, delete_keys, update or commit_delta"
            )

    def _overwrite(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        removed: tuple[str, ...] | None,
        own_rows: bool,
        commit_id: str | None,
        batch: Batch | None,
    ) -> int:
        """Replace segments of the plan's base, all of them if ``removed`` is None."""
        handle, schema = self._handle, plan.spec.schema
        if not own_rows:
            return self._commit(
                plan, records, partial(Overwrite, removed=removed, batch=batch), commit_id
            )
        state = handle.planned_on(plan.based_on)
        operation = Rewrite(
            plan.based_on,
            tuple(records),
            plan.changes,
            tuple(state.segments.paths) if removed is None else removed,
            kind="overwrite",
            reads=None,
            keys=key_check(handle.store, state, schema, records) if schema.is_keyed else None,
        )
        return handle.commit(operation, commit_id)


def _live_paths(state: TableState, removed: Sequence[str]) -> Sequence[str]:
    """Paths of segments, some of which are given as the path of their file."""
    paths = state.segments.paths
    unknown = {*removed} - {*paths}
    adopted_paths = [path for path in paths if file_of(path) in unknown] if unknown else []
    return [
        *(unknown - {*map(file_of, adopted_paths)}),
        *(path for path in removed if path not in unknown),
        *adopted_paths,
    ]
