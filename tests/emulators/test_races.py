"""Races and kills on emulators: one order of the commits explains the results of all processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulators.servers import Emulator
from faults.history import LANDED
from faults.test_crashes import alter, prepare
from s3.proxied import Proxied
from s3.racing import Place, raced
from s3.rules import Fault, Random, Rule
from s3.test_kills import Warehouses, check, read_all
from s3.test_linear import RATES

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]

FEW = {"gs": 4, "abfs": 16, "webhdfs": 1}
"""By what the rates of faults are divided: before it repeats a request, a client pauses for seconds, and
that of Azure for 15."""


@pytest.mark.parametrize("retention", [None, 5.0], ids=["appends", "with vacuum"])
def test_a_race_under_faults(
    retention: float | None, emulator: Emulator, faulty: Proxied, tmp_path: Path, seed: int
) -> None:
    through = emulator.through(faulty.endpoint)
    place = Place(emulator.place(), emulator.fs(), emulator.options, through)
    if retention is not None and emulator.kind.scheme == "abfs":
        pytest.skip("each vacuum takes minutes, since the client pauses for 15 s after a fault")
    share = FEW[emulator.kind.scheme]
    rates = {name: rate / share for name, rate in RATES.items() if "409" not in name}
    faulty.set_rules(random=Random(seed, rates))
    result, findings = raced(place, faulty, tmp_path / "n", seed, 8, 15, 2, retention)
    print(result)
    assert findings == []
    assert sum(commit.outcome == LANDED for commit in result.commits) > 100
    assert result.looks


def test_a_race_without_faults(
    emulator: Emulator, faulty: Proxied, tmp_path: Path, seed: int
) -> None:
    place = Place(emulator.place(), emulator.fs(), emulator.options, emulator.options)
    result, findings = raced(place, faulty, tmp_path / "n", seed, 16, 25, 2)
    print(result)
    assert findings == []
    assert sum(commit.outcome == LANDED for commit in result.commits) >= 400


def test_a_server_that_forgets_the_condition_is_detected(
    emulator: Emulator, faulty: Proxied, tmp_path: Path, seed: int
) -> None:
    """Else the races would show nothing."""
    if emulator.kind.scheme != "gs":
        pytest.skip("Azure signs the condition, and a name node without it says so")
    through = emulator.through(faulty.endpoint)
    place = Place(emulator.place(), emulator.fs(), emulator.options, through)
    faulty.set_rules(Rule(Fault.UNCONDITIONAL, "POST", "ifGenerationMatch", skip=20, times=1000))
    _, findings = raced(place, faulty, tmp_path / "n", seed, 4, 8, 0)
    assert any("was changed" in text or "lost" in text for text in findings), findings


def test_an_alter_killed_at_every_write(
    emulator: Emulator, faulty: Proxied, tmp_path: Path
) -> None:
    prepare(tmp_path)
    files: dict[str, Any] = read_all(tmp_path)
    through = emulator.through(faulty.endpoint)
    options = emulator.options
    warehouses = Warehouses(emulator.root, options, faulty, through, emulator.fs(), files)
    assert check(warehouses, alter, reads=False) >= 4
