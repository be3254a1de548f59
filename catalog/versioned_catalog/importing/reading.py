"""Files of each format: their schemas, and their rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.calendars import julian_leaves
from versioned_catalog.datafile.foreign_file import ForeignFile, open_foreign
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.importing import text_files
from versioned_catalog.importing.conforming import Conforming, Target, conformed
from versioned_catalog.importing.file_schema import (
    FileColumn,
    FileSchema,
    Kind,
    interning_key,
    schema_of,
    schema_of_arrow,
)
from versioned_catalog.importing.file_types import LeafRules
from versioned_catalog.importing.orc_calendar import is_julian
from versioned_catalog.importing.text_files import CsvOptions
from versioned_catalog.importing.text_types import TextTyper
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.schema.schema import name_key
from versioned_catalog.storage.external import open_file
from versioned_catalog.storage.store import Store
from versioned_catalog.types.forms import Form
from versioned_catalog.types.types import Array, Atom, DataType, Struct

_BATCH_ROWS = 65_536


class Reader(Protocol):
    """Reads files of one format."""

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        """The schemas of a file: several if its rows disagree.

        Raises:
            VersionedError: it can't be read; the message says why.
        """

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file, as rows of a table.

        Raises:
            VersionedError: it can't be read, or a value does not fit.
        """


@dataclass(frozen=True)
class ParquetReader:
    """Reads Parquet files; files with the same columns share one schema object."""

    rules: LeafRules
    known: dict[tuple[object, ...], FileSchema] = field(default_factory=dict, init=False)

    def schema(self, opened: Any) -> FileSchema:
        """The schema of an open file."""
        julian = julian_leaves(opened.parquet, opened.footer)
        key = (*interning_key(opened), tuple(julian.items()))
        if key not in self.known:
            self.known[key] = schema_of(opened, self.rules, julian)
        return self.known[key]

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [self.schema(open_foreign(store, path))]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        opened = open_foreign(store, path)
        conforming = Conforming.of(self.schema(opened), target)
        file, needed = ForeignFile(opened.parquet, path), conforming.needed
        groups = range(opened.parquet.num_row_groups)
        read = (file.read(group, needed, conforming.id_map, _BATCH_ROWS) for group in groups)
        yield from conformed(conforming, chain.from_iterable(read), constants, _row)


@dataclass(frozen=True)
class OrcReader:
    """Reads ORC files, a stripe at a time."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [self._open(store, path)[1]]

    def _open(self, store: Store, path: str) -> tuple[Any, FileSchema]:
        from pyarrow import orc

        source = open_file(store, path)
        try:
            file = orc.ORCFile(source)
        except (pa.ArrowException, OSError) as error:
            raise InvalidRequestError(f"it is not a whole ORC file: {error}") from None
        columns = schema_of_arrow(file.schema, self.rules)
        return file, _with_julian_dates(columns) if is_julian(source, file) else columns

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        file, columns = self._open(store, path)
        conforming = Conforming.of(columns, target)
        batches = map(file.read_stripe, range(file.nstripes))
        read = ((batch.num_rows, conforming.own(batch)) for batch in batches)
        yield from conformed(conforming, read, constants, _row)


def _row(row: int) -> str:
    return f"row {row + 1}"


def _with_julian_dates(columns: FileSchema) -> FileSchema:
    """The columns of a file whose dates are of the Julian calendar."""

    def marked(one: FileColumn) -> FileColumn:
        form = Form.JULIAN if one.type is Atom.DATE else one.form
        return replace(one, form=form, fields=_with_julian_dates(one.fields))

    return tuple(map(marked, columns))


@dataclass(frozen=True)
class CsvReader:
    """Reads CSV: all values are text, typed by a full pass."""

    options: CsvOptions

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [text_files.csv_schema(store, path, self.options)]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        def place(row: int) -> str:
            return text_files.csv_place(store, path, self.options, row)

        batches = text_files.csv_batches(store, path, self.options)
        yield from _text_rows(batches, target, constants, place)


@dataclass(frozen=True)
class JsonReader:
    """Reads lines of JSON; strings are text, whatever they look like."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        found: dict[FileSchema, None] = {}
        for rows in text_files.json_tables(store, path):
            columns = _with_numbers(schema_of_arrow(rows.table.schema, self.rules))
            if any(map(_has_long_numbers, rows.table.columns)):
                exact = rows.with_exact_numbers()
                arrays = map(one_array, exact.columns)
                columns = tuple(starmap(_without_long_numbers, zip(columns, arrays, strict=True)))
            found[columns] = None
        return list(found)

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        for rows in text_files.json_tables(store, path):
            file = Conforming.of(schema_of_arrow(rows.table.schema, self.rules), target)
            is_exact = not any(_loses_digits(one.file, one.wanted.type) for one in file.matches)
            table = rows.table if is_exact else rows.with_exact_numbers()
            yield from _text_rows(table.to_batches(_BATCH_ROWS), target, constants, rows.place)


