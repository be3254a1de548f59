"""The making of tables in a catalog: at once, or planned, filled and committed with their rows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from versioned_catalog.catalog.declaration import Columns, creation
from versioned_catalog.catalog.locations import (
    Mode,
    Placement,
    create_at,
    drop_at,
    load_at,
    place_at,
    plan_at,
    timeline_at,
)
from versioned_catalog.conflicts.operations import Create
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    naming_table,
)
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.warehouse.names import Names, check_free, head_of, safe_folder
from versioned_catalog.warehouse.state import Name, TableName, WarehouseEntry, WarehouseState
from versioned_catalog.write.plan import WritePlan

_TRIES = 16
"""How often CREATE OR REPLACE looks again whether there is a table."""


def _shown(name: str | Name) -> str:
    """A table's name in errors, even one that is not well formed."""
    return name if isinstance(name, str) else render_path(name)


class TableCreation:
    """How ``Catalog`` makes and replaces tables."""

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
        """Make a table.

        Args:
            name: its name, after that of its namespace.
            schema: Spark's DDL, a Schema, or a pyarrow Schema.
            partitioned_by: transforms of columns: ``["days(ts)", "bucket(16, host)"]``; of a table with
                a primary key, of columns of its row key.
            primary_key: the columns that rows are told apart by, together with the time index: there
                is one row a key then, and writes are upserts. They become NOT NULL.
            time_index: the column that says when a row was; rows are sorted by it last. Without a
                primary key the table is append-only: no row replaces another.
            properties: text to text; ``sort_by``, ``target_segment_bytes``, ``isolation``, ``ttl``
                and ``distribution_mode`` mean something.
            comment: for people.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace.
            InvalidRequestError: the schema can't be.
        """
        with naming_table(_shown(name)):
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key=primary_key,
                time_index=time_index,
            )
            return self._make_now(name, operation, "create")

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
        """Begin a table anew in one commit: columns, rows, properties; its history stays.

        Args:
            name, schema, partitioned_by, primary_key, time_index, properties, comment: as in
                ``create_table``.
            or_create: make the table where there is none.

        Raises:
            NotFoundError: there is no such table, or no such namespace.
            InvalidRequestError: the schema can't be.
            CommitConflictError: the table was dropped meanwhile.
        """
        with naming_table(_shown(name)):
            operation = creation(
                schema,
                partitioned_by,
                properties,
                comment,
                primary_key=primary_key,
                time_index=time_index,
            )
            return self._make_now(name, operation, "create or replace" if or_create else "replace")

    def _make_now(self, name: str | Name, operation: Create, mode: Mode) -> Table:
        placement = self.place_table(name, mode, operation.table_uuid)
        return self.make_table(name, placement, operation, str(uuid.uuid4()))

    def place_table(
        self, name: str | Name, mode: Mode = "create", table_uuid: str | None = None
    ) -> Placement:
        """Decide where a table is to be made, and in whose place; nothing is written.

        Args:
            name: its name.
            mode: ``create``, ``replace`` or ``create or replace``.
            table_uuid: who it will be, where that is decided already.

        Raises:
            AlreadyExistsError: the name is taken, and nothing is to be replaced.
            NotFoundError: there is no such table and none is to be created, or no such namespace.
        """
        parts, state = parse_path(name), self._names.state()
        identity = table_uuid or str(uuid.uuid4())
        if mode == "replace" or (mode != "create" and self._names.get(state, parts)):
            found = self._names.find(state, parts)
            store = self._store.child(found.location)
            return place_at(store, found.location, identity, mode, found.table_uuid)
        check_free(state, parts)
        folder = self._free_folder(parts, identity)
        return place_at(self._store.child(folder), folder, identity, mode)

    def _free_folder(self, name: Name, table_uuid: str) -> str:
        """The folder of the name, or one beside it where a table lives that has another name now."""
        folder = safe_folder(name)
        try:
            state = timeline_at(self._store.child(folder)).load().state
        except InvalidRequestError:
            return f"{folder}-{table_uuid[:8]}"  # it is a warehouse of its own
        return folder if state is None or state.dropped else f"{folder}-{table_uuid[:8]}"

    def plan_rows(
        self,
        name: str | Name,
        placement: Placement,
        operation: Create,
        arrow: pa.Schema | None = None,
    ) -> WritePlan:
        """Plan the first rows of a table that ``make_table`` will make.

        Args:
            name: the table's name.
            placement: where it will be.
            operation: ``creation(...)`` of it.
            arrow: the schema of what will be written, to be refused where it does not fit.
        """
        made = replace(operation, table_uuid=placement.table_uuid)
        store, shown = self._store.child(placement.folder), render_path(parse_path(name))
        return plan_at(store, made, shown, arrow, placement.base_version)

    def make_table(
        self, name: str | Name, placement: Placement, operation: Create, commit_id: str
    ) -> Table:
        """Make or replace a table as it was placed, with the rows that were written by its plan.

        Asked again with the same commit ID, it finishes what is left to do, and makes nothing twice.

        Args:
            name: the table's name.
            placement: where it will be.
            operation: the same ``creation(...)`` that its rows were planned with, and their records.
            commit_id: who this commit is.

        Raises:
            AlreadyExistsError: the name was taken meanwhile, and nothing is to be replaced.
            NotFoundError: the namespace is gone.
            CommitConflictError: somebody changed what it was planned on.
        """
        parts = parse_path(name)
        for _ in range(_TRIES):
            try:
                return self._make(parts, placement, operation, commit_id)
            except (AlreadyExistsError, CommitConflictError) as error:
                if placement.mode != "create or replace":
                    raise
                if operation.records or placement.read_version is not None:
                    raise CommitConflictError(
                        f"{render_path(parts)} was made, dropped or changed by somebody else since "
                        "this was planned; run it again"
                    ) from error
            placement = self.place_table(parts, placement.mode)
        raise CommitConflictError(
            f"others made and dropped {render_path(parts)} {_TRIES} times while it was to be made or "
            "replaced; try again later"
        )

    def _make(self, name: Name, placement: Placement, creation: Create, commit_id: str) -> Table:
        store, operation = self._store.child(placement.folder), placement.operation(creation)
        since, shown = placement.base_version, render_path(name)
        if isinstance(operation, Create):
            attempts: list[None] = []
            count = partial(attempts.append, None)
            table = create_at(store, operation, shown, commit_id, since=since, check=count)
            named = TableName(name, placement.folder, operation.table_uuid)
            self._give_name(named, table, commit_id, again=not attempts)
            return table

        def check() -> None:
            self._check_still_named(name, placement)

        return create_at(store, operation, shown, commit_id, since=since, check=check)

    def _check_still_named(self, name: Name, placement: Placement) -> None:
        """Refuse to replace a table that was dropped or renamed since that was planned."""
        found = self._names.get(self._names.state(), name)
        wanted = (placement.folder, placement.replaced_uuid)
        if found is None or (found.location, found.table_uuid) != wanted:
            raise CommitConflictError(
                f"{render_path(name)} was dropped or renamed since its replacement was planned (on "
                f"version {placement.base_version}); run it again"
            )

    def _give_name(
        self, named: TableName, table: Table, commit_id: str, *, again: bool = False
    ) -> None:
        """The second half of CREATE: without it, the table is whole and has no name.

        Args:
            named: the name.
            table: the table.
            commit_id: of the first half; that of the second one follows from it.
            again: whether an earlier attempt carried out the first half. It may have given the name
                too, which may have been dropped since and must not come back.
        """
        own_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"the name of {commit_id}"))
        if again and self._names.has_landed(own_id):
            return

        def change(state: WarehouseState) -> WarehouseEntry | None:
            if any(one.table_uuid == named.table_uuid for one in state.tables.values()):
                return None  # an earlier attempt did it
            check_free(state, named.name)
            if again:
                load_at(table.store, table.name, named.table_uuid)
            return WarehouseEntry(head_of("create_table"), set_tables=(named,))

        try:
            self._names.commit(change, own_id)
        except (AlreadyExistsError, NotFoundError):
            drop_at(table.store, named.table_uuid)
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
        """Plan the making of a table together with its first rows; see ``commit_table``.

        Args:
            name, schema, partitioned_by, primary_key, time_index, properties, comment: as in
                ``create_table``.
            arrow: the schema of what will be written.
        """
        operation = creation(
            schema,
            partitioned_by,
            properties,
            comment,
            primary_key=primary_key,
            time_index=time_index,
        )
        placement = self.place_table(name, "create", operation.table_uuid)
        plan = self.plan_rows(name, placement, operation, arrow)
        return plan, replace(operation, first_column_id=placement.first_column_id)

    def commit_table(
        self, name: str | Name, location: Location, operation: Create, commit_id: str
    ) -> Table:
        """Make a table with the rows that were written by its plan.

        Args:
            name: the table's name.
            location: the plan's.
            operation: what ``plan_table`` gave, with the records of the rows.
            commit_id: who this commit is.

        Raises:
            AlreadyExistsError: the name was taken meanwhile.
        """
        parts, folder = parse_path(name), location.url.removeprefix(self._store.url).strip("/")
        table = create_at(self._store.child(folder), operation, render_path(parts), commit_id)
        self._give_name(TableName(parts, folder, operation.table_uuid), table, commit_id)
        return table
