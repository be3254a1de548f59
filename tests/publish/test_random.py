"""Random histories read the same in other engines, at every published version, filtered or not."""

from __future__ import annotations

import os

import pytest

from histories.seeded import first_seed
from publish.engines import ENGINES
from publish.histories import History
from versioned_catalog import Catalog

SHORT, NIGHTLY = 4, 300


def check(catalog: Catalog, seed: int, steps: int) -> None:
    history = History(f"seed {seed}", catalog, keyed=seed % 3 == 2, always=seed % 2 == 0)
    try:
        history.run(steps)
        for engine in ENGINES:
            assert not list(history.check(engine))
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error}") from error


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(SHORT))
def test_a_few_histories(catalog: Catalog, seed: int) -> None:
    check(catalog, int(os.environ.get("VERSIONED_SEED", seed)), steps=12)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 10))
def test_many_histories(catalog: Catalog, block: int) -> None:
    for number in range(10):
        check(catalog, first_seed() + block * 10 + number, steps=14)
