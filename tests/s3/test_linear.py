"""Races on a server with faults: one order of the commits explains the results of all processes.

``VERSIONED_SEED`` sets the seed, which is printed; with the same seed, the proxy applies the same fault
to the n-th request of each name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from s3fs import S3FileSystem

from faults.history import LANDED
from s3.proxied import Proxied
from s3.racing import Place, Race, raced
from s3.rules import Fault, Random, Rule
from s3.server import BUCKET, Server

pytestmark = pytest.mark.thorough

RATES = {
    "DELAY": 0.05,
    "DROP_REQUEST": 0.01,
    "DROP_REPLY": 0.01,
    "LATE": 0.005,
    "CUT_REQUEST": 0.005,
    "CUT_REPLY": 0.005,
    "ERROR_500": 0.005,
    "ERROR_500_AFTER": 0.005,
    "ERROR_503": 0.003,
    "ERROR_503_AFTER": 0.003,
    "ERROR_409": 0.01,
    "ERROR_409_AFTER": 0.01,
}
"""The rates of faults among all requests; only conditional puts get 409."""

STUCK = 0.004
ROUNDS = 7


def run(
    s3: Server,
    proxy: Proxied,
    journals: Path,
    seed: int,
    *rules: Rule,
    writers: int,
    appends: int,
    readers: int,
    retention: float | None = None,
) -> tuple[Race, list[str]]:
    """Run a race; return its result and the findings."""
    direct = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    place = Place(f"s3://{BUCKET}/{uuid4().hex}", direct, s3.options, proxy.options)
    proxy.set_rules(*rules, random=Random(seed, RATES, stuck=STUCK))
    return raced(place, proxy, journals, seed, writers, appends, readers, retention)


def test_a_small_race(s3: Server, proxy: Proxied, tmp_path: Path, seed: int) -> None:
    result, findings = run(
        s3, proxy, tmp_path / "n", seed, writers=3, appends=10, readers=1, retention=2.0
    )
    print(result)
    assert findings == []
    assert sum(commit.outcome == LANDED for commit in result.commits) > 20
    assert result.looks


@pytest.mark.nightly
@pytest.mark.parametrize("round", range(ROUNDS))
def test_ten_thousand_commits(
    round: int, s3: Server, proxy: Proxied, tmp_path: Path, seed: int, capsys: Any
) -> None:
    """7 rounds of 16 writers with 100 appends each, while vacuum and expire run."""
    result, findings = run(
        s3,
        proxy,
        tmp_path / "n",
        seed + round,
        writers=16,
        appends=100,
        readers=2,
        retention=5.0,
    )
    with capsys.disabled():
        print(f"\nround {round}, VERSIONED_SEED={seed}: {result}", flush=True)
    assert findings == []
    assert sum(commit.outcome == LANDED for commit in result.commits) > 1400


@pytest.mark.parametrize(
    "fault, expected",
    [
        pytest.param(Fault.UNCONDITIONAL, "was changed", marks=pytest.mark.nightly),
        (Fault.LOSER_TOLD_WON, "lost"),
    ],
    ids=["unconditional", "loser wins"],
)
def test_a_server_that_loses_commits_is_detected(
    fault: Fault, expected: str, s3: Server, proxy: Proxied, tmp_path: Path, seed: int
) -> None:
    """Commits are lost, since the server overwrites entries or acknowledges puts that failed."""
    rule = Rule(fault, "PUT", "log/", skip=4, times=1000)
    _, findings = run(s3, proxy, tmp_path / "n", seed, rule, writers=3, appends=6, readers=0)
    assert any(expected in text for text in findings), json.dumps(findings)
