"""The SQL of the pages migration, undo and keyed runs, and shows the rows that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jar import ROOT
from sql.run_statements import run
from sql.statements import statements
from sql.test_location_sql import Places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def moved(spark: SparkSession, tmp_path: Path) -> Iterator[Places]:
    places = Places(spark, tmp_path)
    places.run("CREATE DATABASE spark_catalog.old LOCATION '$RAW/old'")
    yield places
    places.run("DROP DATABASE spark_catalog.old CASCADE")


@pytest.mark.thorough
def test_the_statements_of_the_page_on_migration(moved: Places) -> None:
    page = (ROOT / "docs" / "migration.md").read_text()
    (block,) = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    asked = statements(block.replace("versioned.", f"{moved.name}."))
    assert len(asked) == 8
    wrong = [result for one in asked if (result := run(moved.spark, one)) is not None]
    assert not wrong


@pytest.mark.thorough
def test_the_statements_of_the_page_on_undo(spark: SparkSession, tmp_path: Path) -> None:
    check(Places(spark, tmp_path), "undo", "shop", 29)


@pytest.mark.nightly
def test_the_statements_of_the_page_on_keyed_tables(spark: SparkSession, tmp_path: Path) -> None:
    check(Places(spark, tmp_path), "keyed", "metrics", 5)


def check(places: Places, name: str, namespace: str, count: int) -> None:
    """Run the statements of a page in order, in a catalog that has the namespace."""
    places.catalog.create_namespace(namespace)
    page = (ROOT / "docs" / f"{name}.md").read_text()
    blocks = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    joined = re.sub(r"\n(?:  (?=\S)|(?=\)))", " ", "".join(blocks))
    text = joined.replace("versioned.", f"{places.name}.")
    asked = statements(text)
    assert len(asked) == count
    wrong = [result for one in asked if (result := run(places.spark, one)) is not None]
    assert not wrong
