"""CHECK constraints and NOT NULL as Delta's and Spark's suites test them, through all ways to write.

Needs a JVM because most ways to write are Spark's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .cases import (
    StatementCase,
    WriteCase,
    a_third,
    check_statement,
    check_write,
    each_way,
    read_cases,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough

WRITES, STATEMENTS = read_cases("constraint_cases.toml")


@pytest.mark.parametrize(("case", "way", "kind"), each_way(WRITES))
def test_every_way_to_write(
    sql_spark: SparkSession,
    warehouse: Path,
    ns: str,
    tmp_path: Path,
    case: WriteCase,
    way: str,
    kind: str,
) -> None:
    check_write(sql_spark, warehouse, f"versioned.{ns}.t", tmp_path, case, way, kind)


@pytest.mark.parametrize("case", a_third(STATEMENTS), ids=lambda case: case.name)
def test_statements(sql_spark: SparkSession, ns: str, case: StatementCase) -> None:
    check_statement(sql_spark.newSession(), ns, case)
