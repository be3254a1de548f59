"""Fitting what is written to the table's schema: by name, and refused where it does not fit.

The result is a plan like that of a read (``reading.planning``), so that one loop obeys both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.evolution.changes import AddColumn, ChangeType
from versioned_catalog.projection.adapter import Adapter
from versioned_catalog.projection.arrays import (
    list_of,
    list_values,
    map_of,
    recast,
    struct_child,
    struct_of,
)
from versioned_catalog.projection.resolver import (
    Cast,
    Fill,
    Output,
    Rebuild,
    SegmentPlan,
    Step,
    Take,
)
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types.arrow import from_arrow_type, to_arrow_type
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    Column,
    Constant,
    DataType,
    DayTimeInterval,
    Map,
    Now,
    Struct,
    Time,
    Varchar,
    children,
    is_nested,
    is_opaque,
    is_text,
    walk,
)
from versioned_catalog.types.widening import widens
from versioned_catalog.values.literals import constant


class Binder:
    """Turns batches of one Arrow schema into batches of a table's schema.

    Args:
        arrow: what is written.
        schema: what the table is.
        table: the table, for errors.
        now: what ``current_timestamp`` and ``current_date`` are in this write.

    Raises:
        InvalidRequestError: a column is unknown, missing without a default though NOT NULL, there
            twice, or of a type that does not widen to the table's.
    """

    def __init__(
        self, arrow: pa.Schema, schema: Schema, table: str, now: datetime | None = None
    ) -> None:
        self._table = table
        self._columns = schema.columns
        self._now = now or datetime.now(UTC)
        fields = [_Given(field.name, field.type) for field in arrow]
        outputs = self._outputs(fields, schema.columns, ())
        self._given = [_canonical(field.type) for field in arrow]
        self._adapter = Adapter(SegmentPlan(outputs, (), ()))

    def bind(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as the table stores it.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        try:
            arrays = [
                array if kind is None else recast(array, kind)
                for array, kind in zip(batch.columns, self._given, strict=True)
            ]
            bound = self._adapter.adapt(arrays, batch.num_rows, {})
        except (pa.ArrowException, CorruptTableError) as error:
            raise InvalidRequestError(
                f"{self._table}: a value does not fit its column: {error}",
                condition="INVALID_VALUE",
            ) from None
        made: list[pa.Array] = []
        for array, column in zip(bound.columns, self._columns, strict=True):
            self._check(array, column, (column.name,))
            made.append(_padded(array, column))
        return pa.RecordBatch.from_arrays(made, schema=bound.schema)

    def _outputs(
        self, given: Sequence[_Given], columns: tuple[Column, ...], above: ColumnPath
    ) -> tuple[Output, ...]:
        places = self._places(given, columns, above)
        return tuple(
            Output(column, self._step(given, places.get(name_key(column.name)), column, above))
            for column in columns
        )

    def _places(
        self, given: Sequence[_Given], columns: tuple[Column, ...], above: ColumnPath
    ) -> dict[str, int]:
        known = {name_key(column.name) for column in columns}
        places: dict[str, int] = {}
        for at, field in enumerate(given):
            key = name_key(field.name)
            path = render_path((*above, field.name))
            if key in places:
                raise InvalidRequestError(f"{self._table}: the column {path} is given twice")
            if key not in known:
                raise InvalidRequestError(
                    f"{self._table} has no column {path}; add it first with "
                    f"alter().add_column({path!r}, {_type_name(field.type)!r}).commit(), or write "
                    "with the option mergeSchema",
                    condition="COLUMN_NOT_FOUND",
                )
            places[key] = at
        return places

    def _step(
        self, given: Sequence[_Given], at: int | None, column: Column, above: ColumnPath
    ) -> Step:
        path = (*above, column.name)
        if at is None:
            return Fill(self._default(column, path))
        arrow = given[at].type
        if pa.types.is_null(arrow):
            return Cast(at, column.type)
        if is_opaque(column.type):
            return self._opaque_step(arrow, at, column, path)
        try:
            source = from_arrow_type(arrow)
        except InvalidRequestError as error:
            raise InvalidRequestError(f"{self._table}: {render_path(path)}: {error}") from None
        return self._typed_step(source, arrow, at, column, path)

    def _typed_step(
        self, source: DataType, arrow: pa.DataType, at: int, column: Column, path: ColumnPath
    ) -> Step:
        match source, column.type:
            case (Struct(), Struct()) | (Array(), Array()) | (Map(), Map()):
                inner = [_Given(c.name, to_arrow_type(c.type)) for c in children(source)]
                return Rebuild(at, self._outputs(inner, children(column.type), path))
            case _ if fits(source, column.type):
                same = arrow.equals(to_arrow_type(column.type))
                return Take(at) if same else Cast(at, source)
            case _:
                raise InvalidRequestError(
                    f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, "
                    f"and {render_type(source)} does not widen to it; cast the values, or widen the "
                    f"column with alter().change_type({render_path(path)!r}, ...)"
                )

    def _opaque_step(self, arrow: pa.DataType, at: int, column: Column, path: ColumnPath) -> Step:
        wanted = to_arrow_type(column.type)
        if arrow.equals(wanted):
            return Take(at)
        raise InvalidRequestError(
            f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, which is "
            f"written as Arrow's {wanted}, and not {arrow}"
        )

    def _default(self, column: Column, path: ColumnPath) -> Constant | None:
        match column.write_default:
            case Now.TIMESTAMP:
                zone = (
                    self._now if column.type is Atom.TIMESTAMP else self._now.replace(tzinfo=None)
                )
                return constant(zone, column.type)
            case Now.DATE:
                return constant(self._now.date(), column.type)
            case Constant() as value:
                return value
            case None:
                if column.nullable:
                    return None
        raise InvalidRequestError(
            f"{self._table}: the column {render_path(path)} is NOT NULL and has no default; write a "
            f"value, or give it one with alter().set_default({render_path(path)!r}, ...)",
            condition="NULL_VALUE",
        )

    def _check(self, array: pa.Array, column: Column, path: ColumnPath) -> None:
        """Refuse values that break a promise of their column or of one inside it."""
        if not column.nullable and array.null_count:
            raise InvalidRequestError(
                f"{self._table}: the column {render_path(path)} is NOT NULL and {array.null_count} "
                "of the rows hold null there",
                condition="NULL_VALUE",
            )
        match column.type:
            case Varchar(length) | Char(length):
                self._check_length(array, length, column, path)
            case Struct(fields):
                present = array.filter(array.is_valid()) if array.null_count else array
                for at, child in enumerate(fields):
                    self._check_child(struct_child(present, at), child, path)
            case Array(element):
                _, values, _ = list_values(array)
                self._check_child(values, element, path)
            case Map(key, value):
                _, entries, _ = list_values(array)
                self._check_child(struct_child(entries, 0), key, path)
                self._check_child(struct_child(entries, 1), value, path)
            case _:
                return

    def _check_child(self, array: pa.Array, column: Column, above: ColumnPath) -> None:
        self._check(array, column, (*above, column.name))

    def _check_length(self, array: pa.Array, length: int, column: Column, path: ColumnPath) -> None:
        longest = pc.max(pc.utf8_length(array)).as_py()
        if longest is not None and longest > length:
            raise InvalidRequestError(
                f"{self._table}: the column {render_path(path)} is {render_type(column.type)}, and a "
                f"value has {longest} characters; widen the column with "
                f"alter().change_type({render_path(path)!r}, 'varchar({longest})')",
                condition="VALUE_TOO_LONG",
            )


def _padded(array: pa.Array, column: Column) -> pa.Array:
    """The values with every CHAR in them as long as its type says."""
    if not any(isinstance(inner.type, Char) for inner, _ in walk((column,))):
        return array
    type_ = to_arrow_type(column.type)
    match column.type:
        case Struct(fields):
            made = [_padded(struct_child(array, at), f) for at, f in enumerate(fields)]
            return struct_of(array, made, type_)
        case Array(element):
            offsets, values, mask = list_values(array)
            return list_of(offsets, _padded(values, element), mask, type_)
        case Map(key, value):
            offsets, entries, mask = list_values(array)
            keys, values = _padded(struct_child(entries, 0), key), struct_child(entries, 1)
            return map_of(offsets, keys, _padded(values, value), mask, type_)
        case Char(length):
            return pc.utf8_rpad(array, length, " ")
        case _:
            return array


class _Given:
    """A field that is written: its name and Arrow type."""

    def __init__(self, name: str, type_: pa.DataType) -> None:
        self.name = name
        self.type = type_


def fits(source: DataType, target: DataType) -> bool:
    """Whether values of a type may be written to a column: what widens, and lengths checked later."""
    if is_text(source) and is_text(target):
        return True
    match source, target:
        case (DayTimeInterval(), DayTimeInterval()) | (Time(), Time()):
            return True
        case _:
            return widens(source, target)


def _canonical(arrow: pa.DataType) -> pa.DataType | None:
    """The Arrow type in which we take values of a type (no large lists, dictionaries, views)."""
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


def merging_changes(arrow: pa.Schema, schema: Schema) -> list[AddColumn | ChangeType]:
    """The changes by which a table takes in rows of another schema.

    Returns:
        Columns and nested fields that the table does not have, parents before their children's
        siblings; and wider types of those that it has. A type that is neither wider nor fits is left
        for the write to refuse.
    """
    fields = [Column(0, f.name, _type_or_void(f), nullable=True) for f in arrow]
    return list(_merging(tuple(fields), schema.columns, ()))


def _type_or_void(field: pa.Field) -> DataType:
    if pa.types.is_null(field.type):
        return Atom.STRING
    try:
        return from_arrow_type(field.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None


def _merging(
    given: tuple[Column, ...], columns: tuple[Column, ...], above: ColumnPath
) -> Iterator[AddColumn | ChangeType]:
    by_name = {name_key(column.name): column for column in columns}
    for field in given:
        column = by_name.get(name_key(field.name))
        if column is None:
            yield AddColumn((*above, field.name), field.type, nullable=True)
        elif is_nested(column.type) and type(column.type) is type(field.type):
            yield from _merging(children(field.type), children(column.type), (*above, column.name))
        elif not fits(field.type, column.type) and widens(column.type, field.type):
            yield ChangeType((*above, column.name), field.type)
