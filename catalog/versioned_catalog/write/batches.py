"""Writes that are repeated until they are known to have happened, and happen once.

The log holds the last batch of each application (FORMAT.md, section 5, ``batch``), as Delta's
transactions of applications do.
"""

from __future__ import annotations

from collections.abc import Callable

from versioned_catalog.conflicts.segments import is_done
from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.entry import Batch

BatchLike = Batch | tuple[str, int]
"""A batch as users give it: the application's name, and a number that grows from batch to batch."""

MOST = 2**63 - 1
"""The greatest number of a batch."""


def batch_of(given: BatchLike | None, table: str) -> Batch | None:
    """The batch that a user names.

    Raises:
        InvalidRequestError: the application has no name, or the number is negative or too large.
    """
    if given is None:
        return None
    batch = given if isinstance(given, Batch) else Batch(*given)
    if not batch.application or not 0 <= batch.id <= MOST:
        raise InvalidRequestError(
            f"{table}: a batch is the name of an application and a number from 0 on, got "
            f"{(batch.application, batch.id)!r}",
            condition="INVALID_OPTION",
        )
    return batch


def once(handle: TableHandle, batch: Batch | None, write: Callable[[], int]) -> int:
    """Write a batch, unless it was committed already.

    Args:
        write: writes and commits the batch.

    Returns:
        The version of the commit; if there is nothing left to do, the newest version.
    """
    if batch is None:
        return write()
    # By the function of the rule, so that rows which are there already are not written again.
    loaded = handle.log.advance(handle.loaded)
    if loaded.state is not None and is_done(loaded.state, batch):
        handle.loaded = loaded
        return loaded.version
    try:
        return write()
    except AlreadyExistsError:
        if not is_done(handle.refresh().state, batch):
            raise
        return handle.state.version
