"""Run the SQL statements of docs/sql.md and the README's example, and compare the documented results.

Needs a JVM because the documented results are Spark's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from jar import ROOT
from sql.run_statements import run
from sql.statements import Statement, statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "sql.md"
COUNT = 269


def page_statements() -> list[Statement]:
    """The statements of the page's SQL blocks, where one may span several lines."""
    blocks = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    joined = re.sub(r"(?<!;)\n(?=\s+\S)", "", "".join(blocks))
    joined = re.sub(r"(?<!;)\n(?=\s*\))", "", joined)
    return statements(re.sub(r"[ ]{2,}", " ", joined))


@pytest.mark.thorough
def test_the_statements_of_the_sql_page(sql_spark: SparkSession) -> None:
    found = page_statements()
    assert len(found) == COUNT
    results = [run(sql_spark, statement) for statement in found]
    wrong = [result for result in results if result is not None]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def own_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the example configure a session of its own: the shared one could take over its warehouse."""
    monkeypatch.setattr(type(spark), "_instantiatedSession", spark.newSession())


@pytest.mark.usefixtures("own_session")
def test_the_readme_example(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert example
    exec(example[1], {})
    shown = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if "|" in line]
    cells = [[cell.strip() for cell in row] for row in shown]
    assert cells == [
        ["id", "amount", "note"],
        ["1", "5", "gift"],
        ["2", "7", "card"],
        ["id", "total", "currency"],
        ["1", "5", "EUR"],
        ["2", "7", "EUR"],
    ]
