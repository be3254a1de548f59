"""Rules about the table itself: it exists, and is the incarnation that an operation was planned for.

Section 5, and note 17 of section 11, of FORMAT.md.
"""

from __future__ import annotations

from typing import Any

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import (
    Create,
    Drop,
    DropLapsedTags,
    Purge,
    Replace,
    Tag,
    Undrop,
)
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.log.clones import protections
from versioned_catalog.log.features import UNDROP, check_writable
from versioned_catalog.model.pin_changes import PINS, refuses_breaks
from versioned_catalog.model.type_text import quote


def table_is_absent(attempt: Attempt[Create]) -> None:
    """Refuse to create a table where there is one.

    Raises:
        AlreadyExistsError: there is a table that was not dropped.
    """
    if attempt.newest is not None and not attempt.newest.dropped:
        raise AlreadyExistsError(
            f"there is a table at {attempt.table} already", condition="TABLE_ALREADY_EXISTS"
        )


def table_exists(attempt: Attempt[Any]) -> None:
    """Refuse an operation on a table that was never created.

    Raises:
        NotFoundError: the log is empty.
    """
    if attempt.newest is None:
        raise NotFoundError(f"there is no table at {attempt.table}", condition="TABLE_NOT_FOUND")


def same_incarnation(attempt: Attempt[Any]) -> None:
    """Refuse an operation on a table that was replaced or dropped since its base.

    Raises:
        CommitConflictError: the table UUID is another one, or the table is dropped.
    """
    base, state = attempt.operation.base, attempt.state
    # A restore resumes an incarnation, with others in between.
    if state.table_uuid != base.table_uuid or base.version < state.created_version:
        raise CommitConflictError(
            f"{attempt.table} was replaced since version {base.version}, on which this was planned; "
            "nothing was written to the new table: load it and run it again"
        )
    if state.dropped:
        raise _dropped(attempt.table, base.version)


def same_table(attempt: Attempt[Replace | Tag | DropLapsedTags]) -> None:
    """Refuse to tag or replace a table that was dropped; one that was replaced is the same table.

    Raises:
        CommitConflictError: the table is dropped, or the created UUID is another one.
    """
    match attempt.operation:
        case Replace(created_uuid=created, base_version=version):
            pass
        case Tag(base) | DropLapsedTags(base):
            created, version = base.created_uuid, base.version
    if attempt.state.dropped or attempt.state.created_uuid != created:
        raise _dropped(attempt.table, version)


def new_incarnation(attempt: Attempt[Replace]) -> None:
    """Refuse a replacement that was committed before.

    Raises:
        AlreadyExistsError: the table has its UUID already.
    """
    state = attempt.state
    if state.table_uuid == attempt.operation.creation.table_uuid:
        raise AlreadyExistsError(
            f"{attempt.table}: this replacement was committed already, by version "
            f"{state.created_version}"
        )


def writable(attempt: Attempt[Any]) -> None:
    """Refuse to write to a table that needs features which this library does not have.

    Raises:
        UnsupportedFeatureError: naming the features.
    """
    check_writable(attempt.state.features, attempt.table)


def _dropped(table: str, version: int) -> CommitConflictError:
    return CommitConflictError(
        f"{table} was dropped since version {version}, on which this was planned; if there is a table "
        "again, load it and run it again"
    )


def no_clones_lost(attempt: Attempt[Drop]) -> None:
    """Refuse to drop a table whose files clones read.

    Raises:
        InvalidRequestError: naming the clones.
    """
    clones = protections(attempt.state.tags)
    if clones:
        folders = ", ".join(sorted({clone.folder for clone in clones.values()}))
        tags = ", ".join(map(quote, sorted(clones)))
        raise InvalidRequestError(
            f"{attempt.table} can't be dropped, since shallow clones read its files: those in the "
            f"folders {folders} of the warehouse. Drop them first, or let them copy the rows (compact "
            "them with the strategy full, and expire); one that was dropped counts until a vacuum of "
            "its folder has purged it, and one with a LOCATION, whose files a drop leaves, always. To "
            f"give clones up, drop their tags (ALTER TABLE ... DROP TAG, or drop_tag): {tags}",
            condition="NOT_SUPPORTED",
        )


def same_dropped_table(attempt: Attempt[Undrop | Purge]) -> None:
    """Refuse to undrop or purge a table in whose folder another one was created.

    Raises:
        CommitConflictError: the created UUID is another one.
    """
    if attempt.state.created_uuid != attempt.operation.created_uuid:
        raise CommitConflictError(
            f"{attempt.table}: another table was created in the folder of the dropped one; load that, "
            "and roll it back to a version before it was created"
        )


def not_purged(attempt: Attempt[Undrop]) -> None:
    """Refuse to undrop a table whose files may be deleted already.

    Raises:
        NotFoundError: vacuum has begun to delete them.
        InvalidRequestError: the table was dropped by a writer whose vacuum does not look for an undrop.
    """
    state = attempt.state
    if state.purged:
        raise NotFoundError(
            f"{attempt.table} can't be undropped: it was dropped at version {state.floor}, and a vacuum "
            "has begun to delete its files; it keeps those of dropped tables for 7 days, unless it is "
            "forced",
            condition="TABLE_NOT_FOUND",
        )
    if state.dropped and not state.can_be_undropped:
        raise InvalidRequestError(
            f"{attempt.table} can't be undropped, since it was dropped by a writer without the feature "
            f"{UNDROP}; create a table in its folder with Catalog.create_path, and roll that back to "
            f"version {state.version - 1}",
            condition="NOT_SUPPORTED",
        )


def dropped(attempt: Attempt[Purge]) -> None:
    """Refuse to purge a table that exists.

    Raises:
        CommitConflictError: it was undropped.
    """
    if not attempt.state.dropped:
        raise CommitConflictError(
            f"{attempt.table} was undropped or created again; nothing was deleted"
        )


def no_pins_lost(attempt: Attempt[Any]) -> None:
    """Refuse to end a pinned incarnation of a table whose property ``pins`` is ``refuse``.

    Raises:
        InvalidRequestError: naming the first pin.
    """
    state = attempt.state
    if state.pins and refuses_breaks(state.properties):
        label = min(state.pins)
        raise InvalidRequestError(
            f"{attempt.table} can't be replaced or dropped, since the schema pin {label!r} is in force "
            f"and the table property {PINS} is 'refuse'; retire the pin with "
            f"retire_schema({label!r}) first",
            condition="NOT_SUPPORTED",
        )
