"""Rules about the versions that tags, rollbacks, consumers and expiry name.

Notes 9, 11 and 12 of FORMAT.md, section 11, and sections 5 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from versioned_catalog.commit.attempt import Attempt, find_conflict
from versioned_catalog.commit.operations import Consume, Expire, Rollback, Tag
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.model.type_text import has_control_characters
from versioned_catalog.spelling import listed

RESERVED = frozenset({"latest", "earliest", "main"})
"""Names that no new tag has, in any case: ``startingVersion`` of a stream, and the branch in Iceberg."""


def tag_can_change(attempt: Attempt[Tag]) -> None:
    """Refuse an illegal or misleading name, a version that can't be read, and to drop an unknown tag."""
    operation, state, table = attempt.operation, attempt.state, attempt.table
    name, version = check_tag(operation.name, table), operation.version
    if version is None:
        tagged_version(state, name, table)
        return
    if name not in state.tags:  # those of earlier writers can be moved
        check_new_name(name, table)
    check_retained(version, state, table)
    check_not_dropped(attempt.at(version), version, table)


def check_tag(name: object, table: str, kind: str = "tag") -> str:
    """Return the name of a tag, or of what ``kind`` says, if it is a legal one.

    Raises:
        InvalidRequestError: it is not text, is empty, consists of digits or has control characters.
    """
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(
            f"{table}: the name of a {kind} must be text that is not empty, got {name!r}"
        )
    if name.isdigit():
        raise InvalidRequestError(
            f"{table}: a {kind} can't be called {name!r}, since digits alone are a version; "
            f"call it 'v{name}'"
        )
    if has_control_characters(name):
        raise InvalidRequestError(
            f"{table}: the {kind} {name!r} holds control characters; choose another name"
        )
    return name


def check_new_name(name: str, table: str, kind: str = "tag") -> None:
    """Refuse the name of a new tag or branch that reads as something else where a version is expected.

    Raises:
        InvalidRequestError: saying as what.
    """
    if name.lower() in RESERVED:
        means = "a word of streams, or as Iceberg's branch"
    elif _reads_as(int, name):
        means = "a version"
    elif _reads_as(datetime.fromisoformat, name.strip().replace("Z", "+00:00")):
        means = "a time"
    else:
        return
    raise InvalidRequestError(
        f"{table}: a {kind} can't be called {name!r}, which reads as {means}; call it "
        f"'at {name.strip()}'"
    )


def _reads_as(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def version_or_tag(text: str) -> int | str:
    """Read what a user calls a version: its number, else the name of a tag."""
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number else text


def tagged_version(state: TableState, name: str, table: str) -> int:
    """The version that a tag names. Raises NotFoundError if there is no such tag."""
    if name not in state.tags:
        tags = listed(name, sorted(state.tags), none="none so far")
        raise NotFoundError(
            f"{table} has no tag {name!r} (the tags: {tags}); a version is a number, not text",
            condition="VERSION_NOT_FOUND",
        )
    return state.tags[name]


def nothing_unseen(attempt: Attempt[Rollback]) -> None:
    """Refuse a rollback that would also undo commits made since it was planned.

    Raises:
        CommitConflictError: naming the first of them.
    """
    base = attempt.operation.base.version
    conflict = find_conflict(attempt, base, _changes_content)
    if conflict is not None:
        raise CommitConflictError(
            f"{attempt.table}: version {conflict.version} was committed since version {base}, on which "
            "this rollback was planned, and would be taken back with the rest; refresh() the table, "
            "look at it, and roll back again"
        )


def _changes_content(commit: Commit) -> bool:
    """Whether a commit changed what a rollback restores, or set a fence."""
    return bool(
        commit.changes_segments
        or commit.schema is not None
        or commit.properties is not None
        or commit.sets_comment
        or commit.fence is not None
        or commit.imported is not None
    )


def target_can_be_restored(attempt: Attempt[Rollback]) -> None:
    """Refuse to roll back to a version that is not there (note 11).

    Raises:
        NotFoundError: the version does not exist, or is expired.
    """
    version, state, table = attempt.operation.version, attempt.state, attempt.table
    check_retained(version, state, table)
    check_not_dropped(attempt.at(version), version, table)


def consumer_can_change(attempt: Attempt[Consume]) -> None:
    """Refuse to move a consumer to an expired or missing version, or to drop a missing consumer.

    Raises:
        NotFoundError: naming the consumer.
    """
    operation, state, table = attempt.operation, attempt.state, attempt.table
    if operation.consumer is None:
        check_consumer(state, operation.name, table)
        return
    version = operation.consumer.version
    if version > state.version:
        raise InvalidRequestError(
            f"{table}: the consumer {operation.name!r} can't have read version {version}, since the "
            f"newest is {state.version}"
        )
    if version < max(state.floor, state.created_version):
        raise NotFoundError(
            f"{table}: the consumer {operation.name!r} can't keep version {version}, since it is "
            f"expired; the oldest version to read on from is {max(state.floor, state.created_version)}",
            condition="VERSION_NOT_FOUND",
        )


def consumers_are_kept(attempt: Attempt[Expire]) -> None:
    """Refuse to expire a version that a consumer needs since the expiry was planned.

    Raises:
        CommitConflictError: naming the consumer.
    """
    operation = attempt.operation
    if operation.floor <= attempt.state.floor:
        return  # it only forgets applications
    for name, consumer in attempt.state.consumers.items():
        version = consumer.version
        if version < operation.floor and operation.lapsed.get(name) != version:
            raise CommitConflictError(
                f"{attempt.table}: the consumer {name!r} was set to version {version} while it was to "
                "be expired; nothing was expired, run it again"
            )


def check_consumer(state: TableState, name: str, table: str) -> None:
    """Check that there is a consumer of this name.

    Raises:
        NotFoundError: there is none; the message lists the consumers.
    """
    if name not in state.consumers:
        consumers = listed(name, sorted(state.consumers), none="none so far")
        raise NotFoundError(f"{table} has no consumer {name!r} (the consumers: {consumers})")


def tags_are_kept(attempt: Attempt[Expire]) -> None:
    """Refuse to expire a version that was tagged since the states to keep were written (note 12).

    Raises:
        CommitConflictError: naming the tag.
    """
    operation = attempt.operation
    if operation.floor <= attempt.state.floor:
        return  # it only forgets applications
    for name, version in attempt.state.tags.items():
        if version < operation.floor and version not in operation.kept:
            raise CommitConflictError(
                f"{attempt.table}: version {version} was tagged as {name!r} while it was to be expired; "
                "nothing was expired, run it again"
            )


def check_retained(version: int, state: TableState, table: str) -> None:
    """Refuse a version that does not exist, or is expired.

    Raises:
        NotFoundError: naming the versions that are retained.
    """
    if not 0 <= version <= state.version:
        raise NotFoundError(
            f"{table} has no version {version}; the newest is {state.version}",
            condition="VERSION_NOT_FOUND",
        )
    if not state.keeps(version):
        raise NotFoundError(
            f"{table} keeps versions from {state.floor} on, and those with tags; version {version} is "
            "expired",
            condition="VERSION_NOT_FOUND",
        )


def check_not_dropped(then: TableState | None, version: int, table: str) -> TableState:
    """Return the state at a version, unless the table was dropped there.

    Raises:
        NotFoundError: naming the version.
    """
    if then is None or then.dropped:
        raise NotFoundError(
            f"{table} was dropped at version {version}", condition="VERSION_NOT_FOUND"
        )
    return then
