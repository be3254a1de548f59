"""The options ``application`` and ``batch``, with which a write that is repeated happens once."""

from __future__ import annotations

from collections.abc import Iterable

from versioned_catalog import InvalidRequestError
from versioned_catalog.log.entry import Batch
from versioned_catalog.write.retry import batch_of

OF_BATCHES = ("application", "batch")


def parse_batch(application: str | None, number: str | None, table: str) -> Batch | None:
    """The batch that a write names; None if it names none.

    Raises:
        InvalidRequestError: one option is missing, or the number is not one.
    """
    if application is None and number is None:
        return None
    if application is None or number is None:
        raise InvalidRequestError(
            f"{table}: application and batch go together: the name of a job, and the number of its "
            "batch, as foreachBatch gives it",
            condition="INVALID_OPTION",
        )
    if not number.strip().isdecimal():
        raise InvalidRequestError(
            f"{table}: batch is {number!r}; it must be a number from 0 on",
            condition="INVALID_OPTION",
        )
    return batch_of((application, int(number)), table)


def check_no_batch(options: Iterable[str], table: str) -> None:
    """Refuse the options of a batch in a write that makes a table: repeated, it would make another.

    Raises:
        InvalidRequestError: one of them is given.
    """
    if not {option.lower() for option in options}.isdisjoint(OF_BATCHES):
        raise InvalidRequestError(
            f"{table}: application and batch need a table that is there, and stays; create it first, "
            "and append to it or overwrite its rows",
            condition="NOT_SUPPORTED",
        )
