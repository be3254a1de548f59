"""Numbers of identity columns, which are taken by commits of their own (FORMAT.md, section 4.9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from versioned_catalog.commit.operations import Alter, Base
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)
from versioned_catalog.log.branch_store import BranchStore
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.log.state import TableState
from versioned_catalog.model.evolution import BoundChange, SchemaChange
from versioned_catalog.model.identity import IdentityColumn, Taken, identities_of
from versioned_catalog.model.identity_changes import GiveBackNumbers, TakeNumbers
from versioned_catalog.storage.store import Store


def numbered_table(store: Store, table: str, branch: str | None) -> TableHandle:
    """The table in a folder, or one of its branches, as it is now."""
    log = table_log(store.table if isinstance(store, BranchStore) else store)
    handle = TableHandle(log, log.load(), table)
    return handle if branch is None else handle.branch(branch)


def take(handle: TableHandle, column: IdentityColumn, count: int) -> Taken:
    """Take numbers of an identity column, which no other writer gets, on this branch or another.

    Args:
        handle: the table or branch.
        column: the column as the write was planned; if it was dropped since, no row shows the numbers.
        count: how many; fewer are taken if no more are left.

    Raises:
        InvalidRequestError: the column has no more numbers.
    """
    step = column.identity.step
    while True:
        state = handle.state
        newest = _in(state, column)
        if newest is None:
            return Taken(column.column_id, column.next, count, step)
        earliest = newest.next
        for other in _others(handle, column):
            earliest = newest.later(earliest, other.next)
        try:
            handle.commit(_alter(state, TakeNumbers(column.column_id, count, earliest)))
        except CommitConflictError:
            if _in(handle.refresh().state, column) is None:
                continue  # it was dropped at this moment
            raise
        mine = _in(handle.state, column)
        assert mine is not None, "the commit has found the column"
        first = (
            mine.next - step * count
            if mine.left_from(mine.next)
            else _first(handle, mine, earliest)
        )
        taken = Taken(column.column_id, first, (mine.next - first) // step, step)
        if all(
            other.later(other.next, taken.first) == taken.first for other in _others(handle, column)
        ):
            return taken


def _first(handle: TableHandle, column: IdentityColumn, earliest: int) -> int:
    """The first number that the newest commit has taken; it may not have got as many as it asked for."""
    before = handle.log.load(handle.loaded.version - 1).state
    found = None if before is None else _in(before, column)
    return earliest if found is None else column.later(found.next, earliest)


def give_back(handle: TableHandle, taken: Taken, used: int) -> None:
    """Make numbers free again that no row holds, as far as nobody has taken later ones.

    Args:
        used: how many of them rows may hold, from the first.
    """
    first = taken.first + taken.step * used
    if first == taken.end:
        return
    change = GiveBackNumbers(taken.column_id, first, taken.end)
    with suppress(VersionedError):  # a gap is no reason to end a write
        handle.commit(_alter(handle.state, change))


def _alter(state: TableState, change: SchemaChange[None]) -> Alter:
    return Alter(Base.of(state), (BoundChange(change, None),), count_nulls=lambda *_: 0)


def _in(state: TableState, column: IdentityColumn) -> IdentityColumn | None:
    columns = identities_of(state.properties)
    return next((each for each in columns if each.column_id == column.column_id), None)


def _others(handle: TableHandle, column: IdentityColumn) -> Iterator[IdentityColumn]:
    """The column in the other branches of a table, and in the table itself."""
    table = handle if handle.of is None else handle.of.refresh()
    own = handle.state.branch
    states = [] if own is None else [table.state]
    for name in table.state.branches:
        if own is None or name != own.name:
            try:
                states.append(table.branch(name).state)
            except (NotFoundError, InvalidRequestError):
                continue  # it was dropped since
    for state in states:
        found = _in(state, column)
        if found is not None:
            yield found
