"""Random histories of little but writes in flight and the compactions that move what they change."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

import pytest

from histories.flights import Flight
from histories.seeded import AT_ONCE, first_seed, run, sample
from histories.test_model import BETWEEN, Histories
from versioned_catalog.commit import moved_rows

STEPS, SEEDS = {"dev": (8, 16), "ci": (10, 4), "nightly": (10, 1000)}[
    os.environ.get("HYPOTHESIS_PROFILE", "dev")
]


class Crowded(Histories):
    """A table without a primary key, and its model."""

    between: ClassVar[dict[str, Any]] = {name: BETWEEN[name] for name in ("write", "compact")}

    def kinds(self) -> list[Callable[..., Flight | None]]:
        return [self.late_delete, self.late_update, self.late_where, self.late_overwrite]

    def anything(self, random: Random) -> None:
        """Plan a write; let others commit, most of all compactions; commit it."""
        self.step("write", random)
        self.take_off(random)
        for _ in range(random.choice([1, 1, 2, 3])):
            self.step(random.choice(["write", "compact", "compact", "compact", "delete"]), random)
        if random.random() < 0.8:
            self.land(random)

    def step(self, name: str, random: Random) -> None:
        getattr(self, name)(random, **self.between.get(name, {}))


@pytest.mark.parametrize("chunk", sample(SEEDS // AT_ONCE, short=0))
def test_writes_in_flight_follow_compactions(chunk: int) -> None:
    start = first_seed() + chunk * AT_ONCE
    run(Crowded, range(start, start + AT_ONCE), STEPS)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each write that was followed through compactions, whether it marks rows then."""
    marks: list[bool] = []
    follow = moved_rows._followed

    def following(attempt: Any) -> Any:
        rows = follow(attempt)
        if rows is not None:
            marks.append(bool(rows.rows))
        return rows

    monkeypatch.setattr(moved_rows, "_followed", following)
    return marks


@pytest.mark.nightly
def test_writes_are_followed_in_these_histories(followed: list[bool]) -> None:
    """Otherwise they would test less than they say."""
    run(Crowded, range(10, 20), 10)
    assert min(followed.count(True), followed.count(False)) >= 3, followed
