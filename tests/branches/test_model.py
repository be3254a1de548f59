"""Random histories of branches, against a model: what is written, altered and merged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from branches.histories import History
from histories.seeded import first_seed
from versioned_catalog import Catalog

SHORT, THOROUGH, NIGHTLY = (126, 138), 4, 2000


def check(url: str, seed: int, steps: int) -> History:
    history = History(url, seed)
    try:
        history.run(steps)
    except BaseException as error:
        steps_so_far = "; ".join(history.log[-12:])
        raise AssertionError(f"VERSIONED_SEED={seed}: {error} after {steps_so_far}") from error
    return history


@pytest.mark.thorough
def test_a_few_histories() -> None:
    done = [
        check(f"memory://branches/{seed}", int(os.environ.get("VERSIONED_SEED", seed)), 60)
        for seed in SHORT
    ]
    assert min(history.merges for history in done) > 3
    assert sum(history.conflicts for history in done) > 3


@pytest.mark.thorough
@pytest.mark.nightly
def test_some_histories(tmp_path: Path) -> None:
    for number in range(THOROUGH):
        folder = tmp_path / str(number)
        check(str(folder), first_seed() + 100 + number, 60)
        assert Catalog.verify_path(folder, every_version=True).findings == ()


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 100))
def test_many_histories(block: int) -> None:
    for number in range(100):
        seed = first_seed() + 1000 + block * 100 + number
        check(f"memory://branches/{seed}", seed, 120)
