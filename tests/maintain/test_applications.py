"""Expiry forgets applications that have written no batch for long, and no others."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from histories.paused import Killed, Pause, over
from histories.seeded import first_seed, sample
from maintain.tables import DAY, age, later, load
from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    Table,
    UnsupportedFeatureError,
)
from versioned_catalog.log import entry_json, features
from versioned_catalog.log.entry import LastBatch
from versioned_catalog.log.features import entry_path
from versioned_catalog.log.times import time_from_text
from wrong_clocks import put_ahead

EVER = timedelta(days=36_500)
"""So that no version expires."""


def row(number: int = 0) -> pa.Table:
    return pa.table({"id": [number]})


def make(root: Path, **properties: str) -> Table:
    return Catalog.create_path(root / "t", "id BIGINT", properties=properties)


def forget(table: Table, **how: Any) -> int:
    """Expire no version, and return the number of applications that are forgotten."""
    return table.maintenance.expire(EVER, **({"dry_run": False} | how)).forgotten


def test_an_application_is_forgotten_after_30_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.append(row(), batch=("old", 7))
    assert forget(table) == 0, "the state counts from this commit on"
    table.append(row(), batch=("old", 8))
    later(monkeypatch, 30 * DAY - timedelta(hours=1))
    assert (forget(table), table.refresh().version) == (0, 3)
    later(monkeypatch, 30 * DAY + timedelta(hours=1))
    assert (forget(table, dry_run=True), table.refresh().version) == (1, 3)
    assert forget(table) == 1
    assert forget(load(tmp_path)) == 0
    table = load(tmp_path)
    assert (table.version, dict(table.state.applications)) == (4, {})
    assert table.append(row(), batch=("old", 8)) == 5, "what comes after that is written again"
    assert table.maintenance.verify().is_clean


def test_a_restart_within_the_retention_writes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, application_retention="60 days")
    table.sink("query").write(row(), 3)
    forget(table)
    later(monkeypatch, 59 * DAY)
    assert forget(table) == 0
    assert load(tmp_path).sink("query").write(row(), 3) == 2
    assert load(tmp_path).count() == 1
    table.alter().set_property("application_retention", "58 days").commit()
    assert forget(load(tmp_path)) == 1


@pytest.mark.parametrize("expired", [False, True])
def test_a_write_that_outlives_the_memory_of_its_batch_is_refused(
    expired: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was planned before a retry of it committed its batch, which is forgotten since."""
    table = make(tmp_path)
    table.append(row(), batch=("other", 1))
    forget(table)
    early, others = load(tmp_path), load(tmp_path)
    table.append(row(), batch=("job", 7))
    later(monkeypatch, 31 * DAY)
    forget(table)
    if expired:
        table.maintenance.expire(timedelta(days=1), dry_run=False)
    assert "job" not in table.refresh().state.applications
    refusal = CommitConflictError if expired else AlreadyExistsError
    with pytest.raises(refusal, match="batch 7 of job"):
        early.append(row(), batch=("job", 7))
    assert load(tmp_path).count() == 2
    if not expired:
        others.append(row(), batch=("new", 1))
        assert load(tmp_path).count() == 3


def test_a_longer_retention_stops_an_expiry_that_did_not_know_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.append(row(), batch=("job", 7))
    forget(table)
    later(monkeypatch, 31 * DAY)
    other = load(tmp_path)

    def keep_longer() -> None:
        other.alter().set_property("application_retention", "90 days").commit()

    pause = Pause("put", then=keep_longer)
    assert over(load(tmp_path), datetime.now(UTC) + 31 * DAY, pause).maintenance.expire(
        EVER, dry_run=False
    )
    assert pause.reached
    assert load(tmp_path).state.applications.keys() == {"job"}


def test_only_old_applications_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    for name in ("a", "b", "c"):
        table.append(row(), batch=(name, 1))
    forget(table)
    for number, name in enumerate(("a", "b", "c", "a")):
        table.append(row(), batch=(name, 2 + number))
    for version in range(7):
        age(tmp_path / "t" / entry_path(version), 40 * DAY)
    put_ahead(tmp_path / "t", range(7), -40 * DAY)
    table = load(tmp_path)
    assert forget(table) == 1, "the last batch of b is of version 6, and those of a and c are new"
    assert load(tmp_path).state.applications == {"c": LastBatch(4, 7), "a": LastBatch(5, 8)}


@pytest.mark.parametrize("wrong", ["entry", "file"])
def test_a_wrong_clock_forgets_nothing(wrong: str, tmp_path: Path) -> None:
    """An entry is old only if its time and the date of its file are both old."""
    table = make(tmp_path)
    table.append(row(), batch=("a", 1))
    forget(table)
    if wrong == "file":
        for version in range(3):
            age(tmp_path / "t" / entry_path(version), 40 * DAY)
    else:
        put_ahead(tmp_path / "t", range(3), -40 * DAY)
    assert forget(load(tmp_path)) == 0
    assert load(tmp_path).append(row(), batch=("a", 1)) == 2


