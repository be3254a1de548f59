"""Random histories of restores and undrops against a model: rows and description of every table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from histories.seeded import first_seed
from undo.histories import History
from versioned_catalog import Catalog

SHORT, THOROUGH, NIGHTLY = 10, 10, 500


def check(url: str, seed: int, steps: int) -> History:
    history = History(url, seed)
    try:
        history.run(steps)
    except BaseException as error:
        steps_so_far = "; ".join(history.log[-12:])
        raise AssertionError(f"VERSIONED_SEED={seed}: {error} after {steps_so_far}") from error
    return history


def test_a_few_histories() -> None:
    done = [
        check(f"memory://undo/{seed}", int(os.environ.get("VERSIONED_SEED", seed)), 30)
        for seed in range(SHORT)
    ]
    assert sum(history.restores for history in done) > SHORT
    assert sum(history.undrops for history in done) > SHORT // 2


@pytest.mark.thorough
@pytest.mark.nightly
def test_some_histories(tmp_path: Path) -> None:
    for number in range(THOROUGH):
        folder = tmp_path / str(number)
        history = check(str(folder), first_seed() + 100 + number, 60)
        for name in history.logs:
            findings = Catalog(folder).verify_table(name, every_version=True).findings
            assert findings == (), name


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 50))
def test_many_histories(block: int) -> None:
    for number in range(50):
        seed = first_seed() + 1000 + block * 50 + number
        check(f"memory://undo/{seed}", seed, 40)
