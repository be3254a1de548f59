"""What other engines read of a published table, whatever happens to the table, step by step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from histories.seeded import first_seed
from publish.engines import DUCKDB, PYICEBERG
from publish.lives import Life
from versioned_catalog import Catalog

THOROUGH, NIGHTLY = 6, 400


def live(folder: Path, seed: int, steps: int) -> None:
    """Run one life, and read all versions that are published at its end."""
    lake = folder / "lake"
    lake.mkdir(parents=True)
    catalog = Catalog(folder / "warehouse", roots={"lake": str(lake)})
    catalog.create_namespace("n")
    life = Life(f"life {seed}", catalog, keyed=seed % 2 == 1, always=seed % 3 > 0, lake=lake)
    try:
        life.run(steps)
        if life.published is not None:
            for engine in (DUCKDB, PYICEBERG):
                assert not list(life.check(engine, filters=1))
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error}") from error


@pytest.mark.parametrize("seed", range(2))
def test_a_few_lives(tmp_path: Path, seed: int) -> None:
    live(tmp_path, int(os.environ.get("VERSIONED_SEED", seed)), steps=8)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, THOROUGH))
def test_some_lives(tmp_path: Path, seed: int) -> None:
    live(tmp_path, seed, steps=25)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 10))
def test_many_lives(tmp_path: Path, block: int) -> None:
    for number in range(10):
        live(tmp_path / str(number), first_seed() + 500 + block * 10 + number, steps=25)
