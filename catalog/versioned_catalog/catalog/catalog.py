"""The catalog: namespaces and tables of a warehouse, kept as files beside the data."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from versioned_catalog.catalog.create import TableCreation
from versioned_catalog.catalog.declaration import Columns, creation
from versioned_catalog.catalog.locations import (
    create_at,
    drop_at,
    load_at,
    place_at,
    plan_at,
    timeline_at,
)
from versioned_catalog.catalog.namespaces import Namespaces
from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.errors import NotFoundError, naming_table
from versioned_catalog.log.codec import Loaded
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

REMEMBERED = 32
"""How many tables a catalog remembers as they were loaded last."""


class Catalog(TableCreation, Namespaces, Views):
    """The namespaces, tables and views of a warehouse.

    Names are dotted text, with backticks around parts that hold dots, or tuples of parts.

    Args:
        warehouse: a folder: a path, or a URL of an fsspec file system with put-if-absent.
        storage_options: options of the file system.

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
        self, warehouse: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> None:
        self._open(open_store(warehouse, storage_options))

    @classmethod
    def over(cls, store: Store) -> Catalog:
        """The catalog of a warehouse whose store is open already."""
        catalog = cls.__new__(cls)
        catalog._open(store)
        return catalog

    def _open(self, store: Store) -> None:
        self._store = store
        self._names = Names(store)
        self._known: OrderedDict[str, Loaded[TableState]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Catalog({self._store.url!r})"

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """The names of the tables in a namespace, or at the top, sorted.

        Raises:
            NotFoundError: there is no such namespace, or no warehouse.
        """
        state, above = self._names.existing(), parse_namespace(namespace)
        check_namespace(state, above)
        names = (table.name for table in state.tables.values())
        key = full_key(above)
        return sorted(name[-1] for name in names if full_key(name[:-1]) == key)

    def table_exists(self, name: str | Name) -> bool:
        """Whether a table has that name."""
        return full_key(parse_path(name)) in self._names.state().tables

    def load_table(self, name: str | Name) -> Table:
        """A table by its name, at its newest version. Of one that was loaded before, only what was
        committed since is read.

        Raises:
            NotFoundError: there is none.
        """
        parts = parse_path(name)
        found = self._names.find(self._names.existing(), parts)
        store, known = self._store.child(found.location), self._known.get(found.location)
        table = load_at(store, render_path(parts), found.table_uuid, known)
        self._known[found.location] = table.loaded
        self._known.move_to_end(found.location)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return table

    def rename_table(self, name: str | Name, new_name: str | Name) -> None:
        """Give a table another name, maybe in another namespace; nothing is moved.

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
        """Free the name and end the table. Its files stay until they are vacuumed.

        Raises:
            NotFoundError: there is no such table.
        """
        parts = parse_path(name)
        found = self._names.find(self._names.state(), parts)
        store = self._store.child(found.location)
        timeline_at(store).load()  # refuse what can't be read before its name is gone

        def change(state: WarehouseState) -> WarehouseEntry:
            if self._names.find(state, parts).table_uuid != found.table_uuid:
                raise NotFoundError(
                    f"the table {render_path(parts)} was replaced by another one meanwhile",
                    condition="TABLE_NOT_FOUND",
                )
            return WarehouseEntry(head_of("drop_table"), remove_tables=(parts,))

        self._names.commit(change)
        drop_at(store, found.table_uuid)

    @staticmethod
    def load_path(
        path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> Table:
        """A table by its folder, with or without a warehouse.

        Raises:
            NotFoundError: there is none.
        """
        store = open_store(path, storage_options)
        return load_at(store, store.url)

    def verify_table(
        self,
        name: str | Name,
        *,
        deep: bool = False,
        every_version: bool = False,
        progress: Progress = silent,
    ) -> Verified:
        """``Maintenance.verify`` of a table that may be too damaged to be loaded.

        Raises:
            NotFoundError: no table has that name.
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
        """``Maintenance.verify`` of whatever is in a folder."""
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
        """Make a table anew from what can still be read of one whose log is lost or corrupt.

        The log counts as far as it can be followed, from its beginning or a checkpoint; then what later
        entries say that can be read; then the footers of segments that nobody names. Segments are read
        whole and copied; nothing is written in the old folder. The new table has the old one's table
        UUID, column IDs and schema versions; load it with ``load_path``.

        Args:
            broken: the folder of the old table.
            new: where the new one will be: a folder that is empty.
            progress: is told how far it is.
            storage_options: what the file systems are opened with.

        Returns:
            What was brought back, what was left, and what could not be known.

        Raises:
            AlreadyExistsError: the new folder is not empty.
            CorruptTableError: nothing that can be read says what columns there were.
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
        """Vacuum a table by its folder; of one that was dropped, longer ago than the retention, all
        data goes, and its history with it. See ``Maintenance.vacuum``.

        Raises:
            NotFoundError: there never was a table.
        """
        store = open_store(path, storage_options)
        timeline = timeline_at(store)
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
        """Make a table in a folder, outside any warehouse. See ``create_table``."""
        store = open_store(path, storage_options)
        with naming_table(store.url):
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key=primary_key,
                time_index=time_index,
            )
        return create_at(store, operation, store.url, str(uuid.uuid4()))

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
        """Plan the making of a table in a folder together with its first rows; see ``plan_table``."""
        operation = creation(schema, partitioned_by, primary_key=primary_key, time_index=time_index)
        store = open_store(path, storage_options)
        placement = place_at(store, "", operation.table_uuid, "create")
        plan = plan_at(store, operation, store.url, arrow, placement.base_version)
        return plan, replace(operation, first_column_id=placement.first_column_id)

    @staticmethod
    def plan_replacing(
        table: Table, operation: Create, arrow: pa.Schema
    ) -> tuple[WritePlan, Replace]:
        """Plan the replacement of a table, wherever it is, together with its first rows.

        Args:
            table: the table.
            operation: ``creation(...)`` of the one in its place.
            arrow: the schema of what will be written.

        Returns:
            The plan of the rows, and what ``commit_replacing`` commits with their records in it.
        """
        uuid_, replaced = operation.table_uuid, table.state.created_uuid
        placement = place_at(table.store, "", uuid_, "replace", replaced)
        plan = plan_at(table.store, operation, table.name, arrow, placement.base_version)
        made = placement.operation(operation)
        assert isinstance(made, Replace), "it was placed to replace"
        return plan, made

    @staticmethod
    def commit_replacing(
        location: Location, operation: Replace, name: str, commit_id: str
    ) -> Table:
        """Replace a table with the rows that were written by its plan."""
        return create_at(reopen(location), operation, name, commit_id)

    @staticmethod
    def commit_path(location: Location, operation: Create, commit_id: str) -> Table:
        """Make a table with the rows that were written by its plan."""
        return create_at(reopen(location), operation, location.url, commit_id)
