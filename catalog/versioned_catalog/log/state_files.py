"""The files of states, checkpoints and deltas: rows of segments, and a JSON object (FORMAT.md, 8)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import (
    CHECKPOINT_BYTES,
    SEGMENT_BYTES,
    SEGMENT_ROWS,
    VERSIONS,
)
from versioned_catalog.log import times
from versioned_catalog.log.bounded_files import (
    BoundedFile,
    check_sum,
    checksum,
    dump_json,
    load_json,
    naming_file,
    plain_type,
)
from versioned_catalog.log.clones import cloned_from
from versioned_catalog.log.features import CHECKSUMS, features_from_json
from versioned_catalog.log.record import MOST_ROW_IDS
from versioned_catalog.log.segment_columns import Run, SegmentColumns
from versioned_catalog.log.segment_table import CORE, OPTIONAL
from versioned_catalog.model.schema_json import Json
from versioned_catalog.storage.store import PREFIX, UNSAFE, safe_path

_KEY = b"versioned.state"
_CHECKSUM_KEY = b"versioned.checksum"
_NO_CHECKSUM = b"crc32:00000000"
_CHECKSUM = re.compile(rb"\x18\x12versioned\.checksum\x18\x0e(crc32:[0-9a-f]{8})\x00")
"""The last key of the footer and its value, as Thrift writes them."""

_BEFORE_DIGITS = b"\x18\x12versioned.checksum\x18\x0ecrc32:"

GROUP_ROWS = 262_144
"""Number of segments in a row group: a filter that leaves few segments decodes its other columns only in
their row groups, but each adds to the footer."""


def file_to_bytes(table: pa.Table, value: dict[str, Json]) -> bytes:
    """A file of segments with a JSON object in its metadata, and its own checksum."""
    unused = [name for name in OPTIONAL if table[name].null_count == table.num_rows]
    table = table.drop_columns(unused)
    sink = pa.BufferOutputStream()
    options = {"compression": "zstd", "store_schema": False, "write_page_checksum": True}
    # Few values repeat, except for ID maps: a long one must not be stored in each row.
    maps: bool | list[str] = ["id_map"] if "id_map" in table.column_names else False
    options |= {"use_dictionary": maps, "dictionary_pagesize_limit": CHECKPOINT_BYTES}
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table, row_group_size=GROUP_ROWS)
        meta = {_KEY: dump_json(value), _CHECKSUM_KEY: _NO_CHECKSUM}
        writer.add_key_value_metadata(meta)
    data = bytes(sink.getvalue())
    place = data.rindex(_NO_CHECKSUM)
    return data[:place] + checksum(data).encode() + data[place + len(_NO_CHECKSUM) :]


def _recorded(data: bytes) -> re.Match[bytes] | None:
    """The checksum in the footer. The name of the writer and the order of each column follow it."""
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    place = data.rfind(_BEFORE_DIGITS, max(footer, 0))
    return None if place < 0 else _CHECKSUM.match(data, place)


def recorded_checksum(data: bytes) -> str:
    """The checksum that a file records; empty if it has none."""
    match = _recorded(data)
    return "" if match is None else match[1].decode()


def _check_sum(data: bytes, what: str) -> bool:
    """Check the checksum of a file, with its own digits as zeros; False if it has none (section 8).

    Raises:
        CorruptTableError: the file was damaged since it was written.
    """
    match = _recorded(data)
    if match is None:
        return False
    # A copy of the file with these digits would take as long as the checksum itself.
    view = memoryview(data)
    actual = checksum(view[: match.start(1)], _NO_CHECKSUM, view[match.end(1) :])
    check_sum(actual, match[1].decode(), what)
    return True


@dataclass(frozen=True, eq=False)
class StateFile:
    """A checkpoint or a delta, whose columns of ``CORE`` are checked.

    Args:
        what: its name, for errors.
        data: its content.
        value: its JSON object, which nobody changes.
        file: its rows, as far as they are not decoded yet.
        checksum: the checksum that it records; empty if it has none.
        columns: its columns; those of statistics are decoded when they are used.
    """

    what: str
    data: bytes
    value: dict[str, Json]
    file: BoundedFile
    checksum: str
    columns: SegmentColumns

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return self.file.rows

    @property
    def bytes(self) -> int:
        """About what it takes in memory, with the columns that were decoded so far."""
        return len(self.data) + self.file.decoded_bytes


RECENT_FILES, RECENT_BYTES = 16, 64 * 1024 * 1024
"""How many decoded files are kept for the next load, and what they may take in memory together."""


class RecentFiles:
    """The files that were decoded last: most loads read the same ones again."""

    def __init__(self) -> None:
        # Replaced as a whole: threads need no lock, which a fork could leave locked.
        self._files: tuple[StateFile, ...] = ()

    def find(self, data: bytes, what: str) -> StateFile | None:
        """The decoded file of these very bytes, if it is kept; it becomes the newest."""
        files = self._files
        for at, file in enumerate(files):
            if file.what == what and file.data == data:
                self._files = (file, *files[:at], *files[at + 1 :])
                return file
        return None

    def keep(self, file: StateFile) -> None:
        """Keep a file as the newest, and as many of the others as there is room for."""
        others = [other for other in self._files if other.what != file.what]
        kept, room = list[StateFile](), RECENT_BYTES
        for each in (file, *others[: RECENT_FILES - 1]):
            if each.bytes <= room:
                kept.append(each)
                room -= each.bytes
        self._files = tuple(kept)


_RECENT = RecentFiles()


def state_file(data: bytes, what: str) -> StateFile:
    """Decode a checkpoint or a delta; the same bytes are decoded once, while they are kept.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    known = _RECENT.find(data, what)
    if known is not None:
        return known
    file, value = _checked_file(data, what)
    sum_ = recorded_checksum(data)
    with naming_file(what):
        columns = _columns_of(file, what)
        # Damage must be found now, while older checkpoints and the log can take its place.
        columns = _normalised(columns if sum_ else columns.decoded())
    decoded = StateFile(what, data, value, file, sum_, columns)
    _RECENT.keep(decoded)
    return decoded


