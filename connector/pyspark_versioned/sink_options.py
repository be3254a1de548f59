"""The options of a stream that writes a table."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_versioned.batch_options import OF_BATCHES
from versioned_catalog import InvalidRequestError


def check_sink_options(options: Iterable[str], table: str) -> None:
    """Refuse options of a write that a stream can't have.

    Raises:
        InvalidRequestError: naming the option.
    """
    names = {option.lower() for option in options}
    if not names.isdisjoint(OF_BATCHES):
        raise InvalidRequestError(
            f"{table}: a stream is an application of its own, whose epochs are its batches; leave out "
            "application and batch",
            condition="NOT_SUPPORTED",
        )
    for option in ("mergeSchema", "overwriteSchema", "partialUpdate"):
        if option.lower() in names:
            raise InvalidRequestError(
                f"{table}: a stream binds its columns once and can't have the option {option}; leave it "
                "out and change the table with ALTER TABLE, or write each batch in foreachBatch with "
                "that option",
                condition="NOT_SUPPORTED",
            )


def sink_schema(schema_version: str | None) -> tuple[str | None, int | None]:
    """The pin through which a stream writes, or the schema version in which its rows name columns.

    A pin keeps columns that are dropped; a stream without one loses them.

    Args:
        schema_version: the option ``schemaVersion``.
    """
    if schema_version is not None and schema_version.isascii() and schema_version.isdigit():
        return None, int(schema_version)
    return schema_version, None
