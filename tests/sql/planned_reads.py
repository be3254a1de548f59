"""Read in a test what Python plans for the jar, as Spark's workers read it."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.common import TableRef, Term
from pyspark_versioned.sql.protocol.rows import PlanScan, PythonGroup, ScanPlan
from pyspark_versioned.sql.scan_requests import plan_scan
from pyspark_versioned.sql.table_description import describe
from versioned_catalog import Table


def ref_of(table: Table) -> TableRef:
    """The table at its newest version."""
    return describe(table, table.state, {}).table


def scanned(
    table: Table, schema: StructType, filters: tuple[Term, ...], *, whole: bool = False
) -> list[dict[str, Any]]:
    """The rows that Python reads of a table whose segments it reads all."""
    wanted = SparkType(schema.jsonValue())
    request = PlanScan(
        ref_of(table),
        wanted,
        filters,
        None,
        False,
        grouped=False,
        ordered=False,
        whole=whole,
        in_python=None,
    )
    return rows_of(plan_scan(request))


def rows_of(plan: ScanPlan) -> list[dict[str, Any]]:
    """The rows that Python reads by a plan."""
    groups = [group for group in plan.groups if isinstance(group, PythonGroup)]
    return [row for group in groups for row in _rows(group.tasks)]


def _rows(tasks: bytes) -> Iterator[dict[str, Any]]:
    (length,) = struct.unpack_from(">i", tasks)
    read, _ = pickle.loads(tasks[4 : 4 + length])
    (count,) = struct.unpack_from(">i", tasks, 4 + length)
    at = 8 + length
    for _ in range(count):
        (length,) = struct.unpack_from(">i", tasks, at)
        argument = pa.RecordBatch.from_pydict({"partition": [tasks[at + 4 : at + 4 + length]]})
        for batch in read(iter([argument])):
            yield from batch.to_pylist()
        at += 4 + length
    assert at == len(tasks)
