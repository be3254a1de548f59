"""The task of one segment of a snapshot; plans are made once for all segments that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from versioned_catalog.datafile.reader import SegmentTask
from versioned_catalog.log.delta import Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.projection.resolver import SegmentPlan, plan_columns
from versioned_catalog.schema.store import OP_TYPE, SEQUENCE
from versioned_catalog.types.types import Column


class Plans:
    """Plans for segments of a snapshot.

    Args:
        state: the snapshot.
        wanted: the columns of the rows.
    """

    def __init__(self, state: TableState, wanted: Sequence[Column]) -> None:
        self._state = state
        self._wanted = tuple(wanted)
        self._known: dict[tuple[int, bool, bool], SegmentPlan] = {}

    def of(self, schema_version: int, delta: Delta) -> SegmentPlan:
        """The plan for a segment that was written under a schema version."""
        key = (schema_version, delta.sequences is not None, bool(delta.ops))
        if key not in self._known:
            held = self._state.schemas[schema_version].columns
            internal = [
                c for c, is_held in zip((SEQUENCE, OP_TYPE), key[1:], strict=True) if is_held
            ]
            self._known[key] = plan_columns((*held, *internal), self._wanted)
        return self._known[key]


def segment_task(state: TableState, row: dict[str, Any], plans: Plans, delta: Delta) -> SegmentTask:
    """The task that reads all rows of a segment.

    Args:
        state: the snapshot.
        row: the segment's core columns.
        plans: how rows become those that are wanted; all of them are shown.
        delta: what the segment says beside others.
    """
    plan = plans.of(row["schema_version"], delta)
    return SegmentTask(
        path=row["path"],
        table_uuid=state.table_uuid,
        schema_version=row["schema_version"],
        rows=row["rows"],
        sequence=row["sequence"],
        commit_time=UNIX_EPOCH + timedelta(microseconds=row["commit_time"]),
        plan=plan,
        filter=None,
        shown=len(plan.outputs),
        version=state.version,
        row_sequence=order_of(row, delta)[0],
    )


def order_of(row: dict[str, Any], delta: Delta) -> tuple[int, int]:
    """(sequence, ordinal): what the rows of a segment go by among those of their keys."""
    return delta.order or (row["sequence"], row["ordinal"])
