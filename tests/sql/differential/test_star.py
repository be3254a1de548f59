"""Queries of a shop, on altered, partitioned and keyed tables as on plain Parquet of the same rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sql.differential.comparing import ask, difference
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
def test_what_is_asked_of_a_shop(spark: SparkSession, ns: str) -> None:
    own = spark.newSession()
    own.conf.set("spark.versioned.io", "native")
    for statement in statements(HISTORY):
        own.sql(_named(statement, f"versioned.{ns}."))
    for name, rows in ROWS.items():
        own.sql(f"CREATE TABLE {ns}_{name} USING parquet AS {rows}")
    for told, settings in SETTINGS.items():
        for query in statements(QUERIES):
            with session(own, tuple(settings.items())):
                ours = ask(own.sql(_named(query, f"versioned.{ns}.")), exact=False)
                plain = ask(own.sql(_named(query, f"{ns}_")), exact=False)
            assert plain.rows, query
            found = difference(ours, plain)
            assert found is None, f"{told}: {query}\n{found}"


def _named(sql: str, prefix: str) -> str:
    return re.sub(r"@(\w+)", rf"{prefix}\1", sql)
