"""Writes of a user who does not see all stored columns, or sees them in an earlier schema.

Rows are converted to the schema that the user sees, and from there by column ID to the stored one, the
reverse of a read. Columns that are not seen take their write default in new rows, and keep
their values in changed rows.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.arrow import to_arrow_schema, to_arrow_type
from versioned_catalog.model.generated import Generated
from versioned_catalog.model.pins import Overflow, Seen
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.model.types import Column, Struct, children, with_children
from versioned_catalog.read.apply_plan import Adapter, narrowing
from versioned_catalog.read.arrays import cut_array, struct_child, struct_of
from versioned_catalog.read.computed import Generator, computed_columns
from versioned_catalog.read.projection import physical, plan_columns
from versioned_catalog.write.row_schema import RowConverter, check_values, default_value
from versioned_catalog.write.update import Inside, Node, RowUpdater, Updater


class Converter(Protocol):
    """Converts input rows to rows of the stored schema."""

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...


def converter_of(
    arrow: pa.Schema,
    seen: Seen,
    table: str,
    now: datetime,
    generated: Sequence[Generated] = (),
) -> Converter:
    """Return the converter of rows with the column names that the user sees; see ``RowConverter``.

    Args:
        generated: the columns that are computed, unless the rows have them.

    Raises:
        InvalidRequestError: rows of this schema do not fit the table.
    """
    if not generated:
        return _stored_converter(arrow, seen, table, now)
    names = {name_key(name) for name in arrow.names}
    columns = computed_columns(generated, seen.stored)
    targets = {computed.column.id for computed in columns}
    given = {c.id for c in seen.schema.columns if c.id in targets and name_key(c.name) in names}
    loose = Seen(_nullable(seen.schema, targets - given), _nullable(seen.stored, targets - given))
    rows = _stored_converter(arrow, loose, table, now)
    return GeneratingConverter(rows, Generator(columns, given, table), seen.stored, table)


def _nullable(schema: Schema, ids: Container[int]) -> Schema:
    """A schema in which rows may lack some columns, which are computed later."""
    columns = tuple(replace(c, nullable=True) if c.id in ids else c for c in schema.columns)
    return bare(schema, columns)


class GeneratingConverter:
    """Computes the generated columns of rows that another converter returns."""

    def __init__(self, rows: Converter, generator: Generator, stored: Schema, table: str) -> None:
        self._rows = rows
        self._generator = generator
        self._stored = stored
        self._table = table

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of the stored schema.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        rows = self._generator.fill(self._rows.convert(batch))
        for array, column in zip(rows.columns, self._stored.columns, strict=True):
            check_values(array, column, (column.name,), self._table)
        # Columns were nullable until they were computed.
        return pa.RecordBatch.from_arrays(
            rows.columns, schema=to_arrow_schema(self._stored.columns)
        )


def _stored_converter(arrow: pa.Schema, seen: Seen, table: str, now: datetime) -> Converter:
    rows = RowConverter(arrow, seen.schema, table, now)
    if seen.is_whole:
        return rows
    # A column that the rows lack takes the default of the stored column, whose type may be wider.
    names = {name_key(name) for name in arrow.names}
    written = Seen(
        bare(seen.schema, (c for c in seen.schema.columns if name_key(c.name) in names)),
        seen.stored,
    )
    return _SeenRows(RowConverter(arrow, written.schema, table, now), Filler(written, table, now))


def bare(schema: Schema, columns: Iterable[Column]) -> Schema:
    """Some columns of a schema, without its arrangement."""
    return Schema(tuple(columns), schema.version)


class _SeenRows:
    def __init__(self, rows: RowConverter, filler: Filler) -> None:
        self._rows = rows
        self._filler = filler

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self._filler.fill(self._rows.convert(batch))


class _ById:
    """Converts rows of some columns to rows of others, by column ID."""

    def __init__(self, source: Sequence[Column], wanted: Sequence[Column]) -> None:
        plan = plan_columns(source, wanted)
        places = {column.id: at for at, column in enumerate(source)}
        self._needed = [(places[c.id], source[places[c.id]], c) for c in plan.needed]
        self._adapter = Adapter(plan)

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        # A plan is made for segments, whose nested fields have physical names.
        arrays = [
            cut_array(batch.column(at), column, physical(cut)) for at, column, cut in self._needed
        ]
        return self._adapter.adapt(arrays, batch.num_rows, {})


class Filler:
    """Converts rows of the seen schema to rows of the stored one.

    Columns are matched by ID; those that are not seen take their write default.

    Raises:
        InvalidRequestError: a column that is not seen is NOT NULL without a default, or a rollback
            or a narrowing made a column narrower than it is seen.
    """

    def __init__(self, seen: Seen, table: str, now: datetime) -> None:
        self._table = table
        self._stored = seen.stored
        seen_ids = seen.schema.ids

        def filled(column: Column, above: ColumnPath) -> Column:
            path = (*above, column.name)
            if column.id not in seen_ids:
                return replace(column, read_default=default_value(column, path, table, now))
            inner = tuple(filled(child, path) for child in children(column.type))
            return replace(column, type=with_children(column.type, inner))

        self.columns = tuple(filled(column, ()) for column in seen.stored.columns)
        try:
            self._by_id = _ById(seen.schema.columns, self.columns)
        except CorruptTableError as error:
            raise InvalidRequestError(
                f"{table} can't be written in an earlier schema, since a rollback or a narrowing made "
                f"a column narrower than that schema has it: {error}; write in the current schema"
            ) from None

    def fill(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the stored schema.

        Raises:
            InvalidRequestError: a value is null, and its column is NOT NULL now.
        """
        stored = self._by_id.convert(batch)
        for array, column in zip(stored.columns, self._stored.columns, strict=True):
            check_values(array, column, (column.name,), self._table)
        return stored


