"""The segments of a scan, and the tasks that read them, packed into splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.limits import SCAN_SPLITS, VERSIONS
from versioned_catalog.log.marks import mark_from_text
from versioned_catalog.log.record import PLAIN, Delta, SegmentRecord
from versioned_catalog.log.segment_table import (
    OF_ROW_IDS,
    OPTIONAL,
    constants_to_text,
    shared_texts,
)
from versioned_catalog.log.state import TableState
from versioned_catalog.log.stored_segments import UNRESOLVED, Counts, Deltas, Mask
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model.arrow import ZERO, array_of, from_numpy, integers, one_array, truths
from versioned_catalog.model.keys import OP_TYPE, SEQUENCE
from versioned_catalog.model.pins import without_dropped
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, Constant
from versioned_catalog.read.apply_plan import Narrowing, wanted_constants
from versioned_catalog.read.bounds import some_match
from versioned_catalog.read.filters import BoundFilter, filter_on
from versioned_catalog.read.overlaps import key_ranges, members_in_order, overlapping
from versioned_catalog.read.projection import FileLayout, SegmentPlan, layout_of, plan_layout
from versioned_catalog.read.segment_file import WHOLE, SegmentTask
from versioned_catalog.read.tasks import Task
from versioned_catalog.storage.store import PREFIX


@dataclass(frozen=True)
class Selected:
    """The segments that a scan reads.

    Args:
        chosen: whether each live segment is read; None for all.
        deltas: the deltas of the segments that are read; None if all are plain.
        groups: the segments that must be merged, by their places among those that are read.
    """

    chosen: pa.Array | None
    deltas: Deltas | None = None
    groups: tuple[tuple[int, ...], ...] = ()

    def decoded(self, count: int) -> Sequence[Delta]:
        """The deltas of the ``count`` segments that are read.

        Raises:
            CorruptTableError: a delta is invalid.
        """
        return [PLAIN] * count if self.deltas is None else self.deltas.decode()


def select(
    state: TableState, filter: BoundFilter | None, limit: int | None, *, prune: bool
) -> Selected:
    """Select the segments that may hold wanted rows; ``limit`` rows are wanted in any order.

    None stands for no filter, and for no limit.
    """
    if state.schema.is_keyed:
        return _select_keyed(state, filter, limit, prune=prune)
    if filter is None:
        return Selected(None if limit is None else _first(state.segments.shown_counts, limit))
    if not prune or not state.segments.count:
        return Selected(None)
    return Selected(some_match(state, filter))


def _select_keyed(
    state: TableState, filter: BoundFilter | None, limit: int | None, *, prune: bool
) -> Selected:
    """The segments of a keyed table that may hold wanted rows.

    A filter on the row key may skip any segment. A filter on other columns may skip only a segment
    that is not merged: else it might skip the newest version of a row and show an older version.
    Segments that are resolved are not merged: the marks of each say which of its rows are shown.
    """
    segments = state.segments
    by_key = filter_on(filter, state.schema.row_key) if filter is not None and prune else None
    near = np.ones(segments.count, bool) if by_key is None else _matching(state, by_key)
    members, ends = merged_groups(state, np.flatnonzero(near))
    merged = np.zeros(segments.count, bool)
    merged[members] = True
    clean = near & ~merged & ~segments.deltas.deletes_only
    if segments.has_marks:
        clean &= truths(pc.greater(segments.shown_counts, ZERO))
    if filter is not None and prune:
        clean &= _matching(state, filter)
    if filter is None and limit is not None and not len(members):
        clean &= truths(_first(pc.if_else(from_numpy(clean), segments.shown_counts, ZERO), limit))
    chosen = clean | merged
    read = from_numpy(chosen)
    place_in_scan = tuple((np.cumsum(chosen) - 1)[members].tolist())
    return Selected(
        read,
        None if segments.deltas.are_plain else segments.deltas.filter(read),
        tuple([place_in_scan[first:end] for first, end in pairwise(ends)]),
    )


def _matching(state: TableState, filter: BoundFilter) -> Mask:
    return truths(some_match(state, filter))


def merged_groups(
    state: TableState, places: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """The segments at some places that must be merged, as ``members_in_order`` groups them.

    Groups of nothing but tombstones are left out, and those that are resolved.
    """
    deltas, groups = state.segments.deltas, overlapping(key_ranges(state), places)
    sizes = np.bincount(groups)
    has_ops = np.bincount(groups, deltas.has_ops[places]) > 0
    only_tombstones = np.bincount(groups, deltas.deletes_only[places]) == sizes
    wanted = (sizes > 1) | has_ops
    if state.segments.has_marks:
        least, greatest, newest = _resolved(state, groups, places)
        # Where marks of earlier groups are left, they do not count.
        wanted = (wanted | (greatest != UNRESOLVED)) & (least < newest)
    return members_in_order(groups, places, wanted & ~only_tombstones)


def marked_groups(state: TableState) -> tuple[npt.NDArray[np.int64], list[int]]:
    """The live segments that are resolved, as ``members_in_order`` groups them."""
    places = np.arange(state.segments.count)
    groups = overlapping(key_ranges(state), places)
    least, _, newest = _resolved(state, groups, places)
    return members_in_order(groups, places, least >= newest)


def _resolved(
    state: TableState, groups: npt.NDArray[np.int64], places: npt.NDArray[np.int64]
) -> tuple[Counts, Counts, Counts]:
    """For each group: the least and the greatest version up to which a segment is resolved, and the
    version that added the newest segment. A group is resolved if the least is that version or later."""
    count = int(groups.max()) + 1 if len(groups) else 0
    resolved = state.segments.resolved_versions[places]
    added = integers(one_array(state.segments.column("sequence")))[places]
    least, greatest = np.full(count, VERSIONS), np.full(count, UNRESOLVED)
    newest = np.zeros(count, np.int64)
    np.minimum.at(least, groups, resolved)
    np.maximum.at(greatest, groups, resolved)
    np.maximum.at(newest, groups, added)
    return least, greatest, newest


def _first(rows: pa.Array, limit: int) -> pa.Array:
    """The first segments that together have at least ``limit`` rows."""
    before = pc.subtract(pc.cumulative_sum(rows), rows)
    needed = pc.less(before, array_of([limit], pa.int64())[0])
    return needed


T = TypeVar("T")

TARGET_BYTES = 128 * 1024 * 1024
OPEN_COST_BYTES = 4 * 1024 * 1024
"""The cost of opening a file, in bytes, as in Spark."""


def pack(tasks: Iterable[tuple[Task, int]], target: int = TARGET_BYTES) -> list[tuple[Task, ...]]:
    """Pack tasks of whole segments, each with its cost in bytes, into splits of about ``target`` bytes.

    The splits keep the order of the segments.
    """
    sized_tasks = list(tasks)
    # The sizes in the log are untrusted, so the number of splits is bounded.
    target = max(target, sum(size for _, size in sized_tasks) // SCAN_SPLITS)
    return next_fit(_split(sized_tasks, target), target)


def next_fit(items: Iterable[tuple[T, int]], target: int) -> list[tuple[T, ...]]:
    """Pack neighbours into splits that cost at most ``target`` bytes.

    ``tests/vectors/packing.json`` has examples. The jar deals splits otherwise, by size.

    Args:
        items: items, each with its cost in bytes. A larger item has a split of its own.
    """
    splits: list[list[T]] = []
    used = 0
    for item, cost in items:
        if not splits or used + cost > target:
            splits.append([])
            used = 0
        splits[-1].append(item)
        used += cost
    return [tuple(split) for split in splits]


def _split(tasks: Iterable[tuple[Task, int]], target: int) -> Iterator[tuple[Task, int]]:
    for task, size in tasks:
        if not isinstance(task, SegmentTask):
            yield task, size
            continue
        parts = max(1, round(size / target))
        for n in range(parts):
            part = (WHOLE * n // parts, WHOLE * (n + 1) // parts)
            yield replace(task, part=part), size // parts + OPEN_COST_BYTES


_NO_CONSTANTS: Mapping[int, Constant | None] = {}
_NO_ROOTS: Mapping[str, str] = {}

Row = dict[str, Any]
"""The core columns of a segment; its commit time in microseconds since 1970."""

_CORE = ("path", "schema_version", "rows", "bytes", "sequence", "ordinal", "partition", *OPTIONAL)


@dataclass(frozen=True, eq=False)
class TaskPlanner:
    """Plans the tasks of segments; segments of one layout share a projection.

    Args:
        table_uuid, version: the table, and the snapshot; -1 for segments of no snapshot.
        schemas: the schemas that the segments were written under, by version.
        shown: the number of columns that are shown; None for all.
        prune: whether row groups are skipped by their statistics.
        narrowing, roots: as of ``SegmentTask``.
        null_after: as of ``Lens``.
        marks: whether marked rows are left out.
    """

    table_uuid: str
    version: int
    schemas: Mapping[int, Schema]
    wanted: Sequence[Column]
    filter: BoundFilter | None = None
    shown: int | None = None
    prune: bool = True
    narrowing: Narrowing | None = None
    roots: Mapping[str, str] = field(default_factory=dict)
    null_after: int | None = None
    marks: bool = True
    _plans: dict[tuple[FileLayout, bool, bool], SegmentPlan] = field(
        default_factory=dict, init=False
    )

    @staticmethod
    def of(
        state: TableState,
        wanted: Sequence[Column],
        filter: BoundFilter | None = None,
        shown: int | None = None,
        *,
        prune: bool = True,
        narrowing: Narrowing | None = None,
        marks: bool = True,
    ) -> TaskPlanner:
        """The planner for the live segments of a snapshot."""
        return TaskPlanner(
            state.table_uuid,
            state.version,
            state.schemas,
            wanted,
            filter,
            shown,
            prune,
            narrowing,
            state.roots,
            None if state.lens is None else state.lens.null_after,
            marks,
        )

    def task(
        self, row: Row, delta: Delta = PLAIN, nan_free: frozenset[int] = frozenset()
    ) -> SegmentTask:
        """The task that reads one segment, whose columns ``nan_free`` hold no NaN."""
        first, updated, stored = (row.get(name) for name in OF_ROW_IDS)
        has_ids = stored is not None
        layout = layout_of(row["schema_version"], row["id_map"], row["constants"], row_ids=has_ids)
        return SegmentTask(
            path=row["path"],
            table_uuid=self.table_uuid,
            schema_version=row["schema_version"],
            rows=row["rows"],
            sequence=row["sequence"],
            commit_time=UNIX_EPOCH + timedelta(microseconds=row["commit_time"]),
            plan=self._plan(layout, delta),
            filter=self.filter,
            shown=len(self.wanted) if self.shown is None else self.shown,
            nan_free=nan_free,
            prune=self.prune,
            version=self.version,
            row_sequence=order_of(row, delta)[0],
            narrowing=self.narrowing,
            bytes=row["bytes"],
            id_map=layout.id_map,
            constants=self._constants(layout, row["constants"]),
            recorded_roots=self.roots if row["path"].startswith(PREFIX) else _NO_ROOTS,
            mark=mark_from_text(row["mark"]) if self.marks and row["mark"] is not None else None,
            first_row_id=first,
            row_updated=row["sequence"] if updated is None else updated,
            row_ids_stored=stored,
        )

    def _plan(self, layout: FileLayout, delta: Delta) -> SegmentPlan:
        key = (layout, delta.sequences is not None, bool(delta.ops))
        if key not in self._plans:
            internal = [
                c for c, is_held in zip((SEQUENCE, OP_TYPE), key[1:], strict=True) if is_held
            ]
            schema = self.schemas[layout.schema_version]
            wanted = wanted_of(schema, self.wanted, self.null_after)
            self._plans[key] = plan_layout(schema, layout, wanted, internal)
        return self._plans[key]

    def _constants(self, layout: FileLayout, text: str | None) -> Mapping[int, Constant | None]:
        """The constants of a segment among the wanted columns, in their types."""
        if not layout.constants:
            return _NO_CONSTANTS
        return wanted_constants(self.schemas[layout.schema_version], text, self.wanted)


def wanted_of(
    schema: Schema, wanted: Sequence[Column], null_after: int | None
) -> tuple[Column, ...]:
    """The wanted columns of segments that were written under a schema; ``null_after`` as of ``Lens``."""
    if null_after is None or schema.version <= null_after:
        return tuple(wanted)
    return without_dropped(tuple(wanted), schema.ids)


def record_task(
    table_uuid: str, schema: Schema, record: SegmentRecord, wanted: Sequence[Column]
) -> SegmentTask:
    """The task that reads all rows of a segment by its record, as if written under ``schema``."""
    row = {
        "path": record.path,
        "schema_version": schema.version,
        "rows": record.rows,
        "sequence": 0,
        "ordinal": 0,
        "commit_time": 0,
        "bytes": record.bytes,
        "id_map": None if record.id_map is None else record.id_map.text,
        "constants": constants_to_text(record.constants),
        "mark": None,
    }
    return TaskPlanner(table_uuid, -1, {schema.version: schema}, wanted).task(row)


def task_rows(core: pa.Table) -> list[Row]:
    """The rows that tasks are planned from; Arrow would need pandas to convert timestamps."""
    names = (*_CORE, "commit_time")
    columns = [core[name] for name in _CORE] + [core["commit_time"].cast(pa.int64())]
    values = (
        shared_texts(column) if pa.types.is_dictionary(column.type) else column.to_pylist()
        for column in columns
    )
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def order_of(row: Row, delta: Delta) -> tuple[int, int]:
    """The (sequence, ordinal) by which the rows of a segment replace others of their keys."""
    return delta.order or (row["sequence"], row["ordinal"])
