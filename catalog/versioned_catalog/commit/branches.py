"""Commits that make, drop and merge branches."""

from __future__ import annotations

import time
from datetime import timedelta

from versioned_catalog.commit.branch_rules import branch_of
from versioned_catalog.commit.operations import Base, DropBranches, MakeBranch, MergeBranch
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.log.branches import LONGEST_KEPT

LONGEST_MAKING = 30 * 60
"""Seconds after which the log of a new branch may be old: vacuum may delete it after an hour."""


def create(
    handle: TableHandle,
    name: str,
    version: int | str | None,
    keep: timedelta | None,
    replace: bool,
    commit_id: str | None,
) -> int:
    """Begin a branch. See ``Table.create_branch``."""
    check_keep(keep, handle.name)
    base = Base.of(handle.state)
    operation = MakeBranch(base, name, handle.number_of(version), keep, replace)
    began = time.monotonic()
    made = handle.commit(operation, commit_id)
    if time.monotonic() - began > LONGEST_MAKING:
        # Vacuum may have taken the log of the branch for one that is left over.
        drop(handle, name, None)
        raise CommitConflictError(
            f"{handle.name}: making the branch {name!r} took too long, and it was dropped; run it again"
        )
    return made


def check_keep(keep: timedelta | None, table: str) -> None:
    """Refuse a time for which no branch and no tag can be kept."""
    if keep is not None and not (
        isinstance(keep, timedelta) and timedelta(seconds=1) <= keep <= LONGEST_KEPT
    ):
        raise InvalidRequestError(
            f"{table}: keep must be a timedelta from a second to {LONGEST_KEPT.days} days, got {keep!r}"
        )


def drop(handle: TableHandle, name: str, commit_id: str | None) -> int:
    """Drop a branch. See ``Table.drop_branch``."""
    state = handle.state
    branch = branch_of(state, name, handle.name)
    return handle.commit(DropBranches(Base.of(state), {name: branch.id}), commit_id)


def merge(
    handle: TableHandle,
    name: str,
    fast_forward: bool,
    keep: timedelta | None,
    commit_id: str | None,
) -> int:
    """Merge a branch as it is now. See ``Table.merge_branch``."""
    check_keep(keep, handle.name)
    state = handle.state
    branch = branch_of(state, name, handle.name)
    newest = handle.branch(name).state.version
    operation = MergeBranch(Base.of(state), name, branch.id, newest, fast_forward, keep)
    return handle.commit(operation, commit_id)
