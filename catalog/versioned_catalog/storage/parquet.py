"""Opening untrusted Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.limits import ENTRY_BYTES, FOOTER_BYTES, FOOTER_ITEMS, SEGMENT_ROWS
from versioned_catalog.storage.footer import Footer
from versioned_catalog.storage.footer_check import check_columns
from versioned_catalog.storage.system_errors import is_system_error, storage_error
from versioned_catalog.storage.thrift import Reader

_END = 8
"""A file ends with the length of its footer in 4 bytes, and 4 magic bytes."""

_REASON_LENGTH = 300
"""The most characters of a message of PyArrow that are passed on, since it may quote the file."""


@contextmanager
def translate_errors(what: str, how: str = "can't be read") -> Iterator[None]:
    """Translate errors of PyArrow and of the operating system about a file.

    Args:
        how: the problem that an error of PyArrow stands for.

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
        raise CorruptTableError(f"{what} {how}: {reason}") from error


def open_parquet(source: Any, what: str, **how: Any) -> pq.ParquetFile:
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
            **how,
        )
        check_rows(file.metadata, what)
    return file


def _check_footer_length(source: Any, what: str) -> None:
    """Refuse a long footer of many structures: one of a few bytes takes a thousand in memory."""
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
    found = bytes(file.read(length))
    file.seek(0)
    return found


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
    if min(rows, default=0) < 0 or total != footer.num_rows or total > SEGMENT_ROWS:
        raise CorruptTableError(
            f"{what}: the row counts of its row groups do not add up to the file's"
        )
