"""The plan of a change feed, and its tasks: small values that any process carries out."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from versioned_catalog.log.state import TableState
from versioned_catalog.model.pins import Overflow
from versioned_catalog.model.types import UNASSIGNED, Atom, Column, Constant
from versioned_catalog.read.apply_plan import Narrowing
from versioned_catalog.read.filters import BoundFilter
from versioned_catalog.read.metadata_columns import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    INSERT,
    SEQUENCE,
)
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import MergeTask
from versioned_catalog.storage.store import Store


@dataclass(frozen=True)
class Stamp:
    """The commit that made a change: its version, and its time in UTC."""

    version: int
    time: datetime


@dataclass(frozen=True)
class Output:
    """The rows and columns that a task compares, and those that it returns.

    Args:
        read: all columns of the table, in the types in which they are read and compared.
        every: the same in the types in which they are returned.
        places: the columns that are returned; those of the feed follow.
        filter: which images are returned, over ``read``; None for all.
        narrowing: the columns whose types differ; None for none.
        updates: whether an update is returned as two images, or else as a delete and an insert.
    """

    read: tuple[Column, ...]
    every: tuple[Column, ...]
    places: tuple[int, ...]
    filter: BoundFilter | None
    narrowing: Narrowing | None
    updates: bool

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns of the table that are returned."""
        return tuple(self.every[at] for at in self.places)

    @property
    def is_exact(self) -> bool:
        """Whether no value is shown as null because it does not fit, so that statistics apply."""
        return self.narrowing is None or self.narrowing.overflow is Overflow.ERROR


def _share(task: SegmentTask | MergeTask) -> tuple[int, int]:
    """The number of rows to read, at most, and their share of the bytes."""
    if isinstance(task, MergeTask):
        return task.rows, task.bytes
    return task.shown_rows, task.bytes * task.shown_rows // max(task.rows, 1)


class _Task(ABC):
    @property
    @abstractmethod
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        """What the task reads."""

    @property
    def rows(self) -> int:
        """The number of rows to read, at most."""
        return sum(_share(task)[0] for task in self.reads)

    @property
    def bytes(self) -> int:
        """The size of the files to read; of those that are read in part, of the part."""
        return sum(_share(task)[1] for task in self.reads)


@dataclass(frozen=True)
class WholeTask(_Task):
    """A segment whose rows are all changes of one type.

    Args:
        segment: reads the shown columns of the rows that match the filter.
        type: ``insert`` or ``delete``.
    """

    segment: SegmentTask
    type: str
    stamp: Stamp
    output: Output

    @property
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        return (self.segment,)


@dataclass(frozen=True)
class DifferenceTask(_Task):
    """Segments to compare: rows only in removed ones are deletes, rows only in added ones inserts.

    Args:
        removed, added: read all columns of the rows that match the filter.
    """

    removed: tuple[SegmentTask, ...]
    added: tuple[SegmentTask, ...]
    stamp: Stamp
    output: Output

    @property
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        return (*self.removed, *self.added)


@dataclass(frozen=True)
class IdentityTask(_Task):
    """Segments whose rows are matched by their IDs, in a table with row IDs.

    Args:
        removed, added: read all columns and the ID of every row; their filter says which rows match.
    """

    removed: tuple[SegmentTask, ...]
    added: tuple[SegmentTask, ...]
    stamp: Stamp
    output: Output

    @property
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        return (*self.removed, *self.added)


@dataclass(frozen=True)
class ImagesTask(_Task):
    """Upserts and deletes by key: the rows of some keys before the range and in each of its commits.

    Args:
        merge: the segments; its filter only restricts row keys.
        stamps: the commits of the range, by version; the sequences of all other rows are below these.
        net: whether only the images before the first and after the last commit are compared, whose
            stamp then is that of ``stamps[-1]``.
        carryovers: whether updates are returned that change no value.
    """

    merge: MergeTask
    stamps: tuple[Stamp, ...]
    net: bool
    carryovers: bool
    output: Output

    @property
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        return (self.merge,)


@dataclass(frozen=True)
class StatesTask(_Task):
    """The rows of some keys before and after a commit that replaced segments, such as a rollback.

    Args:
        before, after: the segments that were live then; their filters only restrict row keys.
    """

    before: MergeTask
    after: MergeTask
    stamp: Stamp
    output: Output

    @property
    def reads(self) -> tuple[SegmentTask | MergeTask, ...]:
        return self.before, self.after


ChangeTask = WholeTask | DifferenceTask | IdentityTask | ImagesTask | StatesTask


@dataclass(frozen=True)
class WholeRead:
    """Segments whose rows are all changes of one type, so that any reader of segments can read them.

    Args:
        store: the table's folder.
        state: shows the segments. Their sequence and commit time are those of the commit that changed
            their rows.
        type: ``insert`` or ``delete``.
    """

    store: Store = field(repr=False)
    state: TableState
    type: str
    output: Output

    def scan(self, columns: Sequence[Column] | None = None) -> Scan:
        """A scan of the rows that match the filter.

        Args:
            columns: shown columns, or parts of them, and those of ``feed_of``; None for the shown ones.
        """
        shown = self.output.shown if columns is None else columns
        return Scan(self.store, self.state, shown, self.output.filter)

    @property
    def tasks(self) -> list[WholeTask]:
        """The tasks that read the segments."""
        segments = segment_tasks(self.scan())
        return [WholeTask(task, self.type, stamp_of(task), self.output) for task in segments]


def segment_tasks(scan: Scan) -> list[SegmentTask]:
    """The tasks of a scan that merges no segments."""
    return [task for task, _ in scan.tasks() if isinstance(task, SegmentTask)]


def stamp_of(task: SegmentTask) -> Stamp:
    """The commit that changed the rows of a segment of a ``WholeRead``."""
    return Stamp(task.sequence, task.commit_time)


def feed_of(type_: str) -> tuple[Column, ...]:
    """The columns of the feed, as a scan of a ``WholeRead`` shows them."""
    value = Constant(json.dumps(type_))
    return (
        Column(UNASSIGNED, CHANGE_TYPE, Atom.STRING, False, read_default=value),
        Column(SEQUENCE, COMMIT_VERSION, Atom.LONG, False),
        Column(COMMIT_TIME, COMMIT_TIMESTAMP, Atom.TIMESTAMP, False),
    )


Planned = tuple[tuple[WholeRead, ...], tuple[ChangeTask, ...]]
"""Segments that are read whole, and tasks for other changes."""


@dataclass(frozen=True)
class Plan:
    """The plan of the changes of a range of versions.

    Args:
        start, end: the first and the last version, both included; ``start`` is one above ``end`` for a
            range without versions.
        columns: the shown columns of the table; those of the feed follow.
        whole: segments whose rows are all changes of one type.
        compared: tasks for all other changes. Only the rows of an ``ImagesTask`` are of several commits.
    """

    start: int
    end: int
    columns: tuple[Column, ...]
    whole: tuple[WholeRead, ...]
    compared: tuple[ChangeTask, ...]

    @cached_property
    def tasks(self) -> tuple[ChangeTask, ...]:
        """All tasks, in the order of commits; of a commit, those of inserts come last."""
        whole = (task for read in self.whole for task in read.tasks)
        return tuple(sorted((*whole, *self.compared), key=_order))


def _order(task: ChangeTask) -> tuple[int, bool]:
    stamp = task.stamps[0] if isinstance(task, ImagesTask) else task.stamp
    return stamp.version, isinstance(task, WholeTask) and task.type == INSERT
