"""The catalog of a warehouse: namespaces, tables and views, stored as files beside the data."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from versioned_catalog.catalog import locations
from versioned_catalog.catalog.converting import Conversions
from versioned_catalog.catalog.create import TableCreation
from versioned_catalog.catalog.declaration import Columns, creation
from versioned_catalog.catalog.namespaces import Namespaces
from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.errors import NotFoundError, naming_table
from versioned_catalog.handle import TableHandle
from versioned_catalog.interop import interop
from versioned_catalog.log.codec import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.maintenance.findings import Verified
from versioned_catalog.maintenance.recover import Recovered, recover
from versioned_catalog.maintenance.retention import DEFAULT as DEFAULT_RETENTION
from versioned_catalog.maintenance.retention import check_retention
from versioned_catalog.maintenance.vacuum import BREAKS, Vacuumed, vacuum_dropped
from versioned_catalog.maintenance.verify import verify
from versioned_catalog.progress import Progress, silent
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.opening import open_store, reopen
from versioned_catalog.storage.root_paths import Roots, with_roots
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.views.views import Views
from versioned_catalog.warehouse.names import (
    Names,
    check_free,
    check_namespace,
    head_of,
    parse_namespace,
)
from versioned_catalog.warehouse.state import Name, WarehouseEntry, WarehouseState, full_key
from versioned_catalog.write.plan import WritePlan

if TYPE_CHECKING:
    # Imports load much that most processes never need.
    from versioned_catalog.importing.import_files import Imported

REMEMBERED = 32
"""Number of loaded tables that a catalog caches."""


class Catalog(TableCreation, Conversions, Namespaces, Views):
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
        self._store = store
        self._names = Names(store)
        self._known: OrderedDict[str, LoadedState[TableState]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Catalog({self._store.url!r})"

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """List the tables in a namespace, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace or warehouse.
        """
        state, above = self._names.existing(), parse_namespace(namespace)
        check_namespace(state, above)
        names = (table.name for table in state.tables.values())
        key = full_key(above)
        return sorted(name[-1] for name in names if full_key(name[:-1]) == key)

    def table_exists(self, name: str | Name) -> bool:
        """Whether a table has the name."""
        return full_key(parse_path(name)) in self._names.state().tables

    def load_table(
        self, name: str | Name, schema: str | int | None = None, *, overflow: str = "error"
    ) -> Table:
        """Load a table at its newest version; if it is cached, only later commits are read.

        Args:
            schema, overflow: the pin or schema version in which it is seen; see ``Table.seen_as``.

        Raises:
            NotFoundError: there is no such table, pin or schema version.
        """
        parts = parse_path(name)
        found = self._names.find(self._names.existing(), parts)
        store, known = self._store.child(found.location), self._known.get(found.location)
        table = locations.load_at(store, render_path(parts), found.table_uuid, known)
        self._known[found.location] = table.loaded
        self._known.move_to_end(found.location)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return table if schema is None else table.seen_as(schema, overflow=overflow)

    def rename_table(self, name: str | Name, new_name: str | Name) -> None:
        """Rename a table, possibly into another namespace; its files stay in place.

        Raises:
            NotFoundError: there is no such table or namespace.
            AlreadyExistsError: the new name is taken.
        """
        old, new = parse_path(name), parse_path(new_name)

        def change(state: WarehouseState) -> WarehouseEntry:
            found = self._names.find(state, old)
            if full_key(new) != full_key(old):
                check_free(state, new)
            renamed = replace(found, name=new)
            return WarehouseEntry(
                head_of("rename_table"), set_tables=(renamed,), remove_tables=(old,)
            )

        self._names.commit(change)

    def drop_table(self, name: str | Name) -> None:
        """Drop a table; its files stay until ``vacuum_path`` deletes them.

        Raises:
            NotFoundError: there is no such table.
            InvalidRequestError: a schema pin is in force, and the property ``pins`` is ``refuse``.
        """
        parts = parse_path(name)
        found = self._names.find(self._names.state(), parts)
        self._check_droppable([found])

        def change(state: WarehouseState) -> WarehouseEntry:
            if self._names.find(state, parts).table_uuid != found.table_uuid:
                raise NotFoundError(
                    f"the table {render_path(parts)} was replaced meanwhile",
                    condition="TABLE_NOT_FOUND",
                )
            return WarehouseEntry(head_of("drop_table"), remove_tables=(parts,))

        self._names.commit(change)
        self._drop_unnamed([found])

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
        return locations.load_at(store, store.url)

    def import_files(
        self,
        name: str | Name,
        source: str | os.PathLike[str],
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        progress: Progress = silent,
        **options: Any,
    ) -> Imported:
        """Import files of somebody else into a table, which is created if it does not exist.

        The schemas of all files are read and merged before a row is. Parquet files are adopted in place,
        without a copy, below one of the catalog's ``roots``.

        Args:
            source: a folder, file or pattern (``s3://bucket/raw/**/*.parquet``, ``root:lake/raw``).
            partitioned_by, properties: of a new table, as in ``create_table``.
            progress: called with the step and how much of it is done.
            options:
                - ``copy``: convert the rows into segments of the table's own.
                - ``format``: ``parquet``, ``orc``, ``csv`` or ``json``; by the names of files if
                omitted.
                - ``schema``: a provided schema: DDL, the path of a ``.sql`` file, or a Schema.
                - ``strict``: take only the columns of ``schema``.
                - ``aliases``: new names by the dotted path in files; ``exclude``: columns to skip.
                - ``evolve``: let an existing table get new columns and wider types.
                - ``path_columns``: whether ``name=value`` in paths is a column; true by default.
                - ``binary_as_string``: binaries without annotation are text.
                - ``nanoseconds``: ``refuse`` (the default) or ``truncate`` digits below a microsecond.
                - ``delimiter``, ``header``, ``null``: of CSV.
                - ``skip_unreadable``: leave out files that can't be read, and report them.
                - ``batch_files``: how many files a commit adds.
                - ``again``: ``changed`` imports files again that have changed since; ``all`` imports
                every file again.

        Raises:
            InvalidRequestError: files can't be read or brought together; the error lists them, with the
                options that settle it.
        """
        if self.table_exists(name):
            return self.load_table(name).import_files(source, progress=progress, **options)

        def create(ddl: str) -> TableHandle:
            made = self.create_table(
                name, ddl, partitioned_by=partitioned_by, properties=properties
            )
            return made.handle

        shown = render_path(parse_path(name))
        done: Imported = interop("import_new")(
            self._store, shown, source, options, create, progress
        )
        return done

    def verify_table(
        self,
        name: str | Name,
        *,
        deep: bool = False,
        every_version: bool = False,
        progress: Progress = silent,
    ) -> Verified:
        """Verify a table that may be too damaged to be loaded. See ``Maintenance.verify``.

        Raises:
            NotFoundError: no table has the name.
        """
        parts = parse_path(name)
        store = self._store.child(self._names.find(self._names.state(), parts).location)
        shown = render_path(parts)
        return verify(store, shown, deep=deep, every_version=every_version, progress=progress)

    @staticmethod
    def verify_path(
        path: str | os.PathLike[str],
        *,
        deep: bool = False,
        every_version: bool = False,
        progress: Progress = silent,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Verified:
        """Verify the table in a folder. See ``Maintenance.verify``."""
        store = open_store(path, storage_options)
        return verify(store, store.url, deep=deep, every_version=every_version, progress=progress)

    @staticmethod
    def recover(
        broken: str | os.PathLike[str],
        new: str | os.PathLike[str],
        *,
        progress: Progress = silent,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Recovered:
        """Recover a table whose log is lost or corrupt into a new folder.

        Used are the log as far as it can be followed from its start or a checkpoint, later readable
        entries, and the footers of segments that no entry names. Segments are read and copied; nothing
        is written in the old folder. The new table keeps the table UUID, column IDs and schema versions;
        load it with ``load_path``.

        Args:
            broken: the folder of the old table.
            new: an empty folder for the new table.
            progress: called with the step and how much of it is done.
            storage_options: options of the file systems.

        Returns:
            What was recovered, what was left out, and what could not be determined.

        Raises:
            AlreadyExistsError: the new folder is not empty.
            CorruptTableError: no schema can be read.
        """
        return recover(
            open_store(broken, storage_options), open_store(new, storage_options), progress
        )

    @staticmethod
    def vacuum_path(
        path: str | os.PathLike[str],
        retention: timedelta = DEFAULT_RETENTION,
        *,
        dry_run: bool = True,
        force: bool = False,
        progress: Progress = silent,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Vacuumed:
        """Vacuum a table by its folder. See ``Maintenance.vacuum``.

        All data and history of a table that was dropped longer ago than the retention is deleted.

        Raises:
            NotFoundError: there never was a table in the folder.
        """
        store = open_store(path, storage_options)
        timeline = locations.timeline_at(store)
        loaded = timeline.load()
        if loaded.state is None:
            raise NotFoundError(f"there is no table at {store.url}", condition="TABLE_NOT_FOUND")
        if not loaded.state.dropped:
            table = Table(timeline, loaded, store.url)
            return table.maintenance.vacuum(
                retention, dry_run=dry_run, force=force, progress=progress
            )
        span = check_retention(retention, store.url, BREAKS, force=force)
        return vacuum_dropped(
            timeline, loaded.state, store.url, span, dry_run=dry_run, progress=progress
        )

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
        storage_options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Create a table in a folder, outside any warehouse. See ``create_table``."""
        store = open_store(path, storage_options)
        with naming_table(store.url):
            operation = creation(
                schema, partitioned_by, properties, comment, primary_key, time_index
            )
        return locations.create_at(store, operation, store.url, str(uuid.uuid4()))

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
        placement = locations.plan_creation_at(store, "", operation.table_uuid, "create")
        plan = locations.plan_rows_at(store, operation, store.url, arrow, placement.base_version)
        return plan, replace(operation, first_column_id=placement.first_column_id)

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
        placement = locations.plan_creation_at(table.store, "", uuid_, "replace", replaced)
        plan = locations.plan_rows_at(
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
        return locations.create_at(reopen(location), operation, name, commit_id)

    @staticmethod
    def commit_path(location: Location, operation: Create, commit_id: str) -> Table:
        """Create a table, with the rows that were written by its plan."""
        return locations.create_at(reopen(location), operation, location.url, commit_id)
