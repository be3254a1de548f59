"""A small soak and a larger one in the nightly run; ``make soak`` takes 30 minutes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import randrange
from typing import Any

import pytest

from soak.__main__ import report
from soak.actors import Scene
from soak.checker import Verdict, judge
from soak.driver import run

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let multiprocessing's fork server import these modules."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("VERSIONED_SEED", randrange(2**32)))


def run_and_check(work: Path, seed: int, seconds: float, processes: int) -> Verdict:
    faults = run(Scene(work, seed), seconds, processes)
    verdict = judge(work)
    print(f"\nVERSIONED_SEED={seed}, in {work}")
    print("\n".join(report(verdict, faults)), flush=True)
    return verdict


def test_a_small_soak(tmp_path: Path, seed: int) -> None:
    verdict = run_and_check(tmp_path, seed, 15, 6)
    assert verdict.findings == []
    assert verdict.reads["checked"] > 10
    assert verdict.operations.total() > 25


def test_a_large_soak(tmp_path: Path, seed: int, capsys: Any) -> None:
    with capsys.disabled():
        verdict = run_and_check(tmp_path, seed, 180, 10)
    assert verdict.findings == []
    assert verdict.reads["checked"] > 500
    assert verdict.operations.total() > 1500
    done = {op for op, result in verdict.operations if result == "acknowledged"}
    assert done > {"append", "upsert", "update", "rollback", "expire", "vacuum", "compact"}
