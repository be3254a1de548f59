"""Rule: a batch of an exactly-once sink is committed once (FORMAT.md, section 5, ``batch``)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Append, Import, Overwrite, Rewrite
from versioned_catalog.errors import AlreadyExistsError
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.state import TableState


def is_done(state: TableState, batch: Batch) -> bool:
    """Whether this or a later batch of its application was committed."""
    return state.applications.get(batch.application, -1) >= batch.id


def batch_is_new(attempt: Attempt[Append | Overwrite | Rewrite | Import]) -> None:
    """Refuse a batch if this or a later one of its application was committed.

    Raises:
        AlreadyExistsError: naming the batch.
    """
    batch = attempt.operation.batch
    if batch is not None and is_done(attempt.state, batch):
        raise AlreadyExistsError(
            f"{attempt.table}: batch {batch.id} of {batch.application} was committed already"
        )
