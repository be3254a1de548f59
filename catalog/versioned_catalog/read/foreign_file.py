"""External files: checked against their records, and read by leaf (FORMAT.md, section 6.2)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.parquet_forms import JULIAN, Form, SeenAs, seen_as
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DayTimeInterval,
    Map,
    Struct,
    is_nested,
    is_opaque,
    is_stored_alike,
    is_text,
)
from versioned_catalog.read.foreign_values import Calendar, calendar_of, own_array
from versioned_catalog.read.shredding import shredded_form
from versioned_catalog.storage.footer import Footer
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.parquet import footer_of, open_parquet
from versioned_catalog.storage.store import Store, shown_path


class Leaf(NamedTuple):
    """A leaf of a file: its place, the type that PyArrow gives the column, and that column."""

    place: int
    held: Any
    column: Column


@dataclass(frozen=True)
class ForeignFile:
    """An open external file, of any schema.

    Args:
        parquet: the file as PyArrow opened it.
        name: the file in errors.
    """

    parquet: pq.ParquetFile
    name: str

    def read(
        self,
        group: int,
        needed: Sequence[Column],
        id_map: IdMap,
        batch_rows: int,
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """The needed columns of a row group in the table's types, with the number of rows of each batch.

        Raises:
            CorruptTableError: a value does not fit its type.
        """
        leaves = sorted(leaf.place for leaf in self.leaves(needed))
        options = {"row_groups": [group], "column_indices": leaves, "use_threads": False}
        for batch in self.parquet.reader.iter_batches(batch_rows, **options):
            stored = (batch.column(column.physical_name) for column in needed)
            arrays = [
                own_array(a, c, id_map, self._calendar) for a, c in zip(stored, needed, strict=True)
            ]
            yield batch.num_rows, arrays

    @cached_property
    def _calendar(self) -> Calendar:
        return calendar_of(self.parquet)

    def check(self, needed: Sequence[Column], id_map: IdMap) -> None:
        """Check that the file still stores columns as its ID map records.

        Raises:
            CorruptTableError: a column differs.
        """
        schema = self.parquet.metadata.schema
        for leaf in self.leaves(needed):
            physical = schema.column(leaf.place).physical_type
            form = id_map.columns[leaf.column.id].form
            if form in JULIAN and not self._calendar.is_hybrid:
                raise self.changed(
                    f"is of another calendar in the column {leaf.column.physical_name}"
                )
            if not _holds(leaf.held, physical, leaf.column, form):
                raise self.changed(f"holds {leaf.held} in the column {leaf.column.physical_name}")

    def leaves(self, needed: Sequence[Column]) -> Iterator[Leaf]:
        """The leaves of the file below some columns, in the order of the columns.

        Leaves are counted, since dotted paths are ambiguous: names may hold dots, and list layouts vary.

        Raises:
            CorruptTableError: a column is not in the file.
        """
        fields = list(self.parquet.schema_arrow)
        if sum(leaf_count(field.type) for field in fields) != self.parquet.metadata.num_columns:
            raise self.changed("has columns that can't be told apart")
        return self._below(fields, needed, 0)

    def _below(
        self, fields: Sequence[pa.Field], columns: Sequence[Column], start: int
    ) -> Iterator[Leaf]:
        """The leaves below some of the fields of the file or of a struct, which begin at a leaf."""
        places: dict[str, tuple[int, pa.Field] | None] = {}
        for field in fields:
            places[field.name] = None if field.name in places else (start, field)
            start += leaf_count(field.type)
        for column in columns:
            place = places.get(column.physical_name)
            if place is None:
                raise self.changed(
                    f"has not exactly one column {column.physical_name} where the column {column.name} "
                    f"(ID {column.id}) should be"
                )
            yield from self._inside(place[1].type, column, place[0])

    def _inside(self, type_: Any, column: Column, start: int) -> Iterator[Leaf]:
        if isinstance(type_, pa.BaseExtensionType) and is_nested(column.type):
            type_ = type_.storage_type
        match column.type:
            case Struct(fields):
                yield from self._below(
                    list(type_) if pa.types.is_struct(type_) else [], fields, start
                )
            case Array(element) if is_list(type_):
                yield from self._inside(type_.value_type, element, start)
            case Map(key, value) if pa.types.is_map(type_):
                yield from self._inside(type_.key_type, key, start)
                yield from self._inside(type_.item_type, value, start + leaf_count(type_.key_type))
            case _:
                for index in range(start, start + leaf_count(type_)):
                    yield Leaf(index, type_, column)

    def changed(self, problem: str) -> CorruptTableError:
        """The error for a file that differs from its record."""
        return changed_error(self.name, problem)


def changed_error(name: str, problem: str) -> CorruptTableError:
    """The error for an external file that differs from its record."""
    return CorruptTableError(
        f"{name} {problem}, other than when it was imported: its owner has changed the file. Restore "
        "it, import it as it is now (again='changed'), or remove it (Table.remove_external)"
    )


def is_list(type_: pa.DataType) -> bool:
    """Whether PyArrow shows a column as a list of any kind."""
    t = pa.types
    kinds = (t.is_list, t.is_large_list, t.is_fixed_size_list, t.is_list_view, t.is_large_list_view)
    return any(is_kind(type_) for is_kind in kinds)


def leaf_count(type_: Any) -> int:
    """The number of leaves of a Parquet column, by its type in PyArrow."""
    if isinstance(type_, pa.BaseExtensionType):
        return leaf_count(type_.storage_type)
    if pa.types.is_struct(type_):
        return sum(leaf_count(field.type) for field in type_)
    if pa.types.is_map(type_):
        return leaf_count(type_.key_type) + leaf_count(type_.item_type)
    return leaf_count(type_.value_type) if is_list(type_) else 1


def _holds(type_: pa.DataType, physical: str, column: Column, form: Form | None) -> bool:
    """Whether a leaf of a file has the type and form of a column."""
    if column.type is Atom.VARIANT:
        return _is_variant(type_, form)
    if is_opaque(column.type):
        return bool(pa.types.is_struct(type_))
    if form is Form.NULL or pa.types.is_null(type_):
        return form is Form.NULL and pa.types.is_null(type_)
    try:
        seen = seen_as(type_, physical)
    except InvalidRequestError:
        return False
    match form:
        case None:
            return seen.form is None and _is_native(seen, column)
        case Form.NANOS_CUT:
            return seen.form is Form.NANOS
        case Form.LOCAL:
            return seen.type is Atom.TIMESTAMP_NTZ
        case Form.TEXT:
            return seen.form is None and seen.type in (Atom.BINARY, Atom.STRING)
        case Form.UUID:
            return seen.form is Form.UUID or type_ == pa.binary(16)
        case Form.FIXED:
            return seen.form in (Form.FIXED, Form.UUID)
        case Form.INT96 | Form.JULIAN_INT96:
            return seen.form is Form.INT96
        case Form.JULIAN:
            return seen.form is None and seen.type == column.type
        case Form.JULIAN_MILLIS:
            return seen.form is Form.MILLIS
        case _:
            return seen.form is form and is_stored_alike(seen.type, column.type)


def _is_variant(type_: pa.DataType, form: Form | None) -> bool:
    """Whether a group is a VARIANT of a form."""
    try:
        return shredded_form(type_) is form
    except InvalidRequestError:
        return False


def _is_native(seen: SeenAs, column: Column) -> bool:
    if isinstance(column.type, DayTimeInterval) and seen.type is Atom.LONG:
        return True
    if is_text(column.type):
        return seen.type is Atom.STRING
    return is_stored_alike(seen.type, column.type)


@dataclass(frozen=True)
class OpenedFile:
    """An external file, opened before it is adopted.

    Args:
        parquet: the file; its Arrow schema and its Parquet schema are safe to ask for.
        footer: for ``log.foreign_statistics.foreign_stats``.
        bytes: the size of the file.
    """

    parquet: pq.ParquetFile
    footer: Footer
    bytes: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.parquet.metadata.num_rows)

    @property
    def odd_codec(self) -> str | None:
        """The codec of its pages, if Spark lacks it or reads it differently.

        Files with the deprecated LZ4 may or may not use the frames of Hadoop.
        """
        odd = self.footer.codecs() & {"brotli", "lz4"}
        return min(odd, default=None)


def open_foreign(store: Store, path: str) -> OpenedFile:
    """Open a file to adopt, by the path that its segment will have.

    Raises:
        CorruptTableError: it is missing, or not a whole Parquet file.
        InvalidRequestError: the store's reader has no such root.
    """
    source, url = open_file(store, path), shown_path(store, path)
    parquet = open_parquet(source, url, **open_options(source))
    return OpenedFile(parquet, footer_of(source, parquet), size_of(source))


def open_options(source: Any) -> dict[str, Any]:
    """The arguments of ``open_parquet`` for an external file."""
    # INT96 has more range and precision than Arrow's nanoseconds; Spark reads microseconds, too.
    return {
        "memory_map": isinstance(source, str),
        "pre_buffer": False,
        "page_checksum_verification": True,
        "coerce_int96_timestamp_unit": "us",
    }


def size_of(source: Any) -> int:
    """The size of a file from ``open_file``, in bytes."""
    if isinstance(source, str):
        return os.path.getsize(source)
    size = int(source.seek(0, os.SEEK_END))
    source.seek(0)
    return size
