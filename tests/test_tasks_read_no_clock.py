"""Driver and executors share no clock: only planning and committing read the time."""

from __future__ import annotations

import re

from jar import ROOT

PYTHON = re.compile(r"\b(datetime\.now|datetime\.utcnow|date\.today|time\.time|uuid1)\b")
JAVA = re.compile(r"currentTimeMillis|nanoTime|\b(Instant|Local\w+|Zoned\w+)\.now|new Date\(|Clock")

PLANNED_OR_COMMITTED = {
    "catalog/versioned_catalog/model/bound_changes.py",
    # Says when a commit began and ended, to observers.
    "catalog/versioned_catalog/commit/observed.py",
    "catalog/versioned_catalog/write/plan.py",
    # Plans the rows of a statement, with the defaults of what it does not see.
    "connector/pyspark_versioned/sql/distribution.py",
    # Compares this clock with that of a store.
    "catalog/versioned_catalog/storage/clock.py",
    # What versioned doctor compares with it.
    "catalog/versioned_catalog/cli/storage_checks.py",
    # A store within one process.
    "catalog/versioned_catalog/storage/memory.py",
    # The default of an argument; tasks get the time of the plan.
    "catalog/versioned_catalog/write/row_schema.py",
}


MEASURED = {
    # The driver measures how long it plans.
    "connector/jvm/versioned/spark/scan/VersionedScan.java",
    # The driver measures how long a statement runs.
    "connector/jvm/versioned/spark/write/Statement.java",
}


def test_nothing_that_a_task_runs_reads_the_time() -> None:
    asking = {
        str(path.relative_to(ROOT))
        for root in (ROOT / "catalog", ROOT / "connector" / "pyspark_versioned")
        for path in root.rglob("*.py")
        if "maintain" not in path.parts and PYTHON.search(path.read_text())
    }
    assert asking == PLANNED_OR_COMMITTED


def test_no_task_of_the_jar_reads_the_time() -> None:
    sources = list((ROOT / "connector" / "jvm").rglob("*.java"))
    assert sources
    asking = {str(path.relative_to(ROOT)) for path in sources if JAVA.search(path.read_text())}
    assert asking == MEASURED
