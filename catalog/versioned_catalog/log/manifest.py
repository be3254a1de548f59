"""Manifests: the added segments of a commit that are too much for its entry (FORMAT.md, section 8.1)."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import limits
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.bounded_rows import most_texts, read_groups
from versioned_catalog.log.entry import (
    MANIFEST,
    MANIFESTS,
    Commit,
    Features,
    Manifest,
    dump_json,
)
from versioned_catalog.log.record import SegmentRecord, record_from_json, record_to_json
from versioned_catalog.storage.json_text import count_values, parse_json
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow_values import array_of

RECORD = "record"
_SCHEMA = pa.schema([pa.field(RECORD, pa.string(), nullable=False)])
_GROUP_BYTES = 64 * limits.MIB
"""How much text goes into a row group: one is in memory at a time."""

_FEATURE = Features(frozenset({MANIFEST}), frozenset({MANIFEST}))


def placed(commit: Commit, before: Commit | None, store: Store) -> Commit:
    """Write the manifest of a commit whose records are too long for an entry.

    Args:
        commit: what is to be put.
        before: what the attempt before this one would have put; its manifest serves again.
        store: the table's folder.

    Returns:
        The commit, which names its manifest where it has one.

    Raises:
        InvalidRequestError: not even a manifest could hold the records.
    """
    if before is not None and before.manifest and before.added == commit.added:
        return _naming(commit, before.manifest)
    if fits_entry(commit.added):
        return commit
    data = manifest_to_bytes(commit)
    path = f"{MANIFESTS}/{max(commit.head.base_version, 0)}-{uuid.uuid4().hex}.parquet"
    with store.create(path) as sink:
        sink.write(data)
    made = Manifest(path, len(data), _checksum(data), len(commit.added))
    return _naming(commit, made)


def _naming(commit: Commit, manifest: Manifest) -> Commit:
    head = replace(commit.head, features=commit.head.features | _FEATURE)
    return replace(commit, head=head, manifest=manifest)


def fits_entry(records: Sequence[SegmentRecord]) -> bool:
    """Whether the records of a commit can stand in its entry."""
    if sum(map(_longest, records)) <= limits.MANIFEST_FROM:
        return True
    left = limits.MANIFEST_FROM
    for text in _texts(records):
        left -= len(text)
        if left < 0:
            return False
    return True


def _longest(record: SegmentRecord) -> int:
    """More bytes than the JSON of a record has: bounds have up to 64 characters, of up to 6 bytes."""
    return 1024 * (1 + len(record.columns)) + 6 * sum(len(v or "") for v in record.partition)


def _texts(records: Iterable[SegmentRecord]) -> Iterator[bytes]:
    return (dump_json(record_to_json(record)) for record in records)


@dataclass
class _Written:
    """How much has been written: bytes of text, and values in it."""

    text: int = 0
    values: int = 0

    def fits(self, size: int) -> bool:
        """Whether a file of that size may hold it."""
        return self.text <= most_texts(size) and self.values <= most_values(size)


def manifest_to_bytes(commit: Commit) -> bytes:
    """The manifest of a commit.

    Raises:
        InvalidRequestError: nobody would read it.
    """
    written = _Written()
    data = _file(commit, "zstd", written)
    if not written.fits(len(data)):
        # What becomes very small is taken for a file that was made to fill all memory.
        data = _file(commit, "none", _Written())
    if len(data) > limits.CHECKPOINT_BYTES:
        raise InvalidRequestError(
            f"the records of {len(commit.added)} segments take {len(data)} bytes, and a manifest up to "
            f"{limits.CHECKPOINT_BYTES}; commit fewer segments at once (larger ones, fewer partitions)"
        )
    return data


def _file(commit: Commit, compression: str, written: _Written) -> bytes:
    sink = pa.BufferOutputStream()
    how = {"store_schema": False, "write_page_checksum": True, "write_statistics": False}
    with pq.ParquetWriter(
        sink, _SCHEMA, compression=compression, use_dictionary=False, **how
    ) as writer:
        for texts in _groups(_texts(commit.added), written):
            writer.write_table(pa.table([array_of(texts, pa.string())], schema=_SCHEMA))
    return bytes(sink.getvalue())


def _groups(texts: Iterable[bytes], written: _Written) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for data in texts:
        if size + len(data) > _GROUP_BYTES and group:
            yield group
            group, size = [], 0
        group.append(data.decode())
        size += len(data)
        written.text += len(data)
        written.values += count_values(group[-1])
    yield group


def _checksum(data: bytes) -> str:
    return f"crc32:{zlib.crc32(data):08x}"


def completed(commit: Commit, store: Store) -> Commit:
    """A commit with the records of the manifest that its entry names.

    Raises:
        CorruptTableError: the manifest is missing, damaged, or another one.
    """
    named = commit.manifest
    if named is None:
        return commit
    what = f"{store.url}/{named.path}"
    data = store.read(named.path, named.bytes)
    if data is None:
        raise CorruptTableError(
            f"{what} is missing, and version {commit.head.version} needs it; restore it from a copy"
        )
    if len(data) != named.bytes or _checksum(data) != named.checksum:
        raise CorruptTableError(
            f"{what} has {len(data)} bytes and the checksum {_checksum(data)}, and version "
            f"{commit.head.version} says {named.bytes} and {named.checksum[:50]}"
        )
    records = tuple(_records(data, what))
    manifest = replace(named, records=len(records))
    return replace(commit, added=commit.added + records, manifest=manifest)


def _records(data: bytes, what: str) -> Iterator[SegmentRecord]:
    left = most_values(len(data))
    for table in read_groups(data, what):
        if RECORD not in table.column_names or not pa.types.is_string(
            table.schema.field(RECORD).type
        ):
            raise CorruptTableError(f"{what} has no column {RECORD} of texts")
        for text in table[RECORD].to_pylist():
            left -= count_values(text or "")
            if left < 0:
                raise CorruptTableError(f"{what} holds more values than a file of its size may")
            yield _record(text, what)


def _record(text: str | None, what: str) -> SegmentRecord:
    value = parse_json(text or "null", f"a record of {what}")
    if not isinstance(value, dict):
        raise CorruptTableError(f"a record of {what} is not a JSON object")
    try:
        return record_from_json(value)
    except CorruptTableError as error:
        raise CorruptTableError(f"{what}: {error}") from None
    except RecursionError:
        raise CorruptTableError(f"{what} is nested too deep") from None


def most_values(size: int) -> int:
    """How many JSON values a manifest of a size may hold: each takes a multiple of its text."""
    return limits.JSON_VALUES + size
