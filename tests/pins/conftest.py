from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sql.conftest import catalog, ns, sql_spark, warehouse  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL = "spark.sql.catalog.versioned.schema_label"


@pytest.fixture(scope="module")
def job(spark: SparkSession) -> SparkSession:
    """A session that sets nothing but the label of its pin."""
    session = spark.newSession()
    session.conf.set("spark.versioned.io", "native")
    session.conf.set(LABEL, "job")
    return session
