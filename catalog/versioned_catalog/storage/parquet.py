"""Opening Parquet files that a stranger may have written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.limits import ENTRY_BYTES, FOOTER_BYTES, FOOTER_ITEMS, SEGMENT_ROWS
from versioned_catalog.storage.failing import is_of_system, storage_error
from versioned_catalog.storage.footer import Footer
from versioned_catalog.storage.parquet_chunks import check_columns
from versioned_catalog.storage.thrift import Reader

_END = 8
"""A file ends with the length of its footer, in 4 bytes, and 4 magic ones."""

_SAID = 300
"""How much of PyArrow's words is passed on: it quotes the file."""


@contextmanager
def told(what: str, how: str = "can't be read") -> Iterator[None]:
    """Translate whatever PyArrow raises over a damaged file, and what the system refuses.

    Args:
        what: the file.
        how: what is wrong with it.

    Raises:
        CorruptTableError: PyArrow can't make sense of the file.
        StorageError: the operating system failed or refused, which says nothing of the content.
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
        if isinstance(error, OSError) and is_of_system(error):
            raise storage_error("read", what, error) from error
        reason = str(error)[:_SAID] or type(error).__name__
        raise CorruptTableError(f"{what} {how}: {reason}") from error


def open_parquet(source: Any, what: str, **how: Any) -> pq.ParquetFile:
    """A file whose footer was looked at.

    Args:
        source: a path, or a file of PyArrow or Python.
        what: the file, for errors.
        how: what ``ParquetFile`` takes besides.

    Raises:
        CorruptTableError: it is no whole Parquet file, or its footer does not hold together.
    """
    with told(what, "is not a whole Parquet file"):
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
    """Refuse a footer whose parsing would take all memory: some bytes of it make a thousand."""
    if isinstance(source, str):
        with open(source, "rb") as file:
            _check_footer_length(file, what)
        return
    if _footer_length(source) > FOOTER_BYTES:
        # Unless it is one long text, as the state in a checkpoint.
        with told(what, "has a footer that is not believed"):
            Reader(_footer(source), most=FOOTER_ITEMS).struct()
    source.seek(0)


def _footer_length(file: Any) -> int:
    """How long the footer says that it is; 0 where the file is too short for one."""
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


def check_columns_of(source: Any, metadata: pq.FileMetaData, what: str) -> None:
    """See that what a footer says of columns may be looked at: PyArrow ends the process over some.

    Args:
        source: as for ``open_parquet``.
        metadata: what PyArrow made of its footer.
        what: the file, for errors.

    Raises:
        CorruptTableError: it may not.
    """
    with told(what, "has a footer that can't be"):
        if isinstance(source, str):
            with open(source, "rb") as file:
                check_columns(_footer(file), metadata)
        else:
            check_columns(_footer(source), metadata)


def check_rows(footer: pq.FileMetaData, what: str) -> None:
    """Refuse a footer whose numbers of rows can't be.

    Raises:
        CorruptTableError: naming the file.
    """
    rows = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    total = sum(rows)
    if min(rows, default=0) < 0 or total != footer.num_rows or total > SEGMENT_ROWS:
        raise CorruptTableError(f"{what} has a footer whose numbers of rows can't be")
