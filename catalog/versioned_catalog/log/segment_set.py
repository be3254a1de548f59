"""The live segments of a snapshot.

Most of them are in one Arrow table in the layout of a checkpoint (FORMAT.md, section 8); those of the
newest commits are beside it as records, and are folded in when there are many. So a commit costs the
same whatever the number of segments, and planning is a few kernel calls over columns.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.delta import delta_to_text
from versioned_catalog.log.deltas import Deltas, StoredDeltas
from versioned_catalog.log.entry import UNIX_EPOCH
from versioned_catalog.log.packed import FIELDS, FROM, PACKED, pack, picked, rearranged, stats_value
from versioned_catalog.log.record import LiveSegment, SegmentRecord
from versioned_catalog.log.schemas import Schemas
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
    ]
)
"""The columns that every segment has."""

FOLD_AT = 256
"""Records kept beside the table before they are folded into it."""


@dataclass(frozen=True)
class SegmentSet:
    """Live segments, in the order in which they were added.

    Args:
        base: segments in the layout of a checkpoint.
        packed: the columns that lists of statistics in ``base`` are about, by ID, in their order.
        gone: paths in ``base`` that are live no longer.
        tail: newer segments.
        count, rows, bytes: totals over the live ones.
        stored: the deltas of ``base``, shared by all snapshots over it.
    """

    base: pa.Table = field(default_factory=lambda: pa.Table.from_batches([], CORE))
    packed: tuple[int, ...] = ()
    gone: frozenset[str] = frozenset()
    tail: tuple[LiveSegment, ...] = ()
    count: int = 0
    rows: int = 0
    bytes: int = 0
    stored: StoredDeltas | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.stored is None or self.stored.table is not self.base:
            object.__setattr__(self, "stored", StoredDeltas(self.base))

    @staticmethod
    def of(base: pa.Table, packed: tuple[int, ...] = ()) -> SegmentSet:
        """The set of a checkpoint's rows."""
        rows: int = pc.sum(base["rows"]).as_py() or 0
        size: int = pc.sum(base["bytes"]).as_py() or 0
        return SegmentSet(base, packed, count=base.num_rows, rows=rows, bytes=size)

    def add(
        self, records: Sequence[SegmentRecord], sequence: int, time: datetime, schemas: Schemas
    ) -> SegmentSet:
        """This set with the segments of one commit."""
        new = tuple(LiveSegment(r, sequence, i, time) for i, r in enumerate(records))
        grown = replace(
            self,
            tail=self.tail + new,
            count=self.count + len(records),
            rows=self.rows + sum(r.rows for r in records),
            bytes=self.bytes + sum(r.bytes for r in records),
        )
        return grown if len(grown.tail) < FOLD_AT else grown.folded(schemas)

    def remove(self, paths: Iterable[str]) -> SegmentSet:
        """This set without some segments.

        Raises:
            CorruptTableError: one of them is not live.
        """
        leaving = set(paths)
        if not leaving:
            return self
        from_tail = [s.record for s in self.tail if s.record.path in leaving]
        from_base = leaving - {r.path for r in from_tail}
        if from_base & self.gone or not from_base <= self._base_paths:
            raise CorruptTableError("a commit removes a segment that is not live")
        chosen = self.base.filter(
            pc.is_in(self.base["path"], array_of(list(from_base), pa.string()))
        )
        rows = sum(r.rows for r in from_tail) + (pc.sum(chosen["rows"]).as_py() or 0)
        size = sum(r.bytes for r in from_tail) + (pc.sum(chosen["bytes"]).as_py() or 0)
        gone = self.gone | from_base
        emptied = len(gone) == self.base.num_rows
        return SegmentSet(
            base=self.base.slice(0, 0) if emptied else self.base,
            packed=self.packed,
            gone=frozenset() if emptied else gone,
            tail=tuple(s for s in self.tail if s.record.path not in leaving),
            count=self.count - len(from_tail) - chosen.num_rows,
            rows=self.rows - rows,
            bytes=self.bytes - size,
            stored=self.stored,
        )

    @cached_property
    def _base_paths(self) -> frozenset[str]:
        return frozenset(self.base["path"].to_pylist())

    @cached_property
    def _alive(self) -> pa.ChunkedArray:
        dead = pc.is_in(self.base["path"], array_of(list(self.gone), pa.string()))
        return pc.invert(dead)

    def _of_live(self, values: Any) -> Any:
        """Of something with one element a segment of ``base``, those of the live ones."""
        return values.filter(self._alive) if self.gone else values

    @cached_property
    def core(self) -> pa.Table:
        """One row a live segment, without statistics."""
        base = self._of_live(self.base.select(CORE.names))
        return pa.concat_tables([base, core_table(self.tail)])

    @cached_property
    def deltas(self) -> Deltas:
        """The deltas of the live segments.

        Raises:
            CorruptTableError: see ``Deltas.of_texts``.
        """
        assert self.stored is not None
        base = self.stored.columns
        if self.gone:
            base = base.filter(_whole(self._alive))
        return base + Deltas.of([s.record.delta for s in self.tail])

    @property
    def paths(self) -> list[str]:
        """The paths of the live segments."""
        found: list[str] = self.core["path"].to_pylist()
        return found

    def statistic(self, name: str, column: Column, schemas: Schemas) -> pa.ChunkedArray:
        """One statistic of one column over the live segments, nulls where unknown.

        Args:
            name: ``nulls``, ``nans``, ``min``, ``max`` or ``inexact``.
            column: a column of the wanted schema; bounds come in its type.
            schemas: every schema of the table, by version.
        """
        type_ = statistic_type(name, column.type)
        stored = self._stored(name, column, schemas, type_)
        return pa.chunked_array([*stored.chunks, self._newer(name, column, schemas)], type_)

    def _newer(self, name: str, column: Column, schemas: Schemas) -> pa.Array:
        """``statistic`` of the segments in ``tail``, whose texts are parsed once for many queries."""
        key = name, column.id, column.type
        if key not in self._parsed:
            self._parsed[key] = tail_statistic(self.tail, name, column, schemas)
        return self._parsed[key]

    @cached_property
    def _parsed(self) -> dict[tuple[str, int, DataType], pa.Array]:
        return {}

    def _stored(
        self, name: str, column: Column, schemas: Schemas, type_: pa.DataType
    ) -> pa.ChunkedArray:
        """``statistic`` of the live segments in ``base``."""
        key, place = f"{column.id}.{name}", self._places.get(column.id)
        found: list[pa.ChunkedArray] = []
        if key in self._names:
            found.append(self._of_live(self.base[key]).cast(type_))
        if place is not None:
            values = self._of_live(picked(self.base[f"statistics.{name}"], place))
            if name in ("min", "max"):
                versions = self._of_live(self.base["schema_version"])
                values = bounds_array(_whole(values), _whole(versions), column, schemas)
            found.append(pa.chunked_array([_whole(values)], type_))
        if not found:
            return pa.chunked_array([pa.nulls(self.count - len(self.tail), type_)])
        return found[0] if len(found) == 1 else pc.coalesce(*found)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.base.column_names)

    @cached_property
    def _places(self) -> dict[int, int]:
        """Where the statistics of columns stand in lists, by ID."""
        return {column_id: place for place, column_id in enumerate(self.packed)}

    def folded(self, schemas: Schemas) -> SegmentSet:
        """The same set, all in one table, with the statistics of the newest schema's columns."""
        base, packed = self.table(schemas)
        return replace(self, base=base, packed=packed, gone=frozenset(), tail=())

    def table(self, schemas: Schemas) -> tuple[pa.Table, tuple[int, ...]]:
        """One row a live segment in the layout of a checkpoint.

        Returns:
            The rows, and the columns that their lists of statistics are about, if they have such.
        """
        ids = tuple(sorted(schemas.newest.ids))
        wide = len(ids) > FROM
        columns = [(schemas.newest.column(column_id)) for column_id in ids]
        stored = [
            (f"{column.id}.{name}", self._typed(name, column) if wide else None, name, column)
            for column in columns
            for name in statistics_of(column.type)
            if not wide or self._has_typed(name, column)
        ]
        arrays, fields = self.core.columns, list(self.core.schema)
        for key, typed, name, column in stored:
            arrays.append(self.statistic(name, column, schemas) if typed is None else typed)
            fields.append(pa.field(key, arrays[-1].type))
        if wide:
            arrays += [self._lists(name, ids) for name in PACKED]
            fields += FIELDS
        # At once: a table that grows by a column is copied, and there may be thousands.
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, self.core.schema.metadata))
        return table, ids if wide else ()

    def _has_typed(self, name: str, column: Column) -> bool:
        """Whether a live segment in ``base`` has a statistic in a column of its own."""
        key = f"{column.id}.{name}"
        if key not in self._names:
            return False
        values = self._of_live(self.base[key])
        return bool(values.null_count < len(values))

    def _typed(self, name: str, column: Column) -> pa.ChunkedArray:
        type_ = statistic_type(name, column.type)
        stored = self._of_live(self.base[f"{column.id}.{name}"]).cast(type_)
        return pa.chunked_array([*stored.chunks, pa.nulls(len(self.tail), type_)], type_)

    def _lists(self, name: str, ids: tuple[int, ...]) -> pa.ChunkedArray:
        """One statistic of all live segments in lists, those of ``base`` as far as it has such."""
        newer = pack([s.record.columns for s in self.tail], ids, name)
        if not self.packed:
            older = [pa.nulls(self.count - len(self.tail), newer.type)]
        else:
            stored = self._of_live(self.base[f"statistics.{name}"])
            if ids != self.packed:
                stored = rearranged(stored, [self._places.get(column_id) for column_id in ids])
            older = stored.chunks
        return pa.chunked_array([*older, newer], newer.type)


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
    """The core columns of some segments."""
    columns: list[list[Any]] = [
        [s.record.path for s in segments],
        [s.record.schema_version for s in segments],
        [s.record.rows for s in segments],
        [s.record.bytes for s in segments],
        [s.sequence for s in segments],
        [s.ordinal for s in segments],
        [(s.commit_time - UNIX_EPOCH) // timedelta(microseconds=1) for s in segments],
        [s.record.checksum for s in segments],
        [delta_to_text(s.record.delta) for s in segments],
    ]
    types = [field.type for field in CORE if field.name != "partition"]
    arrays = [array_of(values, type_) for values, type_ in zip(columns, types, strict=True)]
    arrays.insert(CORE.get_field_index("partition"), _partitions(segments))
    return pa.table(arrays, schema=CORE)


def _partitions(segments: Sequence[LiveSegment]) -> pa.Array:
    values = [s.record.partition for s in segments]
    ends = list(itertools.accumulate(map(len, values), initial=0))
    texts = array_of([text for partition in values for text in partition], pa.string())
    mask = array_of([not partition for partition in values], pa.bool_())
    kind = CORE.field("partition").type
    return pa.ListArray.from_arrays(array_of(ends, pa.int32()), texts, type=kind, mask=mask)


def tail_statistic(
    tail: Sequence[LiveSegment], name: str, column: Column, schemas: Schemas
) -> pa.Array:
    """``SegmentSet.statistic`` for records."""
    values = [stats_value(s.record.columns.get(column.id), name) for s in tail]
    if name not in ("min", "max"):
        return array_of(values, PACKED[name])
    versions = array_of([s.record.schema_version for s in tail], pa.int32())
    return bounds_array(array_of(values, pa.string()), versions, column, schemas)


def bounds_array(texts: pa.Array, versions: pa.Array, column: Column, schemas: Schemas) -> pa.Array:
    """Bounds as a column of the wanted type, each read in the type its segment was written under."""
    target = to_arrow_type(column.type)
    out = pa.nulls(len(texts), target)
    if texts.null_count == len(texts):
        return out
    for version in versions.unique().to_pylist():
        schema = schemas[version]
        if column.id not in schema.ids:
            continue
        written = pc.equal(versions, array_of([version], pa.int32())[0])
        mine = pc.if_else(written, texts, _NO_TEXT)
        typed = parse_texts(mine, schema.column(column.id).type).cast(target)
        out = pc.coalesce(out, typed)
    return out


_NO_TEXT = pa.nulls(1, pa.string())[0]


def _whole(values: pa.ChunkedArray) -> pa.Array:
    """Values in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def parse_texts(texts: Sequence[str | None] | pa.Array, type_: DataType) -> pa.Array:
    """Value texts (FORMAT.md, section 4.2) of a leaf type as an Arrow array.

    Raises:
        CorruptTableError: one of them is none of that type.
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
        raise CorruptTableError(f"a bound is no value of its column's type {target}") from None
