"""Tags: names of versions (FORMAT.md, section 5)."""

from __future__ import annotations

from versioned_catalog.conflicts.expiry import check_kept
from versioned_catalog.conflicts.incarnation import head_after
from versioned_catalog.conflicts.operations import Tag
from versioned_catalog.errors import CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import Commit, check_writable
from versioned_catalog.log.state import TableState


def check_tag(name: object, table: str) -> str:
    """What a user calls a version, if it can be a tag.

    Raises:
        InvalidRequestError: it can't.
    """
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(f"{table}: {name!r} is no name of a tag, which is text")
    if name.isdigit():
        raise InvalidRequestError(
            f"{table}: a tag can't be called {name!r}, since digits alone are a version; "
            f"call it 'v{name}'"
        )
    if any(ord(ch) < 32 or 127 <= ord(ch) < 160 or 0xD800 <= ord(ch) < 0xE000 for ch in name):
        raise InvalidRequestError(f"{table}: the tag {name!r} holds control characters")
    return name


def version_or_tag(text: str) -> int | str:
    """What a user calls a version: its number, or else the name of a tag."""
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number else text


def tagged_version(state: TableState, name: str, table: str) -> int:
    """The version that a tag names.

    Raises:
        NotFoundError: there is no such tag.
    """
    if name not in state.tags:
        known = ", ".join(sorted(state.tags)[:50]) or "none so far"
        raise NotFoundError(
            f"{table} has no tag {name!r} (the tags: {known}); a version is a number, not text",
            condition="VERSION_NOT_FOUND",
        )
    return state.tags[name]


def propose_tag(
    operation: Tag, state: TableState | None, commit_id: str, table: str
) -> Commit | None:
    """The entry that sets or drops a tag after a state. See ``proposing.propose``."""
    base = operation.base
    if state is None:
        raise NotFoundError(f"there is no table at {table}", condition="TABLE_NOT_FOUND")
    if state.dropped or state.created_uuid != base.created_uuid:
        raise CommitConflictError(
            f"{table} was dropped since this was planned (on version {base.version})"
        )
    check_writable(state.features, table)
    tags = _changed(operation, state, table)
    if tags == dict(state.tags):
        return None
    head = head_after(state, commit_id, "tag", base.version)
    return Commit(head, state.next_column_id, tags=tags)


def _changed(operation: Tag, state: TableState, table: str) -> dict[str, int]:
    if operation.version is not None:
        check_kept(operation.version, state, table)
        return {**state.tags, operation.name: operation.version}
    tagged_version(state, operation.name, table)
    return {name: version for name, version in state.tags.items() if name != operation.name}
