"""Narrowed columns: the types that their segments may hold, and constants in other types.

A narrowing rewrites nothing. Segments written before it hold the wider type, in which filters and
statistics are compared and rows are read; then the values are narrowed (FORMAT.md, section 4.10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.constants import narrow, widen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import Column, Constant, DataType, map_columns, walk
from versioned_catalog.model.widening import narrows, type_name, widens

Conversion = Callable[[Constant, DataType, DataType], Constant]
"""The same constant in another type: of it, its type, and the other one."""


def narrowed_columns(schema: Schema) -> list[Column]:
    """The columns whose segments may hold a wider type, at any depth."""
    return [column for column, _ in walk(schema.columns) if column.widest is not None]


def newly_narrowed(old: Schema, new: Schema) -> frozenset[int]:
    """The IDs of the columns of both schemas whose type is narrower in the new one."""
    return frozenset(
        column_id
        for column_id in old.ids & new.ids
        if narrows(old.column(column_id).type, new.column(column_id).type)
    )


def held(column: Column) -> Column:
    """A column, not those inside it, in the type that segments may hold; without its defaults."""
    if column.widest is None:
        return column
    return replace(column, type=column.widest, widest=None, read_default=None, write_default=None)


def held_schema(schema: Schema, ids: Iterable[int]) -> Schema:
    """The schema with some narrowed columns in the types that segments may hold."""
    wanted = frozenset(ids)
    changed = schema
    for column_id in sorted(wanted):
        changed = changed.replace_column(
            column_id,
            lambda column: replace(column, type=column.widest or column.type, widest=None),
        )
    tops = {(*changed.ancestors(i), changed.column(i))[0].id for i in wanted}
    for top in sorted(tops):
        changed = changed.replace_column(top, lambda column: with_defaults(schema, column, widen))
    return changed


def held_beyond(column: Column, written: Iterable[Schema]) -> bool:
    """Whether segments written under some schemas hold values of a narrowed column in a wider type."""
    types = {schema.column(column.id).type for schema in written if column.id in schema.ids}
    return not all(widens(type_, column.type) for type_ in types)


def with_defaults(old: Schema, new: Column, convert: Conversion) -> Column:
    """A column with converted defaults of all columns in it whose type differs from the old one."""

    def converted(column: Column) -> Column:
        before, after = old.column(column.id).type, column.type
        if before == after:
            return column
        read, write = column.read_default, column.write_default
        return replace(
            column,
            read_default=None if read is None else convert(read, before, after),
            write_default=convert(write, before, after) if isinstance(write, Constant) else write,
        )

    return map_columns(new, converted)


def narrowed_defaults(old: Schema, new: Column, narrowed: DataType) -> Column:
    """A column with the defaults of all columns in it, of which one is narrowed.

    Raises:
        InvalidRequestError: a default does not fit the new type.
    """

    def convert(constant: Constant, before: DataType, after: DataType) -> Constant:
        other = narrow(constant, before, after)
        if other is None:
            raise InvalidRequestError(
                f"{render_path((new.name,))} can't be narrowed, since the default {constant.json[:100]} "
                f"does not fit {type_name(narrowed)}; change it, or, if it is one that existing rows "
                "show, add a column, copy the values and drop this one",
                condition="INVALID_VALUE",
            )
        return other

    return with_defaults(old, new, convert)