def _checked_file(data: bytes, what: str) -> tuple[BoundedFile, dict[str, Json]]:
    """The rows of a checkpoint or of a delta, not decoded yet, and its JSON object.

    Raises:
        CorruptTableError, UnsupportedFeatureError: as ``state_file``.
    """
    is_checked = _check_sum(data, what)
    file = BoundedFile(data, what)
    meta = (file.schema.metadata or {}).get(_KEY)
    if meta is None:
        raise CorruptTableError(
            f"{what} is not a checkpoint: the Parquet metadata lacks the key {_KEY.decode()}"
        )
    value = load_json(meta, what)
    if not is_checked and CHECKSUMS in features_from_json(value).write:
        raise CorruptTableError(f"{what} is damaged: it lacks the checksum that its table needs")
    return file, value


def _columns_of(file: BoundedFile, what: str) -> SegmentColumns:
    """The columns of a checkpoint or delta; those of statistics are decoded when they are used."""
    types = {field.name: plain_type(field.type) for field in file.schema}
    core = file.read([name for name in types if name in CORE.names])
    runs = [
        Run(rows, types, functools.partial(_of_group, file, group, what))
        for group, rows in enumerate(file.group_rows)
    ]
    if not runs:  # the types of its columns count
        runs.append(Run.empty(types))
    return SegmentColumns(runs, {name: core[name] for name in core.column_names})


def _of_group(file: BoundedFile, group: int, what: str, name: str) -> pa.ChunkedArray:
    with naming_file(what):
        return file.read([name], group)[name]


def _normalised(columns: SegmentColumns) -> SegmentColumns:
    """The columns of a file with all of ``CORE``, in their types.

    Raises:
        CorruptTableError: one that must be there is missing, or one holds something else.
    """
    core = {field.name: _of_core(columns, field) for field in CORE}
    _check_core(pa.table(core))
    return columns.with_columns(core)


