"""Random histories of sources, conversions, changes on both sides and syncs, against a model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from convert.histories import History, KeyedHistory
from convert.sources import Lake
from histories.seeded import first_seed

SHORT, THOROUGH, NIGHTLY = (1, 4), 5, 500
"""In the short set one history without a key, and one with."""


def check(folder: Path, seed: int, steps: int) -> None:
    kind = KeyedHistory if seed % 5 == 4 else History
    try:
        kind(Lake(folder / str(seed)), seed).run(steps)
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error}") from error


@pytest.mark.parametrize("seed", SHORT)
def test_a_few_histories(tmp_path: Path, seed: int) -> None:
    check(tmp_path, int(os.environ.get("VERSIONED_SEED", seed)), steps=8)


@pytest.mark.thorough
def test_some_histories(tmp_path: Path) -> None:
    for number in range(THOROUGH):
        check(tmp_path, first_seed() + 100 + number, steps=16)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 10))
def test_many_histories(tmp_path: Path, block: int) -> None:
    for number in range(10):
        check(tmp_path, first_seed() + 1000 + block * 10 + number, steps=20)
