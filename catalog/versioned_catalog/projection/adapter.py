"""Execution of a segment plan: rows of a segment become rows of the wanted columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.projection import resolver
from versioned_catalog.projection.arrays import (
    list_of,
    list_values,
    map_of,
    struct_child,
    struct_of,
)
from versioned_catalog.types.arrow import to_arrow_schema, to_arrow_type
from versioned_catalog.types.types import Array, Column, Constant, Map, Struct
from versioned_catalog.values.literals import to_scalar

MetadataValues = Mapping[int, pa.Array]
"""The values of metadata columns and of constants of the segment, by column ID."""


class Adapter:
    """A segment plan, prepared to be applied to many batches."""

    def __init__(self, plan: resolver.SegmentPlan) -> None:
        self._plan = plan
        self.schema = to_arrow_schema(tuple(output.column for output in plan.outputs))

    def adapt(self, arrays: list[pa.Array], rows: int, metadata: MetadataValues) -> pa.RecordBatch:
        """A batch of ``rows`` rows of the wanted columns, from one array per needed column.

        Raises:
            CorruptTableError: the values do not have the types that the log records.
        """
        try:
            columns = [_build(output, arrays, rows, metadata) for output in self._plan.outputs]
            if not columns:
                return batch_of_nothing(rows)
            return pa.RecordBatch.from_arrays(columns, schema=self.schema)
        except (pa.ArrowException, IndexError) as error:
            raise CorruptTableError(f"the values do not fit the table's schema: {error}") from error


def batch_of_nothing(rows: int) -> pa.RecordBatch:
    """A batch of ``rows`` rows and no columns."""
    nulls = pa.RecordBatch.from_arrays([pa.nulls(rows)], ["_"])
    return nulls.select([])


def _build(
    output: resolver.Output, arrays: list[pa.Array], rows: int, metadata: MetadataValues
) -> pa.Array:
    wanted = output.column
    match output.step:
        case resolver.Take(index):
            return arrays[index]
        case resolver.Cast(index, _):
            return arrays[index].cast(to_arrow_type(wanted.type))
        case resolver.Rebuild(index, inner):
            return _rebuild(wanted, inner, arrays[index])
        case resolver.Fill(constant):
            return constant_array(constant, wanted, rows)
        case resolver.Metadata():
            return metadata[wanted.id]


def _rebuild(wanted: Column, inner: tuple[resolver.Output, ...], source: pa.Array) -> pa.Array:
    type_ = to_arrow_type(wanted.type)
    match wanted.type:
        case Struct():
            read = [struct_child(source, i) for i in range(source.type.num_fields)]
            return struct_of(source, _build_all(inner, read, len(source)), type_)
        case Array():
            offsets, values, mask = list_values(source)
            (elements,) = _build_all(inner, [values], len(values))
            return list_of(offsets, elements, mask, type_)
        case Map():
            offsets, entries, mask = list_values(source)
            read = [struct_child(entries, 0), struct_child(entries, 1)]
            keys, values = _build_all(inner, read, len(entries))
            return map_of(offsets, keys, values, mask, type_)
        case _:
            raise CorruptTableError(f"{wanted.name} has no fields to rebuild")


def _build_all(
    outputs: tuple[resolver.Output, ...], read: list[pa.Array], rows: int
) -> list[pa.Array]:
    return [_build(output, read, rows, {}) for output in outputs]


def constant_array(constant: Constant | None, column: Column, rows: int) -> pa.Array:
    """A column of ``rows`` rows that all hold one value."""
    if constant is None or not rows:  # Arrow can't repeat a list zero times
        return pa.nulls(rows, to_arrow_type(column.type))
    return pa.repeat(to_scalar(constant, column.type), rows)
