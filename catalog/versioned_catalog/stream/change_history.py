"""The commits of a range of versions, with the states before and after each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.model.types import Column, walk
from versioned_catalog.stream.change_tasks import Stamp


@dataclass(frozen=True)
class Rows:
    """Rows of segments: those that their marks do not delete.

    Args:
        live: the segments of a version, with their marks.
        paths: which of them.
        only: of some segments only the rows of another mark are meant; by path.
    """

    live: SegmentSet
    paths: frozenset[str]
    only: Mapping[str, Mark] = field(default_factory=dict)

    @cached_property
    def segments(self) -> SegmentSet:
        """The segments alone."""
        return self.live.only(self.paths)

    @property
    def ordered_paths(self) -> list[str]:
        """The paths in the order of the segments."""
        newer, places = self.live.located(self.paths)
        return [*places, *(segment.record.path for segment in newer)]

    @property
    def whole(self) -> Rows:
        """The rows of the segments of which all rows are meant."""
        return Rows(self.live, self.paths - self.only.keys()) if self.only else self

    @property
    def partial(self) -> Rows:
        """The rows of the segments of which some rows are meant."""
        return Rows(self.live, self.paths & self.only.keys(), self.only)

    def within(self, paths: Iterable[str]) -> Rows:
        """The rows in some of the segments."""
        return Rows(self.live, self.paths.intersection(paths), self.only)

    @property
    def schema_versions(self) -> set[int]:
        """The schema versions that the segments were written under."""
        newer, places = self.live.located(self.paths)
        stored = self.live.base["schema_version"]
        older = {stored[place].as_py() for place in places.values()}
        return {segment.record.schema_version for segment in newer} | older


@dataclass(frozen=True)
class Step:
    """One commit that adds or removes segments, or marks rows.

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
    def parts(self) -> tuple[Rows, Rows]:
        """The rows that the commit removed, and those that it added."""
        return self.removed, self.added

    @property
    def schema_versions(self) -> set[int]:
        """The schema versions that the segments were written under."""
        return self.removed.schema_versions | self.added.schema_versions

    @cached_property
    def removed(self) -> Rows:
        """The rows of removed segments, and those that were marked."""
        marks = {path: mark for path, mark in self._marked.items() if mark is not None}
        return Rows(self.before, frozenset((*self.commit.removed, *marks)), marks)

    @cached_property
    def added(self) -> Rows:
        """The rows of added segments, and those whose marks a rollback took back."""
        before = self.before.marks if self.commit.head.operation == "rollback" else {}
        marks = {path: before[path] for path in self._marked if path in before}
        return Rows(self.after, frozenset((*self._added_paths, *marks)), marks)

    @cached_property
    def changed(self) -> tuple[SegmentSet, SegmentSet]:
        """The segments whose rows the commit changed, as they were before it and are after it."""
        if not self._marked:
            return self.removed.segments, self.added.segments
        old, new = {*self.commit.removed, *self._marked}, {*self._added_paths, *self._marked}
        return self.before.only(old), self.after.only(new)

    @cached_property
    def _marked(self) -> dict[str, Mark | None]:
        """The marks that the commit gives to segments that were live before it."""
        return {p: mark for p, mark in self.commit.marked.items() if p not in self._added_paths}

    @cached_property
    def _added_paths(self) -> frozenset[str]:
        return frozenset(record.path for record in self.commit.added)


Marked = tuple[str, Mark | None]
"""The rows of a segment, by its path, that one mark does not delete."""


def marked_of(segments: SegmentSet) -> list[Marked]:
    """The rows of each segment."""
    marks = segments.marks
    return [(path, marks.get(path)) for path in segments.paths]


Part = tuple[Marked, Mark | None]
"""Rows of a segment; only those of another mark, if there is one."""


def net_parts(steps: Iterable[Step]) -> tuple[list[Part], list[Part]]:
    """The rows that commits removed and added in total, each as often as it counts.

    Rows may count several times: added, compacted, and added again by a rollback. Compactions themselves
    are not among the steps, since they remove the rows that they add.
    """
    total: Counter[Marked] = Counter()
    for step in steps:
        before, after = step.changed
        total.subtract(marked_of(before))
        total.update(marked_of(after))
    old: dict[str, list[Marked]] = defaultdict(list)
    for rows in (-total).elements():
        old[rows[0]].append(rows)
    removed, added = list[Part](), list[Part]()
    for rows in (+total).elements():
        path, mark = rows
        if not old[path]:
            added.append((rows, None))
            continue
        earlier = old[path].pop()
        if mark is not None:
            removed.append((earlier, mark))
        if earlier[1] is not None:
            added.append((rows, earlier[1]))
    removed += [(rows, None) for rest in old.values() for rows in rest]
    return removed, added


class History(Protocol):
    """Commits, and the states between them."""

    def state_at(self, version: int) -> TableState:
        """The state at a version."""

    def commits(self, start: int, until: int) -> Iterator[Commit]:
        """The commits from one version to another, both included; none if the first is the later."""


@dataclass(frozen=True)
class LogHistory:
    """A history that reads a log; errors name ``table``."""

    log: TableLog
    table: str

    def state_at(self, version: int) -> TableState:
        """The state at a version."""
        state = self.log.load(version).state
        assert state is not None, "the log was read up to a later version"
        return state

    def commits(self, start: int, until: int) -> Iterator[Commit]:
        """The commits of some versions. Raises NotFoundError if one is expired."""
        if start > until:
            return
        for entry in self.log.entries(start, until):
            if isinstance(entry, Stub):
                raise expired_error(entry.version, entry.floor + 1, self.table)
            yield entry


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
            f"{began} created, replaced, cloned or restored the table, and its columns have other IDs "
            f"since; ask for the changes from {began} on, or for those up to {began - 1}"
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


def read_steps(history: History, end: TableState, start: int, last: int) -> list[Step]:
    """The commits from ``start`` to ``last`` that change segments or their marks, in order.

    Args:
        end: a state of the incarnation of these commits.

    Raises:
        NotFoundError: entries were expired meanwhile.
        CorruptTableError: the log can't be read.
    """
    if start > last:
        return []
    return [step for step in _steps(history, end, start, last) if step.commit.changes_segments]


def _steps(history: History, end: TableState, start: int, last: int) -> Iterator[Step]:
    if start == end.created_version:
        state = history.state_at(start)
        (first,) = history.commits(start, start)
        yield Step(first, SegmentSet(), state.segments)
        start += 1
    else:
        state = history.state_at(start - 1)
    for commit in history.commits(start, last):
        before, state = state.segments, apply(state, commit)
        yield Step(commit, before, state.segments)


def keeps_rows(step: Step, state: TableState) -> bool:
    """Whether a commit only moved rows to other segments, as far as the shown columns can tell.

    A compaction under a schema without a column drops its values. They count where the column is shown:
    by a stream that began with it, or after a rollback that restored it.

    Args:
        state: the state in whose schema changes are shown.
    """
    if step.commit.head.operation != "compact":
        return False
    removed = step.removed.schema_versions
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
    if not segments.count:
        return []
    versions: list[int] = segments.column("schema_version").unique().to_pylist()
    return versions
