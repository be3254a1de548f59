"""Rules about branches: what is made, dropped and merged, and what a branch can't do.

Notes 22 and 23 of FORMAT.md, section 11, and section 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import (
    Alter,
    CloseBranch,
    Compact,
    DropBranches,
    MakeBranch,
    MergeBranch,
    Resolve,
    Tag,
)
from versioned_catalog.commit.version_rules import (
    check_new_name,
    check_not_dropped,
    check_retained,
    check_tag,
)
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.log.branches import COLUMN_IDS, Branch
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.model.keys import is_set
from versioned_catalog.model.types import FIRST_INTERNAL_ID
from versioned_catalog.spelling import listed

WAP_ENABLED = "write.wap.enabled"
"""Iceberg's property of tables in which sessions stage what they write."""

STAGED_ID = "spark.wap.id"
"""Iceberg's setting of a session that stages the rows that it writes, and not what it alters."""


STAGED_PREFIX = "wap_"
"""How the name of the branch begins that holds the write that is staged under an ID."""


def stages_writes(properties: Mapping[str, str]) -> bool:
    """Whether sessions that name a branch or an ID stage their writes to the table.

    Raises:
        InvalidRequestError: the property is neither ``true`` nor ``false``.
    """
    return is_set(properties, WAP_ENABLED)


_staging: ContextVar[str | None] = ContextVar("versioned_catalog_staging", default=None)


@contextmanager
def staging(setting: str | None) -> Iterator[None]:
    """Refuse, within the block, writes past the branch in which a session stages them.

    Args:
        setting: the setting by which it does so; None if it does not.
    """
    token = _staging.set(setting)
    try:
        yield
    finally:
        _staging.reset(token)


def on_table(attempt: Attempt[Any]) -> None:
    """Refuse on a branch what only the table itself can do.

    Raises:
        InvalidRequestError: naming the branch.
    """
    branch = None if attempt.newest is None else attempt.newest.branch
    if branch is not None:
        kind = type(attempt.operation).__name__.lower()
        raise InvalidRequestError(
            f"{attempt.table} is a branch, which takes no {_WORDS.get(kind, kind)}; use the table, or "
            f"merge the branch {branch.name!r} first",
            condition="NOT_SUPPORTED",
        )


_WORDS = {
    "import": "import of files",
    "compact": "compaction",
    "resolve": "compaction",
    "consume": "consumers",
    "tag": "tags",
    "expire": "expiry",
    "replace": "CREATE OR REPLACE TABLE",
    "makebranch": "branches of its own",
    "dropbranches": "branches of its own",
    "mergebranch": "branches of its own",
    "drop": "DROP TABLE (write DROP BRANCH)",
}


def no_branches_lost(attempt: Attempt[Any]) -> None:
    """Refuse to replace a table while branches of it exist.

    Raises:
        InvalidRequestError: naming the first branch.
    """
    branches = attempt.state.branches
    if branches:
        raise InvalidRequestError(
            f"{attempt.table} can't be replaced, since the branch {min(branches)!r} would be lost; drop "
            "its branches first",
            condition="NOT_SUPPORTED",
        )


def no_branch_of_name(attempt: Attempt[Tag]) -> None:
    """Refuse a tag with the name of a branch.

    Raises:
        AlreadyExistsError: naming the branch.
    """
    name = attempt.operation.name
    if attempt.operation.version is not None and name in attempt.state.branches:
        raise AlreadyExistsError(
            f"{attempt.table} has a branch {name!r}; call the tag something else"
        )


def branch_can_begin(attempt: Attempt[MakeBranch]) -> None:
    """Refuse a name that is taken or misleading, and a version that is not there.

    Raises:
        AlreadyExistsError: there is a tag or branch of that name.
        InvalidRequestError: the name is illegal, or the version is kept by a tag alone.
        NotFoundError: there is no such version.
    """
    operation, state, table = attempt.operation, attempt.state, attempt.table
    name, version = check_tag(operation.name, table, "branch"), operation.version
    check_new_name(name, table, "branch")
    if name in state.tags:
        raise AlreadyExistsError(f"{table} has a tag {name!r}; call the branch something else")
    if name in state.branches and not operation.replaces:
        raise AlreadyExistsError(
            f"{table} has a branch {name!r} already; drop it, or replace it",
            condition="TABLE_ALREADY_EXISTS",
        )
    if state.next_column_id + COLUMN_IDS > FIRST_INTERNAL_ID:
        raise InvalidRequestError(
            f"{table} has too few column IDs left for a branch, which takes {COLUMN_IDS:,}; write to a "
            "table of its own",
            condition="NOT_SUPPORTED",
        )
    check_retained(version, state, table)
    then = check_not_dropped(attempt.at(version), version, table)
    if version < state.floor or then.table_uuid != state.table_uuid:
        raise InvalidRequestError(
            f"{table}: a branch can't begin at version {version}, which is kept by a tag alone, or was "
            f"before the table was replaced; begin at version {max(state.floor, state.created_version)} "
            "or later",
            condition="NOT_SUPPORTED",
        )


