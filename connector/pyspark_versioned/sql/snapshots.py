"""Tables and snapshots by reference, remembered by a worker from one question to the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyspark_versioned.sql.evolving import evolve
from versioned_catalog import Catalog, NotFoundError, Table
from versioned_catalog.evolution.evolution import BoundChange
from versioned_catalog.log.state import TableState

REMEMBERED = 32
"""How many tables, and how many snapshots, a worker remembers."""


K = TypeVar("K")
V = TypeVar("V")


class _Memory(Generic[K, V]):
    """The values used last."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        if key not in self._values:
            self._values[key] = make()
        self._values.move_to_end(key)
        if len(self._values) > REMEMBERED:
            self._values.popitem(last=False)
        return self._values[key]

    def forget(self, key: K) -> None:
        self._values.pop(key, None)


_Options = tuple[tuple[str, str], ...]
_catalogs: _Memory[tuple[str, _Options], Catalog] = _Memory()
_tables: _Memory[tuple[str, _Options], Table] = _Memory()
_states: _Memory[tuple[str, str, int], TableState] = _Memory()


def _options(storage: Mapping[str, str]) -> _Options:
    return tuple(sorted(storage.items()))


def open_catalog(catalog: Mapping[str, Any]) -> Catalog:
    """The catalog that the jar's member ``catalog`` names: ``warehouse`` and ``storage``."""
    warehouse, storage = catalog["warehouse"], catalog["storage"]
    return _catalogs.get((warehouse, _options(storage)), lambda: Catalog(warehouse, storage))


def newest(table: Table, storage: Mapping[str, str]) -> Table:
    """Remember a table that was just loaded, so that the next questions about it cost little."""
    _tables.forget((table.location, _options(storage)))
    return _tables.get((table.location, _options(storage)), lambda: table)


def at_location(location: str, storage: Mapping[str, str]) -> Table:
    """The table in a folder, at its newest version.

    Raises:
        NotFoundError: there is none.
    """
    key = (location, _options(storage))
    known = _tables.get(key, lambda: Catalog.load_path(location, storage))
    try:
        known.refresh()
        known.state  # noqa: B018  a table that was dropped has none
    except NotFoundError:
        _tables.forget(key)
        raise
    return known


@dataclass(frozen=True)
class Opened:
    """What the jar's member ``table`` names.

    Args:
        table: the table.
        base: the snapshot.
        state: the snapshot with the changes of the schema that the statement brings along.
        changes: these.
    """

    table: Table
    base: TableState
    state: TableState
    changes: tuple[BoundChange, ...]


def open_table(ref: Mapping[str, Any]) -> tuple[Table, TableState]:
    """The table that the jar's member ``table`` names, and the snapshot as its statement sees it.

    Raises:
        NotFoundError: it was dropped or replaced since.
    """
    opened = open_snapshot(ref)
    return opened.table, opened.state


def open_snapshot(ref: Mapping[str, Any]) -> Opened:
    """What the jar's member ``table`` names.

    Args:
        ref: ``location``, ``storage``, ``name``, ``uuid``, ``version``, ``pending``.

    Raises:
        NotFoundError: it was dropped or replaced since.
    """
    table = at_location(ref["location"], ref["storage"])
    key = (ref["location"], ref["uuid"], ref["version"])
    state = _states.get(key, lambda: table.at(ref["version"]))
    if state.table_uuid != ref["uuid"]:
        _states.forget(key)
        raise NotFoundError(
            f"{ref['name']} was dropped or replaced meanwhile; ask for it again",
            condition="TABLE_NOT_FOUND",
        )
    table.name = ref["name"]
    return Opened(table, state, *evolve(state, ref["pending"], table.name))
