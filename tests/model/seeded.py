"""Histories by seeds alone: each step is any of those that commit, and none is drawn by Hypothesis.

Hypothesis shrinks what fails and tries odd values; but it repeats itself, and leaves out rules. So
histories are run by plain seeds, too, no two of which are alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

AT_ONCE = 10
"""How many histories one test runs."""

_DAY = 24 * 3600


def first_seed() -> int:
    """The first seed: other ones every night; ``VERSIONED_SEED`` replays."""
    told = os.environ.get("VERSIONED_SEED")
    if told is not None:
        return int(told)
    nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
    return int(time.time() // _DAY) * 100_000 if nightly else 0


def sample(count: int, short: int = 2) -> list[Any]:
    """The parameters 0 to ``count``, all but the first ``short`` of them marked as thorough."""
    return [
        pytest.param(number, marks=pytest.mark.thorough if number >= short else ())
        for number in range(count)
    ]


def run(histories: type[Any], seeds: Iterator[int] | range, steps: int) -> None:
    """Run one history a seed.

    Args:
        histories: the state machine.
        seeds: which ones.
        steps: how many steps each has.
    """
    for seed in seeds:
        machine, step = histories(), -1
        try:
            machine.begin(salt=f"seed {seed}")
            _check(machine)
            for step in range(steps):
                machine.anything(Random(f"seed {seed}/{step}"))
                _check(machine)
        except BaseException as error:
            machine.forget()
            raise AssertionError(f"VERSIONED_SEED={seed}, in step {step}: {error!r}") from error
        machine.teardown()


def _check(machine: Any) -> None:
    machine.whole()
    machine.each_key_once()
