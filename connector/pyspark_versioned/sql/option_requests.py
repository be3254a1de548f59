"""Requests that refuse options."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_versioned.option_names import check_spelling
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.stream_options import READ_CHANGES
from versioned_catalog import InvalidRequestError


def check_options(request: messages.CheckOptions) -> messages.Done:
    """Refuse misspelled options of a read, or of a write that is not planned yet."""
    check_spelling(request.options, request.table)
    if READ_CHANGES.lower() in map(str.lower, request.options):
        raise InvalidRequestError(
            f"{request.table}: by name, changes are read with read.changes or readStream.changes; leave "
            f'out {READ_CHANGES}, which is an option of format("versioned")',
            condition="INVALID_OPTION",
        )
    return messages.Done()


def check_write_options(options: Sequence[str], table: str) -> None:
    """Refuse options of a write that Spark would ignore.

    Spark fills columns that the rows lack and creates tables without looking at options.

    Raises:
        InvalidRequestError: an option is misspelled, or has no effect on a table of a catalog.
    """
    check_spelling(options, table)
    asked = {option.lower() for option in options}
    if not asked.isdisjoint({"primarykey", "timeindex"}):
        raise InvalidRequestError(
            f"{table}: a table of a catalog takes its row key from its properties; write "
            "tableProperty('primary_key', 'host, ts'), or CREATE TABLE with PRIMARY KEY, and leave out "
            "primaryKey and timeIndex",
            condition="NOT_SUPPORTED",
        )
    if "partialupdate" in asked:
        raise InvalidRequestError(
            f"{table}: partialUpdate can't be used in a write by name, since Spark fills the columns "
            "that the rows lack; use MERGE, or df.write.format('versioned').option('warehouse', ...)"
            ".option('partialUpdate', True).mode('append').save('ns.table')",
            condition="NOT_SUPPORTED",
        )


HANDLERS = (check_options,)
