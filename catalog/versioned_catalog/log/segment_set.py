"""The live segments of a snapshot.

Most of them are rows of one Arrow table in the layout of a checkpoint (FORMAT.md, section 8). Segments
of the newest commits are kept beside it as records, and folded into the table when there are many. So
the cost of a commit does not grow with the number of segments, and planning is a few kernel calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log import segment_table
from versioned_catalog.log.marks import Mark, files_of, mark_from_text, mark_to_text
from versioned_catalog.log.record import LiveSegment, SegmentRecord, numbered
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.stored_segments import (
    UNRESOLVED,
    Counts,
    Deltas,
    Stored,
    marked_counts,
    partition_key,
    resolved_versions,
)
from versioned_catalog.model.arrow import ZERO, array_of, from_numpy, one_array, scalar_of
from versioned_catalog.model.narrowing import held
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, DataType
from versioned_catalog.storage.store import PREFIX

FOLD_AT = 256
"""Number of records or of marks kept beside the table before they are folded into it."""

KEEPS_REMOVED = 16
"""Segments that are no longer live stay in the table as long as it has more than this many times more
segments: to leave them out takes the time of all."""

# PyArrow imports pandas for an empty table of a schema.
_NO_SEGMENTS = SegmentColumns.empty({field.name: field.type for field in segment_table.CORE})


@dataclass(frozen=True)
class SegmentSet:
    """Live segments, in the order in which they were added.

    Args:
        base: segments in the layout of a checkpoint; a column is decoded when it is first used.
        packed: the IDs of the columns in the lists of statistics of ``base``, in order.
        removed_paths: paths in ``base`` that are no longer live.
        tail: newer segments.
        newer_marks: marks of live segments in ``base`` that replaced those in it; None for no mark.
        count, rows, bytes: totals over the files of the live segments.
        marked_rows: how many of the rows are marked.
        mark_count: how many of the segments have a mark.
        stored: what is computed of ``base``, shared by all snapshots over it.
    """

    base: SegmentColumns = field(default_factory=lambda: _NO_SEGMENTS)
    packed: tuple[int, ...] = ()
    removed_paths: frozenset[str] = frozenset()
    tail: tuple[LiveSegment, ...] = ()
    newer_marks: Mapping[str, Mark | None] = field(default_factory=dict)
    count: int = 0
    rows: int = 0
    bytes: int = 0
    marked_rows: int = 0
    mark_count: int = 0
    stored: Stored | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.stored is None or self.stored.table is not self.base:
            object.__setattr__(self, "stored", Stored(self.base))

    @staticmethod
    def of(rows_of: SegmentColumns | pa.Table, packed: tuple[int, ...] = ()) -> SegmentSet:
        """The segments in the rows of a checkpoint.

        Raises:
            CorruptTableError: a mark is invalid, or marks more rows than its segment has.
        """
        base = SegmentColumns.of_table(rows_of) if isinstance(rows_of, pa.Table) else rows_of
        rows: int = pc.sum(base["rows"]).as_py() or 0
        size: int = pc.sum(base["bytes"]).as_py() or 0
        stored, marks = Stored(base), base.num_rows - base["mark"].null_count
        marked = int(stored.marked_rows.sum()) if marks else 0
        return SegmentSet(
            *(base, packed),
            count=base.num_rows,
            rows=rows,
            bytes=size,
            marked_rows=marked,
            mark_count=marks,
            stored=stored,
        )

    @property
    def shown_rows(self) -> int:
        """The number of rows that are not marked."""
        return self.rows - self.marked_rows

    @property
    def has_marks(self) -> bool:
        """Whether a segment has a mark."""
        return self.mark_count > 0

    def add(
        self,
        records: Sequence[SegmentRecord],
        sequence: int,
        time: datetime,
        schemas: Schemas,
        current: int,
    ) -> SegmentSet:
        """Add the segments of one commit.

        Args:
            schemas: those of the table.
            current: the version of its schema, which need not be the last one: a merge of a branch adds
                the schemas of the branch.
        """
        new = [LiveSegment(r, sequence, i, time) for i, r in enumerate(records)]
        grown = self.followed_by(new)
        return grown if len(grown.tail) < FOLD_AT else grown.folded(schemas, current)

    def followed_by(self, newer: Sequence[LiveSegment]) -> SegmentSet:
        """These segments, and newer ones after them."""
        marks = [segment.mark for segment in newer if segment.mark is not None]
        return replace(
            self,
            tail=(*self.tail, *newer),
            count=self.count + len(newer),
            rows=self.rows + sum(segment.record.rows for segment in newer),
            bytes=self.bytes + sum(segment.record.bytes for segment in newer),
            marked_rows=self.marked_rows + sum(mark.rows for mark in marks),
            mark_count=self.mark_count + len(marks),
        )

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
        known = self._of_base.places if from_base else {}
        if from_base & self.removed_paths or not from_base <= known.keys():
            raise CorruptTableError("a commit removes a segment that the table does not have")
        marks = [self.mark_of(path) for path in leaving] if self.has_marks else []
        of_leaving = [mark.rows for mark in marks if mark is not None]
        places = array_of(sorted(map(known.__getitem__, from_base)), pa.int64())
        chosen = self.base.select(["rows", "bytes"]).take(places)
        rows = sum(r.rows for r in from_tail) + (pc.sum(chosen["rows"]).as_py() or 0)
        size = sum(r.bytes for r in from_tail) + (pc.sum(chosen["bytes"]).as_py() or 0)
        removed_paths = self.removed_paths | from_base
        emptied = len(removed_paths) == self.base.num_rows
        return SegmentSet(
            base=self.base.emptied() if emptied else self.base,
            packed=self.packed,
            removed_paths=frozenset() if emptied else removed_paths,
            tail=tuple(s for s in self.tail if s.record.path not in leaving),
            newer_marks={p: m for p, m in self.newer_marks.items() if p not in leaving},
            count=self.count - len(from_tail) - chosen.num_rows,
            rows=self.rows - rows,
            bytes=self.bytes - size,
            marked_rows=self.marked_rows - sum(of_leaving),
            mark_count=self.mark_count - len(of_leaving),
            stored=self.stored,
        )

    def with_row_ids(self, first: int) -> tuple[SegmentSet, int]:
        """The same segments with row IDs from ``first`` on where they have none; the next free row ID.

        No file of a checkpoint holds them, so that the next checkpoint is a whole one.
        """
        base = self._marked_base
        base = (base.filter(self._alive) if self.removed_paths else base).decoded()
        assigned = base["first_row_id"]
        counts = pc.if_else(pc.is_null(assigned), base["rows"], ZERO)
        if base.num_rows:
            ends = pc.add(pc.cumulative_sum(counts), scalar_of(first, pa.int64()))
            starts = pc.subtract(ends, counts)
            base = base.with_column("first_row_id", pc.coalesce(assigned, starts))
            first = ends[-1].as_py()
        records, first = numbered([segment.record for segment in self.tail], first)
        tail = (replace(s, record=r) for s, r in zip(self.tail, records, strict=True))
        numbered_set = replace(
            self,
            base=base,
            removed_paths=frozenset(),
            tail=tuple(tail),
            newer_marks={},
            stored=Stored(base),
        )
        return numbered_set, first

    @property
    def removed_places(self) -> pa.Int64Array:
        """The places in ``base`` of segments that are no longer live, ascending."""
        if not self.removed_paths:
            return array_of([], pa.int64())
        return pc.indices_nonzero(pc.invert(self._alive)).cast(pa.int64())

    def after(self, rows: int) -> SegmentSet:
        """The segments without the first rows of ``base``, which are those of some of its files."""
        base = self._marked_base.after(rows)
        if self.removed_paths:
            base = base.filter(self._alive.slice(rows))
        return SegmentSet.of(base, self.packed).followed_by(self.tail)

    def marked(self, changes: Mapping[str, Mark | None]) -> SegmentSet:
        """Replace the marks of some segments; None for no mark.

        Raises:
            CorruptTableError: the set has no segment at one of the paths, or one with fewer rows.
        """
        if not changes:
            return self
        tail = tuple(
            replace(s, mark=changes[s.record.path]) if s.record.path in changes else s
            for s in self.tail
        )
        of_tail = {s.record.path: s.record.rows for s in self.tail if s.record.path in changes}
        of_base = {path: mark for path, mark in changes.items() if path not in of_tail}
        before = list[Mark]()
        for path, mark in changes.items():
            rows = of_tail.get(path, self._base_rows(path))
            if rows is None:
                raise CorruptTableError(
                    "a commit marks rows of a segment that the table does not have"
                )
            if mark is not None and mark.rows > rows:
                raise CorruptTableError(f"{mark.rows} rows are marked in {path}, which has {rows}")
            old = self.mark_of(path) if self.has_marks else None
            before += [] if old is None else [old]
        now = [mark for mark in changes.values() if mark is not None]
        changed = replace(
            self,
            tail=tail,
            newer_marks={**self.newer_marks, **of_base},
            marked_rows=self.marked_rows + sum(m.rows for m in now) - sum(m.rows for m in before),
            mark_count=self.mark_count + len(now) - len(before),
        )
        return changed if len(changed.newer_marks) < FOLD_AT else changed._with_marks_folded()

    def count_small(self, limit: int, commits: range, *, partitioned: bool) -> tuple[int, int]:
        """Count small segments, and the partitions that have one; adopted files are never small.

        Args:
            limit: a segment of fewer bytes is small.
            commits: the versions of the commits whose segments are counted.
            partitioned: whether to tell partitions apart.
        """
        stored, since, end = self._of_base, commits.start, commits.stop
        chosen = stored.small(limit) & (stored.sequences >= since) & (stored.sequences < end)
        chosen[self._removed] = False
        newer = [
            segment.record.partition
            for segment in self.tail
            if segment.sequence in commits
            and segment.record.bytes < limit
            and not segment.record.path.startswith(PREFIX)
        ]
        count = int(np.count_nonzero(chosen)) + len(newer)
        if not partitioned:
            return count, min(count, 1)
        numbers, by_text = stored.partitions
        used = {by_text.get(text, text) for text in map(partition_key, newer)}
        return count, len(used.union(np.unique(numbers[chosen]).tolist()))

    def count_commits(self, until: int) -> int:
        """Count the commits, up to a version, that live segments come from."""
        versions, counts = self._of_base.commits
        leaving = np.searchsorted(versions, self._of_base.sequences[self._removed])
        is_left = counts > np.bincount(leaving, minlength=len(counts))
        newer = np.array([segment.sequence for segment in self.tail], np.int64)
        return int(np.count_nonzero(np.union1d(versions[is_left], newer) <= until))

    @property
    def _removed(self) -> Counts:
        """The places in ``base`` of segments that are no longer live."""
        known = self._of_base.places if self.removed_paths else {}
        return np.array([known[path] for path in self.removed_paths], np.int64)

    def rows_of(self, path: str) -> int | None:
        """The number of rows in the file of a live segment; None if there is no such segment."""
        in_tail = [s.record.rows for s in self.tail if s.record.path == path]
        return in_tail[0] if in_tail else self._base_rows(path)

    def _base_rows(self, path: str) -> int | None:
        place = self._of_base.places.get(path)
        if place is None or path in self.removed_paths:
            return None
        rows: int = self.base["rows"][place].as_py()
        return rows

    def mark_of(self, path: str) -> Mark | None:
        """The mark of a live segment, or None if it has none."""
        if path in self.newer_marks:
            return self.newer_marks[path]
        place = self._of_base.places.get(path)
        if place is not None and path not in self.removed_paths:
            text = self.base["mark"][place].as_py()
            return None if text is None else mark_from_text(text)
        return self._tail_marks.get(path)

    @cached_property
    def _tail_marks(self) -> dict[str, Mark]:
        return {s.record.path: s.mark for s in self.tail if s.mark is not None}

    @property
    def marks(self) -> dict[str, Mark]:
        """The marks of the live segments that have one, by path."""
        if not self.has_marks:
            return {}
        texts = self.column("mark")
        paths = self.column("path").filter(pc.is_valid(texts)).to_pylist()
        return dict(zip(paths, map(mark_from_text, texts.drop_null().to_pylist()), strict=True))

    @property
    def mark_files(self) -> set[str]:
        """The files that hold marks of live segments."""
        return files_of(self.marks.values())

    @property
    def marked_counts(self) -> Counts:
        """The number of marked rows of each live segment."""
        if not self.has_marks:
            return np.zeros(self.count, np.int64)
        return marked_counts(one_array(self.column("mark")), one_array(self.column("rows")))

    @property
    def shown_counts(self) -> pa.Int64Array:
        """The number of rows of each live segment that are not marked."""
        rows = one_array(self.column("rows"))
        return pc.subtract(rows, from_numpy(self.marked_counts)) if self.has_marks else rows

    @cached_property
    def resolved_versions(self) -> Counts:
        """The version up to which the hidden rows of each live segment are marked, or ``UNRESOLVED``."""
        if not self.has_marks:
            return np.full(self.count, UNRESOLVED)
        return resolved_versions(one_array(self.column("mark")))

    def _with_marks_folded(self) -> SegmentSet:
        """The same segments with the newer marks in ``base``."""
        base = self.base.with_column("mark", self.base_marks)
        return replace(
            self, base=base, newer_marks={}, stored=self.stored_with(base, base.num_rows)
        )

    @cached_property
    def base_marks(self) -> pa.ChunkedArray:
        """The mark of each segment in ``base``."""
        stored = self.base["mark"]
        if not self.newer_marks:
            return stored
        changed = array_of(list(self.newer_marks), pa.string())
        marks = self.newer_marks.values()
        texts = array_of([None if m is None else mark_to_text(m) for m in marks], pa.string())
        place = pc.index_in(self.base["path"], changed)
        return pc.if_else(pc.is_valid(place), pc.take(texts, place), stored)

    def only(self, paths: Iterable[str]) -> SegmentSet:
        """Return the segments of this set at these paths; others are ignored."""
        newer, places = self.located(frozenset(paths))
        stored = self._marked_base.at(array_of(list(places.values()), pa.int64()))
        return SegmentSet.of(stored, self.packed).followed_by(newer)

    def located(self, paths: Collection[str]) -> tuple[list[LiveSegment], dict[str, int]]:
        """The live segments at these paths, in order: newer ones, and the rows of others in ``base``."""
        newer = [s for s in self.tail if s.record.path in paths]
        older = [] if len(newer) == len(paths) else set(paths) - {s.record.path for s in newer}
        places = self._of_base.places if older else {}
        live = [path for path in older if path in places and path not in self.removed_paths]
        return newer, {path: places[path] for path in sorted(live, key=places.__getitem__)}

    def stored_with(self, base: SegmentColumns, rows: int) -> Stored:
        """What is computed of another ``base``, of which the first rows are the same segments."""
        return self._of_base.followed_by(base, rows)

    @property
    def _of_base(self) -> Stored:
        assert self.stored is not None
        return self.stored

    @property
    def _marked_base(self) -> SegmentColumns:
        """``base`` with the newer marks."""
        return self._with_marks_folded().base if self.newer_marks else self.base

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
        base = self._of_live(self._marked_base.select(segment_table.CORE.names))
        newer = segment_table.core_table(self.tail)
        stored = pa.Table.from_arrays(base.columns, schema=segment_table.CORE)
        return pa.concat_tables([stored, newer])

    @cached_property
    def deltas(self) -> Deltas:
        """The deltas of the live segments. Raises CorruptTableError: see ``Deltas.of_texts``."""
        base = self._of_base.deltas
        if self.removed_paths:
            base = base.filter(one_array(self._alive))
        return base + Deltas.of([s.record.delta for s in self.tail])

    def column(self, name: str, places: pa.Int64Array | None = None) -> pa.ChunkedArray:
        """One column of ``core``, without building the others; see ``statistic`` for ``places``."""
        newer = segment_table.core_column(self.tail, name)
        stored = self.base_marks if name == "mark" else self.base[name]
        values = pa.chunked_array([*self._of_live(stored).chunks, newer])
        return values if places is None else values.take(places)

    @property
    def paths(self) -> list[str]:
        """The paths of the live segments."""
        paths: list[str] = self.column("path").to_pylist()
        return paths

    def statistic(
        self, name: str, column: Column, schemas: Schemas, places: pa.Int64Array | None = None
    ) -> pa.ChunkedArray:
        """One statistic of one column over live segments; null where unknown.

        Args:
            name: ``nulls``, ``nans``, ``min``, ``max`` or ``inexact``, or of shapes an edge (``BOX``).
            column: a column of the wanted schema; bounds come in its type.
            places: the segments, by their places among the live ones in order; None for all. A column
                that was not decoded yet is decoded only around them.
        """
        if places is not None:
            return self._statistic_at(places, name, column, schemas)
        type_ = segment_table.statistic_type(name, column.type)
        stored = self._stored(name, column, schemas, type_)
        return pa.chunked_array([*stored.chunks, self._newer(name, column, schemas)], type_)

    def _statistic_at(
        self, places: pa.Int64Array, name: str, column: Column, schemas: Schemas
    ) -> pa.ChunkedArray:
        """``statistic`` at some places."""
        key = segment_table.statistic_key(column.id, name)
        type_ = segment_table.statistic_type(name, column.type)
        if column.id in self._places or key not in self._names or self.removed_paths:
            return self.statistic(name, column, schemas).take(places)
        count = scalar_of(self.base.num_rows, pa.int64())
        in_base = pc.less(places, count)
        newer = pc.subtract(places.filter(pc.invert(in_base)), count)
        stored = self.base.take(key, places.filter(in_base)).cast(type_)
        return pa.chunked_array([stored, self._newer(name, column, schemas).take(newer)], type_)

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
        key, place = segment_table.statistic_key(column.id, name), self._places.get(column.id)
        sources: list[pa.ChunkedArray] = []
        if key in self._names:
            sources.append(self._of_live(self.base[key]).cast(type_))
        if place is not None:
            listed, _ = segment_table.BOX.get(name, (name, 0))
            values = self._of_live(segment_table.at_place(self.base[f"statistics.{listed}"], place))
            if name in segment_table.BOX:
                values = segment_table.edges_array(one_array(values), name)
            elif name in ("min", "max"):
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
        return frozenset(self.base.types)

    @cached_property
    def _places(self) -> dict[int, int]:
        """Position of each column in the lists of statistics, by ID."""
        return {column_id: place for place, column_id in enumerate(self.packed)}

    def folded(self, schemas: Schemas, current: int) -> SegmentSet:
        """The same segments in ``base``; columns that were not decoded yet are not decoded now."""
        if self.packed or _is_wide(schemas[current]):
            table, packed = self.table(schemas, current)
            base, removed = SegmentColumns.of_table(table), frozenset[str]()
            stored = Stored(base)
        else:
            is_few = KEEPS_REMOVED * len(self.removed_paths) < self.base.num_rows
            # A rollback adds segments again that were removed: they would be in the table twice.
            is_back = not self.removed_paths.isdisjoint(s.record.path for s in self.tail)
            whole = self if is_few and not is_back else self._without_removed()
            newer, packed = SegmentSet().followed_by(self.tail).table(schemas, current)
            base, removed = whole._marked_base.appended(newer), whole.removed_paths
            stored = whole.stored_with(base, whole.base.num_rows)
        return replace(
            self,
            base=base,
            packed=packed,
            removed_paths=removed,
            tail=(),
            newer_marks={},
            stored=stored,
        )

    def _without_removed(self) -> SegmentSet:
        """The same segments, with those that are no longer live left out of ``base``."""
        if not self.removed_paths:
            return self
        base = self._marked_base.filter(self._alive).decoded()
        return replace(self, base=base, removed_paths=frozenset(), newer_marks={})

    def table(self, schemas: Schemas, current: int) -> tuple[pa.Table, tuple[int, ...]]:
        """One row a live segment as in a checkpoint, and the IDs of the columns in lists, if any."""
        schema = schemas[current]
        ids = tuple(sorted(schema.ids))
        wide = _is_wide(schema)
        columns = [held(schema.column(column_id)) for column_id in ids]
        stored = [
            (name, column, self._typed(name, column) if wide else None)
            for column in columns
            for name in segment_table.statistics_of(column.type)
            if not wide or self._has_typed(name, column)
        ]
        arrays, fields = self.core.columns, list(self.core.schema)
        for name, column, typed in stored:
            arrays.append(self.statistic(name, column, schemas) if typed is None else typed)
            key = segment_table.statistic_key(column.id, name)
            fields.append(pa.field(key, arrays[-1].type))
        if wide:
            arrays += [self._lists(name, ids) for name in segment_table.LIST_TYPES]
            fields += segment_table.FIELDS
        # All columns at once: each append to a table copies its list of columns.
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, self.core.schema.metadata))
        return table, ids if wide else ()

    def _has_typed(self, name: str, column: Column) -> bool:
        """Whether a live segment in ``base`` has a statistic in a column of its own."""
        key = segment_table.statistic_key(column.id, name)
        if key not in self._names:
            return False
        values = self._of_live(self.base[key])
        return bool(values.null_count < len(values))

    def _typed(self, name: str, column: Column) -> pa.ChunkedArray:
        type_ = segment_table.statistic_type(name, column.type)
        stored = self._of_live(self.base[segment_table.statistic_key(column.id, name)]).cast(type_)
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


def _is_wide(schema: Schema) -> bool:
    """Whether statistics are stored in lists."""
    return len(schema.ids) > segment_table.MOST_COLUMNS
