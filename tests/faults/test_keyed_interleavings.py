"""Three holders of a keyed table, at versions of their own, plan and commit in any order.

A naive model computes the rows that must result, and which refusals have a reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from random import Random
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.keyed_actors import Stage
from faults.rules import skip_rule
from versioned_catalog.commit.operations import Rewrite
from versioned_catalog.commit.row_rules import row_keys_unchanged
from versioned_catalog.write.compaction_choice import Levels

pytestmark = pytest.mark.thorough

STEPS, EXAMPLES = {
    "dev": (30, 12),
    "ci": (30, 15),
    "nightly": (60, 600),
}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]

OFTEN = {
    "refresh": 6,
    "plan_upsert": 10,
    "plan_delete": 4,
    "plan_update": 4,
    "plan_compaction": 6,
    "plan_overwrite": 1,
    "commit": 14,
    "delete": 3,
    "update": 3,
    "overwrite_where": 1,
    "alter": 2,
    "rollback": 1,
    "truncate": 0.3,
    "vacuum": 0.5,
    "expire": 0.3,
}


def play(random: Random, steps: int) -> None:
    """Run one random history, compared with the model after every step."""
    partitioned_by = ["bucket(2, k)"] if random.random() < 0.3 else []
    stage = Stage(f"memory://{uuid4()}", random, partitioned_by=partitioned_by)
    for _ in range(steps):
        stage.step(random.choices(list(OFTEN), list(OFTEN.values()))[0])
        stage.check()
    stage.check_all()


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
@given(random=st.randoms(use_true_random=False), steps=st.integers(5, STEPS))
def test_any_order_gives_the_rows_of_the_model(random: Random, steps: int) -> None:
    play(random, steps)


def play_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        play(Random(seed), 60)


def no(*_: object) -> bool:
    return False


@pytest.mark.parametrize(
    ("plant", "first"),
    [
        (lambda patch: patch.setattr(Levels, "needs_tombstones", no), 18),
        (lambda patch: patch.setattr(Levels, "_needs", no), 24),
        (lambda patch: skip_rule(patch, Rewrite, row_keys_unchanged), 0),
    ],
    ids=["tombstones are dropped", "patches are taken for rows", "keys are not checked"],
)
def test_planted_faults_are_found(
    plant: Callable[[pytest.MonkeyPatch], None], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the histories from the first seed on shows the fault."""
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        play_all(range(first, first + 60))
