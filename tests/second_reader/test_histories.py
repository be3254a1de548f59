"""The second reader and ours agree on random histories, whatever was done to the table."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from histories.seeded import first_seed
from second_reader.comparing import compare
from second_reader.histories import History
from versioned_catalog import limits

STEPS, EACH = 24, 100


def run(folder: Path, seed: int, steps: int, patch: pytest.MonkeyPatch) -> tuple[int, Counter[str]]:
    """Run one history; the number of rows that were compared, and of the steps that were done."""
    patch.setattr(limits, "MANIFEST_FROM", 0 if seed % 2 else 16 * 2**20)
    history, step, compared = History(folder, f"seed {seed}"), 0, 0
    try:
        for step in range(1, steps + 1):
            if history.step() == "die" or step % 8 == 0:
                compared += compare(history)
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}, in step {step}: {error!r}") from error
    shutil.rmtree(folder)
    return compared, history.done


def cases() -> list[Any]:
    """One history in the short set, 40 in the thorough one, and 1,000 in the nightly one."""
    few = [
        pytest.param(range(at, at + 10), 8, marks=pytest.mark.thorough) for at in range(1, 41, 10)
    ]
    first = first_seed()
    many = [range(first + at, first + at + EACH) for at in range(0, 1000, EACH)]
    nightly = [pytest.param(seeds, STEPS, marks=pytest.mark.nightly) for seeds in many]
    return [pytest.param(range(1), 8), *few, *nightly]


@pytest.mark.parametrize("seeds, steps", cases())
def test_both_readers_show_the_same(
    tmp_path: Path, files_of_large_tables: pytest.MonkeyPatch, seeds: range, steps: int
) -> None:
    done: Counter[str] = Counter()
    compared = 0
    for seed in seeds:
        rows, steps_done = run(tmp_path / str(seed), seed, steps, files_of_large_tables)
        compared, done = compared + rows, done + steps_done
    assert compared > 0 or len(seeds) == 1
    if len(seeds) == EACH:  # every step is done now and then
        steps = {step.__name__ for step in (*History.CHANGES, *History.OTHERS)}
        assert not steps - set(done)
