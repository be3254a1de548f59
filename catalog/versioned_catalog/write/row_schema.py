"""Match written rows to a table's schema by name, and refuse what does not fit.

The result is a plan like that of a read, so that one adapter carries out both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.projection import resolver
from versioned_catalog.projection.adapter import Adapter
from versioned_catalog.projection.arrays import recast
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types.arrow import from_arrow_type, to_arrow_type
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import (
    Array,
    Atom,
    Column,
    Constant,
    DataType,
    Map,
    Now,
    Struct,
    children,
    is_opaque,
)
from versioned_catalog.values.literals import constant
from versioned_catalog.write.merge_schema import fits
from versioned_catalog.write.row_values import check_values, padded


@dataclass(frozen=True)
class _Field:
    """A written field."""

    name: str
    type: pa.DataType


class RowConverter:
    """Converts batches of one Arrow schema to batches of a table's schema, matching columns by name.

    Args:
        arrow: the schema of the written rows.
        now: the value of ``current_timestamp`` and ``current_date`` in this write.

    Raises:
        InvalidRequestError: a column is unknown, given twice, NOT NULL but missing and without a
            default, or of a type that does not widen to the table's.
    """

    def __init__(
        self, arrow: pa.Schema, schema: Schema, table: str, now: datetime | None = None
    ) -> None:
        self._table = table
        self._columns = schema.columns
        self._now = now or datetime.now(UTC)
        fields = [_Field(field.name, field.type) for field in arrow]
        outputs = self._outputs(fields, schema.columns, ())
        self._names = arrow.names
        self._casts = [_canonical(field.type) for field in arrow]
        self._adapter = Adapter(resolver.SegmentPlan(outputs, ()))

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch as the table stores it.

        Raises:
            InvalidRequestError: a value does not fit its column, or the batch has other columns than the
                first one.
        """
        if batch.schema.names != self._names:
            raise InvalidRequestError(
                f"{self._table}: the columns of all batches must be {', '.join(self._names)}, in this "
                f"order, got {', '.join(batch.schema.names)}"
            )
        try:
            arrays = [
                array if kind is None else recast(array, kind)
                for array, kind in zip(batch.columns, self._casts, strict=True)
            ]
            bound = self._adapter.adapt(arrays, batch.num_rows, {})
        except (pa.ArrowException, CorruptTableError) as error:
            raise InvalidRequestError(
                f"{self._table}: a value does not fit its column: {error}",
                condition="INVALID_VALUE",
            ) from None
        stored: list[pa.Array] = []
        for array, column in zip(bound.columns, self._columns, strict=True):
            check_values(array, column, (column.name,), self._table)
            stored.append(padded(array, column))
        return pa.RecordBatch.from_arrays(stored, schema=bound.schema)

    def _outputs(
        self, given: Sequence[_Field], columns: tuple[Column, ...], above: ColumnPath
    ) -> tuple[resolver.Output, ...]:
        positions = self._positions(given, columns, above)
        return tuple(
            resolver.Output(
                column, self._step(given, positions.get(name_key(column.name)), column, above)
            )
            for column in columns
        )

    def _positions(
        self, given: Sequence[_Field], columns: tuple[Column, ...], above: ColumnPath
    ) -> dict[str, int]:
        known = {name_key(column.name) for column in columns}
        positions: dict[str, int] = {}
        for at, field in enumerate(given):
            key = name_key(field.name)
            path = render_path((*above, field.name))
            if key in positions:
                raise InvalidRequestError(f"{self._table}: the column {path} is given twice")
            if key not in known:
                raise InvalidRequestError(
                    f"{self._table} has no column {path}; add it first with "
                    f"alter().add_column({path!r}, {_type_name(field.type)!r}).commit(), or write "
                    "with the option mergeSchema",
                    condition="COLUMN_NOT_FOUND",
                )
            positions[key] = at
        return positions

    def _step(
        self, given: Sequence[_Field], at: int | None, column: Column, above: ColumnPath
    ) -> resolver.Step:
        path = (*above, column.name)
        if at is None:
            return resolver.Fill(self._default(column, path))
        arrow = given[at].type
        if pa.types.is_null(arrow):
            return resolver.Cast(at, column.type)
        if is_opaque(column.type):
            return self._opaque_step(arrow, at, column, path)
        try:
            source = from_arrow_type(arrow)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{self._table}: {render_path(path)}: {error}") from None
        return self._typed_step(source, arrow, at, column, path)

    def _typed_step(
        self, source: DataType, arrow: pa.DataType, at: int, column: Column, path: ColumnPath
    ) -> resolver.Step:
        match source, column.type:
            case (Struct(), Struct()) | (Array(), Array()) | (Map(), Map()):
                inner = [_Field(c.name, to_arrow_type(c.type)) for c in children(source)]
                return resolver.Rebuild(at, self._outputs(inner, children(column.type), path))
            case _ if fits(source, column.type):
                same = arrow.equals(to_arrow_type(column.type))
                return resolver.Take(at) if same else resolver.Cast(at, source)
            case _:
                raise InvalidRequestError(
                    f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, "
                    f"and {render_type(source)} does not widen to it; cast the values, or widen the "
                    f"column with alter().change_type({render_path(path)!r}, ...)"
                )

    def _opaque_step(
        self, arrow: pa.DataType, at: int, column: Column, path: ColumnPath
    ) -> resolver.Step:
        wanted = to_arrow_type(column.type)
        if arrow.equals(wanted):
            return resolver.Take(at)
        raise InvalidRequestError(
            f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, which "
            f"needs Arrow's {wanted}, got {arrow}"
        )

    def _default(self, column: Column, path: ColumnPath) -> Constant | None:
        return default_value(column, path, self._table, self._now)


def default_value(column: Column, path: ColumnPath, table: str, now: datetime) -> Constant | None:
    """The value that a write at the time ``now`` stores in a column that it is not given; None is null.

    Raises:
        InvalidRequestError: the column is NOT NULL and has no default.
    """
    match column.write_default:
        case Now.TIMESTAMP:
            is_zoned = column.type is Atom.TIMESTAMP
            return constant(now if is_zoned else now.replace(tzinfo=None), column.type)
        case Now.DATE:
            return constant(now.date(), column.type)
        case Constant() as value:
            return value
        case None:
            if column.nullable:
                return None
    raise InvalidRequestError(
        f"{table}: the column {render_path(path)} is NOT NULL and has no default; write a "
        f"value, or set a default with alter().set_default({render_path(path)!r}, ...)",
        condition="NULL_VALUE",
    )


def _canonical(arrow: pa.DataType) -> pa.DataType | None:
    """The Arrow type to cast to first (from large lists, dictionaries, views); None for none."""
    if pa.types.is_null(arrow):
        return None
    try:
        return to_arrow_type(from_arrow_type(arrow))
    except InvalidRequestError:
        return None


def _type_name(arrow: pa.DataType) -> str:
    try:
        return render_type(from_arrow_type(arrow)).lower()
    except InvalidRequestError:
        return str(arrow)
