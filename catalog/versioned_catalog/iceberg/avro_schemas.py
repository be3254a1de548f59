"""Avro schemas of manifests and manifest lists, as Iceberg's specification has them."""

from __future__ import annotations

from collections.abc import Sequence

from versioned_catalog.iceberg.types import Json


def _required(name: str, type_: Json, field_id: int) -> Json:
    return {"name": name, "type": type_, "field-id": field_id}


def _optional(name: str, type_: Json, field_id: int) -> Json:
    return {"name": name, "type": ["null", type_], "default": None, "field-id": field_id}


def _by_column(key_id: int, value_id: int, type_: str) -> Json:
    """A map from column IDs, which Avro has no maps for."""
    fields = [_required("key", "int", key_id), _required("value", type_, value_id)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return {"type": "array", "items": record, "logicalType": "map"}


def entry_schema(partition: Sequence[Json], format_version: int) -> Json:
    """The schema of manifest entries whose partition has these fields."""
    data_file = [
        _required("content", "int", 134),
        _required("file_path", "string", 100),
        _required("file_format", "string", 101),
        _required("partition", _record("r102", partition), 102),
        _required("record_count", "long", 103),
        _required("file_size_in_bytes", "long", 104),
        _optional("value_counts", _by_column(119, 120, "long"), 109),
        _optional("null_value_counts", _by_column(121, 122, "long"), 110),
        _optional("nan_value_counts", _by_column(138, 139, "long"), 137),
        _optional("lower_bounds", _by_column(126, 127, "bytes"), 125),
        _optional("upper_bounds", _by_column(129, 130, "bytes"), 128),
    ]
    if format_version >= 3:
        data_file += [
            _optional("first_row_id", "long", 142),
            _optional("referenced_data_file", "string", 143),
            _optional("content_offset", "long", 144),
            _optional("content_size_in_bytes", "long", 145),
        ]
    fields = [
        _required("status", "int", 0),
        _optional("snapshot_id", "long", 1),
        _optional("sequence_number", "long", 3),
        _optional("file_sequence_number", "long", 4),
        _required("data_file", _record("r2", data_file), 2),
    ]
    return _record("manifest_entry", fields)


def _record(name: str, fields: Sequence[Json]) -> Json:
    return {"type": "record", "name": name, "fields": list(fields)}


def list_schema(format_version: int) -> Json:
    """The schema of the rows of a manifest list."""
    summary = [
        _required("contains_null", "boolean", 509),
        _optional("contains_nan", "boolean", 518),
        _optional("lower_bound", "bytes", 510),
        _optional("upper_bound", "bytes", 511),
    ]
    summaries = {"type": "array", "items": _record("r508", summary), "element-id": 508}
    fields = [
        _required("manifest_path", "string", 500),
        _required("manifest_length", "long", 501),
        _required("partition_spec_id", "int", 502),
        _required("content", "int", 517),
        _required("sequence_number", "long", 515),
        _required("min_sequence_number", "long", 516),
        _required("added_snapshot_id", "long", 503),
        _required("added_files_count", "int", 504),
        _required("existing_files_count", "int", 505),
        _required("deleted_files_count", "int", 506),
        _required("added_rows_count", "long", 512),
        _required("existing_rows_count", "long", 513),
        _required("deleted_rows_count", "long", 514),
        _optional("partitions", summaries, 507),
    ]
    if format_version >= 3:
        fields.append(_optional("first_row_id", "long", 520))
    return _record("manifest_file", fields)
