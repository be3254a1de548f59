"""Expired versions can't be read, tagged and retained ones can, and stubs mislead nobody."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, FaultyStore, Plan
from maintain.tables import DAY, NOW, everything, expire, ids, later, load, make, shown, tick
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
)
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.storage.local import LocalStore

FOLDER = "t/_versioned"


def forget(root: Path) -> None:
    """Delete the hint and all checkpoints, so that readers start from the log and from kept states."""
    for path in (root / FOLDER).glob("checkpoint/*"):
        path.unlink()
    (root / FOLDER / "last_checkpoint.json").unlink(missing_ok=True)


@pytest.fixture(params=[False, True], ids=["checkpoints", "none"])
def damage(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    return forget if request.param else lambda root: None


def test_retained_versions_are_readable_and_expired_ones_refused(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    table = make(tmp_path)
    table.log.write_checkpoint(table.at(3))
    table.log.write_checkpoint(table.state)
    table.set_tag("two", 2)
    tick()
    result = table.maintenance.expire(NOW, 3, dry_run=False, force=True)
    assert (result.oldest_version, result.versions, result.tagged, result.version) == (
        5,
        4,
        (2,),
        8,
    )
    damage(tmp_path)
    for reader in (load(tmp_path), table):
        assert shown(reader) == [6]
        for version in (2, 5, 6, 7):
            assert shown(reader, version) == [min(version, 6)]
        assert shown(reader, "two") == [2]
        for version in (0, 1, 3, 4):
            with pytest.raises(NotFoundError, match=f"from 5 on.*version {version} is expired"):
                reader.scan(version=version)
        assert reader.inspect.snapshots()["version"].to_pylist() == [2, 5, 6, 7, 8]
        assert reader.inspect.snapshots()["operation"].to_pylist()[:2] == [None, "overwrite"]


def test_history_and_commit_ids_survive_expiry(tmp_path: Path) -> None:
    table = make(tmp_path)
    before = table.inspect.history()
    expire(table, 2)
    after = load(tmp_path).inspect.history()
    for name in ("version", "time", "commit_id"):
        assert after[name].to_pylist()[:7] == before[name].to_pylist()
    assert after["operation"].to_pylist() == [None] * 5 + ["overwrite", "overwrite", "expire"]
    for version, commit_id in enumerate(before["commit_id"].to_pylist()):
        assert load(tmp_path).find_commit(commit_id) == version
    with pytest.raises(NotFoundError, match="expired"):
        load(tmp_path).scan(timestamp=before["time"].to_pylist()[3])


def test_the_newest_version_never_expires(tmp_path: Path) -> None:
    table = make(tmp_path)
    assert expire(table, 1) == 6
    assert shown(load(tmp_path)) == [6]
    assert shown(load(tmp_path), 6) == [6]


@pytest.mark.parametrize("keep_last", [0, -1, True, 1.5, None])
def test_retaining_no_version_is_refused(keep_last: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="at least 1"):
        make(tmp_path, 1).maintenance.expire(keep_last=keep_last)


@pytest.mark.parametrize("older_than", [timedelta(minutes=59), NOW])
def test_a_short_retention_is_refused(older_than: timedelta, tmp_path: Path) -> None:
    table = make(tmp_path)
    with pytest.raises(InvalidRequestError, match="reads a version while it is expired"):
        table.maintenance.expire(older_than, dry_run=False)
    for wrong in (-DAY, 7, None):
        with pytest.raises(InvalidRequestError, match="must be a non-negative timedelta"):
            table.maintenance.expire(wrong, force=True)  # type: ignore[arg-type]
    assert table.version == 6


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = make(tmp_path)
    before = everything(tmp_path)
    tick()
    result = table.maintenance.expire(NOW, 2, force=True)
    assert (result.dry_run, result.oldest_version, result.versions, result.version) == (
        True,
        5,
        5,
        6,
    )
    assert everything(tmp_path) == before


def test_a_version_that_was_the_newest_within_the_retention_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may have started on it just before it was replaced."""
    table = make(tmp_path, 3)
    assert table.maintenance.expire(DAY).oldest_version == 0
    later(monkeypatch, 2 * DAY)
    assert table.maintenance.expire(DAY).oldest_version == 3
    assert table.maintenance.expire(DAY, keep_last=3).oldest_version == 1
    assert table.maintenance.expire(timedelta.max).oldest_version == 0


