"""Values of widened columns in the types that the reader of an earlier schema knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.projection.arrays import (
    list_of,
    list_values,
    map_of,
    own_nulls,
    struct_child,
    struct_of,
)
from versioned_catalog.schema.seen import Overflow
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import Array, Column, Struct, children, is_nested
from versioned_catalog.types.widening import type_name
from versioned_catalog.values.narrowing import fitting, narrow_array


@dataclass(frozen=True)
class Narrowed:
    """One column of rows that is shown in an earlier, narrower type, or has such a field.

    Args:
        place: its place in the rows.
        wide, narrow: the column as it is stored, and as it is shown.
    """

    place: int
    wide: Column
    narrow: Column


@dataclass(frozen=True)
class Narrowing:
    """The columns of rows that are shown in narrower types than they are stored in.

    Args:
        columns: these columns; those that only a filter needs are last.
        overflow: what is shown of a value that does not fit.
    """

    columns: tuple[Narrowed, ...]
    overflow: Overflow

    def for_filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows for a filter, of the stored types: null where null will be shown."""
        match self.overflow:
            case Overflow.ERROR:
                return batch
            case Overflow.NULL:
                arrays = list(batch.columns)
                for one in self.columns:
                    arrays[one.place] = _converted(
                        arrays[one.place], one.wide, one.narrow, cast=False
                    )
                return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def show(self, batch: pa.RecordBatch, where: str) -> pa.RecordBatch:
        """The rows in the shown types, without the columns that only a filter needs.

        Args:
            where: what is read, for the error.

        Raises:
            InvalidRequestError: a value does not fit, and ``overflow`` is ``error``.
        """
        shown = [one for one in self.columns if one.place < batch.num_columns]
        if not shown:
            return batch  # a batch without columns still has a number of rows
        arrays, fields = list(batch.columns), list(batch.schema)
        for one in shown:
            found = _converted(arrays[one.place], one.wide, one.narrow, cast=True)
            if self.overflow is Overflow.ERROR:
                _check(arrays[one.place], found, (one.wide,), (one.narrow,), where)
            arrays[one.place] = found
            fields[one.place] = pa.field(one.narrow.name, found.type, one.narrow.nullable)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def narrowing(
    wide: Sequence[Column], narrow: Sequence[Column], overflow: Overflow
) -> Narrowing | None:
    """How wide columns are shown as narrow ones of the same shape; None if none differs in type."""
    columns = tuple(
        Narrowed(place, one, other)
        for place, (one, other) in enumerate(zip(wide, narrow, strict=True))
        if one.type != other.type
    )
    return Narrowing(columns, overflow) if columns else None


def _converted(array: pa.Array, wide: Column, narrow: Column, *, cast: bool) -> pa.Array:
    """An array of the narrow type, or of the wide one; null where a value does not fit."""
    if wide.type == narrow.type:
        return array
    if not is_nested(wide.type):
        convert = narrow_array if cast else fitting
        return convert(array, wide.type, narrow.type)  # type: ignore[arg-type]
    type_ = to_arrow_type((narrow if cast else wide).type)
    inner = list(zip(children(wide.type), children(narrow.type), strict=True))
    match wide.type:
        case Struct():
            parts = [
                _converted(struct_child(array, at), one, other, cast=cast)
                for at, (one, other) in enumerate(inner)
            ]
            return struct_of(array, parts, type_)
        case Array():
            offsets, values, mask = list_values(array)
            return list_of(offsets, _converted(values, *inner[0], cast=cast), mask, type_)
        case _:
            offsets, entries, mask = list_values(array)
            keys = _converted(struct_child(entries, 0), *inner[0], cast=cast)
            values = _converted(struct_child(entries, 1), *inner[1], cast=cast)
            return map_of(offsets, keys, values, mask, type_)


def _check(
    before: pa.Array,
    after: pa.Array,
    wide: tuple[Column, ...],
    narrow: tuple[Column, ...],
    where: str,
) -> None:
    """Refuse values that became null; ``wide`` and ``narrow`` lead from the top level to a column."""
    column, shown = wide[-1], narrow[-1]
    if column.type == shown.type:
        return
    if is_nested(column.type):
        for one, other in zip(children(column.type), children(shown.type), strict=True):
            _check(before, after, (*wide, one), (*narrow, other), where)
        return
    lost = own_nulls(after, narrow) - own_nulls(before, wide)
    if lost:
        raise InvalidRequestError(
            f"the column {render_path(tuple(one.name for one in narrow))} is {type_name(column.type)} "
            f"now, and {lost} values in {where} do not fit {type_name(shown.type)}, its type in the "
            "schema that is read; read the current schema, or show nulls with the overflow 'null'",
            condition="INVALID_VALUE",
        )
