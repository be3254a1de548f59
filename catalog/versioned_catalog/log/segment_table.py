"""Segments and their statistics as Arrow columns, laid out as in a checkpoint.

With a Parquet column for each statistic, a checkpoint of a thousand columns would have thousands, and
their number takes most of the time to write and read it.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.marks import mark_to_text
from versioned_catalog.log.record import (
    PLAIN,
    Constants,
    Delta,
    LiveSegment,
    constants_from_json,
    constants_to_json,
    delta_from_json,
    delta_to_json,
)
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.log.times import MICROSECOND, UNIX_EPOCH
from versioned_catalog.model.arrow import array_of, to_arrow_type
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.schema_json import Json
from versioned_catalog.model.shapes import is_shape
from versioned_catalog.model.types import (
    Column,
    DataType,
    NestedType,
    is_compared,
    is_floating,
)
from versioned_catalog.model.value_text import parse_leaf
from versioned_catalog.storage.text import parse_json

LIST_TYPES = {
    "nulls": pa.int64(),
    "nans": pa.int64(),
    "min": pa.string(),
    "max": pa.string(),
    "inexact": pa.int8(),
}
"""The statistics, and the types of their elements in lists; bounds are value text."""

BOX = {"xmin": ("min", 0), "ymin": ("min", 1), "xmax": ("max", 0), "ymax": ("max", 1)}
"""The statistics of shapes, the edges of their box: each is a number of the text of a bound."""

FIELDS = tuple(
    pa.field(f"statistics.{name}", pa.list_(pa.field("element", type_)))
    for name, type_ in LIST_TYPES.items()
)
"""The columns of a checkpoint that hold the lists."""

MOST_COLUMNS = 250
"""Greatest number of columns, nested ones included, for which each statistic has its own column."""


def stored_statistic(stats: ColumnStats | None, name: str) -> Any:
    """One statistic as lists store it; of an edge of a box the bound that has it. None is unknown."""
    if stats is None:
        return None
    if name in BOX:
        return getattr(stats, BOX[name][0])
    if name == "inexact":
        return stats.min_inexact + 2 * stats.max_inexact
    return getattr(stats, name)


def lists_of(
    segments: Sequence[Mapping[int, ColumnStats]], ids: Sequence[int], name: str
) -> pa.ListArray:
    """One statistic of some segments: one list a segment, in the order of ``ids``."""
    values = [stored_statistic(stats.get(id_), name) for stats in segments for id_ in ids]
    ends = range(0, (len(segments) + 1) * len(ids), max(len(ids), 1))
    offsets = array_of(list(ends)[: len(segments) + 1], pa.int32())
    return pa.ListArray.from_arrays(offsets, array_of(values, LIST_TYPES[name]))


def at_place(lists: pa.ChunkedArray, place: int) -> pa.ChunkedArray:
    """The element at one place of each list; null if the list is null or shorter."""
    chunks = [pc.take(chunk.values, _indices(chunk, [place])) for chunk in lists.chunks]
    return pa.chunked_array(chunks, lists.type.value_type)


def reorder(lists: pa.ChunkedArray, places: Sequence[int | None]) -> pa.ChunkedArray:
    """Lists of the elements at these places, in their order; null for a place of None."""
    return pa.chunked_array([_reorder(chunk, places) for chunk in lists.chunks], lists.type)


def _reorder(lists: pa.ListArray, places: Sequence[int | None]) -> pa.ListArray:
    values = pc.take(lists.values, _indices(lists, places))
    ends = itertools.accumulate([len(places)] * len(lists), initial=0)
    return pa.ListArray.from_arrays(array_of(list(ends), pa.int32()), values)


def _indices(lists: pa.ListArray, places: Sequence[int | None]) -> pa.Int64Array:
    """For each list and place, the index of its element among the elements of all lists."""
    count, width = len(lists), len(places)
    starts = lists.offsets[:count].cast(pa.int64())
    lengths = pc.fill_null(pc.list_value_length(lists), pa.scalar(0, pa.int32())).cast(pa.int64())
    each = struct.pack(f"={width}q", *(2**62 if place is None else place for place in places))
    place = pa.Array.from_buffers(pa.int64(), count * width, [None, pa.py_buffer(each * count)])
    ends = array_of(list(range(0, (count + 1) * width, width)), pa.int32())
    row = pc.list_parent_indices(pa.ListArray.from_arrays(ends, place))
    exists = pc.less(place, pc.take(lengths, row))
    return pc.if_else(exists, pc.add(place, pc.take(starts, row)), pa.nulls(1, pa.int64())[0])


def check_lists(columns: SegmentColumns, count: int) -> None:
    """Refuse a checkpoint whose lists of statistics, of ``count`` columns, are damaged.

    Raises:
        CorruptTableError: a column is missing, of another type, or has longer lists.
    """
    for field in FIELDS:
        if field.name not in columns.types:
            raise CorruptTableError(f"the column {field.name} is missing")
        type_ = columns.types[field.name]
        if not pa.types.is_list(type_) or type_.value_type != field.type.value_type:
            raise CorruptTableError(f"the column {field.name} has another type")
        column = columns[field.name]
        longest = pc.max(pc.list_value_length(column)).as_py() if columns.num_rows else 0
        if longest is not None and longest > count:
            raise CorruptTableError(f"the column {field.name} has lists that are too long")


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
        pa.field("mark", pa.string()),
        pa.field("first_row_id", pa.int64()),
        pa.field("row_updated", pa.int64()),
        pa.field("row_ids_stored", pa.int64()),
    ]
)
"""The columns of every segment, without statistics."""

OF_OTHERS = ("id_map", "constants")
"""The columns of ``CORE`` that a checkpoint has only if one of its segments was written by others."""

OF_ROW_IDS = ("first_row_id", "row_updated", "row_ids_stored")
"""The columns of ``CORE`` that only a table with row IDs has: the members of ``RowIds``."""

OPTIONAL = (*OF_OTHERS, "mark", *OF_ROW_IDS)
"""The columns of ``CORE`` that a checkpoint has only if one of its segments has a value in it."""


def statistics_of(type_: DataType) -> tuple[str, ...]:
    """The statistics that columns of a type have."""
    if is_shape(type_):
        return ("nulls", *BOX)
    if not is_compared(type_):
        return ("nulls",)
    if is_floating(type_):
        return ("nulls", "nans", "min", "max", "inexact")
    return ("nulls", "min", "max", "inexact")


def statistic_type(name: str, type_: DataType) -> pa.DataType:
    """The Arrow type of a statistic of a column."""
    if name in ("nulls", "nans"):
        return pa.int64()
    if name in BOX:
        return pa.float64()
    return pa.int8() if name == "inexact" else to_arrow_type(type_)


def statistic_key(column_id: int, name: str) -> str:
    """The name of the column of a checkpoint that holds a statistic."""
    return f"{_BOX_KEY}{column_id}.{name}" if name in BOX else f"{column_id}.{name}"


_BOX_KEY = "box."
"""Readers that know no boxes ignore columns with such names."""


def check_box_column(name: str, type_: pa.DataType) -> None:
    """Refuse a column of a checkpoint that holds edges of boxes in another type.

    Raises:
        CorruptTableError: naming it.
    """
    if name.startswith(_BOX_KEY) and type_ != pa.float64():
        raise CorruptTableError(f"the column {name} is not {pa.float64()}")


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
    "mark": lambda s: None if s.mark is None else mark_to_text(s.mark),
    "first_row_id": lambda s: s.record.row_ids.first,
    "row_updated": lambda s: s.record.row_ids.updated,
    "row_ids_stored": lambda s: s.record.row_ids.stored,
}


def delta_to_text(delta: Delta) -> str | None:
    """The members as one JSON text, as checkpoints hold them; None if there are none."""
    return None if delta == PLAIN else json.dumps(delta_to_json(delta), separators=(",", ":"))


def delta_from_text(text: str | None) -> Delta:
    """The members in the JSON text of a checkpoint.

    Raises:
        CorruptTableError: it is not an object of such members.
    """
    return PLAIN if text is None else delta_from_json(_members(text, "extra"))


def constants_to_text(constants: Constants) -> str | None:
    """The constants as one JSON text, as checkpoints hold them; None if there are none."""
    if not constants:
        return None
    return json.dumps(constants_to_json(constants), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def constants_from_text(text: str | None) -> Constants:
    """The constants in the JSON text of a checkpoint.

    Raises:
        CorruptTableError: it is not an object from column IDs to texts.
    """
    return {} if text is None else constants_from_json(_members(text, "constants"))


def _members(text: str, column: str) -> dict[str, Json]:
    value = parse_json(text, f"the column {column} of a checkpoint")
    if not isinstance(value, dict):
        raise CorruptTableError(
            f"a value of the checkpoint's column {column!r} is not a JSON object"
        )
    return value


def id_map_texts(maps: Sequence[IdMap | None]) -> pa.DictionaryArray:
    """ID maps as a dictionary column, which holds each different text once."""
    index: dict[IdMap, int] = {}
    places = [None if id_map is None else index.setdefault(id_map, len(index)) for id_map in maps]
    texts = array_of([id_map.text for id_map in index], pa.string())
    return pa.DictionaryArray.from_arrays(array_of(places, pa.int32()), texts)


def shared_texts(column: pa.ChunkedArray) -> list[str | None]:
    """The texts of a dictionary-encoded column; equal texts in a chunk share one Python string."""
    values: list[str | None] = []
    for chunk in column.chunks:
        texts = chunk.dictionary.to_pylist()
        values += [None if at is None else texts[at] for at in chunk.indices.to_pylist()]
    return values


def same_core(left: pa.Table, right: pa.Table) -> bool:
    """Whether two core tables hold the same segments, however their ID maps are encoded."""
    if shared_texts(left["id_map"]) != shared_texts(right["id_map"]):
        return False
    plain = (table.drop_columns(["id_map"]).combine_chunks() for table in (left, right))
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
    if name in BOX:
        return edges_array(array_of(values, pa.string()), name)
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
        if column.id not in schema.ids or not is_compared(schema.column(column.id).type):
            continue
        written = pc.equal(versions, array_of([version], pa.int32())[0])
        of_version = pc.if_else(written, texts, _NO_TEXT)
        typed = parse_texts(of_version, schema.column(column.id).type).cast(target)
        out = pc.coalesce(out, typed)
    return out


def edges_array(corners: pa.Array, name: str) -> pa.Array:
    """An edge of boxes (``BOX``) as doubles, from the texts of the bounds that have it.

    Raises:
        CorruptTableError: a text is not two numbers.
    """
    if corners.null_count == len(corners):
        return pa.nulls(len(corners), pa.float64())
    numbers = pc.split_pattern(corners, " ")
    try:
        edges = pc.list_element(numbers, BOX[name][1]).cast(pa.float64())
        is_pair = pc.all(pc.equal(pc.list_value_length(numbers), 2)).as_py()
        if is_pair and not pc.any(pc.is_nan(edges)).as_py():
            return edges
    except pa.ArrowException:
        pass
    raise CorruptTableError("a bound of shapes is not a corner of a box: two numbers")


_NO_TEXT = pa.nulls(1, pa.string())[0]


def parse_texts(texts: Sequence[str | None] | pa.Array, type_: DataType) -> pa.Array:
    """Parse value texts (FORMAT.md, section 4.2) of a leaf type into an Arrow array.

    Raises:
        CorruptTableError: a text is not a value of the type.
    """
    target = to_arrow_type(type_)
    try:
        plain = texts if isinstance(texts, pa.Array) else array_of(texts, pa.string())
        if pa.types.is_binary(target):
            assert not isinstance(type_, NestedType)
            texts = plain.to_pylist()
            blobs: list[Any] = [None if t is None else parse_leaf(t, type_) for t in texts]
            return array_of(blobs, target)
        if pa.types.is_date(target):
            return plain.cast(pa.int32()).cast(target)
        if pa.types.is_temporal(target):
            return plain.cast(pa.int64()).cast(target)
        return plain.cast(target)
    except (ValueError, TypeError, pa.ArrowException):
        raise CorruptTableError(f"a bound is not a value of its column's type {target}") from None
