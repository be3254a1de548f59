"""The catalog of a warehouse: namespaces, tables and views, stored as files beside the data."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from versioned_catalog.commit.operations import Create, Replace
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
    naming_table,
)
from versioned_catalog.interop import interop
from versioned_catalog.log.branches import BRANCH_PREFIX
from versioned_catalog.log.decisions import find_decision
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.advice import Advice, MaintenanceBounds
from versioned_catalog.maintain.expiry import DEFAULT_RETENTION
from versioned_catalog.maintain.log_check import Verified
from versioned_catalog.maintain.maintenance import DEFAULT_BOUNDS
from versioned_catalog.maintain.recover import Recovered, recover
from versioned_catalog.maintain.upkeep import Maintained, Unmaintained
from versioned_catalog.maintain.vacuum import Vacuumed
from versioned_catalog.maintain.verify import verify
from versioned_catalog.model.ddl import SOURCE
from versioned_catalog.model.iceberg import check_named
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.table_text import parse_table
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.value_clauses import Identity
from versioned_catalog.multi_table import MultiTableTransaction
from versioned_catalog.names import changes, dropped, folders, views
from versioned_catalog.names.clones import Cloned, Cloning, clone
from versioned_catalog.names.creation import (
    Columns,
    add_name,
    commit_creation,
    creation,
    creation_as_declared,
    plan_creation,
    shown_name,
)
from versioned_catalog.names.dropped import DroppedTable
from versioned_catalog.names.external import (
    UNFINISHED,
    check_comment,
    check_options,
    finish,
    has_table,
    register,
    taken_by,
)
from versioned_catalog.names.folders import Mode, Placement, timeline_at
from versioned_catalog.names.locations import external_location
from versioned_catalog.names.names import Names, check_namespace, names_inside, parse_namespace
from versioned_catalog.names.names_log import Name, TableName, full_key
from versioned_catalog.names.references import reference_in
from versioned_catalog.names.view import View
from versioned_catalog.names.view_columns import Problem, Shown, ViewReports
from versioned_catalog.progress import Reporting, reporting
from versioned_catalog.storage.opening import (
    Roots,
    allow_warehouse,
    open_store,
    reopen,
    with_roots,
)
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table
from versioned_catalog.write.auto_maintain import AUTO_MAINTAIN, OFF, auto_maintain
from versioned_catalog.write.plan import WritePlan

if TYPE_CHECKING:
    from versioned_interop.convert.convert import Conversion, Request, Synced
    from versioned_interop.imports.import_files import Imported
    from versioned_interop.pages.warehouse_page import WarehousePage


R = TypeVar("R")

REMEMBERED = 32
"""Number of loaded tables that a catalog caches."""


class Catalog:
    """The namespaces, tables and views of a warehouse.

    Names are dotted text, with backticks around parts that hold dots, or tuples of parts.

    Args:
        warehouse: a folder: a path, or a URL of an fsspec file system with put-if-absent.
        storage_options: options of the file system.
        roots: the external roots below which tables may have files of others, by name: ``{"lake":
            "s3://bucket/raw"}``, or a pair of the URL and the root's own storage options. A root on the
            same kind of file system takes the options of the warehouse.

    >>> from versioned_catalog import Catalog
    >>> catalog = Catalog("memory://warehouse")
    >>> catalog.create_namespace("metrics")
    >>> table = catalog.create_table(
    ...     "metrics.cpu",
    ...     "ts TIMESTAMP NOT NULL, host STRING, usage DOUBLE DEFAULT 0.0",
    ...     partitioned_by=["days(ts)"],
    ... )
    >>> catalog.list_tables("metrics")
    ['cpu']
    >>> catalog.rename_table("metrics.cpu", "metrics.load")
    >>> catalog.load_table("metrics.load").partitioning
    ['days(ts)']
    """

    def __init__(
        self,
        warehouse: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        roots: Roots | None = None,
    ) -> None:
        self._open(open_store(warehouse, with_roots(storage_options, roots)))

    @classmethod
    def over(cls, store: Store) -> Catalog:
        """Return the catalog of a warehouse whose store is already open."""
        catalog = cls.__new__(cls)
        catalog._open(store)
        return catalog

    def _open(self, store: Store) -> None:
        self._store = allow_warehouse(store)
        self._names = Names(store)
        self._cached: OrderedDict[str, TableHandle] = OrderedDict()

    def __repr__(self) -> str:
        return f"Catalog({self._store.url!r})"

    @property
    def store(self) -> Store:
        """The store of the warehouse's folder."""
        return self._store

    # Transactions over several tables

    def transaction(
        self, *tables: str | Name, isolation: str = "snapshot"
    ) -> MultiTableTransaction:
        """Begin a transaction over several tables: a context manager that commits when it is left.

        Args:
            tables: names of the tables that it will look at; it may look at others later, as long as no
                commit has changed one of those before meanwhile.
            isolation: ``snapshot``, or ``serializable``: then others must not change a table that it
                looks at until it commits.

        Raises:
            NotFoundError: there is no such table.
            CommitConflictError: others change the tables so often that no moment shows all.
        """
        return MultiTableTransaction(self._store, Catalog.over, tables, isolation)

    def find_transaction(self, transaction_id: str) -> str | None:
        """Return what was decided about a transaction: ``commit``, ``abort``, or None if nothing was.

        One that changed only one table, by one commit, is not found; see ``Table.find_commit``.
        """
        decision = find_decision(self._store, transaction_id)
        return None if decision is None else decision.value

    # Tables

    def load_table(
        self, name: str | Name, schema: str | int | None = None, *, overflow: str = "error"
    ) -> Table:
        """Load a table at its newest version; if it is cached, only later commits are read.

        Args:
            name: of the table; ``"ns.t.branch_b"`` is the branch ``b`` of ``ns.t``.
            schema, overflow: the pin or schema version in which it is seen; see ``Table.seen_as``.

        Raises:
            NotFoundError: there is no such table, branch, pin or schema version.
        """
        parts = parse_path(name)
        named = reference_in(self, parts) if parts[-1].startswith(BRANCH_PREFIX) else None
        table = self._load(parts if named is None else named.table)
        if named is not None and named.branch is not None:
            table = table.branch(named.branch)
        return table if schema is None else table.seen_as(schema, overflow=overflow)

    def _load(self, parts: Name) -> Table:
        state = self._names.existing()
        try:
            table_name = self._names.find(state, parts)
        except NotFoundError as error:
            error.args = (f"{error}{dropped.hint_at_drop(self._names, parts)}",)
            raise
        location = table_name.location
        store, cached = self._names.folder(location), self._cached.get(location)
        # A folder may have been deleted, with its log, and hold a new table of the name.
        is_same = cached is not None and cached.state.created_uuid == table_name.table_uuid
        loaded = cached.loaded if cached is not None and is_same else None
        table = folders.load_at(store, render_path(parts), table_name.table_uuid, loaded)
        self._cached[location] = table.handle
        self._cached.move_to_end(location)
        if len(self._cached) > REMEMBERED:
            self._cached.popitem(last=False)
        return table

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """List the tables directly in a namespace, or in the root, by their last names, sorted.

        Tables in the namespaces inside it are not listed: ask for each, by ``list_namespaces``.

        Raises:
            NotFoundError: there is no such namespace or warehouse.
        """
        state = self._names.existing()
        return sorted(name[-1] for name in names_inside(state, namespace, state.tables))

    def table_exists(self, name: str | Name) -> bool:
        """Whether a table has the name."""
        return full_key(parse_path(name)) in self._names.state().tables

    def create_table(
        self,
        name: str | Name,
        schema: Columns,
        *,
        partitioned_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        time_index: str | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        generated: Mapping[str, str] | None = None,
        identity: Mapping[str, Identity] | None = None,
        checks: Mapping[str, str] | None = None,
        location: str | os.PathLike[str] | None = None,
    ) -> Table:
        """Create a table.

        Args:
            name: the name, including the namespace.
            schema: Spark DDL, a Schema, or a pyarrow Schema.
            partitioned_by: partition transforms, such as ``["days(ts)", "bucket(16, host)"]``; of row
                key columns, if the table has a primary key.
            primary_key: columns that, with the time index, identify a row; writes are upserts then. The
                columns become NOT NULL.
            time_index: the time column, by which rows are sorted last. A table with a time index and no
                primary key is append-only.
            properties: table properties; known are ``sort_by``, ``target_segment_bytes``,
                ``isolation``, ``row_changes``, ``ttl``, ``auto_compact``, ``auto_maintain``, ``publish``
                and ``distribution_mode``.
            comment: the table comment.
            generated: columns that are computed from others, and the SQL that computes them:
                ``{"day": "CAST(ts AS DATE)"}``, with times in UTC; see docs/sql.md.
            identity: columns that number rows, ``{"id": Identity()}``; they become NOT NULL.
            checks: CHECK constraints, as ``Alteration.add_check`` takes them: ``{"positive": "n > 0"}``.
            location: the folder, an empty one below the warehouse or one of its ``roots``; chosen by the
                name if omitted. The files of such a table stay when it is dropped.

        Raises:
            AlreadyExistsError: the name is taken, or there is a table in the folder.
            NotFoundError: there is no such namespace.
            InvalidRequestError: the schema, key, partitioning or a property is invalid, or the folder is
                not allowed or not empty.
        """
        with naming_table(shown_name(name)):
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key,
                time_index,
                generated=generated,
                identity=identity,
                checks=checks,
            )
            return self._create_now(name, operation, "create", location)

    def create_from_ddl(self, ddl: str) -> Table:
        """Create a table as CREATE TABLE declares it, with its constraints and generated columns.

        Args:
            ddl: the statement, as ``Table.ddl`` writes it; column IDs in it are not looked at.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace, or a clause names a column that does not exist.
            InvalidRequestError: it does not parse, or has what versioned tables do not support.
        """
        declared = parse_table(ddl)
        with naming_table(shown_name(declared.name)):
            return self._create_now(declared.name, creation_as_declared(declared), "create")

    def register_table(
        self,
        name: str | Name,
        location: str | os.PathLike[str],
        *,
        declared: Create | None = None,
        commit_id: str | None = None,
    ) -> Table:
        """Give a table that exists a name in this warehouse; its files stay where they are.

        Args:
            name: the name, including the namespace.
            location: the folder of the table, below the warehouse or one of its ``roots``.
            declared: the ``creation(...)`` of the table as it must be.
            commit_id: idempotency key; generated if omitted.

        Raises:
            AlreadyExistsError: the name is taken, or the table has one in this warehouse.
            NotFoundError: there is no such table or namespace.
            InvalidRequestError: the folder is not allowed, or the table is not as declared.
        """
        return register(self._names, name, os.fspath(location), declared, commit_id)

    def has_table_at(self, name: str | Name, location: str | os.PathLike[str]) -> bool:
        """Whether there is a table in a folder that is to be the location of another one.

        Raises:
            InvalidRequestError: the folder is not allowed.
        """
        return has_table(self._names, name, os.fspath(location))

    def is_external(self, name: str | Name) -> bool:
        """Whether a table was created or registered with a location, as of the last look at its name."""
        return self._names.is_external(parse_path(name))

    def replace_table(
        self,
        name: str | Name,
        schema: Columns,
        *,
        partitioned_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        time_index: str | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        generated: Mapping[str, str] | None = None,
        identity: Mapping[str, Identity] | None = None,
        checks: Mapping[str, str] | None = None,
        or_create: bool = False,
    ) -> Table:
        """Replace the columns, rows and properties of a table in one commit; its history stays.

        Args:
            name, schema, partitioned_by, primary_key, time_index, properties, comment, generated,
                identity, checks: as in ``create_table``.
            or_create: create the table if it does not exist.

        Raises:
            NotFoundError: there is no such table or namespace.
            InvalidRequestError: the schema, key, partitioning or a property is invalid.
            CommitConflictError: the table was dropped meanwhile.
        """
        with naming_table(shown_name(name)):
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key,
                time_index,
                generated=generated,
                identity=identity,
                checks=checks,
            )
            mode: Mode = "create or replace" if or_create else "replace"
            return self._create_now(name, operation, mode)

    def _create_now(
        self,
        name: str | Name,
        operation: Create,
        mode: Mode,
        location: str | os.PathLike[str] | None = None,
    ) -> Table:
        placement = self.plan_creation(name, mode, operation.table_uuid, location)
        return self.commit_creation(name, placement, operation, str(uuid.uuid4()))

    def rename_table(self, name: str | Name, new_name: str | Name) -> None:
        """Rename a table, possibly into another namespace; its files stay in place.

        Raises:
            NotFoundError: there is no such table or namespace.
            AlreadyExistsError: the new name is taken.
        """
        changes.rename_table(self._names, parse_path(name), parse_path(new_name))

    def drop_table(self, name: str | Name) -> None:
        """Drop a table; ``undrop`` brings it back until ``vacuum_path`` deletes its files.

        A table with a location of its own just loses its name: its files stay, and ``register_table`` or
        ``undrop`` gives it a name again.

        Raises:
            NotFoundError: there is no such table.
            InvalidRequestError: a schema pin is in force, and the property ``pins`` is ``refuse``.
        """
        changes.drop_table(self._names, parse_path(name))

    def undrop(
        self,
        name: str | Name,
        *,
        uuid: str | None = None,
        new_name: str | Name | None = None,
        commit_id: str | None = None,
    ) -> Table:
        """Bring back a dropped table, as it was: rows, columns with their IDs, history, tags, pins.

        An undrop that died is finished by another one.

        Args:
            name: the name that it had; its namespace exists.
            uuid: which of several tables that were dropped under the name; the last one if omitted.
            new_name: another name to bring it back under, if its own is taken.
            commit_id: idempotency key of the commit; generated if omitted.

        Raises:
            NotFoundError: no such table was dropped, or a vacuum has begun to delete its files.
            AlreadyExistsError: the name is taken.
        """
        other = None if new_name is None else parse_path(new_name)
        return dropped.undrop(self._names, parse_path(name), uuid, other, commit_id)

    def dropped_tables(self, namespace: str | Name | None = None) -> tuple[DroppedTable, ...]:
        """List the tables that can be undropped, the last dropped first.

        Reads the whole log of the warehouse, which has an entry for each change of a name.

        Args:
            namespace: only tables in it and in namespaces inside it; by default all of the warehouse.

        Raises:
            NotFoundError: there is no such namespace or warehouse.
        """
        return dropped.dropped_tables(self._names, parse_namespace(namespace))

    def plan_creation(
        self,
        name: str | Name,
        mode: Mode = "create",
        table_uuid: str | None = None,
        location: str | os.PathLike[str] | None = None,
    ) -> Placement:
        """Determine the folder of a new table, and the table it replaces; nothing is written.

        Args:
            name: the table's name.
            mode: ``create``, ``replace`` or ``create or replace``.
            table_uuid: the new table UUID; generated if omitted.
            location: the folder that a user chose; see ``create_table``.

        Raises:
            AlreadyExistsError: the name is taken, and the mode is ``create``; or there is a table in the
                folder.
            NotFoundError: there is no such table, and the mode is ``replace``; or no such namespace.
            InvalidRequestError: the folder is not allowed, or that of another table than the replaced
                one.
        """
        chosen = None if location is None else os.fspath(location)
        return plan_creation(self._names, name, mode, table_uuid, chosen)

    def plan_rows(
        self,
        name: str | Name,
        placement: Placement,
        operation: Create,
        arrow: pa.Schema | None = None,
    ) -> WritePlan:
        """Plan the first write to a table that ``commit_creation`` will create.

        Args:
            name: the table's name.
            placement: from ``plan_creation``.
            operation: the ``creation(...)`` of the table.
            arrow: the schema of the rows, to refuse them early if they do not fit.
        """
        placed = replace(operation, table_uuid=placement.table_uuid)
        store, shown = self._names.folder(placement.folder), render_path(parse_path(name))
        return folders.plan_rows_at(store, placed, shown, arrow, placement.base_version)

    def commit_creation(
        self, name: str | Name, placement: Placement, operation: Create, commit_id: str
    ) -> Table:
        """Create or replace a table, with the rows that were written by its plan.

        A second call with the same commit ID finishes what the first left undone.

        Args:
            name: the table's name.
            placement: from ``plan_creation``.
            operation: the ``creation(...)`` that the rows were planned with, with their records.
            commit_id: idempotency key of the commit.

        Raises:
            AlreadyExistsError: the name was taken meanwhile, and the mode is ``create``.
            NotFoundError: the namespace was dropped.
            CommitConflictError: another commit changed what the creation was planned on.
        """
        return commit_creation(self._names, name, placement, operation, commit_id)

    def plan_table(
        self,
        name: str | Name,
        schema: Columns,
        arrow: pa.Schema,
        *,
        partitioned_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        time_index: str | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> tuple[WritePlan, Create]:
        """Plan the creation of a table with its first rows, for ``commit_table``.

        Args:
            name, schema, partitioned_by, primary_key, time_index, properties, comment: as in
                ``create_table``.
            arrow: the schema of the rows.
        """
        operation = creation(schema, partitioned_by, properties, comment, primary_key, time_index)
        placement = self.plan_creation(name, "create", operation.table_uuid)
        plan = self.plan_rows(name, placement, operation, arrow)
        return plan, replace(operation, first_column_id=placement.first_column_id)

    def commit_table(
        self, name: str | Name, location: Location, operation: Create, commit_id: str
    ) -> Table:
        """Create a table with the rows that were written by its plan.

        Args:
            name: the table's name.
            location: the location of the plan.
            operation: from ``plan_table``, with the records of the rows.
            commit_id: idempotency key of the commit.

        Raises:
            AlreadyExistsError: the name was taken meanwhile.
        """
        parts, folder = parse_path(name), location.url.removeprefix(self._store.url).strip("/")
        table = folders.create_at(
            self._store.child(folder), operation, render_path(parts), commit_id
        )
        add_name(self._names, TableName(parts, folder, operation.table_uuid), table, commit_id)
        return table

    def clone_table(
        self,
        name: str | Name,
        source: str | Name | Table,
        *,
        shallow: bool = False,
        version: int | str | None = None,
        timestamp: datetime | str | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        properties: Mapping[str, str] | None = None,
        location: str | os.PathLike[str] | None = None,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Table:
        """Create a table with the rows, columns, keys and properties of another one, and its column IDs.

        From then on, both are written, altered and dropped by themselves. The clone's versions go on
        from that of the source. It does not have the source's tags, branches, consumers and history.

        Args:
            name: the name of the clone, including the namespace.
            source: a table of this catalog by name, or any table or branch, for a deep clone also of
                another warehouse.
            shallow: whether the clone reads the source's files instead of copying them. A tag of the
                source then keeps its version, and it can't be dropped, until the clone needs neither.
            version, timestamp: the source's version: a number, tag or branch, or a time; by default the
                newest.
            or_replace: replace a table of the name, whose history is dropped with it.
            if_not_exists: do nothing if there is a table of the name.
            properties: table properties that the clone has besides those of the source, or instead.
            location: the folder of the clone; see ``create_table``.
            progress: True for bars, or a function called with the step and how much of it is done.
            commit_id: idempotency key; generated if omitted.

        Returns:
            The clone, or the table that there is.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace, source or version.
            InvalidRequestError: the source can't be cloned so, or a property is invalid.
        """
        cloned = self.clone_and_tell(
            name,
            source,
            shallow=shallow,
            version=version,
            timestamp=timestamp,
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            properties=properties,
            location=location,
            progress=progress,
            commit_id=commit_id,
        )
        return self.load_table(name) if cloned is None else cloned.table

    def clone_and_tell(
        self,
        name: str | Name,
        source: str | Name | Table,
        *,
        shallow: bool = False,
        version: int | str | None = None,
        timestamp: datetime | str | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        properties: Mapping[str, str] | None = None,
        location: str | os.PathLike[str] | None = None,
        progress: Reporting = False,
        commit_id: str | None = None,
    ) -> Cloned | None:
        """Clone a table, and return what was copied; None if there is a table already."""
        if or_replace and if_not_exists:
            raise InvalidRequestError(
                f"{shown_name(name)}: give or_replace or if_not_exists, not both",
                condition="INVALID_OPTION",
            )
        table = source if isinstance(source, Table) else self.load_table(source)
        handle = table.handle
        if isinstance(version, str) and version in table.branches:
            handle, version = handle.branch(version), None
        state = handle.at(version, timestamp)
        request = Cloning(
            handle,
            state,
            shallow,
            dict(properties or {}),
            commit_id or str(uuid.uuid4()),
            None if location is None else os.fspath(location),
        )
        parts = parse_path(name)
        if if_not_exists and self.table_exists(parts) and not self._is_clone(parts, request):
            return None
        mode: Mode = "create or replace" if or_replace else "create"
        with naming_table(shown_name(name)):
            try:
                with reporting(progress) as report:
                    return clone(self._names, parts, mode, request, report)
            except AlreadyExistsError:
                if not (if_not_exists and self.table_exists(parts)):
                    raise
                return None

    def _is_clone(self, name: Name, request: Cloning) -> bool:
        """Whether an earlier attempt has made a clone."""
        return self._names.find(self._names.state(), name).table_uuid == request.table_uuid

    # Namespaces

    def create_namespace(
        self,
        name: str | Name,
        if_not_exists: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Create a namespace.

        Args:
            name: the name, including the parent namespace.
            if_not_exists: do nothing if the namespace exists.
            properties: text by key.

        Raises:
            AlreadyExistsError: the namespace exists.
            NotFoundError: the parent namespace does not exist.
        """
        changes.create_namespace(
            self._names, parse_path(name), properties, if_not_exists=if_not_exists
        )

    def list_namespaces(self, parent: str | Name | None = None) -> list[str]:
        """List the namespaces directly inside another, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state = self._names.existing()
        return sorted(map(render_path, names_inside(state, parent, state.namespaces)))

    def namespace_exists(self, name: str | Name | None) -> bool:
        """Whether a namespace exists; the root always does."""
        parts = parse_namespace(name)
        return not parts or full_key(parts) in self._names.state().namespaces

    def namespace_properties(self, name: str | Name | None) -> dict[str, str]:
        """Return the properties of a namespace; the root has none.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, parts = self._names.existing(), parse_namespace(name)
        check_namespace(state, parts)
        return dict(state.namespaces[full_key(parts)].properties) if parts else {}

    def alter_namespace(
        self, name: str | Name, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Set and remove properties of a namespace; the others stay.

        Raises:
            NotFoundError: there is no such namespace.
        """
        changes.alter_namespace(self._names, parse_path(name), set, unset)

    def drop_namespace(self, name: str | Name, cascade: bool = False) -> None:
        """Remove a namespace.

        Args:
            name: the namespace.
            cascade: also drop everything in it; one commit to the warehouse's log removes all names.

        Raises:
            NotFoundError: there is no such namespace.
            InvalidRequestError: it is not empty, or a table in it has schema pins and the property
                ``pins = refuse``.
        """
        changes.drop_namespace(self._names, parse_path(name), cascade=cascade)

    # Views

    def list_views(self, namespace: str | Name | None = None) -> list[str]:
        """List the views in a namespace, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state = self._names.state()
        return sorted(name[-1] for name in names_inside(state, namespace, state.views))

    def view_exists(self, name: str | Name) -> bool:
        """Whether a view has the name."""
        return full_key(parse_path(name)) in self._names.state().views

    def load_view(self, name: str | Name) -> View:
        """Load a view, whether it can be read or not.

        Raises:
            NotFoundError: there is no such view.
        """
        return views.find_view(self._names.state(), parse_path(name))

    def create_view(
        self,
        name: str | Name,
        sql: str,
        columns: str,
        *,
        reads: Mapping[str | Name, Iterable[str | Name]] | None = None,
        namespace: str | Name | None = None,
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
        or_replace: bool = False,
    ) -> View:
        """Create a view. The query is not parsed: give its columns and what it reads, unlike in SQL.

        Args:
            name: the name, including the namespace; tables and views share names.
            sql: a query in Spark SQL.
            columns: the columns of the query, as Spark DDL.
            reads: the columns that the query reads, by table of this catalog; the view is bound to
                their IDs. Views that it reads have no columns here. Tables left out are read by name.
            namespace: namespace of unqualified names in the query; the view's own if omitted.
            comment: the view comment.
            properties: text by key.
            or_replace: replace a view of the same name.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace, table, view or column.
            InvalidRequestError: the columns are invalid, or views would read each other in a cycle.
        """
        view = views.new_view(
            parse_path(name),
            sql,
            columns,
            reads or {},
            self._names.state(),
            self._load_state,
            namespace=namespace,
            comment=comment,
            properties=properties,
        )
        self.put_view(view, "create or replace" if or_replace else "create", str(uuid.uuid4()))
        return view

    def put_view(self, view: View, mode: Mode, commit_id: str) -> None:
        """Create or replace a view.

        Args:
            view: the view.
            mode: ``create``, ``replace`` or ``create or replace``.
            commit_id: idempotency key of the commit.

        Raises:
            AlreadyExistsError: the name is taken by a table, or by a view and the mode is ``create``.
            NotFoundError: there is no such view to replace, or no such namespace.
            InvalidRequestError: views would read each other in a cycle.
        """
        views.put_view(self._names, view, mode, commit_id)

    def alter_view(
        self, name: str | Name, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Set and remove properties of a view; the others stay.

        Raises:
            NotFoundError: there is no such view.
        """
        views.alter_view(self._names, parse_path(name), set, unset)

    def rename_view(self, name: str | Name, new_name: str | Name) -> None:
        """Rename a view, possibly into another namespace.

        Raises:
            NotFoundError: there is no such view or namespace.
            AlreadyExistsError: the new name is taken.
            InvalidRequestError: views would read each other in a cycle.
        """
        views.rename_view(self._names, parse_path(name), parse_path(new_name))

    def drop_view(self, name: str | Name) -> None:
        """Drop a view. Views that read it stay, but can no longer be read.

        Raises:
            NotFoundError: there is no such view.
        """
        views.drop_view(self._names, parse_path(name))

    def views(self, table: str | Name | None = None, shown: Shown = render_path) -> pa.Table:
        """List what every view reads, one row a column, with the problems.

        Columns: ``view``, ``reads``, ``column``, ``column_id`` (int32), ``problem`` (null if there is
        none). ``column`` is null for views and unknown columns.

        Args:
            table: restrict the list to this table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._view_reports(shown).listing(table)

    def view_problems(
        self, name: str | Name | None = None, shown: Shown = render_path
    ) -> list[Problem]:
        """Find the columns that views can no longer read, because they were renamed or dropped.

        Args:
            name: only views that read this table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._view_reports(shown).problems(name)

    def problems_after(
        self, name: str | Name, schema: Schema, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what views of a table can read now, but could not if it had another schema.

        Args:
            name: the table.
            schema: the other schema, in which columns have the IDs of the table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._view_reports(shown).problems_after(name, schema)

    def problems_since(
        self, name: str | Name, before: TableState, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what views of a table can't read now, but could read in an earlier state of the table.

        Args:
            name: the table.
            before: the earlier state.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._view_reports(shown).problems_since(name, before)

    def problems_of(
        self, view: View, table: str | Name, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what one view can no longer read under the name of a table.

        Args:
            view: the view.
            table: the name in the view's query.
            shown: renders names in the problems.
        """
        return self._view_reports(shown).problems_of(view, table)

    def _view_reports(self, shown: Shown) -> ViewReports:
        return ViewReports(self._names, self._load_state, shown)

    def _load_state(self, name: Name) -> TableState:
        return self.load_table(name).state

    def name_of(self, created_uuid: str) -> Name | None:
        """Return the name of a table by its created UUID; None if it has none."""
        return self._names.state().name_of(created_uuid)

    def has_landed(self, commit_id: str) -> bool:
        """Whether the warehouse's log holds a commit."""
        return self._names.has_landed(commit_id)

    # Tables by folder

    @staticmethod
    def load_path(
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        roots: Roots | None = None,
    ) -> Table:
        """Load a table by its folder, inside or outside a warehouse. Arguments are those of ``Catalog``.

        Raises:
            NotFoundError: there is no table.
        """
        store = open_store(path, with_roots(storage_options, roots))
        return folders.load_at(store, store.url)

    @staticmethod
    def undrop_path(
        path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> Table:
        """Bring back a table that was dropped, by its folder; names are not changed. See ``undrop``."""
        store = open_store(path, storage_options)
        return folders.undrop_at(store, None, store.url)

    @staticmethod
    def create_path(
        path: str | os.PathLike[str],
        schema: Columns,
        *,
        partitioned_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        time_index: str | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        generated: Mapping[str, str] | None = None,
        identity: Mapping[str, Identity] | None = None,
        checks: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Create a table in a folder, outside any warehouse. See ``create_table``."""
        store = open_store(path, storage_options)
        with naming_table(store.url):
            check_named(properties or {}, store.url)
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key,
                time_index,
                generated=generated,
                identity=identity,
                checks=checks,
            )
        return folders.create_at(store, operation, store.url, str(uuid.uuid4()))

    @staticmethod
    def plan_path(
        path: str | os.PathLike[str],
        schema: Schema,
        arrow: pa.Schema,
        storage_options: Mapping[str, Any] | None = None,
        *,
        partitioned_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        time_index: str | None = None,
    ) -> tuple[WritePlan, Create]:
        """Plan the creation of a table in a folder with its first rows. See ``plan_table``."""
        operation = creation(schema, partitioned_by, primary_key=primary_key, time_index=time_index)
        store = open_store(path, storage_options)
        placement = folders.plan_creation_at(store, "", operation.table_uuid, "create")
        plan = folders.plan_rows_at(store, operation, store.url, arrow, placement.base_version)
        return plan, replace(operation, first_column_id=placement.first_column_id)

    @staticmethod
    def commit_path(location: Location, operation: Create, commit_id: str) -> Table:
        """Create a table, with the rows that were written by its plan."""
        return folders.create_at(reopen(location), operation, location.url, commit_id)

    @staticmethod
    def plan_replacing(
        table: Table, operation: Create, arrow: pa.Schema
    ) -> tuple[WritePlan, Replace]:
        """Plan the replacement of a table with its first rows, for ``commit_replacing``.

        Args:
            table: the table to replace.
            operation: the ``creation(...)`` of the new table.
            arrow: the schema of the rows.

        Returns:
            The plan of the rows, and the operation to commit with their records.
        """
        uuid_, replaced = operation.table_uuid, table.state.created_uuid
        placement = folders.plan_creation_at(table.store, "", uuid_, "replace", replaced)
        plan = folders.plan_rows_at(
            table.store, operation, table.name, arrow, placement.base_version
        )
        placed = placement.operation(operation)
        assert isinstance(placed, Replace), "the mode is replace"
        return plan, placed

    @staticmethod
    def commit_replacing(
        location: Location, operation: Replace, name: str, commit_id: str
    ) -> Table:
        """Replace a table, with the rows that were written by its plan."""
        return folders.create_at(reopen(location), operation, name, commit_id)

    # Maintenance

    def advise(
        self, bounds: MaintenanceBounds = DEFAULT_BOUNDS
    ) -> tuple[Advice | Unmaintained, ...]:
        """Say which maintenance of each table is due, in the order of their names; write nothing.

        A table that cannot be read is reported, and the others are looked at all the same.

        Args:
            bounds: the retention, and how much may be rewritten. See ``Maintenance.advise``.

        Raises:
            InvalidRequestError: the bounds are invalid.
            NotFoundError: there is no warehouse.
        """
        bounds.check(self._store.url)
        return tuple(self._each_table(lambda table: table.maintenance.advise(bounds)))

    def maintain(
        self,
        bounds: MaintenanceBounds = DEFAULT_BOUNDS,
        *,
        dry_run: bool = False,
        progress: Reporting = False,
    ) -> tuple[Maintained | Unmaintained, ...]:
        """Do the maintenance of each table that is due, one table after the other.

        A table that fails is reported, and the others are maintained all the same. Tables with the
        property ``auto_maintain`` = ``off`` are left alone. Then it deletes the files of dropped tables,
        once they were dropped 7 days and the retention ago; they can't be undropped any more.

        Args:
            bounds: for each table, the retention and how much may be rewritten.
            dry_run, progress: see ``Maintenance.maintain``.

        Raises:
            InvalidRequestError: the bounds are invalid.
            NotFoundError: there is no warehouse.
        """

        def maintain(report: Progress, table: Table) -> Maintained | Unmaintained:
            if auto_maintain(table.state.properties) == OFF:
                return Unmaintained(table.name, f"the property {AUTO_MAINTAIN} is {OFF}")
            return table.maintenance.maintain(bounds, dry_run=dry_run, progress=report)

        bounds.check(self._store.url)
        with reporting(progress) as report:
            tables = tuple(self._each_table(partial(maintain, report)))
            gone = dropped.maintain_dropped(self._names, bounds, dry_run=dry_run, progress=report)
        return tables + tuple(gone)

    def page(
        self, bounds: MaintenanceBounds = DEFAULT_BOUNDS, *, progress: Reporting = False
    ) -> WarehousePage:
        """One HTML page about all tables, which loads nothing: write its ``html`` to a file.

        It shows sizes, small segments, what keeps old versions and files, which maintenance is due, and
        the tables that can be undropped. A table that can't be read is listed with its error.

        Args:
            bounds: for what maintenance is due. See ``Maintenance.advise``.
            progress: True for bars, or a function called with the step and how much of it is done.

        Raises:
            InvalidRequestError: the bounds are invalid.
            NotFoundError: there is no warehouse.
        """
        bounds.check(self._store.url)
        with reporting(progress) as report:
            page: WarehousePage = interop("warehouse_page")(
                self, self._every_name(), bounds, report
            )
        return page

    def write_pages(
        self,
        folder: str | os.PathLike[str],
        bounds: MaintenanceBounds = DEFAULT_BOUNDS,
        *,
        progress: Reporting = False,
    ) -> WarehousePage:
        """Write the page of the warehouse, ``index.html``, and one of each table into a local folder.

        Pages that are there are replaced; those of tables that are gone stay.

        Args:
            folder: it is made if it does not exist.
            bounds, progress: as for ``page``.

        Raises:
            InvalidRequestError: the bounds are invalid.
            NotFoundError: there is no warehouse.
            OSError: a file can't be written.
        """
        bounds.check(self._store.url)
        write = interop("write_pages")
        with reporting(progress) as report:
            page: WarehousePage = write(self, self._every_name(), folder, bounds, report)
        return page

    def _every_name(self) -> list[Name]:
        """The names of all tables, sorted. Raises NotFoundError if there is no warehouse."""
        return sorted(table.name for table in self._names.existing().tables.values())

    def _each_table(self, job: Callable[[Table], R]) -> Iterator[R | Unmaintained]:
        """Do a job for each table of the warehouse, and report the tables for which it fails."""
        for name in self._every_name():
            try:
                yield job(self.load_table(name))
            except Exception as error:  # the next table has nothing to do with it
                yield Unmaintained(render_path(name), str(error), error)

    def verify_table(
        self,
        name: str | Name,
        *,
        deep: bool = False,
        every_version: bool = False,
        progress: Reporting = False,
    ) -> Verified:
        """Verify a table that may be too damaged to be loaded. See ``Maintenance.verify``.

        Raises:
            NotFoundError: no table has the name.
        """
        parts = parse_path(name)
        store = self._names.folder(self._names.find(self._names.state(), parts).location)
        shown = render_path(parts)
        with reporting(progress) as report:
            return verify(store, shown, deep=deep, every_version=every_version, progress=report)

    @staticmethod
    def verify_path(
        path: str | os.PathLike[str],
        *,
        deep: bool = False,
        every_version: bool = False,
        progress: Reporting = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Verified:
        """Verify the table in a folder. See ``Maintenance.verify``."""
        store = open_store(path, storage_options)
        with reporting(progress) as report:
            return verify(store, store.url, deep=deep, every_version=every_version, progress=report)

    @staticmethod
    def vacuum_path(
        path: str | os.PathLike[str],
        retention: timedelta = DEFAULT_RETENTION,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Reporting = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Vacuumed:
        """Vacuum a table by its folder. See ``Maintenance.vacuum``.

        All data and history of a table that was dropped longer ago than the retention is deleted.

        Raises:
            NotFoundError: there never was a table in the folder.
        """
        store = open_store(path, storage_options)
        with reporting(progress) as report:
            return folders.vacuum_at(
                store, retention, dry_run=dry_run, force=force, progress=report
            )

    @staticmethod
    def recover(
        broken: str | os.PathLike[str],
        new: str | os.PathLike[str],
        *,
        progress: Reporting = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Recovered:
        """Recover a table whose log is lost or corrupt into a new folder.

        This uses the log as far as it can be followed from its start or a checkpoint, later readable
        entries, and the footers of segments that no entry names. Segments are read and copied; nothing
        is written in the old folder. The new table keeps the table UUID, column IDs and schema versions;
        load it with ``load_path``.

        Args:
            broken: the folder of the old table.
            new: an empty folder for the new table.
            progress: True for bars, or a function called with the step and how much of it is done.
            storage_options: options of the file systems.

        Returns:
            The recovered and the omitted segments, and sentences on what could not be determined.

        Raises:
            AlreadyExistsError: the new folder is not empty.
            CorruptTableError: no schema can be read.
        """
        with reporting(progress) as report:
            return recover(
                open_store(broken, storage_options), open_store(new, storage_options), report
            )

    # Files and tables of others

    def import_files(
        self,
        name: str | Name,
        source: str | os.PathLike[str],
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        location: str | os.PathLike[str] | None = None,
        progress: Reporting = False,
        **options: Any,
    ) -> Imported:
        """Import files of somebody else into a table, which is created if it does not exist.

        The schemas of all files are read and merged before any row is read. Parquet files are adopted in
        place, without a copy, below one of the catalog's ``roots``.

        Args:
            source: a folder, file or pattern (``s3://bucket/raw/**/*.parquet``, ``root:lake/raw``).
            partitioned_by, properties, location: of a new table, as in ``create_table``; one that
                exists must be like that.
            progress: True for bars, or a function called with the step and how much of it is done.
            options:
                - ``copy``: convert the rows into segments of the table's own.
                - ``format``: ``parquet``, ``orc``, ``avro``, ``csv`` or ``json``; by the names of
                files if omitted.
                - ``schema``: a provided schema: DDL, the path of a ``.sql`` file, or a Schema.
                - ``strict``: take only the columns of ``schema``.
                - ``aliases``: new names by the dotted path in files; ``exclude``: columns to skip.
                - ``evolve``: let an existing table get new columns and wider types.
                - ``path_columns``: whether ``name=value`` in paths is a column; true by default.
                - ``dir_columns``: other folders are columns: names, or True for ``dir0``, ``dir1``, ….
                - ``file_columns``: columns from ``file_name``, ``file_path``, ``file_modification_time``
                or ``file_size``: a list, or the names of the columns by these.
                - ``binary_as_string``: binaries without annotation are text.
                - ``nanoseconds``: ``refuse`` (the default) or ``truncate`` digits below a microsecond.
                - ``delimiter``, ``header``, ``null``, ``quote``, ``escape``, ``decimal``, ``thousands``,
                ``skip_lines``: of CSV.
                - ``encoding``, ``date_format``, ``timestamp_format``: of CSV and JSON.
                - ``kept``: ``use`` (the default), ``ignore`` or ``forget`` the options of earlier
                imports into the table; see ``Table.import_options``.
                - ``skip_unreadable``: leave out files that can't be read, and report them.
                - ``batch_files``: how many files a commit adds.
                - ``again``: ``changed`` imports files again that have changed since; ``all`` imports
                every file again.

        Raises:
            InvalidRequestError: files can't be read or brought together; the error lists them, with the
                options that settle it. Or the table exists, and is unlike the options of a new one.
        """
        if self.table_exists(name):
            table = self.load_table(name)
            folder = None if location is None else os.fspath(location)
            check_options(self._names, table, partitioned_by, properties, folder)
            return table.import_files(source, progress=progress, **options)
        made: list[Table] = []
        declared = {
            "partitioned_by": partitioned_by,
            "properties": properties,
            "location": location,
        }
        return self._import_new(name, source, declared, options, made, progress)

    def snapshot_files(
        self,
        name: str | Name,
        source: str | os.PathLike[str],
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        location: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: Reporting = False,
        **options: Any,
    ) -> Imported:
        """Create a table of files, as ``import_files`` does, and only with all of them.

        If that fails, the table is dropped again, and one that somebody else made stays. A table that a
        killed call left has the property ``convert.unfinished``.

        Args:
            resume: go on with a table that an earlier call made, and did not finish.

        Raises:
            AlreadyExistsError: the name is taken, or an earlier call did not finish.
            InvalidRequestError: files can't be read or brought together.
        """
        existing = self.load_table(name) if self.table_exists(name) else None
        if existing is not None and resume:
            done = self.import_files(
                name,
                source,
                partitioned_by=partitioned_by,
                properties=properties,
                location=location,
                progress=progress,
                **options,
            )
            return replace(done, version=finish(existing))
        if existing is not None:
            raise taken_by(existing, external=self.is_external(name))
        made: list[Table] = []
        declared = {
            "partitioned_by": partitioned_by,
            "properties": {**(properties or {}), UNFINISHED: "true"},
            "location": location,
        }
        try:
            done = self._import_new(name, source, declared, options, made, progress)
        except VersionedError:
            for table in made:  # some of its files are missing
                own = table.state.created_uuid
                if self.table_exists(name) and self.load_table(name).state.created_uuid == own:
                    self.drop_table(name)
                    if location is not None:
                        folders.discard_at(table.store, own, table.name)
            raise
        return replace(done, version=finish(made[0]))

    def _import_new(
        self,
        name: str | Name,
        source: str | os.PathLike[str],
        declared: Mapping[str, Any],
        options: Mapping[str, Any],
        made: list[Table],
        progress: Reporting,
    ) -> Imported:
        def create(ddl: str) -> TableHandle:
            made.append(self.create_table(name, ddl, **declared))
            return made[0].handle

        shown = render_path(parse_path(name))
        with reporting(progress) as report:
            done: Imported = interop("import_new")(
                self._store, shown, source, options, create, report
            )
        return done

    def convert_files(
        self,
        folder: str | os.PathLike[str],
        *,
        schema: str | None = None,
        partitioned_by: Sequence[str] = (),
        progress: Reporting = False,
        **options: Any,
    ) -> tuple[Table, Imported]:
        """Make a folder of Parquet files a versioned table, which has them in place.

        The table has no name yet: ``register_table`` gives it one. It is read by its path with the root
        that the folder lies below.

        Args:
            folder: below the warehouse or one of the catalog's ``roots``; no table.
            schema: DDL of columns whose types the files do not say, such as those in paths.
            partitioned_by: partition columns, which come last in the table.
            progress: True for bars, or a function called with the step and how much of it is done.
            options: others of ``import_files``.

        Raises:
            AlreadyExistsError: there is, or was, a versioned table in the folder.
            InvalidRequestError: the folder is not allowed, or the files can't be brought together.
        """
        shown = os.fspath(folder)
        store = self._names.folder(external_location(self._store, shown, shown))
        state = timeline_at(store).load().state
        if state is not None and UNFINISHED in state.properties:
            raise AlreadyExistsError(
                f"{shown}: an earlier conversion did not finish; delete the folder _versioned in it, "
                "and convert it again",
                condition="TABLE_ALREADY_EXISTS",
            )
        if state is not None:
            raise AlreadyExistsError(
                f"{shown} is a versioned table already, or was one; give it a name with CREATE TABLE "
                "... LOCATION or register_table, or delete its folder _versioned to convert the files "
                "again",
                condition="TABLE_ALREADY_EXISTS",
            )
        if store.list("data"):
            raise InvalidRequestError(
                f"{shown} has a folder data, in which a table keeps files of its own; rename it, or "
                "take the files into another table with import_files",
                condition="NOT_SUPPORTED",
            )
        made: list[Table] = []

        def create(ddl: str) -> TableHandle:
            columns = Schema.parse(ddl).columns
            last = {parse_path(field)[-1] for field in partitioned_by}
            ordered = sorted(columns, key=lambda column: column.name in last)
            operation = creation(Schema(tuple(ordered)), partitioned_by, {UNFINISHED: "true"})
            made.append(folders.create_at(store, operation, store.url, str(uuid.uuid4())))
            return made[0].handle

        options = {**options, "schema": schema, "format": "parquet"}
        try:
            with reporting(progress) as report:
                done = interop("import_new")(self._store, shown, shown, options, create, report)
        except VersionedError:
            for table in made:
                folders.discard_at(store, table.state.created_uuid, table.name)
            raise
        finish(made[0])
        return made[0].refresh(), done

    def convert(
        self,
        name: str | Name,
        source: Any,
        *,
        kind: str | None = None,
        root: str | None = None,
        version: int | None = None,
        copy: bool = False,
        primary_key: Sequence[str] = (),
        deletes: str = "copy",
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        options: Mapping[str, str] | None = None,
        progress: Reporting = False,
    ) -> Table:
        """Convert an Iceberg or Delta table in place, without copying its files.

        The new table has the source's schema with its IDs, and the schemas before it. Its owner can go
        on reading and writing the source; ``Table.sync`` follows what it commits. Run again after an
        interruption, this goes on where it was.

        Args:
            name: the name of the new table.
            source: the URL or path of the table's folder or of an Iceberg metadata file; or a table as
                PyIceberg or deltalake loads it. It must lie below one of the catalog's ``roots``.
            kind: ``iceberg`` or ``delta``; detected if omitted.
            root: the name of the external root; the one that holds the source if omitted.
            version: a snapshot ID of Iceberg or a version number of Delta; the newest one if omitted.
            copy: copy the rows of all files into the new table, which then needs no root, and may have a
                primary key.
            primary_key: columns that identify a row, for a copy.
            deletes: ``copy`` the remaining rows of files that have deleted rows, or ``refuse`` them.
            properties, comment: as in ``create_table``. A table that exists must be like these and
                the other options of a new one.
            options: storage options of the library that reads the source's metadata.
            progress: True for bars, or a function called with the step and how much of it is done.

        Raises:
            AlreadyExistsError: the name is taken by a table that was not converted from this source.
            InvalidRequestError: the source can't be converted, or lies below no root.
        """
        return self.convert_and_tell(
            name,
            interop("Request")(source, kind, root, version, dict(options or {})),
            interop("Conversion")(copy, tuple(primary_key), deletes),
            properties,
            comment,
            progress,
        )[0]

    def convert_and_tell(
        self,
        name: str | Name,
        request: Request,
        conversion: Conversion,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        progress: Reporting = False,
    ) -> tuple[Table, Synced]:
        """Convert a table, and return it with the result of the sync. See ``convert``."""
        with naming_table(shown_name(name)), reporting(progress) as report:
            conversion.check()
            if self.table_exists(name):
                table = self.load_table(name)
                if SOURCE not in table.state.properties:
                    raise AlreadyExistsError(
                        f"there is a table {table.name} already, which was not converted; choose "
                        "another name"
                    )
                check_options(self._names, table, (), properties, None)
                check_comment(table, comment)
                conversion.check_like(
                    table.state.properties, table.primary_key, table.name, request.root
                )
                return table, interop("sync")(table.handle, request, report)
            source, root = interop("open_source")(request, self._store)
            bare = creation(
                interop("first_schema")(source, conversion.primary_key),
                (),
                properties,
                comment,
                primary_key=conversion.primary_key,
            )
            operation = conversion.creation(bare, source, root)
            table = self._create_now(name, operation, "create")
            return table, interop("follow")(table.handle, source, report)
