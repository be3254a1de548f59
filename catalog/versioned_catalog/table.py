"""A table: read it, write to it, alter it, look into its past."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from versioned_catalog import alteration
from versioned_catalog.alteration import Alteration, Retired
from versioned_catalog.commit import branches, tags
from versioned_catalog.commit.operations import Base, Drop, Overwrite, Tag
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import names_table_in_errors
from versioned_catalog.interop import interop
from versioned_catalog.log.branches import Branch
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.differences import Difference, differences
from versioned_catalog.maintain.inspection import Inspection
from versioned_catalog.maintain.maintenance import Maintenance
from versioned_catalog.maintain.sync_identity import sync_identity
from versioned_catalog.migrate.schema_plan import SchemaPlan, apply_plan, check_plan, make_plan
from versioned_catalog.model.alter_parser import parse_alter
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.ddl import SOURCE
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.iceberg import PUBLISH, PUBLISH_CATALOG
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import check_name, is_folder, parse_table, sql_name
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column
from versioned_catalog.model.value_clauses import Identity
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.progress import Reporting, reporting
from versioned_catalog.read.checks import parse_check
from versioned_catalog.read.metadata_columns import CHANGE_TYPE
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.storage.store import Store
from versioned_catalog.stream import consumers
from versioned_catalog.stream.change_feed import (
    Changes,
    changes_between,
    columns_between,
    table_changes,
)
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.offsets import Settings
from versioned_catalog.stream.row_stream import TableStream
from versioned_catalog.stream.sink import TableSink
from versioned_catalog.transaction import Transaction
from versioned_catalog.write import row_level
from versioned_catalog.write.auto_maintain import then_maintains
from versioned_catalog.write.external import ExternalFile
from versioned_catalog.write.plan import WritePlan, check_keyed, rows_of
from versioned_catalog.write.retry import BatchLike, batch_of, once

if TYPE_CHECKING:
    from versioned_interop.convert.convert import Synced
    from versioned_interop.convert.origin import Origin
    from versioned_interop.export.export import Exported
    from versioned_interop.imports.import_files import Imported


_SHOWN = 20
"""How many columns a table's ``repr`` names."""


def _publish(handle: TableHandle) -> None:
    """Publish a commit if a property asks for it, or withdraw what a replaced table published."""
    state = handle.loaded.state
    if state is None:
        return
    if (
        state.dropped
        and PUBLISH not in state.properties
        and PUBLISH_CATALOG not in state.properties
    ):
        return
    if PUBLISH in state.properties or state.dropped or 0 < state.version == state.created_version:
        interop("publish_if_asked")(handle)


