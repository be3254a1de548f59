"""Column IDs of a source's schema, and the merge of its changes with those made here.

A three-way merge by column ID: changes of the source since the last sync are applied, changes made only
here stay, and a column that both sides changed is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.keys import Direction
from versioned_catalog.model.schema import PartitionField, Schema, SortField, name_key
from versioned_catalog.model.sql_literals import widen
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    Column,
    Constant,
    DataType,
    WriteDefault,
    children,
    is_nested,
    map_columns,
    with_children,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_interop.convert.source import SourcePartition, SourceSchema, SourceTable


@dataclass(frozen=True)
class Resolved:
    """A source's schema with IDs.

    Args:
        columns: the columns; new ones have IDs above all of the table's.
        keys: the ID of each key.
    """

    columns: tuple[Column, ...]
    keys: Mapping[str, int]


def resolve(
    schema: SourceSchema,
    before: Schema | None,
    keys: Mapping[str, int],
    next_id: int,
    *,
    stable: bool,
) -> Resolved:
    """Give the columns of a source's schema their IDs.

    Args:
        before: the schema that was resolved last, with IDs; None for the first one.
        keys: the IDs of columns that are resolved already, by key.
        next_id: the first free ID.
        stable: whether a key is never used for another column.

    Raises:
        InvalidRequestError: the source has a column again that it had dropped.
    """
    resolver = _Resolver(schema.keys, before, keys, next_id, stable)
    columns = tuple(resolver.column(column) for column in schema.columns)
    ids = dict(keys) if stable else {}
    return Resolved(columns, ids | resolver.resolved)


@dataclass
class _Resolver:
    in_order: tuple[str, ...]
    before: Schema | None
    ids: Mapping[str, int]
    next_id: int
    stable: bool
    resolved: dict[str, int] = field(default_factory=dict)

    def column(self, column: Column, *, is_new: bool = False) -> Column:
        key = self.in_order[column.id - 1]
        id_ = None if is_new else self._previous_id(key, column)
        self.resolved[key] = self._fresh() if id_ is None else id_
        inner = tuple(self.column(child, is_new=id_ is None) for child in children(column.type))
        return replace(column, id=self.resolved[key], type=with_children(column.type, inner))

    def _fresh(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _previous_id(self, key: str, column: Column) -> int | None:
        """The ID of a column that the source had at the last sync; None for a new one."""
        column_id = self.ids.get(key)
        if column_id is None or self.before is None:
            return None
        if column_id in self.before.ids:
            return column_id if self._is_same(self.before.column(column_id), column) else None
        if self.stable:
            raise InvalidRequestError(
                f"the source has the column {column.name} (its ID {key}) again, which it had dropped: "
                "the files that are here already would not show its values. Convert the source under a "
                "new name",
                condition="NOT_SUPPORTED",
            )
        return None

    def _is_same(self, old: Column, new: Column) -> bool:
        """Whether a key still identifies the column; if keys are not stable, its type must widen."""
        if self.stable or is_nested(old.type) or is_nested(new.type):
            return self.stable or type(old.type) is type(new.type)
        return widens(old.type, new.type)


def kept_ids(source: SourceTable) -> Resolved | None:
    """The first schema with the source's IDs; None if its keys are not IDs."""
    first = source.schemas[0]
    if not source.stable_keys:
        return None
    numbers = [int(key) for schema in source.schemas for key in schema.keys if key.isdecimal()]
    if any(not key.isdecimal() for key in first.keys[:1]) or min(numbers) < 1:
        return None
    # Elements, keys and values of Delta have no IDs; they get some above all others.
    above = iter(range(max(numbers) + 1, max(numbers) + 1 + len(first.keys)))
    keys = {key: int(key) if key.isdecimal() else next(above) for key in first.keys}

    def with_id(column: Column) -> Column:
        inner = tuple(map(with_id, children(column.type)))
        column_id = keys[first.keys[column.id - 1]]
        return replace(column, id=column_id, type=with_children(column.type, inner))

    return Resolved(tuple(map(with_id, first.columns)), keys)


