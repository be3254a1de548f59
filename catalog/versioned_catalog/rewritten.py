"""Changing rows that are there, by copy on write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.filtering.filters import Bound
from versioned_catalog.log.entry import REWRITES
from versioned_catalog.log.key_conflicts import KeyConflictError
from versioned_catalog.log.operations import Append, Base, Rewrite
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.restored import RestoredTable
from versioned_catalog.scanning.columns import bind_filters
from versioned_catalog.writing.deltas import (
    check_assigns_no_key,
    delete_rows,
    update_rows,
    write_tombstones,
)
from versioned_catalog.writing.key_check import key_check
from versioned_catalog.writing.plan import WritePlan, batches_of, plan_delta, plan_now
from versioned_catalog.writing.rewriting import (
    touched,
    whole_segments,
    with_updates,
    without_matches,
)
from versioned_catalog.writing.updating import Updater

MOST_ATTEMPTS = 32
"""How often a DELETE or UPDATE of a table with a primary key is evaluated."""


class RewrittenTable(RestoredTable):
    """The part of ``Table`` that puts segments in the place of others.

    All of it conflicts with whoever removed one of those meanwhile; under the table property
    ``isolation=serializable`` also with whoever added or removed rows that were looked for.
    """

    def can_delete_whole(self, filters: Any) -> bool:
        """Whether the rows that a filter lets pass can be deleted by metadata alone, because every
        segment holds such rows only, or none.

        Args:
            filters: as for ``scan``.
        """
        bound = bind_filters(filters, self.schema)
        if self.schema.is_keyed and bound is not None:
            return False  # a row that is not there any more may hide one that is
        return not touched(self.state, bound).torn

    def delete_whole(self, filters: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows that a filter lets pass without reading or writing any.

        Args:
            filters: as for ``scan``.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the current one if there are no such rows.

        Raises:
            InvalidRequestError: a segment may hold such rows and others.
        """
        bound = bind_filters(filters, self.schema)
        if bound is not None:
            self._check_removable()
        removed = whole_segments(self.state, bound, self.name)
        operation = Rewrite(Base.of(self.state), "delete", (), removed, bound)
        return self._commit(operation, commit_id)

    def _check_removable(self) -> None:
        """Refuse to take segments away whose rows hide others.

        Raises:
            InvalidRequestError: the table has a primary key.
        """
        if self.schema.is_keyed:
            raise InvalidRequestError(
                f"{self.name} has a primary key, so that rows which others replaced would be back if "
                "segments were taken away; use delete, delete_keys, update or commit_delta"
            )

    def commit_rewrite(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        removed: Sequence[str],
        *,
        kind: str,
        reads: Any = None,
        commit_id: str | None = None,
    ) -> int:
        """Commit segments that replace others, which were read to make them.

        Args:
            plan: made by ``plan_write``; what was read is its base.
            records: what was written by it.
            removed: the paths of the segments of the base that go.
            kind: ``delete``, ``update``, ``merge`` or ``overwrite``.
            reads: which rows of the base were looked at: tuples as for ``scan``, or an ``Unbound``, of
                columns of the base; None for every row.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the newest one if nothing is removed or added.

        Raises:
            CommitConflictError: one of the segments was removed meanwhile; or rows that were looked
                at came or went, where the table's ``isolation`` is ``serializable``.
        """
        assert plan.base is not None
        if kind not in REWRITES:
            raise InvalidRequestError(
                f"{self.name}: {kind!r} is no kind of rewrite; there are {', '.join(REWRITES)}"
            )
        state = self.at(plan.base.version)
        if removed:
            self._check_removable()
        strange = sorted(set(removed) - set(state.segments.paths))
        if strange:
            raise InvalidRequestError(
                f"{self.name}: {strange[0]} is no segment of version {state.version}, which this "
                f"{kind} was planned on"
            )
        bound, gone = bind_filters(reads, state.schema), tuple(dict.fromkeys(removed))
        operation = Rewrite(plan.base, kind, tuple(records), gone, bound, plan.changes)
        return self._commit(operation, commit_id)

    def commit_overwrite_where(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        filters: Any,
        *,
        commit_id: str | None = None,
    ) -> int:
        """Commit segments in the place of all rows of the plan's base that a filter lets pass.

        The other rows of segments that hold both are copied into new ones.

        Args:
            plan: made by ``plan_write``.
            records: what was written by it; whether its rows pass is not looked at.
            filters: tuples as for ``scan``, or an ``Unbound``, of columns of the base.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the newest one if nothing is removed or added.
        """
        assert plan.base is not None
        state = self.at(plan.base.version)
        bound = bind_filters(filters, state.schema)
        if state.schema.is_keyed:
            return self._upsert_where(plan, records, filters, commit_id)
        copied = without_matches(
            self.store, state, bound, plan_now(self.store, state, self.name).spec
        )
        added = (*records, *copied.records)
        operation = Rewrite(plan.base, "overwrite", added, copied.removed, bound, plan.changes)
        return self._commit(operation, commit_id)

    def delete(self, filters: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows that a filter lets pass; those for which it is false or null stay.

        Segments without such rows are not touched; those that hold nothing else go unread; the others
        are written anew, in the schema and partitioning of now.

        Args:
            filters: as for ``scan``; None for all rows.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the current one if there are no such rows.

        Raises:
            CommitConflictError: somebody changed what this looked at; nothing was deleted.
            CorruptTableError: a segment is not what the log says.
        """
        state, bound = self.state, bind_filters(filters, self.schema)
        if state.schema.is_keyed and bound is not None:
            return self._again(lambda: self._delete_rows(bound, commit_id))
        spec = plan_now(self.store, state, self.name).spec
        found = without_matches(self.store, state, bound, spec)
        operation = Rewrite(Base.of(state), "delete", found.records, found.removed, bound)
        return self._commit(operation, commit_id)

    def update(
        self, assignments: Mapping[str, Any], filters: Any = None, *, commit_id: str | None = None
    ) -> int:
        """Give some columns new values in the rows that a filter lets pass.

        Segments without such rows are not touched; the others are written anew, in the schema and
        partitioning of now.

        Args:
            assignments: ``{"col": value}``, or ``{"a.b": value}`` for a field of a struct (a null struct
                stays null). A value is Python's, or a ``pyarrow.compute`` expression over the top-level
                columns of the row: ``{"n": pc.field("n") + 1}``. All of them see the row as it was.
            filters: as for ``scan``; None for all rows.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the current one if there are no such rows.

        Raises:
            NotFoundError: a column is not there.
            InvalidRequestError: a value does not fit its column; nothing was changed.
            CommitConflictError: somebody changed what this looked at; nothing was changed.
            CorruptTableError: a segment is not what the log says.
        """
        state, bound = self.state, bind_filters(filters, self.schema)
        updater = Updater(assignments, state.schema, self.name)
        if state.schema.is_keyed:
            check_assigns_no_key(assignments, state.schema, self.name)
            return self._again(lambda: self._update_rows(updater, bound, commit_id))
        spec = plan_now(self.store, state, self.name).spec
        found = with_updates(self.store, state, bound, spec, updater)
        operation = Rewrite(Base.of(state), "update", found.records, found.removed, bound)
        return self._commit(operation, commit_id)

    # Of tables with a primary key

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
        state = self.at(plan.base.version)
        return self._commit_delta(plan, records, kind, bind_filters(reads, state.schema), commit_id)

    def _commit_delta(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        kind: str,
        bound: Bound | None,
        commit_id: str | None,
    ) -> int:
        assert plan.base is not None
        state = self.at(plan.base.version)
        written = tuple(sorted(records, key=lambda record: not record.delta.deletes_only))
        check = key_check(self.store, state, plan.spec.schema, written)
        operation = Rewrite(plan.base, kind, written, (), bound, plan.changes, check)
        return self._commit(operation, commit_id)

    def _again(self, attempt: Callable[[], int]) -> int:
        """Do what reads rows and writes them again for as long as others write the same keys."""
        schema = self.schema
        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return attempt()
            except KeyConflictError:
                self.refresh()
                if self.schema != schema:
                    raise  # names may mean other columns now
        return attempt()

    def _delete_rows(self, bound: Bound, commit_id: str | None) -> int:
        plan = plan_delta(self.store, self.state, self.name)
        records = delete_rows(self.store, self.state, bound, plan.spec)
        return self._commit_delta(plan, records, "delete", bound, commit_id)

    def _update_rows(self, updater: Updater, bound: Bound | None, commit_id: str | None) -> int:
        plan = plan_now(self.store, self.state, self.name)
        records = update_rows(self.store, self.state, bound, plan.spec, updater)
        return self._commit_delta(plan, records, "update", bound, commit_id)

    def _upsert_where(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        filters: Any,
        commit_id: str | None,
    ) -> int:
        """Delete the rows that a filter means, and upsert others, in one commit."""
        assert plan.base is not None
        base = plan.base
        shown = self.as_of(base.version)

        def attempt() -> int:
            deletes = plan_delta(shown.store, shown.state, shown.name)
            bound = bind_filters(filters, shown.schema)
            gone = delete_rows(shown.store, shown.state, bound, deletes.spec)
            check = key_check(shown.store, shown.state, shown.schema, gone)
            added = (*gone, *records)
            operation = Rewrite(base, "overwrite", added, (), bound, plan.changes, check)
            return self._commit(operation, commit_id)

        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return attempt()
            except KeyConflictError:
                shown = self.refresh()
                if shown.schema != base.schema:
                    raise
        return attempt()
