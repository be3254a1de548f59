"""Many processes, one table, a server that answers badly: one order explains all that they were told.

The seed is printed; ``VERSIONED_SEED`` sets it, and then the proxy does the same to the n-th request of
each name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from s3fs import S3FileSystem

from faults.history import LANDED, Look, findings
from s3.actors import SPAN, Scene
from s3.proxied import Proxied
from s3.racing import Race, Scribe, race
from s3.rules import Fault, Random, Rule
from s3.server import BUCKET, Server
from versioned_catalog import Catalog, Table, VersionedError

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
"""Of all requests; 409 is for puts with a condition alone."""

STUCK = 0.004
ROUNDS = 7


def held(
    s3: Server,
    proxy: Proxied,
    notes: Path,
    seed: int,
    *rules: Rule,
    writers: int,
    appends: int,
    readers: int,
    retention: float | None = None,
) -> tuple[Race, list[str]]:
    """A race, and what is wrong about it."""
    folder = f"{BUCKET}/{uuid4().hex}"
    Catalog.create_path(f"s3://{folder}", "id LONG", storage_options=s3.options)
    notes.mkdir()
    scene = Scene(f"s3://{folder}", proxy.options, notes, writers, appends, seed, retention)
    straight = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    proxy.tell(*rules, random=Random(seed, RATES, stuck=STUCK))
    with Scribe(straight, folder) as scribe:
        told = race(scene, readers)
    proxy.tell()
    wrong = [*scribe.changed(), *told.strange]
    try:
        table = Catalog.load_path(scene.place, storage_options=s3.options)
        looks = [*told.looks, _last_look(scene, table)]
    except VersionedError as error:
        return told, [*wrong, str(error), *findings(told.commits, told.looks, scribe.log())]
    wrong += [str(one) for one in table.maintenance.verify().findings]
    for commit_id in told.open[:3]:
        if table.find_commit(commit_id, 0) != scribe.version_of(commit_id):
            wrong.append(f"find_commit does not find {commit_id}")
    return told, [*wrong, *findings(told.commits, looks, scribe.log())]


def _last_look(scene: Scene, table: Table) -> Look:
    """All there is, at the end, straight from the server."""
    rows = tuple(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
    span = (0, scene.writers * SPAN)
    return Look("the last", 1e12, 1e12, table.version, True, span, (rows,), table.count())


def test_a_small_race(s3: Server, proxy: Proxied, tmp_path: Path, seed: int) -> None:
    told, wrong = held(
        s3, proxy, tmp_path / "n", seed, writers=3, appends=10, readers=1, retention=2.0
    )
    print(told)
    assert wrong == []
    assert sum(commit.outcome == LANDED for commit in told.commits) > 20
    assert told.looks


@pytest.mark.nightly
@pytest.mark.parametrize("round", range(ROUNDS))
def test_ten_thousand_commits(
    round: int, s3: Server, proxy: Proxied, tmp_path: Path, seed: int, capsys: Any
) -> None:
    """16 writers of 100 appends, in 7 rounds; cleaned while it runs."""
    told, wrong = held(
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
        print(f"\nround {round}, VERSIONED_SEED={seed}: {told}", flush=True)
    assert wrong == []
    assert sum(commit.outcome == LANDED for commit in told.commits) > 1400


@pytest.mark.parametrize(
    "fault, expected",
    [
        pytest.param(Fault.UNCONDITIONAL, "was changed", marks=pytest.mark.nightly),
        (Fault.LOSER_TOLD_WON, "lost"),
    ],
    ids=["unconditional", "loser told won"],
)
def test_a_server_that_lies_is_found_out(
    fault: Fault, expected: str, s3: Server, proxy: Proxied, tmp_path: Path, seed: int
) -> None:
    """Commits that are really lost: entries overwritten, or losers told that they won."""
    rule = Rule(fault, "PUT", "log/", skip=4, times=1000)
    _, wrong = held(s3, proxy, tmp_path / "n", seed, rule, writers=3, appends=6, readers=0)
    assert any(expected in text for text in wrong), json.dumps(wrong)