def has_not_gone_on(attempt: Attempt[CloseBranch]) -> None:
    """Refuse to end a branch that was written to since the base.

    Raises:
        CommitConflictError: naming the branch.
    """
    base, state = attempt.operation.base, attempt.state
    if state.branch is None or state.version != base.version:
        raise CommitConflictError(
            f"{attempt.table} was written to since version {base.version}, and goes on"
        )


def is_dropped(attempt: Attempt[DropBranches]) -> bool:
    """Whether none of the branches is there any more."""
    live = attempt.state.branches
    return not any(
        name in live and live[name].id == branch_id
        for name, branch_id in attempt.operation.branches.items()
    )


def branch_is_there(attempt: Attempt[MergeBranch]) -> None:
    """Refuse to merge a branch that was dropped or replaced.

    Raises:
        CommitConflictError: naming the branch.
    """
    operation = attempt.operation
    branch = attempt.state.branches.get(operation.name)
    if branch is None or branch.id != operation.branch_id:
        raise CommitConflictError(
            f"{attempt.table}: the branch {operation.name!r} was dropped or replaced meanwhile; nothing "
            "was merged"
        )


def branch_of(state: TableState, name: str, table: str) -> Branch:
    """The branch of a name.

    Raises:
        NotFoundError: there is none; the message lists the branches.
    """
    if name not in state.branches:
        branches = listed(name, sorted(state.branches), none="none so far")
        raise NotFoundError(
            f"{table} has no branch {name!r} (the branches: {branches})",
            condition="VERSION_NOT_FOUND",
        )
    return state.branches[name]


def checked(entry: Commit, attempt: Attempt[Any]) -> Commit:
    """An entry, unless a branch can't have it, or the session stages what it writes.

    Raises:
        InvalidRequestError: naming the branch.
    """
    state = attempt.newest
    branch = None if state is None else state.branch
    if state is None or branch is None:
        if state is not None:
            _check_staged(attempt, state, entry)
        return entry
    if entry.next_column_id > branch.end_id:
        raise InvalidRequestError(
            f"{attempt.table}: the branch {branch.name!r} has no column IDs left; merge it, and begin a "
            "new one"
        )
    refused = None
    if entry.imported is not None:
        refused = "files of others can't be taken into"
    elif entry.pins is not None:
        refused = "schema pins can't be changed on"
    if refused is not None:
        raise InvalidRequestError(
            f"{attempt.table}: {refused} a branch; do that on the table",
            condition="NOT_SUPPORTED",
        )
    is_staged = branch.name.startswith(STAGED_PREFIX) and _staging.get() == STAGED_ID
    if is_staged and entry.changes_segments:
        _check_only_write(attempt, state)
    return entry


def _check_only_write(attempt: Attempt[Any], state: TableState) -> None:
    """Refuse a second write under an ID: two sessions may have found that there is none.

    Raises:
        AlreadyExistsError: naming the branch.
    """
    for commit in attempt.since(state.floor):  # where the branch begins
        if isinstance(commit, Commit) and commit.changes_segments:
            raise AlreadyExistsError(
                f"{attempt.table}: {STAGED_ID} is set, and another write was staged under this ID "
                f"meanwhile, as version {commit.head.version} of its branch; set another ID, or unset "
                "it to write to the branch again"
            )


def _check_staged(attempt: Attempt[Any], state: TableState, entry: Commit) -> None:
    """Refuse a change of the table itself by a session that stages what it writes."""
    setting = _staging.get()
    alters = entry.schema is not None or entry.properties is not None or entry.sets_comment
    is_staged = setting != STAGED_ID or not isinstance(attempt.operation, Alter)
    changes = entry.changes_segments or (alters and is_staged)
    if setting is None or not changes or not stages_writes(state.properties):
        return
    if isinstance(attempt.operation, MergeBranch | Compact | Resolve):
        return
    raise InvalidRequestError(
        f"{attempt.table}: {setting} is set and the table has {WAP_ENABLED}, but this change would be "
        "visible at once; write by the table's name in SQL or a DataFrame, or unset the setting",
        condition="NOT_SUPPORTED",
    )
