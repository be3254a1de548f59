"""Files of somebody else: checked against their records, and read by leaf (FORMAT.md, section 6.2)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.datafile.foreign_values import own_array
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.storage.external import open_file
from versioned_catalog.storage.footer import Footer
from versioned_catalog.storage.parquet import footer_of, open_parquet
from versioned_catalog.storage.store import Store
from versioned_catalog.types.forms import Form, SeenAs, seen_as
from versioned_catalog.types.types import (
    Array,
    Atom,
    Column,
    DayTimeInterval,
    Map,
    Struct,
    Time,
    is_opaque,
    is_text,
)


@dataclass(frozen=True)
class ForeignFile:
    """An open file of somebody else, whose schema may be anything.

    Args:
        parquet: the file as PyArrow opened it.
        what: its name in errors.
    """

    parquet: pq.ParquetFile
    what: str

    def read(
        self,
        group: int,
        needed: Sequence[Column],
        id_map: IdMap,
        batch_rows: int,
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """The needed columns of a row group in our types, with the number of rows of each batch.

        Raises:
            CorruptTableError: a value does not fit its type.
        """
        leaves = self.leaves(needed)
        how = {"row_groups": [group], "column_indices": leaves, "use_threads": False}
        for batch in self.parquet.reader.iter_batches(batch_rows, **how):
            found = (batch.column(column.physical_name) for column in needed)
            own = [own_array(a, c, id_map) for a, c in zip(found, needed, strict=True)]
            yield batch.num_rows, own

    def leaves(self, needed: Sequence[Column]) -> list[int]:
        """The indices of the leaves below some columns, in the order of the file.

        They are counted, not found by dotted paths: names may hold dots, and lists have many layouts.
        """
        schema = self.parquet.schema_arrow
        starts = _starts([field.type for field in schema])
        return sorted(
            leaf
            for column in needed
            for at in [self._field(schema, column)]
            for leaf in self._inside(schema.field(at).type, column, starts[at])
        )

    def check(self, needed: Sequence[Column], id_map: IdMap) -> None:
        """Check that the file still holds columns as its map says.

        Raises:
            CorruptTableError: it does not.
        """
        for column in needed:
            schema = self.parquet.schema_arrow
            at = self._field(schema, column)
            start = _starts([field.type for field in schema])[at]
            self._check(schema.field(at).type, column, id_map, start)

    def _check(self, held: pa.DataType, column: Column, id_map: IdMap, start: int) -> None:
        match column.type:
            case Struct(fields):
                starts = _starts([field.type for field in held]) if pa.types.is_struct(held) else []
                for field in fields:
                    at = self._field(held, field)
                    self._check(held.field(at).type, field, id_map, start + starts[at])
            case Array(element) if _is_list(held):
                self._check(held.value_type, element, id_map, start)
            case Map(key, value) if pa.types.is_map(held):
                self._check(held.key_type, key, id_map, start)
                self._check(held.item_type, value, id_map, start + _count(held.key_type))
            case _ if is_opaque(column.type) and pa.types.is_struct(held):
                pass
            case _:
                physical = self.parquet.metadata.schema.column(start).physical_type
                if not _holds(held, physical, column, id_map.columns[column.id].form):
                    raise self.changed(f"holds {held} in the column {column.physical_name}")

    def _field(self, parent: Any, column: Column) -> int:
        """The place of a column among the fields of a schema or struct."""
        names = parent.names if isinstance(parent, pa.Schema) else _names(parent)
        if names.count(column.physical_name) != 1:
            raise self.changed(
                f"has not exactly one column {column.physical_name} where the column {column.name} (ID "
                f"{column.id}) should be"
            )
        return int(names.index(column.physical_name))

    def _inside(self, held: Any, column: Column, start: int) -> list[int]:
        match column.type:
            case Struct(fields):
                starts = _starts([field.type for field in held])
                places = [self._field(held, field) for field in fields]
                return [
                    leaf
                    for field, at in zip(fields, places, strict=True)
                    for leaf in self._inside(held.field(at).type, field, start + starts[at])
                ]
            case Array(element) if _is_list(held):
                return self._inside(held.value_type, element, start)
            case Map(key, value) if pa.types.is_map(held):
                after = start + _count(held.key_type)
                keys = self._inside(held.key_type, key, start)
                return keys + self._inside(held.item_type, value, after)
            case _:
                return list(range(start, start + _count(held)))

    def changed(self, problem: str) -> CorruptTableError:
        """The error for a file that is not what its record says."""
        return changed_error(self.what, problem)


def changed_error(what: str, problem: str) -> CorruptTableError:
    """The error for a file of somebody else that is not what its record says."""
    return CorruptTableError(
        f"{what} {problem}, which was otherwise when it was imported: its owner has changed the file. "
        "Restore it, or remove it from the table (Table.remove_external) and import it again"
    )


def _names(held: pa.DataType) -> list[str]:
    return [field.name for field in held] if pa.types.is_struct(held) else []


def _is_list(held: pa.DataType) -> bool:
    t = pa.types
    kinds = (t.is_list, t.is_large_list, t.is_fixed_size_list, t.is_list_view, t.is_large_list_view)
    return any(is_kind(held) for is_kind in kinds)


def _starts(types: Sequence[pa.DataType]) -> list[int]:
    """The index of the first leaf of each of some siblings; that of the first sibling is 0."""
    found, at = [], 0
    for type_ in types:
        found.append(at)
        at += _count(type_)
    return found


def _count(held: Any) -> int:
    """How many leaves a Parquet column has, by the type that PyArrow gives it."""
    if isinstance(held, pa.BaseExtensionType):
        return _count(held.storage_type)
    if pa.types.is_struct(held):
        return sum(_count(field.type) for field in held)
    if pa.types.is_map(held):
        return _count(held.key_type) + _count(held.item_type)
    return _count(held.value_type) if _is_list(held) else 1


def _holds(held: pa.DataType, physical: str, column: Column, form: Form | None) -> bool:
    """Whether a leaf of a file is stored as a column's type and form say."""
    if form is Form.NULL or pa.types.is_null(held):
        return form is Form.NULL and pa.types.is_null(held)
    try:
        found = seen_as(held, physical)
    except InvalidRequestError:
        return False
    match form:
        case None:
            return found.form is None and _is_own(found, column)
        case Form.NANOS_CUT:
            return found.form is Form.NANOS
        case Form.LOCAL:
            return found.type is Atom.TIMESTAMP_NTZ
        case Form.TEXT:
            return found.form is None and found.type in (Atom.BINARY, Atom.STRING)
        case Form.UUID:
            return found.form is Form.UUID or held == pa.binary(16)
        case Form.FIXED:
            return found.form in (Form.FIXED, Form.UUID)
        case Form.INT96:
            return found.form is Form.INT96
        case _:
            same_time = isinstance(found.type, Time) and isinstance(column.type, Time)
            return found.form is form and (same_time or found.type == column.type)


