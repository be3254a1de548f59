"""Opening Parquet files that are not trusted, and the checks that PyArrow lacks.

PyArrow ends the process when it is asked for a column chunk with inconsistent metadata, and allocates
whatever a page header states. PyArrow's own limits bound single strings and lists of a footer, but
check neither its consistency nor the sizes of pages. These checks use a separate parser.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.limits import ENTRY_BYTES, FOOTER_BYTES, FOOTER_ITEMS, SEGMENT_ROWS
from versioned_catalog.storage.failures import is_system_error, storage_error
from versioned_catalog.storage.footer import Damaged, Footer, Length, Reader

_TYPES = {
    **{"BOOLEAN": 0, "INT32": 1, "INT64": 2, "INT96": 3, "FLOAT": 4, "DOUBLE": 5},
    **{"BYTE_ARRAY": 6, "FIXED_LEN_BYTE_ARRAY": 7},
}
_ROW_GROUPS = 4
_COLUMNS = 1
_CHUNK_META, _CHUNK_KEY = 3, 8
_META_TYPE, _META_BOUNDS, _META_SIZES = 1, 12, 16
_BOUNDS = (1, 2, 5, 6)
_FIXED = "FIXED_LEN_BYTE_ARRAY"
_SIZES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_REPETITION, _DEFINITION = 2, 3
_LISTS_OF_FILE = {2: dict, 4: dict, 5: dict, 7: dict}
_LISTS_OF_GROUP = {1: dict, 4: dict}
_LISTS_OF_META = {2: int, 3: Length, 8: dict, 13: dict}
_LISTS_OF_SIZES = {2: int, 3: int}
"""The element types of the lists in FileMetaData, RowGroup, ColumnMetaData and SizeStatistics."""

_PAGE_TYPE, _PAGE_SIZE, _PAGE_COMPRESSED, _PAGE_DATA = 1, 2, 3, 5
_DATA_PAGE, _DATA_ENCODING, _PLAIN = 0, 2, 0


def check_columns(footer: bytes, metadata: pq.FileMetaData) -> None:
    """Refuse a footer if PyArrow would end the process when asked for its columns.

    Raises:
        Damaged: it would.
    """
    schema = metadata.schema
    leaves = [schema.column(at) for at in range(metadata.num_columns)]
    parsed = Reader(footer, most=FOOTER_ITEMS).struct()
    _check_lists(parsed, _LISTS_OF_FILE)
    for group in _listed(parsed, _ROW_GROUPS):
        _check_lists(group, _LISTS_OF_GROUP)
        chunks = _listed(group, _COLUMNS)
        if len(chunks) != len(leaves):
            raise Damaged("a row group does not have the columns of the file")
        for chunk, leaf in zip(chunks, leaves, strict=True):
            _check_column(chunk, leaf)


def _listed(value: Any, field: int) -> list[Any]:
    elements = value.get(field) if isinstance(value, dict) else None
    if not isinstance(elements, list):
        raise Damaged("a list is missing")
    return elements


def _check_lists(value: Any, kinds: Mapping[int, type[Any]]) -> None:
    """Check element types: PyArrow reads the elements as those it expects, whatever the list states."""
    if not isinstance(value, dict):
        raise Damaged("a part is missing")
    for field, kind in kinds.items():
        elements = value.get(field)
        if isinstance(elements, list) and not all(type(element) is kind for element in elements):
            raise Damaged("a list has elements of a wrong type")


def _check_column(chunk: Any, leaf: Any) -> None:
    meta = chunk.get(_CHUNK_META) if isinstance(chunk, dict) else None
    if not isinstance(meta, dict) or _CHUNK_KEY in chunk:
        raise Damaged("a column has no metadata, or is encrypted")
    _check_lists(meta, _LISTS_OF_META)
    if meta.get(_META_TYPE) != _TYPES.get(leaf.physical_type):
        raise Damaged("the type of a column differs from the schema")
    sizes = meta.get(_META_SIZES, {})
    _check_lists(sizes, _LISTS_OF_SIZES)
    _check_bounds(meta.get(_META_BOUNDS, {}), leaf)
    levels = ((_REPETITION, leaf.max_repetition_level), (_DEFINITION, leaf.max_definition_level))
    for field, most in levels:
        histogram = sizes.get(field, [])
        if not isinstance(histogram, list) or len(histogram) not in (0, most + 1):
            raise Damaged("the size statistics of a column do not fit its levels")


def _check_bounds(bounds: Any, leaf: Any) -> None:
    """Check that bounds of a fixed-length type have its length."""
    size = leaf.length if leaf.physical_type == _FIXED else _SIZES.get(leaf.physical_type)
    if not isinstance(bounds, dict):
        raise Damaged("bounds are not a structure")
    if size is not None and any(bounds.get(field, size) != size for field in _BOUNDS):
        raise Damaged("a bound does not have the length of its type")


@dataclass(frozen=True)
class Pages:
    """The pages of one column of a file.

    Args:
        bytes: their uncompressed size.
        are_plain: whether all are data pages in the encoding PLAIN, which never decode to more than
            their size.
    """

    bytes: int = 0
    are_plain: bool = True

    def __add__(self, other: Pages) -> Pages:
        return Pages(self.bytes + other.bytes, self.are_plain and other.are_plain)


def pages_of(
    data: bytes | memoryview, footer: pq.FileMetaData, column: int, groups: Iterable[int]
) -> Pages:
    """The pages of a leaf column in row groups, by indices. The footer has passed ``check_columns``.

    Raises:
        Damaged: a page header is invalid.
    """
    chunks = (footer.row_group(group).column(column) for group in groups)
    return sum((_pages(data, chunk) for chunk in chunks), start=Pages())


def page_bytes(data: bytes | memoryview, footer: pq.FileMetaData) -> int:
    """The uncompressed size of all pages of a file, in bytes. Its footer has passed ``check_columns``.

    Raises:
        Damaged: a page header is invalid.
    """
    groups = range(footer.num_row_groups)
    return sum(pages_of(data, footer, at, groups).bytes for at in range(footer.num_columns))


def _pages(data: bytes | memoryview, chunk: Any) -> Pages:
    if chunk.num_values == 0:  # it may have no pages, and PyArrow reads none
        return Pages()
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    if not 0 <= at <= end <= len(data):
        raise Damaged("a column chunk is outside the file")
    total, are_plain = 0, True
    while at < end:
        header = Reader(data, at)
        page = header.struct()
        size, compressed = page.get(_PAGE_SIZE), page.get(_PAGE_COMPRESSED)
        if (
            not isinstance(size, int)
            or not isinstance(compressed, int)
            or min(size, compressed) < 0
        ):
            raise Damaged("a page header has no valid size")
        total += size
        are_plain = are_plain and _is_plain(page)
        at = header.at + compressed
    return Pages(total, are_plain)


def _is_plain(page: Mapping[int, Any]) -> bool:
    header = page.get(_PAGE_DATA)
    return (
        page.get(_PAGE_TYPE) == _DATA_PAGE
        and isinstance(header, dict)
        and header.get(_DATA_ENCODING) == _PLAIN
    )


_END = 8
"""A file ends with the length of its footer in 4 bytes, and 4 magic bytes."""

_REASON_LENGTH = 300
"""The most characters of a message of PyArrow that are passed on, since it may quote the file."""


@contextmanager
def translate_errors(what: str, problem: str = "can't be read") -> Iterator[None]:
    """Translate errors of PyArrow and of the operating system about a file.

    Args:
        problem: the problem that an error of PyArrow stands for.

    Raises:
        CorruptTableError: PyArrow can't read the file.
        StorageError: the operating system failed or refused; the content may be intact.
    """
    try:
        yield
    except VersionedError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        MemoryError,
        ArithmeticError,
        LookupError,
    ) as error:
        if isinstance(error, OSError) and is_system_error(error):
            raise storage_error("read", what, error) from error
        reason = str(error)[:_REASON_LENGTH] or type(error).__name__
        raise CorruptTableError(f"{what} {problem}: {reason}") from error


def open_parquet(source: Any, what: str, **options: Any) -> pq.ParquetFile:
    """Open a file whose footer may be hostile, with further arguments of ``ParquetFile``.

    Raises:
        CorruptTableError: the file is not a whole Parquet file, or its footer is inconsistent.
    """
    with translate_errors(what, "is not a whole Parquet file"):
        _check_footer_length(source, what)
        file = pq.ParquetFile(
            source,
            thrift_string_size_limit=ENTRY_BYTES,
            thrift_container_size_limit=FOOTER_ITEMS,
            **options,
        )
        check_rows(file.metadata, what)
    return file


def _check_footer_length(source: Any, what: str) -> None:
    """Refuse a long footer of many structures: a structure of a few bytes takes a thousand in memory."""
    if isinstance(source, str):
        with open(source, "rb") as file:
            _check_footer_length(file, what)
        return
    if _footer_length(source) > FOOTER_BYTES:
        # A long footer of few structures is fine: in a checkpoint, one string holds the state.
        with translate_errors(what, "has a long footer that can't be checked"):
            Reader(_footer(source), most=FOOTER_ITEMS).struct()
    source.seek(0)


def _footer_length(file: Any) -> int:
    """The length that the end of the file states; 0 if the file is too short for it."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    if size < _END:
        return 0
    file.seek(size - _END)
    length = int.from_bytes(file.read(_END)[:4], "little")
    return length if length <= size - _END else 0


