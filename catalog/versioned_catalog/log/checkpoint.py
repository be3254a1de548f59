"""Checkpoints: the whole state at a version, as one Parquet file (FORMAT.md, section 8)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

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
    check_version,
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
from versioned_catalog.log.branches import (
    branches_from_json,
    branches_to_json,
    on_branch_from_json,
    on_branch_to_json,
)
from versioned_catalog.log.clones import cloned_from
from versioned_catalog.log.entry import (
    applications_from_json,
    applications_to_json,
    consumers_from_json,
    consumers_to_json,
)
from versioned_catalog.log.entry_json import (
    column_id_from_json,
    pins_from_json,
    pins_to_json,
    tags_from_json,
    tags_kept_from_json,
    tags_kept_to_json,
)
from versioned_catalog.log.features import (
    APPLICATION_RETENTION,
    CHECKSUMS,
    FORMAT,
    MARKS,
    features_from_json,
    features_to_json,
)
from versioned_catalog.log.ledger import ledger_from_json, ledger_to_json
from versioned_catalog.log.record import MOST_ROW_IDS
from versioned_catalog.log.schemas import (
    checkpoint_features,
    schemas_from_json,
    schemas_to_json,
    without_checkpoint_features,
)
from versioned_catalog.log.segment_columns import ColumnFile, Run, SegmentColumns
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.segment_table import (
    CORE,
    OPTIONAL,
    check_box_column,
    check_lists,
    statistic_type,
)
from versioned_catalog.log.state import (
    TableState,
    check_not_keyed,
    check_pins,
    check_resolved,
    check_tags_kept,
)
from versioned_catalog.model.arrow import TRUE, one_array, truths
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import Json, check_members, member, optional, texts
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


def state_to_bytes(state: TableState) -> bytes:
    """The checkpoint of a state."""
    table, packed = state.segments.table(state.schemas, state.schema_version)
    return file_to_bytes(table, state_to_json(state, packed))


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


def state_from_bytes(data: bytes, what: str) -> TableState:
    """The state of a checkpoint.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    file, value = checked_file(data, what)
    with naming_file(what):
        sum_ = recorded_checksum(data)
        stored = ColumnFile(member(value, "version", int), False, sum_, file.rows)
        columns = columns_of_file(file, what, stored if sum_ else None)
        # Damage must be found now, while older checkpoints and the log can take its place.
        columns = columns if sum_ else columns.decoded()
        return state_from_json(value, _segments(columns, _packed(value)))


