"""The JSON and the rows of the files of a log, read and written within bounds."""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, UnsupportedFeatureError
from versioned_catalog.limits import ENTRY_BYTES, EXPANSION, JSON_VALUES, MIB, check_version
from versioned_catalog.log.features import CHECKSUMS, FORMAT, check_readable, features_from_json
from versioned_catalog.model.schema_json import Json, member, optional
from versioned_catalog.storage.parquet import (
    check_column_chunks,
    open_parquet,
    page_bytes,
    pages_of,
    translate_errors,
)
from versioned_catalog.storage.text import count_values, parse_json


@contextmanager
def naming_file(what: str) -> Iterator[None]:
    """Add the name of a file to the errors about its content, which may be nested too deeply."""
    try:
        yield
    except (CorruptTableError, UnsupportedFeatureError) as error:
        raise type(error)(f"{what}: {error}") from None
    except RecursionError:
        raise CorruptTableError(f"{what} is nested too deeply") from None


def load_json(data: bytes, what: str) -> dict[str, Json]:
    """Parse an object; its format version and features are checked before anything else is read.

    Raises:
        CorruptTableError: it is not a JSON object.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    value = parse_json(data, what)
    if not isinstance(value, dict):
        raise CorruptTableError(f"{what} is not a JSON object")
    with naming_file(what):
        number, needed = member(value, "format", int), features_from_json(value).read
    if number < 1:
        raise CorruptTableError(f"{what} has format version {number}; it must be 1 or higher")
    if number > FORMAT:
        raise UnsupportedFeatureError(
            f"{what} has format version {number}, and this library reads up to {FORMAT}; "
            "upgrade pyspark-versioned"
        )
    check_readable(needed, what)
    return value


CHECKSUM = "checksum"
"""The last member of a document: the checksum of the bytes before it (FORMAT.md, section 5.1)."""

_SEAL = re.compile(rb',"checksum":"(crc32:[0-9a-f]{8})"}\Z')


def checksum(*parts: bytes | memoryview) -> str:
    """The checksum of bytes, one part after the other, as metadata records it."""
    return f"crc32:{functools.reduce(lambda sum_, part: zlib.crc32(part, sum_), parts, 0):08x}"


def check_attached(data: bytes, size: int, sum_: str, what: str, says: str, then: str = "") -> None:
    """Refuse a file beside the log that has another size or checksum than its entry says.

    Args:
        says, then: who recorded the size and the checksum, and what to do, for the error.

    Raises:
        CorruptTableError: naming the file, both sizes and both checksums.
    """
    if len(data) != size or checksum(data) != sum_:
        raise CorruptTableError(
            f"{what} has {len(data)} bytes and the checksum {checksum(data)}, and {says} says {size} "
            f"and {sum_[:50]}{then}"
        )


def load_document(data: bytes, what: str, *, needs_checksum: bool = False) -> dict[str, Json]:
    """Parse an entry, a stub, a decision or the checkpoint of a warehouse, and check its checksum.

    Args:
        needs_checksum: the file has a checksum also if it does not list the feature.

    Raises:
        CorruptTableError: it is not a JSON object, or was damaged since it was written.
        UnsupportedFeatureError: as ``load_json``.
    """
    seal = _SEAL.search(data, max(len(data) - 64, 0))
    if seal is not None:
        check_sum(checksum(data[: seal.start()]), seal[1].decode(), what)
    value = load_json(data, what)
    if seal is None and CHECKSUM in value:
        raise CorruptTableError(f"{what} is damaged: its checksum is not in its place at the end")
    if seal is None and (needs_checksum or CHECKSUMS in features_from_json(value).write):
        raise CorruptTableError(f"{what} is damaged: it lacks the checksum that its table needs")
    value.pop(CHECKSUM, None)
    return value


def check_sum(actual: str, recorded: str, what: str) -> None:
    """Refuse a file whose bytes are not those that were written.

    Raises:
        CorruptTableError: naming the file and both checksums.
    """
    if actual != recorded:
        raise CorruptTableError(
            f"{what} is damaged: its bytes have the checksum {actual}, and it was written with "
            f"{recorded}; restore it from a copy"
        )


def dump_document(value: Json) -> bytes:
    """Write JSON that ends with its checksum. Raises InvalidRequestError as ``dump_json``."""
    data = dump_json(value, room=64)[:-1]
    return data + f',"{CHECKSUM}":"{checksum(data)}"}}'.encode()


def dump_json(value: Json, room: int = 0) -> bytes:
    """Write JSON that every reader accepts, also with ``room`` bytes of another member.

    Raises:
        InvalidRequestError: it is too large, or holds an unpaired surrogate.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{text[error.start : error.end][:20]!r} in a name, comment or property is half a "
            "character (an unpaired surrogate); nothing was committed"
        ) from None
    values = count_values(text)
    if len(data) + room > ENTRY_BYTES or values > JSON_VALUES - 1:
        raise InvalidRequestError(
            f"the commit takes {len(data)} bytes and {values} values of metadata, but the limits are "
            f"{ENTRY_BYTES} and {JSON_VALUES}; write fewer segments at once (larger ones, or fewer "
            "partitions), or shorten properties and comments"
        )
    return data