def test_a_second_expiry_expires_more(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    old = load(tmp_path)
    at_first = load(tmp_path)
    at_first._handle.loaded = LoadedState(old.at(0))
    assert expire(table, 4) == 4
    middle = load(tmp_path)
    for number in range(7, 10):
        table.overwrite(ids(number))
    assert expire(table, 2) == 10
    for path in (tmp_path / FOLDER / "kept").glob(f"*{4:020d}*"):
        path.unlink()  # as a vacuum does
    damage(tmp_path)
    for reader in (load(tmp_path), middle.refresh(), old.refresh(), at_first.refresh()):
        assert shown(reader) == [9]
        assert shown(reader, "two") == [2]
        with pytest.raises(NotFoundError, match="expired"):
            reader.scan(version=5)
        assert reader.inspect.snapshots()["version"].to_pylist() == [2, 10, 11, 12]


def test_a_state_of_intervals_is_read_back(tmp_path: Path) -> None:
    """Parquet has no day-time intervals: checkpoints store their bounds as integers."""
    table = Catalog.create_path(tmp_path / "t", "id LONG, i INTERVAL DAY TO SECOND")
    table.append(pa.table({"id": [1], "i": pa.array([timedelta(days=-3)], pa.duration("us"))}))
    assert expire(table, 1) == 1
    forget(tmp_path)
    assert shown(load(tmp_path)) == [1]
    found = load(tmp_path).state
    stats = found.segments.statistic("min", found.schema.columns[1], found.schemas)
    assert stats.to_pylist() == [timedelta(days=-3)]
    assert load(tmp_path).maintenance.verify(deep=True).findings == ()


def test_a_tag_that_is_set_during_an_expiry(tmp_path: Path) -> None:
    """If setting a tag succeeds, its version can be read."""
    make(tmp_path)
    rival = load(tmp_path)
    tagging = Interruption("put _versioned/log/N.json", before=lambda: rival.set_tag("three", 3))
    store = InterruptedStore(LocalStore(str(tmp_path / "t")), Plan(), tagging)
    table = Table(type(rival.log)(store, rival.log._codec), rival.loaded, "t")
    with pytest.raises(CommitConflictError, match="'three' while it was to be expired"):
        expire(table, 1)
    assert shown(load(tmp_path), "three") == [3]
    assert expire(load(tmp_path), 1) == 7
    assert shown(load(tmp_path), "three") == [3]


def test_a_kept_state_that_is_lost_before_the_stubs_are_written(tmp_path: Path) -> None:
    """An older vacuum deleted such states; entries become stubs only if the states exist."""
    make(tmp_path).set_tag("two", 2)
    known = load(tmp_path)
    kept = tmp_path / FOLDER / "kept"
    lost: list[str] = []

    def lose() -> None:
        for path in kept.iterdir():
            lost.append(path.name)
            path.unlink()

    losing = Interruption("put _versioned/log/N.json", after=lose)
    store = InterruptedStore(LocalStore(str(tmp_path / "t")), Plan(), losing)
    table = Table(type(known.log)(store, known.log._codec), known.loaded, "t")
    assert expire(table, 2) == 6
    assert sorted(lost) == [f"{2:020d}.parquet", f"{6:020d}.parquet"]
    forget(tmp_path)
    reader = load(tmp_path)
    assert shown(reader) == shown(reader, 6) == [6]
    assert shown(reader, "two") == [2]


def test_tags_at_and_below_the_oldest_retained_version(tmp_path: Path) -> None:
    table = make(tmp_path)
    for name, version in (("three", 3), ("four", 4), ("five", 5)):
        table.set_tag(name, version)
    tick()
    result = table.maintenance.expire(NOW, 6, dry_run=False, force=True)
    assert (result.oldest_version, result.versions, result.tagged) == (4, 3, (3,))
    forget(tmp_path)
    reader = load(tmp_path)
    assert [shown(reader, name) for name in ("three", "four", "five")] == [[3], [4], [5]]
    with pytest.raises(NotFoundError, match="expired"):
        reader.scan(version=2)


def test_two_concurrent_expiries_of_the_same_versions(tmp_path: Path) -> None:
    """The second expiry finds the oldest retained version where it wants it, and commits nothing."""
    make(tmp_path)
    known = load(tmp_path)
    rival = Interruption("put _versioned/log/N.json", before=lambda: expire(load(tmp_path), 2))
    store = InterruptedStore(LocalStore(str(tmp_path / "t")), Plan(), rival)
    table = Table(type(known.log)(store, known.log._codec), known.loaded, "t")
    assert expire(table, 2) == 5
    assert load(tmp_path).inspect.history()["operation"].to_pylist().count("expire") == 1
    assert shown(load(tmp_path), 5) == [5]


@pytest.mark.parametrize("stubs", range(6))
def test_an_expiry_that_dies_at_any_stub_is_finished(stubs: int, tmp_path: Path) -> None:
    """It dies after overwriting some entries; the next expiry continues there."""
    make(tmp_path)
    known = load(tmp_path)
    plan = Plan(at=stubs, fault=Fault.FAIL_BEFORE, only="overwrite _versioned/log")
    store = FaultyStore(LocalStore(str(tmp_path / "t")), plan)
    table = Table(type(known.log)(store, known.log._codec), known.loaded, "t")
    with pytest.raises(StorageError, match="planted"):
        expire(table, 1)
    assert shown(load(tmp_path)) == [6]
    assert load(tmp_path).maintenance.expire(dry_run=False).oldest_version == 6
    log = sorted((tmp_path / FOLDER / "log").iterdir())
    assert [b'"stub":true' in path.read_bytes() for path in log] == [True] * 6 + [False] * 2
    assert shown(load(tmp_path)) == [6]


def test_an_expired_version_can_not_be_tagged(tmp_path: Path) -> None:
    table = make(tmp_path)
    stale = load(tmp_path)
    table.set_tag("two", 2)
    expire(table, 1)
    with pytest.raises(NotFoundError, match="version 3 is expired"):
        stale.set_tag("three", 3)
    stale.set_tag("another", 2)
    stale.refresh().drop_tag("two")
    assert shown(load(tmp_path), "another") == [2]
    load(tmp_path).drop_tag("another")
    with pytest.raises(NotFoundError, match="version 2 is expired"):
        load(tmp_path).set_tag("two", 2)


def test_rollback_to_an_expired_version_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path)
    stale = load(tmp_path)
    table.set_tag("two", 2)
    expire(table, 1)
    with pytest.raises(NotFoundError, match="version 3 is expired"):
        stale.rollback(3)
    assert load(tmp_path).rollback(tag="two") == 9
    assert shown(load(tmp_path)) == [2]