def updater_of(
    assignments: Any, seen: Seen, table: str, now: datetime, generated: Sequence[Generated] = ()
) -> RowUpdater:
    """Return the updater of stored rows, for assignments by seen names; see ``Updater``.

    Args:
        generated: the columns that are computed again, unless they are assigned to.
    """
    updater = Updater(assignments, seen.schema, table)
    rows = updater if seen.is_whole else _SeenUpdater(updater, seen, table, now)
    if not generated:
        return rows
    columns = computed_columns(generated, seen.stored)
    generator = Generator(columns, updater.assigned.fields, table)
    return _GeneratingUpdater(rows, GeneratingConverter(_Same(), generator, seen.stored, table))


class _Same:
    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


class _GeneratingUpdater:
    def __init__(self, rows: RowUpdater, generating: GeneratingConverter) -> None:
        self._rows = rows
        self._generating = generating

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self._generating.convert(self._rows.update(batch))


class _SeenUpdater:
    """Updates stored rows by assignments to seen columns; other columns keep their values."""

    def __init__(self, updater: Updater, seen: Seen, table: str, now: datetime) -> None:
        self._updater = updater
        self._seen = seen
        self._table = table
        wide = seen.wide.columns
        self._by_id = _ById(seen.stored.columns, wide)
        # Values that no expression reads are kept as they are stored, whether they fit or not.
        overflow = Overflow.ERROR if updater.reads_any else Overflow.NULL
        self._narrowing = narrowing(wide, seen.schema.columns, overflow)
        self._fields = updater.assigned.fields
        self._filler = Filler(_assigned_only(seen, self._fields), table, now)
        self._changed = [at for at, c in enumerate(seen.schema.columns) if c.id in self._fields]

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return stored rows with their new values.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        shown = self._by_id.convert(batch)
        if self._narrowing is not None:
            shown = self._narrowing.show(shown, "a row to update")
        changed = self._updater.update(shown)
        new = self._filler.fill(changed.select(self._changed))
        by_id = dict(zip((c.id for c in self._filler.columns), new.columns, strict=True))
        arrays = [
            _kept(array, by_id[column.id], column, self._seen, self._fields[column.id])
            if column.id in by_id
            else array
            for array, column in zip(batch.columns, self._seen.stored.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(self._seen.stored.columns))


def _assigned_only(seen: Seen, assigned: Container[int]) -> Seen:
    """The assigned columns, as they are seen and as they are stored."""

    def only(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(column for column in columns if column.id in assigned)

    return Seen(
        bare(seen.schema, only(seen.schema.columns)), bare(seen.stored, only(seen.stored.columns))
    )


def _kept(old: pa.Array, new: pa.Array, column: Column, seen: Seen, node: Node) -> pa.Array:
    """New values of a stored column; fields that are not assigned or not seen keep their values."""
    if not isinstance(column.type, Struct):
        return new
    parts: list[pa.Array] = []
    for at, field in enumerate(column.type.fields):
        before, after = struct_child(old, at), struct_child(new, at)
        inner = node.fields.get(field.id) if isinstance(node, Inside) else node
        if inner is None:
            parts.append(before)  # a null struct stays null, so nothing is lost
        elif field.id in seen.schema.ids:
            parts.append(_kept(before, after, field, seen, inner))
        else:
            # Where the struct was null, there is no old value to keep.
            parts.append(_choose(old.is_valid(), before, after))
    return struct_of(new, parts, to_arrow_type(column.type))


def _choose(condition: pa.BooleanArray, yes: pa.Array, no: pa.Array) -> pa.Array:
    """``if_else`` for arrays of any type; Arrow's does not support all nested ones."""
    rows = len(condition)
    both = pa.concat_arrays([yes, no])
    at = pc.add(pc.cumulative_sum(pa.repeat(pa.scalar(1), rows)), pa.scalar(-1))
    return both.take(pc.if_else(condition, at, pc.add(at, pa.scalar(rows))))
