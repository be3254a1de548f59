"""The evolving state of a table, and references to its columns by name.

A bound change refers to no column by name. It refers to a column that existed when the ALTER was
planned by its ID, and to a column that the ALTER itself adds by the number of IDs that the ALTER had
assigned before it. That number stays the same when the ALTER is applied to a newer table.

A column that does not exist raises NotFoundError, one that can't be changed InvalidRequestError.
"""

from __future__ import annotations

import datetime as dt
import enum
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.hidden_columns import visible
from versioned_catalog.model.pins import PinnedSchemas
from versioned_catalog.model.schema import INTERNAL_NAMES, Schema, name_key
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import (
    Array,
    Column,
    Constant,
    DataType,
    Evaluated,
    Map,
    Now,
    Struct,
    children,
    is_nested,
    walk,
)
from versioned_catalog.model.widening import type_name
from versioned_catalog.spelling import listed

UsedNames = Mapping[int | None, frozenset[str]]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference of a bound change to a column.

    Args:
        id: the column's ID; if ``is_new``, the number of IDs that the ALTER assigned before it.
        is_new: whether the same ALTER adds the column.
        name: its path when the ALTER was planned, for errors.
    """

    id: int
    is_new: bool
    name: str = field(compare=False)


@dataclass(frozen=True)
class Evolution:
    """A table's schema and properties, with the state that changes of them need.

    Args:
        schema: the current schema.
        next_column_id: the next free ID.
        properties: the table's properties, without ``sort_by``.
        used_names: physical names, as ``name_key``, ever used below each column (None: at the top
            level) in this incarnation of the table; see ``used_physical_names``.
        first_new_id: the first ID that the running ALTER assigns; see ``begin``.
        pins: the schema pins by label, with the columns that each needs.
        names_with_ids: whether physical names of new columns hold their IDs in any case, so that they
            differ from those that other branches of the table assign.
        comment: the table's comment.
    """

    schema: Schema
    next_column_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    used_names: UsedNames = field(default_factory=dict)
    first_new_id: int = 0
    pins: PinnedSchemas = field(default_factory=dict)
    names_with_ids: bool = False
    comment: str | None = None

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
    """Used names together with those of some columns, each with its ancestors."""
    new: dict[int | None, set[str]] = {}
    for column, above in columns:
        new.setdefault(above[-1].id if above else None, set()).add(name_key(column.physical_name))
    return {**names, **{at: names.get(at, frozenset()) | more for at, more in new.items()}}


def refer(evolution: Evolution, column_id: int) -> Ref:
    """The reference of a bound change to a column."""
    is_new = column_id >= evolution.first_new_id
    number = column_id - evolution.first_new_id if is_new else column_id
    return Ref(number, is_new, evolution.schema.path_text(column_id))


def locate(evolution: Evolution, ref: Ref) -> int:
    """The ID of the column that a bound change refers to.

    Raises:
        InvalidRequestError: it no longer exists.
    """
    column_id = evolution.first_new_id + ref.id if ref.is_new else ref.id
    schema = evolution.schema
    if column_id not in schema.ids or is_hidden(schema, column_id):
        raise InvalidRequestError(f"the column {ref.name} no longer exists")
    return column_id


def is_hidden(schema: Schema, column_id: int) -> bool:
    """Whether a column, or one around it, is hidden."""
    return any(part.hidden for part in (*schema.ancestors(column_id), schema.column(column_id)))


class Risk(enum.Enum):
    """The conflict between a change and stored values."""

    NONE = "none"
    STORED_NULLS = "stored nulls"
    """Nulls of the column forbid the change."""
    STORED_VALUES = "stored values"
    """Values of the column that do not fit the new type forbid the change."""
    STORED_ROWS = "stored rows"
    """Rows for which a condition is false forbid the change."""
    LOST_COLUMN = "lost column"
    """The values of the column are lost."""
    HIDDEN_ROWS = "hidden rows"
    """Rows are hidden, and compaction deletes them."""


class SchemaChange(ABC, Generic[T]):
    """A change of a table as a user requests it, by name. ``changes.Change`` lists the classes.

    ``T`` is the bound form of the names in the change: references to columns, and positions.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """The name of the change in a plan."""

    def bind(self, evolution: Evolution, time: dt.datetime) -> BoundChange:
        """Bind the change to the columns that currently have the names in it.

        Args:
            evolution: the table before the change.
            time: the time of the ALTER.

        Raises:
            InvalidRequestError: the change is not legal.
            NotFoundError: a named column does not exist.
        """
        return BoundChange(self, self.target(evolution, time))

    @abstractmethod
    def target(self, evolution: Evolution, time: dt.datetime) -> T:
        """The columns and positions that the names in the change refer to; see ``bind``."""

    @abstractmethod
    def apply(self, target: T, evolution: Evolution) -> Evolution:
        """Apply the change by column ID to the table that it was bound to, or to a newer one.

        Raises:
            InvalidRequestError: it is not legal on that table.
        """

    @abstractmethod
    def describe(self) -> str:
        """One line for a table's history: ``ADD COLUMN idle DOUBLE DEFAULT 7.5 AFTER host``."""

    def clauses(self, before: Evolution, after: Evolution) -> list[str]:
        """The text after ``ALTER TABLE t`` in Spark SQL, which ``alter_parser`` parses.

        A class whose description shortens or omits something overrides this.

        Args:
            before, after: the table around the change, here and in the methods below.

        Raises:
            InvalidRequestError: there is no such statement.
        """
        return [self.describe()]

    def statements(self, table: str, before: Evolution, after: Evolution) -> list[str]:
        """The ALTER TABLE statements that make the change. ``table`` is the table's name as SQL."""
        return [f"ALTER TABLE {table} {clause}" for clause in self.clauses(before, after)]

    def detail(self, before: Evolution, after: Evolution) -> str:
        """A description of the change for people who read a plan."""
        return self.describe()

    def risk(self, before: Evolution, after: Evolution) -> Risk:
        """The conflict between the change and stored values."""
        return Risk.NONE


