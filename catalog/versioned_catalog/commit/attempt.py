"""One attempt to commit an operation after the newest state, and the search for conflicting commits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from versioned_catalog.commit.operations import Operation, Write
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState

Op_co = TypeVar("Op_co", bound=Operation | Write, covariant=True)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Attempt(Generic[Op_co]):
    """The input of the rules and of the entry.

    Args:
        newest: the newest state; None if there is no table.
        looks_at_rows: whether rules may read rows; without it, they check what no rows can change.
    """

    operation: Op_co
    newest: TableState | None
    commit_id: str
    table: str
    log: TableLog
    looks_at_rows: bool = True
    _derived: dict[object, Any] = field(default_factory=dict, repr=False)

    @property
    def state(self) -> TableState:
        """The newest state of an existing table."""
        assert self.newest is not None, "the rule table_exists comes first"
        return self.newest

    def since(self, version: int) -> Iterator[Commit | Stub]:
        """Entries after a version, up to the newest state."""
        return self.log.since(version, self.state.version)

    def at(self, version: int) -> TableState | None:
        """The state at a version, which is loaded once an attempt."""
        if version == self.state.version:
            return self.state
        if version not in self._derived:
            self._derived[version] = self.log.load(version).state
        then: TableState | None = self._derived[version]
        return then


Rule = Callable[[Attempt[Any]], None]
"""A check of an attempt: returns if the operation can be committed, else raises."""


def once(derive: Callable[[Attempt[Op_co]], T]) -> Callable[[Attempt[Op_co]], T]:
    """Compute a value of an attempt once, for the rules and for the entry."""

    @functools.wraps(derive)
    def derived(attempt: Attempt[Op_co]) -> T:
        if derive not in attempt._derived:
            attempt._derived[derive] = derive(attempt)
        value: T = attempt._derived[derive]
        return value

    return derived


@dataclass(frozen=True)
class ConcurrentCommit:
    """A commit that an operation conflicts with; its operation is None if it is expired."""

    version: int
    commit_id: str
    operation: str | None

    @property
    def kind(self) -> str:
        """The operation, for errors."""
        return self.operation or "an expired commit"


def find_conflict(
    attempt: Attempt[Any],
    since: int,
    conflicts: Callable[[Commit], bool],
    *,
    expired: Callable[[], bool] = lambda: True,
) -> ConcurrentCommit | None:
    """Find the first conflicting commit after a version.

    Args:
        since: the version that the operation was planned on, or read.
        conflicts: whether the operation conflicts with a commit.
        expired: whether it conflicts with an expired commit, whose changes are unknown; true by
            default.

    Returns:
        The commit, or None if there is no conflict.
    """
    for entry in attempt.since(since):
        if isinstance(entry, Stub):
            if expired():
                return ConcurrentCommit(entry.version, entry.commit_id, None)
        elif conflicts(entry):
            head = entry.head
            return ConcurrentCommit(head.version, head.commit_id, head.operation)
    return None
