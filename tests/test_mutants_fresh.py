"""The records of mutants.toml still match the code; replaying them takes longer."""

from __future__ import annotations

from replay_mutants import load


def test_records_are_fresh() -> None:
    stale = {mutant.name: found for mutant in load() if (found := mutant.problems())}
    assert not stale
