"""A stress test of a keyed table: many processes upsert, delete, update, alter and compact it.

Some are killed and restarted, and the proxy injects faults. The model that applies the log's entries in
order must explain all results. ``VERSIONED_SEED`` sets the seed, which is printed.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from s3fs import S3FileSystem

from faults.history import LANDED, OPEN
from faults.keyed_asks import DDL, NAMES, PRIMARY_KEY
from faults.keyed_history import Judge, Seen
from faults.keyed_model import made
from s3.actors import Scene
from s3.proxied import Proxied
from s3.racing import LogRecorder
from s3.rules import Random as RandomFaults
from s3.server import BUCKET, Server
from s3.stress import Result, log_of, stress
from s3.stress_actors import seen_of
from s3.test_linear import RATES, STUCK
from versioned_catalog import Catalog, Table, VersionedError

pytestmark = pytest.mark.thorough

ROUNDS = 4


def run(
    s3: Server,
    proxy: Proxied,
    journals: Path,
    seed: int,
    *,
    upserts: int,
    readers: int,
    kills: int,
    versions: int,
    retention: float | None = None,
) -> tuple[Result, list[str]]:
    """Run a stress test; return its result and the findings."""
    folder = f"{BUCKET}/{uuid4().hex}"
    partitioned_by = ["bucket(2, k)"] if seed % 3 == 0 else []
    Catalog.create_path(
        f"s3://{folder}",
        DDL,
        primary_key=PRIMARY_KEY,
        partitioned_by=partitioned_by,
        properties={"auto_maintain": "off"},
        storage_options=s3.options,
    )
    journals.mkdir()
    scene = Scene(f"s3://{folder}", proxy.options, journals, 4, upserts, seed, retention)
    direct = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    proxy.set_rules(random=RandomFaults(seed, RATES, stuck=STUCK))
    with LogRecorder(direct, folder) as recorder:
        result = stress(scene, readers, kills)
        proxy.settle()  # a request of a killed process may still be on its way
    proxy.set_rules()
    findings, last = [*recorder.changed(), *result.strange], list[Seen]()
    try:
        table = Catalog.load_path(scene.url, storage_options=s3.options)
        last = list(_looks(table, Random(seed), versions))
        findings += [str(one) for one in table.maintenance.verify(deep=True).findings]
        for asked in [one for one in result.asked if one.outcome == OPEN][:20]:
            if table.find_commit(asked.commit_id, 0) != recorder.version_of(asked.commit_id):
                findings.append(f"find_commit is wrong about {asked}")
    except VersionedError as error:
        findings.append(f"{type(error).__name__}: {error}")
    judge = Judge(made(NAMES), log_of(recorder.entries), result.asked, [*result.seen, *last])
    return result, [*findings, *judge.findings]


def _looks(table: Table, random: Random, count: int) -> Any:
    """Read many versions, and the last one, without the proxy."""
    every = range(table.state.floor, table.version + 1)
    for version in sorted({*random.sample(every, min(count, len(every))), table.version}):
        yield seen_of("final read", version, table.scan(version=version).to_arrow())


@pytest.mark.nightly
def test_a_small_stress_test(s3: Server, proxy: Proxied, tmp_path: Path, seed: int) -> None:
    result, findings = run(
        s3, proxy, tmp_path / "n", seed, upserts=15, readers=1, kills=3, versions=12
    )
    print(result)
    assert findings == []
    assert sum(one.outcome == LANDED for one in result.asked) > 30
    asked = {one.ask["do"] for one in result.asked}
    assert asked >= {"upsert", "alter", "compact"}
    assert asked & {"delete", "update"}
    assert result.seen
    assert result.kills


@pytest.mark.nightly
@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_large_stress_test(
    round: int, s3: Server, proxy: Proxied, tmp_path: Path, seed: int, capsys: Any
) -> None:
    """Vacuum and expire run in every second round."""
    result, findings = run(
        s3,
        proxy,
        tmp_path / "n",
        seed + round,
        upserts=150,
        readers=2,
        kills=40,
        versions=40,
        retention=20.0 if round % 2 else None,
    )
    with capsys.disabled():
        print(f"\nround {round}, VERSIONED_SEED={seed}: {result}", flush=True)
    assert findings == []
    assert sum(one.outcome == LANDED for one in result.asked) > 600
    done = {one.ask["do"] for one in result.asked if one.outcome == LANDED}
    assert done >= {"upsert", "alter", "compact"}
    assert done & {"delete", "update"}
