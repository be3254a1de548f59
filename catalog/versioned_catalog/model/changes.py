"""The changes of a table as a user requests them, by name; this module has those of columns.

Each kind of change is a class: it binds its names to column IDs, applies itself by ID, and renders its
description, its SQL and its line in a plan. ``bind`` makes one ALTER of several changes.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.column_ids import assign_ids
from versioned_catalog.model.constants import rekey_defaults
from versioned_catalog.model.ddl import render_options, render_type
from versioned_catalog.model.evolution import (
    After,
    ColumnChange,
    Evolution,
    Position,
    Ref,
    Risk,
    edit_column,
    field_reference,
    find,
    insert,
    locate,
    parent_reference,
    position,
    quote_text,
    refer,
    reference,
    used_below,
    value_text,
)
from versioned_catalog.model.identity_changes import GiveBackNumbers, SyncIdentity, TakeNumbers
from versioned_catalog.model.pin_changes import hide_or_remove
from versioned_catalog.model.schema import check_new_name, name_key
from versioned_catalog.model.table_changes import (
    AddCheck,
    DropCheck,
    KeepImportOptions,
    PinSchema,
    RecordAnalysis,
    RetirePin,
    SetPartitioning,
    SetProperty,
    UnsetProperty,
)
from versioned_catalog.model.table_text import render_rest
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import ColumnPath, quote, render_path
from versioned_catalog.model.types import (
    UNASSIGNED,
    Column,
    DataType,
    Evaluated,
    Map,
    Now,
    can_have_default,
    children,
    map_columns,
)
from versioned_catalog.model.value_changes import (
    ChangeType,
    DropDefault,
    SetDefault,
    stored_default,
    value_at,
)
from versioned_catalog.model.widening import type_name

__all__ = [
    "UNSET",
    "AddCheck",
    "AddColumn",
    "Change",
    "ChangeType",
    "DropCheck",
    "DropColumn",
    "DropDefault",
    "DropNotNull",
    "MoveColumn",
    "PinSchema",
    "RenameColumn",
    "RetirePin",
    "SetComment",
    "SetDefault",
    "SetNotNull",
    "SetPartitioning",
    "SetProperty",
    "UnsetProperty",
    "append",
]


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""The absence of a default; for a new column it means the same as None."""


@dataclass(frozen=True, slots=True)
class Addition:
    """A column, which has no IDs yet, bound to the parent that it is added to (None: the top level)."""

    parent: Ref | None
    column: Column
    position: Position


@dataclass(frozen=True, slots=True)
class AddColumn(ColumnChange[Addition]):
    """A new column, or a new field of a struct.

    Args:
        path: its path: ``("zip",)``, ``("address", "zip")``, ``("tags", "element", "x")``.
        type: its type; IDs in it are ignored.
        default: its read and write default: a Python value, or a Constant, Now or Evaluated of that
            type. The read default of the latter two is its value at the ALTER.
        nullable: whether nulls are allowed; if not, it needs a default that is not null.
        comment: free text for people.
        first: whether it becomes the first among its siblings.
        after: the name of the sibling to put it after. With neither, it becomes the last.
    """

    type: DataType
    default: object = UNSET
    nullable: bool = True
    comment: str | None = None
    first: bool = False
    after: str | None = None

    kind = "add"

    @property
    def is_appended(self) -> bool:
        """Whether it adds a column after all others at the top level, and so depends on none of them."""
        return len(self.path) == 1 and not self.first and self.after is None

    def target(self, evolution: Evolution, time: dt.datetime) -> Addition:
        parent, where = self.path[:-1], render_path(self.path)
        ref = parent_reference(evolution, self.path) if parent else None
        value = None if self.default is UNSET else self.default
        default = stored_default(value, self.type, where)
        requested = Column(
            UNASSIGNED,
            self.path[-1],
            self.type,
            self.nullable,
            read_default=value_at(default, self.type, time)
            if isinstance(default, Now | Evaluated)
            else default,
            write_default=default,
            comment=self.comment,
        )
        without_ids = partial(replace, id=UNASSIGNED, physical_name="")
        column = rekey_defaults(requested, map_columns(requested, without_ids))
        if not column.nullable and default is None:
            raise InvalidRequestError(_needs_default(column, where))
        return Addition(ref, column, position(evolution, parent, self.first, self.after))

    def apply(self, target: Addition, evolution: Evolution) -> Evolution:
        schema, new = evolution.schema, target.column
        parent = None if target.parent is None else locate(evolution, target.parent)
        above = () if parent is None else schema.path(parent)
        siblings = schema.columns if parent is None else children(schema.column(parent).type)
        _check_free(siblings, new.name, above)
        used = evolution.used_names.get(parent, frozenset())
        with_id = evolution.names_with_ids
        bare, next_id = assign_ids(new, evolution.next_column_id, set(used), with_id=with_id)
        column = rekey_defaults(new, bare)
        changed = schema.edit_children(
            parent, lambda columns: insert(columns, column, target.position, evolution)
        )
        names = {**used_below(column), **evolution.used_names}
        names[parent] = used | {name_key(column.physical_name)}
        return replace(evolution, schema=changed, next_column_id=next_id, used_names=names)

    def describe(self) -> str:
        words = ["ADD COLUMN", render_path(self.path), render_type(self.type)]
        if not self.nullable:
            words.append("NOT NULL")
        if self.default is not UNSET:
            words.append(f"DEFAULT {value_text(self.default, self.type)}")
        if self.comment is not None:
            words.append(f"COMMENT {quote_text(self.comment)}")
        return " ".join(words) + _position_sql(self)

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [f"ADD COLUMN {self.detail(before, after)}"]

    def statements(self, table: str, before: Evolution, after: Evolution) -> list[str]:
        added = after.schema.get(self.path)
        above = after.schema.ancestors(added.id)
        add = ColumnChange.statements(self, table, before, after)
        return [*add, *render_rest(table, (added,), above)]

    def detail(self, before: Evolution, after: Evolution) -> str:
        added = after.schema.get(self.path)
        words = f"{render_path(self.path)} {render_type(added.type)}"
        return f"{words}{render_options(added)}{_position_sql(self)}"


