"""The rule that an append-only table loses no rows: note 25 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Compact, Resolve
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.model.keys import APPEND_ONLY, is_set


def is_append_only(properties: Mapping[str, str], *, keyed: bool = False) -> bool:
    """Whether rows of a table may only be added.

    Raises:
        InvalidRequestError: the property is neither ``true`` nor ``false``, or true for a table with a
            primary key, to which a write may replace rows.
    """
    applies = is_set(properties, APPEND_ONLY)
    if applies and keyed:
        raise InvalidRequestError(
            f"the property {APPEND_ONLY} is not for a table with a primary key, whose writes replace "
            "rows; leave one of them out",
            condition="INVALID_OPTION",
        )
    return applies


def check_keeps_rows(entry: Commit, attempt: Attempt[Any]) -> None:
    """Refuse an entry that takes rows away from a table that is only appended to.

    Raises:
        InvalidRequestError: it removes or marks rows, or replaces the table.
    """
    state, begins = attempt.newest, entry.head.operation in NEW_INCARNATION
    if state is not None and not state.dropped and state.properties.get(APPEND_ONLY) == "true":
        replaces = begins and state.segments.count > 0
        loses = replaces or entry.removed or any(mark is not None for mark in entry.marked.values())
        if loses and not isinstance(attempt.operation, Compact | Resolve):
            raise InvalidRequestError(
                f"{attempt.table}: rows can only be added, since the property {APPEND_ONLY} is true; "
                "unset it to change or remove rows",
                condition="NOT_SUPPORTED",
            )
