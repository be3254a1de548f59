"""Scans: rows and columns of one snapshot, planned into tasks."""

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

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.interop import interop
from versioned_catalog.log.record import Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import FALSE, ZERO, to_arrow_schema
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.model.logical_columns import logical_columns
from versioned_catalog.model.pins import Overflow, loosened_column
from versioned_catalog.model.types import Column, is_floating, walk
from versioned_catalog.observe.records import DEBUG, record
from versioned_catalog.observe.tracing import carried, detached, span, spanned
from versioned_catalog.read.apply_plan import Narrowing, constant_texts
from versioned_catalog.read.arrow_stream import stream_capsule
from versioned_catalog.read.bounds import every_match
from versioned_catalog.read.computed import with_implied
from versioned_catalog.read.filters import (
    And,
    BoundFilter,
    UnboundFilter,
    columns_of,
    filter_on,
    render_filter,
)
from versioned_catalog.read.logical_rows import with_logical_types
from versioned_catalog.read.merge_planning import MergePlanner, ends_of, split_merge
from versioned_catalog.read.metadata_columns import ALL_METADATA_COLUMNS, ROW_ID, ROW_UPDATED
from versioned_catalog.read.planning import (
    TARGET_BYTES,
    Row,
    Selected,
    TaskPlanner,
    pack,
    select,
    task_rows,
    wanted_of,
)
from versioned_catalog.read.projection import FileLayout, SegmentPlan, file_layouts, plan_layout
from versioned_catalog.read.scan_columns import (
    age_time,
    bind_filters,
    cut_to,
    narrowing_of,
    with_fields,
    with_ttl,
)
from versioned_catalog.read.tasks import PREFETCH_SEGMENTS, Task, read_segments, read_task
from versioned_catalog.storage.opening import check_roots
from versioned_catalog.storage.store import Store


@dataclass(frozen=True)
class ScanReport:
    """The plan of a scan in figures.

    Args:
        version: the snapshot.
        segments: the number of live segments.
        pruned: the number of segments skipped by statistics, by partition or for a limit.
        by_schema_version: the number of segments to read, by the schema they were written under.
    """

    version: int
    segments: int
    pruned: int
    by_schema_version: dict[int, int]


