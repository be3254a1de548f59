"""Columns of a scan that are not those of the table: parts of structs, and narrower types."""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import Column, Struct, children, walk, with_children


def like_schema(column: Column, schema: Schema) -> Column:
    """Show a wide column, or a part of one, in the types of a schema; metadata columns stay."""
    if column.id not in schema.ids:
        return column
    inner = tuple(like_schema(child, schema) for child in children(column.type))
    seen = schema.column(column.id)
    return replace(column, type=with_children(seen.type, inner) if inner else seen.type)


def cut_to(column: Column, wanted: frozenset[int]) -> Column:
    """Restrict a struct to the fields that lead to wanted IDs."""
    if column.id in wanted or not isinstance(column.type, Struct):
        return column
    inner = tuple(
        cut_to(child, wanted)
        for child in children(column.type)
        if any(below.id in wanted for below, _ in walk((child,)))
    )
    return replace(column, type=Struct(inner))