MOST_DELTAS = 16
"""Greatest number of deltas in a hint."""


@dataclass(frozen=True)
class Hint:
    """The content of the hint.

    Args:
        version: version of a checkpoint.
        deltas: versions of the deltas to read after it, oldest first.
    """

    version: int
    deltas: tuple[int, ...] = ()

    @property
    def newest(self) -> int:
        """The version of the state that these files add up to."""
        return max(self.version, *self.deltas) if self.deltas else self.version


def hint_to_bytes(hint: Hint) -> bytes:
    """The content of the hint."""
    deltas = {"deltas": list(hint.deltas)} if hint.deltas else {}
    return dump_json({"version": hint.version, **deltas})


def hint_from_bytes(data: bytes | None) -> Hint | None:
    """The content of the hint, or None if it is missing or damaged: a hint may be ignored."""
    try:
        value = parse_json(data or b"null", "the hint")
        version: int = member(value, "version", int)
        deltas = optional(value, "deltas", list) or []
        if len(deltas) > MOST_DELTAS or not all(type(delta) is int for delta in deltas):
            return None
        return Hint(check_version(version), tuple(map(check_version, deltas)))
    except CorruptTableError:
        return None


KEPT = "id_map"
"""The column whose dictionary is kept, since all segments of a table may share one long map."""

_CELL_BYTES = 8
LEAST_ROW_BYTES = 4
"""Least number of bytes of a segment in a file: its path holds random digits."""


def read_bounded(data: bytes, what: str) -> pa.Table:
    """Read the rows of a file, with its metadata.

    Raises:
        CorruptTableError: the file is damaged, or decodes to very many times its size.
    """
    file = BoundedFile(data, what)
    return file.read(file.schema.names).replace_schema_metadata(file.schema.metadata)


class BoundedFile:
    """A file whose columns are decoded when they are asked for; one bound holds for all together.

    Texts are read as dictionaries, in which many rows can share a long value, and are decoded once their
    total length is checked. Plain pages hold each text, so their size bounds it.

    Args:
        data: the file.
        what: its name, for errors.

    Raises:
        CorruptTableError: its footer is damaged, or has too many rows or columns for its size.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data, self._what = data, what
        self._footer = _checked_footer(data, what)
        self._pages_left = self._texts_left = decoded_limit(len(data))
        with translate_errors(what, "is not a whole Parquet file"):
            schema = self._footer.schema.to_arrow_schema()
            self._leaves = _leaves(schema)
        self.rows: int = self._footer.num_rows
        self.schema: pa.Schema = schema

    @property
    def group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        groups = range(self._footer.num_row_groups)
        return [self._footer.row_group(group).num_rows for group in groups]

    @property
    def decoded_bytes(self) -> int:
        """About what all cells take in memory, and the pages and texts that were decoded so far."""
        limit = decoded_limit(len(self._data))
        cells: int = self.rows * self._footer.num_columns * _CELL_BYTES
        return cells + 2 * limit - self._pages_left - self._texts_left

    def read(self, names: Sequence[str], group: int | None = None) -> pa.Table:
        """Decode some columns, of one row group or of all; others are neither decoded nor checked.

        Raises:
            CorruptTableError: one is damaged, or all read so far decode to very many times the file.
        """
        leaves = [leaf for name in names for leaf in self._leaves[name]]
        with translate_errors(self._what, "is not a whole Parquet file"):
            groups = range(self._footer.num_row_groups) if group is None else [group]
            repeating = self._checked_pages(leaves, groups)
            file = open_parquet(
                pa.BufferReader(self._data),
                self._what,
                metadata=self._footer,
                read_dictionary=repeating,
                page_checksum_verification=True,
            )
            table = file.reader.read_row_groups(
                list(groups), column_indices=leaves, use_threads=False
            )
            if set(table.column_names) != set(names):
                raise CorruptTableError(f"{self._what} has columns that can't be told apart")
            table.validate(full=True)
        table, size = _decoded(table, self._texts_left, self._what)
        self._texts_left -= size
        return table.replace_schema_metadata(None)

    def _checked_pages(self, leaves: Sequence[int], groups: Sequence[int]) -> list[str]:
        """Check the size of columns' pages; return the columns of texts that may repeat values."""
        view, repeating = memoryview(self._data), []
        for leaf in leaves:
            column = self._footer.schema.column(leaf)
            pages = pages_of(view, self._footer, leaf, groups)
            _check(pages.bytes, self._pages_left, self._what, "pages")
            self._pages_left -= pages.bytes
            is_kept = column.path == KEPT
            if column.physical_type == "BYTE_ARRAY" and (is_kept or not pages.are_plain):
                repeating.append(column.path)
        return repeating


