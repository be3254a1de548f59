"""What a vacuum deletes, what it must keep, and the errors of readers and writers that it overtakes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from maintain.tables import (
    DAY,
    NOW,
    age,
    data,
    everything,
    expire,
    ids,
    later,
    load,
    make,
    shown,
    tick,
    write,
)
from sealing import sealed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.log.times import time_to_text
from versioned_catalog.maintain.vacuum import Vacuumed
from versioned_catalog.storage.local import LocalStore

UUID = "0" * 32


def vacuum(table: Table, retention: timedelta = NOW) -> Vacuumed:
    tick()
    return table.maintenance.vacuum(retention, dry_run=False, force=True)


def test_only_segments_that_no_retained_version_needs_are_deleted(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    assert vacuum(table).segments == ()
    assert len(data(tmp_path)) == 6
    assert expire(table, 2) == 6
    result = vacuum(table)
    assert len(result.segments) == 4
    assert len(data(tmp_path)) == 2
    assert shown(load(tmp_path)) == shown(load(tmp_path), 6) == [6]
    assert shown(load(tmp_path), "two") == [2]
    again = vacuum(load(tmp_path))
    assert (again.segments, again.version) == ((), result.version), "nothing is left to delete"


def test_a_tag_that_was_dropped_frees_its_version(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    expire(table, 1)
    vacuum(table)
    table.drop_tag("two")
    vacuum(table)
    assert len(data(tmp_path)) == 2, "a reader may still be reading the dropped version"
    expire(table, 1)
    table.append(ids(8))
    vacuum(table)
    assert len(data(tmp_path)) == 2
    kept = [path.name for path in (tmp_path / "t/_versioned/kept").iterdir()]
    assert kept == [f"{table.state.floor:020d}.parquet"]


def test_files_of_dead_writers_are_deleted(tmp_path: Path) -> None:
    table = make(tmp_path, 1)
    write(table, 7)
    write(table, 8)
    orphans = data(tmp_path) - {
        os.path.basename(p) for p in table.inspect.segments()["path"].to_pylist()
    }
    assert len(orphans) == 2
    temporary = [
        tmp_path / "t" / folder / ".x.tmp"
        for folder in ("data", "_versioned", "_versioned/log", "_versioned/checkpoint")
    ]
    for path in temporary:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    assert vacuum(table, timedelta(seconds=30)).others == ()
    assert set(vacuum(table).others) == {str(p.relative_to(tmp_path / "t")) for p in temporary}
    assert not any(path.exists() for path in temporary)
    assert data(tmp_path) >= orphans, "their writers are based on the newest version"
    table.append(ids(2))
    assert len(vacuum(table).segments) == 2
    assert not data(tmp_path) & orphans
    assert shown(load(tmp_path)) == [1, 2]


@pytest.mark.parametrize("below", ["_versioned/log", "_versioned", "data"])
def test_a_folder_is_looked_at_alone(tmp_path: Path, below: str) -> None:
    table = make(tmp_path, 1)
    write(table, 7)
    table.append(ids(2))
    temporary = {f"{folder}/.x.tmp" for folder in ("data", "_versioned", "_versioned/log")}
    for path in temporary:
        (tmp_path / "t" / path).write_bytes(b"x")
    tick()
    result = table.maintenance.vacuum(NOW, dry_run=False, force=True, below=below)
    assert set(result.others) == {path for path in temporary if path.startswith(f"{below}/")}
    assert len(result.segments) == (below == "data")
    left = {path for path in temporary if (tmp_path / "t" / path).exists()}
    assert left == temporary - set(result.others)
    assert shown(load(tmp_path)) == [1, 2]
    with pytest.raises(InvalidRequestError, match="no folder 'log'"):
        table.maintenance.vacuum(NOW, dry_run=False, force=True, below="log")


def test_a_version_tagged_in_a_retained_version_is_kept(tmp_path: Path) -> None:
    """In a retained version, a tag still exists that was dropped later."""
    table = make(tmp_path)
    table.set_tag("two", 2)
    assert expire(table, 2) == 6
    table.drop_tag("two")
    assert len(vacuum(table).segments) == 4
    assert shown(load(tmp_path).as_of(7), "two") == [2]
    assert shown(load(tmp_path).as_of(6)) == [6]


def test_segments_of_the_oldest_retained_version_are_kept(tmp_path: Path) -> None:
    """Its own entry added no segment, and the entry that added it is a stub."""
    table = make(tmp_path, 3)
    table.set_tag("x", 0)
    table.overwrite(ids(5))
    table.drop_tag("x")
    assert expire(table, 3) == 4
    assert len(vacuum(table).segments) == 2
    assert shown(load(tmp_path), 4) == [3]
    assert shown(load(tmp_path)) == [5]


def test_unknown_files_are_kept_and_reported(tmp_path: Path) -> None:
    table = make(tmp_path)
    names = [
        "x.parquet",
        f"0-{UUID}.parquet.bak",
        f"-1-{UUID}.parquet",
        f"0-{UUID[1:]}.parquet",
        "0-",
    ]
    names += [f"0-{'g' * 32}.parquet", f"0x1-{UUID}.parquet", f"{'1' * 30}-{UUID}.parquet"]
    for name in names:
        (tmp_path / "t/data" / name).write_bytes(b"x")
    (tmp_path / "t/data/folder").mkdir()
    (tmp_path / f"t/data/folder/0-{UUID}.parquet").write_bytes(b"x")
    (tmp_path / "t/_versioned/log/notes.txt").write_bytes(b"x")
    (tmp_path / f"t/data/0-{UUID}.parquet").write_bytes(b"x")
    assert sorted(vacuum(table).foreign) == sorted(f"data/{name}" for name in names)
    assert data(tmp_path) >= {*names, "folder"}
    assert f"0-{UUID}.parquet" not in data(tmp_path)
    assert (tmp_path / "t/_versioned/log/notes.txt").exists()


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = make(tmp_path)
    expire(table, 1)
    before = everything(tmp_path)
    tick()
    result = table.maintenance.vacuum(NOW, force=True)
    assert result.dry_run
    assert len(result.segments) == 5
    assert result.bytes == sum(len(before[f"t/{path}"]) for path in result.segments)
    assert everything(tmp_path) == before
    done = vacuum(table)
    assert set(done.segments) == set(result.segments)
    assert set(before) - set(everything(tmp_path)) == {f"t/{path}" for path in result.segments}


def test_recent_files_are_kept(tmp_path: Path) -> None:
    """A file is deleted if it was planned before the fence and is old by the store's clock."""
    table = make(tmp_path)
    expire(table, 1)
    for path in (tmp_path / "t/data").iterdir():
        age(path, 2 * DAY)
    assert vacuum(table, DAY).segments == (), "the files are old, but no version is"
    for path in (tmp_path / "t/_versioned/log").iterdir():
        age(path, 2 * DAY)
    assert len(vacuum(table).segments) == 5


