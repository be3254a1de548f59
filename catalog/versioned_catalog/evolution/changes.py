"""Changes to a table as a user asks for them, by name.

``schema.binding`` binds them to column IDs, ``schema.evolution`` applies what is bound.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from versioned_catalog.types.paths import ColumnPath, quote, render_path
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Constant, DataType, Now
from versioned_catalog.values.literals import to_sql


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""No default was named; for a new column that is the same as None."""


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new column, or a new field of a struct.

    Args:
        path: where: ``("zip",)``, ``("address", "zip")``, ``("tags", "element", "x")``.
        type: its type; IDs in it are forgotten.
        default: both its defaults: a Python value, or a Constant or Now of that type. What Now is
            at the ALTER is what older rows show.
        nullable: False needs a default that is not null.
        comment: for people.
        first: put it first among its siblings.
        after: put it after the sibling of that name; with neither it comes last.
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
    """Take a column away, with all inside it."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give a column another name; it stays where it is."""

    path: ColumnPath
    new_name: str


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """Put a column first among its siblings, or after the one named."""

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
    """Have no write default any more."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """Allow no nulls; what is stored must be checked by who commits: ``newly_not_null``."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class DropNotNull:
    """Allow nulls."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class SetComment:
    """Set a column's comment, or take it away."""

    path: ColumnPath
    text: str | None


@dataclass(frozen=True, slots=True)
class SetProperty:
    """Set a property of the table; ``sort_by`` sets the sort order: ``"host, ts DESC"``."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty:
    """Take a property away, if it is there."""

    key: str


@dataclass(frozen=True, slots=True)
class SetPartitioning:
    """Partition new segments by these: see ``transforms.parse_partitioning``; none: not at all."""

    texts: tuple[str, ...]


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
            return f"SET TBLPROPERTIES ({_quoted(key)} = {_quoted(value)})"
        case UnsetProperty(key):
            return f"UNSET TBLPROPERTIES ({_quoted(key)})"
        case SetPartitioning(texts):
            return f"PARTITIONED BY ({', '.join(texts)})"
        case (
            MoveColumn()
            | ChangeType()
            | SetDefault()
            | DropDefault()
            | SetNotNull()
            | DropNotNull()
            | SetComment()
        ):
            return f"ALTER COLUMN {render_path(change.path)} {_describe_alter(change)}"


def _describe_alter(
    change: MoveColumn
    | ChangeType
    | SetDefault
    | DropDefault
    | SetNotNull
    | DropNotNull
    | SetComment,
) -> str:
    match change:
        case MoveColumn():
            return _position(first=change.first, after=change.after).strip()
        case ChangeType(_, type_):
            return f"TYPE {render_type(type_)}"
        case SetDefault(_, value):
            return f"SET DEFAULT {_value_text(value, None)}"
        case DropDefault():
            return "DROP DEFAULT"
        case SetNotNull():
            return "SET NOT NULL"
        case DropNotNull():
            return "DROP NOT NULL"
        case SetComment(_, text):
            return f"COMMENT {'NULL' if text is None else _quoted(text)}"


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
    """A default for people, cut to what fits a line; nothing reads it back."""
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
    return text if len(text) <= 100 else f"{text[:99]}…"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
