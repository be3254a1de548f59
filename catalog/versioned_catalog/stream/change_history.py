"""The commits of a range of versions, with the states before and after each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.model.types import Column, walk
from versioned_catalog.stream.change_tasks import Stamp


@dataclass(frozen=True)
class Step:
    """One commit that adds or removes segments.

    Args:
        commit: its entry.
        before: the live segments before it; none if it began the incarnation.
        after: the live segments after it.
    """

    commit: Commit
    before: SegmentSet
    after: SegmentSet

    @property
    def version(self) -> int:
        """The version of the commit."""
        return self.commit.head.version

    @property
    def stamp(self) -> Stamp:
        """The version and the time of the commit."""
        return Stamp(self.version, self.commit.head.time)

    @property
    def parts(self) -> tuple[SegmentSet, SegmentSet]:
        """The segments that the commit removed, and those that it added."""
        return self.removed, self.added

    @cached_property
    def removed(self) -> SegmentSet:
        """The segments that the commit removed."""
        return self.before.only(self.commit.removed)

    @cached_property
    def added(self) -> SegmentSet:
        """The segments that the commit added."""
        return self.after.only(record.path for record in self.commit.added)


def check_range(newest: TableState, end: TableState, start: int, table: str) -> None:
    """Refuse a range of versions whose changes can't be read.

    Args:
        newest: the newest known state, which says what is expired.
        end: the state at the last version of the range.

    Raises:
        InvalidRequestError: the range is empty, or reaches beyond the last CREATE OR REPLACE TABLE.
        NotFoundError: an entry that is needed is expired.
    """
    if start < 0 or start > end.version:
        raise InvalidRequestError(
            f"{table}: changes from version {start} to {end.version} can't be read; the first version "
            "must be from 0 up to the last one"
        )
    began = end.created_version
    if start < began:
        raise InvalidRequestError(
            f"{table}: changes from version {start} to {end.version} can't be read, since version "
            f"{began} created or replaced the table, and its columns have other IDs since; ask for the "
            f"changes from {began} on, or for those up to {began - 1}"
        )
    first = first_version(newest, began)
    if start < first:
        raise expired_error(start, first, table)


def first_version(newest: TableState, began: int) -> int:
    """The first version with readable changes, of an incarnation that began with a version."""
    # The changes of a version need the state before it.
    return began if newest.floor <= began else newest.floor + 1


def expired_error(version: int, first: int, table: str) -> NotFoundError:
    """The error for versions whose entries are expired."""
    return NotFoundError(
        f"{table}: the changes of version {version} are expired; the first version whose changes can be "
        f"read is {first}: start there, and read the table as of version {first - 1} for what was "
        "before; expire with a longer time to keep more",
        condition="VERSION_NOT_FOUND",
    )


def read_steps(log: TableLog, end: TableState, start: int, table: str) -> list[Step]:
    """The commits from ``start`` to ``end`` that add or remove segments, in order.

    Raises:
        NotFoundError: entries were expired meanwhile.
        CorruptTableError: the log can't be read.
    """
    return [
        step for step in _steps(log, end, start, table) if step.commit.added or step.commit.removed
    ]


def _steps(log: TableLog, end: TableState, start: int, table: str) -> Iterator[Step]:
    if start == end.created_version:
        began = log.load(start).state
        assert began is not None, "the log was read up to a later version"
        (first,) = commits(log, start, start, table)
        yield Step(first, SegmentSet(), began.segments)
        state, start = began, start + 1
    else:
        loaded = log.load(start - 1).state
        assert loaded is not None, "the log was read up to a later version"
        state = loaded
    for commit in commits(log, start, end.version, table):
        before, state = state.segments, apply(state, commit)
        yield Step(commit, before, state.segments)


def commits(log: TableLog, start: int, end: int, table: str) -> Iterator[Commit]:
    """The entries of some versions, both included; none if ``start`` is after ``end``."""
    if start > end:
        return
    for entry in log.entries(start, end):
        if isinstance(entry, Stub):
            raise expired_error(entry.version, entry.floor + 1, table)
        yield entry


def keeps_rows(step: Step, state: TableState) -> bool:
    """Whether a commit only moved rows to other segments, as far as the shown columns can tell.

    A compaction under a schema without a column drops its values. They count where the column is shown:
    by a stream that began with it, or after a rollback that restored it.

    Args:
        state: the state in whose schema changes are shown.
    """
    if step.commit.head.operation != "compact":
        return False
    removed = schema_versions(step.removed)
    written = {record.schema_version for record in step.commit.added}
    columns = [column for column, _ in walk(state.seen.schema.columns)]
    old, new = ([_shown_of(v, columns, state) for v in part] for part in (removed, written))
    return all(
        now is _STORED or before == now
        for old_values in old
        for new_values in new
        for before, now in zip(old_values, new_values, strict=True)
    )


_STORED = object()


def _shown_of(version: int, columns: Sequence[Column], state: TableState) -> list[object]:
    """The value of each column in segments of a schema version: ``_STORED``, a constant or null."""
    stored_ids, null_after = state.schemas[version].ids, None
    if state.lens is not None:
        null_after = state.lens.null_after
    lost = null_after is not None and version > null_after
    return [_STORED if c.id in stored_ids else None if lost else c.read_default for c in columns]


def schema_versions(segments: SegmentSet) -> list[int]:
    """The versions of the schemas that segments were written under."""
    versions: list[int] = segments.core["schema_version"].unique().to_pylist()
    return versions
