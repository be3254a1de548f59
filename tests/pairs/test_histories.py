"""Imports, syncs and publications among everything else, in random histories beside a naive model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from histories.seeded import first_seed
from pairs.histories import History

SHORT, THOROUGH, NIGHTLY = 2, 10, 1000
AT_ONCE = 10


def run(folder: Path, seed: int, steps: int) -> None:
    try:
        History(seed, folder / str(seed)).run(steps)
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error


@pytest.mark.parametrize("seed", range(SHORT))
def test_a_few_histories(tmp_path: Path, seed: int) -> None:
    run(tmp_path, int(os.environ.get("VERSIONED_SEED", seed)), steps=10)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(THOROUGH // AT_ONCE))
def test_some_histories(tmp_path: Path, block: int) -> None:
    for number in range(AT_ONCE):
        run(tmp_path, 100 + block * AT_ONCE + number, steps=20)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // AT_ONCE))
def test_many_histories(tmp_path: Path, block: int) -> None:
    for number in range(AT_ONCE):
        run(tmp_path, first_seed() + block * AT_ONCE + number, steps=20)
