"""Checkpoints: the whole state at a version, as one Parquet file (FORMAT.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import (
    check_version,
)
from versioned_catalog.log import times
from versioned_catalog.log.bounded_files import (
    naming_file,
)
from versioned_catalog.log.branches import (
    branches_from_json,
    branches_to_json,
    on_branch_from_json,
    on_branch_to_json,
)
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
from versioned_catalog.log.segment_columns import ColumnFile, SegmentColumns
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.segment_table import (
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
from versioned_catalog.log.state_files import file_to_bytes, state_file
from versioned_catalog.model.arrow import TRUE, one_array, truths
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import Json, check_members, member, optional, texts


def state_to_bytes(state: TableState) -> bytes:
    """The checkpoint of a state."""
    table, packed = state.segments.table(state.schemas, state.schema_version)
    return file_to_bytes(table, state_to_json(state, packed))


def state_from_bytes(data: bytes, what: str) -> TableState:
    """The state of a checkpoint.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
    """
    file = state_file(data, what)
    with naming_file(what):
        columns = file.columns
        if file.checksum:
            version = member(file.value, "version", int)
            columns = columns.held_by(ColumnFile(version, False, file.checksum, file.rows))
        return state_from_json(file.value, _segments(columns, _packed(file.value)))


def _packed(value: Json) -> tuple[int, ...]:
    """IDs of the columns in the lists of statistics."""
    ids = tuple(optional(value, "statistics", list) or ())
    if not all(type(column_id) is int for column_id in ids) or len(set(ids)) < len(ids):
        raise CorruptTableError("the member 'statistics' is not a list of different column IDs")
    return ids


def _segments(columns: SegmentColumns, packed: tuple[int, ...]) -> SegmentSet:
    if packed:
        check_lists(columns, len(packed))
    return SegmentSet.of(columns, packed)


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
