"""Streams of rows into a table: each batch is committed once, across retries and schema changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.segment_rules import is_done
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import names_table_in_errors
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.schema import Schema
from versioned_catalog.transaction import Transaction
from versioned_catalog.write.plan import WritePlan, rows_of
from versioned_catalog.write.retry import batch_of


@names_table_in_errors(lambda sink: sink._handle.error_names)
class TableSink:
    """The target of a stream. Obtained as ``table.sink(...)``.

    Rows name their columns as the table did when the sink was made. From then on columns are matched by
    ID: a later rename of a column does not matter, a column that was added takes its write default, a
    widened one takes the narrower values, and values of a dropped one are left out.

    A batch is committed once (FORMAT.md, section 5, ``batch``): one that comes again, because its commit
    was not acknowledged, changes nothing.
    """

    def __init__(
        self, handle: TableHandle, application: str, schema_version: int | None = None
    ) -> None:
        version = handle.state.schema_version if schema_version is None else schema_version
        self._handle = handle.for_rows(version)
        self.application = application

    @property
    def name(self) -> str:
        """The table's name."""
        return self._handle.name

    @property
    def schema(self) -> Schema:
        """The columns that rows may have, by the names that they know."""
        return self._handle.state.seen.schema

    def write(self, data: Any, batch: int, *, replace: bool = False) -> int:
        """Write a batch, unless this or a later one was committed.

        Args:
            data: a pyarrow Table, RecordBatch or RecordBatchReader.
            batch: its number, which grows from batch to batch.
            replace: whether the rows replace those of the table.

        Returns:
            The version of the commit; the newest version if nothing was committed.

        Raises:
            InvalidRequestError: the rows do not fit the table.
            NotFoundError: the table was dropped or replaced.
        """
        once = batch_of(Batch(self.application, batch), self.name)
        # Uses the commit's own rule, so that rows of a committed batch are not written again.
        if once is not None and is_done(self._handle.refresh().state, once):
            return self._handle.state.version
        arrow, batches = rows_of(data, self._handle.state)
        plan = Transaction(self._handle).plan_write(arrow, merge_schema=False)
        return self.commit(plan, plan.write(arrow, batches), batch, replace=replace)

    def plan(self, arrow: pa.Schema, *, change_column: str | None = None) -> WritePlan:
        """Plan the write of a batch on the newest version.

        Args:
            change_column: as for ``Table.apply_changes``.

        Raises:
            InvalidRequestError: rows of this schema do not fit the table.
            NotFoundError: the table was dropped or replaced.
        """
        return Transaction(self._handle.refresh()).plan_write(
            arrow, merge_schema=False, change_column=change_column
        )

    def commit(
        self,
        plan: WritePlan,
        records: Sequence[SegmentRecord],
        batch: int,
        *,
        replace: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Commit the segments of a batch; see ``write``. A batch that adds no rows commits nothing.

        Args:
            commit_id: idempotency key of the commit, generated if omitted.
        """
        transaction = Transaction(self._handle)
        once = batch_of(Batch(self.application, batch), self.name)
        if not records and not replace:
            return self._handle.state.version
        commit = transaction.commit_overwrite if replace else transaction.commit_append
        return transaction.once(
            once, lambda: commit(plan, records, commit_id=commit_id, batch=once)
        )
