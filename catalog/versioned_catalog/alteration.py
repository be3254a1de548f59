"""The builder behind ``table.alter()``: collects changes, commits them as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.changes import (
    UNSET,
    AddColumn,
    Change,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNotNull,
    SetPartitioning,
    SetProperty,
    UnsetProperty,
    describe,
)
from versioned_catalog.schema.ddl import parse_type
from versioned_catalog.types.paths import parse_path
from versioned_catalog.types.types import DataType

Path = str | tuple[str, ...]


@names_table_in_errors(lambda alteration: alteration.table)
class Alteration:
    """Changes to one table, in order, that are committed together or not at all.

    A path is dotted text, with backticks around names that hold dots, or a tuple of names:
    ``"address.zip"``, ``"tags.element.name"``, ``"attrs.value.x"``. Every method returns the builder.
    Nothing is looked at before ``commit``.
    """

    def __init__(
        self, commit: Callable[[tuple[Change, ...], str | None], int], table: tuple[str, ...]
    ) -> None:
        self.table = table
        self._commit = commit
        self._changes: list[Change] = []

    def __repr__(self) -> str:
        return f"Alteration({'; '.join(map(describe, self._changes)) or 'no changes yet'})"

    def _add(self, change: Change) -> Alteration:
        self._changes.append(change)
        return self

    def add_column(
        self,
        path: Path,
        type: str | DataType,
        *,
        default: object = UNSET,
        nullable: bool = True,
        comment: str | None = None,
        first: bool = False,
        after: str | None = None,
    ) -> Alteration:
        """Add a column or a nested field.

        Args:
            path: where, its own name last.
            type: Spark's DDL for it, or a type.
            default: a Python value: what rows show that are there already, and what writers store
                that leave the column out.
            nullable: False needs a default.
            comment: for people.
            first: put it before its siblings.
            after: put it after the sibling of this name; with neither, it comes last.
        """
        _check_text(comment, "a comment")
        _check_text(after, "the name of a sibling")
        return self._add(
            AddColumn(parse_path(path), _type(type), default, bool(nullable), comment, first, after)
        )

    def drop_column(self, path: Path) -> Alteration:
        """Drop a column. Its values never come back; its ID is never used again."""
        return self._add(DropColumn(parse_path(path)))

    def rename_column(self, path: Path, new_name: str) -> Alteration:
        """Give a column another name."""
        _check_text(new_name, "a new name", required=True)
        return self._add(RenameColumn(parse_path(path), new_name))

    def move_column(
        self, path: Path, *, first: bool = False, after: str | None = None
    ) -> Alteration:
        """Put a column before all its siblings, or after one."""
        _check_text(after, "the name of a sibling")
        return self._add(MoveColumn(parse_path(path), first, after))

    def change_type(self, path: Path, type: str | DataType) -> Alteration:
        """Widen a column's type."""
        return self._add(ChangeType(parse_path(path), _type(type)))

    def set_default(self, path: Path, value: object) -> Alteration:
        """Set what writers store that leave the column out. Rows that are there do not change."""
        return self._add(SetDefault(parse_path(path), value))

    def drop_default(self, path: Path) -> Alteration:
        """Let writers that leave the column out store null again."""
        return self._add(DropDefault(parse_path(path)))

    def set_not_null(self, path: Path) -> Alteration:
        """Forbid nulls. Refused where the table holds some."""
        return self._add(SetNotNull(parse_path(path)))

    def drop_not_null(self, path: Path) -> Alteration:
        """Allow nulls."""
        return self._add(DropNotNull(parse_path(path)))

    def set_comment(self, path: Path, text: str | None) -> Alteration:
        """Set a column's comment, or take it away."""
        _check_text(text, "a comment")
        return self._add(SetComment(parse_path(path), text))

    def set_property(self, key: str, value: str) -> Alteration:
        """Set a property of the table; ``sort_by`` is bound to columns, whatever they are renamed to."""
        return self._add(SetProperty(key, value))

    def unset_property(self, key: str) -> Alteration:
        """Take a property away."""
        return self._add(UnsetProperty(key))

    def set_partitioning(self, fields: Iterable[str]) -> Alteration:
        """Partition what is written from now on; segments that are there keep their partitions."""
        return self._add(SetPartitioning(listed(fields)))

    def add_all(self, changes: Iterable[Change]) -> Alteration:
        """Add changes that were made elsewhere."""
        self._changes.extend(changes)
        return self

    def commit(self, *, commit_id: str | None = None) -> int:
        """Commit all changes at once.

        Args:
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: a change is not legal; none was made.
            NotFoundError: a column is not there.
            CommitConflictError: somebody changed the table, and a change is not legal any more.
        """
        return self._commit(tuple(self._changes), commit_id)


def _type(type_: str | DataType) -> DataType:
    if isinstance(type_, str):
        return parse_type(type_)
    if not isinstance(type_, DataType):
        raise InvalidRequestError(f"{type_!r} is no type; write it as Spark does: 'DECIMAL(10,2)'")
    return type_


def listed(fields: Iterable[str]) -> tuple[str, ...]:
    """What to partition by, as a tuple."""
    listable = isinstance(fields, Iterable) and not isinstance(fields, str)
    found = tuple(fields) if listable else ()
    if not listable or not all(isinstance(field, str) for field in found):
        raise InvalidRequestError(f"partitioning is a list such as ['days(ts)'], not {fields!r}")
    return found


def _check_text(text: object, what: str, *, required: bool = False) -> None:
    if not isinstance(text, str) and (required or text is not None):
        raise InvalidRequestError(f"{text!r} is not {what}, which is text")
