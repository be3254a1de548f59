"""What the plan of a segment leaves unread and unchanged, for tests of the examples."""

from __future__ import annotations

from collections.abc import Sequence

from versioned_catalog.model.types import Column
from versioned_catalog.read.projection import SegmentPlan, Take


def source_needed(plan: SegmentPlan, source: Sequence[Column]) -> tuple[bool, ...]:
    """For each top-level column of the source, whether it is read."""
    needed = {column.id for column in plan.needed}
    return tuple(column.id in needed for column in source)


def is_identity(plan: SegmentPlan) -> bool:
    """Whether the columns that are read are the result, unchanged."""
    steps = [output.step for output in plan.outputs]
    return steps == [Take(at) for at in range(len(plan.needed))]
