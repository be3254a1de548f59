"""Manifests: segment records that are too large for their entry (FORMAT.md, section 8.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import limits
from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.bounded_files import (
    KEPT,
    check_attached,
    checksum,
    decoded_limit,
    dump_json,
    naming_file,
    read_groups,
)
from versioned_catalog.log.entry import Commit, Manifest
from versioned_catalog.log.features import MANIFEST, MANIFESTS, Features
from versioned_catalog.log.record import SegmentRecord, record_from_json, record_to_json
from versioned_catalog.log.segment_table import id_map_texts, shared_texts
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.id_map import IdMap, id_map_from_text
from versioned_catalog.storage.store import Store, new_name
from versioned_catalog.storage.text import count_values, parse_json

RECORD = "record"
_SCHEMA = pa.schema([pa.field(RECORD, pa.string(), nullable=False)])
_SCHEMA_OF_OTHERS = _SCHEMA.append(pa.field(KEPT, pa.dictionary(pa.int32(), pa.string())))
_GROUP_BYTES = 64 * limits.MIB
"""Bytes of text in a row group; readers hold one in memory at a time."""

_FEATURE = Features(frozenset({MANIFEST}), frozenset({MANIFEST}))


def write_manifest(commit: Commit, previous: Commit | None, store: Store) -> Commit:
    """Write the manifest of a commit whose records do not fit an entry; return the commit that names it.

    The manifest of ``previous``, the commit of the attempt before, serves again.

    Raises:
        InvalidRequestError: the records do not fit a manifest.
    """
    if previous is not None and previous.manifest and previous.added == commit.added:
        return _with_manifest(commit, previous.manifest)
    if fits_entry(commit.added):
        return commit
    data = manifest_to_bytes(commit)
    path = f"{MANIFESTS}/{new_name(commit.head.base_version, store.name_tag)}.parquet"
    with store.create(path) as sink:
        sink.write(data)
    return _with_manifest(commit, Manifest(path, len(data), checksum(data), len(commit.added)))


def _with_manifest(commit: Commit, manifest: Manifest) -> Commit:
    head = replace(commit.head, features=commit.head.features | _FEATURE)
    return replace(commit, head=head, manifest=manifest)


def fits_entry(records: Sequence[SegmentRecord]) -> bool:
    """Whether the records of a commit fit its entry."""
    maps = {record.id_map for record in records if record.id_map is not None}
    left = limits.MANIFEST_FROM - sum(4 * len(id_map.text) for id_map in maps)
    if sum(map(_longest, records)) <= left:
        return True
    for text in _texts(records):
        left -= len(text)
        if left < 0:
            return False
    return True


def _longest(record: SegmentRecord) -> int:
    """Upper bound of the bytes of a record's JSON: bounds have up to 64 characters of up to 6 bytes."""
    columns = len(record.columns) + len(record.constants)
    values = (*record.partition, *record.constants.values())
    return 1024 * (1 + columns) + 6 * sum(len(v or "") for v in values)


def _texts(records: Iterable[SegmentRecord]) -> Iterator[bytes]:
    return (dump_json(record_to_json(record)) for record in records)


@dataclass
class _Written:
    """Running size of a manifest: bytes of text, and JSON values in it."""

    text: int = 0
    values: int = 0

    def fits(self, size: int) -> bool:
        """Whether readers accept these records in a file of a size."""
        return self.text <= decoded_limit(size) and self.values <= most_values(size)


def manifest_to_bytes(commit: Commit) -> bytes:
    """Encode the manifest of a commit.

    Raises:
        InvalidRequestError: it is larger than readers accept.
    """
    written = _Written()
    data = _file(commit, "zstd", written)
    if not written.fits(len(data)):
        # Readers refuse a file that decompresses to very many times its size.
        data = _file(commit, "none", _Written())
    if len(data) > limits.CHECKPOINT_BYTES:
        raise InvalidRequestError(
            f"the records of {len(commit.added)} segments take {len(data)} bytes, and a manifest up to "
            f"{limits.CHECKPOINT_BYTES}; commit fewer segments at once (larger ones, fewer partitions)"
        )
    return data


def _file(commit: Commit, compression: str, written: _Written) -> bytes:
    sink = pa.BufferOutputStream()
    options: dict[str, Any] = {"store_schema": False, "write_page_checksum": True}
    options["write_statistics"] = False
    maps = [record.id_map for record in commit.added]
    with_maps = any(id_map is not None for id_map in maps)
    schema = _SCHEMA_OF_OTHERS if with_maps else _SCHEMA
    options |= {"use_dictionary": [KEPT] if with_maps else False}
    options |= {"dictionary_pagesize_limit": limits.CHECKPOINT_BYTES, "compression": compression}
    at = 0
    with pq.ParquetWriter(sink, schema, **options) as writer:
        for texts in _groups(_texts(commit.added), written):
            columns = [array_of(texts, pa.string())]
            if with_maps:
                columns.append(id_map_texts(maps[at : at + len(texts)]))
            writer.write_table(pa.table(columns, schema=schema))
            at += len(texts)
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


def read_manifest(commit: Commit, store: Store) -> Commit:
    """Add the records of the manifest that an entry names, if it names one.

    Raises:
        CorruptTableError: the manifest is missing or damaged.
    """
    named = commit.manifest
    if named is None:
        return commit
    url = f"{store.url}/{named.path}"
    data = store.read(named.path, named.bytes)
    if data is None:
        raise CorruptTableError(
            f"{url} is missing, and version {commit.head.version} needs it; restore it from a copy"
        )
    check_attached(data, named.bytes, named.checksum, url, f"version {commit.head.version}")
    records = tuple(_records(data, url))
    manifest = replace(named, records=len(records))
    return replace(commit, added=commit.added + records, manifest=manifest)


def _records(data: bytes, what: str) -> Iterator[SegmentRecord]:
    left = most_values(len(data))
    for table in read_groups(data, what):
        if RECORD not in table.column_names or not pa.types.is_string(
            table.schema.field(RECORD).type
        ):
            raise CorruptTableError(f"{what} has no column {RECORD} of texts")
        for text, id_map in zip(table[RECORD].to_pylist(), _id_maps(table, what), strict=True):
            left -= count_values(text or "")
            if left < 0:
                raise CorruptTableError(f"{what} holds more values than a file of its size may")
            yield _record(text, id_map, what)


def _id_maps(table: pa.Table, what: str) -> list[IdMap | None]:
    """The ID map of each row; each different one is parsed once."""
    if KEPT not in table.column_names:
        return [None] * table.num_rows
    column = table[KEPT]
    if not (pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)):
        raise CorruptTableError(f"{what} has a column {KEPT} of something else than texts")
    texts = shared_texts(column)
    maps = {text: id_map_from_text(text) for text in {*texts} if text is not None}
    return [None if text is None else maps[text] for text in texts]


def _record(text: str | None, id_map: IdMap | None, what: str) -> SegmentRecord:
    value = parse_json(text or "null", f"a record of {what}")
    if not isinstance(value, dict):
        raise CorruptTableError(f"a record of {what} is not a JSON object")
    with naming_file(what):
        return record_from_json(value, id_map)


def most_values(size: int) -> int:
    """Number of JSON values that readers accept in a manifest of a size; each takes memory."""
    return limits.JSON_VALUES + size