@dataclass(frozen=True, slots=True)
class ColumnChange(SchemaChange[T]):
    """A change of one column, at ``path``."""

    path: ColumnPath

    def detail(self, before: Evolution, after: Evolution) -> str:
        """The column."""
        return render_path(self.path)


@dataclass(frozen=True, slots=True)
class BoundChange:
    """A change as the user requested it, by column name, and as it is applied, by column ID.

    Args:
        request: the change by name; errors quote it.
        target: the columns that the change names, by ID, so that it can be applied again after a
            concurrent rename.
    """

    request: SchemaChange[Any]
    target: Any

    def apply(self, evolution: Evolution) -> Evolution:
        """Apply the change to a table, in an ALTER that ``Evolution.begin`` has started.

        Raises:
            InvalidRequestError: it is not legal on that table.
        """
        return self.request.apply(self.target, evolution)


def edit_column(evolution: Evolution, ref: Ref, **members: Any) -> Evolution:
    """A table with other members of one column; see ``types.Column``."""
    column_id = locate(evolution, ref)
    schema = evolution.schema.replace_column(column_id, lambda column: replace(column, **members))
    return replace(evolution, schema=schema)


def value_text(value: object, type_: DataType | None = None) -> str:
    """A property or a default for a table's history, cut to fit a line."""
    match value:
        case None:
            text = "NULL"
        case Now():
            text = value.value.upper()
        case Evaluated(sql):
            text = sql
        case Constant(stored):
            text = stored if type_ is None else to_sql(value, type_)
        case bool():
            text = str(value).upper()
        case str():
            text = quote_text(value)
        case bytes():
            text = f"X'{value.hex().upper()}'"
        case _:
            text = str(value)
    return text if len(text) <= 100 else f"{text[:99]}…"


def quote_text(text: str) -> str:
    """A text in quotes, for a table's history."""
    return "'" + text.replace("'", "''") + "'"


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


def insert(
    siblings: tuple[Column, ...], column: Column, position: Position, evolution: Evolution
) -> tuple[Column, ...]:
    """The siblings with a column at a position among them."""
    match position:
        case First():
            return (column, *siblings)
        case Last():
            return (*siblings, column)
        case After(sibling):
            anchor = locate(evolution, sibling)
            at = next(i for i, other in enumerate(siblings) if other.id == anchor) + 1
            return (*siblings[:at], column, *siblings[at:])


