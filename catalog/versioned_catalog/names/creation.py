"""Creation of tables: at once, or planned and committed with their first rows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import listed
from versioned_catalog.commit.operations import Create
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    naming_table,
)
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import Change, SetPartitioning, SetProperty
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.keys import KeyNames, key_names, render_sort_by, take_key
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import schema_from_arrow
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column
from versioned_catalog.names.folders import (
    Mode,
    Placement,
    create_at,
    drop_at,
    load_at,
    plan_creation_at,
    plan_rows_at,
    timeline_at,
)
from versioned_catalog.names.names import Names, check_free, head_of, safe_folder
from versioned_catalog.names.names_log import Name, TableName, WarehouseEntry, WarehouseState
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table
from versioned_catalog.write.plan import WritePlan
from versioned_catalog.write.properties import check_properties

Columns = str | Schema | Any
"""A schema argument: Spark DDL, a Schema, or a pyarrow Schema."""


def creation(
    schema: Columns,
    partitioned_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    primary_key: Sequence[str] = (),
    time_index: str | None = None,
    *,
    table_uuid: str | None = None,
) -> Create:
    """Return the operation that creates a table; equal arguments give equal operations in any process.

    Args:
        schema, partitioned_by, properties, comment, primary_key, time_index: as in
            ``Catalog.create_table``.
        table_uuid: the table UUID; generated if omitted.

    Raises:
        InvalidRequestError: the schema, key, partitioning or a property is invalid.
    """
    if not isinstance(properties, Mapping | None) or not isinstance(comment, str | None):
        raise InvalidRequestError(
            "properties must be a mapping of text to text, and a comment must be text"
        )
    new_properties = dict(properties or {})
    key = take_key(new_properties, primary_key, time_index)
    if isinstance(schema, Schema) and key == KeyNames():
        key = key_names(schema)
    check_properties(new_properties)
    columns, kept_by, kept_sort = _declared(schema)
    partitions = listed(partitioned_by) or kept_by
    requests: list[Change] = [SetPartitioning(partitions)] if partitions else []
    requests += [SetProperty(key, value) for key, value in {**kept_sort, **new_properties}.items()]

    def arrange(evolution: Evolution) -> Evolution:
        keyed = replace(evolution, schema=key.apply(evolution.schema))
        if not requests:
            return keyed
        _, after = plan_changes(requests, keyed, keyed.schema.version)
        return after

    if not columns:
        raise InvalidRequestError("a table needs at least one column")
    return Create(table_uuid or str(uuid.uuid4()), columns, arrange, comment=comment)


def _declared(schema: Columns) -> tuple[tuple[Column, ...], tuple[str, ...], dict[str, str]]:
    """Return the columns, partitioning and sort order of a declared schema."""
    match schema:
        case str():
            return Schema.parse(schema).columns, (), {}
        case pa.Schema():
            return _declared(schema_from_arrow(schema))
        case Schema():
            partitions = tuple(partition_fields(schema))
            sort_by = render_sort_by(schema)
            return schema.columns, partitions, {"sort_by": sort_by} if sort_by else {}
        case _:
            raise InvalidRequestError(
                f"a schema must be Spark DDL, a Schema or a pyarrow Schema, got {type(schema).__name__}"
            )


_TRIES = 16
"""How often CREATE OR REPLACE checks again whether the table exists."""


def _shown(name: str | Name) -> str:
    """Render a table's name for errors, even if it is malformed."""
    return name if isinstance(name, str) else render_path(name)