def test_the_next_expiry_finishes_an_interrupted_one(tmp_path: Path) -> None:
    table = make(tmp_path)
    expire(table, 4)
    log = tmp_path / FOLDER / "log"
    kept = {path.name: path.read_bytes() for path in log.iterdir()}
    expire(table, 2)
    for version in (0, 5):  # the last two stubs were not written
        (log / f"{version:020d}.json").write_bytes(kept[f"{version:020d}.json"])
    table = load(tmp_path)
    assert table.inspect.snapshots()["version"].to_pylist() == [6, 7, 8]
    result = table.maintenance.expire(dry_run=False)
    assert (result.oldest_version, result.version) == (6, 8)
    stubs = [b'"stub":true' in path.read_bytes() for path in sorted(log.iterdir())]
    assert stubs == [True] * 6 + [False] * 3
    assert load(tmp_path).log.read(0)[0].floor == 6  # type: ignore[index,union-attr]


def test_a_damaged_entry_is_not_expired(tmp_path: Path) -> None:
    """A stub must name the commit of the entry, which is unknown here."""
    table = make(tmp_path)
    (tmp_path / FOLDER / f"log/{2:020d}.json").write_text("{")
    with pytest.raises(CorruptTableError):
        expire(table, 2)
    assert shown(table.refresh()) == [6]


def test_a_commit_that_expired_before_its_reply_is_not_repeated(tmp_path: Path) -> None:
    """A writer that was suspended for long does not repeat a commit that has expired."""
    table = make(tmp_path)
    landed = load(tmp_path)
    slept = Table(landed.log, LoadedState(landed.at(5)), "t")
    commit_id = "11111111-1111-4111-8111-111111111111"
    landed.log.commit(
        landed.loaded,
        commit_id,
        lambda state: _append(landed, state, commit_id),
    )
    for number in range(8, 12):
        table.refresh().overwrite(ids(number))
    expire(table, 1)
    before = load(tmp_path).version
    again = slept.log.commit(
        slept.loaded, commit_id, lambda state: _append(slept, state, commit_id)
    )
    assert again.loaded.version == before == load(tmp_path).version
    assert again.version == 7, "the version of the commit, not of the expiry"


def _append(table: Table, state: object, commit_id: str) -> object:
    from versioned_catalog.commit.matrix import propose
    from versioned_catalog.commit.operations import Append, Base

    operation = Append(Base.of(table.state), ())
    return propose(operation, state, commit_id, "t", table.log)  # type: ignore[arg-type]


def test_versions_before_a_replacement_expire_too(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_table("t", "id LONG").append(ids(1))
    catalog.load_table("t").set_tag("one", 1)
    table = catalog.replace_table("t", "id LONG, c INT")
    table.append(ids(2))
    assert shown(table, 1) == [1]
    expire(table, 1)
    assert shown(catalog.load_table("t"), "one") == [1]
    assert shown(catalog.load_table("t")) == [2]
    with pytest.raises(NotFoundError, match="expired"):
        catalog.load_table("t").scan(version=0)
