"""Rows of a file as rows of a table, for a copy: with its names, types and conversions on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.id_map import Held, IdMap
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    Decimal,
    Map,
    Struct,
    is_floating,
    is_text,
)
from versioned_catalog.model.widening import MOST_DIGITS, type_name, widens
from versioned_catalog.read import arrays
from versioned_catalog.read.foreign_values import Calendar, own_array
from versioned_catalog.storage.parquet import translate_errors
from versioned_interop.imports.file_schema import FileColumn, FileSchema, Kind, as_type
from versioned_interop.imports.mapping import by_name
from versioned_interop.imports.provided import Key, Names, key_of
from versioned_interop.imports.text_formats import STANDARD, TextStyle, parse_text

BATCH_ROWS = 65_536

_SHOWN = 80
"""The most characters of a value in an error."""


@dataclass(frozen=True)
class Target:
    """The columns and conversions for rows of files.

    Args:
        columns: of the table.
        names: aliases and left out columns.
        elsewhere: keys of the names of columns that are not read from files.
        formats: of dates and times in text, by the keys of their paths.
        style: how other values are written in text.
    """

    columns: tuple[Column, ...]
    names: Names
    elsewhere: frozenset[str] = frozenset()
    formats: Mapping[Key, str] = field(default_factory=dict)
    style: TextStyle = STANDARD

    def format(self, path: ColumnPath) -> str | None:
        """The format of a column of the table."""
        return self.formats.get(key_of(path)) if self.formats else None


@dataclass(frozen=True)
class Match:
    """A column of a file that is copied into a column of a table.

    Args:
        file: the column of the file.
        column: the same with an ID and our types, as ``own_array`` wants it.
        wanted: the column of the table.
    """

    file: FileColumn
    column: Column
    wanted: Column


@dataclass(frozen=True)
class Conforming:
    """The columns to copy from files with a schema.

    Args:
        matches: the columns.
        id_map: the ID map of the files.
        target: the columns of the table.
    """

    matches: tuple[Match, ...]
    id_map: IdMap
    target: Target

    @classmethod
    def of(cls, file: FileSchema, target: Target) -> Conforming:
        """Match the columns of files to those of a table."""
        columns_by_key = by_name(file, target.names, ())
        entries = dict[int, Held]()
        matches = []
        for wanted in target.columns:
            key = name_key(wanted.name)
            source = columns_by_key.get(key)
            if source is not None and key not in target.elsewhere and not wanted.hidden:
                column = _numbered(source, entries)
                if column is not None:
                    matches.append(Match(source, column, wanted))
        return cls(tuple(matches), IdMap(entries), target)

    @property
    def needed(self) -> tuple[Column, ...]:
        """The columns to read."""
        return tuple(match.column for match in self.matches)

    @property
    def elsewhere(self) -> tuple[Column, ...]:
        """The columns of the table that stand in paths."""
        return tuple(c for c in self.target.columns if name_key(c.name) in self.target.elsewhere)

    def batch(
        self, read: Sequence[pa.Array], rows: int, constants: Mapping[str, pa.Scalar]
    ) -> pa.RecordBatch:
        """The rows of some arrays, in the order of ``needed`` and of our types already.

        Args:
            constants: values of columns that stand in paths, by name.

        Raises:
            Misfit: a value does not fit its column.
            InvalidRequestError: the file has none of the columns.
        """
        columns = {
            match.wanted.name: self._conform(
                array, match.file, match.wanted, (match.wanted.name,), (match.file.name,)
            )
            for array, match in zip(read, self.matches, strict=True)
        }
        columns |= {name: pa.repeat(value, rows) for name, value in constants.items()}
        if not columns:
            raise InvalidRequestError("the file has none of the columns of the table")
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def needed_arrays(self, batch: Any) -> list[pa.Array]:
        """The needed columns of a batch that is no Parquet file, in our types."""
        arrays_in_file = (batch.column(match.file.name) for match in self.matches)
        forms = {entry.form for entry in self.id_map.columns.values()}
        calendar = Calendar(datetimes=Form.JULIAN in forms)
        return [
            own_array(array, match.column, self.id_map, calendar)
            for array, match in zip(arrays_in_file, self.matches, strict=True)
        ]

    def _conform(
        self,
        array: pa.Array,
        file: FileColumn,
        wanted: Column,
        path: ColumnPath,
        in_file: ColumnPath,
    ) -> pa.Array:
        """The values of a column of a file, whose path in the table is ``path``."""

        def inside(values: pa.Array, at: int, column: Column) -> pa.Array:
            part = file.fields[at]
            return self._conform(values, part, column, (*path, part.name), (*in_file, part.name))

        match file.kind, wanted.type:
            case Kind.STRUCT, Struct(fields):
                columns_by_key = by_name(file.fields, self.target.names, in_file)
                order = [stored.name for stored in array.type]
                inner = {}
                for part in fields:
                    source = columns_by_key.get(name_key(part.name))
                    if source is not None and source.name in order:
                        at = arrays.struct_child(array, order.index(source.name))
                        inner[part.name] = self._conform(
                            at, source, part, (*path, part.name), (*in_file, source.name)
                        )
                if not inner:
                    return pa.nulls(len(array), to_arrow_type(wanted.type))
                kind = pa.struct([pa.field(name, child.type) for name, child in inner.items()])
                return arrays.struct_of(array, list(inner.values()), kind)
            case Kind.ARRAY, Array(element):
                offsets, values, mask = arrays.list_values(array)
                with _in_rows(offsets):
                    elements = inside(values, 0, element)
                return arrays.list_of(offsets, elements, mask, pa.list_(elements.type))
            case Kind.MAP, Map(key, value):
                offsets, entries, mask = arrays.list_values(array)
                keys, items = (arrays.struct_child(entries, at) for at in (0, 1))
                with _in_rows(offsets):
                    first = inside(keys, 0, key)
                    second = inside(items, 1, value)
                kind = pa.map_(pa.field("key", first.type, nullable=False), second.type)
                return arrays.map_of(offsets, first, second, mask, kind)
            case Kind.VOID, _:
                return pa.nulls(len(array), to_arrow_type(wanted.type))
            case _:
                return self._leaf(array, file, wanted.type, path)

    def _leaf(
        self, array: pa.Array, file: FileColumn, wanted: DataType, path: ColumnPath
    ) -> pa.Array:
        read_type = as_type(file)
        if widens(read_type, wanted) or (is_text(read_type) and is_text(wanted)):
            return array
        format_ = self.target.format(path)

        def converted(values: pa.Array) -> pa.Array:
            return convert(values, read_type, wanted, format_, self.target.style)

        try:
            return converted(array)
        except (pa.ArrowException, ValueError):
            raise _misfit(array, converted, path, wanted) from None


class Misfit(Exception):
    """A value of a file that does not fit its column.

    Args:
        row: its place in the batch.
        problem: the column, the type, the value and the reason, with ``{}`` for the place in the file.
    """

    def __init__(
        self, row: int, path: ColumnPath, wanted: DataType, value: str, reason: str
    ) -> None:
        super().__init__(reason)
        self.row = row
        self._what = f"the column {render_path(path)} holds a value that is no {type_name(wanted)}"
        self._value, self._reason = value, reason

    def error(self, where: str) -> InvalidRequestError:
        """The error for users, with the place in the file."""
        return InvalidRequestError(
            f"{self._what}: {self._value} in {where}: {self._reason}", condition="INVALID_VALUE"
        )


@contextmanager
def _in_rows(offsets: pa.Array) -> Iterator[None]:
    """Translate the places of values in lists to those of the rows."""
    try:
        yield
    except Misfit as misfit:
        ends = offsets.to_numpy(zero_copy_only=False)
        misfit.row = int(np.searchsorted(ends, misfit.row, "right")) - 1
        raise


def _misfit(
    array: pa.Array,
    converted: Callable[[pa.Array], pa.Array],
    path: ColumnPath,
    wanted: DataType,
) -> Misfit:
    """The first value of an array that can't be converted."""
    first, end, reason = 0, len(array), ""
    while end - first > 1:
        middle = (first + end) // 2
        try:
            converted(array.slice(first, middle - first))
            first = middle
        except (pa.ArrowException, ValueError):
            end = middle
    try:
        converted(array.slice(first, 1))
    except (pa.ArrowException, ValueError) as error:
        reason = str(error)
    return Misfit(first, path, wanted, _shown(array[first]), reason)