def test_stubs_are_as_old_as_their_expiry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of expired commits are known, too; an application only stays longer."""
    table = make(tmp_path)
    table.append(row(), batch=("a", 1))
    forget(table)
    for number in range(3):
        table.append(row(number))
    later(monkeypatch, 31 * DAY)
    done = load(tmp_path).maintenance.expire(dry_run=False)
    assert (done.oldest_version, done.forgotten) == (5, 1)
    assert load(tmp_path).maintenance.verify(every_version=True).is_clean


def test_a_replaced_table_knows_no_application(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "id BIGINT")
    table.append(row(), batch=("a", 1))
    forget(table)
    table = catalog.replace_table("t", "id BIGINT")
    table.append(row(), batch=("a", 1))
    assert table.refresh().state.applications == {"a": LastBatch(1)}
    assert table.state.features.read == set()


def test_a_table_without_applications_gets_no_feature(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.append(row())
    assert (forget(table), table.refresh().version) == (0, 1)
    assert table.maintenance.expire(timedelta(0), force=True, dry_run=False).oldest_version == 1
    assert table.refresh().state.features.read == set()


def test_releases_before_the_feature_refuse_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.append(row(), batch=("a", 1))
    forget(table)
    monkeypatch.setattr(
        features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"application-retention"}
    )
    with pytest.raises(UnsupportedFeatureError, match="application-retention"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["30", "0 days", "forever", "-1 day", "999999999 weeks"])
def test_a_retention_is_a_duration(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="application_retention"):
        make(tmp_path, application_retention=text)


def test_the_property_of_delta_is_refused_with_ours(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="set application_retention"):
        make(tmp_path, **{"delta.setTransactionRetentionDuration": "interval 30 days"})


@pytest.mark.parametrize(
    "members, names, words",
    [
        ({"forget": 2}, [], "without the feature"),
        ({"forget": 3}, ["application-retention"], "a version after the commit"),
        ({"forget": -1}, ["application-retention"], "a version after the commit"),
        ({"forget": True}, ["application-retention"], "forget"),
    ],
)
def test_an_entry_that_forgets_wrongly_is_refused(
    members: dict[str, Any], names: list[str], words: str, tmp_path: Path
) -> None:
    table = make(tmp_path)
    table.append(row(), batch=("a", 1))
    forget(table)
    path = tmp_path / "t" / entry_path(2)
    entry = json.loads(path.read_text())
    both = {"read": names, "write": ["checksums", *names]}
    text = sealed(entry | members | {"features": both})
    with pytest.raises(CorruptTableError, match=words):
        entry_json.commit_from_bytes(text.encode(), "x")


class Model:
    """Which batch of each application is known, and since which version, by FORMAT.md alone."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[int, int]] = {}
        self.counts = False
        self.times: list[datetime] = []

    def expire(self, version: int, cut: int) -> None:
        """An expiry that became a version, when ``cut`` is the newest version that is old enough."""
        if not self.counts and self.last:
            self.last = {name: (number, version) for name, (number, _) in self.last.items()}
            self.counts = True
        elif self.counts:
            self.last = {name: last for name, last in self.last.items() if last[1] > cut}


def newest_old(folder: Path, times: list[datetime], cutoff: datetime) -> int:
    """The newest version whose time and whose entry's file are both at most a cutoff; -1 for none."""
    return max(
        (
            version
            for version, time in enumerate(times)
            if time <= cutoff
            and (folder / entry_path(version)).stat().st_mtime <= cutoff.timestamp()
        ),
        default=-1,
    )


@pytest.mark.parametrize("number", sample(12))
def test_checkpoints_and_entries_give_the_same_applications(number: int, tmp_path: Path) -> None:
    seed = first_seed() + number
    random = Random(f"applications {seed}")
    table, folder, model = make(tmp_path), tmp_path / "t", Model()
    with_checkpoints, day = random.random() < 0.7, timedelta(days=1)
    for step in range(40):
        for version in range(len(model.times), table.refresh().version + 1):
            entry = json.loads((folder / entry_path(version)).read_text())
            model.times.append(time_from_text(entry["time"]))
        what = random.choice(["batch", "batch", "batch", "append", "expire", "expire", "rollback"])
        before, note = table.version, f"VERSIONED_SEED={seed}, step {step}: {what}"
        if what == "batch":
            name, batch = random.choice("abcd"), random.randrange(8)
            table.append(row(), batch=(name, batch))
            known = model.last.get(name)
            is_new = known is None or known[0] < batch
            assert table.refresh().version == before + is_new, note
            if is_new:
                model.last[name] = (batch, table.version)
        elif what == "append":
            table.append(row())
        elif what == "rollback" and before > table.state.floor:
            table.rollback(random.randint(table.state.floor, before - 1))
        elif what == "expire":
            then = random.choice([datetime.now(UTC), *model.times[-6:]])
            cut = newest_old(folder, model.times, then)
            killed = random.random() < 0.4
            pause = Pause("", random.randrange(25)) if killed else None
            versions = EVER if random.random() < 0.5 else 30 * day
            knew = dict(model.last) if model.counts else {}
            try:
                done = over(load(tmp_path), then + 30 * day, pause).maintenance.expire(
                    versions, random.randint(1, 3), dry_run=False, force=True
                )
                forgotten = sum(last[1] <= cut for last in knew.values())
                assert done.forgotten == forgotten, note
            except Killed:
                assert killed, note
            if table.refresh().version > before:
                model.expire(table.version, cut)
        if with_checkpoints and random.random() < 0.2:
            table.log.write_checkpoint(table.refresh().state)
        expected = {
            name: LastBatch(batch, version if model.counts else None)
            for name, (batch, version) in model.last.items()
        }
        replayed = tmp_path / f"replayed-{step}"
        shutil.copytree(folder, replayed)
        shutil.rmtree(replayed / "_versioned/checkpoint", ignore_errors=True)
        shutil.rmtree(replayed / "_versioned/delta", ignore_errors=True)
        (replayed / "_versioned/last_checkpoint.json").unlink(missing_ok=True)
        for reader in (table.refresh(), load(tmp_path), Catalog.load_path(replayed)):
            assert reader.state.applications == expected, note
        shutil.rmtree(replayed)
    assert load(tmp_path).maintenance.verify(every_version=True).is_clean