def _is_own(found: SeenAs, column: Column) -> bool:
    if isinstance(column.type, DayTimeInterval):
        return found.type is Atom.LONG or isinstance(found.type, DayTimeInterval)
    if isinstance(column.type, Time):
        return isinstance(found.type, Time)
    if is_text(column.type):
        return found.type is Atom.STRING
    return found.type == column.type


@dataclass(frozen=True)
class OpenedFile:
    """A file of somebody else, opened before it is adopted.

    Args:
        parquet: the file; its Arrow schema and its Parquet schema are safe to ask for.
        footer: for ``statistics.foreign.foreign_stats``.
        bytes: the size of the file.
    """

    parquet: pq.ParquetFile
    footer: Footer
    bytes: int

    @property
    def rows(self) -> int:
        """The number of rows, which the row groups add up to."""
        return int(self.parquet.metadata.num_rows)


def open_foreign(store: Store, path: str) -> OpenedFile:
    """Open a file to adopt, by the path that its segment will have.

    Raises:
        CorruptTableError: it is missing, or no whole Parquet file.
        InvalidRequestError: the store's reader has no such root.
    """
    source, what = open_file(store, path), f"{store.url}/{path}"
    parquet = open_parquet(source, what, **how_to_open(source))
    return OpenedFile(parquet, footer_of(source, parquet), size_of(source))


def how_to_open(source: Any) -> dict[str, Any]:
    """The arguments of ``open_parquet`` for a file of somebody else."""
    # INT96 has more range and precision than Arrow's nanoseconds; Spark reads microseconds, too.
    return {
        "memory_map": isinstance(source, str),
        "pre_buffer": False,
        "coerce_int96_timestamp_unit": "us",
    }


def size_of(source: Any) -> int:
    """The size of a file from ``open_file``, in bytes."""
    if isinstance(source, str):
        return os.path.getsize(source)
    size = int(source.seek(0, os.SEEK_END))
    source.seek(0)
    return size
