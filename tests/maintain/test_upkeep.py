"""Maintenance does what is due within its bounds, and changes no row, whatever runs at the same time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from external.files import ROOT, mapped
from external.files import write as write_external
from maintain.steps import Died, calls_of, die, stepped
from maintain.tables import DAY, NOW, everything, ids, later, load, make, shown, write
from pairwise import most_at_night
from read.keyed_table import make as make_keyed
from read.keyed_table import rows
from read.keyed_table import shown as shown_keyed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    MaintenanceBounds,
    NotFoundError,
    Table,
)
from versioned_catalog.maintain.upkeep import Maintained, Unmaintained

WEEK = 8 * DAY
"""More than the default retention."""

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 12
"""The number of storage calls between two that are interrupted."""


def maintain(table: Table) -> Maintained:
    return table.maintenance.maintain()


def files(root: Path) -> set[str]:
    return set(os.listdir(root / "t/data"))


def plain(root: Path) -> Table:
    """Create a table with six small segments, and an old version whose segment nothing needs soon."""
    table = Catalog.create_path(root / "t", "id LONG")
    table.append(ids(-1))
    table.overwrite(ids(0))
    for number in range(1, 6):
        table.append(ids(number))
    return table


def keyed(root: Path) -> Table:
    """Create a table with a primary key, six overlapping segments, and an old version."""
    table = make_keyed(root / "t")
    table.upsert(rows(("x", 1, 1.0)))
    table.overwrite(rows(("a", 1, 0.0), ("b", 1, 0.0)))
    for number in range(1, 5):
        table.upsert(rows(("a", 1, float(number)), ("c", number, 1.0)))
    table.delete([("host", "=", "b")])
    return table


SHOWS: dict[str, tuple[Callable[[Path], Table], object]] = {
    "plain": (plain, [(0,), (1,), (2,), (3,), (4,), (5,)]),
    "keyed": (keyed, [("a", 1, 4.0, 7), *(("c", n, 1.0, 7) for n in range(1, 5))]),
}


def check(root: Path, kind: str) -> None:
    """Check that a fresh reader sees the rows of the table, and that nothing is damaged."""
    table = load(root)
    assert shown_keyed(table) == SHOWS[kind][1]
    assert table.maintenance.verify(deep=True, every_version=True).is_clean


@pytest.mark.parametrize("kind", SHOWS)
def test_what_is_due_is_done_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SHOWS[kind][0](tmp_path)
    first, live = table.version, table.state.segments.bytes
    old = sum(file.stat().st_size for file in (tmp_path / "t/data").iterdir()) - live
    later(monkeypatch, WEEK)
    done = maintain(table)
    assert [job.name for job in done.advice.due] == [
        "compact" if kind == "plain" else "merge",
        "expire",
    ]
    assert (done.expired_versions, done.deleted_bytes >= old) == (first, True)
    assert (done.removed_segments, done.removed_bytes) == (6, live)
    assert (done.added_segments, done.added_bytes) == (1, table.state.segments.bytes)
    assert (done.skipped_segments, done.dry_run) == (0, False)
    assert done.version == table.version == first + 3, "an expiry, a fence and a compaction"
    assert table.state.segments.count == 1
    check(tmp_path, kind)
    before = everything(tmp_path)
    later(monkeypatch, NOW)
    again = maintain(table)
    assert (again.advice.due, again.version) == ((), done.version)
    assert everything(tmp_path) == before
    later(monkeypatch, WEEK)
    assert (maintain(table).expired_versions, len(files(tmp_path))) == (3, 1)
    check(tmp_path, kind)


def test_a_dry_run_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain(tmp_path)
    later(monkeypatch, WEEK)
    before = everything(tmp_path)
    done = table.maintenance.maintain(dry_run=True)
    assert everything(tmp_path) == before
    assert (done.dry_run, done.expired_versions, done.removed_segments) == (True, 0, 0)
    assert [job.name for job in done.advice.due] == ["compact", "expire"]


def test_tags_pins_and_consumers_keep_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, 6)  # version n shows n alone
    table.set_tag("two", 2)  # 7
    table.move_consumer("billing", 4)  # 8
    table.pin_schema("old job")  # 9
    table.alter().rename_column("b", "c").commit()  # 10
    later(monkeypatch, WEEK)
    done = maintain(table)
    assert (done.expired_versions, done.deleted_files >= 2) == (3, True)
    for version in (2, 4, 5, 6):
        assert shown(load(tmp_path), version) == [version]
    assert len(files(tmp_path)) == 4
    with pytest.raises(NotFoundError, match="version 3 is expired"):
        load(tmp_path).scan(version=3)
    pinned = load(tmp_path).seen_as("old job")
    assert pinned.scan().to_arrow().to_pylist() == [{"id": 6, "b": "x"}]
    pinned.append(pa.table({"id": [7], "b": ["y"]}))
    assert shown(load(tmp_path)) == [6, 7]
    changes = load(tmp_path).changes(5, 6).to_arrow()
    assert sorted(zip(*(changes[c].to_pylist() for c in ("id", "_change_type")), strict=True)) == [
        *[(4, "delete"), (5, "delete"), (5, "insert"), (6, "insert")]
    ]


def test_files_of_others_are_not_copied(tmp_path: Path) -> None:
    lake = tmp_path / "raw"
    table = Catalog(tmp_path / "warehouse", roots={ROOT: lake}).create_table("t", "n BIGINT")
    names = ["a.parquet", "b.parquet", "c.parquet", "d.parquet"]
    for name in names:
        write_external(lake, name, pa.table({"n": [1, 2]}))
    table.append_external([mapped(table, name) for name in names])
    assert maintain(table).removed_segments == 0
    for number in range(4):
        table.append(pa.table({"n": [number]}))
    done = maintain(table)
    assert (done.removed_segments, done.added_segments) == (4, 1)
    assert table.state.segments.paths[:4] == [f"root:{ROOT}/{name}" for name in names]
    assert table.count() == 12


def test_small_runs_are_merged_where_the_whole_group_is_too_large(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t", properties={"target_segment_bytes": "4000"})
    table.upsert(rows(*((f"h{n}", n, float(n)) for n in range(900))))
    for number in range(4):
        table.upsert(rows(("h1", 1, -float(number)), ("h800", 800, -float(number))))
    large, *runs = table.state.segments.core["bytes"].to_pylist()
    assert large > 2000
    (path, *_) = table.state.segments.paths
    bounds = MaintenanceBounds(most_bytes=sum(runs))
    done = table.maintenance.maintain(bounds)
    assert (done.removed_segments, done.removed_bytes, done.added_segments) == (4, sum(runs), 1)
    assert table.state.segments.paths[0] == path
    job = {job.name: job for job in done.advice.jobs}["merge"]
    assert (job.figures["rewritten_segments"], job.figures["beyond_the_limit"]) == (4, 5)
    assert table.count() == 900
    assert shown_keyed(table, filters=[("host", "in", ["h1", "h800"])]) == [
        *[("h1", 1, -3.0, 7), ("h800", 800, -3.0, 7)]
    ]


def test_a_table_is_not_rewritten_beyond_the_limit_of_bytes(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG, p INT", partitioned_by=["p"])
    for number in range(8):
        table.append(pa.table({"id": [number], "p": pa.array([number % 2], pa.int32())}))
    most = sum(table.state.segments.core["bytes"].to_pylist()) // 2 + 8
    done = table.maintenance.maintain(MaintenanceBounds(most_bytes=most))
    assert (done.removed_segments, done.added_segments) == (4, 1)
    assert done.removed_bytes <= most
    assert table.maintenance.maintain(MaintenanceBounds(most_bytes=most)).removed_segments == 4
    assert (table.state.segments.count, shown(table)) == (2, list(range(8)))


def test_orphans_are_deleted_and_a_writer_in_flight_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, 1)
    _, dead = write(table, 7)
    table.append(ids(2))
    later(monkeypatch, WEEK)
    plan, records = write(table, 8)
    done = maintain(table)
    assert dead[0].path.removeprefix("data/") not in files(tmp_path)
    assert done.deleted_files >= 1
    load(tmp_path).transaction().commit_append(plan, records)
    assert shown(load(tmp_path)) == [1, 2, 8]


# Two at once, and crashes


def rivals(root: Path, kind: str) -> dict[str, Callable[[], object]]:
    """What others do at the same time; none of it changes a row."""

    def died() -> None:
        dying = stepped(root, 25, die)
        with suppress(Died):
            maintain(dying)

    return {
        "maintain": lambda: maintain(load(root)),
        "compact": lambda: load(root).maintenance.compact(strategy="full"),
        "vacuum": lambda: load(root).maintenance.vacuum(dry_run=False),
        "a maintenance that died": died,
    }


def interleave(root: Path, kind: str, rival: str, numbers: range) -> None:
    for at in numbers:
        copy = root / str(at)
        shutil.copytree(root / "t", copy / "t")
        table = stepped(copy, at, rivals(copy, kind)[rival])
        with suppress(CommitConflictError):
            maintain(table)
        check(copy, kind)
        maintain(load(copy))
        assert load(copy).state.segments.count == 1
        check(copy, kind)
        shutil.rmtree(copy)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", SHOWS)
def test_two_maintenances_at_once_do_no_harm(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SHOWS[kind][0](tmp_path)
    later(monkeypatch, WEEK)
    calls = len(calls_of(tmp_path, maintain))
    interleave(tmp_path, kind, "maintain", range(calls // 3, calls, calls // 3))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "rival",
    [
        "maintain",
        *(pytest.param(one, marks=pytest.mark.nightly) for one in ("compact", "vacuum")),
        pytest.param("a maintenance that died", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("kind", most_at_night({"keyed"}, SHOWS))
def test_maintenance_at_every_call_of_another_does_no_harm(
    kind: str, rival: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SHOWS[kind][0](tmp_path)
    later(monkeypatch, WEEK)
    calls = len(calls_of(tmp_path, maintain))
    interleave(tmp_path, kind, rival, range(0, calls, EVERY))


def test_segments_that_another_compaction_took_are_not_read_again(tmp_path: Path) -> None:
    """The other one ends between the plan and the first task."""
    plain(tmp_path)
    calls = calls_of(tmp_path, maintain)
    first = next(at for at, call in enumerate(calls) if "data/N-" in call)
    table = stepped(tmp_path, first - 1, load(tmp_path).maintenance.compact)
    done = maintain(table)
    assert (done.removed_segments, done.skipped_segments, done.version) == (0, 6, 8)
    store = table.store
    assert not [call for call in store.calls if "data/N-" in call]  # type: ignore[attr-defined]
    check(tmp_path, "plain")


def test_an_append_in_the_middle_is_kept(tmp_path: Path) -> None:
    plain(tmp_path)
    calls = calls_of(tmp_path, maintain)
    first = next(at for at, call in enumerate(calls) if "data/N-" in call)
    done = maintain(stepped(tmp_path, first, lambda: load(tmp_path).append(ids(9))))
    assert (done.removed_segments, done.added_segments, done.version) == (6, 1, 9)
    assert shown(load(tmp_path)) == [0, 1, 2, 3, 4, 5, 9]


def test_segments_that_a_delete_took_meanwhile_are_skipped(tmp_path: Path) -> None:
    plain(tmp_path)
    calls = calls_of(tmp_path, maintain)
    last = max(at for at, call in enumerate(calls) if "data/N-" in call)
    delete = lambda: load(tmp_path).delete([("id", "=", 3)])  # noqa: E731
    done = maintain(stepped(tmp_path, last, delete))
    assert (done.removed_segments, done.skipped_segments) == (0, 6)
    assert shown(load(tmp_path)) == [0, 1, 2, 4, 5]
    assert maintain(load(tmp_path)).removed_segments == 5
    assert shown(load(tmp_path)) == [0, 1, 2, 4, 5]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", most_at_night({"plain"}, SHOWS))
def test_a_maintenance_that_died_is_run_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SHOWS[kind][0](tmp_path)
    later(monkeypatch, WEEK)
    for at in range(0, len(calls_of(tmp_path, maintain)), 3 * EVERY):
        copy = tmp_path / str(at)
        shutil.copytree(tmp_path / "t", copy / "t")
        dying = stepped(copy, at, die)
        with pytest.raises(Died):
            maintain(dying)
        check(copy, kind)
        maintain(load(copy))
        assert load(copy).state.segments.count == 1
        check(copy, kind)
        later(monkeypatch, 2 * WEEK)
        load(copy).append(ids(9) if kind == "plain" else rows(("z", 1, 1.0)))
        later(monkeypatch, 4 * WEEK)
        maintain(load(copy))
        assert len(files(copy)) <= 3, "what the dead one wrote is deleted"
        later(monkeypatch, WEEK)
        shutil.rmtree(copy)


# Warehouses


def warehouse(root: Path) -> Catalog:
    """Create a warehouse with three tables of four small segments, one below a namespace."""
    catalog = Catalog(root / "w")
    catalog.create_namespace("db")
    for name in ("a", "db.b", "z"):
        table = catalog.create_table(name, "id LONG")
        for number in range(4):
            table.append(ids(number))
    return catalog


def counts(catalog: Catalog) -> list[int]:
    return [catalog.load_table(name).state.segments.count for name in ("a", "db.b", "z")]


def test_all_tables_of_a_warehouse_are_maintained(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path)
    dry = catalog.maintain(dry_run=True)
    assert [result.table for result in dry] == ["a", "db.b", "z"]
    assert counts(catalog) == [4, 4, 4]
    results = catalog.maintain()
    assert [(r.table, r.removed_segments) for r in results if isinstance(r, Maintained)] == [
        *[("a", 4), ("db.b", 4), ("z", 4)]
    ]
    assert counts(catalog) == [1, 1, 1]


def test_the_next_table_is_maintained_after_one_that_failed(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path)
    broken = catalog.load_table("db.b").state.segments.paths[0]
    (tmp_path / "w/db/b" / broken).unlink()
    first, second, third = catalog.maintain()
    assert isinstance(first, Maintained)
    assert isinstance(third, Maintained)
    assert isinstance(second, Unmaintained)
    assert (second.table, isinstance(second.error, CorruptTableError)) == ("db.b", True)
    assert broken in second.why
    assert counts(catalog) == [1, 4, 1]


def test_advice_about_all_tables_names_those_that_cannot_be_read(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path)
    (tmp_path / f"w/db/b/_versioned/log/{0:020}.json").write_text("{")
    first, second, third = Catalog(tmp_path / "w").advise()
    assert not isinstance(first, Unmaintained)
    assert [job.name for job in first.due] == ["compact"]
    assert isinstance(second, Unmaintained)
    assert isinstance(second.error, CorruptTableError)
    assert third.table == "z"
    assert counts_of_two(catalog) == [4, 4]


def counts_of_two(catalog: Catalog) -> list[int]:
    return [catalog.load_table(name).state.segments.count for name in ("a", "z")]


def test_a_table_that_opts_out_is_left_alone_unless_it_is_named(tmp_path: Path) -> None:
    catalog = warehouse(tmp_path)
    table = catalog.load_table("db.b")
    table.alter().set_property("auto_maintain", "off").commit()
    _, second, _ = catalog.maintain()
    assert second == Unmaintained("db.b", "the property auto_maintain is off")
    assert counts(catalog) == [1, 4, 1]
    assert maintain(table).removed_segments == 4


def test_a_folder_without_a_warehouse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no warehouse"):
        Catalog(tmp_path / "none").maintain()


def test_a_large_segment_of_which_many_rows_are_marked_is_written_again(tmp_path: Path) -> None:
    """Alone, or beside a small one for which it would not be."""
    properties = {"row_changes": "mark", "target_segment_bytes": "1"}
    table = Catalog.create_path(tmp_path / "t", "id LONG", properties=properties)
    table.append(ids(*range(20)))
    table.delete([("id", "=", 0)])
    assert maintain(load(tmp_path)).removed_segments == 0, "one row of twenty is marked"
    table.refresh().delete([("id", "=", 1)])
    job = load(tmp_path).maintenance.advise().jobs[0]
    assert (job.name, job.is_due) == ("compact", True)
    assert job.why.endswith("; 1 segment with marked rows")
    assert maintain(load(tmp_path)).removed_segments == 1
    table = load(tmp_path)
    assert not table.state.segments.has_marks
    assert shown(table) == list(range(2, 20))
    assert maintain(table).removed_segments == 0
