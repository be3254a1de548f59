"""Opening the file of a segment, of the table or of others (FORMAT.md, sections 1, 6.1, 6.2, 18)."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from .documents import crc32
from .problems import Corrupt, Unavailable, Unsupported
from .row_ids import ROW_IDS
from .schemas import columns_in_file
from .segment_records import Segment
from .state import State
from .types import Column

EXTERNAL = re.compile(r"root:([a-z0-9][a-z0-9_-]{0,63})(@\d+)?/(.+)")
OWN_NAME = re.compile(r"data/\d+-([0-9a-f]{32})\.parquet")


@dataclass(frozen=True)
class Places:
    """The folder of the table, and the folders of roots as this reader is configured."""

    table: Path
    roots: Mapping[str, Path] = field(default_factory=dict)

    def resolve(self, path: str) -> Path:
        base, relative = self.table, path
        if path.startswith("root:"):
            match = EXTERNAL.fullmatch(path)
            if not match:
                raise Corrupt(f"the path {path}")
            if match[1] not in self.roots:
                raise Unavailable(f"{path}: this reader has no root {match[1]}")
            base, relative = self.roots[match[1]], match[3]
        parts = relative.split("/")
        if {"", ".", ".."} & set(parts) or re.search(r"[\\\x00-\x1f\x7f-\x9f]", relative):
            raise Corrupt(f"the path {path}")
        resolved = (base / PurePosixPath(relative)).resolve()
        if not resolved.is_relative_to(base.resolve()):
            raise Corrupt(f"{path} leads outside its folder")
        if path.startswith("root:") and any(
            resolved.is_relative_to((self.table / name).resolve())
            for name in ("data", "_versioned")
        ):
            raise Corrupt(f"{path} leads into the table")
        return resolved


def read_segment(
    segment: Segment, state: State, places: Places
) -> tuple[pa.Table, tuple[Column, ...]]:
    """All that the file holds, and the columns of its schema version that are in it."""
    record, path = segment.record, segment.path
    try:
        data = places.resolve(path).read_bytes()
        micros = {"coerce_int96_timestamp_unit": "us"}
        table = pq.ParquetFile(io.BytesIO(data), **micros).read(use_threads=False)
        stored = pq.read_metadata(io.BytesIO(data))
    except FileNotFoundError as error:
        raise Corrupt(f"{path} is missing") from error
    except (OSError, pa.ArrowException) as error:
        raise Corrupt(f"{path}: {error}") from error
    if stored.num_rows != record["rows"] or table.num_rows != record["rows"]:
        raise Corrupt(f"{path} has other rows than its record says")
    if "checksum" in record and crc32(data) != record["checksum"]:
        raise Corrupt(f"{path}: wrong checksum")
    schema = state.schemas[record["schema_version"]]
    columns = columns_in_file(schema, record.get("id_map"))
    own = OWN_NAME.fullmatch(path)
    if "id_map" in record or path.startswith("root:"):
        if len(data) != record["bytes"]:
            raise Corrupt(f"{path} has another size than its record says")
        if "id_map" not in record and not path.startswith("root:this-warehouse"):
            raise Corrupt(f"{path}: a file of others without an ID map")
        check_codec(record.get("id_map", {}), path)
    elif own is None:
        raise Corrupt(f"the path {path}")
    else:
        check_footer(own[1], record["schema_version"], state, stored.metadata or {}, path)
    if "id_map" not in record:
        fields = [(column.physical, column.id) for column in columns]
        fields += [("__sequence", 2147483646)] if "sequences" in record else []
        fields += [("__op_type", 2147483647)] if "ops" in record else []
        if "stored" in record.get("row_ids", {}):
            fields += [(column.physical, column.id) for column in ROW_IDS]
        for name, identity in fields:
            check_field(table, name, identity, path)
    return table.combine_chunks(), columns


def check_codec(id_map: dict[str, object], path: str) -> None:
    if id_map.get("codec") not in (None, "brotli"):
        raise Unsupported(f"{path}: the codec {id_map['codec']}")


def check_footer(
    uuid: str, version: int, state: State, footer: dict[bytes, bytes], path: str
) -> None:
    """Whose file it is. Deep clones and branches have files of other tables and schema versions."""
    if uuid[12] == "d":
        return
    if footer.get(b"versioned.table_uuid") != state.table_uuid.encode():
        raise Corrupt(f"{path} is a file of another table")
    if uuid[12] != "b" and footer.get(b"versioned.schema_version") != str(version).encode():
        raise Corrupt(f"{path} is of another schema version than its record says")


def check_field(table: pa.Table, name: str, identity: int, path: str) -> None:
    if table.schema.names.count(name) != 1:
        raise Corrupt(f"{path}: no column {name}")
    stored = (table.schema.field(name).metadata or {}).get(b"PARQUET:field_id")
    if stored != str(identity).encode():
        raise Corrupt(f"{path}: {name} has the field ID {stored!r}, not {identity}")
