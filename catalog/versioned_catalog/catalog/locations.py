"""Tables in their folders: where one is to be, made there, found there and ended there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from versioned_catalog.conflicts.incarnation import first_column_id
from versioned_catalog.conflicts.matrix import propose
from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.log.checkpoint import TableCodec
from versioned_catalog.log.codec import Loaded
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.log.timeline import Timeline
from versioned_catalog.storage.reserve import make_reserve
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table
from versioned_catalog.write.plan import WritePlan, plan_create

Mode = Literal["create", "replace", "create or replace"]


@dataclass(frozen=True)
class Placement:
    """Where a table is to be made, and in whose place.

    It is decided when the making is planned, and is plain data that another process can commit by:
    ``dataclasses.asdict(placement)`` and ``Placement(**members)``.

    Args:
        mode: what was asked for.
        folder: the table's, in the warehouse.
        table_uuid: who it will be.
        base_version: the newest version of the log in the folder; -1 where there is none.
        first_column_id: the first ID that its columns get.
        replaced_uuid: what the ``create`` of the table that it replaces called that; None for a
            table that is new.
        read_version: the version of that table whose rows the new table's were made of, or None.
    """

    mode: Mode
    folder: str
    table_uuid: str
    base_version: int
    first_column_id: int
    replaced_uuid: str | None
    read_version: int | None = None

    def operation(self, creation: Create) -> Create | Replace:
        """What makes the table here."""
        made = replace(creation, table_uuid=self.table_uuid, first_column_id=self.first_column_id)
        if self.replaced_uuid is None:
            return made
        return Replace(made, self.replaced_uuid, self.base_version, self.read_version)


def place_at(
    store: Store, folder: str, table_uuid: str, mode: Mode, replaced_uuid: str | None = None
) -> Placement:
    """The placement in a folder as it is now.

    Args:
        store: the folder.
        folder: where it is in the warehouse.
        table_uuid: who the table will be.
        mode: what was asked for.
        replaced_uuid: the table that is replaced.

    Raises:
        NotFoundError: that is not there any more.
    """
    loaded = timeline_at(store).load()
    if replaced_uuid is not None and not _is_there(loaded.state, replaced_uuid):
        raise NotFoundError(
            f"the table at {store.url} was ended and kept its name; free that with drop_table",
            condition="TABLE_NOT_FOUND",
        )
    first_id = first_column_id(loaded.state)
    return Placement(mode, folder, table_uuid, loaded.version, first_id, replaced_uuid)


def timeline_at(store: Store) -> TableTimeline:
    """The log of the table in a folder."""
    return Timeline(store, TableCodec())


def create_at(
    store: Store,
    operation: Create | Replace,
    name: str,
    commit_id: str,
    *,
    since: int | None = None,
    check: Callable[[], None] | None = None,
) -> Table:
    """Make or replace the table in a folder.

    Args:
        store: the folder.
        operation: what to do.
        name: what the table is called in errors.
        commit_id: who this commit is.
        since: a version before it, if it may have landed already: the log is searched from there.
        check: is called before every attempt; what it raises ends them.

    Raises:
        AlreadyExistsError: a table is there that should not be.
        CommitConflictError: something was committed that the operation can't follow.
    """

    timeline = timeline_at(store)

    def attempt(state: TableState | None) -> Commit | None:
        if check is not None:
            check()
        return propose(operation, state, commit_id, name, timeline)

    loaded = timeline.load()
    if since is None or timeline.find_commit(commit_id, since, loaded.version) is None:
        loaded = timeline.commit(loaded, commit_id, attempt)
    make_reserve(store)
    return Table(timeline, loaded, name)


def plan_at(
    store: Store, creation: Create, name: str, arrow: pa.Schema | None, version: int
) -> WritePlan:
    """Plan the first rows of a table in the making.

    Args:
        store: the table's folder.
        creation: what makes the table.
        name: what the table is called in errors.
        arrow: the schema of what will be written, to be refused where it does not fit; or None.
        version: the newest one of the log there; -1 where there is none.
    """
    state = timeline_at(store).load(version).state if version >= 0 else None
    return plan_create(store, creation, state, name, arrow)


def load_at(
    store: Store,
    name: str,
    created_uuid: str | None = None,
    known: Loaded[TableState] | None = None,
) -> Table:
    """The table in a folder.

    Args:
        store: the folder.
        name: what it is called in errors.
        created_uuid: which table is meant, or None for whatever is there.
        known: what the log there added up to some time ago; only what came since is read.

    Raises:
        NotFoundError: it is not there.
    """
    timeline = timeline_at(store)
    loaded = timeline.load() if known is None else timeline.advance(known)
    if not _is_there(loaded.state, created_uuid):
        raise NotFoundError(
            f"there is no table at {store.url}; make it with create_table",
            condition="TABLE_NOT_FOUND",
        )
    return Table(timeline, loaded, name)


def _is_there(state: TableState | None, created_uuid: str | None) -> bool:
    """Whether a log holds a living table, maybe a certain one, replaced or not."""
    if state is None or state.dropped:
        return False
    return created_uuid is None or state.created_uuid == created_uuid


def drop_at(store: Store, created_uuid: str) -> None:
    """End the table in a folder, if it is still there, whatever it was replaced by meanwhile."""
    while True:
        try:
            load_at(store, store.url, created_uuid).drop()
        except CommitConflictError:
            continue  # replaced, or dropped: look again
        except NotFoundError:
            pass
        return
