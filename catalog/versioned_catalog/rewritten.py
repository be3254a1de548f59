"""Changing rows that are there, by copy on write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from versioned_catalog.conflicts.operations import Base, Rewrite
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.keyed import KeyedTable
from versioned_catalog.log.entry import REWRITES
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.write.copy_on_write import (
    touched,
    whole_segments,
    with_updates,
    without_matches,
)
from versioned_catalog.write.key_check import key_check
from versioned_catalog.write.keyed_changes import check_assigns_no_key
from versioned_catalog.write.plan import WritePlan, plan_now
from versioned_catalog.write.update import Updater


class RewrittenTable(KeyedTable):
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
        state = self._planned_on(plan)
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
        own_rows: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Commit segments in the place of all rows of the plan's base that a filter lets pass.

        The other rows of segments that hold both are copied into new ones.

        Args:
            plan: made by ``plan_write``.
            records: what was written by it; whether its rows pass is not looked at.
            filters: tuples as for ``scan``, or an ``Unbound``, of columns of the base.
            own_rows: whether the segments were made of rows of the base, any of them.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the newest one if nothing is removed or added.
        """
        assert plan.base is not None
        state = self._planned_on(plan)
        bound = bind_filters(filters, state.schema)
        if state.schema.is_keyed:
            return self._upsert_where(plan, records, filters, own_rows, commit_id)
        copied = without_matches(
            self.store, state, bound, plan_now(self.store, state, self.name).spec
        )
        added = (*records, *copied.records)
        reads = None if own_rows else bound
        operation = Rewrite(plan.base, "overwrite", added, copied.removed, reads, plan.changes)
        return self._commit(operation, commit_id)

    def _commit_own_rows(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        removed: tuple[str, ...],
        commit_id: str | None,
    ) -> int:
        """Commit segments in the place of others, made of rows of the base, any of them."""
        assert plan.base is not None
        state, keyed = self._planned_on(plan), plan.spec.schema.is_keyed
        check = key_check(self.store, state, plan.spec.schema, records) if keyed else None
        operation = Rewrite(
            plan.base, "overwrite", tuple(records), removed, None, plan.changes, check
        )
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
            return self._again(lambda _: self._delete_rows(bound, commit_id))
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
                stays null). A value is Python's; or computed of the row by SQL,
                ``{"n": expr("n + 1")}``, or by a ``pyarrow.compute`` expression over the top-level
                columns, ``{"n": pc.field("n") + 1}``. All of them see the row as it was.
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
            return self._again(lambda _: self._update_rows(updater, bound, commit_id))
        spec = plan_now(self.store, state, self.name).spec
        found = with_updates(self.store, state, bound, spec, updater)
        operation = Rewrite(Base.of(state), "update", found.records, found.removed, bound)
        return self._commit(operation, commit_id)
