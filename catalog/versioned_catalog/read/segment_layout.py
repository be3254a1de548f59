"""The Parquet layout of a table's columns (FORMAT.md, section 6.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from versioned_catalog.model import types
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import schema_to_json
from versioned_catalog.read import arrays
from versioned_catalog.read.projection import leaf_paths

FIELD_ID = b"PARQUET:field_id"
TABLE_UUID = b"versioned.table_uuid"
SCHEMA_VERSION = b"versioned.schema_version"
SCHEMA = b"versioned.schema"
DELTA = b"versioned.delta"


def file_schema(
    schema: Schema, table_uuid: str, columns: Sequence[types.Column] | None = None
) -> pa.Schema:
    """The Arrow schema of a segment file: physical names, field IDs and metadata.

    ``columns`` are the columns of the file, in order; None for the schema's.
    """
    footer = {
        TABLE_UUID: table_uuid.encode(),
        SCHEMA_VERSION: str(schema.version).encode(),
        SCHEMA: json.dumps(schema_to_json(schema), separators=(",", ":")).encode(),
    }
    file_columns = schema.columns if columns is None else columns
    return pa.schema([_file_field(column) for column in file_columns], metadata=footer)


def _file_field(column: types.Column) -> pa.Field:
    meta = {FIELD_ID: str(column.id).encode()}
    return pa.field(column.physical_name, _file_type(column.type), column.nullable, meta)


def _file_type(type_: types.DataType) -> pa.DataType:
    match type_:
        case types.Struct(fields):
            return pa.struct([_file_field(f) for f in fields])
        case types.Array(element):
            return pa.list_(_file_field(element))
        case types.Map(key, value):
            return pa.map_(_file_field(key), _file_field(value))
        case types.DayTimeInterval():
            # Parquet has no durations; Spark stores them as integers, too.
            return pa.int64()
        case _:
            return to_arrow_type(type_)


_TEXTS = (types.Family.TEXT, types.Family.COLLATED, types.Family.BINARY)


def text_paths(columns: Sequence[types.Column]) -> list[str]:
    """The leaves to dictionary-encode: strings and binaries. Numbers compress as well without."""
    leaves = (leaf for column in columns for leaf in leaf_paths(column))
    return [path for path, type_ in leaves if types.family(type_) in _TEXTS]


def to_file(
    batch: pa.RecordBatch | pa.Table, columns: Sequence[types.Column], target: pa.Schema
) -> pa.Table:
    """Convert rows to the types of a file."""
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    stored = [
        pa.chunked_array(
            [_to_file(chunk, c, field.type, False) for chunk in data.chunks], field.type
        )
        for data, c, field in zip(table.columns, columns, target, strict=True)
    ]
    return pa.table(stored, schema=target)


def _to_file(array: pa.Array, column: types.Column, target: pa.DataType, hidden: bool) -> pa.Array:
    """Convert a column; ``hidden`` if a struct around it may be null."""
    if hidden and not column.nullable:
        # PyArrow refuses nulls in a NOT NULL column, even below a null struct.
        array = arrays.without_nulls(array)
    inside = hidden or array.null_count > 0
    if types.is_nested(column.type):
        below = inside and isinstance(column.type, types.Struct)
        inner = list(zip(types.children(column.type), arrays.child_types(target), strict=True))
        return arrays.rebuilt(
            array,
            target,
            lambda parts: [
                _to_file(part, *pair, below) for part, pair in zip(parts, inner, strict=True)
            ],
        )
    match column.type:
        case types.DayTimeInterval():
            return array.cast(pa.int64())
        case _ if types.is_opaque(column.type) and inside:
            parts = [arrays.without_nulls(arrays.struct_child(array, i)) for i in range(2)]
            return arrays.struct_of(array, parts, target)
        case _:
            return array
