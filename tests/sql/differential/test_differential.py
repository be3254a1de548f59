"""Random histories and random queries: on tables of this format as on plain Parquet, rewritten by Spark.

``VERSIONED_SEED=<n>`` replays one history; a failure prints it as SQL, without the steps that do not
matter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sql.differential.running import Counts, Differs, drawn, run, script, shrunk
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTLY = range(300)
DAILY = range(3)
AT_ONCE = 20


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session whose settings are ours to change."""
    return spark.newSession()


def check(spark: SparkSession, catalog: Catalog, seeds: range) -> Counts:
    """Run the histories of some seeds."""
    counts = Counts()
    told = os.environ.get("VERSIONED_SEED")
    for seed in [int(told)] if told else seeds:
        items = drawn(seed)
        try:
            run(spark, catalog, items, counts)
        except Differs as found:
            fewer = shrunk(spark, catalog, items, found.at)
            text = script(fewer, len(fewer) - 1)
            pytest.fail(f"VERSIONED_SEED={seed}: {found}\n\n{text}", pytrace=False)
    return counts


def test_some_histories(session: SparkSession, catalog: Catalog) -> None:
    check(session, catalog, DAILY)


@pytest.mark.nightly
@pytest.mark.parametrize("first", NIGHTLY[::AT_ONCE])
def test_many_histories(session: SparkSession, catalog: Catalog, first: int) -> None:
    counts = check(session, catalog, range(first, first + AT_ONCE))
    if "VERSIONED_SEED" in os.environ:
        return
    # Queries that ask nothing find nothing.
    assert counts.filled > counts.queries * 0.6, counts
    assert counts.pruned > counts.scans * 0.1, counts
    assert counts.pushed > counts.scans * 0.3, counts
    assert counts.failed < counts.queries * 0.15, counts


def test_seeds_draw_the_same_history_again() -> None:
    for seed in range(20):
        assert drawn(seed) == drawn(seed)
        assert drawn(seed) != drawn(seed + 1)