def _shown(value: pa.Scalar) -> str:
    shown = repr(value.as_py()) if pa.types.is_string(value.type) else str(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def convert(
    array: pa.Array,
    source: DataType,
    wanted: DataType,
    format_: str | None,
    style: TextStyle = STANDARD,
) -> pa.Array:
    """Values of a leaf type as those of another; a value that does not fit is an error.

    A DECIMAL holds a floating-point number that is written with its digits: 0.13, but not 0.129, fits
    DECIMAL(10,2). A floating-point number is the nearest to a value in its range.

    Raises:
        ArrowException, ValueError: a value does not fit.
    """
    target = to_arrow_type(wanted)
    if is_text(source) and not is_text(wanted):
        return parse_text(array, wanted, format_, style)
    reread = {Atom.STRING: pa.binary(), Atom.BINARY: pa.string()}
    if source in reread and reread.get(source) == target:
        return array.cast(target)
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return array.view(pa.int64()).view(target)
    if pa.types.is_date(array.type) and pa.types.is_timestamp(target):
        return array.cast(pa.timestamp("us")).view(pa.int64()).view(target)
    if pa.types.is_timestamp(array.type) and pa.types.is_date(target):
        return _whole_days(array.view(pa.int64()).view(pa.timestamp("us")))
    if pa.types.is_integer(array.type) and isinstance(wanted, Decimal):
        # Arrow wants room for any integer; whether these fit is checked by the second cast.
        return array.cast(pa.decimal128(MOST_DIGITS, wanted.scale)).cast(target)
    if is_floating(source) and isinstance(wanted, Decimal):
        # Arrow rounds to the scale; the text has the fewest digits that tell the number from others.
        return array.cast(pa.string()).cast(target)
    if is_floating(wanted):
        return _in_float_range(array, array.cast(target))
    if pa.types.is_boolean(array.type) and is_text(wanted):
        return pc.if_else(array, "true", "false")
    return array.cast(target)


def _whole_days(local: pa.Array) -> pa.Array:
    days = local.cast(pa.date32())
    if pc.any(pc.not_equal(days.cast(local.type), local)).as_py():
        raise ValueError("it has a time of day, which a DATE does not hold")
    return days


def _in_float_range(array: pa.Array, converted: pa.Array) -> pa.Array:
    if pa.types.is_floating(array.type):
        lost = pc.and_(pc.is_inf(converted), pc.is_finite(array))
        if pc.any(lost).as_py():
            raise ValueError(f"it is out of the range of {converted.type}")
    return converted


def _numbered(column: FileColumn, entries: dict[int, Held]) -> Column | None:
    """A column of a file with IDs, whose forms go into ``entries``; None if it can't be read."""
    number = len(entries) + 1
    if column.kind is Kind.REFUSED:
        return None
    entries[number] = Held(form=Form.NULL if column.kind is Kind.VOID else column.form)
    inner = [_numbered(part, entries) for part in column.fields]
    readable = tuple(part for part in inner if part is not None)
    type_: DataType
    match column.kind:
        case Kind.ARRAY if len(readable) == 1:
            type_ = Array(readable[0])
        case Kind.MAP if len(readable) == 2:
            type_ = Map(replace(readable[0], nullable=False), readable[1])
        case Kind.STRUCT if readable:
            type_ = Struct(readable)
        case Kind.LEAF | Kind.VOID:
            type_ = as_type(column)
        case _:
            return None
    return Column(number, column.name, type_, physical_name=column.name)


def checked(batches: Iterator[pa.RecordBatch], name: str) -> Iterator[pa.RecordBatch]:
    """Name the file in errors about its values.

    Raises:
        InvalidRequestError: a value can't be read.
    """
    try:
        with translate_errors("it"):
            yield from batches
    except (CorruptTableError, InvalidRequestError) as error:
        raise InvalidRequestError(f"{name}: {error}", condition="INVALID_VALUE") from None


def conformed(
    conforming: Conforming,
    batches: Iterator[tuple[int, Sequence[pa.Array]]],
    constants: Mapping[str, pa.Scalar],
    where: Callable[[int], str],
) -> Iterator[pa.RecordBatch]:
    """The rows of batches, as numbers of rows and arrays, as rows of a table.

    Args:
        where: the place in the file of a row, for errors.

    Raises:
        InvalidRequestError: a value does not fit; the error names it and its place.
    """
    before = 0
    for rows, read in batches:
        try:
            yield conforming.batch(read, rows, constants)
        except Misfit as misfit:
            raise misfit.error(where(before + misfit.row)) from None
        before += rows
