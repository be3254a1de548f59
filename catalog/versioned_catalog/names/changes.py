"""Changes of the names of namespaces and tables, and drops of tables with their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from versioned_catalog.errors import (
    AlreadyExistsError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.log.clones import protections
from versioned_catalog.maintain.clone_release import release_clones
from versioned_catalog.model.type_text import render_path
from versioned_catalog.names.folders import drop_at, is_there, load_at, undrop_at
from versioned_catalog.names.names import (
    Names,
    altered,
    check_free,
    check_namespace,
    check_new_name,
    check_properties,
    head_of,
)
from versioned_catalog.names.names_log import (
    Name,
    Namespace,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.storage.store import Store


def create_namespace(
    names: Names, name: Name, properties: Mapping[str, str] | None, *, if_not_exists: bool
) -> None:
    """Create a namespace. See ``Catalog.create_namespace``."""
    checked = check_properties(properties)

    def change(state: WarehouseState) -> WarehouseEntry | None:
        if full_key(name) in state.namespaces:
            if if_not_exists:
                return None
            raise AlreadyExistsError(f"the namespace {render_path(name)} already exists")
        check_new_name(name)
        check_namespace(state, name[:-1])
        described = (Namespace(name, checked),) if checked else ()
        return WarehouseEntry(
            head_of("create_namespace"), add_namespaces=(name,), set_namespaces=described
        )

    names.commit(change)


def alter_namespace(
    names: Names, name: Name, new: Mapping[str, str] | None, unset: Iterable[str]
) -> None:
    """Set and remove properties of a namespace. See ``Catalog.alter_namespace``."""
    alter = altered(new, unset)

    def change(state: WarehouseState) -> WarehouseEntry | None:
        check_namespace(state, name)
        old = state.namespaces[full_key(name)].properties
        properties = alter(old)
        if properties == old:
            return None
        described = Namespace(name, properties)
        return WarehouseEntry(head_of("alter_namespace"), set_namespaces=(described,))

    names.commit(change)


def drop_namespace(names: Names, name: Name, *, cascade: bool) -> None:
    """Drop a namespace, and with ``cascade`` all that is in it. See ``Catalog.drop_namespace``."""
    key = full_key(name)
    dropped: list[TableName] = []

    def change(state: WarehouseState) -> WarehouseEntry:
        check_namespace(state, name)
        spaces = [space.name for k, space in state.namespaces.items() if k[: len(key)] == key]
        dropped[:] = [table for k, table in state.tables.items() if k[: len(key)] == key]
        views = [view.name for k, view in state.views.items() if k[: len(key)] == key]
        if not cascade and (len(spaces) > 1 or dropped or views):
            raise InvalidRequestError(
                f"the namespace {render_path(name)} is not empty; drop its contents first, or "
                "use cascade"
            )
        check_droppable(names, dropped)
        return WarehouseEntry(
            head_of("drop_namespace"),
            remove_namespaces=tuple(spaces),
            remove_tables=tuple(table.name for table in dropped),
            remove_views=tuple(views),
        )

    names.commit(change)
    drop_unnamed(names, dropped)


def rename_table(names: Names, old: Name, new: Name) -> None:
    """Rename a table. See ``Catalog.rename_table``."""

    def change(state: WarehouseState) -> WarehouseEntry:
        renamed = replace(names.find(state, old), name=new)
        if full_key(new) != full_key(old):
            check_free(state, new)
        return WarehouseEntry(head_of("rename_table"), set_tables=(renamed,), remove_tables=(old,))

    names.commit(change)


def drop_table(names: Names, name: Name) -> None:
    """Drop a table and its name. See ``Catalog.drop_table``."""
    table = names.find(names.state(), name)
    check_droppable(names, [table])

    def change(state: WarehouseState) -> WarehouseEntry:
        if names.find(state, name).table_uuid != table.table_uuid:
            raise NotFoundError(
                f"the table {render_path(name)} was replaced meanwhile",
                condition="TABLE_NOT_FOUND",
            )
        return WarehouseEntry(head_of("drop_table"), remove_tables=(name,))

    names.commit(change)
    drop_unnamed(names, [table])


def check_droppable(names: Names, tables: Iterable[TableName]) -> None:
    """Refuse to drop tables if the rules forbid it for one of them; clones that are gone forbid nothing.

    Names are removed first, in another log. The rules apply again when each drop is committed. An
    external table that can't be read just loses its name.
    """
    for table in tables:
        if table.is_external and not _is_readable(names, table):
            continue
        store, name = names.folder(table.location), render_path(table.name)
        try:
            _release_clones(store, name)
            drop_at(store, table.table_uuid, name, dry_run=True)
        except CorruptTableError as error:
            raise CorruptTableError(
                f"{name} can't be dropped, since its log is damaged ({error}); recover it, or "
                f"delete its folder {store.url} and drop it again"
            ) from error


def _is_readable(names: Names, table: TableName) -> bool:
    try:
        load_at(names.folder(table.location), render_path(table.name), table.table_uuid)
    except VersionedError:
        return False
    return True


def _release_clones(store: Store, name: str) -> None:
    """Drop the tags that a table has for clones that were dropped, or need its files no more."""
    with suppress(NotFoundError):
        handle = load_at(store, name).handle
        if protections(handle.state.tags):
            release_clones(handle, store.now())


def drop_unnamed(names: Names, tables: Iterable[TableName]) -> None:
    """Drop tables whose names were removed; a table that must not be dropped gets its name back.

    One that was undropped since its name was removed, while its drop was still missing, exists. External
    tables stay as they are.

    Raises:
        VersionedError: the first failure; the other tables are dropped.
    """
    failures: list[VersionedError] = []
    for table in tables:
        if table.is_external:
            continue
        store, name = names.folder(table.location), render_path(table.name)
        try:
            if _is_named(names, table):
                continue
            drop_at(store, table.table_uuid, name)
            if _is_named(names, table):
                follow_name(names, table)
        except (InvalidRequestError, UnsupportedFeatureError) as error:
            names.commit(partial(_put_back, table))
            if names.state().tables.get(full_key(table.name)) == table:
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


def follow_name(names: Names, table: TableName) -> None:
    """Drop or undrop a table until it exists if and only if it has a name.

    Names and tables have logs of their own. Whoever has changed one of the two looks at both afterwards,
    so that the last one sees what the others did.

    Raises:
        NotFoundError: it has a name, but can't be undropped.
        InvalidRequestError, UnsupportedFeatureError: it has none, but must not be dropped.
    """
    store, name = names.folder(table.location), render_path(table.name)
    while (named := _is_named(names, table)) != is_there(store, table.table_uuid):
        if named:
            undrop_at(store, table.table_uuid, name)
        else:
            drop_at(store, table.table_uuid, name)


def _is_named(names: Names, table: TableName) -> bool:
    return names.state().name_of(table.table_uuid) is not None


def _put_back(table: TableName, state: WarehouseState) -> WarehouseEntry | None:
    """The entry that gives a table its name back, unless another table or view has taken it."""
    if full_key(table.name) in {*state.tables, *state.views}:
        return None
    above = (table.name[:size] for size in range(1, len(table.name)))
    missing = tuple(name for name in above if full_key(name) not in state.namespaces)
    return WarehouseEntry(head_of("create_table"), add_namespaces=missing, set_tables=(table,))
