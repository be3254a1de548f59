"""Three who hold a keyed table at their own versions plan and commit in any order.

A naive model says what must come of it, and which refusals have a reason.
"""

from __future__ import annotations

import os
from random import Random
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.keyed_actors import Stage

STEPS, EXAMPLES = {
    "dev": (30, 12),
    "ci": (30, 25),
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


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_any_order(random: Random) -> None:
    partitioned_by = ["bucket(2, k)"] if random.random() < 0.3 else []
    stage = Stage(f"memory://{uuid4()}", random, partitioned_by=partitioned_by)
    for _ in range(random.randint(5, STEPS)):
        stage.step(random.choices(list(OFTEN), list(OFTEN.values()))[0])
        stage.check()
    stage.check_all()
