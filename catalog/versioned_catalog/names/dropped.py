"""Dropped tables: which there are, and how they get their names back (FORMAT.md, section 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from versioned_catalog.commit.authorship import facts_of
from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import (
    AlreadyExistsError,
    NotFoundError,
    StorageError,
    VersionedError,
)
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.advice import Advice, MaintenanceBounds
from versioned_catalog.maintain.expiry import store_time, time_before
from versioned_catalog.maintain.upkeep import Maintained, Unmaintained
from versioned_catalog.maintain.vacuum import UNDROP_RETENTION, Vacuumed
from versioned_catalog.model.type_text import render_path
from versioned_catalog.names.changes import follow_name
from versioned_catalog.names.folders import (
    dropped_text,
    load_at,
    timeline_at,
    undrop_at,
    vacuum_at,
)
from versioned_catalog.names.names import (
    Names,
    check_free,
    check_namespace,
    head_of,
    listed_beside,
)
from versioned_catalog.names.names_log import (
    Name,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.table import Table
from versioned_catalog.write.auto_maintain import AUTO_MAINTAIN, OFF, auto_maintain

RECENT = 200
"""How many commits of a warehouse the error about a missing table looks back for its drop."""


@dataclass(frozen=True)
class DroppedTable:
    """A table that was dropped, and can be undropped.

    Args:
        name: the parts of the name that it had.
        uuid: the table UUID from its creation, which tells tables of one name apart.
        dropped: when it was dropped.
        user: who dropped it, if the drop says so.
        until: until when no vacuum deletes its files, unless it is forced.
        version: the version before the drop, which an undrop brings back.
        location: URL of its folder.
    """

    name: Name
    uuid: str
    dropped: datetime
    user: str | None
    until: datetime
    version: int
    location: str


@dataclass(frozen=True)
class _Removed:
    """A table whose name was removed, and when."""

    table: TableName
    time: datetime


def dropped_tables(names: Names, above: Name) -> tuple[DroppedTable, ...]:
    """The tables that can be undropped, the last dropped first. See ``Catalog.dropped_tables``."""
    state, key = names.existing(), full_key(above)
    removed = [r for r in _removed(names) if full_key(r.table.name)[: len(key)] == key]
    if not removed:
        check_namespace(state, above)
    described = (_described(names, table) for table in removed)
    return tuple(table for table in described if table is not None)


def hint_at_drop(names: Names, name: Name) -> str:
    """When a missing table was dropped, for the error; empty if it was not lately, or is lost."""
    key = full_key(name)
    with suppress(VersionedError):  # the table is missing, whatever can't be read
        state = names.state()
        recent = islice(names.log.newest_first(state.version), RECENT)
        if key in state.views or not any(
            key == full_key(gone)
            for entry in recent
            if not isinstance(entry, Stub)
            for gone in entry.remove_tables
        ):
            return ""
        for table in dropped_tables(names, name[:-1]):
            if full_key(table.name) == key:
                by = "" if table.user is None else f" by {table.user}"
                return f"; {dropped_text(render_path(table.name), table.dropped, by)}"
    return ""


def undrop(
    names: Names, name: Name, uuid: str | None, new_name: Name | None, commit_id: str | None
) -> Table:
    """Undrop a table. See ``Catalog.undrop``."""
    table = _find(names, name, uuid)
    new_name = new_name or table.name
    table = replace(table, name=new_name)
    store, shown = names.folder(table.location), render_path(new_name)
    holder = names.state().tables.get(full_key(new_name))
    if holder is None or holder.table_uuid != table.table_uuid:
        _check_free(names.state(), new_name)
    elif (existing := _loaded(names, table)) is not None and not existing.dropped:
        landed = commit_id and timeline_at(store).find_commit(commit_id, -1, existing.version)
        if landed is None:
            raise AlreadyExistsError(f"{shown} is not dropped", condition="TABLE_ALREADY_EXISTS")
    if table.is_external:
        undropped = load_at(store, shown, table.table_uuid)
    else:
        undropped = undrop_at(store, table.table_uuid, shown, commit_id)

    def change(state: WarehouseState) -> WarehouseEntry | None:
        if state.name_of(table.table_uuid) is not None:
            return None
        _check_free(state, new_name)
        return WarehouseEntry(head_of("create_table"), set_tables=(table,))

    try:
        names.commit(change)
    except (AlreadyExistsError, NotFoundError):
        if not table.is_external:
            follow_name(names, table)
        raise
    if not table.is_external:
        follow_name(names, table)
    other = names.state().name_of(table.table_uuid)
    if other is not None and full_key(other) != full_key(new_name):
        raise AlreadyExistsError(
            f"{render_path(name)} was undropped as {render_path(other)} meanwhile; rename that",
            condition="TABLE_ALREADY_EXISTS",
        )
    return undropped


def maintain_dropped(
    names: Names, bounds: MaintenanceBounds, *, dry_run: bool, progress: Progress
) -> Iterator[Maintained | Unmaintained]:
    """Vacuum the dropped tables that can be undropped for long enough; see ``Catalog.maintain``."""
    retention = bounds.retention if bounds.force else max(bounds.retention, UNDROP_RETENTION)
    cutoff = time_before(store_time(names.store, dry_run=dry_run), retention)
    for removed in _removed(names):
        table, shown = removed.table, render_path(removed.table.name)
        if table.is_external:
            continue
        try:
            state = _loaded(names, table) if removed.time <= cutoff else None
            if state is None or not state.can_be_undropped or state.time > cutoff:
                continue
            if auto_maintain(state.properties) == OFF:
                yield Unmaintained(shown, f"the property {AUTO_MAINTAIN} is {OFF}")
                continue
            store = names.folder(table.location)
            done = vacuum_at(
                store, retention, dry_run=dry_run, force=bounds.force, progress=progress
            )
        except VersionedError as error:
            yield Unmaintained(shown, str(error), error)
            continue
        yield _maintained(shown, state, done)


def _maintained(table: str, state: TableState, done: Vacuumed) -> Maintained:
    return Maintained(
        table=table,
        dry_run=done.dry_run,
        advice=Advice(table, state.version, state.segments.count, state.segments.bytes, ()),
        expired_versions=0,
        deleted_files=len(done.segments) + len(done.others),
        deleted_bytes=done.bytes,
        removed_segments=0,
        removed_bytes=0,
        added_segments=0,
        added_bytes=0,
        skipped_segments=0,
        resolved_segments=0,
        version=done.version,
    )


def _check_free(state: WarehouseState, name: Name) -> None:
    """Refuse a name that is taken, or whose namespace does not exist."""
    try:
        check_free(state, name)
    except AlreadyExistsError as error:
        raise AlreadyExistsError(
            f"{error}, so nothing can be undropped under that name; rename what is there, or undrop "
            "under another name, with new_name or UNDROP TABLE ... AS",
            condition="TABLE_ALREADY_EXISTS",
        ) from None


def _find(names: Names, name: Name, uuid: str | None) -> TableName:
    """The last dropped table of a name, or the one with a UUID.

    Raises:
        NotFoundError: no table of that name, or with that UUID, was dropped.
    """
    removed = [r.table for r in _removed(names) if full_key(r.table.name) == full_key(name)]
    present = names.state().tables.get(full_key(name))
    if present is not None:  # a drop died after it was undropped, or the undrop has landed
        removed.append(present)
    wanted = [table for table in removed if uuid in (None, table.table_uuid)]
    if not wanted:
        raise _missing(names, name, uuid)
    can = (table for table in wanted if table is not present and _can_come_back(names, table))
    return next(can, wanted[0])


def _can_come_back(names: Names, table: TableName) -> bool:
    try:
        state = _loaded(names, table)
    except StorageError:
        raise  # an earlier table of the name must not come back for it
    except VersionedError:
        return False  # damaged, in need of a newer library, or below a root that this reader lacks
    return state is not None and (state.can_be_undropped or not state.dropped)


def _missing(names: Names, name: Name, uuid: str | None) -> NotFoundError:
    dropped = [table.name for table in dropped_tables(names, ())]
    which = "" if uuid is None else f" with the UUID {uuid}"
    return NotFoundError(
        f"no table {render_path(name)}{which} was dropped in {names.store.url}; dropped tables: "
        f"{listed_beside(name, dropped)}",
        condition="TABLE_NOT_FOUND",
    )


def _removed(names: Names) -> list[_Removed]:
    """The tables whose names were removed and that have none now, the last removed first."""
    named: dict[Name, TableName] = {}
    removed: dict[str, _Removed] = {}
    newest = names.state().version
    for entry in names.log.entries(0, newest) if newest >= 0 else ():
        if isinstance(entry, Stub):
            continue  # a warehouse has none
        for name in entry.remove_tables:
            table = named.pop(full_key(name), None)
            if table is not None:
                removed[table.table_uuid] = _Removed(table, entry.head.time)
        for table in entry.set_tables:
            named[full_key(table.name)] = table
            removed.pop(table.table_uuid, None)
    return list(reversed(removed.values()))


def _loaded(names: Names, table: TableName) -> TableState | None:
    """The newest state of a table; None if its folder is empty or holds another table."""
    state = timeline_at(names.folder(table.location)).load().state
    return state if state is not None and state.created_uuid == table.table_uuid else None


def _described(names: Names, removed: _Removed) -> DroppedTable | None:
    """What is known of a table whose name was removed; None if it can't be undropped."""
    table = removed.table
    try:
        state = _loaded(names, table)
    except VersionedError:
        return None  # damaged, or in need of a newer library
    if state is None or (state.dropped and (table.is_external or not state.can_be_undropped)):
        return None
    store = names.folder(table.location)
    dropped, user = removed.time, None
    if state.dropped:
        dropped = state.time
        user = _user(timeline_at(store).entries(state.version, state.version))
    return DroppedTable(
        table.name,
        table.table_uuid,
        dropped,
        user,
        dropped + UNDROP_RETENTION,
        state.version - 1 if state.dropped else state.version,
        store.url,
    )


def _user(entries: Iterable[Commit | Stub]) -> str | None:
    for entry in entries:
        if isinstance(entry, Commit):
            return facts_of(entry.details)["user"]
    return None
