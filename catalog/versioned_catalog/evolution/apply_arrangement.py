"""Bound changes of the table: its properties, partitioning and sort order.

A change that is not legal on the table raises InvalidRequestError.
"""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import actions
from versioned_catalog.evolution.evolution import Evolution, locate
from versioned_catalog.schema.schema import PartitionField, Schema, SortField
from versioned_catalog.schema.transforms import parse_transform, render, render_field, result_type
from versioned_catalog.types.types import is_nested, is_opaque
from versioned_catalog.types.widening import type_name


def set_property(action: actions.Property, evolution: Evolution) -> Evolution:
    """Set or remove a property of the table."""
    properties = {name: text for name, text in evolution.properties.items() if name != action.key}
    if action.value is not None:
        properties[action.key] = action.value
    return replace(evolution, properties=properties)


def set_partitioning(action: actions.Partition, evolution: Evolution) -> Schema:
    """Set the partitioning."""
    fields = tuple(
        PartitionField(locate(evolution, ref), render(transform))
        for ref, transform in action.fields
    )
    _check_once(fields, "partitioned", evolution.schema)
    changed = replace(evolution.schema, partitioning=fields)
    check_arrangement(changed)
    return changed


def set_sort_order(action: actions.Sort, evolution: Evolution) -> Schema:
    """Set the sort order."""
    fields = tuple(SortField(locate(evolution, ref), down) for ref, down in action.fields)
    _check_once(
        tuple(replace(field, descending=False) for field in fields), "sorted", evolution.schema
    )
    changed = replace(evolution.schema, sort_by=fields)
    check_arrangement(changed)
    return changed


def _check_once(fields: tuple[PartitionField | SortField, ...], done: str, schema: Schema) -> None:
    for index, field in enumerate(fields):
        if field in fields[:index]:
            raise InvalidRequestError(
                f"the table would be {done} twice by {schema.path_text(field.source)}; name it once"
            )


def check_arrangement(schema: Schema) -> None:
    """Check the types of the columns that the table is partitioned and sorted by.

    Raises:
        InvalidRequestError: a transform does not apply to one, or one has no order.
    """
    for field in schema.partitioning:
        transform = parse_transform(field.transform)
        try:
            result_type(transform, schema.column(field.source).type)
        except InvalidRequestError as error:
            shown = render_field(schema.path(field.source), transform)
            raise InvalidRequestError(
                f"the table can't be partitioned by {shown}: {error}"
            ) from None
    for sort in schema.sort_by:
        type_ = schema.column(sort.source).type
        if is_nested(type_) or is_opaque(type_):
            raise InvalidRequestError(
                f"the table can't be sorted by {schema.path_text(sort.source)}, which is "
                f"{type_name(type_)}; sort by columns that are not nested, such as a struct's fields"
            )
