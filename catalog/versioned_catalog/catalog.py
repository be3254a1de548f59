"""The catalog of a warehouse: namespaces, tables and views, stored as files beside the data."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from versioned_catalog.commit.operations import Create, Replace
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import (
    AlreadyExistsError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedFeatureError,
    VersionedError,
    naming_table,
)
from versioned_catalog.interop import interop
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import DEFAULT as DEFAULT_RETENTION
from versioned_catalog.maintain.expiry import check_retention
from versioned_catalog.maintain.log_check import Verified
from versioned_catalog.maintain.recover import Recovered, recover
from versioned_catalog.maintain.vacuum import BREAKS, Vacuumed, vacuum_dropped
from versioned_catalog.maintain.verify import verify
from versioned_catalog.model.ddl import SOURCE
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.names import folders
from versioned_catalog.names.creation import Columns, TableCreation, creation
from versioned_catalog.names.folders import drop_at
from versioned_catalog.names.names import (
    Names,
    check_free,
    check_namespace,
    check_new_name,
    check_properties,
    head_of,
    parse_namespace,
)
from versioned_catalog.names.names_log import (
    Name,
    Namespace,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.names.views import Views
from versioned_catalog.storage.opening import Roots, open_store, reopen, with_roots
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table
from versioned_catalog.write.plan import WritePlan

if TYPE_CHECKING:
    from versioned_interop.convert.convert import Conversion, Request, Synced
    from versioned_interop.imports.import_files import Imported


def _put_back(table: TableName, state: WarehouseState) -> WarehouseEntry | None:
    """The entry that gives a table its name back, unless another table or view has taken it."""
    if full_key(table.name) in {*state.tables, *state.views}:
        return None
    above = (table.name[:size] for size in range(1, len(table.name)))
    missing = tuple(name for name in above if full_key(name) not in state.namespaces)
    return WarehouseEntry(head_of("create_table"), add_namespaces=missing, set_tables=(table,))


def _keys(unset: Iterable[str]) -> list[str]:
    keys = [] if isinstance(unset, str) else list(unset)
    if isinstance(unset, str) or not all(isinstance(key, str) for key in keys):
        raise InvalidRequestError(f"keys to unset must be a list of text, got {unset!r}")
    return keys


REMEMBERED = 32
"""Number of loaded tables that a catalog caches."""


class Catalog(TableCreation, Views):
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
        self._cached: OrderedDict[str, LoadedState[TableState]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Catalog({self._store.url!r})"

    # Tables

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
        table_name = self._names.find(self._names.existing(), parts)
        location = table_name.location
        store, cached = self._store.child(location), self._cached.get(location)
        table = folders.load_at(store, render_path(parts), table_name.table_uuid, cached)
        self._cached[location] = table.loaded
        self._cached.move_to_end(location)
        if len(self._cached) > REMEMBERED:
            self._cached.popitem(last=False)
        return table if schema is None else table.seen_as(schema, overflow=overflow)

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

    def rename_table(self, name: str | Name, new_name: str | Name) -> None:
        """Rename a table, possibly into another namespace; its files stay in place.

        Raises:
            NotFoundError: there is no such table or namespace.
            AlreadyExistsError: the new name is taken.
        """
        old, new = parse_path(name), parse_path(new_name)

        def change(state: WarehouseState) -> WarehouseEntry:
            table_name = self._names.find(state, old)
            if full_key(new) != full_key(old):
                check_free(state, new)
            renamed = replace(table_name, name=new)
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
        table_name = self._names.find(self._names.state(), parts)
        self._check_droppable([table_name])

        def change(state: WarehouseState) -> WarehouseEntry:
            if self._names.find(state, parts).table_uuid != table_name.table_uuid:
                raise NotFoundError(
                    f"the table {render_path(parts)} was replaced meanwhile",
                    condition="TABLE_NOT_FOUND",
                )
            return WarehouseEntry(head_of("drop_table"), remove_tables=(parts,))

        self._names.commit(change)
        self._drop_unnamed([table_name])

    def _check_droppable(self, tables: Iterable[TableName]) -> None:
        """Refuse to drop tables if the rules forbid it for one of them.

        Names are removed first, in another log. The rules apply again when each drop is committed.
        """
        for table in tables:
            store, name = self._store.child(table.location), render_path(table.name)
            try:
                drop_at(store, table.table_uuid, name, dry_run=True)
            except CorruptTableError as error:
                raise CorruptTableError(
                    f"{name} can't be dropped, since its log is damaged ({error}); recover it, or "
                    f"delete its folder {store.url} and drop it again"
                ) from error

    def _drop_unnamed(self, tables: Iterable[TableName]) -> None:
        """Drop tables whose names were removed; a table that must not be dropped gets its name back.

        Raises:
            VersionedError: the first failure; the other tables are dropped.
        """
        failures: list[VersionedError] = []
        for table in tables:
            store, name = self._store.child(table.location), render_path(table.name)
            try:
                drop_at(store, table.table_uuid, name)
            except (InvalidRequestError, UnsupportedFeatureError) as error:
                self._names.commit(partial(_put_back, table))
                if self._names.get(self._names.state(), table.name) == table:
                    failures.append(error)
                    continue
                failures.append(
                    InvalidRequestError(
                        f"{error}; its name was taken meanwhile: load it with "
                        f"Catalog.load_path({store.url!r})"
                    )
                )
            except VersionedError as error:
                failures.append(error)
        if failures:
            raise failures[0]

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
        parts, kept = parse_path(name), check_properties(properties)

        def change(state: WarehouseState) -> WarehouseEntry | None:
            if full_key(parts) in state.namespaces:
                if if_not_exists:
                    return None
                raise AlreadyExistsError(f"the namespace {render_path(parts)} already exists")
            check_new_name(parts)
            check_namespace(state, parts[:-1])
            described = (Namespace(parts, kept),) if kept else ()
            return WarehouseEntry(
                head_of("create_namespace"), add_namespaces=(parts,), set_namespaces=described
            )

        self._names.commit(change)

    def list_namespaces(self, parent: str | Name | None = None) -> list[str]:
        """List the namespaces directly inside another, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, above = self._names.existing(), parse_namespace(parent)
        check_namespace(state, above)
        names = (namespace.name for namespace in state.namespaces.values())
        key = full_key(above)
        return sorted(render_path(name) for name in names if full_key(name[:-1]) == key)

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
        parts, new, removed = parse_path(name), check_properties(set), frozenset(_keys(unset))

        def change(state: WarehouseState) -> WarehouseEntry | None:
            check_namespace(state, parts)
            old = state.namespaces[full_key(parts)].properties
            kept = {key: text for key, text in old.items() if key not in removed}
            described = Namespace(parts, kept | new)
            if described.properties == old:
                return None
            return WarehouseEntry(head_of("alter_namespace"), set_namespaces=(described,))

        self._names.commit(change)

    def drop_namespace(self, name: str | Name, cascade: bool = False) -> None:
        """Remove a namespace.

        Args:
            name: the namespace.
            cascade: also drop the tables, views and namespaces in it, in one commit of names.

        Raises:
            NotFoundError: there is no such namespace.
            InvalidRequestError: it is not empty, or a table in it must not be dropped.
        """
        parts = parse_path(name)
        key = full_key(parts)
        dropped: list[TableName] = []

        def change(state: WarehouseState) -> WarehouseEntry:
            check_namespace(state, parts)
            spaces = [space.name for k, space in state.namespaces.items() if k[: len(key)] == key]
            dropped[:] = [table for k, table in state.tables.items() if k[: len(key)] == key]
            views = [view.name for k, view in state.views.items() if k[: len(key)] == key]
            if not cascade and (len(spaces) > 1 or dropped or views):
                raise InvalidRequestError(
                    f"the namespace {render_path(parts)} is not empty; drop its contents first, or "
                    "use cascade"
                )
            self._check_droppable(dropped)
            return WarehouseEntry(
                head_of("drop_namespace"),
                remove_namespaces=tuple(spaces),
                remove_tables=tuple(table.name for table in dropped),
                remove_views=tuple(views),
            )

        self._names.commit(change)
        self._drop_unnamed(dropped)

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
        timeline = folders.timeline_at(store)
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
    def recover(
        broken: str | os.PathLike[str],
        new: str | os.PathLike[str],
        *,
        progress: Progress = silent,
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
            progress: called with the step and how much of it is done.
            storage_options: options of the file systems.

        Returns:
            The recovered and the omitted segments, and sentences on what could not be determined.

        Raises:
            AlreadyExistsError: the new folder is not empty.
            CorruptTableError: no schema can be read.
        """
        return recover(
            open_store(broken, storage_options), open_store(new, storage_options), progress
        )

    # Files and tables of others

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

        The schemas of all files are read and merged before any row is read. Parquet files are adopted in
        place, without a copy, below one of the catalog's ``roots``.

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
            table = self.create_table(
                name, ddl, partitioned_by=partitioned_by, properties=properties
            )
            return table.handle

        shown = render_path(parse_path(name))
        done: Imported = interop("import_new")(
            self._store, shown, source, options, create, progress
        )
        return done

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
            properties, comment: as in ``create_table``.
            options: storage options of the library that reads the source's metadata.

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
        )[0]

    def convert_and_tell(
        self,
        name: str | Name,
        request: Request,
        conversion: Conversion,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> tuple[Table, Synced]:
        """Convert a table, and return it with the result of the sync. See ``convert``."""
        shown = name if isinstance(name, str) else render_path(name)
        with naming_table(shown):
            conversion.check()
            if self.table_exists(name):
                table = self._converted(name)
                return table, interop("sync")(table.handle, request)
            source, root = interop("open_source")(request, self._store)
            bare = creation(
                interop("first_schema")(source, conversion.primary_key),
                (),
                properties,
                comment,
                primary_key=conversion.primary_key,
            )
            table = self._create_now(name, conversion.creation(bare, source, root), "create")
            return table, interop("sync_from")(table.handle, source)

    def _converted(self, name: str | Name) -> Table:
        table = self.load_table(name)
        if SOURCE not in table.state.properties:
            shown = render_path(parse_path(name))
            raise AlreadyExistsError(
                f"there is a table {shown} already, which was not converted; choose another name"
            )
        return table