def _with_numbers(columns: FileSchema) -> FileSchema:
    """The columns of JSON, where a whole number may be one of a column of others."""
    numbers = {Atom.LONG: (Atom.LONG, Atom.DOUBLE), Atom.DOUBLE: (Atom.DOUBLE,)}

    def widened(one: FileColumn) -> FileColumn:
        types: tuple[DataType, ...] = (
            numbers.get(one.type, ()) if isinstance(one.type, Atom) else ()
        )
        return replace(one, candidates=types, fields=_with_numbers(one.fields))

    return tuple(map(widened, columns))


_EXACT_DOUBLES = 1e15
"""Numbers below have up to 15 digits before the point, which a DOUBLE keeps."""


def _has_long_numbers(column: Any) -> bool:
    """Whether a column of JSON, or a part of one, may have numbers that a DOUBLE rounds."""
    values = one_array(column)
    held = values.type
    if pa.types.is_struct(held):
        return any(_has_long_numbers(values.field(at)) for at in range(held.num_fields))
    if pa.types.is_list(held):
        return _has_long_numbers(values.values)
    if not pa.types.is_floating(held):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(values), _EXACT_DOUBLES)).as_py())


def _without_long_numbers(one: FileColumn, exact: Any) -> FileColumn:
    """A column of JSON that is text if a DOUBLE would round some of its numbers, as in CSV."""
    match one.kind:
        case Kind.STRUCT:
            parts = zip(one.fields, range(exact.type.num_fields), strict=True)
            fields = tuple(_without_long_numbers(part, exact.field(at)) for part, at in parts)
            return replace(one, fields=fields)
        case Kind.ARRAY:
            return replace(one, fields=(_without_long_numbers(one.fields[0], exact.values),))
        case Kind.LEAF if one.type is Atom.DOUBLE:
            typer = TextTyper()
            typer.add(exact)
            if Atom.DOUBLE not in typer.types:
                return replace(one, type=Atom.STRING, candidates=(Atom.STRING,))
    return one


def _loses_digits(one: FileColumn, wanted: DataType) -> bool:
    """Whether numbers with a point become values of another type, for which a DOUBLE is no way round."""
    match one.kind, wanted:
        case Kind.STRUCT, Struct(fields):
            by_key = {name_key(field.name): field.type for field in fields}
            known = ((part, by_key.get(name_key(part.name))) for part in one.fields)
            # An alias may name a part: text is right for it, too.
            return any(type_ is None or _loses_digits(part, type_) for part, type_ in known)
        case Kind.ARRAY, Array(element):
            return _loses_digits(one.fields[0], element.type)
        case Kind.LEAF, _:
            return one.type is Atom.DOUBLE and wanted is not Atom.DOUBLE
    return False


def _text_rows(
    batches: Iterable[pa.RecordBatch],
    target: Target,
    constants: dict[str, pa.Scalar],
    place: Callable[[int], str],
) -> Iterator[pa.RecordBatch]:
    """The rows of batches with the same columns."""
    left = iter(batches)
    first = next(left, None)
    if first is not None:
        conforming = Conforming.of(schema_of_arrow(first.schema, LeafRules()), target)
        read = ((one.num_rows, conforming.own(one)) for one in chain([first], left))
        yield from conformed(conforming, read, constants, place)
