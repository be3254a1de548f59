"""Files of each format: their schemas, and their rows in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from versioned_catalog.datafile.foreign_file import ForeignFile, open_foreign
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.importing import text_files
from versioned_catalog.importing.conforming import Conforming, Target
from versioned_catalog.importing.file_schema import (
    FileColumn,
    FileSchema,
    interning_key,
    schema_of,
    schema_of_arrow,
)
from versioned_catalog.importing.file_types import LeafRules
from versioned_catalog.importing.text_files import CsvOptions
from versioned_catalog.storage.external import open_file
from versioned_catalog.storage.store import Store
from versioned_catalog.types.types import Atom, DataType

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
    known: dict[tuple[str, str, bool], FileSchema] = field(default_factory=dict, init=False)

    def schema(self, opened: Any) -> FileSchema:
        """The schema of an open file."""
        key = interning_key(opened)
        if key not in self.known:
            self.known[key] = schema_of(opened, self.rules)
        return self.known[key]

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [self.schema(open_foreign(store, path))]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        opened = open_foreign(store, path)
        conforming = Conforming.of(self.schema(opened), target)
        file = ForeignFile(opened.parquet, path)
        for group in range(opened.parquet.num_row_groups):
            needed = conforming.needed
            for rows, own in file.read(group, needed, conforming.id_map, _BATCH_ROWS):
                yield conforming.batch(own, rows, constants)


@dataclass(frozen=True)
class OrcReader:
    """Reads ORC files, a stripe at a time."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [schema_of_arrow(_orc(store, path).schema, self.rules)]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        file = _orc(store, path)
        conforming = Conforming.of(schema_of_arrow(file.schema, self.rules), target)
        for stripe in range(file.nstripes):
            batch = file.read_stripe(stripe)
            yield conforming.batch(conforming.own(batch), batch.num_rows, constants)


def _orc(store: Store, path: str) -> Any:
    from pyarrow import orc

    try:
        return orc.ORCFile(open_file(store, path))
    except (pa.ArrowException, OSError) as error:
        raise InvalidRequestError(f"it is not a whole ORC file: {error}") from None


@dataclass(frozen=True)
class CsvReader:
    """Reads CSV: all values are text, typed by a full pass."""

    options: CsvOptions

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [text_files.csv_schema(store, path, self.options)]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        for batch in text_files.csv_batches(store, path, self.options):
            yield _text_rows(batch, target, constants)


@dataclass(frozen=True)
class JsonReader:
    """Reads lines of JSON; strings are text, whatever they look like."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        found: dict[FileSchema, None] = {}
        for table in text_files.json_tables(store, path):
            found[_with_numbers(schema_of_arrow(table.schema, self.rules))] = None
        return list(found)

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        for table in text_files.json_tables(store, path):
            for batch in table.to_batches(_BATCH_ROWS):
                yield _text_rows(batch, target, constants)


def _with_numbers(columns: FileSchema) -> FileSchema:
    """The columns of JSON, where a whole number may be one of a column of others."""
    numbers = {Atom.LONG: (Atom.LONG, Atom.DOUBLE), Atom.DOUBLE: (Atom.DOUBLE,)}

    def widened(one: FileColumn) -> FileColumn:
        types: tuple[DataType, ...] = (
            numbers.get(one.type, ()) if isinstance(one.type, Atom) else ()
        )
        return replace(one, candidates=types, fields=_with_numbers(one.fields))

    return tuple(map(widened, columns))


def _text_rows(
    batch: pa.RecordBatch, target: Target, constants: dict[str, pa.Scalar]
) -> pa.RecordBatch:
    conforming = Conforming.of(schema_of_arrow(batch.schema, LeafRules()), target)
    return conforming.batch(conforming.own(batch), batch.num_rows, constants)
