"""UPDATE: compute new values for columns, checked and converted as an append's are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.constants import to_constant
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import Column, Constant, Struct, is_repeated, walk
from versioned_catalog.model.user_values import fit
from versioned_catalog.read.apply_plan import constant_array
from versioned_catalog.read.arrays import struct_child, struct_of
from versioned_catalog.spelling import listed
from versioned_catalog.write.expressions import Evaluator, Expression
from versioned_catalog.write.row_schema import RowConverter


@dataclass(frozen=True)
class Fixed:
    """A constant; None is null."""

    constant: Constant | None


@dataclass(frozen=True)
class Computed:
    """An SQL or ``pyarrow.compute`` expression, by number."""

    number: int


@dataclass
class Inside:
    """Assignments to fields of a struct, by column ID; a null struct stays null."""

    fields: dict[int, Node] = field(default_factory=dict)


Node = Fixed | Computed | Inside


class RowUpdater(Protocol):
    """Computes the new values of rows of a schema."""

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...


class KeepsRowIds:
    """Updates rows that are followed by their IDs and versions, as ``WriteSpec.row_ids`` says."""

    def __init__(self, updater: RowUpdater) -> None:
        self._updater = updater

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows with their new values and the same IDs, written by the commit to come."""
        width = batch.num_columns - 2
        rows = self._updater.update(batch.select(range(width)))
        arrays = [*rows.columns, batch.column(width), pa.nulls(batch.num_rows, pa.int64())]
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


