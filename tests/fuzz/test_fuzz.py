"""Only our own errors come of whatever is fed to what is parsed, in bounded memory and time."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from fuzz.harness import fuzz
from fuzz.targets import ANY, TARGETS

SEED = os.environ.get("FUZZ_SEED")
CASES = sorted(path for path in (Path(__file__).parent / "cases").rglob("*") if path.is_file())


def check(target: str, seed: str, count: int, seconds: float, folder: Path) -> None:
    print(f"FUZZ_SEED={seed}")
    outcome = fuzz(target, seed, count, seconds, folder)
    print(f"{target}: {outcome.tried} inputs, at most {outcome.peak_mib} MiB")
    for number, wrong in outcome.findings.items():
        print(f"--- {target} {number} (seed {seed}; {folder}/{number}.input)\n{wrong}")
    assert not outcome.findings
    assert outcome.tried > 0


def test_some_inputs(tmp_path: Path) -> None:
    check(ANY, SEED or "1", 3000, 25, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("target", sorted(set(TARGETS) - {ANY}))
def test_many_inputs(target: str, tmp_path: Path) -> None:
    check(target, SEED or str(random.randrange(2**32)), 100_000, 600, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_what_was_found(case: Path) -> None:
    """What the fuzzer found, and was mended."""
    TARGETS[case.parent.name].attempt(case.read_bytes())
