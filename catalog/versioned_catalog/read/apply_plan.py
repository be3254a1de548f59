"""Execution of a segment plan: rows of a segment become rows of the wanted columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, VersionedError
from versioned_catalog.log.segment_table import constants_from_text
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.constants import fitting, narrow_array, widen
from versioned_catalog.model.pins import Overflow
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.sql_literals import to_scalar
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    Column,
    Constant,
    Map,
    children,
    is_compared,
    is_nested,
)
from versioned_catalog.model.value_text import constant_of
from versioned_catalog.model.widening import type_name
from versioned_catalog.read import projection
from versioned_catalog.read.arrays import cut_array, own_nulls, rebuilt
from versioned_catalog.read.filters import BoundFilter


def wanted_constants(
    schema: Schema, text: str | None, wanted: Sequence[Column]
) -> dict[int, Constant | None]:
    """The constants of a segment among wanted columns, in their types.

    Args:
        schema: the schema version of the segment, whose types the constants have.
        text: the constants as recorded in the state.

    Raises:
        CorruptTableError: a constant is not of a top-level leaf column, or not of its type.
    """
    texts = constants_from_text(text)
    asked = [column for column in wanted if column.id in texts]
    return {column.id: _constant(schema, column, texts[column.id]) for column in asked}


def constant_texts(schema: Schema, text: str | None, wanted: Sequence[Column]) -> list[str | None]:
    """Value texts of a segment's constants, one per wanted column; empty if none of these has one.

    A null, and a column without a constant, is None.

    Raises:
        CorruptTableError: as for ``wanted_constants``.
    """
    constants = wanted_constants(schema, text, wanted)
    values = (constants.get(column.id) for column in wanted) if constants else ()
    return [None if value is None else json.loads(value.json) for value in values]


def _constant(schema: Schema, wanted: Column, text: str | None) -> Constant | None:
    if text is None:
        return None
    written = None if wanted.id not in schema.ids else schema.column(wanted.id).type
    if written is None or not is_compared(written) or schema.ancestors(wanted.id):
        raise CorruptTableError(f"a constant is of the column {wanted.name}, which can't have one")
    if written == wanted.type:
        return constant_of(text)
    try:
        return widen(constant_of(text), written, wanted.type)
    except InvalidRequestError as error:
        raise CorruptTableError(f"the constant of the column {wanted.name}: {error}") from None


@dataclass(frozen=True)
class Narrowed:
    """One column of rows that is shown in an earlier, narrower type, or has such a field.

    Args:
        place: its place in the rows.
        wide, narrow: the column as it is stored, and in its shown type.
        shown: the narrow column without the fields that only a filter needs.
    """

    place: int
    wide: Column
    narrow: Column
    shown: Column


@dataclass(frozen=True)
class Narrowing:
    """The columns of rows that are shown in narrower types than they are stored in.

    Args:
        columns: these columns; those that only a filter needs are last.
        overflow: how a value that does not fit is shown.
        pinned: whether an earlier schema is read; else the columns were narrowed, so that every value
            fits.
        aged: if the time index is shown as null where it does not fit, the condition by which ``ttl``
            hides rows, and the filter without it: a row has its age by the stored value.
    """

    columns: tuple[Narrowed, ...]
    overflow: Overflow
    pinned: bool = True
    aged: tuple[BoundFilter, BoundFilter | None] | None = None

    def for_filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows for a filter, of the stored types: null where null will be shown."""
        match self.overflow:
            case Overflow.ERROR:
                return batch
            case Overflow.NULL:
                arrays = list(batch.columns)
                for column in self.columns:
                    arrays[column.place] = _converted(
                        arrays[column.place], column.wide, column.narrow, cast=False
                    )
                return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def show(self, batch: pa.RecordBatch, where: str) -> pa.RecordBatch:
        """The rows in the shown types, without the columns that only a filter needs.

        Args:
            where: the source of the rows, for the error.

        Raises:
            InvalidRequestError: a value does not fit, and ``overflow`` is ``error``.
            CorruptTableError: a value does not fit the type that its column was narrowed to.
        """
        shown = [column for column in self.columns if column.place < batch.num_columns]
        if not shown:
            return batch  # a batch without columns still has a number of rows
        arrays, fields = list(batch.columns), list(batch.schema)
        for column in shown:
            array = _converted(arrays[column.place], column.wide, column.narrow, cast=True)
            if self.overflow is Overflow.ERROR:
                lost = _lost(arrays[column.place], array, (column.wide,), (column.narrow,))
                if lost is not None:
                    raise self._misfit(*lost, where)
            array = cut_array(array, column.narrow, column.shown)
            arrays[column.place] = array
            fields[column.place] = pa.field(column.shown.name, array.type, column.shown.nullable)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _misfit(
        self, wide: Column, narrow: tuple[Column, ...], lost: int, where: str
    ) -> VersionedError:
        name = render_path(tuple(column.name for column in narrow))
        type_ = type_name(narrow[-1].type)
        if not self.pinned:
            return CorruptTableError(
                f"the column {name} was narrowed from {type_name(wide.type)} to {type_}, and {lost} "
                f"values in {where} do not fit, though the table refuses such values"
            )
        return InvalidRequestError(
            f"the column {name} is {type_name(wide.type)} "
            f"now, and {lost} values in {where} do not fit {type_}, its type in the "
            "schema that is read; read the current schema, or show nulls with the overflow 'null'",
            condition="INVALID_VALUE",
        )


