"""Each statement of Iceberg's and Delta's documentation does what docs/coming-from.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sql.coming_from import PAGE, Statement, page, statements
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = statements()
CATALOGS = ("prod", "local", "hive_prod", "catalog_name", "lake", "delta")
NAMESPACES = ("db", "my_app", "default")
LEAST = 364
"""Number of statements that work."""


def test_the_page_is_that_of_the_statements() -> None:
    assert PAGE.read_text() == page(), "run python tests/sql/coming_from.py"


def test_enough_statements_work_and_none_is_refused_without_a_way_out() -> None:
    working = [statement for statement in STATEMENTS if statement.works]
    assert len(working) >= LEAST
    assert all(statement.before is not None for statement in working)
    refused = [statement for statement in STATEMENTS if not statement.works]
    assert all((statement.refused is None) is (statement.before is None) for statement in refused)
    codes = [
        statement for statement in refused if re.fullmatch("[A-Z_.]+", statement.refused or "")
    ]
    assert all(statement.instead for statement in codes), "an error of Spark's names no way out"


AT_NIGHT = {"spark-procedures", "spark-queries", "delta-batch", "delta-utility"}


def _pages() -> Iterator[Any]:
    for of_page in sorted({(statement.of, statement.page) for statement in STATEMENTS}):
        yield pytest.param(*of_page, marks=pytest.mark.nightly if of_page[1] in AT_NIGHT else ())


@pytest.mark.thorough
@pytest.mark.parametrize(("of", "name"), _pages())
def test_the_statements_of_a_page(spark: SparkSession, tmp_path: Path, of: str, name: str) -> None:
    wrong = []
    for number, statement in enumerate(STATEMENTS):
        if (statement.of, statement.page) == (of, name) and statement.before is not None:
            error = failure(spark, tmp_path / str(number), statement, statement.before)
            if not is_expected(statement, error):
                wrong.append(f"{statement.sql}\n    {error or 'works'}")
    assert not wrong, "\n".join(wrong)


def failure(
    spark: SparkSession, home: Path, statement: Statement, before: tuple[str, ...]
) -> str | None:
    """The error of a statement in a session of its own, whose catalogs have the names that it uses."""
    session = spark.newSession()
    settings = {
        key: value
        for key, value in spark.sparkContext.getConf().getAll()
        if key.startswith("spark.sql.catalog.versioned")
    }
    for name in CATALOGS:
        for key, value in settings.items():
            own = str(home / name) if key.endswith(".warehouse") else value
            session.conf.set(key.replace("catalog.versioned", f"catalog.{name}"), own)
        session.conf.set(f"spark.sql.catalog.{name}.root.raw", str(home / "raw"))
        for namespace in NAMESPACES:
            Catalog(home / name).create_namespace(namespace)
    raw = str(home / "raw")
    for sql in before:
        session.sql(sql.replace("$RAW", raw))
    try:
        text = (statement.run or statement.sql).replace("$RAW", raw)
        session.sql(text.rstrip().rstrip(";")).collect()
    except Exception as error:  # Spark's errors have many types
        return str(error)
    return None


def is_expected(statement: Statement, error: str | None) -> bool:
    """Whether a statement did what the page says."""
    return error is None if statement.works else error is not None and statement.refused in error
