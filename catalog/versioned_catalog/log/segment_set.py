"""The live segments of a snapshot.

Most of them are rows of one Arrow table in the layout of a checkpoint (FORMAT.md, section 8). Segments
of the newest commits are kept beside it as records, and folded into the table when there are many. So
the cost of a commit does not grow with the number of segments, and planning is a few kernel calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log import segment_table
from versioned_catalog.log.features import DELETE_ROW
from versioned_catalog.log.record import PLAIN, Delta, LiveSegment, SegmentRecord
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_table import delta_from_text, delta_to_text
from versioned_catalog.model.arrow import FALSE, TRUE, array_of, one_array
from versioned_catalog.model.types import Column, DataType

Mask = npt.NDArray[np.bool_]

_OPS = r'"ops":\{"[012]":\d+(?:,"[012]":\d+)*\}'
_CANONICAL = (
    r'^\{(?:"order":\[\d+,\d+\])?,?(?:"sequences":\[\d+,\d+\])?,?'
    rf'(?:{_OPS})?,?(?:"patch":\{{"columns":\[[\d,]*\]\}})?\}}$'
)
"""The texts that ``delta_to_text`` writes. Of others, the masks are taken from the decoded delta."""

_DELETES_ONLY = rf'"ops":\{{"{DELETE_ROW}":\d+\}}'

_CACHED = 32_768
_CACHED_LENGTH = 500
"""The number of decoded deltas that are kept, and the longest text of one."""


@dataclass(frozen=True, eq=False)
class Deltas:
    """The deltas of some segments.

    Args:
        texts: as checkpoints hold them; null for ``PLAIN``.
        has_ops: whether the file of a segment holds types of operation.
        deletes_only: whether a segment holds tombstones and nothing else.
    """

    texts: pa.Array
    has_ops: Mask
    deletes_only: Mask

    @staticmethod
    def of_texts(texts: pa.Array) -> Deltas:
        """The deltas in a column of a checkpoint.

        Raises:
            CorruptTableError: one that is not in the usual form is invalid.
        """
        has_ops = _mask(pc.match_substring(texts, '"ops":{"'), False)
        deletes_only = _mask(pc.match_substring_regex(texts, _DELETES_ONLY), False)
        unusual = np.flatnonzero(~_mask(pc.match_substring_regex(texts, _CANONICAL), True))
        for place in unusual.tolist():
            delta = delta_from_text(texts[place].as_py())
            has_ops[place], deletes_only[place] = bool(delta.ops), delta.deletes_only
        return Deltas(texts, has_ops, deletes_only)

    @staticmethod
    def of(deltas: Sequence[Delta]) -> Deltas:
        """Some deltas as columns."""
        return Deltas.of_texts(array_of([delta_to_text(delta) for delta in deltas], pa.string()))

    @property
    def are_plain(self) -> bool:
        """Whether all are ``PLAIN``."""
        return bool(self.texts.null_count == len(self.texts))

    def filter(self, mask: pa.BooleanArray) -> Deltas:
        """The deltas of the segments that a mask selects."""
        places = mask.to_numpy(zero_copy_only=False)
        return Deltas(self.texts.filter(mask), self.has_ops[places], self.deletes_only[places])

    def decode(self) -> list[Delta]:
        """Decode the deltas. Raises CorruptTableError if one is invalid."""
        return [PLAIN if text is None else _decoded(text) for text in self.texts.to_pylist()]

    def __add__(self, other: Deltas) -> Deltas:
        return Deltas(
            pa.concat_arrays([self.texts, other.texts]),
            np.concatenate((self.has_ops, other.has_ops)),
            np.concatenate((self.deletes_only, other.deletes_only)),
        )


class StoredDeltas:
    """The deltas in a table of segments, shared by all snapshots over it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @cached_property
    def columns(self) -> Deltas:
        """One delta a row. Raises CorruptTableError: see ``Deltas.of_texts``."""
        return Deltas.of_texts(self.table["extra"].combine_chunks())


def _mask(values: pa.BooleanArray, unknown: bool) -> Mask:
    mask: Mask = pc.fill_null(values, TRUE if unknown else FALSE).to_numpy(zero_copy_only=False)
    return mask.copy()


def _decoded(text: str) -> Delta:
    return _cached(text) if len(text) <= _CACHED_LENGTH else delta_from_text(text)


@lru_cache(maxsize=_CACHED)
def _cached(text: str) -> Delta:
    return delta_from_text(text)


