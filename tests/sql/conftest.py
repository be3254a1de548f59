from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


@pytest.fixture(scope="session")
def sql_spark(spark: SparkSession) -> SparkSession:
    """A session of the shared Spark application that reads and writes through the jar."""
    session = spark.newSession()
    session.conf.set("spark.versioned.io", "native")
    return session


@pytest.fixture(autouse=True)
def _temporary_views(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop the temporary views of a test: for the next one, each of them would hide a table."""
    yield
    for name in {"spark", "sql_spark"} & set(request.fixturenames):
        session = request.getfixturevalue(name)
        session._jsparkSession.sessionState().catalog().clearTempTables()


@pytest.fixture
def warehouse(spark: SparkSession) -> Path:
    return Path(spark.conf.get("spark.sql.catalog.versioned.warehouse") or "")


@pytest.fixture
def catalog(warehouse: Path) -> Catalog:
    return Catalog(warehouse)


@pytest.fixture(params=["mark", pytest.param("copy", marks=pytest.mark.nightly)])
def row_changes(request: pytest.FixtureRequest) -> str:
    """How statements change rows in a table without a primary key: the property of that name."""
    return str(request.param)


@pytest.fixture
def ns(catalog: Catalog) -> str:
    """A new namespace for each test; in SQL it is ``versioned.<ns>``."""
    name = f"n{next(_numbers)}"
    catalog.create_namespace(name)
    return name
