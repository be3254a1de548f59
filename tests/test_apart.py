"""Driver and executors share no clock: time is asked where something is planned or committed."""

from __future__ import annotations

import re

from jar import ROOT

PYTHON = re.compile(r"\b(datetime\.now|datetime\.utcnow|date\.today|time\.time|uuid1)\b")
JAVA = re.compile(r"currentTimeMillis|nanoTime|\b(Instant|Local\w+|Zoned\w+)\.now|new Date\(|Clock")

PLANNED_OR_COMMITTED = {
    "catalog/versioned_catalog/evolution/bind.py",
    "catalog/versioned_catalog/write/plan.py",
    # What a store's clock is compared with.
    "catalog/versioned_catalog/storage/clock.py",
    # A store of one process.
    "catalog/versioned_catalog/storage/memory.py",
    # Where it is given none: a task is given the plan's.
    "catalog/versioned_catalog/write/row_schema.py",
}


def test_nothing_that_a_task_runs_asks_what_time_it_is() -> None:
    asking = {
        str(path.relative_to(ROOT))
        for root in (ROOT / "catalog", ROOT / "connector" / "pyspark_versioned")
        for path in root.rglob("*.py")
        if "maintenance" not in path.parts and PYTHON.search(path.read_text())
    }
    assert asking == PLANNED_OR_COMMITTED


def test_the_jar_has_no_clock() -> None:
    sources = list((ROOT / "connector" / "jvm").rglob("*.java"))
    assert sources
    assert not [path for path in sources if JAVA.search(path.read_text())]
