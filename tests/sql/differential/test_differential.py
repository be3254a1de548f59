"""Random histories and random queries: on tables of this format as on plain Parquet, rewritten by Spark.

``VERSIONED_SEED=<n>`` replays one history; a failure prints it as SQL, without the steps that do not
matter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from model.seeded import first_seed
from sql.differential.running import Counts, Differs, drawn, run, script, shrunk
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTLY, DAILY, AT_ONCE = 300, 1, 20
REPLAYED = "VERSIONED_SEED" in os.environ


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session whose settings are ours to change."""
    return spark.newSession()


def check(spark: SparkSession, catalog: Catalog, first: int, count: int) -> Counts:
    """Run the histories of some seeds, or of the one that is to be replayed."""
    counts, base = Counts(), first_seed()
    for seed in [base] if REPLAYED else range(base + first, base + first + count):
        items = drawn(seed)
        try:
            run(spark, catalog, items, counts)
        except Differs as found:
            fewer = shrunk(spark, catalog, items, found.at)
            text = script(fewer, len(fewer) - 1)
            pytest.fail(f"VERSIONED_SEED={seed}: {found}\n\n{text}", pytrace=False)
    return counts


@pytest.mark.thorough
def test_some_histories(session: SparkSession, catalog: Catalog) -> None:
    check(session, catalog, 0, DAILY)


@pytest.mark.nightly
@pytest.mark.skipif(REPLAYED, reason="test_some_histories replays")
@pytest.mark.parametrize("first", range(DAILY, NIGHTLY, AT_ONCE))
def test_many_histories(session: SparkSession, catalog: Catalog, first: int) -> None:
    counts = check(session, catalog, first, AT_ONCE)
    # Queries that ask nothing find nothing.
    assert counts.filled > counts.queries * 0.6, counts
    assert counts.pruned > counts.scans * 0.05, counts
    assert counts.pushed > counts.scans * 0.25, counts
    assert counts.failed < counts.queries * 0.15, counts


def test_seeds_draw_the_same_history_again() -> None:
    for seed in range(20):
        assert drawn(seed) == drawn(seed)
        assert drawn(seed) != drawn(seed + 1)
