"""Segments and their statistics as Arrow columns, laid out as in a checkpoint (FORMAT.md, section 8)."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.delta import delta_to_text
from versioned_catalog.log.external import constants_to_text
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.statistic_lists import LIST_TYPES, stored_statistic
from versioned_catalog.log.times import MICROSECOND, UNIX_EPOCH
from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import array_of
from versioned_catalog.types.types import Atom, Column, DataType, is_nested, is_opaque

CORE = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("commit_time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("partition", pa.list_(pa.field("element", pa.string()))),
        pa.field("checksum", pa.string()),
        pa.field("extra", pa.string()),
        pa.field("id_map", pa.dictionary(pa.int32(), pa.string())),
        pa.field("constants", pa.string()),
    ]
)
"""The columns of every segment, without statistics."""

OF_OTHERS = ("id_map", "constants")
"""The columns of ``CORE`` that a checkpoint has only if one of its segments was written by others."""


def statistics_of(type_: DataType) -> tuple[str, ...]:
    """The statistics that columns of a type have."""
    if is_nested(type_) or is_opaque(type_):
        return ("nulls",)
    if type_ in (Atom.FLOAT, Atom.DOUBLE):
        return ("nulls", "nans", "min", "max", "inexact")
    return ("nulls", "min", "max", "inexact")


def statistic_type(name: str, type_: DataType) -> pa.DataType:
    """The Arrow type of a statistic of a column."""
    if name in ("nulls", "nans"):
        return pa.int64()
    return pa.int8() if name == "inexact" else to_arrow_type(type_)


def core_table(segments: Sequence[LiveSegment]) -> pa.Table:
    """One row a segment, without statistics."""
    return pa.table([core_column(segments, name) for name in CORE.names], schema=CORE)


def core_column(segments: Sequence[LiveSegment], name: str) -> pa.Array:
    """One column of ``core_table``."""
    match name:
        case "partition":
            return _partitions(segments)
        case "id_map":
            return id_map_texts([s.record.id_map for s in segments])
        case _:
            return array_of(list(map(_PLAIN[name], segments)), CORE.field(name).type)


_PLAIN: Mapping[str, Callable[[LiveSegment], Any]] = {
    "path": lambda s: s.record.path,
    "schema_version": lambda s: s.record.schema_version,
    "rows": lambda s: s.record.rows,
    "bytes": lambda s: s.record.bytes,
    "sequence": lambda s: s.sequence,
    "ordinal": lambda s: s.ordinal,
    "commit_time": lambda s: (s.commit_time - UNIX_EPOCH) // MICROSECOND,
    "checksum": lambda s: s.record.checksum,
    "extra": lambda s: delta_to_text(s.record.delta),
    "constants": lambda s: constants_to_text(s.record.constants),
}


def id_map_texts(maps: Sequence[IdMap | None]) -> pa.DictionaryArray:
    """ID maps as a column that holds each different text once."""
    index: dict[IdMap, int] = {}
    places = [None if one is None else index.setdefault(one, len(index)) for one in maps]
    texts = array_of([one.text for one in index], pa.string())
    return pa.DictionaryArray.from_arrays(array_of(places, pa.int32()), texts)


def shared_texts(column: pa.ChunkedArray) -> list[str | None]:
    """The texts of a dictionary-encoded column; equal ones in a chunk are one Python string."""
    found: list[str | None] = []
    for chunk in column.chunks:
        texts = chunk.dictionary.to_pylist()
        found += [None if at is None else texts[at] for at in chunk.indices.to_pylist()]
    return found


def same_core(one: pa.Table, other: pa.Table) -> bool:
    """Whether two core tables hold the same segments; their ID maps may be encoded otherwise."""
    if shared_texts(one["id_map"]) != shared_texts(other["id_map"]):
        return False
    plain = (table.drop_columns(["id_map"]).combine_chunks() for table in (one, other))
    return bool(next(plain).equals(next(plain)))


def _partitions(segments: Sequence[LiveSegment]) -> pa.Array:
    values = [s.record.partition for s in segments]
    ends = list(itertools.accumulate(map(len, values), initial=0))
    texts = array_of([text for partition in values for text in partition], pa.string())
    mask = array_of([not partition for partition in values], pa.bool_())
    kind = CORE.field("partition").type
    return pa.ListArray.from_arrays(array_of(ends, pa.int32()), texts, type=kind, mask=mask)


def statistic_of(
    segments: Sequence[LiveSegment], name: str, column: Column, schemas: Schemas
) -> pa.Array:
    """One statistic of one column over some segments: see ``SegmentSet.statistic``."""
    values = [stored_statistic(s.record.columns.get(column.id), name) for s in segments]
    if name not in ("min", "max"):
        return array_of(values, LIST_TYPES[name])
    versions = array_of([s.record.schema_version for s in segments], pa.int32())
    return bounds_array(array_of(values, pa.string()), versions, column, schemas)


def bounds_array(texts: pa.Array, versions: pa.Array, column: Column, schemas: Schemas) -> pa.Array:
    """Bounds as a column of the wanted type; each is parsed in the type that its segment has.

    ``versions`` are the schema versions of the segments; texts are null where unknown.
    """
    target = to_arrow_type(column.type)
    out = pa.nulls(len(texts), target)
    if texts.null_count == len(texts):
        return out
    for version in versions.unique().to_pylist():
        schema = schemas[version]
        if column.id not in schema.ids:
            continue
        written = pc.equal(versions, array_of([version], pa.int32())[0])
        own = pc.if_else(written, texts, _NO_TEXT)
        typed = parse_texts(own, schema.column(column.id).type).cast(target)
        out = pc.coalesce(out, typed)
    return out


_NO_TEXT = pa.nulls(1, pa.string())[0]


def parse_texts(texts: Sequence[str | None] | pa.Array, type_: DataType) -> pa.Array:
    """Parse value texts (FORMAT.md, section 4.2) of a leaf type into an Arrow array.

    Raises:
        CorruptTableError: a text is not a value of the type.
    """
    target = to_arrow_type(type_)
    try:
        plain = texts if isinstance(texts, pa.Array) else array_of(texts, pa.string())
        if type_ is Atom.BINARY:
            texts = plain.to_pylist()
            blobs = [None if t is None else base64.b64decode(t, validate=True) for t in texts]
            return array_of(blobs, target)
        if pa.types.is_date(target):
            return plain.cast(pa.int32()).cast(target)
        if pa.types.is_temporal(target):
            return plain.cast(pa.int64()).cast(target)
        return plain.cast(target)
    except (ValueError, TypeError, pa.ArrowException):
        raise CorruptTableError(f"a bound is not a value of its column's type {target}") from None
