"""The partition values of the segments of a scan, for joins that Spark plans without a shuffle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.table_description import describe_partitioning
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.model.types import Atom, DataType, Decimal
from versioned_catalog.read.scan import Scan

_COMPARED = (
    *(Atom.BOOLEAN, Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG),
    *(Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.STRING),
)

_MOST = 100_000
"""The most partitions that are reported."""


def grouping_of(scan: Scan) -> messages.Grouping | None:
    """The partition value of each segment of a scan, in the newest schema.

    None if the table is not partitioned, or by a field of a struct; if a segment was written under
    another partitioning; if the table is seen through an earlier schema; if Spark does not compare the
    values of a type as we do; or if there are too many partitions for a task each.
    """
    state, kept = scan.state, scan.kept
    schema = state.schema
    types = _types(schema)
    if not types or state.lens is not None or not all(map(_is_compared, types)):
        return None
    if any(len(schema.path(field.source)) > 1 for field in schema.partitioning):
        return None
    readers = {
        version: key_reader(state.schemas[version], schema)
        for version in pc.unique(kept["schema_version"]).to_pylist()
    }
    if None in readers.values():
        return None
    columns = [kept["schema_version"]]
    columns += [pc.list_element(kept["partition"], at) for at in range(len(types))]
    stored, at_stored = _distinct(pa.table(columns, [str(at) for at in range(len(columns))]))
    if len(stored) > _MOST:
        return None
    places: dict[PartitionKey, int] = {}
    place_of = [
        places.setdefault(_read(readers[version], tuple(texts)), len(places))
        for version, *texts in stored
    ]
    return messages.Grouping(
        describe_partitioning(schema),
        [SparkType(to_spark(type_).jsonValue()) for type_ in types],
        list(places),
        np.array(place_of, np.int32)[at_stored].tolist(),
    )


def _read(reader: Callable[[PartitionKey], PartitionKey] | None, key: PartitionKey) -> PartitionKey:
    assert reader is not None
    return reader(key)


def _distinct(table: pa.Table) -> tuple[list[tuple[Any, ...]], Any]:
    """The distinct rows of a table, and for each row the index of that which is equal."""
    codes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        values = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        joined = pa.array(codes * (len(encoded.dictionary) + 1) + values).dictionary_encode()
        codes = joined.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    first = np.unique(codes, return_index=True)[1]
    rows = table.take(pa.array(first))
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True)), codes


def _types(schema: Schema) -> list[DataType]:
    return [
        result_type(parse_transform(field.transform), schema.column(field.source).type)
        for field in schema.partitioning
    ]


def _is_compared(type_: DataType) -> bool:
    return isinstance(type_, Decimal) or type_ in _COMPARED
