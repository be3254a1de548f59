"""The entries of a warehouse's log, and the state that they add up to (FORMAT.md, section 12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.features import CHECKSUMS, VIEWS, Features
from versioned_catalog.log.head import Head
from versioned_catalog.schema.schema import name_key
from versioned_catalog.warehouse.view import View

Name = tuple[str, ...]
T = TypeVar("T")

WITH_VIEWS = Features(write=frozenset({VIEWS}))
"""Features of a warehouse with views: readers of tables need not know them."""


def full_key(name: Name) -> Name:
    """The key that names of tables and namespaces are compared by, without case."""
    return tuple(map(name_key, name))


@dataclass(frozen=True)
class TableName:
    """The name and the location of a table.

    Args:
        name: the parts of its namespace, then its own name.
        location: its folder in the warehouse.
        table_uuid: created UUID of the table, since another table may use the folder later.
    """

    name: Name
    location: str
    table_uuid: str


@dataclass(frozen=True)
class Namespace:
    """A namespace: the parts of its name, and its properties."""

    name: Name
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WarehouseEntry:
    """One commit of a warehouse. Removals apply first, then additions, then properties."""

    head: Head
    add_namespaces: tuple[Name, ...] = ()
    set_namespaces: tuple[Namespace, ...] = ()
    remove_namespaces: tuple[Name, ...] = ()
    set_tables: tuple[TableName, ...] = ()
    remove_tables: tuple[Name, ...] = ()
    set_views: tuple[View, ...] = ()
    remove_views: tuple[Name, ...] = ()

    @property
    def attached_bytes(self) -> int:
        """Entries name no files."""
        return 0


@dataclass(frozen=True)
class WarehouseState:
    """A warehouse as of one commit; names are looked up by ``full_key``."""

    warehouse_uuid: str
    version: int
    commit_id: str
    time: datetime
    namespaces: dict[Name, Namespace] = field(default_factory=dict)
    tables: dict[Name, TableName] = field(default_factory=dict)
    features: Features = field(default_factory=Features)
    views: dict[Name, View] = field(default_factory=dict)

    def name_of(self, created_uuid: str) -> Name | None:
        """Name of the table with a created UUID; None if it has no name."""
        tables = self.tables.values()
        return next((one.name for one in tables if one.table_uuid == created_uuid), None)


def apply(state: WarehouseState | None, entry: WarehouseEntry) -> WarehouseState:
    """The state after one more entry.

    Raises:
        CorruptTableError: the entry can't follow the state.
    """
    head = entry.head
    if state is not None and head.table_uuid != state.warehouse_uuid:
        raise CorruptTableError("the entry is of another warehouse")
    if state is not None and not head.features.write >= state.features.write & {CHECKSUMS}:
        raise CorruptTableError(f"the entry lacks the feature {CHECKSUMS}")
    before = state or WarehouseState(head.table_uuid, -1, "", head.time)
    namespaces = _without(before.namespaces, entry.remove_namespaces)
    namespaces |= {full_key(name): Namespace(name) for name in entry.add_namespaces}
    namespaces = with_properties(namespaces, entry.set_namespaces)
    tables = _without(before.tables, entry.remove_tables)
    tables |= {full_key(table.name): table for table in entry.set_tables}
    views = _without(before.views, entry.remove_views)
    views |= {full_key(view.name): view for view in entry.set_views}
    return replace(
        before,
        version=head.version,
        commit_id=head.commit_id,
        time=head.time,
        namespaces=namespaces,
        tables=tables,
        features=before.features | head.features,
        views=views,
    )


def _without(names: dict[Name, T], removed: Iterable[Name]) -> dict[Name, T]:
    keys = set(map(full_key, removed))
    return {key: value for key, value in names.items() if key not in keys}


def with_properties(
    namespaces: dict[Name, Namespace], changed: Iterable[Namespace]
) -> dict[Name, Namespace]:
    """Set the properties of namespaces that changed; their names keep the case they have."""
    new = {full_key(one.name): one.properties for one in changed}
    if not new.keys() <= namespaces.keys():
        raise CorruptTableError("an entry sets the properties of a namespace that does not exist")
    return namespaces | {
        key: replace(namespaces[key], properties=properties) for key, properties in new.items()
    }
