"""Compaction under fire: many processes upsert, delete, update, alter and compact one table.

Some are killed and begin again, and the server answers badly; the log in its order explains all that
they saw.

The seed is printed; ``VERSIONED_SEED`` sets it.
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
from s3.fire import Fire, burn, log_of
from s3.fire_actors import seen_of
from s3.proxied import Proxied
from s3.racing import Scribe
from s3.rules import Random as ByChance
from s3.server import BUCKET, Server
from s3.test_linear import RATES, STUCK
from versioned_catalog import Catalog, Table, VersionedError

pytestmark = pytest.mark.thorough

ROUNDS = 4


def held(
    s3: Server,
    proxy: Proxied,
    notes: Path,
    seed: int,
    *,
    upserts: int,
    readers: int,
    kills: int,
    versions: int,
    retention: float | None = None,
) -> tuple[Fire, list[str]]:
    """A race, and what is wrong about it."""
    folder = f"{BUCKET}/{uuid4().hex}"
    partitioned_by = ["bucket(2, k)"] if seed % 3 == 0 else []
    Catalog.create_path(
        f"s3://{folder}",
        DDL,
        primary_key=PRIMARY_KEY,
        partitioned_by=partitioned_by,
        storage_options=s3.options,
    )
    notes.mkdir()
    scene = Scene(f"s3://{folder}", proxy.options, notes, 4, upserts, seed, retention)
    straight = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    proxy.tell(random=ByChance(seed, RATES, stuck=STUCK))
    with Scribe(straight, folder) as scribe:
        told = burn(scene, readers, kills)
    proxy.tell()
    wrong, last = [*scribe.changed(), *told.strange], list[Seen]()
    try:
        table = Catalog.load_path(scene.place, storage_options=s3.options)
        last = list(_looks(table, Random(seed), versions))
        wrong += [str(one) for one in table.maintenance.verify(deep=True).findings]
        for asked in [one for one in told.asked if one.outcome == OPEN][:20]:
            if table.find_commit(asked.commit_id, 0) != scribe.version_of(asked.commit_id):
                wrong.append(f"find_commit does not find {asked}")
    except VersionedError as error:
        wrong.append(f"{type(error).__name__}: {error}")
    judge = Judge(made(NAMES), log_of(scribe.entries), told.asked, [*told.seen, *last])
    return told, [*wrong, *judge.findings]


def _looks(table: Table, random: Random, count: int) -> Any:
    """What there is at many versions, and at the last one, straight from the server."""
    every = range(table.state.floor, table.version + 1)
    for version in sorted({*random.sample(every, min(count, len(every))), table.version}):
        yield seen_of("the last", version, table.scan(version=version).to_arrow())


def test_a_small_fire(s3: Server, proxy: Proxied, tmp_path: Path, seed: int) -> None:
    told, wrong = held(s3, proxy, tmp_path / "n", seed, upserts=30, readers=1, kills=6, versions=25)
    print(told)
    assert wrong == []
    assert sum(one.outcome == LANDED for one in told.asked) > 60
    asked = {one.ask["do"] for one in told.asked}
    assert asked >= {"upsert", "alter", "compact"}
    assert asked & {"delete", "update"}
    assert told.seen
    assert told.kills


@pytest.mark.nightly
@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_large_fire(
    round: int, s3: Server, proxy: Proxied, tmp_path: Path, seed: int, capsys: Any
) -> None:
    """Every second round is cleaned while it runs."""
    told, wrong = held(
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
        print(f"\nround {round}, VERSIONED_SEED={seed}: {told}", flush=True)
    assert wrong == []
    assert sum(one.outcome == LANDED for one in told.asked) > 600
    done = {one.ask["do"] for one in told.asked if one.outcome == LANDED}
    assert done >= {"upsert", "alter", "compact"}
    assert done & {"delete", "update"}