def append(additions: Iterable[Addition], evolution: Evolution) -> Evolution:
    """Apply several changes of which each ``is_appended``, building one schema for all of them.

    Raises:
        InvalidRequestError: a name is taken.
    """
    schema, next_id = evolution.schema, evolution.next_column_id
    names = {name_key(column.name): column.name for column in schema.columns}
    used, below = (
        set(evolution.used_names.get(None, frozenset())),
        dict[int | None, frozenset[str]](),
    )
    added: list[Column] = []
    for new in (addition.column for addition in additions):
        key = name_key(new.name)
        if key in names:
            raise _taken((names[key],))
        bare, next_id = assign_ids(new, next_id, used, with_id=evolution.names_with_ids)
        added.append(rekey_defaults(new, bare))
        names[key] = new.name
        used.add(name_key(bare.physical_name))
        below |= used_below(bare)
    return replace(
        evolution,
        schema=replace(schema, columns=(*schema.columns, *added)),
        next_column_id=next_id,
        used_names={**below, **evolution.used_names, None: frozenset(used)},
    )


def _needs_default(column: Column, where: str) -> str:
    if not can_have_default(column.type):
        return (
            f"the column {where} can't be added NOT NULL, since {type_name(column.type)} can't "
            "have a default; add it nullable, fill it, then set NOT NULL"
        )
    return (
        f"the column {where} can't be added NOT NULL without a default, since existing rows would be "
        "null; give a default that is not null, or add it nullable"
    )


def _check_free(siblings: Iterable[Column], name: str, above: ColumnPath) -> None:
    for column in siblings:
        if name_key(column.name) == name_key(name):
            raise _taken((*above, column.name))


def _taken(path: ColumnPath) -> InvalidRequestError:
    return InvalidRequestError(
        f"there is a column {render_path(path)} already; choose another name, or drop or rename "
        "that column first",
        condition="COLUMN_ALREADY_EXISTS",
    )


@dataclass(frozen=True, slots=True)
class DropColumn(ColumnChange[Ref]):
    """Drop a column, with all columns below it.

    The row key, the partitioning and the sort order keep their columns. A column that a schema pin
    needs is hidden instead.
    """

    kind = "drop"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        return field_reference(evolution, self.path, "dropped", "drop")

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        schema, column_id = evolution.schema, locate(evolution, target)
        if column_id in schema.row_key:
            raise InvalidRequestError(
                f"{schema.path_text(column_id)} can't be dropped, since it is in the row key, which "
                "never changes; create another table and copy the rows",
                condition="NOT_SUPPORTED",
            )
        uses = [(field.source, "partitioned", "set_partitioning") for field in schema.partitioning]
        uses += [(field.source, "sorted", "unset the property sort_by") for field in schema.sort_by]
        for source, done, way_out in uses:
            if column_id in (source, *(column.id for column in schema.ancestors(source))):
                raise InvalidRequestError(
                    f"{schema.path_text(column_id)} can't be dropped, since the table is {done} by "
                    f"{schema.path_text(source)}; change that first ({way_out})",
                    condition="NOT_SUPPORTED",
                )
        return replace(evolution, schema=hide_or_remove(column_id, evolution))

    def describe(self) -> str:
        return f"DROP COLUMN {render_path(self.path)}"

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        return Risk.LOST_COLUMN