class Updater:
    """Applies assignments to rows: Python values, ``expr(...)`` or Arrow expressions by column path.

    Raises:
        NotFoundError: there is no such column.
        InvalidRequestError: a value does not fit its column, or a column is assigned to twice.
    """

    def __init__(self, assignments: Any, schema: Schema, table: str) -> None:
        if not isinstance(assignments, Mapping) or not assignments:
            raise InvalidRequestError(
                f"{table}: assignments must be a mapping of columns to values, such as {{'a': 1}}, "
                f"got {clip_repr(assignments)}"
            )
        self._schema = schema
        self._table = table
        self._expressions: list[Evaluator | pc.Expression] = []
        self._assigned = Inside()
        for path, value in assignments.items():
            self._add(parse_path(path), value)
        self._columns = [c for c in schema.columns if c.id in self._assigned.fields]
        arrow = to_arrow_schema(schema.columns)
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in arrow], schema=arrow)
        self._converter: RowConverter | None = None
        self.update(empty)  # refuse before anything is read or written

    @property
    def assigned(self) -> Inside:
        """The assignments by column ID."""
        return self._assigned

    @property
    def reads_any(self) -> bool:
        """Whether an expression reads values of the row."""
        return bool(self._expressions)

    def _add(self, path: ColumnPath, value: Any) -> None:
        column = find_column(self._schema, path, self._table)
        above = self._schema.ancestors(column.id)
        if is_repeated(above):
            raise InvalidRequestError(
                f"{self._table}: {render_path(path)} has many values in one row, since it is inside a "
                f"list or map; assign to the whole of {above[0].name}"
            )
        node = self._assigned
        for parent in above:
            inner = node.fields.setdefault(parent.id, Inside())
            if not isinstance(inner, Inside):
                raise self._twice(path)
            node = inner
        if column.id in node.fields:
            raise self._twice(path)
        node.fields[column.id] = self._value(column, path, value)

    def _twice(self, path: ColumnPath) -> InvalidRequestError:
        return InvalidRequestError(
            f"{self._table}: {render_path(path)} is assigned to twice, or so is a struct that it is in"
        )

    def _value(self, column: Column, path: ColumnPath, value: Any) -> Node:
        if isinstance(value, Expression):
            value = Evaluator(value, column, self._schema, self._table)
        if isinstance(value, Evaluator | pc.Expression):
            self._expressions.append(value)
            return Computed(len(self._expressions) - 1)
        try:
            constant = to_constant(fit(value, column.type))
        except ValueError as error:
            raise InvalidRequestError(
                f"{self._table}: {clip_repr(value)} does not fit the column {render_path(path)} of type "
                f"{render_type(column.type)}: {error}",
                condition="INVALID_VALUE",
            ) from None
        if constant is None and not column.nullable:
            raise InvalidRequestError(
                f"{self._table}: the column {render_path(path)} is NOT NULL; assign a value to it, or "
                f"alter().drop_not_null({render_path(path)!r})",
                condition="NULL_VALUE",
            )
        return Fixed(constant)

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows, with all columns of the table, with their new values.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        arrow = iter(self._compute(batch))
        computed = [
            expression.evaluate(batch) if isinstance(expression, Evaluator) else next(arrow)
            for expression in self._expressions
        ]
        arrays = dict(zip(self._schema.names, batch.columns, strict=True))
        values = [
            _assigned(arrays[c.name], c, self._assigned.fields[c.id], computed, batch.num_rows)
            for c in self._columns
        ]
        assigned = pa.RecordBatch.from_arrays(values, names=[c.name for c in self._columns])
        if self._converter is None:
            columns = tuple(self._columns)
            self._converter = RowConverter(assigned.schema, Schema(columns), self._table)
        bound = self._converter.convert(assigned)
        arrays |= dict(zip(bound.schema.names, bound.columns, strict=True))
        return pa.RecordBatch.from_arrays(list(arrays.values()), schema=batch.schema)

    def _compute(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Evaluate the ``pyarrow.compute`` expressions."""
        expressions = [e for e in self._expressions if not isinstance(e, Evaluator)]
        if not expressions:
            return []
        from pyarrow import acero  # imports pandas, where it is

        names = [str(number) for number in range(len(expressions))]
        source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
        project = acero.ProjectNodeOptions(expressions, names)
        plan = acero.Declaration.from_sequence(
            [acero.Declaration("table_source", source), acero.Declaration("project", project)]
        )
        try:
            table = plan.to_table(use_threads=False)
        except (pa.ArrowException, NotImplementedError) as error:
            reason = str(error).partition("\n")[0]
            raise InvalidRequestError(
                f"{self._table}: {', '.join(map(str, expressions))} cannot be computed: {reason}; "
                f"the columns are {', '.join(map(repr, self._schema.names))}"
            ) from None
        return [column.combine_chunks() for column in table.columns]


def _assigned(
    array: pa.Array, column: Column, node: Node, computed: list[pa.Array], rows: int
) -> pa.Array:
    """Return a column's values after the assignments to it and its fields."""
    match node:
        case Fixed(constant):
            return constant_array(constant, column, rows)
        case Computed(number):
            return computed[number]
        case Inside(fields):
            assert isinstance(column.type, Struct), "only structs have fields to assign to"
            values = [
                _assigned(inner, child, fields[child.id], computed, rows)
                if child.id in fields
                else inner
                for child, inner in _children(array, column.type)
            ]
            names = [child.name for child in column.type.fields]
            kinds = [pa.field(name, value.type) for name, value in zip(names, values, strict=True)]
            return struct_of(array, values, pa.struct(kinds))


def _children(array: pa.StructArray, type_: Struct) -> Iterable[tuple[Column, pa.Array]]:
    return ((child, struct_child(array, at)) for at, child in enumerate(type_.fields))


def find_column(schema: Schema, path: ColumnPath, table: str) -> Column:
    """Return the column at a path.

    Raises:
        NotFoundError: there is none; the message suggests similar names.
    """
    column = schema.find(path)
    if column is not None:
        return column
    wanted = render_path(path)
    paths = {schema.path_text(column.id): None for column, _ in walk(schema.columns)}
    by_key = {name.casefold(): name for name in paths}
    close = difflib.get_close_matches(wanted.casefold(), by_key, n=3)
    names = ", ".join(by_key[key] for key in close) or listed(wanted, paths)
    hint = "did you mean" if close else "the columns are"
    raise NotFoundError(
        f"{table} has no column {wanted}; {hint} {names}", condition="COLUMN_NOT_FOUND"
    )


def changed_where(batch: pa.RecordBatch, mask: pa.BooleanArray, updater: RowUpdater) -> pa.Table:
    """Update the rows that a mask selects, keeping the order."""
    passing, others = batch.filter(mask), batch.filter(pc.invert(mask))
    if not passing.num_rows:
        return pa.Table.from_batches([batch])
    changed = updater.update(passing)
    if not others.num_rows:
        return pa.Table.from_batches([changed])
    positions = [pc.indices_nonzero(pc.invert(mask)), pc.indices_nonzero(mask)]
    order = pc.sort_indices(pa.concat_arrays(positions))
    return pa.Table.from_batches([others, changed]).combine_chunks().take(order)
