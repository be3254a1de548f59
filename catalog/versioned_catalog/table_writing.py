"""The writes of a table: rows, changes of rows, and files of others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from versioned_catalog import versions
from versioned_catalog.changes.columns import CHANGE_TYPE
from versioned_catalog.conflicts.operations import Base, Overwrite
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.handle import TableHandle
from versioned_catalog.interop import interop
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.progress import Progress, silent
from versioned_catalog.scan.columns import bind_filters
from versioned_catalog.sink import TableSink
from versioned_catalog.transaction import Transaction
from versioned_catalog.write import row_level
from versioned_catalog.write.batches import BatchLike, batch_of, once
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import WritePlan, batches_of, check_keyed

if TYPE_CHECKING:
    from versioned_catalog.conversion.convert import Synced
    from versioned_catalog.importing.import_files import Imported


@names_table_in_errors(lambda table: table._handle.error_names)
class TableWriting:
    """The part of ``Table`` that writes to it."""

    _handle: TableHandle

    def transaction(self) -> Transaction:
        """Return a transaction, for writes that are planned, carried out and committed apart."""
        return Transaction(self._handle)

    def sink(self, application: str, *, schema_version: int | None = None) -> TableSink:
        """Return the target of a stream of batches, each of which is written once.

        Args:
            application: a name that no other stream into this table has.
            schema_version: the one whose columns the rows name; that of now if omitted.

        Raises:
            NotFoundError: there is no such schema version.
        """
        return TableSink(self._handle, application, schema_version)

    def append(
        self, data: Any, *, merge_schema: bool | None = None, batch: BatchLike | None = None
    ) -> int:
        """Add rows. Columns are matched by name; a missing column takes its write default.

        Args:
            data: a pyarrow Table, RecordBatch or RecordBatchReader.
            merge_schema: in the same commit, add the columns and nested fields that the table does not
                have, and widen its types; None for what the property ``schema_mode`` says.
            batch: an application and the number of its batch, such as ``("billing", 7)``, so that the
                write can be repeated: if this or a later batch of the application was committed,
                nothing is written.
        """
        return self._append(data, merge_schema, batch)

    def _append(
        self, data: Any, merge_schema: bool | None, given: BatchLike | None, partial: bool = False
    ) -> int:
        batch = batch_of(given, self._handle.name)

        def write() -> int:
            plan, records = self._write(data, merge_schema, partial)
            return self.transaction().commit_append(plan, records, batch=batch)

        return once(self._handle, batch, write)

    def append_external(
        self,
        files: Sequence[ExternalFile],
        *,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Adopt Parquet files of somebody else in place, without a copy. See ``write.external``.

        The files stay their owner's: this library never deletes or changes them, and readers notice if
        their owner does. Every reader must allow the root below which they lie (see ``Catalog``).

        Args:
            batch: application and batch number; a batch is committed at most once.

        Raises:
            AlreadyExistsError: a file is in the table already.
        """
        return self.transaction().commit_external(files, commit_id=commit_id, batch=batch)

    def import_files(
        self, source: str | os.PathLike[str], *, progress: Progress = silent, **options: Any
    ) -> Imported:
        """Import files of somebody else: Parquet in place, or copied; ORC, CSV and JSON copied.

        A second call imports the files that are new, and reports those that have changed or are gone.

        Args:
            source: a folder, file or pattern (``s3://bucket/raw/**/*.parquet``, ``root:lake/raw``).
            progress: called with the step and how much of it is done.
            options: those of ``Catalog.import_files``; also ``evolve``, which lets the table get new
                columns and wider types.

        Raises:
            InvalidRequestError: files can't be read, or do not fit; the error lists them.
        """
        handle = self._handle.refresh()
        done: Imported = interop("import_into")(handle, source, options, progress)
        return done

    def remove_external(self, paths: Sequence[str], *, commit_id: str | None = None) -> int:
        """Remove segments from the table unread, such as files that their owner has deleted.

        The files themselves are not touched. Their rows are gone from this version on.

        Args:
            paths: as the metadata column ``_segment`` shows them, or of the files: ``root:<name>/...``.
        """
        return self.transaction().commit_external((), removed=paths, commit_id=commit_id)

    def sync(self, source: Any = None, *, options: Mapping[str, str] | None = None) -> Synced:
        """Follow what the source of a converted table has committed since. See ``Catalog.convert``.

        Changes of its schema are commits of their own, and those of its files are one commit. What was
        changed here stays. Twice in a row, the second sync does nothing.

        Args:
            source: the source as its library loads it, or its newest metadata file; found by its
                location if omitted.
            options: storage options of the library that reads the source's metadata.

        Raises:
            InvalidRequestError: the table was not converted, or a column or file was changed on both
                sides.
        """
        request = interop("Request")(source, options=dict(options or {}))
        done: Synced = interop("sync")(self._handle, request)
        return done

    def upsert(
        self,
        data: Any,
        *,
        partial: bool = False,
        merge_schema: bool | None = None,
        batch: BatchLike | None = None,
    ) -> int:
        """Add rows to a table with a primary key, replacing those with the same row key.

        An upsert reads nothing and never conflicts with another upsert: the last commit wins, and in
        ``data`` the last row of a key. On a table with a primary key, ``append`` does the same.

        Args:
            data, merge_schema, batch: as for ``append``.
            partial: columns missing in ``data`` keep their value; in new rows they take their default.
        """
        check_keyed(self._handle.state.seen.schema, self._handle.name)
        return self._append(data, merge_schema, batch, partial)

    def apply_changes(
        self,
        changes: Any,
        *,
        change_column: str = CHANGE_TYPE,
        merge_schema: bool | None = None,
        batch: BatchLike | None = None,
    ) -> int:
        """Apply a change feed to a table with a primary key, in one commit.

        Of several changes of a row key, the one with the greatest ``_commit_version`` counts, or the
        last one if there is no such column. Like an upsert, it reads nothing and never conflicts with
        another upsert. The columns of the feed are not written.

        Args:
            changes: a feed, as ``Table.changes`` returns it, or other Arrow data.
            change_column: the column that says what each row is: ``insert`` and ``update_postimage``
                upsert it, ``delete`` deletes its row key, and ``update_preimage`` does nothing.
            merge_schema, batch: as for ``append``.
        """
        number = batch_of(batch, self._handle.name)

        def write() -> int:
            arrow, batches = batches_of(changes)
            plan = self.transaction().plan_write(
                arrow, merge_schema=merge_schema, change_column=change_column
            )
            records = plan.write(arrow, batches, self._handle.store)
            if not (records or plan.changes):
                return self._handle.state.version
            return self.transaction().commit_append(plan, records, batch=number)

        return once(self._handle, number, write)

    def overwrite(
        self, data: Any, *, merge_schema: bool | None = None, batch: BatchLike | None = None
    ) -> int:
        """Replace all rows that this table shows. Arguments are those of ``append``."""
        number = batch_of(batch, self._handle.name)

        def write() -> int:
            plan, records = self._write(data, merge_schema)
            return self.transaction().commit_overwrite(plan, records, batch=number)

        return once(self._handle, number, write)

    def overwrite_partitions(self, data: Any, *, merge_schema: bool | None = None) -> int:
        """Replace the partitions that the new rows are in. Arguments are those of ``append``.

        Raises:
            InvalidRequestError: a segment written under another partitioning may hold rows of such a
                partition and others.
        """
        plan, records = self._write(data, merge_schema)
        return self.transaction().commit_overwrite_partitions(plan, records)

    def overwrite_where(self, data: Any, filters: Any, *, merge_schema: bool | None = None) -> int:
        """Replace the rows that match a filter; rows for which it is false or null stay.

        Args:
            data, merge_schema: as for ``append``; the rows need not match the filter.
            filters: as for ``scan``.
        """
        bind_filters(filters, self._handle.state.known)  # refuse before anything is written
        plan, records = self._write(data, merge_schema)
        return self.transaction().commit_overwrite_where(plan, records, filters)

    def truncate(self, *, commit_id: str | None = None) -> int:
        """Remove all rows that this table shows; schema, column IDs and history stay."""
        return self._handle.commit(Overwrite(Base.of(self._handle.state), ()), commit_id)

    def delete(self, filters: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows that match a filter; rows for which it is false or null stay.

        Segments without matching rows stay; segments that match as a whole are removed unread; the
        others are rewritten in the current schema and partitioning.

        Args:
            filters: as for ``scan``; None for all rows.
        """
        return row_level.delete(self._handle, filters, commit_id)

    def delete_keys(self, keys: Any, *, commit_id: str | None = None) -> int:
        """Delete rows by row key. Reads nothing and never conflicts with upserts: the last commit wins.

        Args:
            keys: a pyarrow Table, RecordBatch or RecordBatchReader of the row key columns.
        """
        return row_level.delete_keys(self._handle, keys, commit_id)

    def update(
        self, assignments: Mapping[str, Any], filters: Any = None, *, commit_id: str | None = None
    ) -> int:
        """Set columns to new values in the rows that match a filter, and return the new version.

        Args:
            assignments: the new value of each column, ``{"col": value}``, or of a field of a struct,
                ``{"a.b": value}``; a struct that is null stays null. A value is a Python value, SQL
                wrapped in ``expr`` (``expr("n + 1")``), or a ``pyarrow.compute`` expression over
                top-level columns (``pc.field("n") + 1``). Expressions read the values from before the
                update.
            filters: the rows to update, as for ``scan``; None for all rows.

        Raises:
            NotFoundError: the table has no such column.
        """
        return row_level.update(self._handle, assignments, filters, commit_id)

    def drop(self) -> int:
        """Drop the table; its log stays, and its name is not freed: see ``Catalog.drop_table``."""
        return versions.drop(self._handle)

    def _write(
        self, data: Any, merge_schema: bool | None, partial: bool = False
    ) -> tuple[WritePlan, list[SegmentRecord]]:
        arrow, batches = batches_of(data)
        plan = self.transaction().plan_write(arrow, merge_schema=merge_schema, partial=partial)
        return plan, plan.write(arrow, batches, self._handle.store)
