"""The options that reads and writes accept, and the errors for unknown and misspelled ones."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_versioned.batch_options import OF_BATCHES
from pyspark_versioned.stream_options import OF_STREAMS, READ_CHANGES
from versioned_catalog import InvalidRequestError
from versioned_catalog.spelling import meant

_OF_BOTH = (
    "versionAsOf",
    "timestampAsOf",
    "columns",
    "mergeSchema",
    "overwriteSchema",
    "partitionBy",
    "primaryKey",
    "timeIndex",
    "partialUpdate",
    "changeColumn",
    "pushdown",
    "io",
    "schemaVersion",
    "onOverflow",
)
OF_SPARK = ("checkpointLocation", "queryName")
"""Options of a streaming query itself, which Spark passes on."""

OF_SOURCE = ("path", "warehouse", *_OF_BOTH, *OF_BATCHES, *OF_STREAMS, *OF_SPARK)
"""Options of the data source ``versioned``, which reads and writes a table by its path."""

OF_JAR = (
    *("compact", "segments", "commit", "changes", "saveMode", "tableName"),
    "microBatch",
)
"""Internal options, which the jar passes to the data source; users can't set them."""

_OF_TABLES = (
    *(*_OF_BOTH, "distributionMode", *OF_BATCHES),
    *(
        name for name in OF_STREAMS if name != READ_CHANGES
    ),  # Delta's readChangeFeed is no misspelling
)

STORAGE = "storage."
"""Prefix of the options that are passed to the file system, such as ``storage.endpoint``."""

ROOT = "root."
"""Prefix of the options that allow external roots, such as ``root.lake``."""


def unknown_text(option: str) -> str:
    """Return the error message for an unknown option of the data source."""
    near = meant(option, OF_SOURCE)
    hint = f"; did you mean {near}?" if near else "."
    known = ", ".join((*OF_SOURCE, f"{STORAGE}<key>", f"{ROOT}<name>"))
    return f"the option {option} is unknown{hint} The options are {known}"


def check_spelling(options: Iterable[str], table: str) -> None:
    """Refuse options that look like misspelled options of this table format.

    For a table that is read or written by name, an option may belong to Spark or to another data source.
    So an unknown option is accepted unless its name is close to one that the table has.

    Args:
        options: names of options, in any case.
        table: the table's name in errors.

    Raises:
        InvalidRequestError: an option is misspelled.
    """
    for option in options:
        near = meant(option, _OF_TABLES)
        if near is not None and near.lower() != option.lower():
            raise InvalidRequestError(
                f"{table}: the option {option} is unknown; did you mean {near}?",
                condition="INVALID_OPTION",
            )