def checked_file(data: bytes, what: str) -> tuple[BoundedFile, dict[str, Json]]:
    """The rows of a checkpoint or of a delta, not decoded yet, and its JSON object.

    Raises:
        CorruptTableError, UnsupportedFeatureError: as ``state_from_bytes``.
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


def _packed(value: Json) -> tuple[int, ...]:
    """IDs of the columns in the lists of statistics."""
    ids = tuple(optional(value, "statistics", list) or ())
    if not all(type(column_id) is int for column_id in ids) or len(set(ids)) < len(ids):
        raise CorruptTableError("the member 'statistics' is not a list of different column IDs")
    return ids


def columns_of_file(file: BoundedFile, what: str, stored: ColumnFile | None) -> SegmentColumns:
    """The columns of a checkpoint or delta; those of statistics are decoded when they are used."""
    types = {field.name: plain_type(field.type) for field in file.schema}
    core = file.read([name for name in types if name in CORE.names])
    runs = [
        Run(rows, types, functools.partial(_of_group, file, group, what), stored)
        for group, rows in enumerate(file.group_rows)
    ]
    if not runs:  # the types of its columns count
        runs.append(Run.empty(types, stored))
    return SegmentColumns(runs, {name: core[name] for name in core.column_names})


def _of_group(file: BoundedFile, group: int, what: str, name: str) -> pa.ChunkedArray:
    with naming_file(what):
        return file.read([name], group)[name]


def _segments(columns: SegmentColumns, packed: tuple[int, ...]) -> SegmentSet:
    columns = normalised(columns)
    if packed:
        check_lists(columns, len(packed))
    return SegmentSet.of(columns, packed)


def normalised(columns: SegmentColumns) -> SegmentColumns:
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


def _typed(segments: SegmentSet, schema: Schema) -> SegmentSet:
    """The segments with statistics of their columns' types: Parquet stores intervals as integers.

    Raises:
        CorruptTableError: statistics have another type than their column.
    """
    base, types = segments.base, {}
    for name, stored in base.types.items():
        check_box_column(name, stored)
        column_id, _, kind = name.partition(".")
        if column_id.isdecimal() and int(column_id) in schema.ids:
            wanted = statistic_type(kind, held(schema.column(int(column_id))).type)
            if pa.types.is_duration(wanted) and pa.types.is_int64(stored):
                types[name] = wanted
            elif stored != wanted:
                raise CorruptTableError(f"the column {name} is not {wanted}")
    return replace(segments, base=base.with_types(types)) if types else segments


def state_to_json(state: TableState, packed: tuple[int, ...] = ()) -> dict[str, Json]:
    """The JSON object of a checkpoint; ``packed`` are the IDs of the columns in lists of statistics."""
    replaced = state.created_uuid != state.table_uuid
    return {
        "format": FORMAT,
        "features": features_to_json(state.features | checkpoint_features(state.schemas)),
        "table_uuid": state.table_uuid,
        **({"created_uuid": state.created_uuid} if replaced else {}),
        "version": state.version,
        "commit_id": state.commit_id,
        "time": times.time_to_text(state.time),
        "created_version": state.created_version,
        "first_schema_version": state.first_schema_version,
        "dropped": state.dropped,
        **schemas_to_json(state.schemas),
        "schema_version": state.schema_version,
        "properties": dict(state.properties),
        "comment": state.comment,
        "next_column_id": state.next_column_id,
        **({"next_row_id": state.next_row_id} if state.next_row_id else {}),
        "fence": state.fence,
        "floor": state.floor,
        "applications": applications_to_json(state.applications),
        "tags": dict(state.tags),
        **({"tags_kept": tags_kept_to_json(state.tags_kept)} if state.tags_kept else {}),
        **({"pins": pins_to_json(state.pins)} if state.pins else {}),
        **({"consumers": consumers_to_json(state.consumers)} if state.consumers else {}),
        **({"branches": branches_to_json(state.branches)} if state.branches else {}),
        **({} if state.branch is None else {"branch": on_branch_to_json(state.branch)}),
        **({"roots": dict(state.roots)} if state.roots else {}),
        **({"imported": ledger_to_json(state.ledger)} if state.ledger else {}),
        **({"adoptions": state.adoptions} if state.adoptions else {}),
        **({"statistics": list(packed)} if packed else {}),
    }


_MEMBERS = frozenset(
    {
        *("format", "features", "table_uuid", "created_uuid", "version", "commit_id", "time"),
        *("created_version", "first_schema_version", "dropped", "schemas", "older_schemas"),
        *("schema_version", "properties", "comment", "next_column_id", "fence", "floor"),
        *("applications", "tags", "tags_kept", "pins", "consumers", "roots", "statistics"),
        *("imported", "adoptions", "branches", "branch", "next_row_id"),
    }
)


def state_from_json(value: Json, segments: SegmentSet) -> TableState:
    """The state of a checkpoint or delta, from its JSON object and its segments.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    check_members(value, _MEMBERS)
    features = features_from_json({"features": member(value, "features", dict)})
    schemas = schemas_from_json(value, features)
    state = TableState(
        table_uuid=member(value, "table_uuid", str),
        created_uuid=optional(value, "created_uuid", str) or member(value, "table_uuid", str),
        version=check_version(member(value, "version", int)),
        commit_id=member(value, "commit_id", str),
        time=times.time_from_text(member(value, "time", str)),
        created_version=check_version(member(value, "created_version", int)),
        first_schema_version=member(value, "first_schema_version", int),
        dropped=member(value, "dropped", bool),
        schemas=schemas,
        schema_version=member(value, "schema_version", int),
        properties=texts(member(value, "properties", dict)),
        comment=optional(value, "comment", str),
        next_column_id=column_id_from_json(value),
        next_row_id=optional(value, "next_row_id", int) or 0,
        fence=check_version(member(value, "fence", int), "fence"),
        floor=check_version(member(value, "floor", int), "floor"),
        applications=applications_from_json(
            member(value, "applications", dict),
            member(value, "version", int),
            with_versions=APPLICATION_RETENTION in features.read,
        ),
        tags=tags_from_json(optional(value, "tags", dict) or {}, member(value, "version", int)),
        tags_kept=tags_kept_from_json(optional(value, "tags_kept", dict) or {}),
        pins=pins_from_json(optional(value, "pins", dict) or {}),
        consumers=consumers_from_json(
            optional(value, "consumers", dict) or {}, member(value, "version", int)
        ),
        branches=branches_from_json(
            optional(value, "branches", dict) or {}, member(value, "version", int)
        ),
        branch=on_branch_from_json(value["branch"]) if "branch" in value else None,
        roots=texts(optional(value, "roots", dict) or {}),
        ledger=ledger_from_json(optional(value, "imported", dict) or {}),
        adoptions=optional(value, "adoptions", int) or 0,
        segments=segments,
        features=without_checkpoint_features(features),
    )
    used = set(segments.base["schema_version"].unique().to_pylist())
    check_pins(state)
    check_tags_kept(state)
    if state.schema_version not in schemas or not all(version in schemas for version in used):
        raise CorruptTableError("segments, or the table, have a schema version that is not defined")
    highest, next_id = schemas.highest_id, state.next_column_id
    if highest >= next_id:
        raise CorruptTableError(f"next_column_id is {next_id}, but column {highest} exists")
    _check_row_ids(state)
    if segments.has_marks:
        if MARKS not in features.read & features.write:
            raise CorruptTableError(f"segments have marks without the feature {MARKS}")
        marked = truths(pc.is_valid(one_array(segments.column("mark"))))
        check_resolved(state, segments.resolved_versions[marked])
    first = pc.index(pc.is_valid(segments.base["id_map"]), TRUE).as_py()
    for path in segments.base["path"].slice(max(first, 0), min(first + 1, 1)).to_pylist():
        check_not_keyed(path, True, state.schema)
    return replace(state, segments=_typed(segments, state.schema))


