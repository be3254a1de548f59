"""Namespaces of a catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from versioned_catalog.catalog.locations import drop_at
from versioned_catalog.errors import (
    AlreadyExistsError,
    CorruptTableError,
    InvalidRequestError,
    UnsupportedFeatureError,
    VersionedError,
)
from versioned_catalog.storage.store import Store
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.warehouse.names import (
    Names,
    check_namespace,
    check_new_name,
    check_properties,
    head_of,
    parse_namespace,
)
from versioned_catalog.warehouse.state import (
    Name,
    Namespace,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)


class Namespaces:
    """The part of ``Catalog`` that manages namespaces. None or ``()`` is the root namespace."""

    _store: Store
    _names: Names

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

    def alter_namespace(
        self, name: str | Name, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Set and remove properties of a namespace; the others stay.

        Raises:
            NotFoundError: there is no such namespace.
        """
        parts, new, gone = parse_path(name), check_properties(set), frozenset(_keys(unset))

        def change(state: WarehouseState) -> WarehouseEntry | None:
            check_namespace(state, parts)
            old = state.namespaces[full_key(parts)].properties
            kept = {key: text for key, text in old.items() if key not in gone}
            described = Namespace(parts, kept | new)
            if described.properties == old:
                return None
            return WarehouseEntry(head_of("alter_namespace"), set_namespaces=(described,))

        self._names.commit(change)

    def namespace_properties(self, name: str | Name | None) -> dict[str, str]:
        """Return the properties of a namespace; the root has none.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, parts = self._names.existing(), parse_namespace(name)
        check_namespace(state, parts)
        return dict(state.namespaces[full_key(parts)].properties) if parts else {}

    def namespace_exists(self, name: str | Name | None) -> bool:
        """Whether a namespace exists; the root always does."""
        parts = parse_namespace(name)
        return not parts or full_key(parts) in self._names.state().namespaces

    def list_namespaces(self, parent: str | Name | None = None) -> list[str]:
        """List the namespaces directly inside another, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, above = self._names.existing(), parse_namespace(parent)
        check_namespace(state, above)
        names = (one.name for one in state.namespaces.values())
        key = full_key(above)
        return sorted(render_path(name) for name in names if full_key(name[:-1]) == key)

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
        ended: list[TableName] = []

        def change(state: WarehouseState) -> WarehouseEntry:
            check_namespace(state, parts)
            spaces = [one.name for k, one in state.namespaces.items() if k[: len(key)] == key]
            ended[:] = [table for k, table in state.tables.items() if k[: len(key)] == key]
            views = [view.name for k, view in state.views.items() if k[: len(key)] == key]
            if not cascade and (len(spaces) > 1 or ended or views):
                raise InvalidRequestError(
                    f"the namespace {render_path(parts)} is not empty; drop its contents first, or "
                    "use cascade"
                )
            self._check_droppable(ended)
            return WarehouseEntry(
                head_of("drop_namespace"),
                remove_namespaces=tuple(spaces),
                remove_tables=tuple(table.name for table in ended),
                remove_views=tuple(views),
            )

        self._names.commit(change)
        self._drop_unnamed(ended)

    def _check_droppable(self, tables: Iterable[TableName]) -> None:
        """Refuse to remove the names of tables as long as the rules refuse to drop one of them.

        The names go first, in another log. The rules decide again when each table's drop is committed.
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


def _put_back(table: TableName, state: WarehouseState) -> WarehouseEntry | None:
    """The entry that gives a table its name back, unless another table or view has taken it."""
    if full_key(table.name) in {*state.tables, *state.views}:
        return None
    above = (table.name[:size] for size in range(1, len(table.name)))
    missing = tuple(name for name in above if full_key(name) not in state.namespaces)
    return WarehouseEntry(head_of("create_table"), add_namespaces=missing, set_tables=(table,))


def _keys(given: Iterable[str]) -> list[str]:
    keys = [] if isinstance(given, str) else list(given)
    if isinstance(given, str) or not all(isinstance(key, str) for key in keys):
        raise InvalidRequestError(f"keys to unset must be a list of text, got {given!r}")
    return keys
