"""Reading the rows of checkpoints and manifests within memory bounded by the size of their files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import EXPANSION, MIB
from versioned_catalog.storage.footer_check import page_bytes
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet, translate_errors

KEPT = "id_map"
"""The column whose dictionary is kept, since all segments of a table may share one long map."""

_CELL_BYTES = 8
LEAST_ROW_BYTES = 4
"""Bytes that a segment takes at least in a file: its path is made of random digits."""


def read_bounded(data: bytes, what: str) -> pa.Table:
    """Read the rows of a file, with its metadata.

    Texts are read as dictionaries, in which one long value can stand for very many rows, and are decoded
    once their total length is known.

    Raises:
        CorruptTableError: the file is damaged, or decodes to very many times its size.
    """
    file = _opened(data, what)
    with translate_errors(what, "is not a whole Parquet file"):
        return _read(file.read(use_threads=False), decoded_limit(len(data)), what)


def read_groups(data: bytes, what: str) -> Iterator[pa.Table]:
    """Read the rows of a file by row group; the bounds of ``read_bounded`` hold for all together.

    Raises:
        CorruptTableError: as ``read_bounded``.
    """
    file, left = _opened(data, what), decoded_limit(len(data))
    for group in range(file.num_row_groups):
        with translate_errors(what, "is not a whole Parquet file"):
            table = _read(file.read_row_group(group, use_threads=False), left, what)
            left -= table.nbytes
        yield table


def decoded_limit(size: int) -> int:
    """Bytes of pages, cells or texts that are accepted from a file of a size."""
    return EXPANSION * size + 256 * MIB


def _opened(data: bytes, what: str) -> pq.ParquetFile:
    """Open a file after checking the size of its pages and cells."""
    source = pa.BufferReader(data)
    footer = open_parquet(source, what).metadata
    check_column_chunks(source, footer, what)
    most = decoded_limit(len(data))
    with translate_errors(what, "is not a whole Parquet file"):
        if footer.num_rows * LEAST_ROW_BYTES > len(data):
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
    return _decoded(table, most, what)


def _check(size: int, most: int, what: str, parts: str) -> None:
    if size > most:
        raise CorruptTableError(
            f"{what} has {parts} of {size} bytes, far too much for the size of the file"
        )


def _decoded(table: pa.Table, most: int, what: str) -> pa.Table:
    """Decode dictionaries, except for ``KEPT``."""
    decoded = [
        column
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name != KEPT
    ]
    chunks = chain.from_iterable(column.chunks for column in decoded)
    _check(sum(map(_chunk_length, chunks)), most, what, "texts")
    types = [_plain(field.type) if field.name != KEPT else field.type for field in table.schema]
    fields = [field.with_type(type_) for field, type_ in zip(table.schema, types, strict=True)]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _plain(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_plain(type_.value_type)))
    return type_


def _chunk_length(array: pa.Array) -> int:
    if pa.types.is_list(array.type):
        return _chunk_length(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return 0
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    found: int | None = pc.sum(pc.take(lengths, array.indices)).as_py()
    return found or 0
