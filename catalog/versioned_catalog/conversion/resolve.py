"""Column IDs of a source's schema: the same key is the same column, whatever its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from versioned_catalog.conversion.source import SourcePartition, SourceSchema, SourceTable
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import PartitionField, Schema, SortField
from versioned_catalog.types.types import Column, children, is_nested, with_children
from versioned_catalog.types.widening import widens


@dataclass(frozen=True)
class Resolved:
    """A source's schema with IDs.

    Args:
        columns: the columns; those that the table does not have yet have IDs above all of its own.
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
        keys: the IDs by key, as far as they are known.
        next_id: the first free ID.
        stable: whether a key is never used for another column.

    Raises:
        InvalidRequestError: the source has a column again that it had dropped.
    """
    resolver = _Resolver(schema.keys, before, keys, next_id, stable)
    columns = tuple(resolver.column(one) for one in schema.columns)
    known = dict(keys) if stable else {}
    return Resolved(columns, known | resolver.found)


@dataclass
class _Resolver:
    in_order: tuple[str, ...]
    before: Schema | None
    known: Mapping[str, int]
    next_id: int
    stable: bool
    found: dict[str, int] = field(default_factory=dict)

    def column(self, column: Column, *, is_new: bool = False) -> Column:
        key = self.in_order[column.id - 1]
        own = None if is_new else self._known(key, column)
        self.found[key] = self._fresh() if own is None else own
        inner = tuple(self.column(one, is_new=own is None) for one in children(column.type))
        return replace(column, id=self.found[key], type=with_children(column.type, inner))

    def _fresh(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _known(self, key: str, column: Column) -> int | None:
        """The ID of a column that the source had at the last sync; None for a new one."""
        own = self.known.get(key)
        if own is None or self.before is None:
            return None
        if own in self.before.ids:
            return own if self._is_same(self.before.column(own), column) else None
        if self.stable:
            raise InvalidRequestError(
                f"the source has the column {column.name} (its ID {key}) again, which it had dropped: "
                "the files that are here already would not show its values. Convert the source under a "
                "new name",
                condition="NOT_SUPPORTED",
            )
        return None

    def _is_same(self, old: Column, new: Column) -> bool:
        """Whether a key still means the column; a name that got another type is a new column."""
        if self.stable or is_nested(old.type) or is_nested(new.type):
            return self.stable or type(old.type) is type(new.type)
        return widens(old.type, new.type)


def kept_ids(source: SourceTable) -> Resolved | None:
    """The first schema with the source's own IDs; None if its keys are no IDs."""
    first = source.schemas[0]
    if not source.stable_keys:
        return None
    numbers = [int(key) for one in source.schemas for key in one.keys if key.isdecimal()]
    if any(not key.isdecimal() for key in first.keys[:1]) or min(numbers) < 1:
        return None
    # Elements, keys and values of Delta have no IDs; they get some above all others.
    above = iter(range(max(numbers) + 1, max(numbers) + 1 + len(first.keys)))
    keys = {key: int(key) if key.isdecimal() else next(above) for key in first.keys}

    def with_id(column: Column) -> Column:
        inner = tuple(map(with_id, children(column.type)))
        own = keys[first.keys[column.id - 1]]
        return replace(column, id=own, type=with_children(column.type, inner))

    return Resolved(tuple(map(with_id, first.columns)), keys)


def partitioned(
    columns: tuple[Column, ...],
    partitioning: tuple[SourcePartition, ...],
    sort_by: tuple[tuple[str, bool], ...],
    keys: Mapping[str, int],
) -> Schema:
    """A schema of resolved columns that is arranged as the source is, as far as it has the columns."""
    bare = Schema(columns)
    return replace(
        bare,
        partitioning=tuple(
            PartitionField(keys[one.key], one.transform)
            for one in partitioning
            if keys.get(one.key) in bare.ids
        ),
        sort_by=tuple(
            SortField(keys[key], descending)
            for key, descending in sort_by
            if keys.get(key) in bare.ids
        ),
    )