FOLD_AT = 256
"""Number of records kept beside the table before they are folded into it."""


@dataclass(frozen=True)
class SegmentSet:
    """Live segments, in the order in which they were added.

    Args:
        base: segments in the layout of a checkpoint.
        packed: the IDs of the columns in the lists of statistics of ``base``, in order.
        removed_paths: paths in ``base`` that are no longer live.
        tail: newer segments.
        count, rows, bytes: totals over the live segments.
        stored: the deltas of ``base``, shared by all snapshots over it.
    """

    base: pa.Table = field(default_factory=lambda: pa.Table.from_batches([], segment_table.CORE))
    packed: tuple[int, ...] = ()
    removed_paths: frozenset[str] = frozenset()
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
        """The segments in the rows of a checkpoint."""
        rows: int = pc.sum(base["rows"]).as_py() or 0
        size: int = pc.sum(base["bytes"]).as_py() or 0
        return SegmentSet(base, packed, count=base.num_rows, rows=rows, bytes=size)

    def add(
        self, records: Sequence[SegmentRecord], sequence: int, time: datetime, schemas: Schemas
    ) -> SegmentSet:
        """Add the segments of one commit."""
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
        """Return this set without the segments at these paths.

        Raises:
            CorruptTableError: the set has no segment at one of the paths.
        """
        leaving = set(paths)
        if not leaving:
            return self
        from_tail = [s.record for s in self.tail if s.record.path in leaving]
        from_base = leaving - {r.path for r in from_tail}
        if from_base & self.removed_paths or not from_base <= self._base_paths:
            raise CorruptTableError("a commit removes a segment that the table does not have")
        chosen = self.base.filter(
            pc.is_in(self.base["path"], array_of(list(from_base), pa.string()))
        )
        rows = sum(r.rows for r in from_tail) + (pc.sum(chosen["rows"]).as_py() or 0)
        size = sum(r.bytes for r in from_tail) + (pc.sum(chosen["bytes"]).as_py() or 0)
        removed_paths = self.removed_paths | from_base
        emptied = len(removed_paths) == self.base.num_rows
        return SegmentSet(
            base=self.base.slice(0, 0) if emptied else self.base,
            packed=self.packed,
            removed_paths=frozenset() if emptied else removed_paths,
            tail=tuple(s for s in self.tail if s.record.path not in leaving),
            count=self.count - len(from_tail) - chosen.num_rows,
            rows=self.rows - rows,
            bytes=self.bytes - size,
            stored=self.stored,
        )

    def only(self, paths: Iterable[str]) -> SegmentSet:
        """Return the segments of this set at these paths; others are ignored."""
        wanted = set(paths)
        if not wanted:
            return SegmentSet()
        live = self._of_live(self.base)
        base = live.filter(pc.is_in(live["path"], array_of(list(wanted), pa.string())))
        matching = SegmentSet.of(base, self.packed)
        tail = tuple(s for s in self.tail if s.record.path in wanted)
        return replace(
            matching,
            tail=tail,
            count=matching.count + len(tail),
            rows=matching.rows + sum(s.record.rows for s in tail),
            bytes=matching.bytes + sum(s.record.bytes for s in tail),
        )

    @cached_property
    def _base_paths(self) -> frozenset[str]:
        return frozenset(self.base["path"].to_pylist())

    @cached_property
    def _alive(self) -> pa.ChunkedArray:
        dead = pc.is_in(self.base["path"], array_of(list(self.removed_paths), pa.string()))
        return pc.invert(dead)

    def _of_live(self, values: Any) -> Any:
        """Keep the values of live segments; there is one value for each segment of ``base``."""
        return values.filter(self._alive) if self.removed_paths else values

    @cached_property
    def core(self) -> pa.Table:
        """One row a live segment, without statistics."""
        base = self._of_live(self.base.select(segment_table.CORE.names))
        return pa.concat_tables([base, segment_table.core_table(self.tail)])

    @cached_property
    def deltas(self) -> Deltas:
        """The deltas of the live segments. Raises CorruptTableError: see ``Deltas.of_texts``."""
        assert self.stored is not None
        base = self.stored.columns
        if self.removed_paths:
            base = base.filter(one_array(self._alive))
        return base + Deltas.of([s.record.delta for s in self.tail])

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of ``core``, without building the others."""
        newer = segment_table.core_column(self.tail, name)
        return pa.chunked_array([*self._of_live(self.base[name]).chunks, newer])

    @property
    def paths(self) -> list[str]:
        """The paths of the live segments."""
        paths: list[str] = self.column("path").to_pylist()
        return paths

    def statistic(self, name: str, column: Column, schemas: Schemas) -> pa.ChunkedArray:
        """One statistic of one column over the live segments; null where unknown.

        Args:
            name: ``nulls``, ``nans``, ``min``, ``max`` or ``inexact``.
            column: a column of the wanted schema; bounds come in its type.
        """
        type_ = segment_table.statistic_type(name, column.type)
        stored = self._stored(name, column, schemas, type_)
        return pa.chunked_array([*stored.chunks, self._newer(name, column, schemas)], type_)

    def _newer(self, name: str, column: Column, schemas: Schemas) -> pa.Array:
        """``statistic`` of the newer segments, ``tail``; its texts are parsed once per column."""
        key = name, column.id, column.type
        if key not in self._parsed:
            self._parsed[key] = segment_table.statistic_of(self.tail, name, column, schemas)
        return self._parsed[key]

    @cached_property
    def _parsed(self) -> dict[tuple[str, int, DataType], pa.Array]:
        return {}

    def _stored(
        self, name: str, column: Column, schemas: Schemas, type_: pa.DataType
    ) -> pa.ChunkedArray:
        """``statistic`` of the live segments in ``base``."""
        key, place = f"{column.id}.{name}", self._places.get(column.id)
        sources: list[pa.ChunkedArray] = []
        if key in self._names:
            sources.append(self._of_live(self.base[key]).cast(type_))
        if place is not None:
            values = self._of_live(segment_table.at_place(self.base[f"statistics.{name}"], place))
            if name in ("min", "max"):
                versions = self._of_live(self.base["schema_version"])
                values = segment_table.bounds_array(
                    one_array(values), one_array(versions), column, schemas
                )
            sources.append(pa.chunked_array([one_array(values)], type_))
        if not sources:
            return pa.chunked_array([pa.nulls(self.count - len(self.tail), type_)])
        return sources[0] if len(sources) == 1 else pc.coalesce(*sources)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.base.column_names)

    @cached_property
    def _places(self) -> dict[int, int]:
        """Position of each column in the lists of statistics, by ID."""
        return {column_id: place for place, column_id in enumerate(self.packed)}

    def folded(self, schemas: Schemas) -> SegmentSet:
        """The same segments in one table, with the statistics of the newest schema's columns."""
        base, packed = self.table(schemas)
        return replace(self, base=base, packed=packed, removed_paths=frozenset(), tail=())

    def table(self, schemas: Schemas) -> tuple[pa.Table, tuple[int, ...]]:
        """One row a live segment as in a checkpoint, and the IDs of the columns in lists, if any."""
        ids = tuple(sorted(schemas.newest.ids))
        wide = len(ids) > segment_table.MOST_COLUMNS
        columns = [(schemas.newest.column(column_id)) for column_id in ids]
        stored = [
            (f"{column.id}.{name}", self._typed(name, column) if wide else None, name, column)
            for column in columns
            for name in segment_table.statistics_of(column.type)
            if not wide or self._has_typed(name, column)
        ]
        arrays, fields = self.core.columns, list(self.core.schema)
        for key, typed, name, column in stored:
            arrays.append(self.statistic(name, column, schemas) if typed is None else typed)
            fields.append(pa.field(key, arrays[-1].type))
        if wide:
            arrays += [self._lists(name, ids) for name in segment_table.LIST_TYPES]
            fields += segment_table.FIELDS
        # All columns at once: each append to a table copies its list of columns.
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
        type_ = segment_table.statistic_type(name, column.type)
        stored = self._of_live(self.base[f"{column.id}.{name}"]).cast(type_)
        return pa.chunked_array([*stored.chunks, pa.nulls(len(self.tail), type_)], type_)

    def _lists(self, name: str, ids: tuple[int, ...]) -> pa.ChunkedArray:
        """One statistic of all live segments in lists; null for segments in ``base`` without lists."""
        newer = segment_table.lists_of([s.record.columns for s in self.tail], ids, name)
        if not self.packed:
            older = [pa.nulls(self.count - len(self.tail), newer.type)]
        else:
            stored = self._of_live(self.base[f"statistics.{name}"])
            if ids != self.packed:
                stored = segment_table.reorder(
                    stored, [self._places.get(column_id) for column_id in ids]
                )
            older = stored.chunks
        return pa.chunked_array([*older, newer], newer.type)
