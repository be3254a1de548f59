"""The evolving state of a table, and references to its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.actions import Action, Existing, New, Ref
from versioned_catalog.evolution.changes import Change
from versioned_catalog.schema.pins import PinnedSchemas
from versioned_catalog.schema.schema import INTERNAL_NAMES, Schema, name_key
from versioned_catalog.types.types import Column, children, walk

UsedNames = Mapping[int | None, frozenset[str]]


@dataclass(frozen=True)
class Evolution:
    """A table's schema and properties, with what is needed to change them.

    Args:
        schema: the current schema.
        next_column_id: the next free ID.
        properties: the table's properties, without ``sort_by``.
        used_names: physical names, as ``name_key``, ever used below each column (None: at the top
            level) in this incarnation of the table; see ``used_physical_names``.
        first_new_id: the first ID that the running ALTER assigns; see ``begin``.
        pins: the schema pins by label, with the columns that each needs.
    """

    schema: Schema
    next_column_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    used_names: UsedNames = field(default_factory=dict)
    first_new_id: int = 0
    pins: PinnedSchemas = field(default_factory=dict)

    def __post_init__(self) -> None:
        internal = frozenset(map(name_key, INTERNAL_NAMES))
        used = dict(self.used_names)
        if not internal <= used.get(None, frozenset()):
            used[None] = used.get(None, frozenset()) | internal
        object.__setattr__(self, "used_names", used)
        object.__setattr__(self, "properties", dict(self.properties))

    def begin(self) -> Evolution:
        """The same state at the start of an ALTER."""
        return replace(self, first_new_id=self.next_column_id)


def used_physical_names(schemas: Iterable[Schema]) -> UsedNames:
    """The physical names ever used below each column in an incarnation, as ``name_key``."""
    names: UsedNames = {None: frozenset(map(name_key, INTERNAL_NAMES))}
    for schema in schemas:
        names = with_used(names, walk(schema.columns))
    return names


def used_below(column: Column) -> UsedNames:
    """The physical names below a column, by the ID of their parent."""
    return with_used({}, walk(children(column.type), (column,)))


def with_used(names: UsedNames, columns: Iterable[tuple[Column, tuple[Column, ...]]]) -> UsedNames:
    """Used names together with those of some columns, each given with its ancestors."""
    new: dict[int | None, set[str]] = {}
    for column, above in columns:
        new.setdefault(above[-1].id if above else None, set()).add(name_key(column.physical_name))
    return {**names, **{at: names.get(at, frozenset()) | more for at, more in new.items()}}


def refer(evolution: Evolution, column_id: int) -> Ref:
    """The reference of a bound change to a column."""
    name = evolution.schema.path_text(column_id)
    if column_id < evolution.first_new_id:
        return Existing(column_id, name)
    return New(column_id - evolution.first_new_id, name)


def locate(evolution: Evolution, ref: Ref) -> int:
    """The ID of the column that a bound change refers to.

    Raises:
        InvalidRequestError: it no longer exists.
    """
    match ref:
        case Existing(column_id, name):
            pass
        case New(nth, name):
            column_id = evolution.first_new_id + nth
    schema = evolution.schema
    if column_id not in schema.ids or is_hidden(schema, column_id):
        raise InvalidRequestError(f"the column {name} no longer exists")
    return column_id


def is_hidden(schema: Schema, column_id: int) -> bool:
    """Whether a column, or one around it, is hidden."""
    return any(one.hidden for one in (*schema.ancestors(column_id), schema.column(column_id)))


@dataclass(frozen=True, slots=True)
class BoundChange:
    """A change as the user requested it, by column name, and as it is applied, by column ID.

    Args:
        request: the change by name; errors quote it.
        action: the same change by ID, which can be applied again after a concurrent rename.
    """

    request: Change
    action: Action
