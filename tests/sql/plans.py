"""Read a scan's properties from Spark's physical plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCAN = re.compile(r"segments by schema version: \{(.*?)\}, pruned: (\d+) of (\d+)")


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


def pruned(frame: DataFrame) -> tuple[int, int]:
    """The number of segments that a scan skips, and of all its segments."""
    found = _SCAN.search(plan_of(frame))
    assert found, plan_of(frame)
    return int(found[2]), int(found[3])


def is_native(frame: DataFrame) -> bool:
    """Whether the jar reads all segments with Spark's own Parquet reader."""
    plan = plan_of(frame)
    assert "VersionedScan" in plan, plan
    return "python={" not in plan and "native={" in plan


def is_python(frame: DataFrame) -> bool:
    """Whether all segments are read in Python."""
    plan = plan_of(frame)
    return "native={" not in plan and "FileScan" not in plan
