"""Tables in their folders: made, found and ended there."""

from __future__ import annotations

import pyarrow as pa

from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.log.checkpoint import TableCodec
from versioned_catalog.log.operations import Create, propose
from versioned_catalog.log.timeline import Timeline
from versioned_catalog.storage.store import Store
from versioned_catalog.table import Table, TableTimeline
from versioned_catalog.writing.plan import WritePlan, plan_create


def timeline_at(store: Store) -> TableTimeline:
    """The log of the table in a folder."""
    return Timeline(store, TableCodec())


def create_at(store: Store, operation: Create, name: str, commit_id: str) -> Table:
    """Make a table in a folder.

    Raises:
        AlreadyExistsError: there is one.
    """
    timeline = timeline_at(store)
    done = timeline.commit(
        timeline.load(), commit_id, lambda state: propose(operation, state, commit_id, name)
    )
    return Table(timeline, done, name)


def plan_at(store: Store, operation: Create, arrow: pa.Schema) -> WritePlan:
    """Plan the first rows of a table in the making."""
    state = timeline_at(store).load().state
    return plan_create(store, operation, state, store.url, arrow)


def load_at(store: Store, name: str, table_uuid: str | None = None) -> Table:
    """The table in a folder.

    Args:
        store: the folder.
        name: what it is called in errors.
        table_uuid: which table is meant, or None for whatever is there.

    Raises:
        NotFoundError: it is not there.
    """
    timeline = timeline_at(store)
    loaded = timeline.load()
    state = loaded.state
    gone = state is None or state.dropped
    if gone or (table_uuid is not None and state is not None and state.table_uuid != table_uuid):
        raise NotFoundError(f"there is no table at {store.url}; make it with create_table")
    return Table(timeline, loaded, name)


def end_at(store: Store, table_uuid: str) -> None:
    """End the table in a folder, if it is still there."""
    try:
        load_at(store, store.url, table_uuid).drop()
    except (CommitConflictError, NotFoundError):
        return  # somebody else has
