"""Runs of the fuzzer in processes that may crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    """The result of a run.

    Args:
        tried: the number of inputs.
        peak_mib: the peak memory in MiB.
        findings: the finding, by the number of the input.
    """

    tried: int = 0
    peak_mib: int = 0
    findings: dict[int, str] = field(default_factory=dict)


def fuzz(target: str, seed: str, count: int, seconds: float, folder: Path) -> Outcome:
    """Feed inputs to a target; if one crashes the process, that is a finding, and the run continues."""
    folder.mkdir(parents=True, exist_ok=True)
    found, first, end = Outcome(), 0, time.monotonic() + seconds
    while first < count and (left := end - time.monotonic()) > 0:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "fuzz", target, "--seed", seed, "--folder", str(folder)),
                *("--first", str(first), "--count", str(count - first), "--seconds", str(left)),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        if done.returncode == 0:
            report = json.loads(done.stdout.splitlines()[-1])
            found.tried += report["tried"]
            found.peak_mib = max(found.peak_mib, report["peak_mib"])
            break
        current = folder / "current"
        assert current.exists(), done.stderr
        number, _, data = current.read_bytes().partition(b"\n")
        (folder / f"{number.decode()}.input").write_bytes(data)
        (folder / f"{number.decode()}.txt").write_text(f"exit {done.returncode}\n{done.stderr}")
        found.tried += int(number) - first + 1
        first = int(number) + 1
    for told_in in folder.glob("*.txt"):
        found.findings[int(told_in.stem)] = told_in.read_text()
    return found
