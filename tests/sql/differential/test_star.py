"""Star-schema queries on altered, partitioned and keyed tables, compared with plain Parquet.

Needs a JVM because Spark runs both sides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sql.differential.comparing import collect_result, difference
from sql.differential.running import session
from sql.differential.star import HISTORY, QUERIES, ROWS, statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "as it is": {},
    "rows": {
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.session.timeZone": "America/New_York",
    },
    "no broadcasts": {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Europe/Amsterdam",
    },
}


@pytest.mark.nightly
def test_star_schema_queries(spark: SparkSession, ns: str) -> None:
    own = spark.newSession()
    own.conf.set("spark.versioned.io", "native")
    for statement in statements(HISTORY):
        own.sql(_named(statement, f"versioned.{ns}."))
    for name, rows in ROWS.items():
        own.sql(f"CREATE TABLE {ns}_{name} USING parquet AS {rows}")
    for name_of_settings, settings in SETTINGS.items():
        for query in statements(QUERIES):
            with session(own, tuple(settings.items())):
                ours = collect_result(own.sql(_named(query, f"versioned.{ns}.")), exact=False)
                plain = collect_result(own.sql(_named(query, f"{ns}_")), exact=False)
            assert plain.rows, query
            found = difference(ours, plain)
            assert found is None, f"{name_of_settings}: {query}\n{found}"


def _named(sql: str, prefix: str) -> str:
    return re.sub(r"@(\w+)", rf"{prefix}\1", sql)