def partitioned(
    columns: tuple[Column, ...],
    partitioning: tuple[SourcePartition, ...],
    sort_by: tuple[tuple[str, Direction], ...],
    keys: Mapping[str, int],
) -> Schema:
    """A schema of resolved columns with the source's partitioning and order, for the columns it has."""
    bare = Schema(columns)
    return replace(
        bare,
        partitioning=tuple(
            PartitionField(keys[field.key], field.transform)
            for field in partitioning
            if keys.get(field.key) in bare.ids
        ),
        sort_by=tuple(
            SortField(keys[key], way) for key, way in sort_by if keys.get(key) in bare.ids
        ),
    )


_Field = TypeVar("_Field")


def merge_schemas(ours: Schema, base: Schema, theirs: Schema) -> Schema:
    """The schema that a table gets.

    Args:
        ours: the table's visible columns.
        base: the source's schema at the last sync.
        theirs: the source's schema now; columns that ``ours`` lacks and ``base`` lacks are new.

    Raises:
        InvalidRequestError: naming the column that both sides changed.
    """
    columns = _level(ours.columns, base.columns, theirs.columns, ())
    bare = Schema(columns, ours.version)
    arranged_here = {f.source for f in ours.partitioning if f not in base.partitioning}
    arranged_here |= {f.source for f in ours.sort_by if f not in base.sort_by}
    for lost in sorted(arranged_here - bare.ids):
        raise dropped_there(ours.column(lost), ours.path(lost)[:-1], "arranges the rows")
    three = (ours, base, theirs)
    grouped = [tuple(f for f in schema.partitioning if f.source in bare.ids) for schema in three]
    ordered = [tuple(f for f in schema.sort_by if f.source in bare.ids) for schema in three]
    return replace(
        bare,
        partitioning=_arrangement(grouped, "partitioning"),
        sort_by=_arrangement(ordered, "sort order"),
    )


def _arrangement(three: Sequence[tuple[_Field, ...]], subject: str) -> tuple[_Field, ...]:
    """The partitioning or sort order, in columns that the table has."""
    ours, base, theirs = three
    if theirs == base:
        return ours
    if ours not in (base, theirs):
        raise InvalidRequestError(
            f"the {subject} was changed in the source, and to another one here; take it back here "
            "first, or change it as in the source, then sync again",
            condition="NOT_SUPPORTED",
        )
    return theirs


def _level(
    ours: Sequence[Column],
    base: Sequence[Column],
    theirs: Sequence[Column],
    above: tuple[str, ...],
) -> tuple[Column, ...]:
    """The columns of one level."""
    current, old = {c.id: c for c in ours}, {c.id: c for c in base}
    merged: dict[int, Column] = {}
    for column in theirs:
        if column.id in current and column.id in old:
            merged[column.id] = _Pair(current[column.id], old[column.id], column, above).merged()
        elif column.id not in old:
            merged[column.id] = column
    for column in ours:
        is_dropped = column.id in old and column.id not in merged
        if is_dropped and _as_seen(column) != _as_seen(old[column.id]):
            raise dropped_there(column, above, "changed")
    kept = [column.id for column in ours if column.id in merged or column.id not in old]
    extra = {c.id: c for c in ours if c.id not in old}
    order = _order(kept, [c.id for c in base], [c.id for c in theirs if c.id in merged])
    columns = tuple(merged.get(id_) or extra[id_] for id_ in order)
    _check_names(columns, extra, above)
    return columns


def _as_seen(column: Column) -> Column:
    """A column without physical names and read defaults, which only its table has."""
    return map_columns(column, lambda c: replace(c, physical_name=c.name, read_default=None))


