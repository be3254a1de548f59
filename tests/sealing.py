"""Entries that a test has edited, with the checksum that belongs to them (FORMAT.md, section 5.1)."""

from __future__ import annotations

import io
import json
import re
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def sealed(value: dict[str, Any]) -> str:
    """The JSON of an entry, stub or checkpoint of a warehouse, and the checksum of its bytes."""
    bare = {name: member for name, member in value.items() if name != "checksum"}
    return _with_checksum(json.dumps(bare)[:-1])


def resealed(text: str) -> str:
    """The text of an entry that was edited as text."""
    return _with_checksum(text[: text.rindex(',"checksum":"crc32:')])


def _with_checksum(text: str) -> str:
    return f'{text},"checksum":"crc32:{zlib.crc32(text.encode()):08x}"}}'


def unsealed(value: dict[str, Any]) -> dict[str, Any]:
    """An entry as one that an earlier version of the library wrote."""
    bare = {name: member for name, member in value.items() if name != "checksum"}
    if "features" in bare:
        write = [name for name in bare["features"]["write"] if name != "checksums"]
        bare["features"] = {**bare["features"], "write": write}
    return bare


_CHECKSUM = re.compile(rb"\x18\x12versioned\.checksum\x18\x0ecrc32:([0-9a-f]{8})\x00")


def sealed_file(data: bytes) -> bytes:
    """A checkpoint with the right checksum in its footer (section 8); it has some checksum already."""
    *_, found = _CHECKSUM.finditer(data)
    before, after = data[: found.start(1)], data[found.end(1) :]
    crc = zlib.crc32(before + b"00000000" + after)
    return before + f"{crc:08x}".encode() + after


def sealed_checkpoint(rows: pa.Table, state: dict[str, Any]) -> bytes:
    """A checkpoint of these rows and this JSON object."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        kept = {"versioned.state": json.dumps(state), "versioned.checksum": "crc32:00000000"}
        writer.add_key_value_metadata(kept)
    return sealed_file(sink.getvalue())
