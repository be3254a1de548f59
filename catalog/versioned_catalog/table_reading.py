"""The rows of a table at one version: for this library, and for other engines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from versioned_catalog import consuming
from versioned_catalog.changes.feed import Changes
from versioned_catalog.changes.of_table import changes_between, table_changes
from versioned_catalog.changes.planner import Request
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.handle import TableHandle
from versioned_catalog.interop import interop
from versioned_catalog.log.state import TableState
from versioned_catalog.scan.scan import Scan
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.streaming.changes import ChangeStream
from versioned_catalog.streaming.settings import Settings
from versioned_catalog.streaming.stream import TableStream


@names_table_in_errors(lambda table: table._handle.error_names)
class TableReading:
    """The part of ``Table`` that reads it, and hands its rows to other engines."""

    _handle: TableHandle

    def snapshot(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> Snapshot:
        """Return one version of the table. Arguments and errors are those of ``at``."""
        return Snapshot(self._handle.store, self.at(version, timestamp), self._handle.name)

    def move_consumer(
        self,
        name: str,
        version: int | None = None,
        *,
        keep: timedelta | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Say how far a consumer has read, so that expiry keeps what it has not read.

        Expiry keeps the version and all later ones, each until ``keep`` after it was replaced; a stream
        with the option ``consumer`` does this by itself. A consumer that is not there is made.

        Args:
            version: the last version that it has read; by default the newest.
            keep: at first 30 days, then as before, if omitted; whole seconds count.
            commit_id: Idempotency key of the commit; generated if omitted.

        Returns:
            The version of the commit.

        Raises:
            NotFoundError: the version is expired, or of a table that was replaced.
            InvalidRequestError: there is no such version, or an argument is not as above.
        """
        return consuming.move_consumer(self._handle, name, version, keep, commit_id)

    def drop_consumer(self, name: str, *, commit_id: str | None = None) -> int:
        """Remove a consumer, and return the version of the commit.

        Raises:
            NotFoundError: there is none of this name.
        """
        return consuming.drop_consumer(self._handle, name, commit_id)

    def at(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> TableState:
        """Return the metadata at a version or time, by default of the version that this table shows.

        Args:
            version: a version, or the name of a tag.
            timestamp: a time, as a datetime or ISO 8601 text; UTC if it has no offset.

        Raises:
            NotFoundError: the version or tag does not exist or is expired, or the table did not exist.
            InvalidRequestError: both are given, or the time cannot be parsed.
        """
        return self._handle.at(version, timestamp)

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
        """Scan one snapshot; later commits do not change the scan.

        Args:
            columns: names of top-level columns and metadata columns (``_segment``,
                ``_schema_version``, ``_row_position``, ``_sequence``, ``_commit_time``); None for all
                columns of the table.
            filters: tuples as in ``pyarrow.parquet.read_table``, with Spark's semantics: a list of
                tuples is an AND, a list of lists an OR of ANDs.
            version: read this version, or tag, in the schema it had.
            timestamp: read the version of this time (UTC if it has no offset).
            prune: False reads all segments; the result is the same.
            limit: the most rows to return; which ones is not defined.

        Raises:
            NotFoundError: there is no such column or version.
            InvalidRequestError: the filters or the limit are malformed.
        """
        return self.snapshot(version, timestamp).scan(columns, filters, prune=prune, limit=limit)

    def changes(
        self,
        start: int | str | datetime,
        end: int | str | datetime | None = None,
        *,
        net: bool = False,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        carryovers: bool = False,
        updates: bool = True,
    ) -> Changes:
        """The rows that the commits of a range of versions inserted, deleted and updated.

        They have the columns of the last version, or of the schema that the table is seen in, whatever
        the schema was at the time; then ``_change_type`` (``insert``, ``delete``, ``update_preimage``,
        ``update_postimage``), ``_commit_version`` and ``_commit_timestamp``. Only tables with a primary
        key have updates; in others, an updated row is a ``delete`` and an ``insert``.

        Args:
            start, end: the first and the last version, both included; or tags, or datetimes (UTC if they
                have no offset), which stand for the first version from then on and the last until then.
                By default, the range ends with the newest version. A range without commits, between
                two times or from the version after the newest one, has no changes.
            net: only the difference between the states before and after the range. All of these changes
                have the last version and its time.
            columns, filters: as for ``scan``; a filter applies to each row of the result.
            carryovers: also rows that were rewritten without a change.
            updates: False shows updates as a ``delete`` and an ``insert``.

        Raises:
            NotFoundError: there is no such column or version, or an entry that is needed is expired.
            InvalidRequestError: the range ends before it starts, or reaches beyond a replacement of the
                table, or an argument is malformed.
        """
        request = Request(net, carryovers, updates, columns, filters)
        return table_changes(self._handle, start, end, request)

    def version_of(self, version: int | str) -> int:
        """A version that is given as such, or as the name of a tag; it need not exist.

        Raises:
            NotFoundError: there is no such tag.
        """
        return self._handle.version_of(version)

    def version_at(self, timestamp: datetime | str) -> int:
        """The last version that was committed at a time or before.

        Raises:
            NotFoundError: the table did not exist yet.
        """
        return self._handle.version_at(timestamp)

    def changes_between(self, start: int, end: int, request: Request) -> Changes:
        """The changes of some versions, both included; none if ``start`` is one above ``end``.

        Raises:
            NotFoundError: there is no such column or version, or an entry that is needed is expired.
            InvalidRequestError: the range or the request is malformed.
        """
        return changes_between(self._handle, start, end, request)

    def stream(self, settings: Settings | None = None) -> TableStream:
        """The rows that are added to the table from now on, after a snapshot of those that are there.

        Raises:
            InvalidRequestError: the table has a primary key, or a setting is malformed.
        """
        return TableStream(self._handle, settings)

    def change_stream(
        self, settings: Settings | None = None, *, updates: bool = True, carryovers: bool = False
    ) -> ChangeStream:
        """The rows of the table as inserts, and its changes from now on.

        Args:
            settings: where it starts and how it follows the schema.
            updates, carryovers: as for ``changes``.

        Raises:
            InvalidRequestError: a setting is malformed.
        """
        return ChangeStream(self._handle, settings, updates=updates, carryovers=carryovers)

    def count(self) -> int:
        """Count the rows: from metadata alone where no segments have to be merged."""
        return self.snapshot().count()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export all rows as an Arrow stream, in bounded memory: see Arrow's PyCapsule interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """Read all rows to a pandas DataFrame; options are those of ``pyarrow.Table.to_pandas``."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> Any:
        """A Polars LazyFrame of this version. See ``Scan.to_polars``."""
        return self.scan().to_polars()

    def to_duckdb(self, connection: Any = None) -> Any:
        """A DuckDB relation of this version. See ``Scan.to_duckdb``."""
        return self.scan().to_duckdb(connection)

    def page(self) -> str:
        """One HTML page about the table, which loads nothing: write it to a file and open it.

        It shows the columns through the schema versions, the segments by schema, sizes, and the history.
        """
        page: str = interop("table_page")(self._handle)
        return page

    def _repr_html_(self) -> str:
        """The columns through the schema versions, for notebooks."""
        html: str = interop("table_html")(self._handle)
        return html
