"""Names of the options of reads and writes, and suggestions for misspelled ones."""

from __future__ import annotations

from collections.abc import Iterable

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
    "pushdown",
    "io",
)
OF_SOURCE = ("path", "warehouse", *_OF_BOTH)
"""The options of the data source, whose tables are named by a path."""

OF_JAR = ("compact", "segments", "pending", "commit", "saveMode")
"""Options that only the jar sets."""

_OF_TABLES = (*_OF_BOTH, "distributionMode")

STORAGE = "storage."
"""The prefix of options of the file system."""


def unknown_text(option: str) -> str:
    """The error for an option that the data source does not have."""
    near = meant(option, OF_SOURCE)
    hint = f"; did you mean {near}?" if near else "."
    return f"the option {option} is unknown{hint} The options are {', '.join(OF_SOURCE)}, {STORAGE}<key>"


def check_spelling(options: Iterable[str], table: str) -> None:
    """Refuse misspelled options, in any case, of a table of a catalog.

    Other options pass: reads and writes by name share their options with Spark and with other targets.

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