def test_the_age_of_files_is_measured_by_the_store_s_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    expire(table, 1)
    assert table.maintenance.vacuum(DAY).segments == ()
    later(monkeypatch, 2 * DAY)
    assert len(table.maintenance.vacuum(DAY).segments) == 5


@pytest.mark.parametrize("retention", [timedelta(minutes=59), NOW])
def test_a_short_retention_is_refused(retention: timedelta, tmp_path: Path) -> None:
    table = make(tmp_path, 1)
    with pytest.raises(InvalidRequestError, match="a write in flight may be deleted"):
        table.maintenance.vacuum(retention)
    for wrong in (-DAY, 7, None):
        with pytest.raises(InvalidRequestError, match="must be a non-negative timedelta"):
            table.maintenance.vacuum(wrong, force=True)  # type: ignore[arg-type]


# Writers in flight


def test_a_writer_that_outlived_the_retention_aborts(tmp_path: Path) -> None:
    table = make(tmp_path, 1)
    slow = load(tmp_path)
    plan, records = write(slow, 7)
    table.append(ids(2))
    assert vacuum(table).segments == (records[0].path,)
    with pytest.raises(CommitConflictError, match="outlived the retention of a vacuum"):
        slow.transaction().commit_append(plan, records)
    assert shown(load(tmp_path)) == [1, 2]
    plan, records = write(slow.refresh(), 7)
    slow.transaction().commit_append(plan, records)
    assert shown(load(tmp_path)) == [1, 2, 7]


