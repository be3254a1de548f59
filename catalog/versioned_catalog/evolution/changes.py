"""Changes to a table as a user requests them, by name.

``bind`` binds them to column IDs, and ``apply`` applies the bound changes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from versioned_catalog.schema.pins import PinnedSchema
from versioned_catalog.types.paths import ColumnPath, quote, render_path
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Constant, DataType, Now
from versioned_catalog.values.literals import to_sql


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""No default was given; for a new column this means the same as None."""


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new column, or a new field of a struct.

    Args:
        path: its path: ``("zip",)``, ``("address", "zip")``, ``("tags", "element", "x")``.
        type: its type; IDs in it are ignored.
        default: its read and write default: a Python value, or a Constant or Now of that type. The
            read default of a Now is its value at the ALTER.
        nullable: whether nulls are allowed; if not, it needs a default that is not null.
        comment: free text for people.
        first: whether it becomes the first among its siblings.
        after: the name of the sibling to put it after. With neither, it becomes the last.
    """

    path: ColumnPath
    type: DataType
    default: object = UNSET
    nullable: bool = True
    comment: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a column, with all columns below it."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a column; its position stays."""

    path: ColumnPath
    new_name: str


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """Move a column before its siblings, or after one of them."""

    path: ColumnPath
    first: bool = False
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeType:
    """Widen a column's type."""

    path: ColumnPath
    type: DataType


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the write default: a Python value, a Constant of the column's type, or Now."""

    path: ColumnPath
    value: object


@dataclass(frozen=True, slots=True)
class DropDefault:
    """Drop the write default."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """Forbid nulls. The commit must check the stored values (see ``apply.newly_not_null``)."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class DropNotNull:
    """Allow nulls."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class SetComment:
    """Set a column's comment, or remove it (None or empty, as in PostgreSQL)."""

    path: ColumnPath
    text: str | None


@dataclass(frozen=True, slots=True)
class SetProperty:
    """Set a property of the table; ``sort_by`` sets the sort order: ``"host, ts DESC"``."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty:
    """Remove a property, if it is set."""

    key: str


@dataclass(frozen=True, slots=True)
class SetPartitioning:
    """Set the partitioning of new segments (see ``transforms.parse_partitioning``); empty for none."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PinSchema:
    """Declare that a job uses an earlier schema, or change such a pin.

    Args:
        label: the name of the pin.
        pin: the pin, with the columns of its schema version.
    """

    label: str
    pin: PinnedSchema


@dataclass(frozen=True, slots=True)
class RetirePin:
    """Remove a pin, and the hidden columns that no other pin needs."""

    label: str


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
    | UnsetProperty
    | SetPartitioning
    | PinSchema
    | RetirePin
)


def describe(change: Change) -> str:
    """One line for a table's history: ``ADD COLUMN idle DOUBLE DEFAULT 7.5 AFTER host``."""
    match change:
        case AddColumn():
            return _describe_add(change)
        case DropColumn(path):
            return f"DROP COLUMN {render_path(path)}"
        case RenameColumn(path, new_name):
            return f"RENAME COLUMN {render_path(path)} TO {quote(new_name)}"
        case SetProperty(key, value):
            return f"SET TBLPROPERTIES ({_quoted(key)} = {_cut(_quoted(value))})"
        case UnsetProperty(key):
            return f"UNSET TBLPROPERTIES ({_quoted(key)})"
        case SetPartitioning(texts):
            return f"PARTITIONED BY ({', '.join(texts)})"
        case PinSchema(label, pinned):
            return f"PIN SCHEMA {pinned.pin.schema_version} AS {quote(label)}"
        case RetirePin(label):
            return f"RETIRE SCHEMA {quote(label)}"
        case MoveColumn():
            what = _position(first=change.first, after=change.after).strip()
        case ChangeType(_, type_):
            what = f"TYPE {render_type(type_)}"
        case SetDefault(_, default):
            what = f"SET DEFAULT {_value_text(default, None)}"
        case DropDefault():
            what = "DROP DEFAULT"
        case SetNotNull():
            what = "SET NOT NULL"
        case DropNotNull():
            what = "DROP NOT NULL"
        case SetComment(_, text):
            what = f"COMMENT {'NULL' if text is None else _quoted(text)}"
    return f"ALTER COLUMN {render_path(change.path)} {what}"


def _describe_add(change: AddColumn) -> str:
    words = ["ADD COLUMN", render_path(change.path), render_type(change.type)]
    if not change.nullable:
        words.append("NOT NULL")
    if change.default is not UNSET:
        words.append(f"DEFAULT {_value_text(change.default, change.type)}")
    if change.comment is not None:
        words.append(f"COMMENT {_quoted(change.comment)}")
    return " ".join(words) + _position(first=change.first, after=change.after)


def _position(*, first: bool, after: str | None) -> str:
    if first:
        return " FIRST"
    return "" if after is None else f" AFTER {quote(after)}"


def _value_text(value: object, type_: DataType | None) -> str:
    """The text of a default for people, cut to fit a line."""
    match value:
        case None:
            text = "NULL"
        case Now():
            text = value.value.upper()
        case Constant(stored):
            text = stored if type_ is None else to_sql(value, type_)
        case bool():
            text = str(value).upper()
        case str():
            text = _quoted(value)
        case bytes():
            text = f"X'{value.hex().upper()}'"
        case _:
            text = str(value)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