@names_table_in_errors(lambda table: table._handle.error_names)
class Table:
    """One table, at the newest version it has seen.

    From a ``Catalog``. It sees its own commits at once, and those of others after ``refresh()``.

    Methods that write return the version of their commit; the current version if they change nothing.
    ``commit_id`` is the idempotency key of the commit, generated if omitted. They raise:

    - ``InvalidRequestError``: the request does not fit the table; nothing is written.
    - ``CommitConflictError``: another commit conflicts with it; nothing is changed.
    - ``CommitOutcomeUnknown``: the store did not say whether the commit landed; see ``find_commit``.

    >>> table = catalog.create_table("cities", "name STRING, people BIGINT")
    >>> table.append(pa.table({"name": ["Rome", "Oslo"], "people": [2_800_000, 700_000]}))
    1
    >>> table.alter().add_column("country", "STRING", default="unknown").commit()
    2
    >>> table.update({"country": "Norway"}, [("name", "=", "Oslo")])
    3
    >>> table.scan(["name", "country"]).to_arrow().to_pylist()
    [{'name': 'Rome', 'country': 'unknown'}, {'name': 'Oslo', 'country': 'Norway'}]
    >>> table.scan(version=1).schema.names
    ['name', 'people']
    """

    def __init__(self, log: TableLog, loaded: LoadedState[TableState], name: str) -> None:
        self._handle = TableHandle(log, loaded, name, after_commit=_publish)

    @classmethod
    def _of(cls, handle: TableHandle) -> Self:
        table = cls(handle.log, handle.loaded, handle.name)
        table._handle = handle
        return table

    def __repr__(self) -> str:
        state = self.loaded.state
        if state is None or state.dropped:
            return f"Table({self.name!r}, dropped)"
        shown = self.schema.names
        names, more = ", ".join(shown[:_SHOWN]), len(shown) - _SHOWN
        columns = names + (f", and {more} more" if more > 0 else "")
        return f"Table({self.name!r}, version={self.version}, columns: {columns})"

    def _repr_html_(self) -> str:
        """The columns through the schema versions, for notebooks."""
        html: str = interop("table_html")(self._handle)
        return html

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
        """Scan one snapshot; later commits do not change the scan.

        Args:
            columns: names of columns and metadata columns (``_segment``, ``_schema_version``,
                ``_row_position``, ``_sequence``, ``_commit_time``); None for all columns of the table.
                Paths such as ``s.b``, ``l.element.b`` and ``m.value.b`` read only these fields: the
                column ``s`` is a struct of ``b`` alone. Backticks quote a name with a dot.
            filters: tuples as in ``pyarrow.parquet.read_table``, with Spark's semantics: a list of
                tuples is an AND, a list of lists an OR of ANDs. ``("shape", "intersects", (xmin, ymin,
                xmax, ymax))`` selects shapes whose box has a point in common with another box.
            version: read this version, or tag, in the schema it had.
            timestamp: read the version of this time (UTC if it has no offset).
            prune: False reads all segments; the result is the same.
            limit: the most rows to return; which ones is not defined.

        Raises:
            NotFoundError: there is no such column or version.
            InvalidRequestError: the filters or the limit are malformed.
        """
        return self.snapshot(version, timestamp).scan(columns, filters, prune=prune, limit=limit)

    def snapshot(
        self, version: int | str | None = None, timestamp: datetime | str | None = None
    ) -> Snapshot:
        """Return one version of the table. Arguments and errors are those of ``at``."""
        return Snapshot(self._handle.store, self.at(version, timestamp), self._handle.name)

    def count(self) -> int:
        """Count the rows: from metadata alone where no segments have to be merged."""
        return self.snapshot().count()

    def to_pandas(self, **options: Any) -> Any:
        """Read all rows to a pandas DataFrame; options are those of ``pyarrow.Table.to_pandas``."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> Any:
        """A Polars LazyFrame of this version. See ``Scan.to_polars``."""
        return self.scan().to_polars()

    def to_duckdb(self, connection: Any = None) -> Any:
        """A DuckDB relation of this version. See ``Scan.to_duckdb``."""
        return self.scan().to_duckdb(connection)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export all rows as an Arrow stream, in bounded memory: see Arrow's PyCapsule interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    # Writing

    @spanned("versioned.append")
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
        return self._write_once(data, Transaction.commit_append, batch, merge_schema=merge_schema)

    @spanned("versioned.upsert")
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
        options = {"merge_schema": merge_schema, "partial": partial}
        return self._write_once(data, Transaction.commit_append, batch, **options)

    @spanned("versioned.overwrite")
    def overwrite(
        self, data: Any, *, merge_schema: bool | None = None, batch: BatchLike | None = None
    ) -> int:
        """Replace all rows that this table shows. Arguments are those of ``append``."""
        return self._write_once(
            data, Transaction.commit_overwrite, batch, merge_schema=merge_schema
        )

    @spanned("versioned.overwrite_partitions")
    def overwrite_partitions(self, data: Any, *, merge_schema: bool | None = None) -> int:
        """Replace the partitions that the new rows are in. Arguments are those of ``append``.

        Raises:
            InvalidRequestError: a segment written under another partitioning may hold rows of such a
                partition and others.
        """
        plan, records = self._write(data, merge_schema)
        return self.transaction().commit_overwrite_partitions(plan, records)

    @spanned("versioned.overwrite_where")
    def overwrite_where(self, data: Any, filters: Any, *, merge_schema: bool | None = None) -> int:
        """Replace the rows that match a filter; rows for which it is false or null stay.

        Args:
            data, merge_schema: as for ``append``; the rows need not match the filter.
            filters: as for ``scan``.
        """
        state = self._handle.state
        bind_filters(filters, state.known, state)  # refuse before anything is written
        plan, records = self._write(data, merge_schema)
        return self.transaction().commit_overwrite_where(plan, records, filters)

    @spanned("versioned.update")
    @then_maintains
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

    @spanned("versioned.delete")
    @then_maintains
    def delete(self, filters: Any, *, commit_id: str | None = None) -> int:
        """Delete the rows that match a filter; rows for which it is false or null stay.

        Segments without matching rows stay; segments that match as a whole are removed unread; in the
        others, the rows are marked, or the other rows are copied in the current schema and partitioning,
        as the property ``row_changes`` says.

        Args:
            filters: as for ``scan``; None for all rows.
        """
        return row_level.delete(self._handle, filters, commit_id)

    @spanned("versioned.delete_keys")
    @then_maintains
    def delete_keys(self, keys: Any, *, commit_id: str | None = None) -> int:
        """Delete rows by row key. Reads nothing and never conflicts with upserts: the last commit wins.

        Args:
            keys: a pyarrow Table, RecordBatch or RecordBatchReader of the row key columns.
        """
        return row_level.delete_keys(self._handle, keys, commit_id)

    @spanned("versioned.truncate")
    def truncate(self, *, commit_id: str | None = None) -> int:
        """Remove all rows that this table shows; schema, column IDs and history stay."""
        return self._handle.commit(Overwrite(Base.of(self._handle.state), ()), commit_id)

    @spanned("versioned.apply_changes")
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

        def commit(
            to: Transaction, plan: WritePlan, records: list[SegmentRecord], batch: Batch | None
        ) -> int:
            if not (records or plan.changes):
                return self._handle.state.version
            return to.commit_append(plan, records, batch=batch)

        options = {"merge_schema": merge_schema, "change_column": change_column}
        return self._write_once(changes, commit, batch, **options)

    def transaction(self) -> Transaction:
        """Return a transaction, for writes that are planned, executed and committed separately."""
        return Transaction(self._handle)

    def sink(self, application: str, *, schema_version: int | None = None) -> TableSink:
        """Return the target of a stream of batches, each of which is written once.

        Args:
            application: a name that no other stream into this table has.
            schema_version: the schema version whose names the rows use; the current one if omitted.

        Raises:
            NotFoundError: there is no such schema version.
        """
        return TableSink(self._handle, application, schema_version)

    @spanned("versioned.drop")
    def drop(self) -> int:
        """Drop the table; its log stays, and its name is not freed: see ``Catalog.drop_table``.

        ``Catalog.undrop_path`` brings it back.
        """
        return self._handle.commit(Drop(Base.of(self._handle.state)))

    def _write_once(
        self,
        data: Any,
        commit: Callable[..., int],
        batch: BatchLike | None = None,
        **options: Any,
    ) -> int:
        """Plan a write with ``options``, write the segments, and commit them; a batch only once."""
        number = batch_of(batch, self._handle.name)

        def write() -> int:
            plan, records = self._write(data, **options)
            return commit(self.transaction(), plan, records, batch=number)

        return once(self._handle, number, write)

    def _write(
        self, data: Any, merge_schema: bool | None = None, **options: Any
    ) -> tuple[WritePlan, list[SegmentRecord]]:
        arrow, batches = rows_of(data, self.state)
        plan = self.transaction().plan_write(arrow, merge_schema=merge_schema, **options)
        return plan, plan.write(arrow, batches, self._handle.store)

    # Schema

    @property
    def schema(self) -> Schema:
        """The current schema; the one that the table is seen in (see ``seen_as``)."""
        return self.state.seen.schema

    def alter(self) -> Alteration:
        """Start changing the schema or properties: chain changes, then ``commit()``."""
        return Alteration(self._handle)

    def alter_sql(self, sql: str) -> Alteration:
        """Parse ALTER TABLE statements to an alteration, which ``commit()`` commits as a whole.

        Args:
            sql: one or more statements, separated by semicolons, as Spark with the jar accepts them.

        Raises:
            InvalidRequestError: a statement does not parse, is not supported, or is of another table.
            NotFoundError: a column does not exist.
        """
        return self.alter().add_all(
            parse_alter(sql, self._handle.state.evolution, self._name(), condition_of=parse_check)
        )

    @spanned("versioned.evolve_to")
    def evolve_to(
        self,
        ddl: str,
        *,
        renames: Mapping[str, str] | None = None,
        allow_drop: Collection[str] = (),
        dry_run: bool = False,
        commit_id: str | None = None,
    ) -> SchemaPlan:
        """Alter the table to match a CREATE TABLE statement, in one commit.

        Columns are matched by the ID in a comment (``-- id 2``, see ``ddl``), then by ``renames`` or a
        comment ``-- was host``, then by name. A line ``-- table UUID`` before CREATE says of which
        table the IDs are: those of other tables are ignored, and without such a line none renames a
        column. A dropped and an added column that could be a rename are refused; ``-- new`` says that a
        column is new although another one of its name is dropped.

        Args:
            ddl: the statement.
            renames: new names by current paths: ``{"place.lat": "latitude"}``.
            allow_drop: paths of columns that may be dropped with their values; ``ttl = 7 days`` to let
                that property hide rows.
            dry_run: only return the plan.
            commit_id: idempotency key of the commit; generated if omitted.

        Returns:
            The plan; ``committed`` is the version of its commit.

        Raises:
            InvalidRequestError: the table can't be altered so, a rename is ambiguous, or a drop is not
                allowed; nothing is changed.
            CommitConflictError: the schema was changed by another commit.
        """
        target = parse_table(ddl, self._handle.state.table_uuid)
        check_name(target.name, self._name())
        table = render_path(sql_name(self._handle.name))
        plan = make_plan(self._handle.state, table, target, ddl, renames, allow_drop)
        if not dry_run:
            return apply_plan(self._handle, plan, commit_id)
        check_plan(self._handle, plan)
        return plan

    def ddl(self, ids: bool = False, *, name: str | None = None) -> str:
        """The CREATE TABLE statement of the table. See ``Snapshot.ddl``."""
        return Snapshot(self._handle.store, self._handle.state, self._handle.name).ddl(
            ids, name=name
        )

    def pin_schema(
        self,
        label: str,
        schema_version: int | None = None,
        *,
        owner: str | None = None,
        until: datetime | str | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Declare that a job uses a schema version: dropped columns stay, hidden, until it is retired.

        Args:
            label: the name of the pin, which the job names; an existing pin keeps omitted arguments.
            schema_version: the current one by default. An existing pin that is moved to a later one
                lets go of the hidden columns that only it needed.
            owner: who to ask about the job.
            until: when the job will have moved on; informational only.

        Raises:
            NotFoundError: there is no such schema version.
            InvalidRequestError: a column of it was dropped for good.
        """
        return alteration.pin_schema(self._handle, label, schema_version, owner, until, commit_id)

    def retire_schema(
        self, label: str, *, dry_run: bool = False, commit_id: str | None = None
    ) -> Retired:
        """Remove a pin, and drop the hidden columns that no other pin needs.

        Args:
            dry_run: only report what would be dropped.

        Raises:
            NotFoundError: there is no such pin.
        """
        return alteration.retire_schema(self._handle, label, dry_run, commit_id)

    def seen_as(self, schema: str | int, *, overflow: str = "error") -> Self:
        """Return the table in an earlier schema: its current rows, matched by column ID.

        Reads show the columns of that schema, with their names, positions and types. Writes take these
        names; columns added since take their write default in new rows, and keep their values in others.
        The schema can't be changed through it.

        Args:
            schema: label of a pin (see ``pin_schema``), or a schema version.
            overflow: ``error`` or ``null``: the result for a value that does not fit its earlier type.

        Raises:
            NotFoundError: there is no such pin or schema version.
            InvalidRequestError: a column of that schema was dropped for good.
        """
        return self._of(self._handle.seen_as(schema, overflow))

    def _name(self) -> ColumnPath | None:
        name = self._handle.name
        return None if is_folder(name) else sql_name(name)

    # Versions

    @property
    def version(self) -> int:
        """The newest commit version that this table has seen."""
        return self.state.version

    def refresh(self) -> Self:
        """Load the commits of others, and return the table itself."""
        self._handle.refresh()
        return self

    def as_of(self, version: int | str) -> Self:
        """Return the table as it was at a version or tag: to inspect it, or to plan a commit on it."""
        return self._of(self._handle.pinned(version))

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

    def version_of(self, version: int | str) -> int:
        """Return a version, or the version that a tag names; it need not exist.

        Raises:
            NotFoundError: there is no such tag.
        """
        return self._handle.version_of(version)

    def version_at(self, timestamp: datetime | str) -> int:
        """Return the last version committed at or before a time.

        Raises:
            NotFoundError: the table did not exist yet.
        """
        return self._handle.version_at(timestamp)

    def find_commit(self, commit_id: str, since: int = -1) -> int | None:
        """Return the version of a commit, None if it has not landed; for ``CommitOutcomeUnknown``.

        Args:
            commit_id: idempotency key of the commit.
            since: a version before it; the log is read from there.
        """
        return self._handle.find_commit(commit_id, since)

    @property
    def tags(self) -> dict[str, int]:
        """Versions by the names that ``set_tag`` gave them."""
        return self.snapshot().tags

    def set_tag(
        self,
        name: str,
        version: int | None = None,
        *,
        keep: timedelta | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Name a version, for time travel by name; a tag can be moved to another version.

        Args:
            name: not empty, without control characters, and of a form that reads neither as a version
                nor as a time; not ``latest``, ``earliest`` or ``main``.
            version: the version to name; None for the one that this table shows.
            keep: how long after the commit of that version ``expire`` drops the tag, in whole seconds;
                None keeps it until it is dropped.

        Raises:
            NotFoundError: there is no such version.
            InvalidRequestError: the name is not possible, or the version is older than ``keep``.
        """
        return tags.set_tag(self._handle, name, version, keep, commit_id)

    def drop_tag(self, name: str, *, commit_id: str | None = None) -> int:
        """Remove a tag.

        Raises:
            NotFoundError: there is no such tag.
        """
        return self._handle.commit(Tag(Base.of(self._handle.state), name, None), commit_id)

    # Branches

    @property
    def branches(self) -> dict[str, Branch]:
        """The branches by name, as of the version that this table shows."""
        return dict(self.state.branches)

    def branch(self, name: str) -> Self:
        """Return a branch, at its newest version: a table with rows and a schema of its own.

        It is read, written and altered like any table; the table itself does not change. Its versions
        follow the one that it began at. Tags, schema pins, imports, compaction and rollback are for the
        table alone.

        Raises:
            NotFoundError: there is no such branch.
        """
        return self._of(self._handle.branch(name))

    def create_branch(
        self,
        name: str,
        version: int | str | None = None,
        *,
        keep: timedelta | None = None,
        replace: bool = False,
        commit_id: str | None = None,
    ) -> int:
        """Begin a branch, and return the version of the commit; no data is copied.

        Args:
            name: as for a tag; neither a tag nor a branch has it.
            version: the version, or tag, that it begins at; None for the one that this table shows.
            keep: how long after its last commit ``expire`` drops it, in whole seconds; None for never.
            replace: let a branch of that name begin anew, without what was not merged.

        Raises:
            AlreadyExistsError: there is a branch or tag of that name.
            NotFoundError: there is no such version.
        """
        return branches.create(self._handle, name, version, keep, replace, commit_id)

    def drop_branch(self, name: str, *, commit_id: str | None = None) -> int:
        """Drop a branch, with what was not merged, and return the version of the commit.

        Raises:
            NotFoundError: there is no such branch.
        """
        return branches.drop(self._handle, name, commit_id)

    def merge_branch(
        self,
        name: str,
        *,
        fast_forward: bool = False,
        keep: timedelta | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Take over what a branch has changed since it began or was merged last, in one commit.

        Columns are united by their IDs: what one side has added, renamed, widened, moved or dropped is
        kept, and what both have changed to different things is refused. Rows that the branch added are
        added, and rows that it deleted or updated are deleted or updated. The branch stays, and can be
        written and merged again.

        Args:
            fast_forward: refuse if the table has changed meanwhile.
            keep: how long after its last commit expiry drops the branch from now on; by default as
                ``create_branch`` said.

        Returns:
            The version of the commit; the current one if the branch has changed nothing.

        Raises:
            NotFoundError: there is no such branch.
            CommitConflictError: both sides have changed the same column, property or rows.
        """
        return branches.merge(self._handle, name, fast_forward, keep, commit_id)

    @spanned("versioned.rollback")
    def rollback(
        self,
        version: int | None = None,
        *,
        timestamp: datetime | str | None = None,
        tag: str | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Restore the rows, columns (with their IDs), properties and comment of a version.

        The property ``publish`` stays as it is, so that other engines see the restored rows.
        A rollback is a commit of its own, which can be rolled back too. Column IDs are never used
        again; tags stay. See ``differences`` for what it takes back beside rows.

        A version before the table was replaced, or dropped and created again, brings back the table of
        then: its UUID, columns, key and pins. Writes that were planned on the table of now are
        refused, and streams end, as after a replacement.

        Args:
            version, timestamp, tag: the version to restore; exactly one of them.

        Raises:
            NotFoundError: there is no such version or tag.
            InvalidRequestError: not exactly one of the three is given, or the table was replaced since
                and a branch, or a pin that must not break, would be lost.
            CommitConflictError: another commit landed that this table has not seen.
        """
        return alteration.roll_back(self._handle, version, timestamp, tag, commit_id)

    def differences(self, start: int | str, end: int | str | None = None) -> tuple[Difference, ...]:
        """What differs between two versions beside rows: columns, keys, properties, pins and more.

        ``differences(version, earlier)`` says before a rollback what it would take back, and
        ``differences(version - 1, version)`` what the commit of a version has changed.

        Args:
            start, end: versions or tags; by default, the second is the newest version.

        Raises:
            NotFoundError: there is no such version.
        """
        before, after = self._handle.at(start), self._handle.at(end)
        return differences(before, after)

    # Changes and streams

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
        key or row IDs have updates; in others, an updated row is a ``delete`` and an ``insert``.

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

    def changes_between(self, start: int, end: int, request: Request) -> Changes:
        """Return the changes of a range of versions; none if ``start`` is one above ``end``.

        Raises:
            NotFoundError: there is no such column or version, or an entry that is needed is expired.
            InvalidRequestError: the range or the request is malformed.
        """
        return changes_between(self._handle, start, end, request)

    def columns_of_changes(self, start: int, end: int) -> tuple[Column, ...]:
        """Return the columns of the table in the changes of a range, without those of the feed.

        Raises:
            NotFoundError: an entry that is needed is expired.
            InvalidRequestError: the range is malformed, or a column can't be shown.
        """
        return columns_between(self._handle, start, end)

    def stream(self, settings: Settings | None = None) -> TableStream:
        """Stream the current rows, then the rows added from now on.

        Raises:
            InvalidRequestError: the table has a primary key, or a setting is malformed.
        """
        return TableStream(self._handle, settings)

    def change_stream(
        self, settings: Settings | None = None, *, updates: bool = True, carryovers: bool = False
    ) -> ChangeStream:
        """Stream the current rows as inserts, then the changes from now on.

        Args:
            settings: the start of the stream, and its handling of schema changes.
            updates, carryovers: as for ``changes``.

        Raises:
            InvalidRequestError: a setting is malformed.
        """
        return ChangeStream(self._handle, settings, updates=updates, carryovers=carryovers)

    def move_consumer(
        self,
        name: str,
        version: int | None = None,
        *,
        keep: timedelta | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Record the position of a consumer, so that expiry keeps the versions it has not read.

        Expiry keeps the version and all later ones, each until ``keep`` after it was replaced; a stream
        with the option ``consumer`` does this by itself. A new consumer is created.

        Args:
            version: the last version that it has read; by default the newest.
            keep: in whole seconds; if omitted, 30 days for a new consumer, else unchanged.
            commit_id: Idempotency key of the commit; generated if omitted.

        Returns:
            The version of the commit.

        Raises:
            NotFoundError: the version is expired, or of a table that was replaced.
            InvalidRequestError: there is no such version, or an argument is invalid.
        """
        return consumers.move_consumer(self._handle, name, version, keep, commit_id)

    def drop_consumer(self, name: str, *, commit_id: str | None = None) -> int:
        """Remove a consumer, and return the version of the commit.

        Raises:
            NotFoundError: there is no such consumer.
        """
        return consumers.drop_consumer(self._handle, name, commit_id)

    # Metadata and maintenance

    @property
    def name(self) -> str:
        """The table's name, as errors show it."""
        return self._handle.name

    @name.setter
    def name(self, name: str) -> None:
        self._handle.name = name

    @property
    def location(self) -> str:
        """URL of the table's folder."""
        return self._handle.location

    @property
    def properties(self) -> dict[str, str]:
        """The table properties; the sort order and the key are among them."""
        return self.snapshot().properties

    @property
    def primary_key(self) -> list[str]:
        """Paths of the primary key columns, in key order; empty without a primary key."""
        return self.snapshot().primary_key

    @property
    def time_index(self) -> str | None:
        """Path of the time index column; None without one."""
        return self.snapshot().time_index

    @property
    def partitioning(self) -> list[str]:
        """Partition transforms of new segments, such as ``["days(ts)"]``."""
        return self.snapshot().partitioning

    @property
    def checks(self) -> dict[str, str]:
        """The conditions of the CHECK constraints by name, with the current names of columns."""
        return shown_checks(self.state.properties, self.state.schema)

    @property
    def logical_types(self) -> dict[str, str]:
        """The logical types of columns, by their paths; see ``Alteration.set_logical``."""
        return self.snapshot().logical_types

    @property
    def generated(self) -> dict[str, str]:
        """The expressions of generated columns by name, with the current names of columns."""
        schema = self.state.schema
        return {
            schema.path_text(column.column_id): column.shown(schema)
            for column in generated_of(self.state.properties)
        }

    @property
    def identity(self) -> dict[str, Identity]:
        """The identity columns by name, and how they count."""
        schema = self.state.schema
        return {
            schema.path_text(column.column_id): column.identity
            for column in identities_of(self.state.properties)
        }

    def sync_identity(self, column: str, *, commit_id: str | None = None) -> int:
        """Let an identity column go on after the last number that a row holds.

        A column that is GENERATED BY DEFAULT needs it after rows have brought numbers of their own.

        Args:
            column: the identity column.
            commit_id: idempotency key of the commit; generated if omitted.

        Returns:
            The version of the commit; the newest version if no row holds such a number.

        Raises:
            InvalidRequestError: the column does not number rows.
            NotFoundError: there is no such column.
        """
        return sync_identity(self._handle, column, commit_id)

    @property
    def comment(self) -> str | None:
        """The table comment; None without one."""
        return self.state.comment

    @property
    def inspect(self) -> Inspection:
        """History, snapshots, segments, partitions and schemas as Arrow tables."""
        return Inspection(self._handle)

    @property
    def maintenance(self) -> Maintenance:
        """Compaction, expiry, vacuum and verification."""
        return Maintenance(self._handle)

    def page(self) -> str:
        """One HTML page about the table, which loads nothing: write it to a file and open it.

        It shows the columns through the schema versions, the segments by schema, sizes, and the history.
        """
        page: str = interop("table_page")(self._handle)
        return page

    # Export

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str = "parquet",
        version: int | str | None = None,
        partition_folders: bool = True,
        progress: Reporting = False,
    ) -> Exported:
        """Copy the rows of one version into a local folder, which then needs neither table nor library.

        Rows are read and written segment by segment. If an export fails, what it wrote is deleted; if it
        is killed, the folder keeps the file ``_EXPORT_UNFINISHED``, and has to be deleted.

        Args:
            path: a new or an empty folder.
            format: ``parquet``: files with the current names and types; ``iceberg``: of version 2;
                or ``delta``, which needs the library ``deltalake``.
            version: a version or the name of a tag; the version that this table shows if omitted.
            partition_folders: for Parquet and Delta, whether rows are in folders (``day=2026-01-31``) by
                those columns of the partitioning that are integers, text or dates.
            progress: True for bars, or a function called with the step and how many rows of how many
                are done.

        Raises:
            AlreadyExistsError: the folder is not empty.
            InvalidRequestError: the format can't express a column, or has no place for a value.
            NotFoundError: there is no such version or tag.
            StorageError: the folder can't be written.
        """
        with reporting(progress) as report:
            exported: Exported = interop("export")(
                self.snapshot(version),
                path,
                format=format,
                partition_folders=partition_folders,
                progress=report,
            )
        return exported

    # Files of others

    def import_files(
        self, source: str | os.PathLike[str], *, progress: Reporting = False, **options: Any
    ) -> Imported:
        """Import files of somebody else: Parquet in place, or copied; ORC, CSV and JSON copied.

        A second call imports the files that are new, and reports those that have changed or are gone.

        Args:
            source: a folder, file or pattern (``s3://bucket/raw/**/*.parquet``, ``root:lake/raw``).
            progress: True for bars, or a function called with the step and how much of it is done.
            options: those of ``Catalog.import_files``; also ``evolve``, which lets the table get new
                columns and wider types.

        Raises:
            InvalidRequestError: files can't be read, or do not fit; the error lists them.
        """
        handle = self._handle.refresh()
        with reporting(progress) as report:
            done: Imported = interop("import_into")(handle, source, options, report)
        return done

    def import_options(self) -> dict[str, Any]:
        """The options that earlier imports gave, and that ``import_files`` uses unless it gets others.

        As its arguments, with the current names of columns; empty if nothing is kept.
        """
        kept: dict[str, Any] = interop("kept_options")(self._handle.state)
        return kept

    def append_external(
        self,
        files: Sequence[ExternalFile],
        *,
        commit_id: str | None = None,
        batch: Batch | None = None,
    ) -> int:
        """Adopt Parquet files of somebody else in place, without a copy. See ``write.external``.

        This library never deletes or changes the files, and readers notice if their owner does. Every
        reader must allow the root below which they lie (see ``Catalog``).

        Args:
            batch: application and batch number; a batch is committed at most once.

        Raises:
            AlreadyExistsError: a file is in the table already.
        """
        return self.transaction().commit_external(files, commit_id=commit_id, batch=batch)

    def remove_external(self, paths: Sequence[str], *, commit_id: str | None = None) -> int:
        """Remove segments from the table unread, such as files that their owner has deleted.

        The files themselves are not touched. Their rows are gone from this version on.

        Args:
            paths: as the metadata column ``_segment`` shows them, or of the files: ``root:<name>/...``.
        """
        return self.transaction().commit_external((), removed=paths, commit_id=commit_id)

    @property
    def source(self) -> Origin | None:
        """Where a converted table comes from, and the version followed last; None for others."""
        properties = self.state.properties
        return interop("origin_of")(properties, self.name) if SOURCE in properties else None

    def sync(
        self,
        source: Any = None,
        *,
        options: Mapping[str, str] | None = None,
        progress: Reporting = False,
    ) -> Synced:
        """Apply new commits of the source of a converted table. See ``Catalog.convert``.

        Changes of its schema are commits of their own, and those of its files are one commit. Changes
        made in this table stay. Without new commits, a sync does nothing.

        Args:
            source: the source as its library loads it, or its newest metadata file; found by its
                location if omitted.
            options: storage options of the library that reads the source's metadata.
            progress: True for bars, or a function called with the step and how much of it is done.

        Raises:
            InvalidRequestError: the table was not converted, or a column or file was changed on both
                sides.
        """
        request = interop("Request")(source, options=dict(options or {}))
        with reporting(progress) as report:
            done: Synced = interop("sync")(self._handle, request, report)
        return done

    # Log and state

    @property
    def handle(self) -> TableHandle:
        """The table's log and newest state, for the packages that work on a table."""
        return self._handle

    @property
    def state(self) -> TableState:
        """The metadata of the version that this table shows."""
        return self._handle.state

    @property
    def loaded(self) -> LoadedState[TableState]:
        """The state that was read last, and its distance from a checkpoint."""
        return self._handle.loaded

    @property
    def log(self) -> TableLog:
        """The table's log."""
        return self._handle.log

    @property
    def store(self) -> Store:
        """The store of the table's folder."""
        return self._handle.store
