"""Marks or copies: how a DELETE or an UPDATE changes the segments in which some rows match.

A marked segment stays, and its mark says which of its rows are deleted (FORMAT.md, section 6.4). That is
cheap to write where few rows of many change; where many change, a copy without them is cheaper to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from versioned_catalog.commit.mark_rules import ROW_CHANGES, RowChanges, row_changes_of
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import read_segment
from versioned_catalog.storage.store import Store

ONE_IN = 4
"""``auto`` marks at most one in so many rows of a segment."""


def check_row_changes(properties: Mapping[str, str], *, keyed: bool) -> None:
    """Check the property before it is set.

    Raises:
        InvalidRequestError: its value is unknown, or has no effect in a table with a primary key.
    """
    how = row_changes_of(properties)
    if keyed and how is not RowChanges.AUTO:
        raise InvalidRequestError(
            f"the property {ROW_CHANGES} can't be {how.value!r} in a table with a primary key, whose "
            "rows are changed by new rows and tombstones; leave the property out, or set it to "
            f"{RowChanges.AUTO.value!r}, or create the table without a primary key",
            condition="NOT_SUPPORTED",
        )


def most_marked(how: RowChanges, rows: int) -> int:
    """How many rows of a segment of ``rows`` rows may be marked; where more would be, it is copied."""
    match how:
        case RowChanges.AUTO:
            return rows // ONE_IN
        case RowChanges.COPY:
            return 0
        case RowChanges.MARK:
            return rows


@dataclass(frozen=True)
class Choice:
    """How segments are changed; those in which no row matches are in neither.

    Args:
        marks: the rows to mark, by the paths of their segments.
        copied: the paths of the segments to copy.
    """

    marks: Mapping[str, Positions]
    copied: frozenset[str]


def choose(store: Store, tasks: Iterable[SegmentTask], how: RowChanges) -> Choice:
    """Choose between marks and copies, by reading which rows match.

    Args:
        tasks: tasks that read the positions of the matching rows, and no other column.

    Raises:
        CorruptTableError: a segment does not match the log.
    """
    marks, copied = dict[str, Positions](), set[str]()
    for task in tasks:
        marked = task.rows - task.shown_rows
        most = most_marked(how, task.rows) - marked
        positions = _matching(store, task, most)
        if positions is None:
            copied.add(task.path)
        elif len(positions):
            marks[task.path] = positions
    return Choice(marks, frozenset(copied))


def _matching(store: Store, task: SegmentTask, most: int) -> Positions | None:
    """The positions of the rows that a task reads; None, without reading on, if more than ``most``."""
    batches, count = [np.empty(0, np.int64)], 0
    for batch in read_segment(store, task):
        count += batch.num_rows
        if count > most:
            return None
        batches.append(batch.column(0).to_numpy())
    return np.concatenate(batches)
