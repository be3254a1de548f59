"""What is given up: fences, floors, and versions that are not kept (FORMAT.md, section 9)."""

from __future__ import annotations

from versioned_catalog.conflicts.incarnation import head_after
from versioned_catalog.conflicts.operations import Expire, Fence
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState


def check_kept(version: int, state: TableState, table: str) -> None:
    """Refuse a version that is expired.

    Raises:
        NotFoundError: naming the versions that are kept.
    """
    if not state.keeps(version):
        raise NotFoundError(
            f"{table} keeps versions from {state.floor} on, and those with tags; version {version} is "
            "expired",
            condition="VERSION_NOT_FOUND",
        )


def propose_fence(operation: Fence, state: TableState, commit_id: str) -> Commit | None:
    """The entry that fences off what is planned on old versions. See ``proposing.propose``."""
    if operation.fence <= state.fence:
        return None
    head = head_after(state, commit_id, "fence", operation.base.version)
    return Commit(head, state.next_column_id, fence=operation.fence)


def propose_expire(
    operation: Expire, state: TableState, commit_id: str, table: str
) -> Commit | None:
    """The entry that moves the floor. See ``proposing.propose``."""
    if operation.floor <= state.floor:
        return None
    for name, version in state.tags.items():
        if version < operation.floor and version not in operation.kept:
            raise CommitConflictError(
                f"{table}: version {version} was tagged as {name!r} while it was to be expired; nothing "
                "was, expire again"
            )
    head = head_after(state, commit_id, "expire", operation.base.version)
    return Commit(head, state.next_column_id, floor=operation.floor)
