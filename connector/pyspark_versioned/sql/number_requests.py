"""Requests about the numbers of identity columns, which the jar takes before it writes rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.common import Done
from pyspark_versioned.sql.snapshots import Opened, open_snapshot
from versioned_catalog.commit.numbers import give_back, numbered_table, take
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.model.identity import Taken, identities_of

_ROWS_OF_A_TASK = 1 << 24
_FEWEST_TASKS = 64


def take_numbers(request: messages.TakeNumbers) -> messages.Taken:
    """Take numbers for the rows of a write whose size is not known yet.

    Task p of n gives its rows the numbers p, p + n, p + 2n, ... of those that are taken. What no row
    holds is given back when the rows are committed.

    Raises:
        InvalidRequestError: a column has no more numbers.
    """
    opened = open_snapshot(request.table)
    count = max(request.partitions, _FEWEST_TASKS) * _ROWS_OF_A_TASK
    table = _numbered(opened)
    return messages.Taken(
        [_sent(take(table, column, count)) for column in identities_of(opened.base.properties)]
    )


def give_back_numbers(request: messages.GiveBackNumbers) -> Done:
    """Give back numbers of a write that failed."""
    return_taken(request.table, request.taken)
    return Done()


def return_taken(table: messages.TableRef, taken: Sequence[messages.TakenNumbers]) -> None:
    """Give back numbers that no row has got."""
    if taken:
        handle = _numbered(open_snapshot(table))
        for numbers in taken:
            give_back(handle, taken_of(numbers), 0)


def _numbered(opened: Opened) -> TableHandle:
    branch = None if opened.base.branch is None else opened.base.branch.name
    return numbered_table(opened.table.handle.store, opened.table.name, branch)


def _sent(taken: Taken) -> messages.TakenNumbers:
    return messages.TakenNumbers(taken.column_id, taken.first, taken.count, taken.step)


def taken_of(sent: messages.TakenNumbers) -> Taken:
    """Numbers that the jar has taken."""
    return Taken(sent.column_id, sent.first, sent.count, sent.step)


HANDLERS = (take_numbers, give_back_numbers)
