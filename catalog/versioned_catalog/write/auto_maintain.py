"""The property ``auto_maintain``: a writer compacts a little after its commit, and never fails for it.

It is on by default where a compaction makes no other writer start again (``_is_quiet``).

There is no lease. Whether a commit compacts is decided by the segments of its own version alone, so it
is decided for each version once, by the process that committed it:

1. What is counted is the small segments (``_rounds``), and in a table with a primary key the commits
   that live segments come from.
2. A commit compacts if it carries one of these numbers over ``FIRST``, twice that, four times that, ...
   Then it resolves the segments that still overlap, because it would be too much to merge them.
3. A compaction lowers the numbers, so the next one starts at ``FIRST`` again. Where one takes long, dies
   or finds nothing worth it, the next one waits until there is twice as much to do.
4. If two run at once all the same, the second to commit skips the segments that the first has replaced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from versioned_catalog.commit.mark_rules import ROW_CHANGES, RowChanges
from versioned_catalog.commit.row_rules import ISOLATION, Isolation
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.features import IMPORTS
from versioned_catalog.log.state import TableState
from versioned_catalog.observe.records import WARNING, record
from versioned_catalog.write.bounded_compaction import BoundedPlan, compact_within, plan_within
from versioned_catalog.write.compaction_choice import AUTO_COMPACT, CompactionTask, small_bytes
from versioned_catalog.write.resolving import resolve_within

AUTO_MAINTAIN = "auto_maintain"
ON, OFF = "on", "off"

FIRST = 16
"""The number of small segments, or of commits, at which a writer compacts first."""
MOST_BYTES = 128 * 1024 * 1024
"""The most bytes of segments that a writer rewrites after a commit."""
RESOLVED_BYTES = 8 * MOST_BYTES
"""The most bytes of segments of which it resolves the rest: it reads only their keys."""
MOST_PLANNED = 20_000
"""More segments are left to ``maintain``: small ones, and with a primary key all, are planned."""

_lock = Lock()
_running: set[str] = set()
"""The tables that threads of this process are compacting after a commit."""


def auto_maintain(properties: Mapping[str, str]) -> str | None:
    """Return ``on``, ``off``, or None if the property is not set.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(AUTO_MAINTAIN)
    if text not in (None, ON, OFF):
        raise InvalidRequestError(
            f"the property {AUTO_MAINTAIN} must be {ON} or {OFF}, got {text!r}",
            condition="INVALID_OPTION",
        )
    return text


class _Writer(Protocol):
    _handle: TableHandle


_W = TypeVar("_W", bound=_Writer)
_P = ParamSpec("_P")


def then_maintains(
    method: Callable[Concatenate[_W, _P], int],
) -> Callable[Concatenate[_W, _P], int]:
    """Decorate a method that commits rows and returns the version: it then calls ``maintain_if_due``."""

    @functools.wraps(method)
    def maintaining(self: _W, /, *args: _P.args, **options: _P.kwargs) -> int:
        before = self._handle.loaded.version
        version = method(self, *args, **options)
        maintain_if_due(self._handle, before)
        return version

    return maintaining


def maintain_if_due(handle: TableHandle, before: int) -> None:
    """Compact after a commit if ``auto_maintain`` asks for it; failures are only logged.

    Args:
        handle: at the version that the write has committed.
        before: the version before the write, which may have changed nothing.
    """
    if handle.store.is_staging:
        return
    try:
        if handle.state.version > before and is_due(handle.state):
            with alone(handle.location) as is_alone:
                if is_alone:
                    plan = plan_within(handle, MOST_BYTES)
                    if auto_maintain(handle.state.properties) is None:
                        plan = _quiet_tasks(handle.state, plan)
                    compact_within(handle, plan)
                    resolve_within(handle.refresh(), RESOLVED_BYTES)
    except Exception as error:  # the rows are committed, whatever fails now
        record(WARNING, "%s was not maintained: %s", handle.name, error, table=handle.name)


@contextmanager
def alone(location: str) -> Iterator[bool]:
    """Whether no other thread of this process is compacting the table."""
    with _lock:
        is_alone = location not in _running
        if is_alone:
            _running.add(location)
    try:
        yield is_alone
    finally:
        if is_alone:
            with _lock:
                _running.remove(location)


def is_due(state: TableState) -> bool:
    """Whether the commit of this version is the one that has to compact."""
    if state.branch is not None or not _is_on(state):
        return False  # a merge must find the segments that the branch began with
    segments, version = state.segments, state.version
    if state.schema.is_keyed and segments.count > MOST_PLANNED:
        return False
    if crosses(*_rounds(state)):
        return _small(state, range(version + 1))[0] <= MOST_PLANNED
    return state.schema.is_keyed and crosses(
        segments.count_commits(version - 1), segments.count_commits(version)
    )


def _is_on(state: TableState) -> bool:
    """Whether writers look after the table."""
    stated = auto_maintain(state.properties)
    return _is_quiet(state) if stated is None else stated == ON


def _is_quiet(state: TableState) -> bool:
    """Whether no other writer must start again for a compaction of the table.

    Writes follow a compaction that keeps the order of rows (FORMAT.md, section 11, note 21). Files of
    others, and their copies, are found by the source that they came from.
    """
    properties, schema = state.properties, state.schema
    if schema.row_key or schema.sort_by or IMPORTS in state.features.write:
        return False
    if AUTO_COMPACT in properties or properties.get(ROW_CHANGES) == RowChanges.COPY.value:
        return False
    return properties.get(ISOLATION) in (None, Isolation.SNAPSHOT.value)


def _quiet_tasks(state: TableState, plan: BoundedPlan) -> BoundedPlan:
    """The tasks that keep the order of rows: those of another partitioning are split."""
    wanted, schemas = state.schema.partitioning, state.schemas

    def keeps_order(task: CompactionTask) -> bool:
        return all(schemas[version].partitioning == wanted for version in task.schema_versions)

    return BoundedPlan(tuple(filter(keeps_order, plan.small)), (), ())


def _rounds(state: TableState) -> tuple[int, int]:
    """How often commits such as the newest one have added small segments, before it and with it.

    A commit into three partitions adds at least three. One segment a partition can't be merged away.
    """
    version = state.version
    _, written = _small(state, range(version, version + 1))
    before, now = _small(state, range(version)), _small(state, range(version + 1))
    unit = max(written, 1)
    return _excess(*before) // unit, _excess(*now) // unit


def _small(state: TableState, commits: range) -> tuple[int, int]:
    """The number of small segments that come from some commits, and of the partitions of these."""
    limit, partitioned = small_bytes(state.properties), bool(state.schema.partitioning)
    return state.segments.count_small(limit, commits, partitioned=partitioned)


def _excess(small: int, partitions: int) -> int:
    """The number of small segments without those that partitions but the first one need."""
    return small - max(partitions - 1, 0)


def crosses(before: int, after: int) -> bool:
    """Whether a number has reached ``FIRST``, or a power of two times ``FIRST``, and had not before."""
    return (after // FIRST).bit_length() > (before // FIRST).bit_length()
