"""Histories determined by seeds alone: each step is one that commits, chosen without Hypothesis.

Hypothesis shrinks failures and tries odd values, but it repeats itself and neglects some rules. So
histories are also run by plain seeds, of which no two are alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

AT_ONCE = 2
"""The number of histories of one test."""

_DAY = 24 * 3600


def first_seed() -> int:
    """The first seed, which differs every night; ``VERSIONED_SEED`` sets it for a replay."""
    setting = os.environ.get("VERSIONED_SEED")
    if setting is not None:
        return int(setting)
    nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
    return int(time.time() // _DAY) * 100_000 if nightly else 0


def sample(count: int, short: int = 1) -> list[Any]:
    """The parameters 0 to ``count``, all but the first ``short`` of them marked as thorough."""
    return [
        pytest.param(number, marks=pytest.mark.thorough if number >= short else ())
        for number in range(count)
    ]


def run(histories: type[Any], seeds: Iterator[int] | range, steps: int) -> None:
    """Run one history for each seed.

    Args:
        histories: the class of the state machine.
        seeds: the seeds.
        steps: the number of steps of each history.
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
