"""The partition values of the segments of a scan, for joins that Spark plans without a shuffle."""

from __future__ import annotations

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


def grouping_of(scan: Scan) -> messages.Grouping | None:
    """The partition value of each segment of a scan, in the newest schema.

    None if the table is not partitioned, if a segment was written under another partitioning, if it is
    seen through an earlier schema, or if Spark does not compare the values of a type as we do.
    """
    state, kept = scan.state, scan.kept
    schema = state.schema
    types = _types(schema)
    if not types or state.lens is not None or not all(map(_is_compared, types)):
        return None
    versions: list[int] = kept["schema_version"].to_pylist()
    readers = {v: key_reader(state.schemas[v], schema) for v in set(versions)}
    places: dict[PartitionKey, int] = {}
    place: list[int] = []
    for version, stored in zip(versions, kept["partition"].to_pylist(), strict=True):
        read = readers[version]
        if read is None:
            return None
        place.append(places.setdefault(read(tuple(stored)), len(places)))
    return messages.Grouping(
        describe_partitioning(schema),
        [SparkType(to_spark(type_).jsonValue()) for type_ in types],
        list(places),
        place,
    )


def _types(schema: Schema) -> list[DataType]:
    return [
        result_type(parse_transform(field.transform), schema.column(field.source).type)
        for field in schema.partitioning
    ]


def _is_compared(type_: DataType) -> bool:
    return isinstance(type_, Decimal) or type_ in _COMPARED
