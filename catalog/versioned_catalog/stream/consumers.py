"""Moving and dropping consumers, whose unread versions expiry keeps (FORMAT.md, section 9)."""

from __future__ import annotations

from datetime import timedelta

from versioned_catalog.commit.operations import Base, Consume
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import LONGEST, Consumer, Stub
from versioned_catalog.model.type_text import has_control_characters

KEEP = timedelta(days=30)
"""How long versions are kept for a consumer by default; without one, expiry keeps them for 7 days."""

EVERY = timedelta(minutes=5)
"""How often a stream moves its consumer, at most: each move is a commit."""


def move_consumer(
    handle: TableHandle,
    name: str,
    version: int | None,
    keep: timedelta | None,
    commit_id: str | None = None,
) -> int:
    """Set how far a consumer has read. See ``Table.move_consumer``."""
    state, current = handle.state, handle.state.consumers.get(check_name(name, handle.name))
    number = state.version if version is None else version
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise InvalidRequestError(f"{handle.name}: version must be a version, got {version!r}")
    span = (current.keep if current else KEEP) if keep is None else check_keep(keep, handle.name)
    consumer = Consumer(number, handle.store.now(), span)
    return handle.commit(Consume(Base.of(state), name, consumer), commit_id)


def drop_consumer(handle: TableHandle, name: str, commit_id: str | None) -> int:
    """Remove a consumer. See ``Table.drop_consumer``."""
    operation = Consume(Base.of(handle.state), check_name(name, handle.name), None)
    return handle.commit(operation, commit_id)


def register(handle: TableHandle, name: str, version: int) -> None:
    """Register a consumer for a starting stream; an existing one that keeps more versions stays.

    Raises:
        NotFoundError: the version is expired.
    """
    current = handle.refresh().state.consumers.get(name)
    if current is None or current.version > version:
        move_consumer(handle, name, version, None)


def advance(handle: TableHandle, name: str, version: int, table_uuid: str) -> None:
    """Advance a consumer as its stream reads: rarely, and only if there is a commit to move past.

    It does not move back. An expired version is not an error, since the stream has read it, nor is a
    table that was replaced, which the stream itself will notice.

    Args:
        handle: a handle that this may refresh.
        version: the last version that the stream has read.
        table_uuid: the incarnation that it has read.
    """
    try:
        state = handle.refresh().state
        if state.table_uuid == table_uuid and _is_due(handle, state.consumers.get(name), version):
            move_consumer(handle, name, version, None)
    except (NotFoundError, CommitConflictError):
        return


def _is_due(handle: TableHandle, consumer: Consumer | None, version: int) -> bool:
    if consumer is None:
        return True
    is_early = handle.store.now() - consumer.moved < EVERY
    return version > consumer.version and not is_early and _passes_more(handle, consumer, version)


def _passes_more(handle: TableHandle, consumer: Consumer, version: int) -> bool:
    """Whether there is a commit to move past that is not itself the move of a consumer.

    Otherwise consumers would move past each other's moves forever in an idle table.
    """
    entries = handle.log.entries(consumer.version + 1, version)
    return any(isinstance(entry, Stub) or entry.consumers is None for entry in entries)


def check_name(name: object, table: str) -> str:
    """The name of a consumer.

    Raises:
        InvalidRequestError: it is empty, or holds control characters.
    """
    if not isinstance(name, str) or not name or has_control_characters(name):
        raise InvalidRequestError(
            f"{table}: the name of a consumer must be text without control characters, got {name!r}"
        )
    return name


def check_keep(keep: object, table: str) -> timedelta:
    """For how long versions are kept for a consumer, in whole seconds.

    Raises:
        InvalidRequestError: it is not a timedelta, negative, or more than a hundred years.
    """
    if not isinstance(keep, timedelta) or not timedelta(0) <= keep <= LONGEST:
        raise InvalidRequestError(
            f"{table}: keep must be a timedelta of at most {LONGEST.days} days, got {keep!r}"
        )
    return timedelta(seconds=int(keep.total_seconds()))
