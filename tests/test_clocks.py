"""Wrong clocks lose nothing: times come from the store, and a time in the future is ignored."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from sealing import sealed
from versioned_catalog import Catalog, NotFoundError, StorageError, Table
from versioned_catalog.read.aggregates import count_rows
from versioned_catalog.storage import clock
from versioned_catalog.storage.clock import REFRESH_SECONDS, Clock
from versioned_catalog.storage.local import LocalStore
from wrong_clocks import (
    DAY,
    HOUR,
    YEAR,
    ages,
    make,
    put_ahead,
    readings,
    run_with_wrong_clock,
    set_own_clock,
    silence,
    times,
)

SECOND = timedelta(seconds=1)


def load(folder: Path) -> Table:
    return Catalog.load_path(folder)


# Clocks.


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, moved by the test."""
    seconds = [1000.0]
    monkeypatch.setattr(clock, "_steady", lambda: seconds[0])
    return seconds


def test_the_time_of_the_store_is_cached(
    steady: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    then = datetime(2020, 1, 1, tzinfo=UTC)
    requests: list[int] = []

    def read_time() -> datetime:
        requests.append(1)
        return then

    one = Clock()
    assert (one.now(read_time), len(requests)) == (then, 1)
    steady[0] += REFRESH_SECONDS - 1
    set_own_clock(monkeypatch, YEAR)
    assert (one.now(read_time), len(requests)) == (then + (REFRESH_SECONDS - 1) * SECOND, 1)
    steady[0] += 1
    assert (one.now(read_time), len(requests)) == (then, 2)
    one.observe(then + DAY)
    assert (one.now(read_time), len(requests)) == (then + DAY, 2)
    steady[0] = 5.0
    assert (one.now(read_time), len(requests)) == (then, 3), "the machine was restarted"
    assert pickle.loads(pickle.dumps(one))._last is None, (
        "another machine was started at another time"
    )


def test_the_local_clock_is_used_while_it_agrees_with_the_store(
    steady: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Clock()
    before = datetime.now(UTC)
    one.observe(before.replace(microsecond=0))
    assert before <= one.now(before.now) <= datetime.now(UTC)
    set_own_clock(monkeypatch, -3 * SECOND)
    one.observe(before)
    assert one.now(before.now) == before


def test_a_store_without_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silence(monkeypatch)
    store = LocalStore(str(tmp_path))
    assert abs(store.time() - datetime.now(UTC)) < SECOND
    assert store.clock.is_own
    monkeypatch.undo()
    assert not LocalStore(str(tmp_path)).clock.is_own


def test_a_disk_reports_its_time_before_the_folder_exists(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "a/b"))
    assert abs(store.now() - datetime.now(UTC)) < SECOND
    assert os.listdir(tmp_path) == []


# Commits.


WRITING = """
import pyarrow as pa
from versioned_catalog import Catalog

catalog = Catalog(sys.argv[2])
catalog.create_namespace("n")
table = catalog.create_table(
    "n.t", "host STRING, ts TIMESTAMP", primary_key=["host"], time_index="ts",
    properties={"ttl": "10 days"})
now = datetime.datetime.now(datetime.UTC)
row = pa.table({"host": ["a"], "ts": pa.array([now], pa.timestamp("us", "UTC"))})
table.append(row)
table.set_tag("here")
table.upsert(row)
catalog.rename_table("n.t", "n.u")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("by", [YEAR, -YEAR], ids=["ahead", "behind"])
def test_commits_are_dated_by_the_store(tmp_path: Path, by: timedelta) -> None:
    before = datetime.now(UTC)
    run_with_wrong_clock(by, WRITING, str(tmp_path))
    after = datetime.now(UTC)
    for folder, commits in ((tmp_path, 3), (tmp_path / "n/t", 4)):
        found = times(folder)
        assert len(found) == commits
        assert before - SECOND < found[0]
        assert found[-1] < after + SECOND
        assert all(one < two for one, two in itertools.pairwise(found))
    table = Catalog(tmp_path).load_table("n.u")
    assert table.count() == 1
    assert table.at(timestamp=datetime.now(UTC)).version == 3


def test_a_recovered_table_is_dated_by_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Catalog.create_path(tmp_path / "t", "a INT").append(pa.table({"a": pa.array([1], pa.int32())}))
    set_own_clock(monkeypatch, YEAR)
    Catalog.recover(tmp_path / "t", tmp_path / "new")
    assert max(times(tmp_path / "new")) < datetime.now(UTC) + SECOND


def test_a_commit_that_is_far_ahead_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store reports no time in advance; the date of the entry's own file shows that it is late."""
    table = make(tmp_path / "t")
    silence(monkeypatch)
    set_own_clock(monkeypatch, YEAR)
    table = load(tmp_path / "t")
    with pytest.raises(
        StorageError, match=r"this machine's clock shows 20.*the store's shows 20"
    ) as e:
        table.set_tag("x")
    assert str(tmp_path / "t") in str(e.value)
    assert "Set this machine's clock" in str(e.value)
    assert len(os.listdir(tmp_path / "t/_versioned/log")) == 2, "no temporary file is left"
    set_own_clock(monkeypatch, timedelta(minutes=9))
    load(tmp_path / "t").set_tag("x")
    assert len(times(tmp_path / "t")) == 3


@pytest.mark.parametrize("silent", [False, True])
def test_a_log_dated_in_the_future_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    make(tmp_path / "t")
    put_ahead(tmp_path / "t", [1])
    if silent:
        silence(monkeypatch)
    table = load(tmp_path / "t")
    table.append(readings(HOUR, host="b"))
    table.set_tag("x")
    found = times(tmp_path / "t")
    steps = [two - one for one, two in itertools.pairwise(found[1:])]
    assert steps == [timedelta(microseconds=1)] * 2


def test_a_warehouse_dated_in_the_future_can_be_continued(tmp_path: Path) -> None:
    Catalog(tmp_path).create_namespace("n")
    put_ahead(tmp_path, [0])
    Catalog(tmp_path).create_table("n.t", "a INT")
    first, second = times(tmp_path)
    assert second - first == timedelta(microseconds=1)
    assert Catalog(tmp_path).list_tables("n") == ["t"]


# Rows that expire by age.


@pytest.mark.parametrize("keyed", [True, False])
def test_a_commit_dated_in_the_future_hides_no_recent_row(tmp_path: Path, keyed: bool) -> None:
    table = make(tmp_path / "t", keyed=keyed)
    table.set_tag("x")
    put_ahead(tmp_path / "t", [2])
    table = load(tmp_path / "t")
    assert ages(table) == [0, 5], "the old row is hidden"
    assert (table.count(), table.scan(columns=["age"]).count()) == (2, 2)
    table.append(readings(2 * DAY, host="b"))
    assert ages(table) == [0, 2, 5]
    assert table.scan(filters=[("age", ">", 1)]).count() == 2
    table.maintenance.compact(strategy="full")
    assert (ages(table), table.state.segments.rows) == ([0, 2, 5], 3)
    assert count_rows(table.scan()) == 3, "no row is too old, so metadata give the number of rows"
    table.update({"age": 3}, [("age", "=", 2)])
    table.delete([("age", "=", 0)])
    assert ages(load(tmp_path / "t")) == [3, 5]
    table.alter().unset_property("ttl").commit()
    assert ages(table) == [3, 5], "unsetting ttl neither restores nor hides a row"
    table.append(readings(100 * DAY, 9 * DAY, host="c"))
    assert ages(table) == [3, 5, 9]
    table.alter().set_property("ttl", "10 days").commit()
    assert ages(table) == [3, 5, 9]
    assert ages(table, version=2) == [0, 5]


def test_rows_of_versions_dated_in_the_future_do_not_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The age of a row counts up to the commit of the version that is read, whenever it is read."""
    make(tmp_path / "t")
    put_ahead(tmp_path / "t", [0, 1])
    monkeypatch.setattr(LocalStore, "now", lambda self: datetime.now(UTC) + 30 * DAY)
    assert ages(load(tmp_path / "t")) == [0, 5]


def test_a_row_that_a_compaction_dropped_stays_hidden(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put_ahead(tmp_path / "t", [0, 1], by=6 * DAY)
    table = load(tmp_path / "t")
    table.maintenance.compact(strategy="full")
    assert ages(table) == [0, 5]
    put_ahead(tmp_path / "t", [1], by=-6 * DAY)
    assert ages(load(tmp_path / "t")) == [0, 5]


def test_a_ttl_floor_in_the_future_is_ignored(tmp_path: Path) -> None:
    """An ALTER of an old library left it behind, after a commit dated in the future."""
    table = make(tmp_path / "t")
    floor = str(int((datetime.now(UTC) + YEAR).timestamp() * 1e6))
    table.alter().unset_property("ttl").commit()
    path = tmp_path / "t/_versioned/log" / f"{2:020d}.json"
    text = path.read_text()
    was = table.state.properties["ttl_floor"]
    path.write_text(text.replace(was, floor))
    put_ahead(tmp_path / "t", [1, 2])
    table = load(tmp_path / "t")
    assert table.state.properties["ttl_floor"] == floor
    assert ages(table) == [0, 5, 100], "what the lost time hid is unknown"
    table.set_tag("x")
    assert "ttl_floor" not in table.state.properties, "it would take effect later"
    assert ages(load(tmp_path / "t")) == [0, 5, 100]


def test_a_rollback_does_not_restore_a_ttl_floor_in_the_future(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.alter().unset_property("ttl").commit()
    path = tmp_path / "t/_versioned/log" / f"{2:020d}.json"
    floor = str(int((datetime.now(UTC) + YEAR).timestamp() * 1e6))
    text = path.read_text().replace(table.state.properties["ttl_floor"], floor)
    path.write_text(sealed(json.loads(text)))
    table = load(tmp_path / "t")
    table.set_tag("x")
    table.append(readings(HOUR, host="b"))
    table.rollback(2)
    assert "ttl_floor" not in table.state.properties
    assert ages(table) == [0, 5, 100]


def test_a_table_without_ttl_needs_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t", ttl=None)
    table.alter().set_property("team", "ops").commit()

    def refuse(*_: object) -> datetime:
        raise AssertionError("the time was read")

    for name in ("now", "time", "modified"):
        monkeypatch.setattr(LocalStore, name, refuse)
    assert ages(table) == [0, 5, 100]
    assert table.count() == 3
    assert table.maintenance.plan_compaction(strategy="full")


def test_a_reader_without_write_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "t")
    put_ahead(tmp_path / "t", [1])
    silence(monkeypatch)
    before = sorted(path for path in tmp_path.rglob("*"))
    assert ages(load(tmp_path / "t")) == [0, 5]
    assert load(tmp_path / "t").at(timestamp=datetime.now(UTC)).version == 1
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_reader_of_a_sound_log_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not even get the time of the store: the entry's file is dated after the entry."""
    make(tmp_path / "t")

    def refuse(self: LocalStore) -> datetime:
        raise AssertionError("a file was created")

    monkeypatch.setattr(LocalStore, "now", refuse)
    table = load(tmp_path / "t")
    assert ages(table) == [0, 5]
    assert table.at(timestamp=datetime.now(UTC)).version == 1


# Time travel by time.


def pause(folder: Path) -> datetime:
    """A moment between two commits, also by the dates of files."""
    while True:
        probe = folder / "probe"
        probe.touch()
        now = datetime.fromtimestamp(probe.stat().st_mtime, UTC)
        newest = max(path.stat().st_mtime for path in (folder / "_versioned/log").iterdir())
        probe.unlink()
        if now.timestamp() > newest + 0.002:
            return now


def test_every_version_is_found_by_its_time(tmp_path: Path) -> None:
    table = make(tmp_path / "t", ttl=None)
    between = [pause(tmp_path / "t")]
    for number in range(6):
        table.append(readings(HOUR, host=str(number)))
        between.append(pause(tmp_path / "t"))
    put_ahead(tmp_path / "t", [4, 5, 6, 7])
    table = load(tmp_path / "t")
    assert [table.at(timestamp=time).version for time in between] == [1, 2, 3, 4, 5, 6, 7]
    assert table.at(timestamp=datetime.now(UTC)).version == 7
    table.append(readings(HOUR, host="x"))
    assert table.at(timestamp=datetime.now(UTC)).version == 8
    assert table.rollback(timestamp=between[3]) == 9
    assert table.count() == load(tmp_path / "t").at(4).segments.rows
    with pytest.raises(NotFoundError):
        table.at(timestamp=datetime.now(UTC) - YEAR)


def test_versions_are_found_by_time_after_an_expiry(tmp_path: Path) -> None:
    """A stub's file is younger than the versions after it."""
    table = make(tmp_path / "t", ttl=None)
    for number in range(4):
        table.append(readings(HOUR, host=str(number)))
    put_ahead(tmp_path / "t", range(6))
    table = load(tmp_path / "t")
    between = pause(tmp_path / "t")
    table.append(readings(HOUR, host="x"))
    pause(tmp_path / "t")
    for version in range(5):
        path = tmp_path / "t/_versioned/log" / f"{version:020d}.json"
        os.utime(path)  # as writing the stub does
    assert load(tmp_path / "t").at(timestamp=between).version == 5


# Recovery from damaged logs.


def test_commits_after_one_dated_in_the_future_are_recovered(tmp_path: Path) -> None:
    table = make(tmp_path / "t", ttl=None, keyed=False)
    put_ahead(tmp_path / "t", [1])
    stale = load(tmp_path / "t")
    plan = stale.transaction().plan_write(readings(DAY).schema)
    table = load(tmp_path / "t")
    table.append(readings(2 * DAY))
    pause(tmp_path / "t")
    data = readings(DAY)
    records = plan.write(data.schema, iter(data.to_batches()), stale.store)
    stale.transaction().commit_append(plan, records)
    (tmp_path / "t/_versioned/log" / f"{3:020d}.json").unlink()
    report = Catalog.recover(tmp_path / "t", tmp_path / "new")
    assert (report.known_until, report.guessed) == (2, (records[0].path,))
    assert ages(load(tmp_path / "new")) == [0, 1, 2, 5, 100]


def test_a_folder_that_can_not_be_written_to(tmp_path: Path) -> None:
    """With real permissions, on a machine where this process is not root."""
    make(tmp_path / "t")
    put_ahead(tmp_path / "t", [1])
    folder = tmp_path / "t"
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert ages(load(folder)) == [0, 5]
    finally:
        folder.chmod(stat.S_IRWXU)
