"""A scan: which rows of which columns of one snapshot, planned into tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.open_ahead import AHEAD
from versioned_catalog.datafile.read_ahead import read_segments
from versioned_catalog.datafile.tasks import Task, read_task
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filters import BoundFilter, columns_of
from versioned_catalog.expressions.rendering import render_filter
from versioned_catalog.log.delta import PLAIN
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.metadata_columns import KEYED_METADATA_COLUMNS, METADATA_COLUMNS
from versioned_catalog.projection.resolver import SegmentPlan, plan_segment
from versioned_catalog.pruning.segments import every_match
from versioned_catalog.scan.merge_planning import MergePlanner, ends_of
from versioned_catalog.scan.merge_splitting import split_merge
from versioned_catalog.scan.packing import TARGET_BYTES, pack
from versioned_catalog.scan.selection import Selected, select
from versioned_catalog.scan.tasks import Plans, segment_task
from versioned_catalog.scan.ttl_filter import age_time, with_ttl
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_schema
from versioned_catalog.types.arrow_values import FALSE, ZERO
from versioned_catalog.types.types import Column, Struct, children, is_floating, walk


@dataclass(frozen=True)
class ScanReport:
    """What a scan will do.

    Args:
        version: the snapshot it reads.
        segments: how many are live.
        pruned: how many of them are skipped, by statistics and partition or for a limit.
        by_schema_version: how many are read, by the schema they were written under.
    """

    version: int
    segments: int
    pruned: int
    by_schema_version: dict[int, int]


class Scan:
    """The rows of one snapshot, pinned when the scan was made.

    >>> table = catalog.create_table("t", "day DATE, n BIGINT", partitioned_by=["day"])
    >>> days = pa.array([0, 0, 1], pa.date32())
    >>> table.append(pa.table({"day": days, "n": [1, 2, 3]}))
    1
    >>> scan = table.scan(["n"], filters=[("day", "=", "1970-01-02")])
    >>> scan.to_arrow().to_pylist()
    [{'n': 3}]
    >>> scan.report()
    ScanReport(version=1, segments=2, pruned=1, by_schema_version={0: 1})

    Args:
        store: the table's folder.
        state: the snapshot.
        columns: what is shown, in order; implicit columns may be among them.
        filter: which rows, or None for all.
        prune: whether statistics are used to skip what can't match.
        limit: how many rows are wanted, whichever; None for all.
        like: another scan of the same snapshot, for which the same rows are too old.
    """

    def __init__(
        self,
        store: Store,
        state: TableState,
        columns: Sequence[Column],
        filter: BoundFilter | None = None,
        *,
        prune: bool = True,
        limit: int | None = None,
        like: Scan | None = None,
    ) -> None:
        self.store = store
        self.state = state
        self.columns = tuple(columns)
        self._time: datetime | None = age_time(store, state) if like is None else like._time
        self.filter = with_ttl(state, filter, self._time)
        self._asked = filter
        self.limit = limit
        self._prune = prune

    def __repr__(self) -> str:
        told = [f"version={self.state.version}", f"columns={[c.name for c in self.columns]}"]
        if self._asked is not None:
            told.append(f"where {render_filter(self._asked, self.state.schema)}")
        if self.limit is not None:
            told.append(f"limit={self.limit}")
        return f"Scan({self.store.url!r}, {', '.join(told)})"

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return to_arrow_schema(self.columns)

    @cached_property
    def _wanted(self) -> tuple[Column, ...]:
        """The columns shown, and after them those that only the filter looks at."""
        if self.filter is None:
            return self.columns
        shown = {column.id for column, _ in walk(self.columns)}
        missing = columns_of(self.filter) - shown
        top = {self._top(column_id) for column_id in missing if column_id > 0}
        clash = top & {column.id for column in self.columns}
        if clash:
            raise InvalidRequestError("a filter looks into a struct at a field that was cut away")
        extra = [_cut(c, missing) for c in self.state.schema.columns if c.id in top]
        extra += [c for c in (*METADATA_COLUMNS, *KEYED_METADATA_COLUMNS) if c.id in missing]
        return (*self.columns, *extra)

    def _top(self, column_id: int) -> int:
        above = self.state.schema.ancestors(column_id)
        return above[0].id if above else column_id

    @cached_property
    def selected(self) -> Selected:
        """Which segments are read, and which of them together."""
        return select(self.state, self.filter, self.limit, prune=self._prune)

    def of_kept(self, values: Any) -> Any:
        """Of values of all live segments, one each, those of the segments that are read."""
        chosen = self.selected.chosen
        return values if chosen is None else values.filter(chosen)

    @cached_property
    def kept(self) -> pa.Table:
        """The core columns of the segments that may hold wanted rows."""
        return self.of_kept(self.state.segments.core)

    def plan(self, schema_version: int) -> SegmentPlan:
        """What is done with segments that were written under a schema version."""
        return plan_segment(self.state.schemas[schema_version], self._wanted)

    def merged_paths(self) -> frozenset[str]:
        """The paths of the segments whose rows are not all shown, so that only this library reads them:
        rows of others may replace them, or they are too old."""
        paths = self.kept["path"]
        merged = frozenset(paths[at].as_py() for group in self.selected.groups for at in group)
        young = with_ttl(self.state, None, self._time)
        if young is None:
            return merged
        torn = self.of_kept(pc.invert(every_match(self.state, young)))
        return merged | frozenset(paths.filter(torn).to_pylist())

    def tasks(self) -> list[tuple[Task, int]]:
        """What is read, and how many bytes each has: segments, and groups that must be merged."""
        rows = task_rows(self.kept)
        groups = self.selected.groups
        apart = {place for group in groups for place in group}
        single = [place for place in range(len(rows)) if place not in apart]
        found: list[tuple[Task, int]] = self._singles(rows, single) if single else []
        if groups:
            key = self.state.schema.row_key[0]
            planner = MergePlanner(self.state, self._wanted, self.filter, len(self.columns))
            ends = ends_of(self.state, self.selected.chosen)
            for merge, size in planner.tasks(rows, self.selected, ends, prune=self._prune):
                parts = split_merge(self.store, merge, key)
                found += [(part, size // len(parts)) for part in parts]
        return found

    def _singles(self, rows: list[dict[str, Any]], places: list[int]) -> list[tuple[Task, int]]:
        """One task a segment; plans are made once for all that hold the same columns."""
        free, deltas = self.nan_free(), self.selected.deltas
        plans = Plans(self.state, self._wanted)
        return [
            (
                replace(
                    segment_task(self.state, rows[at], plans, deltas[at] if deltas else PLAIN),
                    filter=self.filter,
                    shown=len(self.columns),
                    nan_free=free[at],
                    prune=self._prune,
                ),
                rows[at]["bytes"],
            )
            for at in places
        ]

    def nan_free(self) -> list[frozenset[int]]:
        """For each segment that is kept, the floats the filter looks at that hold no NaN in it."""
        looked = columns_of(self.filter) if self.filter is not None else frozenset()
        schema, segments = self.state.schema, self.state.segments
        free: list[frozenset[int]] = [frozenset()] * self.kept.num_rows
        for column in (schema.column(i) for i in looked if i in schema.ids):
            if is_floating(column.type):
                nans = self.of_kept(segments.statistic("nans", column, self.state.schemas))
                none = pc.fill_null(pc.equal(nans, ZERO), FALSE).to_pylist()
                free = [
                    f | {column.id} if is_free else f for f, is_free in zip(free, none, strict=True)
                ]
        return free

    def partitions(self, target: int = TARGET_BYTES) -> list[tuple[Task, ...]]:
        """The tasks, packed into pieces of work of about ``target`` bytes."""
        return pack(self.tasks(), target)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time, in the order of segments.

        Raises:
            CorruptTableError: a segment is missing or not what the log says.
        """
        left = self.limit
        tasks = [task for task, _ in self.tasks()] if left != 0 else []
        for batch in read_segments(self.store, tasks):
            shown = batch if left is None else batch.slice(0, left)
            yield shown
            left = None if left is None else left - shown.num_rows
            if left == 0:
                return

    def to_arrow(self) -> pa.Table:
        """The rows, in the order of segments."""
        tasks = [task for task, _ in self.tasks()]

        def read(task: Task) -> list[pa.RecordBatch]:
            return list(read_task(self.store, task))

        if self.limit is not None:
            found = [list(self.to_batches())]
        elif len(tasks) < 2:
            found = [read(task) for task in tasks]
        else:
            threads = AHEAD if self.store.is_remote else os.cpu_count() or 1
            with ThreadPoolExecutor(min(len(tasks), threads)) as pool:
                found = list(pool.map(read, tasks))
        batches = [batch for part in found for batch in part]
        if not self.columns:
            return _rows_of_nothing(sum(batch.num_rows for batch in batches))
        return pa.Table.from_batches(batches, self.schema)

    def count(self) -> int:
        """How many rows there are; from metadata alone where there is no filter."""
        if self.filter is None and not self.selected.groups:
            rows = self.state.segments.rows
            if self.selected.chosen is not None:
                rows = pc.sum(self.kept["rows"]).as_py() or 0
            return rows if self.limit is None else min(rows, self.limit)
        bare = Scan(
            self.store,
            self.state,
            (),
            self._asked,
            prune=self._prune,
            limit=self.limit,
            like=self,
        )
        return sum(batch.num_rows for batch in bare.to_batches())

    def report(self) -> ScanReport:
        """What the scan will do, and what was pruned."""
        kept = self.kept["schema_version"].value_counts().to_pylist()
        by_version = {int(found["values"]): int(found["counts"]) for found in kept}
        live = self.state.segments.count
        return ScanReport(
            self.state.version, live, live - self.kept.num_rows, dict(sorted(by_version.items()))
        )


_TOLD = ("path", "schema_version", "rows", "bytes", "sequence", "ordinal", "partition")


def task_rows(kept: pa.Table) -> list[dict[str, Any]]:
    """What tasks need of segments; times as integers, since Arrow asks pandas for others."""
    columns = {name: kept[name] for name in _TOLD}
    columns["commit_time"] = kept["commit_time"].cast(pa.int64())
    rows: list[dict[str, Any]] = pa.table(columns).to_pylist()
    return rows


def _cut(column: Column, wanted: frozenset[int]) -> Column:
    """A struct cut down to the fields that lead to wanted IDs."""
    if column.id in wanted or not isinstance(column.type, Struct):
        return column
    inner = tuple(
        _cut(child, wanted)
        for child in children(column.type)
        if any(below.id in wanted for below, _ in walk((child,)))
    )
    return replace(column, type=Struct(inner))


def _rows_of_nothing(rows: int) -> pa.Table:
    return pa.table({"_": pa.nulls(rows)}).select([])
