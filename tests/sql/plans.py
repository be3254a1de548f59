"""What a physical plan says of a scan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCAN = re.compile(r"segments by schema version: \{(.*?)\}, pruned: (\d+) of (\d+)")


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


def pruned(frame: DataFrame) -> tuple[int, int]:
    """How many segments a scan skips, of how many."""
    found = _SCAN.search(plan_of(frame))
    assert found, plan_of(frame)
    return int(found[2]), int(found[3])


def is_native(frame: DataFrame) -> bool:
    """Whether all that is read is read by Spark's own Parquet reader, through the jar."""
    plan = plan_of(frame)
    assert "VersionedScan" in plan, plan
    return "python={" not in plan and "native={" in plan


def is_python(frame: DataFrame) -> bool:
    """Whether all that is read goes through Python."""
    plan = plan_of(frame)
    return "native={" not in plan and "FileScan" not in plan
