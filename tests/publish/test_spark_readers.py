"""Spark with Iceberg's own runtime reads what is published, in a session of its own."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from environments import Environment, run
from histories.seeded import first_seed
from publish.conftest import PUBLISHED
from publish.engines import published_versions
from publish.histories import History
from publish.rows import SPARK as DIALECT
from publish.rows import canonical, condition
from versioned_catalog import Catalog, Table

pytestmark = pytest.mark.nightly

HISTORIES = 300
SPARK = "4.1.4"
"""The newest Spark that Iceberg 1.12 has a runtime for."""


@pytest.fixture(scope="module")
def spark_iceberg(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment.new(tmp_path_factory.mktemp("spark") / "venv")
    environment.install(f"pyspark[sql]=={SPARK}")
    return environment


def ask(environment: Environment, queries: list[Any], tmp_path: Path) -> list[Any]:
    """The answers of one session to many queries."""
    asked = tmp_path / "queries.json"
    asked.write_text(json.dumps(queries))
    script = Path(__file__).with_name("run_spark_iceberg.py")
    out = run(environment.python, script, asked, cwd=tmp_path)
    answers: list[Any] = json.loads(out.splitlines()[-1])
    return answers


def query(table: Table, version: int, where: str | None = None) -> list[Any]:
    return [f"{table.location}/iceberg", version, where]


def test_histories_in_spark(catalog: Catalog, spark_iceberg: Environment, tmp_path: Path) -> None:
    """Of each history: the newest version, filtered and not, and two older ones."""
    queries: list[Any] = []
    expected: list[tuple[str, list[str]]] = []
    for number in range(HISTORIES):
        seed = first_seed() + number
        history = History(f"seed {seed}", catalog, keyed=seed % 3 == 2, always=seed % 2 == 0)
        history.run(14)
        published = published_versions(history.table)
        older = Random(seed).sample(published, min(2, len(published)))
        for version in (*older, published[-1]):
            then = history.past[version]
            where = history.comparison(then)
            assert where is not None
            queries.append(query(history.table, version))
            expected.append((f"seed {seed}", canonical(then.shown())))
            queries.append(query(history.table, version, condition(where, DIALECT)))
            rows = then.matching(where, nan_is_greatest=True)
            expected.append((f"seed {seed}", canonical(rows)))
    wrong = [
        f"{seed}, {asked}: {found} instead of {rows}"
        for asked, (seed, rows), found in zip(
            queries, expected, ask(spark_iceberg, queries, tmp_path), strict=True
        )
        if found != rows
    ]
    assert not wrong, f"{len(wrong)} of {len(queries)}: " + "\n".join(wrong[:5])


def test_types_and_aggregates_in_spark(
    catalog: Catalog, spark_iceberg: Environment, tmp_path: Path
) -> None:
    """TIME can't be read by Spark; an interval is a number; MAX and MIN come from bounds."""
    time = catalog.create_table("n.t", "a INT, t TIME(6)", properties=PUBLISHED)
    interval = catalog.create_table("n.i", "d INTERVAL DAY TO SECOND", properties=PUBLISHED)
    interval.append(pa.table({"d": pa.array([dt.timedelta(seconds=1)], pa.duration("us"))}))
    answers = ask(spark_iceberg, [query(time, 0), query(interval, 1)], tmp_path)
    assert isinstance(answers[0], str)
    assert "time" in answers[0]
    assert answers[1] == canonical([{"d": 1_000_000}])
