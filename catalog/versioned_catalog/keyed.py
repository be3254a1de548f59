"""Changing rows of tables with a primary key: tombstones and rows, and nothing is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from versioned_catalog.conflicts.operations import Append, Rewrite
from versioned_catalog.conflicts.row_keys import KeyConflictError
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.restored import RestoredTable
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.write.key_check import key_check
from versioned_catalog.write.keyed_changes import delete_rows, update_rows, write_tombstones
from versioned_catalog.write.plan import WritePlan, batches_of, plan_delta, plan_now
from versioned_catalog.write.update import Updater

MOST_ATTEMPTS = 32
"""How often a DELETE or UPDATE of a table with a primary key is evaluated."""


class KeyedTable(RestoredTable):
    """The part of ``Table`` that writes by row key."""

    def _planned_on(self, plan: WritePlan) -> TableState:
        """The snapshot that a write was planned on.

        Raises:
            CommitConflictError: it is expired.
        """
        assert plan.base is not None
        try:
            return self.at(plan.base.version)
        except NotFoundError as error:
            raise CommitConflictError(
                f"{self.name}: version {plan.base.version}, on which this write was planned, was "
                "expired meanwhile; refresh() the table and run it again, or expire with a longer time"
            ) from error

    def delete_keys(self, keys: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows of some row keys, where there are any. Like an upsert, it reads nothing and
        never conflicts with other upserts: the last commit wins.

        Args:
            keys: a pyarrow Table, RecordBatch or RecordBatchReader of the columns of the row key.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: the table has no primary key, or these are no row keys of it.
        """
        plan = plan_delta(self.store, self.state, self.name)
        arrow, batches = batches_of(keys)
        records = write_tombstones(self.store, plan, arrow, batches)
        assert plan.base is not None
        return self._commit(Append(plan.base, tuple(records)), commit_id)

    def commit_delta(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        kind: str,
        reads: Any = None,
        commit_id: str | None = None,
    ) -> int:
        """Commit rows and tombstones that were made of rows of the plan's base.

        Args:
            plan: made by ``plan_delta``; what was read is its base.
            records: what was written by it.
            kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
            reads: which rows of the base were looked at: see ``commit_rewrite``.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the newest one if there is nothing to write.

        Raises:
            CommitConflictError: somebody wrote rows of the same keys meanwhile, or removed rows; or rows
                that were looked at came or went, where the table's ``isolation`` is ``serializable``.
        """
        assert plan.base is not None
        state = self._planned_on(plan)
        return self._commit_delta(plan, records, kind, bind_filters(reads, state.schema), commit_id)

    def _commit_delta(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        kind: str,
        bound: BoundFilter | None,
        commit_id: str | None,
    ) -> int:
        assert plan.base is not None
        state = self._planned_on(plan)
        written = tuple(sorted(records, key=lambda record: not record.delta.deletes_only))
        check = key_check(self.store, state, plan.spec.schema, written)
        operation = Rewrite(plan.base, kind, written, (), bound, plan.changes, check)
        return self._commit(operation, commit_id)

    def _again(self, attempt: Callable[[Self], int], shown: Self | None = None) -> int:
        """Do what reads rows and writes them again for as long as others write the same keys.

        Args:
            attempt: does it, on the table as it is read.
            shown: how it is read first; None for as it is shown.
        """
        read = shown or self
        schema = read.schema
        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return attempt(read)
            except KeyConflictError:
                read = self.refresh()
                if read.schema != schema:
                    raise  # names may mean other columns now
        return attempt(read)

    def _delete_rows(self, bound: BoundFilter, commit_id: str | None) -> int:
        plan = plan_delta(self.store, self.state, self.name)
        records = delete_rows(self.store, self.state, bound, plan.spec)
        return self._commit_delta(plan, records, "delete", bound, commit_id)

    def _update_rows(
        self, updater: Updater, bound: BoundFilter | None, commit_id: str | None
    ) -> int:
        plan = plan_now(self.store, self.state, self.name)
        records = update_rows(self.store, self.state, bound, plan.spec, updater)
        return self._commit_delta(plan, records, "update", bound, commit_id)

    def _upsert_where(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        filters: Any,
        own_rows: bool,
        commit_id: str | None,
    ) -> int:
        """Delete the rows that a filter means, and upsert others, in one commit.

        Rows that were made of the table's own are stale where a key of theirs was written since, so
        what to delete is not looked for again.
        """
        assert plan.base is not None
        base = plan.base

        def attempt(shown: Self) -> int:
            deletes = plan_delta(shown.store, shown.state, shown.name)
            bound = bind_filters(filters, shown.schema)
            gone = delete_rows(shown.store, shown.state, bound, deletes.spec)
            added = (*gone, *records)
            written = added if own_rows else gone
            check = key_check(shown.store, shown.state, plan.spec.schema, written)
            reads = None if own_rows else bound
            operation = Rewrite(base, "overwrite", added, (), reads, plan.changes, check)
            return self._commit(operation, commit_id)

        planned = self.as_of(base.version)
        return attempt(planned) if own_rows else self._again(attempt, planned)