def narrowing(
    wide: Sequence[Column],
    narrow: Sequence[Column],
    overflow: Overflow,
    *,
    shown: Sequence[Column] = (),
    pinned: bool = True,
) -> Narrowing | None:
    """The narrowing of wide to narrow columns of the same shape; None if all types are equal.

    Args:
        shown: the first of the narrow columns, without the fields that only a filter needs.
    """
    last = (*shown, *narrow[len(shown) :])
    columns = tuple(
        Narrowed(place, *stored)
        for place, stored in enumerate(zip(wide, narrow, last, strict=True))
        if stored[0].type != stored[2].type
    )
    return Narrowing(columns, overflow, pinned) if columns else None


def _converted(array: pa.Array, wide: Column, narrow: Column, *, cast: bool) -> pa.Array:
    """An array of the narrow type, or of the wide type; null where a value does not fit."""
    if wide.type == narrow.type:
        return array
    if not is_nested(wide.type):
        convert = narrow_array if cast else fitting
        return convert(array, wide.type, narrow.type)  # type: ignore[arg-type]
    type_ = to_arrow_type((narrow if cast else wide).type)
    inner = list(zip(children(wide.type), children(narrow.type), strict=True))

    def converted_parts(parts: list[pa.Array]) -> list[pa.Array]:
        converted = [
            _converted(part, *pair, cast=cast) for part, pair in zip(parts, inner, strict=True)
        ]
        if isinstance(wide.type, Map) and converted[0].null_count:
            raise InvalidRequestError(
                f"{converted[0].null_count} keys of the map {wide.name} do not fit "
                f"{type_name(inner[0][1].type)}, and no key can be null; read the current schema",
                condition="INVALID_VALUE",
            )
        return converted

    return rebuilt(array, type_, converted_parts)


def lost_values(array: pa.Array, wide: Column, narrow: Column) -> int:
    """How many values, at any depth, do not fit the narrower column of the same shape."""
    lost = _lost(array, _converted(array, wide, narrow, cast=True), (wide,), (narrow,))
    return 0 if lost is None else lost[2]


def _lost(
    before: pa.Array, after: pa.Array, wide: tuple[Column, ...], narrow: tuple[Column, ...]
) -> tuple[Column, tuple[Column, ...], int] | None:
    """A column whose values became null, as it is stored and by its path, and their number.

    ``wide`` and ``narrow`` lead from the top level to a column.
    """
    column, shown = wide[-1], narrow[-1]
    if column.type == shown.type:
        return None
    if is_nested(column.type):
        for inner in zip(children(column.type), children(shown.type), strict=True):
            below = _lost(before, after, (*wide, inner[0]), (*narrow, inner[1]))
            if below is not None:
                return below
        return None
    lost = own_nulls(after, narrow) - own_nulls(before, wide)
    return (column, narrow, lost) if lost else None


MetadataValues = Mapping[int, pa.Array]
"""The values of metadata columns and of constants of the segment, by column ID."""


class Adapter:
    """A segment plan, prepared to be applied to many batches."""

    def __init__(self, plan: projection.SegmentPlan) -> None:
        self._plan = plan
        self.schema = plan.shown

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
    output: projection.Output, arrays: list[pa.Array], rows: int, metadata: MetadataValues
) -> pa.Array:
    wanted = output.column
    match output.step:
        case projection.Take(index):
            return arrays[index]
        case projection.Cast(index, _):
            return arrays[index].cast(to_arrow_type(wanted.type))
        case projection.Rebuild(index, inner):
            return _rebuild(wanted, inner, arrays[index])
        case projection.Fill(constant):
            return constant_array(constant, wanted, rows)
        case projection.Metadata():
            return metadata[wanted.id]
        case projection.StoredOr(index):
            return pc.coalesce(arrays[index], metadata[wanted.id])


def _rebuild(wanted: Column, inner: tuple[projection.Output, ...], source: pa.Array) -> pa.Array:
    if not is_nested(wanted.type):
        raise CorruptTableError(f"{wanted.name} has no fields to rebuild")
    return rebuilt(
        source,
        to_arrow_type(wanted.type),
        lambda read: [_build(output, read, len(read[0]), {}) for output in inner],
    )


def constant_array(constant: Constant | None, column: Column, rows: int) -> pa.Array:
    """A column of ``rows`` rows that all hold one value."""
    if constant is None or not rows:  # Arrow can't repeat a list zero times
        return pa.nulls(rows, to_arrow_type(column.type))
    return pa.repeat(to_scalar(constant, column.type), rows)
