"""The builder behind ``table.alter()``."""

from __future__ import annotations

from collections.abc import Iterable

from versioned_catalog.conflicts.operations import Alter, Base, PlannedOn
from versioned_catalog.error_context import names_table_in_errors
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import changes as requests
from versioned_catalog.evolution.bind import plan_changes, render_changes
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.arrays import own_nulls
from versioned_catalog.properties import check_properties
from versioned_catalog.scan.scan import Scan
from versioned_catalog.schema.ddl import parse_type
from versioned_catalog.schema.definition import sql_name
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.types.types import Column, DataType
from versioned_catalog.write.plan import check_newest

Path = str | tuple[str, ...]


@names_table_in_errors(lambda alteration: alteration._handle.error_names)
class Alteration:
    """Changes of a table's schema and properties, committed together or not at all.

    Obtained as ``table.alter()``. Every method adds one change and returns the builder; nothing is
    checked or written before ``commit``. A path is dotted text, with backticks around names that hold
    dots, or a tuple of names: ``"address.zip"``, ``"tags.element.name"``, ``"attrs.value.x"``.

    >>> table = catalog.create_table("people", "id BIGINT, name STRING")
    >>> change = table.alter().add_column("age", "INT", default=0).rename_column("name", "nick")
    >>> change
    Alteration(ADD COLUMN age INT DEFAULT 0; RENAME COLUMN name TO nick)
    >>> change.commit()
    1
    >>> table.schema.names
    ['id', 'nick', 'age']
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._changes: list[requests.Change] = []

    def __repr__(self) -> str:
        described = "; ".join(change.describe() for change in self._changes)
        return f"Alteration({described or 'no changes yet'})"

    def _add(self, change: requests.Change) -> Alteration:
        self._changes.append(change)
        return self

    def add_column(
        self,
        path: Path,
        type: str | DataType,
        *,
        default: object = requests.UNSET,
        nullable: bool = True,
        comment: str | None = None,
        first: bool = False,
        after: str | None = None,
    ) -> Alteration:
        """Add a column or a nested field.

        Args:
            path: path of the new column.
            type: Spark DDL, or a type.
            default: a Python value: both the read default of existing rows and the write default.
            nullable: False needs a default.
            comment: the column comment.
            first: put the column before its siblings.
            after: put the column after the sibling of this name; last if neither is given.
        """
        _check_text(comment, "a comment")
        _check_text(after, "the name of a sibling")
        return self._add(
            requests.AddColumn(
                parse_path(path), _type(type), default, bool(nullable), comment, first, after
            )
        )

    def drop_column(self, path: Path) -> Alteration:
        """Drop a column; its ID is never used again."""
        return self._add(requests.DropColumn(parse_path(path)))

    def rename_column(self, path: Path, new_name: str) -> Alteration:
        """Rename a column."""
        _check_text(new_name, "a new name", required=True)
        return self._add(requests.RenameColumn(parse_path(path), new_name))

    def move_column(
        self, path: Path, *, first: bool = False, after: str | None = None
    ) -> Alteration:
        """Move a column before all its siblings, or after one of them."""
        _check_text(after, "the name of a sibling")
        return self._add(requests.MoveColumn(parse_path(path), first, after))

    def change_type(self, path: Path, type: str | DataType) -> Alteration:
        """Widen a column's type."""
        return self._add(requests.ChangeType(parse_path(path), _type(type)))

    def set_default(self, path: Path, value: object) -> Alteration:
        """Set the write default of a column; existing rows do not change."""
        return self._add(requests.SetDefault(parse_path(path), value))

    def drop_default(self, path: Path) -> Alteration:
        """Drop the write default of a column."""
        return self._add(requests.DropDefault(parse_path(path)))

    def set_not_null(self, path: Path) -> Alteration:
        """Make a column NOT NULL; refused if the table holds nulls."""
        return self._add(requests.SetNotNull(parse_path(path)))

    def drop_not_null(self, path: Path) -> Alteration:
        """Make a column nullable."""
        return self._add(requests.DropNotNull(parse_path(path)))

    def set_comment(self, path: Path, text: str | None) -> Alteration:
        """Set the comment of a column, or remove it (None)."""
        _check_text(text, "a comment")
        return self._add(requests.SetComment(parse_path(path), text))

    def set_property(self, key: str, value: str) -> Alteration:
        """Set a table property; ``sort_by`` is bound to columns and survives renames."""
        return self._add(requests.SetProperty(key, value))

    def unset_property(self, key: str) -> Alteration:
        """Remove a table property."""
        return self._add(requests.UnsetProperty(key))

    def set_partitioning(self, fields: Iterable[str]) -> Alteration:
        """Set the partitioning of new segments; existing segments keep theirs."""
        return self._add(requests.SetPartitioning(listed(fields)))

    def add_all(self, changes: Iterable[requests.Change]) -> Alteration:
        """Add changes that were built elsewhere."""
        self._changes.extend(changes)
        return self

    def to_sql(self, name: str | None = None) -> list[str]:
        """The ALTER TABLE statements that make the same changes in SQL, in order.

        Each statement is a commit of its own in SQL; ``commit`` makes all changes in one. Nothing is
        written.

        Args:
            name: the table's name in the statements, such as ``versioned.db.t``; None for its own.

        Raises:
            InvalidRequestError: a change is not legal.
            NotFoundError: there is no such column.
        """
        path = sql_name(self._handle.name) if name is None else parse_path(name)
        return render_changes(self._changes, self._handle.state.evolution, render_path(path))

    def commit(self, *, commit_id: str | None = None) -> int:
        """Commit all changes at once.

        Args:
            commit_id: Idempotency key of the commit; generated if omitted.

        Returns:
            The version of the commit.

        Raises:
            InvalidRequestError: a change is not legal, or there is none; nothing is changed.
            NotFoundError: there is no such column.
            CommitConflictError: another commit made a change illegal.
        """
        return self.commit_on(None, commit_id)

    def commit_on(self, planned_on: PlannedOn | None, commit_id: str | None = None) -> int:
        """Commit all changes at once, if the schema and properties are still as planned."""
        if not self._changes:
            raise InvalidRequestError("there is nothing to commit: chain changes before commit()")
        state = self._handle.state
        check_newest(state, self._handle.name)
        for change in self._changes:
            if isinstance(change, requests.SetProperty):
                check_properties({change.key: change.value})  # before anything is written
        newest = state.schemas.newest.version
        bound, _ = plan_changes(tuple(self._changes), state.evolution, newest + 1)
        operation = Alter(Base.of(state), bound, self._count_nulls, planned_on)
        return self._handle.commit(operation, commit_id)

    def _count_nulls(self, state: TableState, column: Column) -> int:
        """Count the nulls of a column that are not due to a null parent, by reading it."""
        above = state.schema.ancestors(column.id)
        top = above[0] if above else column
        batches = Scan(self._handle.store, state, (top,)).to_batches()
        return sum(own_nulls(batch.column(0), (*above, column)) for batch in batches)


def _type(type_: str | DataType) -> DataType:
    if isinstance(type_, str):
        return parse_type(type_)
    if not isinstance(type_, DataType):
        raise InvalidRequestError(
            f"a type must be Spark DDL, such as 'DECIMAL(10,2)', got {type_!r}"
        )
    return type_


def listed(fields: Iterable[str]) -> tuple[str, ...]:
    """Return partition transforms as a tuple.

    Raises:
        InvalidRequestError: not a list of text.
    """
    listable = isinstance(fields, Iterable) and not isinstance(fields, str)
    found = tuple(fields) if listable else ()
    if not listable or not all(isinstance(field, str) for field in found):
        raise InvalidRequestError(
            f"partitioning must be a list such as ['days(ts)'], got {fields!r}"
        )
    return found


def _check_text(text: object, what: str, *, required: bool = False) -> None:
    if not isinstance(text, str) and (required or text is not None):
        raise InvalidRequestError(f"{what} must be text, got {text!r}")
