"""Rules: consumers and expiry do not take versions from each other (FORMAT.md, section 11, note 12)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Consume, Expire
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.spelling import listed


def consumer_can_change(attempt: Attempt[Consume]) -> None:
    """Refuse to move a consumer to a version that is expired or not there, or to drop one that is not.

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
    """Refuse to expire a version that a consumer came to need since the expiry was planned.

    Raises:
        CommitConflictError: naming the consumer.
    """
    operation = attempt.operation
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
        known = listed(name, sorted(state.consumers), none="none so far")
        raise NotFoundError(f"{table} has no consumer {name!r} (the consumers: {known})")