@dataclass(frozen=True, slots=True)
class RenameColumn(ColumnChange[Ref]):
    """Rename a column; its position stays."""

    new_name: str

    kind = "rename"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        return field_reference(evolution, self.path, "renamed")

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        check_new_name(self.new_name)
        schema, column_id = evolution.schema, locate(evolution, target)
        above = schema.ancestors(column_id)
        siblings = children(above[-1].type) if above else schema.columns
        others = [column for column in siblings if column.id != column_id]
        _check_free(others, self.new_name, schema.path(column_id)[:-1])
        return edit_column(evolution, target, name=self.new_name)

    def describe(self) -> str:
        return f"RENAME COLUMN {render_path(self.path)} TO {quote(self.new_name)}"

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"{render_path(self.path)} -> {quote(self.new_name)}"


@dataclass(frozen=True, slots=True)
class MoveColumn(ColumnChange[tuple[Ref, Position]]):
    """Move a column before its siblings, or after one of them."""

    first: bool = False
    after: str | None = None

    kind = "move"

    def target(self, evolution: Evolution, time: dt.datetime) -> tuple[Ref, Position]:
        if not self.first and self.after is None:
            raise InvalidRequestError(
                f"the new position of {render_path(self.path)} is missing; give FIRST, or AFTER and a "
                "column"
            )
        ref = field_reference(evolution, self.path, "moved")
        return ref, position(evolution, self.path[:-1], self.first, self.after)

    def apply(self, target: tuple[Ref, Position], evolution: Evolution) -> Evolution:
        ref, place = target
        schema, column_id = evolution.schema, locate(evolution, ref)
        if isinstance(place, After) and locate(evolution, place.sibling) == column_id:
            raise InvalidRequestError(
                f"{schema.path_text(column_id)} can't be moved after itself; name another column"
            )
        moved = schema.column(column_id)
        changed = schema.edit_siblings(
            column_id,
            lambda columns: insert(
                tuple(column for column in columns if column.id != column_id),
                moved,
                place,
                evolution,
            ),
        )
        return replace(evolution, schema=changed)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)}{_position_sql(self)}"

    def detail(self, before: Evolution, after: Evolution) -> str:
        return f"{render_path(self.path)}{_position_sql(self)}"


def _position_sql(change: AddColumn | MoveColumn) -> str:
    """``FIRST`` or ``AFTER name``, after a space; empty for neither."""
    if change.first:
        return " FIRST"
    return "" if change.after is None else f" AFTER {quote(change.after)}"


@dataclass(frozen=True, slots=True)
class SetNotNull(ColumnChange[Ref]):
    """Forbid nulls. The commit must check the stored values (see ``bind.newly_not_null``)."""

    kind = "not null"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        return reference(evolution, self.path)

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        return edit_column(evolution, target, nullable=False)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} SET NOT NULL"

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        return Risk.STORED_NULLS


@dataclass(frozen=True, slots=True)
class DropNotNull(ColumnChange[Ref]):
    """Allow nulls; columns of the row key stay NOT NULL."""

    kind = "nullable"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        column = find(evolution.schema, self.path)
        above = evolution.schema.ancestors(column.id)
        if above and isinstance(above[-1].type, Map) and above[-1].type.key.id == column.id:
            raise InvalidRequestError(
                f"{render_path(self.path)} is the key of a map, which is never null"
            )
        return refer(evolution, column.id)

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        schema, column_id = evolution.schema, locate(evolution, target)
        if column_id in schema.row_key:
            raise InvalidRequestError(
                f"{schema.path_text(column_id)} must stay NOT NULL, since it is in the row key"
            )
        return edit_column(evolution, target, nullable=True)

    def describe(self) -> str:
        return f"ALTER COLUMN {render_path(self.path)} DROP NOT NULL"


@dataclass(frozen=True, slots=True)
class SetComment(ColumnChange[Ref]):
    """Set a column's comment, or remove it (None or empty, as in PostgreSQL)."""

    text: str | None

    kind = "comment"

    def target(self, evolution: Evolution, time: dt.datetime) -> Ref:
        return reference(evolution, self.path)

    def apply(self, target: Ref, evolution: Evolution) -> Evolution:
        return edit_column(evolution, target, comment=self.text or None)

    def describe(self) -> str:
        text = "NULL" if self.text is None else quote_text(self.text)
        return f"ALTER COLUMN {render_path(self.path)} COMMENT {text}"

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        return [f"ALTER COLUMN {render_path(self.path)} COMMENT {sql_string(self.text or '')}"]

    def detail(self, before: Evolution, after: Evolution) -> str:
        shown = "none" if self.text is None else sql_string(self.text)
        return f"{render_path(self.path)} {shown}"


Change = (
    AddColumn
    | DropColumn
    | RenameColumn
    | MoveColumn
    | ChangeType
    | SetDefault
    | DropDefault
    | SetNotNull
    | DropNotNull
    | SetComment
    | SetProperty
    | RecordAnalysis
    | KeepImportOptions
    | UnsetProperty
    | SetPartitioning
    | AddCheck
    | DropCheck
    | PinSchema
    | RetirePin
    | TakeNumbers
    | GiveBackNumbers
    | SyncIdentity
)
"""Every change of a table."""
