"""What changes work on, and changes that are bound to column IDs, as values.

A bound change names no column by its name. Columns that were there when the ALTER was planned are
named by their ID, columns made by the ALTER itself by how many IDs it had given out before: that is
the same whenever the ALTER is applied, whatever the IDs are then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.changes import Change
from versioned_catalog.schema.schema import INTERNAL_NAMES, Schema, name_key
from versioned_catalog.schema.transforms import Transform
from versioned_catalog.types.types import Column, DataType, WriteDefault, children, walk

UsedNames = Mapping[int | None, frozenset[str]]


@dataclass(frozen=True)
class Evolution:
    """A table's schema and what is needed to change it.

    Args:
        schema: the current schema.
        next_column_id: the next ID that is free.
        properties: the table's properties; ``sort_by`` is not among them.
        used_names: physical names, as ``name_key``, ever used below each column in this life of the
            table (None: at the top): ``used_physical_names``.
        first_new_id: the first ID given out by the ALTER that is under way: ``begin``.
    """

    schema: Schema
    next_column_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    used_names: UsedNames = field(default_factory=dict)
    first_new_id: int = 0

    def __post_init__(self) -> None:
        internal = frozenset(map(name_key, INTERNAL_NAMES))
        used = dict(self.used_names)
        if not internal <= used.get(None, frozenset()):
            used[None] = used.get(None, frozenset()) | internal
        object.__setattr__(self, "used_names", used)
        object.__setattr__(self, "properties", dict(self.properties))

    def begin(self) -> Evolution:
        """The same at the beginning of an ALTER."""
        return replace(self, first_new_id=self.next_column_id)


def used_physical_names(schemas: Iterable[Schema]) -> UsedNames:
    """The physical names ever used below each column, as ``name_key``.

    Args:
        schemas: every schema of this life of the table.
    """
    names: UsedNames = {None: frozenset(map(name_key, INTERNAL_NAMES))}
    for schema in schemas:
        names = with_used(names, walk(schema.columns))
    return names


def used_below(column: Column) -> UsedNames:
    """The physical names inside of a column, by the column that they are directly inside of."""
    return with_used({}, walk(children(column.type), (column,)))


def with_used(names: UsedNames, columns: Iterable[tuple[Column, tuple[Column, ...]]]) -> UsedNames:
    """Names that were used, and those of some columns.

    Args:
        names: as ``used_physical_names`` has them.
        columns: the columns, each with its ancestors.
    """
    new: dict[int | None, set[str]] = {}
    for column, above in columns:
        new.setdefault(above[-1].id if above else None, set()).add(name_key(column.physical_name))
    return {**names, **{at: names.get(at, frozenset()) | more for at, more in new.items()}}


@dataclass(frozen=True, slots=True)
class Existing:
    """A column that was there when the ALTER was planned; ``name`` is its path, for messages."""

    id: int
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class New:
    """A column made earlier in the same ALTER, which had given out ``nth`` IDs before."""

    nth: int
    name: str = field(compare=False)


Ref = Existing | New


def refer(evolution: Evolution, column_id: int) -> Ref:
    """What a bound change calls a column."""
    name = evolution.schema.path_text(column_id)
    if column_id < evolution.first_new_id:
        return Existing(column_id, name)
    return New(column_id - evolution.first_new_id, name)


def locate(evolution: Evolution, ref: Ref) -> int:
    """The ID of the column that a bound change means.

    Raises:
        InvalidRequestError: it is not there any more.
    """
    match ref:
        case Existing(column_id, name):
            pass
        case New(nth, name):
            column_id = evolution.first_new_id + nth
    if column_id not in evolution.schema.ids:
        raise InvalidRequestError(f"the column {name} is gone, it was dropped")
    return column_id


@dataclass(frozen=True, slots=True)
class First:
    """Before all siblings."""


@dataclass(frozen=True, slots=True)
class Last:
    """After all siblings."""


@dataclass(frozen=True, slots=True)
class After:
    """Right after one sibling."""

    sibling: Ref


Place = First | Last | After


@dataclass(frozen=True, slots=True)
class Add:
    """Put a new column, which has no IDs yet, below a parent (None: at the top)."""

    parent: Ref | None
    column: Column
    place: Place


@dataclass(frozen=True, slots=True)
class Drop:
    """Take a column away."""

    column: Ref


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a column another name."""

    column: Ref
    name: str


@dataclass(frozen=True, slots=True)
class Move:
    """Put a column elsewhere among its siblings."""

    column: Ref
    place: Place


@dataclass(frozen=True, slots=True)
class Retype:
    """Widen a column."""

    column: Ref
    type: DataType


@dataclass(frozen=True, slots=True)
class Redefault:
    """Set a column's write default.

    Args:
        column: the column.
        default: the default, of ``type``.
        type: the column's type when the change was planned.
        first_new_id: the first ID that the ALTER gave out then; IDs in ``type`` and ``default``
            from there on are the ALTER's own.
    """

    column: Ref
    default: WriteDefault | None
    type: DataType
    first_new_id: int


@dataclass(frozen=True, slots=True)
class Renull:
    """Allow nulls or forbid them."""

    column: Ref
    nullable: bool


@dataclass(frozen=True, slots=True)
class Recomment:
    """Set a column's comment or take it away."""

    column: Ref
    text: str | None


@dataclass(frozen=True, slots=True)
class Property:
    """Set a property of the table or take it away."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Partition:
    """Partition by these."""

    fields: tuple[tuple[Ref, Transform], ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """Sort by these, each with whether it descends."""

    fields: tuple[tuple[Ref, bool], ...]


Action = (
    Add
    | Drop
    | Rename
    | Move
    | Retype
    | Redefault
    | Renull
    | Recomment
    | Property
    | Partition
    | Sort
)


@dataclass(frozen=True, slots=True)
class BoundChange:
    """A change that was asked for, and what it is by ID."""

    request: Change
    action: Action