def test_old_segments_are_not_committed_by_a_newer_plan(tmp_path: Path) -> None:
    """The name of a segment has the version it was planned on, and the vacuum goes by that."""
    table = make(tmp_path, 1)
    _, records = write(load(tmp_path), 7)
    table.append(ids(2))
    vacuum(table)
    newer, _ = write(load(tmp_path), 8)
    with pytest.raises(CommitConflictError, match="planned on version 1 and outlived"):
        load(tmp_path).transaction().commit_append(newer, records)
    assert shown(load(tmp_path)) == [1, 2]


def test_a_younger_writer_never_aborts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its snapshot was the newest one within the retention, however old it is."""
    table = make(tmp_path, 3)
    write(table, 0)
    later(monkeypatch, 2 * DAY)
    young = load(tmp_path)
    plan, records = write(young, 7)
    assert vacuum(table, DAY).fence == 3
    young.transaction().commit_append(plan, records)
    assert shown(load(tmp_path)) == [3, 7]


def test_a_clock_that_is_behind_aborts_no_writer(tmp_path: Path) -> None:
    """The times in a log are those of its writers; the store dates the files."""
    table = make(tmp_path, 3)
    young = write(load(tmp_path), 7)
    write(table, 0)
    for path in sorted((tmp_path / "t/_versioned/log").iterdir()):
        entry = json.loads(path.read_text())
        then = datetime.fromisoformat(entry["time"]) - 2 * DAY
        path.write_text(sealed(entry | {"time": time_to_text(then)}))
    table = load(tmp_path)
    table.append(ids(8))
    for path in (tmp_path / "t/data").iterdir():
        age(path, 2 * DAY)
    assert vacuum(table, DAY).fence == 0
    assert table.maintenance.expire(DAY).oldest_version == 0
    load(tmp_path).transaction().commit_append(*young)
    for path in (tmp_path / "t/_versioned/log").iterdir():
        age(path, 2 * DAY)
    assert table.maintenance.vacuum(DAY).fence == 3
    assert table.maintenance.expire(DAY).oldest_version == 3


def interrupted(root: Path, before: Callable[[], object]) -> Table:
    """The table, on a store where something happens before the next commit."""
    known = load(root)
    happens = Interruption("put _versioned/log/N.json", before=before)
    store = InterruptedStore(LocalStore(str(root / "t")), Plan(), happens)
    return Table(type(known.log)(store, known.log._codec), known.loaded, "t")


def test_a_commit_between_listing_and_deleting(tmp_path: Path) -> None:
    table = make(tmp_path, 1)
    slow = load(tmp_path)
    plan, records = write(slow, 7)
    table.append(ids(2))
    cleaner = interrupted(tmp_path, lambda: slow.transaction().commit_append(plan, records))
    tick()
    assert cleaner.maintenance.vacuum(NOW, force=True).segments == (records[0].path,)
    assert vacuum(cleaner).segments == ()
    assert shown(load(tmp_path)) == [1, 2, 7]


def test_a_rollback_between_listing_and_deleting(tmp_path: Path) -> None:
    table = make(tmp_path, 2)
    table.set_tag("one", 1)
    expire(table, 1)
    load(tmp_path).drop_tag("one")
    rival = load(tmp_path)
    rival.set_tag("one", rival.version)
    expire(rival, 1)
    write(rival, 0)
    rival.append(ids(9))
    cleaner = interrupted(tmp_path, lambda: load(tmp_path).rollback(tag="one"))
    vacuum(cleaner)
    assert shown(load(tmp_path)) == [2]


def test_a_rollback_that_a_fence_overtook(tmp_path: Path) -> None:
    """It was planned while its version was retained, and its segments are deleted."""
    table = make(tmp_path, 3)
    stale = load(tmp_path)
    expire(table, 1)
    vacuum(table)
    with pytest.raises((CommitConflictError, NotFoundError)):
        stale.rollback(1)
    with pytest.raises(NotFoundError, match="version 1 is expired"):
        load(tmp_path).rollback(1)
    assert shown(load(tmp_path)) == [3]


def test_a_rollback_to_a_retained_version_that_a_fence_overtook(tmp_path: Path) -> None:
    """A fence since its base aborts it, whatever version it restores (FORMAT.md, section 11)."""
    table = make(tmp_path, 3)
    stale = load(tmp_path)
    write(table, 0)
    table.set_tag("x", 0)
    assert vacuum(table).fence == 4
    assert load(tmp_path).inspect.history()["operation"].to_pylist()[-1] == "fence"
    with pytest.raises(CommitConflictError, match="on which this rollback was planned"):
        stale.rollback(2)
    assert shown(load(tmp_path)) == [3]
    assert load(tmp_path).rollback(2) == 6


def test_a_rewrite_that_outlived_the_retention_aborts(tmp_path: Path) -> None:
    """The segments that it removes are still live, and those that it adds are deleted."""
    table = make(tmp_path, 0)
    table.append(ids(1, 2))
    slow = load(tmp_path)
    plan, records = write(slow, 1)
    table.append(ids(3))
    assert vacuum(table).segments == (records[0].path,)
    with pytest.raises(CommitConflictError, match="outlived the retention of a vacuum"):
        slow.transaction().commit_rewrite(plan, records, slow.state.segments.paths, kind="delete")
    assert shown(load(tmp_path)) == [1, 2, 3]


def test_two_concurrent_vacuums(tmp_path: Path) -> None:
    table = make(tmp_path)
    expire(table, 1)
    write(table, 0)
    table.append(ids(8))
    result: list[Vacuumed] = []
    cleaner = interrupted(tmp_path, lambda: result.append(vacuum(load(tmp_path))))
    result.append(vacuum(cleaner))
    assert [len(one.segments) for one in result] == [6, 6]
    assert shown(load(tmp_path)) == [6, 8]
    assert load(tmp_path).inspect.history()["operation"].to_pylist().count("fence") == 1


# Readers in flight


def test_a_reader_of_an_expired_version(tmp_path: Path) -> None:
    table = make(tmp_path)
    scan = load(tmp_path).scan(version=4)
    newest = load(tmp_path).scan()
    expire(table, 1)
    assert scan.to_arrow()["id"].to_pylist() == [4], "it is readable until the vacuum"
    vacuum(table)
    with pytest.raises(NotFoundError, match=r"version 4 was expired since .* load the table again"):
        scan.to_arrow()
    assert newest.to_arrow()["id"].to_pylist() == [6]


def test_a_missing_segment_of_a_retained_version_is_corruption(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("two", 2)
    expire(table, 1)
    for version in (7, 2):
        scan = load(tmp_path).scan(version=version)
        (tmp_path / "t" / scan.state.segments.paths[0]).unlink()
        with pytest.raises(CorruptTableError, match=f"is missing, and version {version} needs it"):
            scan.to_arrow()


# Incarnations


def test_segments_of_a_former_incarnation(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_table("t", "id LONG").append(ids(1))
    table = catalog.replace_table("t", "id LONG, c INT")
    table.append(ids(2))
    vacuum(table)
    assert shown(table, 1) == [1], "time travel reads it"
    expire(table, 1)
    assert len(vacuum(table).segments) == 1
    assert shown(catalog.load_table("t")) == [2]


def vacuum_path(root: Path, retention: timedelta = NOW) -> Vacuumed:
    tick()
    return Catalog.vacuum_path(root / "t", retention, dry_run=False, force=True)


def test_vacuum_of_a_dropped_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)
    commits = table.inspect.history()["commit_id"].to_pylist()
    table.drop()
    with pytest.raises(NotFoundError):
        vacuum(table)
    for path in (tmp_path / "t/data").iterdir():
        age(path, 2 * DAY)
    assert vacuum_path(tmp_path, DAY).segments == (), "it was dropped too recently"
    tick()
    assert len(Catalog.vacuum_path(tmp_path / "t", NOW, force=True).segments) == 6
    assert len(data(tmp_path)) == 6
    later(monkeypatch, 2 * DAY)
    assert len(vacuum_path(tmp_path, DAY).segments) == 6
    assert data(tmp_path) == set()
    again = Catalog.create_path(tmp_path / "t", "id LONG")
    again.append(ids(1))
    assert (again.version, shown(load(tmp_path))) == (10, [1]), "after a drop and a purge"
    assert load(tmp_path).inspect.history()["commit_id"].to_pylist()[:7] == commits
    assert load(tmp_path).inspect.snapshots()["version"].to_pylist() == [9, 10]
    for version in (0, 3, 6):
        with pytest.raises(NotFoundError, match="expired"):
            load(tmp_path).scan(version=version)
    with pytest.raises(NotFoundError):
        load(tmp_path).set_tag("x", 3)
    expire(again, 1)
    vacuum(again)
    assert shown(load(tmp_path)) == [1]


def test_vacuum_of_a_dropped_table_that_is_created_again(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.drop()
    again = Catalog.create_path(tmp_path / "t", "id LONG")
    plan, records = write(again, 5)
    vacuum_path(tmp_path)
    again.transaction().commit_append(plan, records)
    assert shown(load(tmp_path)) == [5]
    with pytest.raises(NotFoundError, match="there is no table"):
        Catalog.vacuum_path(tmp_path / "nowhere")


# A race


@pytest.mark.thorough
def test_writers_during_repeated_vacuums(tmp_path: Path) -> None:
    """Every acknowledged row is there; a writer is refused only if it outlived the retention."""
    retention = timedelta(seconds=0.3)
    make(tmp_path, 1)
    done, failures, acknowledged, refused = threading.Event(), [], [], []  # type: ignore[var-annotated]

    def clean() -> None:
        while not done.is_set():
            table = load(tmp_path)
            try:
                table.maintenance.expire(retention, dry_run=False, force=True)
                table.maintenance.vacuum(retention, dry_run=False, force=True)
            except CommitConflictError:
                continue
            except BaseException as error:
                failures.append(error)
                return

    def append(writer: int) -> None:
        try:
            for number in range(30):
                table = load(tmp_path)
                began = time.monotonic()
                value = 1000 * (writer + 1) + number
                plan, records = write(table, value)
                if number % 10 == 9:
                    time.sleep(0.7)
                if number % 7 == 0:
                    continue  # a dead writer
                try:
                    table.transaction().commit_append(plan, records)
                    acknowledged.append(value)
                except CommitConflictError as error:
                    assert "outlived the retention" in str(error)
                    assert time.monotonic() - began > retention.total_seconds()
                    refused.append(value)
        except BaseException as error:
            failures.append(error)

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    writers = [threading.Thread(target=append, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    cleaner.join()
    assert failures == []
    assert shown(load(tmp_path)) == sorted([1, *acknowledged])
    assert refused, "the suspended writers are refused"
    time.sleep(0.4)
    load(tmp_path).append(pa.table({"id": pa.array([], pa.int64())}))
    table = load(tmp_path)
    table.alter().set_property("a", "b").commit()
    time.sleep(0.4)
    expire(table, 1)
    vacuum(table)
    live = {os.path.basename(path) for path in table.inspect.segments()["path"].to_pylist()}
    assert data(tmp_path) == live, "no file of dead or refused writers is left"
