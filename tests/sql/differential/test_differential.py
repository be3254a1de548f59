"""Random SQL histories and queries give the same results as on plain Parquet that Spark rewrites.

``VERSIONED_SEED=<n>`` replays one history. A failure prints the history as SQL, without
irrelevant steps.

Needs a JVM because Spark runs both sides.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from histories.seeded import first_seed
from sql.differential.running import Counts, Differs, generate, run, script, shrink
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTLY, DAILY, PER_TEST = 300, 1, 20
REPLAYED = "VERSIONED_SEED" in os.environ


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session whose settings the tests may change."""
    return spark.newSession()


def check(spark: SparkSession, catalog: Catalog, first: int, count: int) -> Counts:
    """Run the histories of some seeds, or replay the one of ``VERSIONED_SEED``."""
    counts, base = Counts(), first_seed()
    for seed in [base] if REPLAYED else range(base + first, base + first + count):
        items = generate(seed)
        try:
            run(spark, catalog, items, counts)
        except Differs as found:
            fewer = shrink(spark, catalog, items, found.at)
            text = script(fewer, len(fewer) - 1)
            pytest.fail(f"VERSIONED_SEED={seed}: {found}\n\n{text}", pytrace=False)
    return counts


@pytest.mark.thorough
@pytest.mark.nightly
def test_some_histories(session: SparkSession, catalog: Catalog) -> None:
    check(session, catalog, 0, DAILY)


@pytest.mark.nightly
@pytest.mark.skipif(REPLAYED, reason="test_some_histories replays")
@pytest.mark.parametrize("first", range(DAILY, NIGHTLY, PER_TEST))
def test_many_histories(session: SparkSession, catalog: Catalog, first: int) -> None:
    counts = check(session, catalog, first, PER_TEST)
    # Most queries must return rows, prune segments or push filters; otherwise they test nothing.
    assert counts.nonempty > counts.queries * 0.6, counts
    assert counts.pruned > counts.scans * 0.05, counts
    assert counts.pushed > counts.scans * 0.25, counts
    assert counts.failed < counts.queries * 0.15, counts


def test_seeds_draw_the_same_history_again() -> None:
    for seed in range(20):
        assert generate(seed) == generate(seed)
        assert generate(seed) != generate(seed + 1)
