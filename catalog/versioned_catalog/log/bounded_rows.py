"""Reading the rows of a checkpoint in memory that is a multiple of its file."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import EXPANSION, MIB
from versioned_catalog.storage.footer_check import page_bytes
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet, translate_errors

_CELL_BYTES = 8
_BYTES_OF_A_ROW = 4
"""A segment takes more than this in a checkpoint: its path is made of random digits."""


def read_bounded(data: bytes, what: str) -> pa.Table:
    """The rows of a small file, with its metadata.

    Texts are read as dictionaries, of which one long value can stand for very many rows, and are
    spelled out when it is known how long they are.

    Args:
        data: the file's content.
        what: the file, for errors.

    Raises:
        CorruptTableError: it is damaged, or its rows would be very many times larger than it is.
    """
    file = _opened(data, what)
    with translate_errors(what, "is not a whole Parquet file"):
        return _read(file.read(use_threads=False), most_texts(len(data)), what)


def read_groups(data: bytes, what: str) -> Iterator[pa.Table]:
    """The same, row group by row group.

    Raises:
        CorruptTableError: as for ``read_bounded``, for all row groups together.
    """
    file, left = _opened(data, what), most_texts(len(data))
    for group in range(file.num_row_groups):
        with translate_errors(what, "is not a whole Parquet file"):
            table = _read(file.read_row_group(group, use_threads=False), left, what)
            left -= table.nbytes
        yield table


def most_texts(size: int) -> int:
    """How many bytes of pages, cells or texts a file of a size may hold."""
    return EXPANSION * size + 256 * MIB


def _opened(data: bytes, what: str) -> pq.ParquetFile:
    """A file whose pages and cells were looked at."""
    source = pa.BufferReader(data)
    footer = open_parquet(source, what).metadata
    check_column_chunks(source, footer, what)
    most = most_texts(len(data))
    with translate_errors(what, "is not a whole Parquet file"):
        if footer.num_rows * _BYTES_OF_A_ROW > len(data):
            raise CorruptTableError(f"{what} is too small for {footer.num_rows} segments")
        cells = footer.num_rows * footer.num_columns * _CELL_BYTES
        names = footer.schema.to_arrow_schema().names
        if len(set(names)) < len(names):
            raise CorruptTableError(f"{what} has a column twice")
        _check(cells, most, what, "cells")
        _check(page_bytes(memoryview(data), footer), most, what, "pages")
        places = (footer.schema.column(at) for at in range(footer.num_columns))
        texts = [place.path for place in places if place.physical_type == "BYTE_ARRAY"]
        return open_parquet(source, what, read_dictionary=texts, page_checksum_verification=True)


def _read(table: pa.Table, most: int, what: str) -> pa.Table:
    table.validate(full=True)
    return _spelled_out(table, most, what)


def _check(size: int, most: int, what: str, parts: str) -> None:
    if size > most:
        raise CorruptTableError(
            f"{what} has {parts} of {size} bytes, which no file of its length has"
        )


def _spelled_out(table: pa.Table, most: int, what: str) -> pa.Table:
    """The table without dictionaries."""
    _check(sum(map(_length, table.columns)), most, what, "texts")
    types = [_plain(field.type) for field in table.schema]
    fields = [field.with_type(type_) for field, type_ in zip(table.schema, types, strict=True)]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _plain(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_plain(type_.value_type)))
    return type_


def _length(column: pa.ChunkedArray) -> int:
    """How many bytes the texts of a column have when they are spelled out."""
    return sum(_chunk_length(chunk) for chunk in column.chunks)


def _chunk_length(array: pa.Array) -> int:
    if pa.types.is_list(array.type):
        return _chunk_length(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return 0
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    found: int | None = pc.sum(pc.take(lengths, array.indices)).as_py()
    return found or 0
