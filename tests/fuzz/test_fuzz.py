"""Any input to a parser raises only VersionedErrors, in bounded memory and time."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.harness import fuzz
from fuzz.targets import ANY, TARGETS

SEED = os.environ.get("FUZZ_SEED")
CASES = Path(__file__).parent / "cases"
REPLAY = """
import pathlib, sys
from fuzz.targets import TARGETS
for path in sys.argv[2:]:
    print(path, flush=True)
    TARGETS[sys.argv[1]].attempt(pathlib.Path(path).read_bytes())
"""


def check(target: str, seed: str, count: int, seconds: float, folder: Path) -> None:
    print(f"FUZZ_SEED={seed}")
    outcome = fuzz(target, seed, count, seconds, folder)
    print(f"{target}: {outcome.tried} inputs, at most {outcome.peak_mib} MiB")
    for number, wrong in outcome.findings.items():
        print(f"--- {target} {number} (seed {seed}; {folder}/{number}.input)\n{wrong}")
    assert not outcome.findings
    assert outcome.tried > 0


@pytest.mark.thorough
def test_some_inputs(tmp_path: Path) -> None:
    check(ANY, SEED or "1", 1500, 8, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("target", sorted(set(TARGETS) - {ANY}))
def test_many_inputs(target: str, tmp_path: Path) -> None:
    check(target, SEED or str(random.randrange(2**32)), 100_000, 600, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("target", sorted(path.name for path in CASES.iterdir()))
def test_inputs_of_earlier_findings(target: str) -> None:
    """Inputs that the fuzzer found, and that are fixed; some of them crashed the process."""
    cases = [str(path) for path in sorted((CASES / target).iterdir())]
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, target, *cases],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"


def test_inputs_are_reproducible() -> None:
    for target in TARGETS.values():
        assert target.make(random.Random("7 3")) == target.make(random.Random("7 3"))
