"""The catalog: namespaces and tables of a warehouse, kept as files beside the data."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import listed
from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from versioned_catalog.log.checkpoint import TableCodec
from versioned_catalog.log.entry import Head, check_writable, next_time
from versioned_catalog.log.operations import WRITER, Create, propose
from versioned_catalog.log.timeline import Loaded, Timeline
from versioned_catalog.log.warehouse import (
    Name,
    TableName,
    WarehouseCodec,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.schema.arrow_schema import schema_from_arrow
from versioned_catalog.schema.binding import plan as plan_changes
from versioned_catalog.schema.changes import Change, SetPartitioning, SetProperty
from versioned_catalog.schema.evolution import Evolution
from versioned_catalog.schema.paths import parse_path, render_path
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import render_sort_by
from versioned_catalog.schema.types import Column
from versioned_catalog.segments.writer import target_bytes
from versioned_catalog.storage.opening import open_store, reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.table import Table, TableTimeline
from versioned_catalog.writing.plan import WritePlan, plan_create

Columns = str | Schema | Any
"""What a schema is given as: Spark's DDL, a Schema, or a pyarrow Schema."""


class Catalog:
    """The namespaces and tables of a warehouse.

    Args:
        warehouse: a folder: a path, or any URL that fsspec knows and that can put if absent.
        storage_options: what the file system is opened with.

    Names are dotted text, with backticks around parts that hold dots, or tuples of parts.
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
        self._timeline: Timeline[WarehouseEntry, WarehouseState] = Timeline(store, WarehouseCodec())
        self._loaded: Loaded[WarehouseState] | None = None

    def __repr__(self) -> str:
        return f"Catalog({self._store.url!r})"

    def _state(self) -> WarehouseState:
        """The warehouse as it is now."""
        known = self._loaded
        self._loaded = self._timeline.load() if known is None else self._timeline.advance(known)
        return self._loaded.state or _nothing()

    # Namespaces

    def create_namespace(self, name: str | Name) -> None:
        """Make a namespace.

        Raises:
            AlreadyExistsError: it is there.
            NotFoundError: the namespace that it is in is not.
        """
        parts = parse_path(name)

        def change(state: WarehouseState) -> WarehouseEntry:
            if full_key(parts) in state.namespaces:
                raise AlreadyExistsError(f"the namespace {render_path(parts)} is there already")
            _check_namespace(state, parts[:-1])
            return WarehouseEntry(_no_head("create_namespace"), add_namespaces=(parts,))

        self._commit(change)

    def drop_namespace(self, name: str | Name) -> None:
        """Remove a namespace that is empty.

        Raises:
            NotFoundError: it is not there.
            InvalidRequestError: it holds tables or namespaces.
        """
        parts = parse_path(name)

        def change(state: WarehouseState) -> WarehouseEntry:
            _check_namespace(state, parts)
            key = full_key(parts)
            inside = [n for n in (*state.namespaces, *state.tables) if n[: len(key)] == key]
            if len(inside) > 1:
                raise InvalidRequestError(
                    f"the namespace {render_path(parts)} is not empty; drop what is in it first"
                )
            return WarehouseEntry(_no_head("drop_namespace"), remove_namespaces=(parts,))

        self._commit(change)

    def list_namespaces(self, parent: str | Name | None = None) -> list[str]:
        """The namespaces directly inside another, or at the top, sorted."""
        state = self._state()
        above = () if parent is None else parse_path(parent)
        _check_namespace(state, above)
        return _directly_inside(state.namespaces.values(), above)

    # Tables

    def list_tables(self, namespace: str | Name | None = None) -> list[str]:
        """The names of the tables in a namespace, or at the top, sorted.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state = self._state()
        above = () if namespace is None else parse_path(namespace)
        _check_namespace(state, above)
        names = (table.name for table in state.tables.values())
        key = full_key(above)
        return sorted(name[-1] for name in names if full_key(name[:-1]) == key)

    def create_table(
        self,
        name: str | Name,
        schema: Columns,
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> Table:
        """Make a table.

        Args:
            name: its name, after that of its namespace.
            schema: Spark's DDL, a Schema, or a pyarrow Schema.
            partitioned_by: transforms of columns: ``["days(ts)", "bucket(16, host)"]``.
            properties: text to text; ``sort_by`` and ``target_segment_bytes`` mean something.
            comment: for people.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace.
            InvalidRequestError: the schema can't be.
        """
        parts = parse_path(name)
        operation = creation(schema, partitioned_by, properties, comment)
        store = self._place(parts, operation)
        return self._create(parts, store, operation, str(uuid.uuid4()))

    def plan_table(
        self, name: str | Name, schema: Schema, arrow: pa.Schema
    ) -> tuple[WritePlan, Create]:
        """Plan the making of a table together with its first rows; see ``commit_table``.

        Args:
            name: the table's name.
            schema: its schema.
            arrow: the schema of what will be written.
        """
        operation = creation(schema, (), None, None)
        store = self._place(parse_path(name), operation)
        return _plan_at(store, operation, arrow), operation

    def commit_table(
        self, name: str | Name, location: Location, operation: Create, commit_id: str
    ) -> Table:
        """Make a table with the rows that were written by its plan."""
        return self._create(parse_path(name), reopen(location), operation, commit_id)

    def _create(self, name: Name, store: Store, operation: Create, commit_id: str) -> Table:
        """Make the table, then give it the name."""
        table = _create_at(store, operation, render_path(name), commit_id)
        location = store.url.removeprefix(self._store.url).strip("/")

        def change(state: WarehouseState) -> WarehouseEntry:
            self._check_free(state, name)
            named = TableName(name, location, operation.table_uuid)
            return WarehouseEntry(_no_head("create_table"), set_tables=(named,))

        try:
            self._commit(change)
        except AlreadyExistsError:
            table.drop()
            raise
        return table

    def _place(self, name: Name, operation: Create) -> Store:
        """The folder of the name, or one beside it where a table lives that has another name now."""
        self._check_free(self._state(), name)
        folder = "/".join(_safe_folder(part) for part in name)
        store = self._store.child(folder)
        state = _timeline_at(store).load().state
        if state is None or state.dropped:
            return store
        return self._store.child(f"{folder}-{operation.table_uuid[:8]}")

    def _check_free(self, state: WarehouseState, name: Name) -> None:
        if full_key(name) in state.tables:
            raise AlreadyExistsError(f"the table {render_path(name)} is there already")
        _check_namespace(state, name[:-1])

    def load_table(self, name: str | Name) -> Table:
        """A table by its name, at its newest version.

        Raises:
            NotFoundError: there is none.
        """
        parts = parse_path(name)
        found = self._named(self._state(), parts)
        return _load_at(self._store.child(found.location), render_path(parts), found.table_uuid)

    def _named(self, state: WarehouseState, name: Name) -> TableName:
        found = state.tables.get(full_key(name))
        if found is None:
            _check_namespace(state, name[:-1])
            near = ", ".join(sorted(t.name[-1] for t in state.tables.values())[:20]) or "none"
            raise NotFoundError(
                f"there is no table {render_path(name)} in {self._store.url}; tables: {near}"
            )
        return found

    def rename_table(self, name: str | Name, new_name: str | Name) -> None:
        """Give a table another name, maybe in another namespace; nothing is moved.

        Raises:
            NotFoundError: there is no such table or namespace.
            AlreadyExistsError: the new name is taken.
        """
        old, new = parse_path(name), parse_path(new_name)

        def change(state: WarehouseState) -> WarehouseEntry:
            found = self._named(state, old)
            if full_key(new) != full_key(old):
                self._check_free(state, new)
            renamed = replace(found, name=new)
            return WarehouseEntry(
                _no_head("rename_table"), set_tables=(renamed,), remove_tables=(old,)
            )

        self._commit(change)

    def drop_table(self, name: str | Name) -> None:
        """Free the name and end the table. Its files stay until they are vacuumed.

        Raises:
            NotFoundError: there is no such table.
        """
        parts = parse_path(name)
        table = self.load_table(parts)
        uuid_ = table.state.table_uuid

        def change(state: WarehouseState) -> WarehouseEntry:
            if self._named(state, parts).table_uuid != uuid_:
                raise NotFoundError(f"the table {render_path(parts)} was replaced meanwhile")
            return WarehouseEntry(_no_head("drop_table"), remove_tables=(parts,))

        self._commit(change)
        table.drop()

    @staticmethod
    def load_path(
        path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> Table:
        """A table by its folder, with or without a warehouse.

        Raises:
            NotFoundError: there is none.
        """
        store = open_store(path, storage_options)
        return _load_at(store, store.url, None)

    @staticmethod
    def create_path(
        path: str | os.PathLike[str],
        schema: Columns,
        *,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Make a table in a folder, outside any warehouse. See ``create_table``."""
        store = open_store(path, storage_options)
        operation = creation(schema, partitioned_by, properties, comment)
        return _create_at(store, operation, store.url, str(uuid.uuid4()))

    @staticmethod
    def plan_path(
        path: str | os.PathLike[str],
        schema: Schema,
        arrow: pa.Schema,
        storage_options: Mapping[str, Any] | None = None,
    ) -> tuple[WritePlan, Create]:
        """Plan the making of a table in a folder together with its first rows; see ``plan_table``."""
        operation = creation(schema, (), None, None)
        return _plan_at(open_store(path, storage_options), operation, arrow), operation

    @staticmethod
    def commit_path(location: Location, operation: Create, commit_id: str) -> Table:
        """Make a table with the rows that were written by its plan."""
        return _create_at(reopen(location), operation, location.url, commit_id)

    def _commit(self, change: Callable[[WarehouseState], WarehouseEntry]) -> None:
        commit_id = str(uuid.uuid4())

        def propose_entry(state: WarehouseState | None) -> WarehouseEntry:
            known = state or _nothing()
            check_writable(known.features, self._store.url)
            entry = change(known)
            head = Head(
                table_uuid=known.warehouse_uuid,
                version=known.version + 1,
                commit_id=commit_id,
                base_version=known.version,
                time=next_time(None if state is None else known.time, datetime.now(UTC)),
                operation=entry.head.operation,
                writer=WRITER,
                features=known.features,
            )
            return replace(entry, head=head)

        self._state()
        assert self._loaded is not None
        self._loaded = self._timeline.commit(self._loaded, commit_id, propose_entry)


def creation(
    schema: Columns,
    partitioned_by: Sequence[str],
    properties: Mapping[str, str] | None,
    comment: str | None,
) -> Create:
    """The operation that makes a table.

    Raises:
        InvalidRequestError: the schema, partitioning or properties can't be.
    """
    if not isinstance(properties, Mapping | None) or not isinstance(comment, str | None):
        raise InvalidRequestError("properties are a mapping of text to text, and a comment is text")
    given = dict(properties or {})
    target_bytes(given)
    columns, kept_by, kept_sort = _given(schema)
    partitions = listed(partitioned_by) or kept_by
    requests: list[Change] = [SetPartitioning(partitions)] if partitions else []
    requests += [SetProperty(key, value) for key, value in {**kept_sort, **given}.items()]

    def arrange(evolution: Evolution) -> Evolution:
        if not requests:
            return evolution
        _, after = plan_changes(requests, evolution, evolution.schema.version)
        return after

    if not columns:
        raise InvalidRequestError("a table needs at least one column")
    return Create(str(uuid.uuid4()), columns, arrange, comment=comment)


def _given(schema: Columns) -> tuple[tuple[Column, ...], tuple[str, ...], dict[str, str]]:
    """Columns, partitioning and sort order of whatever a schema is given as."""
    match schema:
        case str():
            return Schema.parse(schema).columns, (), {}
        case pa.Schema():
            return _given(schema_from_arrow(schema))
        case Schema():
            from versioned_catalog.schema.transforms import parse_transform, render_field

            partitions = tuple(
                render_field(schema.path(f.source), parse_transform(f.transform))
                for f in schema.partitioning
            )
            sort_by = render_sort_by(schema)
            return schema.columns, partitions, {"sort_by": sort_by} if sort_by else {}
        case _:
            raise InvalidRequestError(
                f"{type(schema).__name__} is no schema; give Spark's DDL, a Schema or a pyarrow Schema"
            )


def _timeline_at(store: Store) -> TableTimeline:
    return Timeline(store, TableCodec())


def _create_at(store: Store, operation: Create, name: str, commit_id: str) -> Table:
    timeline = _timeline_at(store)
    done = timeline.commit(
        timeline.load(), commit_id, lambda state: propose(operation, state, commit_id, name)
    )
    return Table(timeline, done, name)


def _plan_at(store: Store, operation: Create, arrow: pa.Schema) -> WritePlan:
    state = _timeline_at(store).load().state
    return plan_create(store, operation, state, store.url, arrow)


def _load_at(store: Store, name: str, table_uuid: str | None) -> Table:
    timeline = _timeline_at(store)
    loaded = timeline.load()
    state = loaded.state
    gone = state is None or state.dropped
    if gone or (table_uuid is not None and state is not None and state.table_uuid != table_uuid):
        raise NotFoundError(f"there is no table at {store.url}; make it with create_table")
    return Table(timeline, loaded, name)


def _nothing() -> WarehouseState:
    """A warehouse before its first commit."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return WarehouseState(str(uuid.uuid4()), -1, "", epoch)


def _no_head(operation: str) -> Head:
    """A head of which only the operation counts; the commit fills in the rest."""
    return Head("", 0, "", -1, datetime(1970, 1, 1, tzinfo=UTC), operation)


def _check_namespace(state: WarehouseState, name: Name) -> None:
    if name and full_key(name) not in state.namespaces:
        known = ", ".join(sorted(render_path(n) for n in state.namespaces.values())[:20]) or "none"
        raise NotFoundError(
            f"there is no namespace {render_path(name)}; make it with "
            f"create_namespace({render_path(name)!r}); namespaces: {known}"
        )


def _directly_inside(names: Iterable[Name], above: Name) -> list[str]:
    key = full_key(above)
    return sorted(render_path(name) for name in names if full_key(name[:-1]) == key)


def _safe_folder(part: str) -> str:
    """A name's part as a folder's name (FORMAT.md, section 12)."""
    taken = part.lower() in ("data", "_versioned")  # the folders of a table or warehouse itself
    head = _percent(part[0]) if taken else ""
    return head + re.sub(r"[^A-Za-z0-9_-]", lambda m: _percent(m[0]), part[1 if taken else 0 :])


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
