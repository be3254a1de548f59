"""Segment tasks, with every value decided where the scan is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa

from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.delta import PLAIN, Delta
from versioned_catalog.log.external import constants_to_text
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_table import OF_OTHERS, shared_texts
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.projection.constants import wanted_constants
from versioned_catalog.projection.file_layout import FileLayout, layout_of, plan_layout
from versioned_catalog.projection.narrowing import Narrowing
from versioned_catalog.projection.resolver import SegmentPlan
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.seen import without_dropped
from versioned_catalog.schema.store import OP_TYPE, SEQUENCE
from versioned_catalog.types.types import Column, Constant

_NO_CONSTANTS: Mapping[int, Constant | None] = {}
_NO_ROOTS: Mapping[str, str] = {}

Row = dict[str, Any]
"""The core columns of a segment; its commit time in microseconds since 1970."""

_CORE = ("path", "schema_version", "rows", "bytes", "sequence", "ordinal", "partition", *OF_OTHERS)


@dataclass(frozen=True, eq=False)
class TaskPlanner:
    """Plans the tasks of segments that are read alike; segments of one layout share a projection.

    Args:
        table_uuid, version: the table, and the snapshot; -1 for segments of no snapshot.
        schemas: the schemas that the segments were written under, by version.
        shown: how many of the columns are shown; None for all.
        prune: whether row groups are skipped by their statistics.
        narrowing, roots: as of ``SegmentTask``.
        null_after: as of ``Lens``.
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
        )

    def task(
        self, row: Row, delta: Delta = PLAIN, nan_free: frozenset[int] = frozenset()
    ) -> SegmentTask:
        """The task that reads one segment, whose columns ``nan_free`` hold no NaN."""
        layout = layout_of(row["schema_version"], row["id_map"], row["constants"])
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
            recorded_roots=self.roots if layout.id_map is not None else _NO_ROOTS,
        )

    def _plan(self, layout: FileLayout, delta: Delta) -> SegmentPlan:
        key = (layout, delta.sequences is not None, bool(delta.ops))
        if key not in self._plans:
            internal = [
                c for c, is_held in zip((SEQUENCE, OP_TYPE), key[1:], strict=True) if is_held
            ]
            schema, wanted = self.schemas[layout.schema_version], tuple(self.wanted)
            if self.null_after is not None and layout.schema_version > self.null_after:
                wanted = without_dropped(wanted, schema.ids)
            self._plans[key] = plan_layout(schema, layout, wanted, internal)
        return self._plans[key]

    def _constants(self, layout: FileLayout, text: str | None) -> Mapping[int, Constant | None]:
        """The constants of a segment among the wanted columns, in their types."""
        if not layout.constants:
            return _NO_CONSTANTS
        return wanted_constants(self.schemas[layout.schema_version], text, self.wanted)


def record_task(
    table_uuid: str, schema: Schema, record: SegmentRecord, wanted: Sequence[Column]
) -> SegmentTask:
    """The task that reads a segment by its record alone, as if written under ``schema``."""
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
