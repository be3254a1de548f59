"""States in files: checkpoints, kept states, deltas and the hint (FORMAT.md, sections 8, 8.2, 9)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .documents import check_features, checkpoint_checksum, members, parse
from .objects import check_objects
from .problems import Corrupt
from .schemas import kept_schemas
from .segment_records import RECORD, Segment, check_record
from .state import State, checked_mark

REQUIRED = (
    "format features table_uuid version commit_id time created_version first_schema_version dropped"
    " schemas schema_version properties comment next_column_id fence floor applications"
)
OPTIONAL = (
    "tags tags_kept pins consumers branches roots branch imported adoptions created_uuid statistics"
    " older_schemas files removed marks next_row_id"
)
DELTA = {"files", "removed", "marks"}
ROW_IDS = {"first_row_id": "first", "row_updated": "updated", "row_ids_stored": "stored"}
Rows = list[dict[str, Any]]


def read_file(path: Path) -> tuple[dict[str, Any], Rows, str | None]:
    """The JSON object, the rows and the checksum of a checkpoint or delta."""
    try:
        data = path.read_bytes()
        checksum = checkpoint_checksum(data)
        file = pq.ParquetFile(io.BytesIO(data))
        document = parse(file.schema_arrow.metadata[b"versioned.state"], path.name)
        names = [*RECORD.split(), "sequence", "ordinal", "partition", "checksum", "extra"]
        more = ("id_map", "constants", "mark", *ROW_IDS)
        names += [name for name in more if name in file.schema_arrow.names]
        rows: Rows = file.read(columns=names).to_pylist()
    except (OSError, KeyError, TypeError, pa.ArrowException) as error:
        raise Corrupt(f"{path.name}: {error!r}") from error
    features = check_features(document, path.name)
    check_objects(members(document, REQUIRED, OPTIONAL, path.name), path.name)
    if document["version"] != int(path.name.split(".")[0]):
        raise Corrupt(f"{path.name} is of version {document['version']}")
    if checksum is None and ("checksums" in features or DELTA.issubset(document)):
        raise Corrupt(f"{path.name} has no checksum")
    return document, rows, checksum


def segment_of(row: dict[str, Any]) -> Segment:
    record = {
        name: row[name]
        for name in [*RECORD.split(), "partition", "checksum"]
        if row[name] is not None
    }
    record |= parse(row["extra"], "extra") if row["extra"] else {}
    for name in ("id_map", "constants"):
        if row.get(name) is not None:
            record[name] = parse(row[name], name)
    row_ids = {member: row[name] for name, member in ROW_IDS.items() if row.get(name) is not None}
    record |= {"row_ids": row_ids} if row_ids else {}
    return Segment(check_record(record), row["sequence"], row["ordinal"])


def state_of(document: dict[str, Any], rows: Rows) -> State:
    features = check_features(document, "a checkpoint") - {"schema-deltas"}
    state = State(
        features=features,
        schemas=kept_schemas(document["schemas"], document.get("older_schemas", [])),
        **{
            name: document[name]
            for name in (
                *("table_uuid", "version", "time", "schema_version"),
                *("properties", "floor", "dropped"),
            )
        },
        **{name: document.get(name, {}) for name in ("tags", "pins", "branches")},
        next_row_id=document.get("next_row_id", 0),
    )
    segments = [segment_of(row) for row in rows]
    state.segments = {segment.path: segment for segment in segments}
    if len(state.segments) < len(segments):
        raise Corrupt("a checkpoint with two rows of one path")
    for row in rows:
        if row.get("mark") is not None:
            state.marks[row["path"]] = checked_mark(
                state, row["path"], parse(row["mark"], "a mark")
            )
    return state


def read_checkpoint(path: Path) -> State:
    document, rows, _ = read_file(path)
    if DELTA & set(document):
        raise Corrupt(f"{path.name}: a delta in place of a checkpoint")
    return state_of(document, rows)


def read_delta(log: Path, version: int) -> State:
    """The state of a delta: rows of the files that it names, but the removed ones, and its own."""
    document, own, _ = read_file(log / "delta" / f"{version:020}.parquet")
    removed, marks = set(document["removed"]), document["marks"]
    rows: Rows = []
    for file in document["files"]:
        members(file, "version delta checksum rows", "", "a file of a delta")
        kind = "delta" if file["delta"] else "checkpoint"
        _, part, checksum = read_file(log / kind / f"{file['version']:020}.parquet")
        if checksum != file["checksum"] or len(part) != file["rows"]:
            raise Corrupt(f"the delta {version}: its {kind} {file['version']} is another file")
        rows += part
    if not all(0 <= number < len(rows) for number in [*removed, *map(int, marks)]):
        raise Corrupt(f"the delta {version} names a row that its files do not have")
    for number, mark in marks.items():
        rows[int(number)]["mark"] = mark
    return state_of(
        document, [row for number, row in enumerate(rows) if number not in removed] + own
    )


def hinted_deltas(log: Path) -> list[int]:
    """The deltas that the hint names; none if the hint says nothing, which only costs time."""
    try:
        deltas = json.loads((log / "last_checkpoint.json").read_bytes()).get("deltas", [])
        return [delta for delta in deltas if isinstance(delta, int)]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def newest_stored(log: Path, version: int) -> State | None:
    """The newest readable stored state at or below a version, of the folders that any reader may use."""
    checkpoints = [int(path.stem) for path in (log / "checkpoint").glob("[0-9]*.parquet")]
    stored = [(number, "checkpoint") for number in checkpoints]
    stored += [(number, "delta") for number in hinted_deltas(log)]
    for number, kind in sorted(stored, reverse=True):
        if number <= version:
            try:
                if kind == "delta":
                    return read_delta(log, number)
                return read_checkpoint(log / kind / f"{number:020}.parquet")
            except (Corrupt, LookupError, ValueError, AttributeError, TypeError):
                continue  # as if it were not there
    return None
