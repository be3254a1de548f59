"""Partitionings as Iceberg's partition specs, and the Avro schemas of its manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.model.iceberg import Json
from versioned_catalog.model.iceberg_values import avro_type, partition_value
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.transforms import (
    Bucket,
    Days,
    Hours,
    Identity,
    Months,
    Transform,
    Truncate,
    Years,
    parse_transform,
    result_type,
)
from versioned_catalog.model.types import (
    Atom,
    DataType,
    Decimal,
    Family,
    LeafType,
    NestedType,
    family,
)

FIRST_FIELD_ID = 1000
UNPARTITIONED = 0
"""ID of the spec without fields, which every published table has."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class SpecField:
    """A field of a partition spec."""

    source: int
    transform: str
    id: int
    name: str


@dataclass(frozen=True)
class Layout:
    """The partition layout that the files of a manifest share.

    Args:
        spec_id: ID of the partition spec.
        fields: its fields.
        types: the types of the partition values.
    """

    spec_id: int = UNPARTITIONED
    fields: tuple[SpecField, ...] = ()
    types: tuple[LeafType, ...] = ()

    def avro_fields(self) -> list[Json]:
        """The fields of the partition in the Avro schema of manifest entries."""
        return [
            _optional(field.name, avro_type(type_, field.id), field.id)
            for field, type_ in zip(self.fields, self.types, strict=True)
        ]

    def record(self, partition: Sequence[str | None]) -> dict[str, Any]:
        """A segment's partition as the Avro writer takes it; empty without fields."""
        texts = partition if self.fields else ()
        return {
            field.name: None if text is None else partition_value(text, type_)
            for field, type_, text in zip(self.fields, self.types, texts, strict=True)
        }


@dataclass(frozen=True)
class Specs:
    """The partition specs of a published table, by ID."""

    specs: tuple[tuple[SpecField, ...], ...] = ((),)

    @staticmethod
    def from_json(value: Sequence[Json]) -> Specs:
        """Read the specs that ``to_json`` wrote."""
        return Specs(tuple(tuple(map(_field_of, spec["fields"])) for spec in value))

    def to_json(self) -> list[Json]:
        """The specs as table metadata holds them."""
        return [
            {"spec-id": number, "fields": fields_json(fields)}
            for number, fields in enumerate(self.specs)
        ]

    @property
    def last_field_id(self) -> int:
        """The greatest field ID."""
        return FIRST_FIELD_ID - 1 + len({field.id for spec in self.specs for field in spec})

    def including(self, schema: Schema) -> tuple[Specs, int]:
        """Return the specs with that of a schema, and its ID."""
        number = self.find(schema)
        if number is not None:
            return self, number
        by_source = {(f.source, f.transform): f for spec in self.specs for f in spec}
        spec = list[SpecField]()
        for part in schema.partitioning:
            field = by_source.get((part.source, part.transform))
            if field is None:
                field_id = FIRST_FIELD_ID + len(by_source)
                name = _name(schema, part, field_id)
                field = SpecField(part.source, part.transform, field_id, name)
                by_source[part.source, part.transform] = field
            spec.append(field)
        return replace(self, specs=(*self.specs, tuple(spec))), len(self.specs)

    def find(self, schema: Schema) -> int | None:
        """Return the ID of a schema's spec; None if there is none yet.

        DuckDB 1.5 fails to compare truncated decimals with a negative one, so those have no spec.
        """
        if any(_truncates_decimal(schema, part) for part in schema.partitioning):
            return UNPARTITIONED
        wanted = [(part.source, part.transform) for part in schema.partitioning]
        for number, spec in enumerate(self.specs):
            if [(field.source, field.transform) for field in spec] == wanted:
                return number
        return None

    def layout(self, spec_id: int, schema: Schema) -> Layout:
        """The layout of files that were written under a schema, by the ID of their spec."""
        if spec_id == UNPARTITIONED:
            return Layout()
        types = tuple(_result_type(schema, part) for part in schema.partitioning)
        return Layout(spec_id, self.specs[spec_id], types)


def _truncates_decimal(schema: Schema, part: PartitionField) -> bool:
    truncates = isinstance(parse_transform(part.transform), Truncate)
    return truncates and isinstance(schema.column(part.source).type, Decimal)