def dropped_there(column: Column, above: tuple[str, ...], change: str) -> InvalidRequestError:
    """The error for a column that the source dropped and this table changed or filled."""
    path = render_path((*above, column.name))
    return InvalidRequestError(
        f"the column {path} (ID {column.id}) is dropped in the source, and {change} here; drop it here "
        f"first: alter().drop_column({path!r}), then sync again. What is to stay belongs into a "
        "column of this table's own",
        condition="NOT_SUPPORTED",
    )


def _order(ours: list[int], base: list[int], theirs: list[int]) -> list[int]:
    """The order of columns: the source's if it changed, else the table's with new columns put in."""
    both = set(base) & set(theirs)
    moved = [id_ for id_ in base if id_ in both] != [id_ for id_ in theirs if id_ in both]
    first, second = (theirs, ours) if moved else (ours, theirs)
    order = list(first)
    for at, column_id in enumerate(second):
        if column_id not in order:
            before = [other for other in second[:at] if other in order]
            is_last = at == len(second) - 1 or all(o not in first for o in second[at + 1 :])
            place = len(order) if is_last else (order.index(before[-1]) + 1 if before else 0)
            order.insert(place, column_id)
    return order


def _check_names(
    columns: Sequence[Column], extra: dict[int, Column], above: tuple[str, ...]
) -> None:
    names: dict[str, Column] = {}
    for column in columns:
        other = names.setdefault(name_key(column.name), column)
        if other is not column:
            path = render_path((*above, column.name))
            whose = (
                "has a column of its own"
                if {column.id, other.id} & extra.keys()
                else "has two columns"
            )
            raise InvalidRequestError(
                f"the source now has a column {path}, and this table {whose} of that name; rename or "
                f"drop it first: alter().rename_column({path!r}, ...)",
                condition="COLUMN_ALREADY_EXISTS",
            )


@dataclass(frozen=True)
class _Pair:
    """A column of the table and its source."""

    ours: Column
    base: Column
    theirs: Column
    above: tuple[str, ...]

    def merged(self) -> Column:
        """The column that the table gets."""
        ours, base, theirs = self.ours, self.base, self.theirs
        return replace(
            ours,
            name=self._name(),
            type=self._type(),
            nullable=ours.nullable if theirs.nullable == base.nullable else theirs.nullable,
            write_default=self._default(),
            comment=ours.comment if theirs.comment == base.comment else theirs.comment,
        )

    def _name(self) -> str:
        ours, base, theirs = self.ours.name, self.base.name, self.theirs.name
        if theirs == base:
            return ours
        if ours not in (base, theirs):
            raise self._conflict(
                f"renamed from {base} to {theirs} in the source, and to {ours} here",
                f"rename it here first: alter().rename_column({self._path!r}, {theirs!r})",
            )
        return theirs

    def _default(self) -> WriteDefault | None:
        """The write default; a nested one, which names fields by ID, is never copied."""
        if self.theirs.write_default == self.base.write_default or is_nested(self.ours.type):
            return self.ours.write_default
        default = self.theirs.write_default
        if isinstance(default, Constant) and self.ours.type != self.theirs.type:
            return widen(default, self.theirs.type, self.ours.type)
        return default

    def _type(self) -> DataType:
        ours, base, theirs = self.ours.type, self.base.type, self.theirs.type
        if is_nested(ours) and type(ours) is type(base) is type(theirs):
            inner = _level(
                children(ours), children(base), children(theirs), (*self.above, self.ours.name)
            )
            return with_children(ours, inner)
        if theirs == base or widens(theirs, ours):
            return ours
        if widens(ours, theirs):
            return theirs
        raise self._conflict(
            f"{type_name(theirs)} in the source now, and {type_name(ours)} here",
            "widen it here to a type that holds both, or convert the source under a new name",
        )

    @property
    def _path(self) -> str:
        return render_path((*self.above, self.ours.name))

    def _conflict(self, change: str, way_out: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"the column {self._path} (ID {self.ours.id}) is {change}; {way_out}",
            condition="NOT_SUPPORTED",
        )