def find(schema: Schema, path: ColumnPath) -> Column:
    """The column at a path of names.

    Raises:
        NotFoundError: it does not exist; the message says so if the path skips the ``element`` of a
            list or the ``value`` of a map.
    """
    column = schema.find(path)
    if column is not None:
        return column
    for length in range(len(path) - 1, 0, -1):
        parent = schema.find(path[:length])
        if parent is not None:
            _check_nests(parent, path, length)
            break
    return schema.get(path)


def _check_nests(parent: Column, path: ColumnPath, length: int) -> None:
    here, wanted = render_path(path[:length]), render_path(path)
    if isinstance(parent.type, Struct):
        return  # the caller's error lists the fields
    if is_nested(parent.type):
        way_out = render_path((*path[:length], inside(parent.type), *path[length:]))
        hint = f"so write {way_out}"
    else:
        hint = "which has no columns inside"
    raise NotFoundError(
        f"there is no column {wanted}; {here} is {type_name(parent.type)}, {hint}",
        condition="COLUMN_NOT_FOUND",
    )


def inside(type_: DataType) -> str:
    """The name that continues a path below a list or map."""
    return "element" if isinstance(type_, Array) else "value"


def reference(evolution: Evolution, path: ColumnPath) -> Ref:
    """A reference to the column at a path; raises NotFoundError if it does not exist."""
    return refer(evolution, find(evolution.schema, path).id)


def field_reference(evolution: Evolution, path: ColumnPath, done: str, in_key: str = "") -> Ref:
    """A reference to a top-level column or a field of a struct.

    Args:
        done: the participle of the change, for the error about an element, key or value.
        in_key: the verb of the change, if it is not allowed inside a map's key.
    """
    column = find(evolution.schema, path)
    above = evolution.schema.ancestors(column.id)
    if above and not isinstance(above[-1].type, Struct):
        raise InvalidRequestError(
            f"{render_path(path)} can't be {done}, it belongs to the type of "
            f"{render_path(path[:-1])}; change that column instead",
            condition="NOT_SUPPORTED",
        )
    if in_key:
        check_not_in_key(evolution, column.id, in_key)
    return refer(evolution, column.id)


def check_not_in_key(evolution: Evolution, column_id: int, verb: str) -> None:
    """Raise InvalidRequestError if a column is inside a map's key."""
    chain = (*evolution.schema.ancestors(column_id), evolution.schema.column(column_id))
    for outer, inner in itertools.pairwise(chain):
        if isinstance(outer.type, Map) and outer.type.key.id == inner.id:
            raise InvalidRequestError(
                f"can't {verb} {evolution.schema.path_text(column_id)}, since it is in the key of "
                "a map, and different keys could become equal; add a new map, copy the values and "
                "drop the old one",
                condition="NOT_SUPPORTED",
            )


def position(evolution: Evolution, parent: ColumnPath, first: bool, after: str | None) -> Position:
    """The position among the columns inside ``parent`` (empty: the top level)."""
    if first and after is not None:
        raise InvalidRequestError("FIRST and AFTER are both given; give one of them")
    if first:
        return First()
    if after is None:
        return Last()
    schema = evolution.schema
    siblings = visible(children(find(schema, parent).type) if parent else schema.columns)
    for sibling in siblings:
        if name_key(sibling.name) == name_key(after):
            return After(refer(evolution, sibling.id))
    names = listed(
        render_path((after,)),
        (render_path((column.name,)) for column in siblings),
        50,
        "there are none yet",
    )
    raise NotFoundError(
        f"there is no column {render_path((*parent, after))} to come after; AFTER names a sibling: "
        f"{names}",
        condition="COLUMN_NOT_FOUND",
    )


def parent_reference(evolution: Evolution, path: ColumnPath) -> Ref:
    """A reference to the struct that a new column at ``path`` is added to."""
    parent = find(evolution.schema, path[:-1])
    where = render_path(path)
    if isinstance(parent.type, Struct):
        check_not_in_key(evolution, parent.id, f"add {where} to")
        return refer(evolution, parent.id)
    if is_nested(parent.type):
        name = "x" if path[-1] in ("element", "key", "value") else path[-1]
        field = render_path((*path[:-1], inside(parent.type), name))
        hint = f"so add a field to the structs inside it, as {field}"
    else:
        hint = "which has no fields; add it to a struct, or at the top level"
    raise InvalidRequestError(
        f"can't add {where}: {render_path(path[:-1])} is {type_name(parent.type)}, {hint}"
    )
