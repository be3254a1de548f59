"""Rule: a batch of an exactly-once sink is committed once (FORMAT.md, section 5, ``batch``)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Append
from versioned_catalog.errors import AlreadyExistsError


def batch_is_new(attempt: Attempt[Append]) -> None:
    """Refuse a batch if this or a later one of its application was committed.

    Raises:
        AlreadyExistsError: naming the batch.
    """
    batch, committed = attempt.operation.batch, attempt.state.applications
    if batch is not None and committed.get(batch.application, -1) >= batch.id:
        raise AlreadyExistsError(
            f"{attempt.table}: batch {batch.id} of {batch.application} was committed already"
        )
