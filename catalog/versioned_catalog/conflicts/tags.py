"""Tags (FORMAT.md, section 5). Rule: a tag names a retained version (section 11, note 11)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.expiry import check_retained
from versioned_catalog.conflicts.operations import Tag
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.types.paths import has_control_characters


def tag_can_change(attempt: Attempt[Tag]) -> None:
    """Refuse to tag a version that is expired, and to drop a tag that does not exist."""
    operation = attempt.operation
    if operation.version is None:
        tagged_version(attempt.state, operation.name, attempt.table)
    else:
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


def version_or_tag(text: str) -> int | str:
    """Read what a user calls a version: its number, else the name of a tag."""
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number else text


def tagged_version(state: TableState, name: str, table: str) -> int:
    """The version that a tag names. Raises NotFoundError if there is no such tag."""
    if name not in state.tags:
        known = ", ".join(sorted(state.tags)[:50]) or "none so far"
        raise NotFoundError(
            f"{table} has no tag {name!r} (the tags: {known}); a version is a number, not text",
            condition="VERSION_NOT_FOUND",
        )
    return state.tags[name]
