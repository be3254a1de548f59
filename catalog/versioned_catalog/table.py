"""A table: read it, write to it, alter it, look into its past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import Alteration
from versioned_catalog.compacted import CompactedTable
from versioned_catalog.conflicts.operations import Alter, Append, Base, Drop, Overwrite
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.bind import plan_changes
from versioned_catalog.evolution.changes import Change, SetProperty
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.null_counts import own_nulls
from versioned_catalog.properties import check_properties
from versioned_catalog.scan.columns import bind_filters, resolve, shown_columns
from versioned_catalog.scan.scan import Scan
from versioned_catalog.types.types import Column
from versioned_catalog.write.partition_overwrite import segments_of_partitions
from versioned_catalog.write.plan import WritePlan, batches_of, check_keyed, plan_write

__all__ = ["Table", "resolve"]


@names_table_in_errors(lambda table: (table.name, table.location), "_alter")
class Table(CompactedTable):
    """One table, seen at one version: it sees its own commits at once, others' after ``refresh()``.

    Made by ``Catalog``.
    """

    # Reading

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        version: int | str | None = None,
        timestamp: datetime | str | None = None,
        *,
        prune: bool = True,
        limit: int | None = None,
    ) -> Scan:
        """A scan of one snapshot; it stays what it is, whatever is committed later.

        Args:
            columns: names of top-level columns, implicit ones too (``_segment``,
                ``_schema_version``, ``_row_position``, ``_sequence``, ``_commit_time``); None for
                the table's own.
            filters: tuples as in ``pyarrow.parquet.read_table``: a list of them is an AND, a list of
                lists an OR of ANDs; with Spark's semantics.
            version: read the table as of this version, or tag, with the schema of then.
            timestamp: or as of this time (without offset: UTC).
            prune: False reads all segments; the answer is the same.
            limit: show at most so many rows; which ones is not promised.

        Raises:
            NotFoundError: a column, or the version, is not there.
            InvalidRequestError: the filters or the limit make no sense.
        """
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 0
        ):
            raise InvalidRequestError(f"{limit!r} is no limit, which is a number of rows")
        state = self.at(version, timestamp)
        shown = state.schema.columns if columns is None else shown_columns(state.schema, columns)
        bound = bind_filters(filters, state.schema)
        return Scan(self.store, state, shown, bound, prune=prune, limit=limit)

    def count(self) -> int:
        """How many rows there are: from metadata, where no segments have to be merged."""
        if not self.schema.row_key:
            return self.state.segments.rows
        return self.scan(columns=[]).count()

    # Writing

    def append(self, data: Any, *, merge_schema: bool = False) -> int:
        """Add rows.

        Columns are bound by name to the schema of now; one that is left out takes its default.

        Args:
            data: a pyarrow Table, RecordBatch or RecordBatchReader.
            merge_schema: add the columns and nested fields that the table does not have, and widen
                types to those of the rows, in the same commit.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: the rows do not fit the table; nothing is written.
            CommitConflictError: they do not fit what the table has become meanwhile.
            CommitOutcomeUnknown: the store did not say whether the commit landed.
        """
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_append(plan, records)

    def upsert(self, data: Any, *, partial: bool = False, merge_schema: bool = False) -> int:
        """Put rows in the place of those with the same row key, or add them where there is none.

        It reads nothing, and never conflicts with other upserts: the last commit wins; of several rows
        of one key in ``data``, the last one.

        Args:
            data, merge_schema: as for ``append``, which does the same to a table with a primary key.
            partial: columns that are left out keep their value; where there is no row, they take their
                defaults of now.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: the table has no primary key, or the rows do not fit it.
            CommitConflictError: they do not fit what the table has become meanwhile.
            CommitOutcomeUnknown: the store did not say whether the commit landed.
        """
        check_keyed(self.schema, self.name)
        plan, records = self._write(data, merge_schema=merge_schema, partial=partial)
        return self.commit_append(plan, records)

    def overwrite(self, data: Any, *, merge_schema: bool = False) -> int:
        """Put rows in the place of all that this table shows; schema, IDs and history stay.

        Arguments, result and errors are those of ``append``.
        """
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_overwrite(plan, records)

    def overwrite_partitions(self, data: Any, *, merge_schema: bool = False) -> int:
        """Put rows in the place of all those that are in the same partitions as one of them.

        Arguments, result and errors are those of ``append``, and:

        Raises:
            InvalidRequestError: a segment from before ``set_partitioning`` may hold rows of such a
                partition beside others.
        """
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_overwrite_partitions(plan, records)

    def overwrite_where(self, data: Any, filters: Any, *, merge_schema: bool = False) -> int:
        """Put rows in the place of all those that a filter lets pass.

        Args:
            data, merge_schema: as for ``append``.
            filters: as for ``scan``; whether the new rows pass is not looked at. Rows for which it is
                false or null stay; where segments hold both, they are copied.

        Result and errors are those of ``append``; without anything to replace or to write, nothing is
        committed.
        """
        bind_filters(filters, self.schema)  # refuse before anything is written
        plan, records = self._write(data, merge_schema=merge_schema)
        return self.commit_overwrite_where(plan, records, filters)

    def truncate(self, *, commit_id: str | None = None) -> int:
        """Take away all rows that this table shows; schema, IDs and history stay.

        Args:
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit.
        """
        return self._commit(Overwrite(Base.of(self.state), ()), commit_id)

    def _write(
        self, data: Any, *, merge_schema: bool, partial: bool = False
    ) -> tuple[WritePlan, list[SegmentRecord]]:
        arrow, batches = batches_of(data)
        plan = self.plan_write(arrow, merge_schema=merge_schema, partial=partial)
        return plan, plan.write(arrow, batches, self.store)

    def plan_write(
        self, arrow: pa.Schema, *, merge_schema: bool = False, partial: bool = False
    ) -> WritePlan:
        """Plan a write that is carried out elsewhere, and committed by ``commit_append``.

        Args:
            arrow: the schema of what will be written.
            merge_schema, partial: as for ``upsert``.
        """
        how = {"merge_schema": merge_schema, "partial": partial}
        return plan_write(self.store, self.state, self.name, arrow, **how)

    def commit_append(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Commit segments that were written by a plan. See ``append``."""
        assert plan.base is not None
        done = self._commit(Append(plan.base, tuple(records), plan.changes, batch), commit_id)
        self.compact_if_due()
        return done

    def commit_overwrite(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        own_rows: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Commit segments that replace all those of the plan's base. See ``overwrite``.

        Args:
            plan, records: what was written, and how.
            own_rows: whether it was made of rows of the base. Then it conflicts with what changed these
                rows meanwhile, as a MERGE does.
            commit_id: who the commit is, where that is decided already.
        """
        assert plan.base is not None
        if own_rows:
            removed = tuple(self._planned_on(plan).segments.paths)
            return self._commit_own_rows(plan, records, removed, commit_id)
        return self._commit(Overwrite(plan.base, tuple(records), plan.changes), commit_id)

    def commit_overwrite_partitions(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        *,
        own_rows: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Commit segments that replace those of the plan's base that are in the same partitions.

        Of an unpartitioned table all rows are in one. See ``overwrite_partitions``, and
        ``commit_overwrite`` for the arguments.
        """
        assert plan.base is not None
        state, keys = self._planned_on(plan), {record.partition for record in records}
        removed = segments_of_partitions(state, plan.spec.schema, keys, self.name)
        if own_rows:
            return self._commit_own_rows(plan, records, removed, commit_id)
        operation = Overwrite(plan.base, tuple(records), plan.changes, removed)
        return self._commit(operation, commit_id)

    def alter(self) -> Alteration:
        """Begin changing the schema or properties: chain changes, then ``commit()``."""
        return Alteration(self._alter, (self.name, self.location))

    def _alter(self, changes: tuple[Change, ...], commit_id: str | None) -> int:
        if not changes:
            raise InvalidRequestError("there is nothing to commit: chain changes before commit()")
        state = self.state
        for change in changes:
            if isinstance(change, SetProperty):
                check_properties({change.key: change.value})  # refuse what no write could obey
        bound, _ = plan_changes(changes, state.evolution, state.schemas.newest.version + 1)
        return self._commit(Alter(Base.of(state), bound, self._count_nulls), commit_id)

    def _count_nulls(self, state: TableState, column: Column) -> int:
        """How often a column is null of itself, by reading it."""
        above = state.schema.ancestors(column.id)
        top = above[0] if above else column
        total = 0
        for batch in Scan(self.store, state, (top,)).to_batches():
            total += own_nulls(batch.column(0), (*above, column))
        return total

    def drop(self) -> int:
        """End the table. Its log stays; ``Catalog.drop_table`` also frees the name."""
        return self._commit(Drop(Base.of(self.state)))
