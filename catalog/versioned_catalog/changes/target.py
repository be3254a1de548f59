"""The schema in which changes are read, and a wider one that holds all values of the range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.seen import Overflow, Seen
from versioned_catalog.types.types import Column, children, is_nested, with_children
from versioned_catalog.types.widening import widens


def readable(state: TableState, versions: Iterable[int], table: str) -> TableState:
    """A state that can read segments of all these schema versions, and shows the same schema.

    A rollback takes back the widening of a column, but segments of before hold the wider type. They are
    read in that type and then narrowed, as through a schema pin.

    Raises:
        InvalidRequestError: a column had two types of which neither widens to the other.
    """
    stored = state.schema
    wide = stored
    for version in sorted(set(versions)):
        wide = _widened(wide, state.schemas[version], table)
    if wide is stored:
        return state
    named = replace(wide, version=state.schemas.newest.version + 1)
    lens = state.lens or Lens(str(stored.version), state.seen, Overflow.ERROR)
    return replace(
        state,
        schemas=state.schemas.grown(named),
        schema_version=named.version,
        lens=replace(lens, seen=Seen(lens.seen.schema, named)),
    )


def _widened(schema: Schema, other: Schema, table: str) -> Schema:
    """A schema whose columns hold the values of another one's, too."""
    columns = tuple(_column(column, other, schema, table) for column in schema.columns)
    return schema if columns == schema.columns else replace(schema, columns=columns)


def _column(column: Column, other: Schema, schema: Schema, table: str) -> Column:
    if column.id not in other.ids:
        return column
    held = other.column(column.id)
    if is_nested(column.type):
        inner = tuple(_column(child, other, schema, table) for child in children(column.type))
        return replace(column, type=with_children(column.type, inner))
    if column.type == held.type or widens(held.type, column.type):
        return column
    if widens(column.type, held.type):
        return replace(
            column,
            type=held.type,
            read_default=held.read_default,
            write_default=held.write_default,
        )
    raise InvalidRequestError(
        f"{table}: the column {schema.path_text(column.id)} was {render_type(held.type)} and is "
        f"{render_type(column.type)} after a rollback, and no type holds both; ask for the changes "
        "after the rollback, and apart from them for those before"
    )