def fields_json(fields: Sequence[SpecField]) -> list[Json]:
    """The fields of one spec, as table metadata and manifests hold them."""
    return [
        {
            "source-id": field.source,
            "field-id": field.id,
            "name": field.name,
            "transform": transform_name(field.transform),
        }
        for field in fields
    ]


def _field_of(value: Json) -> SpecField:
    transform = transform_of(value["transform"])
    return SpecField(value["source-id"], transform, value["field-id"], value["name"])


_UNITS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_OURS = {name: ours for ours, name in _UNITS.items()}


def transform_name(transform: str) -> str:
    """The name of a transform in Iceberg.

    >>> transform_name("bucket(16)"), transform_name("days")
    ('bucket[16]', 'day')
    """
    return _UNITS.get(transform, transform.replace("(", "[").replace(")", "]"))


def transform_of(name: str) -> str:
    """The transform that a name in Iceberg stands for; of other names there may be none."""
    return _OURS.get(name, name.replace("[", "(").replace("]", ")"))


def _name(schema: Schema, part: PartitionField, field_id: int) -> str:
    """A name that no column has or is likely to get: Iceberg refuses specs that share one."""
    source = _UNSAFE.sub("_", "_".join(schema.path(part.source)))
    return f"_p{field_id}_{source}_{part.transform.partition('(')[0]}"


def _result_type(schema: Schema, part: PartitionField) -> LeafType:
    """The type of a field's partition values, as Iceberg has it."""
    transform = parse_transform(part.transform)
    type_ = result_type(transform, schema.column(part.source).type)
    assert not isinstance(type_, NestedType)
    return Atom.DATE if isinstance(transform, Days) else type_


def is_portable(schema: Schema, wanted: Schema, partition: Sequence[str | None]) -> bool:
    """Whether every engine prunes right by a partition, which was written under a schema.

    Not so, and such a segment is published without partition values:

    - a truncated number below its type's range: the least value here, others elsewhere;
    - dates and times outside the years 1 to 9999: readers in Python fail at the whole manifest;
    - times before 1970: DuckDB 1.5 rounds their year, month, day and hour towards 1970;
    - a source that ``wanted``, the schema of the snapshot, lacks: DuckDB 1.5 finds no such column.
    """
    for part, text in zip(schema.partitioning, partition, strict=True):
        if part.source not in wanted.visible.ids:
            return False
        transform, type_ = parse_transform(part.transform), schema.column(part.source).type
        if text is not None and not _is_portable(transform, type_, text):
            return False
    return True


def _is_portable(transform: Transform, type_: DataType, text: str) -> bool:
    match transform:
        case Days():
            return not text.startswith("-") and int(text) in _DAYS
        case Years() | Months() | Hours():
            return not text.startswith("-")
        case Truncate(width):
            return family(type_) is not Family.INTEGER or int(text) % width == 0
        case Identity() if type_ is Atom.DATE:
            return int(text) in _DAYS
        case Identity() if type_ in (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ):
            return int(text) // _DAY in _DAYS
        case Identity() | Bucket():
            return True


_DAYS = range(-719_162, 2_932_897)
"""The days of the years 1 to 9999, counted from 1970."""

_DAY = 86_400_000_000
"""The microseconds of a day."""


def _required(name: str, type_: Json, field_id: int) -> Json:
    return {"name": name, "type": type_, "field-id": field_id}


def _optional(name: str, type_: Json, field_id: int) -> Json:
    return {"name": name, "type": ["null", type_], "default": None, "field-id": field_id}


def _by_column(key_id: int, value_id: int, type_: str) -> Json:
    """A map from column IDs, which Avro has no maps for."""
    fields = [_required("key", "int", key_id), _required("value", type_, value_id)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return {"type": "array", "items": record, "logicalType": "map"}


MAPS = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
"""Members of a data file that are maps by column ID."""


def entry_schema(layout: Layout, format_version: int) -> Json:
    """The schema of manifest entries of files with a layout."""
    data_file = [
        _required("content", "int", 134),
        _required("file_path", "string", 100),
        _required("file_format", "string", 101),
        _required("partition", _record("r102", layout.avro_fields()), 102),
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
