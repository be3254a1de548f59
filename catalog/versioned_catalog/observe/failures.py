"""What is sent elsewhere about an error: never values of rows."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Final

from versioned_catalog.errors import ConditionName, VersionedError

_NAMES_ONLY: Final[frozenset[ConditionName]] = frozenset(
    (
        "COLUMN_ALREADY_EXISTS",
        "COLUMN_NOT_FOUND",
        "COMMIT_CONFLICT",
        "COMMIT_OUTCOME_UNKNOWN",
        "KEY_NOT_UPDATABLE",
        "NAMESPACE_NOT_FOUND",
        "NULL_VALUE",
        "PROCEDURE_NOT_FOUND",
        "READ_ONLY",
        "SCHEMA_CHANGED",
        "STORAGE_FAILURE",
        "TABLE_ALREADY_EXISTS",
        "TABLE_NOT_FOUND",
        "UNSUPPORTED_FEATURE",
        "VALUE_TOO_LONG",
        "VERSION_NOT_FOUND",
        "VIEW_NOT_FOUND",
    )
)
"""The conditions whose messages name tables, columns, versions and files, but no values."""


def shareable_text(error: BaseException) -> str:
    """The text of an error for spans and events, which others may read who must not read the table.

    The message of an error that may hold values of rows is left out, such as that of a violated
    constraint, and so are those of other libraries.
    """
    if not isinstance(error, VersionedError):
        return "its message may hold values of rows, and is left out"
    if _holds_names_only(error):
        return str(error)
    return f"{error.condition}: its message may hold values of rows, and is left out"


def _holds_names_only(error: VersionedError) -> bool:
    """Whether neither an error nor one that its message may quote holds values."""
    return all(
        cause.condition.removeprefix("VERSIONED_") in _NAMES_ONLY for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[VersionedError]:
    while error is not None:
        if isinstance(error, VersionedError):
            yield error
        error = error.__cause__


def shareable_stack(error: BaseException) -> str:
    """Where an error was raised, without its message and those of its causes."""
    return "".join(traceback.format_tb(error.__traceback__))
