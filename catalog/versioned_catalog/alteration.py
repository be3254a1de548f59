"""Commits that change no rows: the builder behind ``table.alter()``, schema pins, tags and rollbacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.operations import Alter, Base, PlannedOn, Rollback
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.commit.version_rules import check_tag
from versioned_catalog.errors import InvalidRequestError, names_table_in_errors
from versioned_catalog.interop import interop
from versioned_catalog.log.pinned_state import check_schema_version
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import moment
from versioned_catalog.model import changes as requests
from versioned_catalog.model.arrow import one_array
from versioned_catalog.model.bound_changes import plan_changes, render_changes
from versioned_catalog.model.changes import Change, PinSchema, RetirePin
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.iceberg import PUBLISH_CATALOG, PUBLISH_CATALOG_TABLE
from versioned_catalog.model.keys import LOGICAL_TYPE
from versioned_catalog.model.logical import parse_logical
from versioned_catalog.model.pins import Pin, PinnedSchema, check_label
from versioned_catalog.model.table_text import sql_name
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column, DataType
from versioned_catalog.observe.tracing import spanned
from versioned_catalog.read.arrays import own_nulls
from versioned_catalog.read.checks import parse_check
from versioned_catalog.read.scan import Scan
from versioned_catalog.write.plan import check_newest
from versioned_catalog.write.properties import check_properties

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

    def narrow(self, path: Path, type: str | DataType) -> Alteration:
        """Narrow a column's type, to one that widens to it; refused if a value does not fit.

        The values are checked at the commit, by statistics where they prove it. No row is rewritten.
        """
        return self._add(requests.ChangeType(parse_path(path), _type(type), narrows=True))

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

    def add_check(self, name: str, condition: str) -> Alteration:
        """Add a CHECK constraint: no row of the table may make the condition false, from now on.

        A row for which the condition is null satisfies it. Columns are bound by ID.

        Args:
            name: the name of the constraint.
            condition: comparisons of columns with constants, ``IN``, ``BETWEEN``, ``IS NULL``, AND, OR
                and NOT, as SQL.
        """
        return self._add(requests.AddCheck(name, parse_check(condition)))

    def drop_check(self, name: str, *, if_exists: bool = False) -> Alteration:
        """Drop a CHECK constraint."""
        return self._add(requests.DropCheck(name, if_exists))

    def set_logical(self, path: Path, logical: str) -> Alteration:
        """Give a column a logical type: every value of it must be one of that type, from now on.

        The rows of the table are looked at, and none is rewritten. An ENUM that a column has gets more
        labels so, at its end.

        Args:
            path: a column, be it a field, the ``tags.element`` of an array or the ``m.value`` of a map.
            logical: ``UUID``, ``JSON``, ``UINT8`` to ``UINT64``, ``OID``, ``ENUM('a', 'b')``,
                ``FIXED(n)``, ``BITMASK(n)``, ``IP``, ``FLOAT16``, ``INTERVAL``, ``NUMERIC``, ``RANGE``
                or ``NDARRAY``. Each needs a type of the column: see docs/types.md.
        """
        parse_logical(logical)
        return self.set_property(f"{LOGICAL_TYPE}{render_path(parse_path(path))}", logical)

    def drop_logical(self, path: Path) -> Alteration:
        """Take the logical type of a column away, if it has one; its values stay."""
        return self.unset_property(f"{LOGICAL_TYPE}{render_path(parse_path(path))}")

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
        return self._add(requests.SetPartitioning(transform_texts(fields)))

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

    @spanned("versioned.alter")
    def commit_on(self, planned_on: PlannedOn | None, commit_id: str | None = None) -> int:
        """Commit all changes at once, if the schema and properties are still as planned."""
        return self._handle.commit(self._operation(planned_on), commit_id)

    def check_on(self, planned_on: PlannedOn | None) -> None:
        """Raise what ``commit_on`` would raise whatever the rows are; nothing is written."""
        self._handle.check(self._operation(planned_on))

    def _operation(self, planned_on: PlannedOn | None) -> Alter:
        if not self._changes:
            raise InvalidRequestError("there is nothing to commit: chain changes before commit()")
        state = self._handle.state
        check_newest(state, self._handle.name)
        for change in self._changes:
            if isinstance(change, requests.SetProperty):  # before anything is written
                check_properties({change.key: change.value}, keyed=state.schema.is_keyed)
        newest = state.schemas.newest.version
        bound, after = plan_changes(tuple(self._changes), state.evolution, newest + 1)
        registers = (PUBLISH_CATALOG, PUBLISH_CATALOG_TABLE)
        if any(
            isinstance(each, requests.SetProperty) and each.key in registers
            for each in self._changes
        ):
            interop("check_entry")(self._handle, after.properties)
        return Alter(Base.of(state), bound, self._count_nulls, planned_on)

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


def transform_texts(fields: Iterable[str]) -> tuple[str, ...]:
    """Return partition transforms as a tuple.

    Raises:
        InvalidRequestError: not a list of text.
    """
    listable = isinstance(fields, Iterable) and not isinstance(fields, str)
    transforms = tuple(fields) if listable else ()
    if not listable or not all(isinstance(field, str) for field in transforms):
        raise InvalidRequestError(
            f"partitioning must be a list such as ['days(ts)'], got {fields!r}"
        )
    return transforms


def _check_text(text: object, argument: str, *, required: bool = False) -> None:
    if not isinstance(text, str) and (required or text is not None):
        raise InvalidRequestError(f"{argument} must be text, got {text!r}")


@dataclass(frozen=True)
class Retired:
    """Result of retiring a pin, or of a dry run.

    Args:
        label: the label of the pin.
        version: the version of the commit; with ``dry_run``, the current version.
        dropped: the hidden columns that are dropped for good, by their paths in the pinned schema.
        segments, rows: the number of live segments that hold one of these columns, and of their rows.
            Compaction frees the space.
    """

    label: str
    version: int
    dropped: tuple[str, ...]
    segments: int
    rows: int


def pin_schema(
    handle: TableHandle,
    label: str,
    schema_version: int | None,
    owner: str | None,
    until: datetime | date | str | None,
    commit_id: str | None,
) -> int:
    """Declare a pin, or change one. See ``Table.pin_schema``."""
    state = handle.state
    existing = state.pins.get(check_label(label))
    kept = state.schema_version if existing is None else existing.schema_version
    number = kept if schema_version is None else schema_version
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidRequestError(f"schema_version must be an integer, got {schema_version!r}")
    if owner is not None and not isinstance(owner, str):
        raise InvalidRequestError(f"owner must be text, got {owner!r}")
    check_schema_version(state, number, handle.name)
    changes_nothing = schema_version is None and owner is None and until is None
    if existing is not None and changes_nothing and number != state.schema_version:
        raise InvalidRequestError(
            f"{handle.name}: the pin {label} is there already, of schema {number}, and the current one "
            f"is {state.schema_version}; give schema_version={state.schema_version} to move it, or "
            f"schema_version={number} to leave it"
        )
    when = None if until is None else moment(until, f"{handle.name}: until")
    pin = Pin(number, owner, when)
    if existing is not None:
        pin = Pin(number, pin.owner or existing.owner, pin.until or existing.until)
    return _commit(
        handle, PinSchema(label, PinnedSchema(pin, state.schemas[number].visible)), commit_id
    )


def retire_schema(handle: TableHandle, label: str, dry_run: bool, commit_id: str | None) -> Retired:
    """Remove a pin. See ``Table.retire_schema``."""
    state = handle.state
    check_newest(state, handle.name)  # a dry run commits nothing, so no rule would refuse it
    next_version = state.schemas.newest.version + 1
    _, after = plan_changes((RetirePin(label),), state.evolution, next_version)
    ids = state.schema.ids - after.schema.ids
    top = (i for i in sorted(ids) if not ids & {c.id for c in state.schema.ancestors(i)})
    dropped = tuple(_pinned_path(state, column_id) for column_id in top)
    segments, rows = segments_holding(state, ids)
    version = state.version if dry_run else _commit(handle, RetirePin(label), commit_id)
    return Retired(label, version, dropped, segments, rows)


def _pinned_path(state: TableState, column_id: int) -> str:
    """The dotted path of a column in the newest schema in which it was not hidden."""
    for schema in reversed(state.own_schemas):
        if column_id in schema.visible.ids:
            return schema.visible.path_text(column_id)
    return state.schema.path_text(column_id)


def segments_holding(state: TableState, ids: Collection[int | None]) -> tuple[int, int]:
    """The number of live segments that hold one of some columns, and of their rows."""
    core = state.segments.core
    versions = pc.unique(core["schema_version"]).to_pylist()
    holding = [version for version in versions if not state.schemas[version].ids.isdisjoint(ids)]
    is_holding = pc.is_in(core["schema_version"], pa.array(holding, pa.int32()))
    rows = state.segments.shown_counts.filter(one_array(is_holding))
    return len(rows), pc.sum(rows).as_py() or 0


def _commit(handle: TableHandle, change: Change, commit_id: str | None) -> int:
    return Alteration(handle).add_all([change]).commit(commit_id=commit_id)


def roll_back(
    handle: TableHandle,
    version: int | None,
    timestamp: datetime | str | None,
    tag: str | None,
    commit_id: str | None,
) -> int:
    """Restore a version. See ``Table.rollback``."""
    if sum(argument is not None for argument in (version, timestamp, tag)) != 1:
        raise InvalidRequestError(
            f"{handle.name}: give one of version, timestamp and tag to roll back to"
        )
    target = handle.number_of(version if tag is None else check_tag(tag, handle.name), timestamp)
    return handle.commit(Rollback(Base.of(handle.state), target), commit_id)
