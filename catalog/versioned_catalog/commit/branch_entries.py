"""Entries that make, close and drop branches (FORMAT.md, section 17)."""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import CloseBranch, DropBranches, MakeBranch
from versioned_catalog.commit.table_entries import next_head
from versioned_catalog.commit.version_rules import check_not_dropped
from versioned_catalog.errors import NotFoundError
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.branches import COLUMN_IDS, ROW_IDS, Branch, OnBranch, new_branch_id
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.entry_json import commit_to_bytes
from versioned_catalog.log.features import BRANCHES, Features
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.times import next_time

_FEATURES = Features(frozenset({BRANCHES}), frozenset({BRANCHES}))


def make_branch_entry(attempt: Attempt[MakeBranch]) -> Commit:
    """The entry that registers a branch, whose log is written before.

    A log that no entry registers is an orphan, which vacuum deletes.
    """
    operation, state = attempt.operation, attempt.state
    first, end = state.next_column_id, state.next_column_id + COLUMN_IDS
    then = attempt.at(operation.version)
    rows = _row_ids(state) if then is not None and then.has_row_ids else None
    branch = Branch(
        new_branch_id(), operation.version, first, end, keep=operation.keep, row_ids=rows
    )
    _write_log(attempt, branch)
    head = next_head(attempt, "branch")
    return Commit(
        replace(head, features=head.features | _FEATURES),
        end,
        branches={**state.branches, operation.name: branch},
        row_ids=rows,
        details={"branch": operation.name, "base": operation.version},
    )


def _row_ids(state: TableState) -> tuple[int, int]:
    """The row IDs of a new branch."""
    return state.next_row_id, state.next_row_id + ROW_IDS


def _write_log(attempt: Attempt[MakeBranch], branch: Branch) -> None:
    """Write the log of a new branch: the table at its base, and an entry that makes it a branch."""
    (base,) = attempt.log.entries(branch.base, branch.base)
    then = check_not_dropped(attempt.at(branch.base), branch.base, attempt.table)
    if isinstance(base, Stub):
        raise NotFoundError(
            f"{attempt.table}: version {branch.base} was expired while the branch was made",
            condition="VERSION_NOT_FOUND",
        )
    log = branch_log(attempt.log.store, branch)
    first = _first_entry(attempt, then, branch)
    after = apply(then, first)
    if branch.base:
        log.write_kept(then)
    log.store.overwrite(log.entry_path(branch.base), commit_to_bytes(base))
    log.store.overwrite(log.entry_path(first.head.version), commit_to_bytes(first))
    log.write_checkpoint(after)


def _first_entry(attempt: Attempt[MakeBranch], then: TableState, branch: Branch) -> Commit:
    head = next_head(attempt, "branch", branch.base)
    return Commit(
        replace(
            head,
            version=branch.base + 1,
            features=then.features | _FEATURES,
            time=next_time(then.time, attempt.state.time),
        ),
        branch.first_id,
        floor=branch.base or None,
        tags={},
        tags_kept={},
        consumers={},
        branches={},
        branch=OnBranch(
            attempt.operation.name,
            branch.id,
            branch.end_id,
            None if branch.row_ids is None else branch.row_ids[1],
        ),
        row_ids=None if branch.row_ids is None else (branch.row_ids[0], branch.row_ids[0]),
        details={"branch": attempt.operation.name, "base": branch.base},
    )


def close_branch_entry(attempt: Attempt[CloseBranch]) -> Commit:
    """The last entry of a branch's log, which nothing can follow."""
    return Commit(next_head(attempt, "drop"), attempt.state.next_column_id)


def drop_branches_entry(attempt: Attempt[DropBranches]) -> Commit:
    """The entry that drops branches; their logs are left to vacuum."""
    state, dropped = attempt.state, attempt.operation.branches
    left = {
        name: branch for name, branch in state.branches.items() if dropped.get(name) != branch.id
    }
    names = sorted(state.branches.keys() - left.keys())
    return Commit(
        next_head(attempt, "branch"),
        state.next_column_id,
        branches=left,
        details={"dropped": names},
    )
