"""Tags (FORMAT.md, section 5). Rule: a tag names a retained version (section 11, note 11)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.expiry import check_retained
from versioned_catalog.conflicts.operations import Tag
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.spelling import listed
from versioned_catalog.types.paths import has_control_characters

RESERVED = frozenset({"latest", "earliest", "main"})
"""Names that no new tag has, in any case: ``startingVersion`` of a stream, and the branch in Iceberg."""


def tag_can_change(attempt: Attempt[Tag]) -> None:
    """Refuse a misleading name, an expired version, and to drop a tag that does not exist."""
    operation = attempt.operation
    if operation.version is None:
        tagged_version(attempt.state, operation.name, attempt.table)
        return
    if operation.name not in attempt.state.tags:  # those of earlier writers can be moved
        _check_not_misleading(operation.name, attempt.table)
    check_retained(operation.version, attempt.state, attempt.table)


def check_tag(name: object, table: str) -> str:
    """Return the name of a tag if it is a legal one.

    Raises:
        InvalidRequestError: it is not text, is empty, consists of digits or has control characters.
    """
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(
            f"{table}: the name of a tag must be text that is not empty, got {name!r}"
        )
    if name.isdigit():
        raise InvalidRequestError(
            f"{table}: a tag can't be called {name!r}, since digits alone are a version; "
            f"call it 'v{name}'"
        )
    if has_control_characters(name):
        raise InvalidRequestError(
            f"{table}: the tag {name!r} holds control characters; choose another name"
        )
    return name


def _check_not_misleading(name: str, table: str) -> None:
    """Refuse the name of a tag that reads as something else where a version is expected.

    Raises:
        InvalidRequestError: saying as what.
    """
    if name.lower() in RESERVED:
        means = "a word of streams, or as Iceberg's branch"
    elif _reads_as(int, name):
        means = "a version"
    elif _reads_as(datetime.fromisoformat, name.strip().replace("Z", "+00:00")):
        means = "a time"
    else:
        return
    raise InvalidRequestError(
        f"{table}: a tag can't be called {name!r}, which reads as {means}; call it 'at {name.strip()}'"
    )


def _reads_as(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def version_or_tag(text: str) -> int | str:
    """Read what a user calls a version: its number, else the name of a tag."""
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number else text


def tagged_version(state: TableState, name: str, table: str) -> int:
    """The version that a tag names. Raises NotFoundError if there is no such tag."""
    if name not in state.tags:
        known = listed(name, sorted(state.tags), none="none so far")
        raise NotFoundError(
            f"{table} has no tag {name!r} (the tags: {known}); a version is a number, not text",
            condition="VERSION_NOT_FOUND",
        )
    return state.tags[name]