def _footer(file: Any) -> bytes:
    length = min(_footer_length(file), ENTRY_BYTES)
    file.seek(file.seek(0, os.SEEK_END) - _END - length)
    data = bytes(file.read(length))
    file.seek(0)
    return data


def footer_of(source: Any, file: pq.ParquetFile) -> Footer:
    """The footer of a file from ``open_parquet``."""
    if isinstance(source, str):
        with open(source, "rb") as opened:
            return Footer(_footer(opened), file)
    return Footer(_footer(source), file)


def check_column_chunks(source: Any, metadata: pq.FileMetaData, what: str) -> None:
    """Check the column metadata of a parsed footer, before PyArrow is asked for any of it.

    Raises:
        CorruptTableError: PyArrow would end the process.
    """
    with translate_errors(what, "has an invalid footer"):
        if isinstance(source, str):
            with open(source, "rb") as file:
                check_columns(_footer(file), metadata)
        else:
            check_columns(_footer(source), metadata)


def check_rows(footer: pq.FileMetaData, what: str) -> None:
    """Refuse a footer with inconsistent row counts.

    Raises:
        CorruptTableError: a count is negative or too large, or they do not add up.
    """
    rows = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    total = sum(rows)
    if min(rows, default=0) < 0:
        raise CorruptTableError(f"{what}: a row group has a negative row count, {min(rows)}")
    if total != footer.num_rows:
        raise CorruptTableError(
            f"{what}: the row counts of its row groups do not add up to the file's: their sum is "
            f"{total}, and the footer states {footer.num_rows}"
        )
    if total > SEGMENT_ROWS:
        raise CorruptTableError(
            f"{what}: it has {total} rows, and a file may have at most {SEGMENT_ROWS}"
        )