def _leaves(schema: pa.Schema) -> dict[str, range]:
    """The indices of the leaf columns of each column."""
    leaves, first = {}, 0
    for field in schema:
        after = first + _leaf_count(field.type)
        leaves[field.name], first = range(first, after), after
    return leaves


def _leaf_count(type_: pa.DataType) -> int:
    if not pa.types.is_nested(type_):
        return 1
    return sum(_leaf_count(type_.field(at).type) for at in range(type_.num_fields))


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


def _checked_footer(data: bytes, what: str) -> pq.FileMetaData:
    """The footer of a file, after a check of the number of its cells."""
    source = pa.BufferReader(data)
    footer = open_parquet(source, what).metadata
    check_column_chunks(source, footer, what)
    with translate_errors(what, "is not a whole Parquet file"):
        if footer.num_rows * LEAST_ROW_BYTES > len(data):
            raise CorruptTableError(f"{what} is too small for {footer.num_rows} segments")
        cells = footer.num_rows * footer.num_columns * _CELL_BYTES
        names = footer.schema.to_arrow_schema().names
        if len(set(names)) < len(names):
            raise CorruptTableError(f"{what} has a column twice")
        _check(cells, decoded_limit(len(data)), what, "cells")
    return footer


def _opened(data: bytes, what: str) -> pq.ParquetFile:
    """Open a file after checking the size of its pages and cells."""
    footer = _checked_footer(data, what)
    with translate_errors(what, "is not a whole Parquet file"):
        _check(page_bytes(memoryview(data), footer), decoded_limit(len(data)), what, "pages")
        leaves = (footer.schema.column(at) for at in range(footer.num_columns))
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        return open_parquet(
            pa.BufferReader(data), what, read_dictionary=texts, page_checksum_verification=True
        )


def _read(table: pa.Table, most: int, what: str) -> pa.Table:
    table.validate(full=True)
    return _decoded(table, most, what)[0]


def _check(size: int, most: int, what: str, parts: str) -> None:
    if size > most:
        raise CorruptTableError(
            f"{what} has {parts} of {size} bytes, far too much for the size of the file"
        )


def _decoded(table: pa.Table, most: int, what: str) -> tuple[pa.Table, int]:
    """Decode dictionaries, except for ``KEPT``; also return the length of their texts."""
    decoded = [
        column
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name != KEPT
    ]
    size = sum(map(_chunk_length, chain.from_iterable(column.chunks for column in decoded)))
    _check(size, most, what, "texts")
    types = [plain_type(field.type) if field.name != KEPT else field.type for field in table.schema]
    if types == table.schema.types:
        return table, size
    fields = [field.with_type(type_) for field, type_ in zip(table.schema, types, strict=True)]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata)), size


def plain_type(type_: pa.DataType) -> pa.DataType:
    """A type without the dictionaries in it."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(plain_type(type_.value_type)))
    return type_


def _chunk_length(array: pa.Array) -> int:
    if pa.types.is_list(array.type):
        return _chunk_length(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return 0
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    total: int | None = pc.sum(pc.take(lengths, array.indices)).as_py()
    return total or 0
