"""Resolving overlapping segments of a table with a primary key into marks, so that no scan merges them.

Only keys are read, and nothing is written but marks (FORMAT.md, section 13, *Resolving*). A later upsert
of the same keys makes a group unresolved again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from versioned_catalog.commit.operations import Base, Resolve
from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.state import TableState
from versioned_catalog.read.bounds import some_match
from versioned_catalog.read.filters import filter_on
from versioned_catalog.read.hidden_rows import Group, hidden_rows, unresolved_groups
from versioned_catalog.read.scan_columns import bind_filters

COMMIT_ROWS = 64 * 1024 * 1024
"""Rows of segments between two commits, so that a step that is killed loses no more work."""


@dataclass(frozen=True)
class Resolved:
    """Result of resolving overlapping segments.

    Args:
        table: name of the table.
        dry_run: whether it was only planned.
        version: version of the last commit; the version that was planned on if there was none.
        groups, segments: number of groups that were resolved, and of their segments.
        hidden_rows: how many rows of them are hidden; 0 in a dry run.
        skipped: number of segments left alone because other commits removed segments of their group.
        left: number of segments that scans go on merging: those with partial upserts, and, if there is a
            bound, those beyond it.
    """

    table: str
    dry_run: bool
    version: int
    groups: int
    segments: int
    hidden_rows: int
    skipped: int
    left: int


@dataclass(frozen=True)
class ResolvePlan:
    """The groups to resolve, and those that stay merged."""

    groups: Sequence[Group]
    left: Sequence[Group]

    @property
    def segments(self) -> int:
        """How many segments would be resolved."""
        return _segments(self.groups)


def plan_resolve(
    state: TableState,
    filters: Any = None,
    paths: Collection[str] | None = None,
    most_bytes: int | None = None,
) -> ResolvePlan:
    """Plan which groups to resolve, the smallest first.

    Args:
        filters: only groups that may hold matching keys, filtered as in ``Table.scan``; None for all.
        paths: only groups with one of these segments; None for all.
        most_bytes: the most bytes of their segments, of which only the keys are read; None for no limit.

    Raises:
        InvalidRequestError, NotFoundError: a filter is not one of the table.
    """
    near, room = _near(state, filters, paths), most_bytes
    chosen, left = list[Group](), list[Group]()
    for group in sorted(unresolved_groups(state), key=lambda group: group.bytes):
        if near is not None and near.isdisjoint(group.paths):
            continue
        if not group.resolvable or (room is not None and group.bytes > room):
            left.append(group)
            continue
        room = None if room is None else room - group.bytes
        chosen.append(group)
    return ResolvePlan(chosen, left)


def _near(state: TableState, filters: Any, paths: Collection[str] | None) -> frozenset[str] | None:
    """The segments whose groups are wanted; None for all."""
    bound = bind_filters(filters, state.known, state)
    by_key = None if bound is None else filter_on(bound, state.schema.row_key)
    if by_key is None:
        return None if paths is None else frozenset(paths)
    path = state.segments.column("path")
    matching = frozenset(path.filter(some_match(state, by_key)).to_pylist())
    return matching if paths is None else matching.intersection(paths)


def check_resolvable(state: TableState, table: str) -> None:
    """Refuse a table without a primary key, whose rows hide no others.

    Raises:
        InvalidRequestError: naming the table.
    """
    if not state.schema.is_keyed:
        raise InvalidRequestError(
            f"{table} can't be resolved, since it has no primary key: no row of it hides another, and "
            "scans merge nothing; compact it with another strategy",
            condition="NOT_SUPPORTED",
        )


Done = tuple[Group, dict[str, Positions]]
"""A group, and the hidden rows of its segments."""


def resolve(
    handle: TableHandle,
    filters: Any = None,
    *,
    paths: Collection[str] | None = None,
    most_bytes: int | None = None,
    dry_run: bool = False,
    progress: Progress = silent,
    commit_id: str | None = None,
) -> Resolved:
    """Mark the hidden rows of overlapping segments. See ``Maintenance.resolve``."""
    state = handle.state
    check_resolvable(state, handle.name)
    try:
        plan = plan_resolve(state, filters, paths, most_bytes)
    except (InvalidRequestError, NotFoundError) as error:
        raise type(error)(f"{handle.name}: {error}") from None
    if dry_run:
        return _report(handle, plan, plan.groups, 0, dry_run=True)
    done: list[Group] = []
    hidden = 0
    for batch in _batches(_hidden(handle, state, plan.groups, progress), commit_id is None):
        committed = _commit(handle, Base.of(state), batch, commit_id)
        done += [group for group, _ in committed]
        hidden += sum(len(rows) for _, marks in committed for rows in marks.values())
    return _report(handle, plan, done, hidden, dry_run=False)


def resolve_within(
    handle: TableHandle, most_bytes: int | None, progress: Progress = silent
) -> Resolved | None:
    """Resolve what overlaps, within a number of bytes; None in a table without a primary key."""
    if not handle.state.schema.is_keyed:
        return None
    return resolve(handle, most_bytes=most_bytes, progress=progress)


def _hidden(
    handle: TableHandle, state: TableState, groups: Sequence[Group], progress: Progress
) -> Iterator[Done]:
    for number, group in enumerate(groups, 1):
        progress("resolve", number - 1, len(groups))
        yield group, hidden_rows(handle.store, state, group)
        progress("resolve", number, len(groups))


def _batches(done: Iterable[Done], several: bool) -> Iterator[list[Done]]:
    """What is committed together; one batch unless there may be several."""
    batch, rows = list[Done](), 0
    for one in done:
        batch.append(one)
        rows += one[0].rows
        if several and rows >= COMMIT_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _commit(handle: TableHandle, base: Base, done: list[Done], commit_id: str | None) -> list[Done]:
    """Commit the marks of the groups whose segments are all live, and return those groups."""
    while done:
        hidden = {path: rows for _, marks in done for path, rows in marks.items()}
        try:
            handle.commit(Resolve(base, (), hidden=hidden), commit_id)
            return done
        except CommitConflictError:
            segments = handle.refresh().state.segments
            remaining = [
                (group, marks)
                for group, marks in done
                if all(segments.rows_of(path) is not None for path in group.paths)
            ]
            if len(remaining) == len(done):
                return []  # all segments are live: a fence is above the base
            done = remaining
    return []


def _report(
    handle: TableHandle, plan: ResolvePlan, done: Sequence[Group], hidden: int, *, dry_run: bool
) -> Resolved:
    resolved = _segments(done)
    return Resolved(
        table=handle.name,
        dry_run=dry_run,
        version=handle.state.version,
        groups=len(done),
        segments=resolved,
        hidden_rows=hidden,
        skipped=plan.segments - resolved,
        left=_segments(plan.left),
    )


def _segments(groups: Iterable[Group]) -> int:
    return sum(len(group.paths) for group in groups)
