"""Catalogs, tables and snapshots that a worker keeps from one request to the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pyspark_versioned.sql.changes import parse_changes
from pyspark_versioned.sql.protocol.base import Commit
from pyspark_versioned.sql.protocol.common import CatalogRef, Change, TableRef
from pyspark_versioned.sql.protocol.rows import StreamRef
from pyspark_versioned.stream_options import stream_of
from versioned_catalog import Catalog, NotFoundError, Table
from versioned_catalog.log.pinned_state import RowsOf, check_schema_version
from versioned_catalog.log.state import TableState
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.evolution import BoundChange
from versioned_catalog.model.table_text import own_name
from versioned_catalog.model.type_text import render_path
from versioned_catalog.storage.opening import options_of, plain_url
from versioned_catalog.storage.store import Location
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.follower import gone
from versioned_catalog.stream.row_stream import TableStream
from versioned_catalog.write.plan import check_newest

REMEMBERED = 32
"""Number of tables, and of snapshots, that a worker keeps."""


K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """The values that were used last."""

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
_catalogs: Memory[tuple[str, _Options], Catalog] = Memory()
_tables: Memory[tuple[str, str | None, _Options], Table] = Memory()
_states: Memory[tuple[str, str | None, str, int], TableState] = Memory()
_seen: Memory[tuple[str, str | None, str, int, str, str], TableState] = Memory()
_streams: Memory[tuple[object, ...], TableStream | ChangeStream] = Memory()


def _options(storage: Mapping[str, str]) -> _Options:
    return tuple(sorted(storage.items()))


def open_catalog(ref: CatalogRef) -> Catalog:
    """The catalog of a reference."""
    key = (ref.warehouse, _options(ref.storage))
    return _catalogs.get(key, lambda: Catalog(ref.warehouse, ref.storage))


def storage_of(catalog: CatalogRef, location: Location) -> Mapping[str, str]:
    """The storage options that open a table of a catalog by its path.

    Those of the catalog, except for a table below an external root, which may be on another file system.
    """
    if plain_url(location.url).startswith(f"{plain_url(catalog.warehouse)}/"):
        return catalog.storage
    return {key: str(value) for key, value in options_of(location).items()}


def full_name(catalog: CatalogRef, name: Sequence[str]) -> str:
    """The name of a table or view in SQL, catalog first."""
    return render_path((catalog.name, *name))


def name_table(table: Table, name: str) -> None:
    """Give a table its name in SQL, catalog first, or that of its folder."""
    table.name = name
    table.handle.own_name = own_name(name, catalog=True)


def remember(table: Table, storage: Mapping[str, str]) -> Table:
    """Keep a table that was just loaded, so that the next requests for it are cheap."""
    key = (table.location, branch_id_of(table.state), _options(storage))
    _tables.forget(key)
    return _tables.get(key, lambda: table)


def branch_id_of(state: TableState) -> str | None:
    """The ID of the branch that a state is of; None for the table itself."""
    return None if state.branch is None else state.branch.id


def landed(commit: Commit, table: Table, since: int = -1) -> int | None:
    """The version of a commit if it has landed after ``since``, which only a retry can, or None.

    The jar asks for a commit again if the worker died before it had responded.
    """
    return table.find_commit(commit.id, since) if commit.retry else None


def at_location(ref: TableRef) -> Table:
    """The table or branch of a reference, at its newest version.

    Raises:
        NotFoundError: there is no table, or the branch was dropped or replaced.
    """
    location, storage = ref.location, ref.storage
    key = (location, None, _options(storage))
    table = _newest(key, lambda: Catalog.load_path(location, storage))
    if ref.branch is None:
        return table
    names = [name for name, branch in table.branches.items() if branch.id == ref.branch]
    if not names:
        raise NotFoundError(
            f"{ref.name} was dropped or replaced while the statement ran; run it again",
            condition="TABLE_NOT_FOUND",
        )
    return _newest((location, ref.branch, _options(storage)), lambda: table.branch(names[0]))


def _newest(key: tuple[str, str | None, _Options], load: Callable[[], Table]) -> Table:
    """A table that is remembered, at its newest version."""
    table = _tables.get(key, load)
    try:
        table.refresh()
        table.state  # noqa: B018  a table that was dropped has none
    except NotFoundError:
        _tables.forget(key)
        raise
    return table


def apply_pending(
    state: TableState, pending: Sequence[Change], table: str
) -> tuple[TableState, tuple[BoundChange, ...]]:
    """A snapshot as it will be after changes, and the changes bound to it.

    Raises:
        InvalidRequestError: a change is not allowed.
    """
    if not pending:
        return state, ()
    check_newest(state, table)
    changes = parse_changes(pending, state.seen.schema, table)
    bound, after = plan_changes(changes, state.evolution, state.schemas.newest.version + 1)
    same = after.schema.version == state.schema_version
    grown = state.schemas if same else state.schemas.grown(after.schema)
    evolved = replace(
        state,
        schemas=grown,
        schema_version=after.schema.version,
        next_column_id=after.next_column_id,
    )
    return evolved, bound


@dataclass(frozen=True)
class Opened:
    """A table at one version.

    Args:
        table: the table, in the schema in which it is seen.
        base: the snapshot, in that schema.
        state: the snapshot with the pending schema changes of the statement.
        changes: the pending changes.
    """

    table: Table
    base: TableState
    state: TableState
    changes: tuple[BoundChange, ...]


def open_stream(ref: StreamRef) -> TableStream | ChangeStream:
    """The stream of a reference, which has read the log as far as its last request.

    Raises:
        NotFoundError: the table was dropped, or replaced before the stream began.
    """
    table, options = ref.table, _options(ref.options)
    key = (table.location, _options(table.storage), table.uuid, table.schema_version, table.seen)
    return _streams.get((*key, table.overflow, options), lambda: _new_stream(ref))


def _new_stream(ref: StreamRef) -> TableStream | ChangeStream:
    table = at_location(ref.table)
    if table.state.table_uuid != ref.table.uuid:
        raise gone(ref.table.name, table.state.created_version, replaced=True)
    name_table(table, ref.table.name)
    if ref.table.seen is not None:
        table = table.seen_as(ref.table.seen, overflow=ref.table.overflow)
    return stream_of(table, ref.options, ref.table.schema_version, ref.table.name)


def open_table(ref: TableRef) -> tuple[Table, TableState]:
    """The table of a reference, and the snapshot as its statement sees it.

    Raises:
        NotFoundError: the table was dropped or replaced.
    """
    opened = open_snapshot(ref)
    return opened.table, opened.state


def open_snapshot(ref: TableRef) -> Opened:
    """The table and the snapshot of a reference.

    Raises:
        NotFoundError: the table was dropped or replaced.
    """
    table = at_location(ref)
    key = (ref.location, ref.branch, ref.uuid, ref.version)
    state = _states.get(key, lambda: table.at(ref.version))
    if state.table_uuid != ref.uuid:
        _states.forget(key)
        raise NotFoundError(
            f"{ref.name} was dropped or replaced while the statement ran; run it again",
            condition="TABLE_NOT_FOUND",
        )
    name_table(table, ref.name)
    if ref.seen is None and ref.written_as is not None:
        check_schema_version(state, ref.written_as, ref.name)
        state = RowsOf(ref.uuid, state.schemas[ref.written_as]).over(state, ref.name)
    elif ref.seen is not None:
        table = table.seen_as(ref.seen, overflow=ref.overflow)
        state = _seen.get((*key, ref.seen, ref.overflow), lambda: table.at(ref.version))
    return Opened(table, state, *apply_pending(state, ref.pending, table.name))