def _check_row_ids(state: TableState) -> None:
    """Refuse segments without row IDs in a table with them, and row IDs that are free.

    Raises:
        CorruptTableError: saying which.
    """
    if not 0 <= state.next_row_id <= MOST_ROW_IDS:
        raise CorruptTableError("next_row_id is out of range")
    if not state.has_row_ids or not state.segments.count:
        return
    first, rows = (state.segments.column(name) for name in ("first_row_id", "rows"))
    if first.null_count:
        raise CorruptTableError("a segment has no row IDs, and the table has some")
    if pc.max(pc.add(first, rows)).as_py() > state.next_row_id:
        raise CorruptTableError("a segment has row IDs that the table has not assigned")


NEWEST = 2
"""Number of newest checkpoints that are always retained."""

SHARE = 16
"""Older checkpoints lie apart at least 1/SHARE of the versions since them."""

FEWEST, MOST = 16, 256
"""Least and greatest number of versions that must lie between two older checkpoints."""

TIMES, BYTES = 8, 16 * 1024 * 1024
"""Older checkpoints together take at most TIMES the bytes of the newest one, or BYTES if more."""


def retained_checkpoints(sizes: Mapping[int, int], floor: int = 0) -> frozenset[int]:
    """The versions whose checkpoints are retained: the newest two, and older ones at growing distances.

    ``sizes`` are in bytes, by version. Checkpoints below ``floor`` are of no use.
    """
    versions = sorted(sizes)
    newest = versions[-NEWEST:]
    older = [version for version in versions[:-NEWEST] if version >= floor]
    room = max(BYTES, TIMES * sizes[versions[-1]]) if versions else 0
    most = MOST
    kept = _thinned(older, versions[-1], most) if older else []
    while sum(sizes[version] for version in kept) > room:
        most *= 2
        kept = _thinned(older, versions[-1], most)
        if most > versions[-1]:
            kept = [version for version in kept if sizes[version] <= room][:1]
    return frozenset((*kept, *newest))


def _thinned(versions: Iterable[int], newest: int, most: int) -> list[int]:
    """Thin out versions, keeping the first, to the distances that their age allows."""
    kept: list[int] = []
    for version in versions:
        wide = max((newest - version) // SHARE * most // MOST, FEWEST)
        if not kept or version - kept[-1] >= min(wide, most):
            kept.append(version)
    return kept
