"""The real code over a simulated object store and clock, by seed. See docs/guarantees.md."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from simulation.planted import BY_NAME, PLANTED, Planted, plant, search
from simulation.runs import Part, Plan, Result, plan_of, report, run, shrink
from simulation.scene import Op
from simulation.world import Weather

SHORT, NIGHTLY = 6, 10_000
"""Seeds of the short set, and of each night."""

BATCHES = 20
"""Tests of the night, which share its seeds."""

SOON_FOUND = ("put-without-condition", "checkpoint-loses-a-segment", "lost-to-itself")
"""Planted faults that a few seeds find."""

MOST_SEEDS = 1_000
"""Seeds within which a planted fault must be found."""


def check(plan: Plan) -> Result:
    """Run a plan; fail with what is left of it when it is shrunk."""
    result = run(plan)
    if result.findings:
        pytest.fail(report(run(shrink(plan))), pytrace=False)
    return result


def test_a_few_seeds() -> None:
    steps = [check(plan_of(seed)).steps for seed in range(SHORT)]
    assert min(steps) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_seeds(batch: int) -> None:
    first = int(os.environ.get("VERSIONED_SEED", "0")) + batch * NIGHTLY // BATCHES
    for seed in range(first, first + NIGHTLY // BATCHES):
        check(plan_of(seed))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_actors(seed: int) -> None:
    result = check(plan_of(seed, actors=200, ops=4, tables=100))
    assert result.steps > 5_000


# A run depends on its seed alone

TRACES = (
    "from simulation.runs import plan_of, run; print([run(plan_of(s)).trace for s in range(3)])"
)


def traces(hash_seed: str) -> str:
    """The traces of some runs in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", TRACES],
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": str(Path(__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_one_seed_gives_one_trace() -> None:
    first, again, other = run(plan_of(3)), run(plan_of(3)), run(plan_of(4))
    assert first.trace == again.trace
    assert (first.steps, first.outcomes, first.requests) == (
        again.steps,
        again.outcomes,
        again.requests,
    )
    assert first.trace != other.trace


@pytest.mark.thorough
def test_one_seed_gives_one_trace_in_every_process() -> None:
    assert traces("1") == traces("2")


# What a simulation finds


def finds(planted: Planted, most: int) -> None:
    found = search(planted, most)
    assert found is not None, f"{planted.name} was not found by {most} seeds: {planted.guard}"
    print(f"{planted.name}: found by seed {found[0] - 1}: {found[1].findings[0][:300]}")


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOON_FOUND)
def test_a_planted_fault_is_found_soon(name: str) -> None:
    finds(BY_NAME[name], 20)


@pytest.mark.nightly
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_found(planted: Planted) -> None:
    finds(planted, MOST_SEEDS)


def test_planted_faults_are_still_in_the_code() -> None:
    for planted in PLANTED:
        with plant(planted):
            pass


def racing(seed: int) -> Plan:
    """Two writers that append all the time, and a reader."""
    appends = tuple(Op("append", "db.t0", number, 0.0) for number in range(6))
    scans = tuple(Op("scan", "db.t0", number, 0.1) for number in range(6))
    parts = (Part("writer0", 0, appends), Part("reader1", 0, scans), Part("writer2", 0, appends))
    weather = Weather(rates=(("stale", 0.1), ("refused", 0.01)))
    return Plan(seed, weather, (("db.t0", False, ()),), parts)


@pytest.mark.thorough
def test_a_failure_is_shrunk() -> None:
    plan = racing(5)
    with plant(BY_NAME["put-without-condition"]):
        assert run(plan).findings
        small = shrink(plan)
        assert run(small).findings
    # Two writers are enough, and no fault of the store is needed.
    assert len(small.parts) == 2
    assert sum(len(part.ops) for part in small.parts) == 2
    assert small.weather.rates == ()
    assert run(replace(small, seed=plan.seed)).findings == []
    assert f"seed {plan.seed}" in report(run(small))
