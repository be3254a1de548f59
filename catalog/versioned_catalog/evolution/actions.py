"""Changes that are bound to column IDs.

A bound change refers to no column by name. It refers to a column that existed when the ALTER was
planned by its ID, and to a column that the ALTER itself adds by the number of IDs that the ALTER had
assigned before it. That number stays the same when the ALTER is applied to a newer table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from versioned_catalog.schema.pins import PinnedSchema
from versioned_catalog.schema.transforms import Transform
from versioned_catalog.types.types import Column, DataType, WriteDefault


@dataclass(frozen=True, slots=True)
class Existing:
    """A column that existed when the ALTER was planned; ``name`` is its path, for errors."""

    id: int
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class New:
    """A column that the same ALTER adds, after it has assigned ``nth`` IDs."""

    nth: int
    name: str = field(compare=False)


Ref = Existing | New


@dataclass(frozen=True, slots=True)
class First:
    """Before all siblings."""


@dataclass(frozen=True, slots=True)
class Last:
    """After all siblings."""


@dataclass(frozen=True, slots=True)
class After:
    """Directly after one sibling."""

    sibling: Ref


Position = First | Last | After


@dataclass(frozen=True, slots=True)
class Add:
    """Add a column, which has no IDs yet, below a parent (None: at the top level)."""

    parent: Ref | None
    column: Column
    position: Position


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop a column."""

    column: Ref


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a column."""

    column: Ref
    name: str


@dataclass(frozen=True, slots=True)
class Move:
    """Move a column among its siblings."""

    column: Ref
    position: Position


@dataclass(frozen=True, slots=True)
class Retype:
    """Widen a column's type."""

    column: Ref
    type: DataType


@dataclass(frozen=True, slots=True)
class Redefault:
    """Set a column's write default, or drop it (None).

    Args:
        default: the default, of ``type``.
        type: the column's type when the change was planned.
        first_new_id: the first ID that the ALTER assigned at planning; IDs in ``type`` and
            ``default`` from there on are its own.
    """

    column: Ref
    default: WriteDefault | None
    type: DataType
    first_new_id: int


@dataclass(frozen=True, slots=True)
class Renull:
    """Allow or forbid nulls."""

    column: Ref
    nullable: bool


@dataclass(frozen=True, slots=True)
class Recomment:
    """Set or remove a column's comment."""

    column: Ref
    text: str | None


@dataclass(frozen=True, slots=True)
class Property:
    """Set or remove a property of the table."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Partition:
    """Set the partitioning."""

    fields: tuple[tuple[Ref, Transform], ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """Set the sort order: columns, each with whether it descends."""

    fields: tuple[tuple[Ref, bool], ...]


@dataclass(frozen=True, slots=True)
class SetPin:
    """Set a schema pin, or remove it (None)."""

    label: str
    pin: PinnedSchema | None


SchemaAction = Drop | Rename | Move | Retype | Redefault | Renull | Recomment | Partition | Sort
"""Actions that change the schema and nothing beside it."""

Action = Add | Property | SetPin | SchemaAction
