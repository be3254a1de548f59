"""The entries of a warehouse's log, and the state that they add up to (FORMAT.md, section 12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.limits import check_version
from versioned_catalog.log.bounded_files import dump_document, load_document, naming_file
from versioned_catalog.log.checkpoint import NEWEST
from versioned_catalog.log.entry import (
    HEAD_MEMBERS,
    OPERATIONS,
    Codec,
    Head,
    Stub,
    head_from_json,
    head_to_json,
    is_one_of,
    stub_from_json,
)
from versioned_catalog.log.features import (
    CHECKSUMS,
    EXTERNAL_TABLES,
    FOLDER,
    FORMAT,
    VIEWS,
    Features,
    features_from_json,
    features_to_json,
)
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.schema_json import Json, check_members, member, optional, texts
from versioned_catalog.names.view import View, name_from_json, view_from_json, view_to_json
from versioned_catalog.storage.store import safe_path, split_root

Name = tuple[str, ...]
T = TypeVar("T")

WITH_VIEWS = Features(write=frozenset({VIEWS}))
"""Features of a warehouse with views: readers of tables need not know them."""

WITH_EXTERNAL_TABLES = Features(frozenset({EXTERNAL_TABLES}), frozenset({EXTERNAL_TABLES}))
"""Features of a warehouse with external tables: others would look for them in the wrong folder."""


def full_key(name: Name) -> Name:
    """The key that names of tables and namespaces are compared by, without case."""
    return tuple(map(name_key, name))


@dataclass(frozen=True)
class TableName:
    """The name and the location of a table.

    Args:
        name: the parts of its namespace, then its own name.
        location: its folder in the warehouse; of an external table ``root:<root>/<path>``.
        table_uuid: created UUID of the table, since another table may use the folder later.
    """

    name: Name
    location: str
    table_uuid: str

    @property
    def is_external(self) -> bool:
        """Whether the warehouse owns only the name, and not the files."""
        return split_root(self.location) is not None


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
        return next((table.name for table in tables if table.table_uuid == created_uuid), None)


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
    new = {full_key(namespace.name): namespace.properties for namespace in changed}
    if not new.keys() <= namespaces.keys():
        raise CorruptTableError("an entry sets the properties of a namespace that does not exist")
    return namespaces | {
        key: replace(namespaces[key], properties=properties) for key, properties in new.items()
    }


def _decode(data: bytes, what: str) -> WarehouseEntry | Stub:
    """Decode an entry.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        InvalidRequestError: it is the entry of a table.
    """
    value = load_document(data, what)
    if is_one_of(value, OPERATIONS):
        raise InvalidRequestError(
            f"{what} belongs to a table: its folder can't be a warehouse. Load the table with "
            "Catalog.load_path, or open the Catalog on another folder, such as the one above"
        )
    with naming_file(what):
        return _entry_from_json(value)


def _encode(entry: WarehouseEntry) -> bytes:
    """Encode an entry."""
    out = head_to_json(entry.head)
    out["namespaces"] = {"add": entry.add_namespaces, "remove": entry.remove_namespaces}
    if entry.set_namespaces:
        out["namespaces"]["set"] = [vars(namespace) for namespace in entry.set_namespaces]
    tables, views = map(vars, entry.set_tables), map(view_to_json, entry.set_views)
    out["tables"] = {"set": list(tables), "remove": entry.remove_tables}
    if entry.set_views or entry.remove_views:
        out["views"] = {"set": list(views), "remove": entry.remove_views}
    return dump_document(out)


def _decode_checkpoint(data: bytes, what: str) -> WarehouseState:
    """Decode a checkpoint. Raises CorruptTableError if it is not as FORMAT.md says."""
    value = load_document(data, what)
    check_members(value, _STATE_MEMBERS)
    names = _names_from_json(member(value, "namespaces", list))
    described = map(_namespace_from_json, optional(value, "namespace_properties", list) or [])
    tables = [_table_from_json(table) for table in member(value, "tables", list)]
    views = map(view_from_json, optional(value, "views", list) or [])
    return WarehouseState(
        member(value, "table_uuid", str),
        check_version(member(value, "version", int)),
        member(value, "commit_id", str),
        time_from_text(member(value, "time", str)),
        with_properties({full_key(name): Namespace(name) for name in names}, described),
        {full_key(table.name): table for table in tables},
        features_from_json(value),
        {full_key(view.name): view for view in views},
    )


def _encode_checkpoint(state: WarehouseState) -> bytes:
    """Encode a checkpoint."""
    namespaces = state.namespaces.values()
    out = {
        "format": FORMAT,
        "features": features_to_json(state.features),
        "table_uuid": state.warehouse_uuid,
        "version": state.version,
        "commit_id": state.commit_id,
        "time": time_to_text(state.time),
        "namespaces": [namespace.name for namespace in namespaces],
        "tables": [vars(table) for table in state.tables.values()],
    }
    described = [vars(space) for space in namespaces if space.properties]
    if described:
        out["namespace_properties"] = described
    if state.views:
        out["views"] = [view_to_json(view) for view in state.views.values()]
    return dump_document(out)


def _retained(state: WarehouseState, sizes: Mapping[int, int]) -> frozenset[int]:
    """The newest checkpoints: nobody reads an old state of a warehouse."""
    return frozenset(sorted(sizes)[-NEWEST:])


def _aborted(entry: WarehouseEntry) -> WarehouseEntry:
    """What remains of an entry whose transaction was aborted."""
    return WarehouseEntry(entry.head.aborted)


WAREHOUSE_CODEC: Codec[WarehouseEntry, WarehouseState] = Codec(
    ".json",
    _decode,
    _encode,
    apply,
    _decode_checkpoint,
    _encode_checkpoint,
    _retained,
    aborted=_aborted,
)


_MEMBERS = HEAD_MEMBERS | {"namespaces", "tables", "views"}
_NAMESPACE_CHANGES = frozenset({"add", "remove", "set"})
_NAME_CHANGES = frozenset({"set", "remove"})
_STATE_MEMBERS = frozenset(
    {
        *("format", "features", "table_uuid", "version", "commit_id", "time"),
        *("namespaces", "namespace_properties", "tables", "views"),
    }
)


_NAMESPACE_MEMBERS = frozenset({"name", "properties"})
_TABLE_MEMBERS = frozenset({"name", "location", "table_uuid"})


def _entry_from_json(value: Json) -> WarehouseEntry | Stub:
    if value.get("stub") is True:
        return stub_from_json(value)
    check_members(value, _MEMBERS)
    namespaces = optional(value, "namespaces", dict) or {}
    tables = optional(value, "tables", dict) or {}
    views = optional(value, "views", dict) or {}
    check_members(namespaces, _NAMESPACE_CHANGES)
    for changes in (tables, views):
        check_members(changes, _NAME_CHANGES)
    return WarehouseEntry(
        head_from_json(value),
        _names_from_json(optional(namespaces, "add", list) or []),
        tuple(map(_namespace_from_json, optional(namespaces, "set", list) or [])),
        _names_from_json(optional(namespaces, "remove", list) or []),
        tuple(_table_from_json(table) for table in optional(tables, "set", list) or []),
        _names_from_json(optional(tables, "remove", list) or []),
        tuple(map(view_from_json, optional(views, "set", list) or [])),
        _names_from_json(optional(views, "remove", list) or []),
    )


def _names_from_json(values: list[Json]) -> tuple[Name, ...]:
    return tuple(map(name_from_json, values))


def _namespace_from_json(value: Json) -> Namespace:
    check_members(value, _NAMESPACE_MEMBERS)
    (name,) = _names_from_json([member(value, "name", list)])
    return Namespace(name, texts(member(value, "properties", dict)))


def _table_from_json(value: Json) -> TableName:
    check_members(value, _TABLE_MEMBERS)
    (name,) = _names_from_json([member(value, "name", list)])
    location = check_location(safe_path(member(value, "location", str)))
    return TableName(name, location, member(value, "table_uuid", str))


def check_location(location: str) -> str:
    """Check that the location of a table is not inside the folders of another one, and return it.

    Raises:
        CorruptTableError: an external table can't be there.
    """
    place = split_root(location)
    if place is not None and (place.adoption or FOLDER in place.path.lower().split("/")):
        raise CorruptTableError(f"no external table can be at {location!r}")
    return location