class TableCreation:
    """The part of ``Catalog`` that creates and replaces tables."""

    _store: Store
    _names: Names

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
                ``isolation``, ``ttl``, ``auto_compact``, ``publish`` and ``distribution_mode``.
            comment: the table comment.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace.
            InvalidRequestError: the schema, key, partitioning or a property is invalid.
        """
        with naming_table(_shown(name)):
            operation = creation(
                schema, partitioned_by, properties, comment, primary_key, time_index
            )
            return self._create_now(name, operation, "create")

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
        or_create: bool = False,
    ) -> Table:
        """Replace the columns, rows and properties of a table in one commit; its history stays.

        Args:
            name, schema, partitioned_by, primary_key, time_index, properties, comment: as in
                ``create_table``.
            or_create: create the table if it does not exist.

        Raises:
            NotFoundError: there is no such table or namespace.
            InvalidRequestError: the schema, key, partitioning or a property is invalid.
            CommitConflictError: the table was dropped meanwhile.
        """
        with naming_table(_shown(name)):
            operation = creation(
                schema, partitioned_by, properties, comment, primary_key, time_index
            )
            return self._create_now(
                name, operation, "create or replace" if or_create else "replace"
            )

    def _create_now(self, name: str | Name, operation: Create, mode: Mode) -> Table:
        placement = self.plan_creation(name, mode, operation.table_uuid)
        return self.commit_creation(name, placement, operation, str(uuid.uuid4()))

    def plan_creation(
        self, name: str | Name, mode: Mode = "create", table_uuid: str | None = None
    ) -> Placement:
        """Determine the folder of a new table, and the table it replaces; nothing is written.

        Args:
            name: the table's name.
            mode: ``create``, ``replace`` or ``create or replace``.
            table_uuid: the new table UUID; generated if omitted.

        Raises:
            AlreadyExistsError: the name is taken, and the mode is ``create``.
            NotFoundError: there is no such table, and the mode is ``replace``; or no such namespace.
        """
        parts, state = parse_path(name), self._names.state()
        identity = table_uuid or str(uuid.uuid4())
        if mode == "replace" or (mode != "create" and self._names.get(state, parts)):
            replaced = self._names.find(state, parts)
            store = self._store.child(replaced.location)
            return plan_creation_at(store, replaced.location, identity, mode, replaced.table_uuid)
        check_free(state, parts)
        folder = self._free_folder(parts, identity)
        return plan_creation_at(self._store.child(folder), folder, identity, mode)

    def _free_folder(self, name: Name, table_uuid: str) -> str:
        """The folder of a name; with a suffix if it holds a renamed table."""
        folder = safe_folder(name)
        try:
            state = timeline_at(self._store.child(folder)).load().state
        except InvalidRequestError:
            return f"{folder}-{table_uuid[:8]}"  # the folder is another warehouse
        return folder if state is None or state.dropped else f"{folder}-{table_uuid[:8]}"

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
        store, shown = self._store.child(placement.folder), render_path(parse_path(name))
        return plan_rows_at(store, placed, shown, arrow, placement.base_version)

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
        parts = parse_path(name)
        for _ in range(_TRIES):
            try:
                return self._create(parts, placement, operation, commit_id)
            except (AlreadyExistsError, CommitConflictError) as error:
                if placement.mode != "create or replace":
                    raise
                if operation.records or placement.read_version is not None:
                    raise CommitConflictError(
                        f"{render_path(parts)} was created, dropped or changed by another commit since "
                        "this was planned; run it again"
                    ) from error
            placement = self.plan_creation(parts, placement.mode)
        raise CommitConflictError(
            f"others created and dropped {render_path(parts)} {_TRIES} times meanwhile; try again "
            "later"
        )

    def _create(self, name: Name, placement: Placement, creation: Create, commit_id: str) -> Table:
        store, operation = self._store.child(placement.folder), placement.operation(creation)
        since, shown = placement.base_version, render_path(name)
        if isinstance(operation, Create):
            attempts: list[None] = []
            count = partial(attempts.append, None)
            table = create_at(store, operation, shown, commit_id, since=since, check=count)
            named = TableName(name, placement.folder, operation.table_uuid)
            self._add_name(named, table, commit_id, again=not attempts)
            return table

        def check() -> None:
            self._check_still_named(name, placement)

        return create_at(store, operation, shown, commit_id, since=since, check=check)

    def _check_still_named(self, name: Name, placement: Placement) -> None:
        """Refuse to replace a table that was dropped or renamed since the plan."""
        current = self._names.get(self._names.state(), name)
        wanted = (placement.folder, placement.replaced_uuid)
        if current is None or (current.location, current.table_uuid) != wanted:
            raise CommitConflictError(
                f"{render_path(name)} was dropped or renamed since its replacement was planned (on "
                f"version {placement.base_version}); run it again"
            )

    def _add_name(
        self, named: TableName, table: Table, commit_id: str, *, again: bool = False
    ) -> None:
        """Name a created table in the warehouse: the second commit of CREATE.

        Args:
            named: the name.
            table: the table.
            commit_id: idempotency key of the first commit; that of the second is derived from it.
            again: whether an earlier attempt made the first commit. It may have added the name, too,
                which may have been dropped since and must not come back.
        """
        own_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"the name of {commit_id}"))
        if again and self._names.has_landed(own_id):
            return

        def change(state: WarehouseState) -> WarehouseEntry | None:
            if any(other.table_uuid == named.table_uuid for other in state.tables.values()):
                return None  # an earlier attempt added the name
            check_free(state, named.name)
            if again:
                load_at(table.store, table.name, named.table_uuid)
            return WarehouseEntry(head_of("create_table"), set_tables=(named,))

        try:
            self._names.commit(change, own_id)
        except (AlreadyExistsError, NotFoundError):
            drop_at(table.store, named.table_uuid, table.name)
            raise

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
        table = create_at(self._store.child(folder), operation, render_path(parts), commit_id)
        self._add_name(TableName(parts, folder, operation.table_uuid), table, commit_id)
        return table