class Scan:
    """A scan of one snapshot.

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
        columns: the shown columns in order, also metadata columns.
        filter: selects the rows; None for all.
        prune: whether statistics are used to skip segments and row groups.
        limit: the number of rows to read, in any order; None for all.
        like: another scan of the same snapshot, whose time is used for ``ttl``.
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
        self._wide = self.columns
        if state.converts:
            self._wide = tuple(map(state.reads.widened, self.columns))
        if state.lens is not None and state.lens.overflow is Overflow.NULL:
            # Also a column of the row key shows nulls.
            self.columns = tuple(loosened_column(column, state.seen) for column in self.columns)
        self._time: datetime | None = age_time(store, state) if like is None else like._time
        self.filter = with_ttl(state, filter, self._time)
        self.asked = filter
        self.limit = limit
        self._prune = prune
        self._check_row_ids()
        self._wide = self._with_filtered_fields()

    def _check_row_ids(self) -> None:
        """Refuse metadata columns that only a table with row IDs has."""
        asked = {column.id for column in self.columns}
        asked |= columns_of(self.asked) if self.asked is not None else frozenset()
        if asked & {ROW_ID, ROW_UPDATED} and not self.state.has_row_ids:
            raise NotFoundError(
                f"rows of version {self.state.version} have no IDs, so _row_id and _row_updated are not "
                f"known; set the table property {ROW_IDS} to true",
                condition="COLUMN_NOT_FOUND",
            )

    def __repr__(self) -> str:
        parts = [f"version={self.state.version}", f"columns={[c.name for c in self.columns]}"]
        if self.asked is not None:
            parts.append(f"where {render_filter(self.asked, self.state.known)}")
        if self.limit is not None:
            parts.append(f"limit={self.limit}")
        return f"Scan({self.store.url!r}, {', '.join(parts)})"

    def _repr_html_(self) -> str:
        """The shown columns in the schemas of the segments to read, as HTML for notebooks."""
        html: str = interop("scan_html")(self)
        return html

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return to_arrow_schema(self.columns)

    def restricted(
        self,
        columns: Sequence[str] | None = None,
        filters: UnboundFilter | None = None,
        limit: int | None = None,
    ) -> Scan:
        """The same rows with some of the shown columns, those that match a filter, or a number of them.

        A filter and a limit do not go together: the rows of a limit are not defined.
        """
        shown = self.columns
        if columns is not None:
            by_name = {column.name: column for column in self.columns}
            shown = tuple(by_name[name] for name in columns)
        if filters is not None and not (limit is None and self.limit is None):
            raise InvalidRequestError("a scan with a limit can't be filtered further")
        limits = [n for n in (self.limit, limit) if n is not None]
        bound = bind_filters(filters, self.state.known)
        parts = [part for part in (self.asked, bound) if part is not None]
        return Scan(
            self.store,
            self.state,
            shown,
            And(tuple(parts)) if len(parts) > 1 else next(iter(parts), None),
            prune=self._prune,
            limit=min(limits, default=None),
            like=self,
        )

    def _with_filtered_fields(self) -> tuple[Column, ...]:
        """The shown columns with the fields of structs that only the filter needs."""
        if self.filter is None:
            return self._wide
        missing = columns_of(self.filter) - {column.id for column, _ in walk(self._wide)}
        tops = {self._top(column_id) for column_id in missing if column_id > 0}
        return tuple(
            with_fields(column, self.state.known.column(column.id), missing)
            if column.id in tops
            else column
            for column in self._wide
        )

    @cached_property
    def _wanted(self) -> tuple[Column, ...]:
        """The shown columns, followed by those that only the filter needs."""
        if self.filter is None:
            return self._wide
        shown = {column.id for column, _ in walk(self._wide)}
        missing = columns_of(self.filter) - shown
        top = {self._top(column_id) for column_id in missing if column_id > 0}
        extra = [cut_to(c, missing) for c in self.state.known.columns if c.id in top]
        extra += [c for c in ALL_METADATA_COLUMNS if c.id in missing]
        return (*self._wide, *extra)

    def _top(self, column_id: int) -> int:
        above = self.state.known.ancestors(column_id)
        return above[0].id if above else column_id

    @cached_property
    def narrowing(self) -> Narrowing | None:
        """The columns that are shown in narrower types than segments hold; None if there are none."""
        narrowed = narrowing_of(self.state, self._wanted, self.columns)
        lens, young = self.state.lens, with_ttl(self.state, None, self._time)
        if narrowed is None or lens is None or young is None or lens.overflow is Overflow.ERROR:
            return narrowed
        return replace(narrowed, aged=(young, self.asked))

    @cached_property
    def _inclusive(self) -> BoundFilter | None:
        """The filter for statistics, which do not record the values that are shown as null."""
        if self.filter is None or self.narrowing is None:
            return self.filter
        match self.narrowing.overflow:
            case Overflow.ERROR:
                return self.filter
            case Overflow.NULL:
                shown_as_null = {
                    c.id for narrowed in self.narrowing.columns for c, _ in walk((narrowed.wide,))
                }
                return filter_on(self.filter, columns_of(self.filter) - shown_as_null)

    @property
    def decides_by_statistics(self) -> bool:
        """Whether the filter selects the same on statistics as on the shown values."""
        return self._inclusive is self.filter

    @property
    def _prunes(self) -> bool:
        """Whether the filter may be evaluated on statistics of row groups and on keys before a merge."""
        return self._prune and self.decides_by_statistics

    @cached_property
    def selected(self) -> Selected:
        """The segments to read, and those to merge."""
        limit = self.limit if self.filter is None else None
        inclusive = with_implied(self._inclusive, self.state) if self._prune else self._inclusive
        with span("versioned.prune", store=self.store.url, version=self.state.version) as pruning:
            selected = select(self.state, inclusive, limit, prune=self._prune)
            live, chosen = self.state.segments.count, selected.chosen
            kept = live if chosen is None else chosen.true_count
            pruning.set(segments=live, skipped=live - kept, merged=len(selected.groups))
        record(
            DEBUG,
            "%s: version %d: %d of %d segments are read",
            self.store.url,
            self.state.version,
            kept,
            live,
            location=self.store.url,
            version=self.state.version,
            segments=kept,
            skipped=live - kept,
        )
        return selected

    @cached_property
    def places(self) -> pa.Int64Array | None:
        """The places of the segments that are read among the live ones; None for all."""
        chosen = self.selected.chosen
        return None if chosen is None else pc.indices_nonzero(chosen).cast(pa.int64())

    def of_kept(self, values: Any) -> Any:
        """Restrict values, one per live segment, to the segments that are read."""
        chosen = self.selected.chosen
        return values if chosen is None else values.filter(chosen)

    @cached_property
    def kept(self) -> pa.Table:
        """The core columns of the segments that are read."""
        return self.of_kept(self.state.segments.core)

    @cached_property
    def layouts(self) -> list[FileLayout]:
        """The layout of each segment that is read."""
        return file_layouts(self.kept)

    def constant_texts(self) -> list[list[str | None]]:
        """The value texts of the constants of each segment that is read, by output.

        Empty if no segment has constants. A segment without constants has an empty list, and an output
        without a constant is null.
        """
        if self.kept["constants"].null_count == self.kept.num_rows:
            return []
        versions, texts = (self.kept[name].to_pylist() for name in ("schema_version", "constants"))
        return [
            constant_texts(self.state.schemas[version], text, self._wanted)
            for version, text in zip(versions, texts, strict=True)
        ]

    def plan(
        self, layout: FileLayout, more: Sequence[Column] = (), internal: Sequence[Column] = ()
    ) -> SegmentPlan:
        """The projection of segments of a layout, with more columns after those of the scan.

        Args:
            internal: columns that the files hold after those of the schema (see ``plan_layout``).
        """
        schema, lens = self.state.schemas[layout.schema_version], self.state.lens
        wanted = wanted_of(schema, self._wanted, None if lens is None else lens.null_after)
        return plan_layout(schema, layout, (*wanted, *more), internal)

    def merged_paths(self) -> frozenset[str]:
        """The paths of segments with hidden rows, which only this library can read.

        Rows are hidden if rows of other segments may replace them, or if they are too old.
        """
        paths = self.kept["path"]
        merged = frozenset(paths[at].as_py() for group in self.selected.groups for at in group)
        return merged | self.expiring_paths()

    @property
    def ages(self) -> bool:
        """Whether the same scan shows fewer rows later, because the table has a ``ttl``."""
        return self._time is not None

    def expiring_paths(self) -> frozenset[str]:
        """The paths of segments that may hold rows that are too old."""
        young = with_ttl(self.state, None, self._time)
        if young is None:
            return frozenset()
        partial = self.of_kept(pc.invert(every_match(self.state, young)))
        return frozenset(self.kept["path"].filter(partial).to_pylist())

    @spanned("versioned.plan")
    def tasks(self) -> list[tuple[Task, int]]:
        """The tasks of the scan, segments and merges, with the cost of each in bytes.

        Raises:
            InvalidRequestError: a segment needs an external root that the reader does not have.
        """
        self.check_roots()
        rows, groups = task_rows(self.kept), self.selected.groups
        deltas = self.selected.decoded(len(rows))
        merged = {place for group in groups for place in group}
        single = [place for place in range(len(rows)) if place not in merged]
        tasks: list[tuple[Task, int]] = self._singles(rows, deltas, single) if single else []
        if groups:
            key = self.state.schema.row_key[0]
            planner = MergePlanner(*self._planned, prune=self._prunes, narrowing=self.narrowing)
            ends = ends_of(self.state, self.selected.chosen)
            for merge, size in planner.tasks(rows, deltas, ends, groups):
                parts = split_merge(self.store, merge, key)
                tasks += [(part, size // len(parts)) for part in parts]
        return tasks

    @property
    def _planned(self) -> tuple[TableState, tuple[Column, ...], BoundFilter | None, int]:
        """The arguments of both planners."""
        return self.state, self._wanted, self.filter, len(self.columns)

    def check_roots(self) -> None:
        """Refuse to read below external roots that the reader does not have.

        Raises:
            InvalidRequestError: naming the segment and its root.
        """
        if self.state.roots:
            check_roots(self.store, self.kept["path"].to_pylist(), self.state.roots)

    def _singles(
        self, rows: Sequence[Row], deltas: Sequence[Delta], places: Sequence[int]
    ) -> list[tuple[Task, int]]:
        """One task for each segment that is not merged."""
        free = self.nan_free()
        planner = TaskPlanner.of(*self._planned, prune=self._prunes, narrowing=self.narrowing)
        return [(planner.task(rows[at], deltas[at], free[at]), rows[at]["bytes"]) for at in places]

    def nan_free(self) -> list[frozenset[int]]:
        """For each segment that is read, the columns of the filter that hold no NaN in it."""
        looked = columns_of(self.filter) if self.filter is not None else frozenset()
        schema, segments = self.state.known, self.state.segments
        free: list[frozenset[int]] = [frozenset()] * self.kept.num_rows
        for column in (schema.column(i) for i in looked if i in schema.ids):
            if is_floating(column.type):
                nans = segments.statistic("nans", column, self.state.schemas, self.places)
                none = pc.fill_null(pc.equal(nans, ZERO), FALSE).to_pylist()
                free = [
                    f | {column.id} if is_free else f for f, is_free in zip(free, none, strict=True)
                ]
        return free

    def partitions(self, target: int = TARGET_BYTES) -> list[tuple[Task, ...]]:
        """The tasks, packed into splits of about ``target`` bytes."""
        return pack(self.tasks(), target)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in batches, in the order of segments.

        Raises:
            CorruptTableError: a segment is missing or not the one that the log records.
        """
        with detached("versioned.read", store=self.store.url, version=self.state.version) as span:
            read = 0
            for batch in self._batches():
                read += batch.num_rows
                yield batch
            span.set(rows=read)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        left = self.limit
        tasks = [task for task, _ in self.tasks()] if left != 0 else []
        for batch in read_segments(self.store, tasks):
            shown = batch if left is None else batch.slice(0, left)
            yield shown
            left = None if left is None else left - shown.num_rows
            if left == 0:
                return

    def to_arrow(self, *, logical_types: bool = False) -> pa.Table:
        """Read all rows, in the order of segments.

        Args:
            logical_types: whether columns with a logical type are in Arrow's type for it, such as
                ``pa.uuid()``, ``pa.json_()`` and ``pa.uint8()``, and not in their base type.

        Raises:
            InvalidRequestError: Arrow's type for a logical type does not hold a value.
        """
        with span("versioned.read", store=self.store.url, version=self.state.version) as reading:
            rows = self._to_arrow()
            reading.set(rows=rows.num_rows, bytes=rows.nbytes)
            if not logical_types:
                return rows
            return with_logical_types(rows, self.columns, logical_columns(self.state.properties))

    def _to_arrow(self) -> pa.Table:
        tasks = [task for task, _ in self.tasks()]

        def read(task: Task) -> list[pa.RecordBatch]:
            return list(read_task(self.store, task))

        if self.limit is not None:
            batch_lists = [list(self._batches())]
        elif len(tasks) < 2:
            batch_lists = [read(task) for task in tasks]
        else:
            threads = PREFETCH_SEGMENTS if self.store.is_remote else os.cpu_count() or 1
            with ThreadPoolExecutor(min(len(tasks), threads)) as pool:
                batch_lists = list(pool.map(carried(read), tasks))
        batches = [batch for part in batch_lists for batch in part]
        if not self.columns:
            rows = sum(batch.num_rows for batch in batches)
            return pa.table({"_": pa.nulls(rows)}).select([])
        return pa.Table.from_batches(batches, self.schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows as an Arrow stream: see Arrow's PyCapsule interface."""
        return stream_capsule(self, requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """Read all rows to a pandas DataFrame; options are those of ``pyarrow.Table.to_pandas``."""
        return interop("to_pandas")(self, **options)

    def to_polars(self) -> Any:
        """A Polars LazyFrame, whose queries read only the columns and rows that they need."""
        return interop("to_polars")(self)

    def to_duckdb(self, connection: Any = None) -> Any:
        """A DuckDB relation, whose queries read only the columns and rows that they need.

        Args:
            connection: the DuckDB connection; None for the default.
        """
        return interop("to_duckdb")(self, connection)

    def count(self) -> int:
        """The number of rows; without a filter or merges, from metadata alone."""
        if self.filter is None and not self.selected.groups:
            rows = self.state.segments.shown_rows
            if self.selected.chosen is not None:
                rows = pc.sum(self.of_kept(self.state.segments.shown_counts)).as_py() or 0
            return rows if self.limit is None else min(rows, self.limit)
        bare = Scan(
            self.store, self.state, (), self.asked, prune=self._prune, limit=self.limit, like=self
        )
        return sum(batch.num_rows for batch in bare.to_batches())

    def report(self) -> ScanReport:
        """The plan in figures."""
        counts = self.kept["schema_version"].value_counts().to_pylist()
        by_version = {int(count["values"]): int(count["counts"]) for count in counts}
        live = self.state.segments.count
        return ScanReport(
            self.state.version, live, live - self.kept.num_rows, dict(sorted(by_version.items()))
        )
