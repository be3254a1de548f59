"""Histories of a table with many features at once: what broke so far was where two features meet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from histories.seeded import first_seed
from pairs.mixed import History

NIGHTLY, AT_ONCE = 600, 10


def run(folder: Path, seed: int, steps: int) -> None:
    try:
        History(seed, folder / str(seed)).run(steps)
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error


def test_a_history(tmp_path: Path) -> None:
    run(tmp_path, int(os.environ.get("VERSIONED_SEED", "1")), steps=20)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // AT_ONCE))
def test_many_histories(tmp_path: Path, block: int) -> None:
    for number in range(AT_ONCE):
        run(tmp_path, first_seed() + block * AT_ONCE + number, steps=45)
