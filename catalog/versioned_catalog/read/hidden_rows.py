"""Which rows of overlapping segments a merge does not show (FORMAT.md, section 13, *Resolving*).

Only keys, sequences and types of operation are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.record import Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import scalar_of
from versioned_catalog.read.merge import merge
from versioned_catalog.read.merge_planning import Ends, MergePlanner, ends_of
from versioned_catalog.read.metadata_columns import METADATA_COLUMNS, ROW_POSITION
from versioned_catalog.read.planning import Row, marked_groups, merged_groups, task_rows
from versioned_catalog.read.row_keys import Run
from versioned_catalog.read.tasks import MergeTask, open_runs
from versioned_catalog.storage.store import Store

_POSITION = tuple(column for column in METADATA_COLUMNS if column.id == ROW_POSITION)


@dataclass(frozen=True)
class Group:
    """Overlapping segments.

    Args:
        paths: their paths.
        bytes, rows: those of their files.
        resolvable: whether marks can say which rows are shown; not where one holds PATCH rows.
    """

    paths: tuple[str, ...]
    bytes: int
    rows: int
    resolvable: bool
    _segments: Sequence[tuple[Row, Delta, Ends]]


def unresolved_groups(state: TableState) -> list[Group]:
    """The groups of segments that a scan of all rows has to merge."""
    if not state.schema.is_keyed or not state.segments.count:
        return []
    return _groups(state, *merged_groups(state, np.arange(state.segments.count)))


def resolved_groups(state: TableState) -> list[Group]:
    """The groups of segments of which marks say which rows are shown."""
    if not state.schema.is_keyed or not state.segments.has_marks:
        return []
    return _groups(state, *marked_groups(state))


def _groups(state: TableState, members: npt.NDArray[np.int64], limits: list[int]) -> list[Group]:
    if not len(members):
        return []
    rows, deltas = task_rows(state.segments.core), state.segments.deltas.decode()
    ends = ends_of(state)
    return [
        _group([(rows[at], deltas[at], ends[at]) for at in members[first:end].tolist()])
        for first, end in pairwise(limits)
    ]


def _group(segments: Sequence[tuple[Row, Delta, Ends]]) -> Group:
    return Group(
        tuple(row["path"] for row, _, _ in segments),
        sum(row["bytes"] for row, _, _ in segments),
        sum(row["rows"] for row, _, _ in segments),
        all(delta.patch is None for _, delta, _ in segments),
        segments,
    )


def hidden_rows(store: Store, state: TableState, group: Group) -> dict[str, Positions]:
    """The positions of the rows that a merge of a resolvable group does not show, by segment.

    Raises:
        CorruptTableError: a segment does not match the log.
    """
    return _hidden(store, MergePlanner(state, _POSITION, None, 1).task(group._segments))


def _hidden(store: Store, task: MergeTask) -> dict[str, Positions]:
    firsts = np.cumsum([0, *(member.task.rows for member in task.members)])
    hidden, place = np.ones(int(firsts[-1]), bool), task.shape.keys
    with open_runs(store, task) as runs:
        numbered = [
            _numbered(run, place, int(first)) for run, first in zip(runs, firsts, strict=False)
        ]
        for batch in merge(numbered, task.shape):
            hidden[batch.column(place).to_numpy()] = False
    return {
        member.task.path: np.flatnonzero(hidden[first:end])
        for member, (first, end) in zip(task.members, pairwise(firsts.tolist()), strict=True)
    }


def _numbered(run: Run, place: int, first: int) -> Run:
    """The same rows, whose positions, in the column at ``place``, count from ``first`` on."""
    return replace(run, open=partial(_shifted, run, place, first))


def _shifted(run: Run, place: int, first: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    for batch in run.open(batch_rows):
        numbers = pc.add(batch.column(place), scalar_of(first, pa.int64()))
        yield batch.set_column(place, batch.schema.field(place), numbers)
