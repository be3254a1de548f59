"""The page on SQL says what is: its statements are run, in order, and show what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from jar import ROOT
from sql.run_statements import run
from sql.statements import Statement, statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "sql.md"
COUNT = 151


def of_page() -> list[Statement]:
    """The SQL blocks; a statement may go over several lines there."""
    blocks = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    joined = re.sub(r"(?<!;)\n(?=\s+\S)", "", "".join(blocks))
    joined = re.sub(r"(?<!;)\n(?=\s*\))", "", joined)
    return statements(re.sub(r"[ ]{2,}", " ", joined))


def test_the_page(sql_spark: SparkSession) -> None:
    found = of_page()
    assert len(found) == COUNT
    wrong = [one for one in (run(sql_spark, statement) for statement in found) if one is not None]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def kept(spark: SparkSession) -> Iterator[None]:
    """The example configures the session that is there already; nobody after it is to notice."""
    key = "spark.sql.catalog.versioned.warehouse"
    before = spark.conf.get(key) or ""
    yield
    spark.conf.set(key, before)


@pytest.mark.usefixtures("sql_spark", "kept")
def test_the_example_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert example
    exec(example[1], {})
    shown = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if "|" in line]
    cells = [[cell.strip() for cell in row] for row in shown]
    assert cells == [
        ["id", "first_name", "note"],
        ["1", "Ada", "new"],
        ["5000000000", "Bo", "new"],
    ]