def _of_core(columns: SegmentColumns, field: pa.Field) -> pa.ChunkedArray:
    """A column of ``CORE`` in its type; null if it may be missing and is.

    Raises:
        CorruptTableError: it is missing, or holds something else.
    """
    if field.name not in columns.types:
        if field.name not in OPTIONAL:
            raise CorruptTableError(f"the column {field.name} is missing")
        return pa.chunked_array([pa.nulls(columns.num_rows, field.type)])
    column = columns[field.name]
    if column.type != field.type:
        try:
            column = column.cast(field.type)
        except pa.ArrowException:
            raise CorruptTableError(f"the column {field.name} has another type") from None
    if not field.nullable and column.null_count:
        raise CorruptTableError(f"the column {field.name} holds nulls")
    return column


_RANGES = {
    "rows": (0, SEGMENT_ROWS),
    "bytes": (0, SEGMENT_BYTES),
    "sequence": (0, VERSIONS),
    "ordinal": (0, 2**31),
    "commit_time": tuple(
        (t - times.UNIX_EPOCH) // times.MICROSECOND for t in (times.EARLIEST, times.LATEST)
    ),
}
"""Least and greatest value of the numbers in a row."""


def _check_core(table: pa.Table) -> None:
    paths = table["path"]
    if any(may_be_unsafe(batch[0]) for batch in table.select(["path"]).to_batches(_AT_ONCE)):
        unsafe = pc.index(pc.match_substring_regex(paths, UNSAFE), True).as_py()
        if unsafe >= 0:
            safe_path(paths[unsafe].as_py())
    is_external = pc.starts_with(paths, PREFIX)
    if pc.any(is_external).as_py():
        _check_external(table.select(["path", "id_map"]).filter(is_external))
    for name, (low, high) in _RANGES.items():
        column = table[name]
        numbers = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        ends = pc.min_max(numbers) if table.num_rows else None
        if ends is not None and not (low <= ends["min"].as_py() <= ends["max"].as_py() <= high):
            raise CorruptTableError(f"the column {name} holds a number that is out of range")
    for name, most in _ROW_ID_RANGES.items():
        if table[name].null_count == table.num_rows:
            continue
        ends = pc.min_max(table[name])
        if not (ends["min"].as_py() >= 0 and ends["max"].as_py() <= most):
            raise CorruptTableError(f"the column {name} holds a number that is out of range")


def _check_external(segments: pa.Table) -> None:
    """Check segments below external roots: their paths, and that what we did not write has an ID map.

    Raises:
        CorruptTableError: naming the path, or saying that a map is missing.
    """
    for path in segments["path"].to_pylist():
        safe_path(path)
    written_by_us = segments.filter(pc.is_null(segments["id_map"]))["path"].to_pylist()
    if any(cloned_from(path) is None for path in written_by_us):
        raise CorruptTableError("a segment below an external root has no ID map")


_ROW_ID_RANGES = {"first_row_id": MOST_ROW_IDS, "row_updated": VERSIONS, "row_ids_stored": VERSIONS}
"""Greatest value of the optional numbers in a row."""

_AT_ONCE = 8192
"""Number of paths that are checked at once: what is computed of them stays in the processor's cache."""


def may_be_unsafe(paths: pa.StringArray) -> bool:
    """Whether one of some paths may match ``UNSAFE``, which is slow to search in a million of them.

    No path is null.
    """
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset :][: len(paths) + 1]
    if (offsets[1:] == offsets[:-1]).any():
        return True
    text = bytes(memoryview(paths.buffers()[2] or b"")[offsets[0] : offsets[-1]])
    held = np.frombuffer(text, np.uint8)
    first, last = held[offsets[:-1] - offsets[0]], held[offsets[1:] - offsets[0] - 1]
    punctuation = held >> 1 == ord("/") >> 1  # a slash or a dot; a search for two bytes is slow
    if (punctuation[:-1] & punctuation[1:]).any() and (b"//" in text or b"/." in text):
        return True
    return bool(
        any(odd in text for odd in (b"\\", b"\x7f"))
        or (held.size and held.min() < 0x20)
        or ((first == ord("/")) | (first == ord(".")) | (last == ord("/"))).any()
    )
