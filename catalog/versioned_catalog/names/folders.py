"""Tables by folder: create, load and drop them there."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

import pyarrow as pa

from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.observed import commit_operation
from versioned_catalog.commit.operations import Base, Create, Drop, Purge, Replace, Undrop
from versioned_catalog.commit.table_entries import first_column_id
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.interop import interop
from versioned_catalog.log.commit_log import TableLog, table_log
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.expiry import check_retention
from versioned_catalog.maintain.vacuum import RISKS, Vacuumed, check_undroppable, vacuum_dropped
from versioned_catalog.model.table_text import is_folder
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.storage.local import make_reserve
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table
from versioned_catalog.write.plan import WritePlan, plan_create

Mode = Literal["create", "replace", "create or replace"]


@dataclass(frozen=True)
class Placement:
    """The planned location of a new table, and the table that it replaces.

    Plain data, which another process can commit: ``dataclasses.asdict(placement)`` and
    ``Placement(**members)``.

    Args:
        mode: ``create``, ``replace`` or ``create or replace``.
        folder: the table's folder, relative to the warehouse.
        table_uuid: the new table UUID.
        base_version: the newest version of the log in the folder; -1 without a log.
        first_column_id: the ID of the first column.
        replaced_uuid: the UUID from the creation of the replaced table; None for a new table.
        read_version: the version of the replaced table that the new rows were computed from, if any.
    """

    mode: Mode
    folder: str
    table_uuid: str
    base_version: int
    first_column_id: int
    replaced_uuid: str | None
    read_version: int | None = None

    def operation(self, creation: Create) -> Create | Replace:
        """Return the operation that creates or replaces the table."""
        placed = replace(creation, table_uuid=self.table_uuid, first_column_id=self.first_column_id)
        if self.replaced_uuid is None:
            return placed
        return Replace(placed, self.replaced_uuid, self.base_version, self.read_version)


def plan_creation_at(
    store: Store, folder: str, table_uuid: str, mode: Mode, replaced_uuid: str | None = None
) -> Placement:
    """Plan the creation of a table in a folder.

    Args:
        folder: its path relative to the warehouse.
        mode: ``create``, ``replace`` or ``create or replace``.
        replaced_uuid: the created UUID of the table to replace.

    Raises:
        NotFoundError: the table to replace was dropped.
    """
    loaded = timeline_at(store).load()
    if replaced_uuid is not None and not _is_there(loaded.state, replaced_uuid):
        raise NotFoundError(
            f"the table at {store.url} was dropped but kept its name; free that with drop_table",
            condition="TABLE_NOT_FOUND",
        )
    first_id = first_column_id(loaded.state)
    return Placement(mode, folder, table_uuid, loaded.version, first_id, replaced_uuid)


def timeline_at(store: Store) -> TableLog:
    """Return the log of the table in a folder."""
    return table_log(store)


@spanned("versioned.create")
def create_at(
    store: Store,
    operation: Create | Replace,
    name: str,
    commit_id: str,
    *,
    since: int | None = None,
    check: Callable[[], None] | None = None,
) -> Table:
    """Create or replace the table in a folder.

    Args:
        since: a version before the commit, if that may have landed already; the log is searched from
            there.
        check: called before every attempt; its exceptions end the attempts.

    Raises:
        AlreadyExistsError: there is a table in the folder.
        CommitConflictError: another commit conflicts with the operation.
    """
    timeline = timeline_at(store)
    loaded = timeline.load()
    if since is None or timeline.find_commit(commit_id, since, loaded.version) is None:
        loaded = commit_operation(timeline, loaded, operation, commit_id, name, check).loaded
    make_reserve(store)
    table = Table(timeline, loaded, name)
    interop("publish_if_asked")(table.handle)
    return table


def plan_rows_at(
    store: Store, creation: Create, name: str, arrow: pa.Schema | None, version: int
) -> WritePlan:
    """Plan the first write to a table that is created with its rows.

    ``version`` is the newest of the log in the folder; -1 without a log. Rows of the schema ``arrow``
    are refused early if they do not fit.
    """
    state = timeline_at(store).load(version).state if version >= 0 else None
    return plan_create(store, creation, state, name, arrow)


@spanned("versioned.load_table")
def load_at(
    store: Store,
    name: str,
    created_uuid: str | None = None,
    cached: LoadedState[TableState] | None = None,
) -> Table:
    """Load the table in a folder.

    Args:
        created_uuid: the created UUID of the table; None for any.
        cached: an earlier state of the log; only later entries are read.

    Raises:
        NotFoundError: there is no such table.
    """
    timeline = timeline_at(store)
    loaded = timeline.load() if cached is None else timeline.advance(cached)
    state = loaded.state
    if not _is_there(state, created_uuid):
        way_out = "create it with create_table"
        if state is not None and state.can_be_undropped and created_uuid is None:
            way_out = dropped_text(store.url, state.time, "")
        raise NotFoundError(
            f"there is no table at {store.url}; {way_out}", condition="TABLE_NOT_FOUND"
        )
    return Table(timeline, loaded, name)


def dropped_text(table: str, time: datetime, by: str) -> str:
    """When a table was dropped, and how it comes back; ``by`` is who dropped it, after a blank."""
    return (
        f"{table} was dropped at {time:%Y-%m-%d %H:%M} UTC{by}: bring it back with versioned undrop "
        f"{shlex.quote(table)} or, in Python, Catalog.{'undrop_path' if is_folder(table) else 'undrop'}"
    )


def vacuum_at(
    store: Store, retention: timedelta, *, dry_run: bool, force: bool, progress: Progress
) -> Vacuumed:
    """Vacuum the table in a folder, which may be dropped. See ``Catalog.vacuum_path``."""
    timeline = timeline_at(store)
    while True:
        loaded = timeline.load()
        if loaded.state is None:
            raise NotFoundError(f"there is no table at {store.url}", condition="TABLE_NOT_FOUND")
        if not loaded.state.dropped:
            maintenance = Table(timeline, loaded, store.url).maintenance
            return maintenance.vacuum(retention, dry_run=dry_run, force=force, progress=progress)
        span = check_retention(retention, store.url, RISKS, force=force)
        check_undroppable(loaded.state, span, store.url, force=force)
        try:
            return vacuum_dropped(
                timeline, loaded.state, store.url, span, dry_run=dry_run, progress=progress
            )
        except CommitConflictError:
            continue  # it was undropped or created again: load it again


def is_there(store: Store, created_uuid: str) -> bool:
    """Whether the table with a created UUID exists in a folder."""
    return _is_there(timeline_at(store).load().state, created_uuid)


def _is_there(state: TableState | None, created_uuid: str | None) -> bool:
    """Whether a state is of a table that exists, and of the given one if any."""
    if state is None or state.dropped:
        return False
    return created_uuid is None or state.created_uuid == created_uuid


def undrop_at(
    store: Store, created_uuid: str | None, name: str, commit_id: str | None = None
) -> Table:
    """Make the dropped table in a folder exist again; it may exist already.

    Args:
        created_uuid: the created UUID of the table; None for any.

    Raises:
        NotFoundError: there is none, or its files may be deleted already.
        CommitConflictError: another table was created there.
    """
    timeline = timeline_at(store)
    loaded = timeline.load()
    if loaded.state is None:
        raise NotFoundError(
            f"there is no table at {store.url}, nor was one dropped there",
            condition="TABLE_NOT_FOUND",
        )
    handle = TableHandle(timeline, loaded, name)
    handle.commit(Undrop(created_uuid or loaded.state.created_uuid), commit_id)
    table = Table(timeline, handle.loaded, name)
    interop("publish_if_asked")(table.handle)
    return table


def drop_at(store: Store, created_uuid: str, name: str, *, dry_run: bool = False) -> None:
    """Drop the table in a folder if it still exists, even if it was replaced meanwhile.

    Args:
        dry_run: only check whether the newest table could be dropped.

    Raises:
        InvalidRequestError, UnsupportedFeatureError: it must not be dropped (FORMAT.md, section 11).
    """
    while True:
        try:
            handle = load_at(store, name, created_uuid).handle
            drop = Drop(Base.of(handle.state))
            if dry_run:
                propose(drop, handle.state, "", name, handle.log)
            else:
                handle.commit(drop)
        except CommitConflictError:
            continue  # it was replaced or dropped: load it again
        except NotFoundError:
            pass
        return


def discard_at(store: Store, created_uuid: str, name: str) -> None:
    """Drop a table that has got no name, and purge it: it could be undropped by no name either."""
    drop_at(store, created_uuid, name)
    timeline = timeline_at(store)
    loaded = timeline.load()
    state = loaded.state
    if state is not None and state.can_be_undropped and state.created_uuid == created_uuid:
        with suppress(CommitConflictError):
            TableHandle(timeline, loaded, name).commit(Purge(created_uuid))
