"""SYNC IDENTITY: no number is free any more that a row holds already (FORMAT.md, section 4.9)."""

from __future__ import annotations

import pyarrow.compute as pc

from versioned_catalog.commit.operations import Alter, Base
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.evolution import BoundChange
from versioned_catalog.model.identity import IdentityColumn, identities_of
from versioned_catalog.model.identity_changes import SyncIdentity
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.read.checks import with_all_rows
from versioned_catalog.read.scan import Scan
from versioned_catalog.storage.store import Store


def sync_identity(handle: TableHandle, column: str, commit_id: str | None) -> int:
    """Take all numbers up to the last that a row holds. See ``Table.sync_identity``."""
    state, path = handle.state, parse_path(column)
    found = state.seen.schema.get(path)
    identities = {each.column_id: each for each in identities_of(state.properties)}
    if found.id not in identities:
        raise InvalidRequestError(
            f"{handle.name}: the column {render_path(path)} is no identity column, so it has no numbers "
            "to give; identity columns are declared when a table is created",
            condition="NOT_SUPPORTED",
        )
    last = _last_number(handle.store, state, identities[found.id])
    change = BoundChange(SyncIdentity(path, found.id, last), None)
    return handle.commit(Alter(Base.of(state), (change,), count_nulls=lambda *_: 0), commit_id)


def _last_number(store: Store, state: TableState, identity: IdentityColumn) -> int | None:
    """The number of a row that is given last; None without rows. Rows that have expired count."""
    column = state.schema.column(identity.column_id)
    last: int | None = None
    for batch in Scan(store, with_all_rows(state, None), [column]).to_batches():
        ends = pc.min_max(batch.column(0))
        end = ends["max" if identity.identity.step > 0 else "min"].as_py()
        if end is not None:
            last = end if last is None else identity.later(last, end)
    return last
