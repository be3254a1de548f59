"""What a clone has, and what its source keeps for it."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.store import Fault, FaultyStore, Plan
from marking import mark
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    MaintenanceBounds,
    NotFoundError,
    Table,
)
from versioned_catalog.commit.segment_entries import records_in_order
from versioned_catalog.log import marks
from versioned_catalog.log.clones import protections
from versioned_catalog.maintain import clone_release
from versioned_catalog.storage.local import LocalStore

KINDS = pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path / "w", roots={"lake": tmp_path / "lake"})
    catalog.create_namespace("n")
    return catalog


def numbers(*ids: int, **more: Any) -> pa.Table:
    """Rows of tables with the columns id and v."""
    values = [f"v{number}" for number in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "v": values, **more})


@pytest.fixture
def source(catalog: Catalog) -> Table:
    table = catalog.create_table("n.a", "id LONG, v STRING")
    table.append(numbers(1, 2))
    table.append(numbers(3))
    return table


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def ids(table: Table) -> list[int]:
    return [row["id"] for row in rows(table)]


def expire(table: Table) -> None:
    table.maintenance.expire(timedelta(0), force=True, dry_run=False)


def clean(table: Table) -> None:
    """Delete everything that a table does not need."""
    expire(table)
    table.maintenance.vacuum(timedelta(0), force=True, dry_run=False)


def purge(catalog: Catalog) -> None:
    """Delete the tables that were dropped, so that they can't be undropped."""
    for table in catalog.dropped_tables("n"):
        Catalog.vacuum_path(table.location, timedelta(0), force=True, dry_run=False)


def kept_for(table: Table) -> list[str]:
    """The folders of the clones that a table keeps versions for."""
    return sorted(each.folder for each in protections(table.refresh().tags).values())


def is_sound(table: Table) -> bool:
    verified = table.maintenance.verify(deep=True, every_version=True)
    assert verified.findings == ()
    return True


@KINDS
def test_nothing_is_lost(catalog: Catalog, shallow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.create_table(
        "n.a",
        "id LONG NOT NULL, v STRING DEFAULT 'd' COMMENT 'why', old INT, day DATE, s STRUCT<x: INT>",
        partitioned_by=["day"],
        properties={"sort_by": "id DESC", "owner": "me", "target_segment_bytes": "1000000"},
        comment="all of it",
    )
    day = pa.array([dt.date(2026, 1, 1)] * 3, pa.date32())
    inner = pa.array([{"x": 1}] * 3, pa.struct([("x", pa.int32())]))
    for first in (0, 10):
        some = numbers(first, first + 1, first + 2, day=day, s=inner)
        table.append(some.append_column("old", pa.array([7, 8, 9], pa.int32())))
    table.pin_schema("job", table.schema.version)
    table.alter().add_check("positive", "id >= 0").commit()
    table.alter().drop_column("old").add_column("old", "long", default=5).commit()
    table.alter().add_column("s.y", "string").rename_column("v", "w").commit()
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    mark(table, {table.state.segments.paths[0]: [1]})
    clone = catalog.clone_table("n.b", "n.a", shallow=shallow)
    assert rows(clone) == rows(table)
    assert [row["old"] for row in rows(clone)] == [5] * 5
    then, now = table.refresh().state, clone.state
    assert now.schema == then.schema
    assert dict(now.schemas) == dict(then.schemas)
    assert (now.properties, now.comment) == (then.properties, then.comment)
    assert now.pins.keys() == {"job"}
    assert now.next_column_id == then.next_column_id
    assert now.table_uuid not in (then.table_uuid, then.created_uuid)
    assert [s["partition"] for s in now.segments.core.to_pylist()] == [["20454"], ["20454"]]
    with pytest.raises(InvalidRequestError, match="positive"):
        clone.append(numbers(-1, day=day[:1], s=inner[:1]).rename_columns(["id", "w", "day", "s"]))
    seen = clone.seen_as("job").scan().to_arrow().to_pylist()
    assert {row["v"] for row in seen} == {"v0", "v2", "v10", "v11", "v12"}
    assert is_sound(clone)
    diff = table.schema.columns[0], clone.schema.columns[0]
    assert diff[0] == diff[1]


@KINDS
def test_the_newest_row_of_a_key_stays_the_newest(catalog: Catalog, shallow: bool) -> None:
    """Also after a compaction, whose rows have sequences of many earlier versions."""
    table = catalog.create_table("n.a", "id LONG, v STRING", primary_key=["id"])
    for text in "abcdefgh":
        table.append(pa.table({"id": [1, ord(text)], "v": [text, text]}))
    table.maintenance.compact()
    table.delete_keys(pa.table({"id": [ord("c")]}))
    table.append(pa.table({"id": [2], "v": ["x"]}))
    orders = [record.delta.order for record in records_in_order(table.state, table.log)]
    assert orders[0] == (8, 0), "of the compacted segment"
    assert orders[1:] == [(10, 0), (11, 0)]
    clone = catalog.clone_table("n.b", "n.a", shallow=shallow)
    assert rows(clone) == rows(table)
    clone.append(pa.table({"id": [1, 2], "v": ["new", "new"]}))
    assert [row["v"] for row in rows(clone)[:2]] == ["new", "new"]
    clone.maintenance.compact(strategy="full")
    assert [row["v"] for row in rows(clone)[:2]] == ["new", "new"]
    assert ids(clone) == [1, 2, *(ord(c) for c in "abdefgh")]
    table.append(pa.table({"id": [2], "v": ["own"]}))
    assert [row["v"] for row in rows(table)[:2]] == ["h", "own"]
    assert is_sound(clone)


@KINDS
def test_both_go_their_own_way(catalog: Catalog, source: Table, shallow: bool) -> None:
    clone = catalog.clone_table("n.b", source, shallow=shallow)
    clone.delete([("id", "=", 1)])
    clone.append(numbers(9))
    clone.alter().drop_column("v").commit()
    clone.alter().add_column("v", "string").commit()
    source.overwrite(numbers(7))
    source.maintenance.compact(strategy="full")
    clean(source)
    assert rows(clone) == [{"id": number, "v": None} for number in (2, 3, 9)]
    assert ids(source) == [7]
    assert clone.version == clone.state.created_version + 4
    assert is_sound(clone)
    assert is_sound(source)


def test_a_clone_of_a_version(catalog: Catalog, source: Table) -> None:
    source.set_tag("first", 1)
    source.append(numbers(4))
    time = source.as_of(2).state.time
    for number, (how, expected) in enumerate(
        (
            ({"version": 1}, [1, 2]),
            ({"version": "first"}, [1, 2]),
            ({"timestamp": time}, [1, 2, 3]),
            ({}, [1, 2, 3, 4]),
        )
    ):
        assert ids(catalog.clone_table(f"n.b{number}", "n.a", shallow=True, **how)) == expected
    with pytest.raises(NotFoundError, match="version 50"):
        catalog.clone_table("n.c", "n.a", version=50)
    assert not catalog.table_exists("n.c")
    assert not {*catalog.load_table("n.b0").tags} & {"first"}


def test_expired_versions_of_a_source_keep_their_statistics(
    catalog: Catalog, source: Table
) -> None:
    clean(source)
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    column = clone.schema.columns[0]
    for table in (source, clone):
        bounds = table.state.segments.statistic("max", column, table.state.schemas)
        assert bounds.to_pylist() == [2, 3]


def test_bounds_of_a_column_that_was_widened_since(catalog: Catalog) -> None:
    """A record has bounds in the type of its segment, and the state has them in that of now."""
    table = catalog.create_table("n.a", "id LONG, day DATE")
    day = pa.array([dt.date(2026, 1, 1)], pa.date32())
    table.append(pa.table({"id": [1], "day": day}))
    table.alter().change_type("day", "timestamp_ntz").commit()
    clean(table)
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    for when, expected in ((dt.datetime(2026, 1, 1), [1]), (dt.datetime(2027, 1, 1), [])):
        found = clone.scan(filters=[("day", "=", when)]).to_arrow()["id"].to_pylist()
        assert found == expected
    assert is_sound(clone)


def test_a_source_keeps_what_a_shallow_clone_reads(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    assert kept_for(source) == [clone.location.rpartition("/w/")[2]]
    source.overwrite(numbers(8))
    clean(source)
    source = catalog.replace_table("n.a", "x INT")
    clean(source)
    assert ids(clone) == [1, 2, 3]
    with pytest.raises(InvalidRequestError, match=r"n\.a can't be dropped, since shallow clones"):
        catalog.drop_table("n.a")
    with pytest.raises(InvalidRequestError, match="shallow clones"):
        catalog.drop_namespace("n", cascade=True)
    assert catalog.list_tables("n") == ["a", "b"]


def test_a_clone_that_has_rewritten_every_file_is_let_go(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    clone.set_tag("begin")
    clone.maintenance.compact(strategy="full")
    expire(source)
    assert kept_for(source), "its first version is retained"
    expire(clone)
    expire(source)
    assert kept_for(source), "its first version has a tag"
    clone.drop_tag("begin")
    expire(clone)
    clean(clone)
    expire(source)
    assert kept_for(source) == []
    catalog.drop_table("n.a")
    assert ids(clone) == [1, 2, 3]
    assert is_sound(clone)


def test_a_branch_of_a_clone_needs_the_files(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    clone.create_branch("trial")
    clone.maintenance.compact(strategy="full")
    clean(clone)
    clean(source)
    assert kept_for(source)
    assert ids(clone.branch("trial")) == [1, 2, 3]
    clone.drop_branch("trial")
    clean(clone)
    clean(source)
    assert kept_for(source) == []


def test_a_source_can_be_dropped_once_its_clone_is_purged(catalog: Catalog, source: Table) -> None:
    catalog.clone_table("n.b", "n.a", shallow=True)
    catalog.drop_table("n.b")
    source.overwrite(numbers(9))
    clean(source)
    source.maintenance.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert kept_for(source), "the clone can be undropped"
    with pytest.raises(InvalidRequestError, match="counts until a vacuum"):
        catalog.drop_table("n.a")
    assert ids(catalog.undrop("n.b")) == [1, 2, 3]
    catalog.drop_table("n.b")
    purge(catalog)
    expire(source)
    assert kept_for(source) == []
    catalog.clone_table("n.b", "n.a", shallow=True)
    catalog.drop_table("n.b")
    purge(catalog)
    source.maintenance.maintain(MaintenanceBounds(retention=timedelta(0), force=True))
    assert kept_for(source) == []
    catalog.clone_table("n.b", "n.a", shallow=True)
    catalog.drop_table("n.b")
    purge(catalog)
    catalog.drop_table("n.a")


def test_a_clone_that_is_dropped_at_once_can_be_undropped(catalog: Catalog, source: Table) -> None:
    location = catalog.clone_table("n.b", "n.a", shallow=True).location
    catalog.drop_table("n.b")
    assert ids(catalog.undrop("n.b")) == [1, 2, 3]
    catalog.drop_table("n.b")
    Catalog.vacuum_path(location, timedelta(0), force=True, dry_run=False)
    with pytest.raises(NotFoundError):
        catalog.undrop("n.b")


def test_a_deep_clone_needs_nothing_of_its_source(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a")
    assert source.refresh().version == 2
    catalog.drop_table("n.a")
    shutil.rmtree(Path(source.location))
    assert ids(clone) == [1, 2, 3]
    assert is_sound(clone)


def test_a_clone_of_a_clone(catalog: Catalog, source: Table) -> None:
    middle = catalog.clone_table("n.b", "n.a", shallow=True)
    middle.append(numbers(4))
    last = catalog.clone_table("n.c", "n.b", shallow=True)
    copied = ids(catalog.clone_table("n.d", "n.b"))
    assert len(kept_for(source)) == 2
    catalog.drop_table("n.d")
    with pytest.raises(InvalidRequestError, match="shallow clones"):
        catalog.drop_table("n.b")
    middle.maintenance.compact(strategy="full")
    clean(middle)
    clean(source)
    assert len(kept_for(source)) == 2, "its version that was cloned has the files"
    assert ids(last) == copied == ids(middle) == [1, 2, 3, 4]
    last.maintenance.compact(strategy="full")
    clean(last)
    for table in (middle, source):
        clean(table)
    clean(middle)
    clean(source)
    assert (kept_for(middle), kept_for(source)) == ([], [])
    catalog.drop_table("n.a")
    catalog.drop_table("n.b")
    assert ids(last) == [1, 2, 3, 4]


def test_no_clone_of_files_that_were_given_up(catalog: Catalog, source: Table) -> None:
    catalog.clone_table("n.b", "n.a", shallow=True)
    (tag,) = source.refresh().tags
    source.drop_tag(tag)
    with pytest.raises(
        InvalidRequestError, match="does not keep them for it any more; make a deep"
    ):
        catalog.clone_table("n.c", "n.b", shallow=True)
    assert ids(catalog.clone_table("n.c", "n.b")) == [1, 2, 3]


@pytest.mark.parametrize(("age", "left"), [(timedelta(days=6), 1), (timedelta(days=8), 0)])
def test_a_tag_without_a_clone_lapses(
    catalog: Catalog, source: Table, age: timedelta, left: int
) -> None:
    made = int((dt.datetime.now(dt.UTC) - age).timestamp())
    source.set_tag(f"__clone/00000000-0000-0000-0000-000000000000/{made}/n/never", 1)
    expire(source)
    assert len(kept_for(source)) == left


def test_tables_by_path_keep_what_they_can_not_look_at(catalog: Catalog, source: Table) -> None:
    catalog.clone_table("n.b", "n.a", shallow=True)
    catalog.drop_table("n.b")
    clean(Catalog.load_path(source.location))
    assert len(kept_for(source)) == 1


def test_a_writer_that_was_too_slow_gives_up(
    catalog: Catalog, source: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("versioned_catalog.names.clones.PENDING", timedelta(0))
    with pytest.raises(Exception, match="too long for its source"):
        catalog.clone_table("n.b", "n.a", shallow=True)
    assert not catalog.table_exists("n.b")
    assert timedelta(days=7) == clone_release.PENDING


@KINDS
def test_replacing(catalog: Catalog, source: Table, shallow: bool) -> None:
    old = catalog.create_table("n.b", "other INT")
    old.append(pa.table({"other": pa.array([1], pa.int32())}))
    with pytest.raises(AlreadyExistsError):
        catalog.clone_table("n.b", "n.a", shallow=shallow)
    assert catalog.clone_table("n.b", "n.a", if_not_exists=True).schema.columns[0].name == "other"
    done = catalog.clone_and_tell("n.b", "n.a", shallow=shallow, or_replace=True)
    assert done is not None
    assert ids(catalog.load_table("n.b")) == [1, 2, 3]
    files = sum(path.stat().st_size for path in Path(source.location, "data").iterdir())
    assert (done.source_files, done.source_bytes, done.removed_files) == (2, files, 1)
    assert (done.copied_files, done.copied_bytes) == ((0, 0) if shallow else (2, files))
    with pytest.raises(NotFoundError):
        old.refresh().scan()
    again = catalog.clone_table("n.b", "n.a", shallow=shallow, or_replace=True)
    assert ids(again) == [1, 2, 3]
    purge(catalog)
    clean(source)
    assert len(kept_for(source)) == shallow


def test_what_can_not_be_replaced(catalog: Catalog, source: Table) -> None:
    with pytest.raises(InvalidRequestError, match="shallow clone of itself"):
        catalog.clone_table("n.a", "n.a", shallow=True, or_replace=True)
    assert kept_for(source) == []
    catalog.clone_table("n.b", "n.a", shallow=True)
    with pytest.raises(InvalidRequestError, match="shallow clones read its files"):
        catalog.clone_table("n.a", "n.b", or_replace=True)
    pinned = catalog.create_table("n.p", "x INT", properties={"pins": "refuse"})
    pinned.pin_schema("job", 0)
    with pytest.raises(InvalidRequestError, match="'job' is in force"):
        catalog.clone_table("n.p", "n.a", or_replace=True)
    with pytest.raises(InvalidRequestError, match="not both"):
        catalog.clone_table("n.p", "n.a", or_replace=True, if_not_exists=True)
    catalog.drop_table("n.b")
    purge(catalog)
    assert ids(catalog.clone_table("n.a", "n.a", version=1, or_replace=True)) == [1, 2]


def test_another_warehouse(catalog: Catalog, source: Table, tmp_path: Path) -> None:
    other = Catalog(tmp_path / "other")
    with pytest.raises(InvalidRequestError, match=r"not a table of the warehouse .* deep clone"):
        other.clone_table("b", source, shallow=True)
    assert kept_for(source) == []
    clone = other.clone_table("b", source, version=1)
    shutil.rmtree(tmp_path / "w")
    assert ids(clone) == [1, 2]


def test_a_source_that_can_not_be_written(catalog: Catalog, source: Table) -> None:
    plan = Plan(0, Fault.FAIL_BEFORE, times=100, only="put n/a/_versioned/log")
    read_only = Catalog.over(FaultyStore(LocalStore(catalog._store.url), plan))
    with pytest.raises(InvalidRequestError, match=r"can't be written.*deep clone"):
        read_only.clone_table("n.b", "n.a", shallow=True)
    assert not catalog.table_exists("n.b")
    assert ids(read_only.clone_table("n.b", "n.a")) == [1, 2, 3]


def test_branches(catalog: Catalog, source: Table) -> None:
    source.create_branch("trial")
    source.branch("trial").append(numbers(4))
    with pytest.raises(InvalidRequestError, match="is a branch"):
        catalog.clone_table("n.b", "n.a", version="trial", shallow=True)
    clone = catalog.clone_table("n.b", "n.a", version="trial")
    assert (ids(clone), ids(source)) == ([1, 2, 3, 4], [1, 2, 3])
    assert is_sound(clone)
    source.merge_branch("trial")
    for shallow in (True, False):
        merged = catalog.clone_table("n.c", "n.a", shallow=shallow, or_replace=True)
        assert ids(merged) == [1, 2, 3, 4]
        assert is_sound(merged)


def test_a_deep_clone_of_segments_that_a_merge_has_renumbered(
    catalog: Catalog, source: Table, tmp_path: Path
) -> None:
    source.create_branch("trial")
    on_branch = source.branch("trial")
    on_branch.alter().add_column("w", "int", default=3).commit()
    on_branch.append(numbers(4, w=pa.array([4], pa.int32())))
    source.alter().add_column("x", "int").add_column("y", "int").commit()
    source.alter().drop_column("y").commit()
    source.merge_branch("trial")
    clone = catalog.clone_table("n.b", "n.a")
    assert rows(clone) == rows(source)
    assert is_sound(clone)
    Catalog.recover(clone.location, tmp_path / "saved")
    assert ids(Catalog.load_path(tmp_path / "saved")) == [1, 2, 3, 4]


def test_a_branch_of_a_clone_is_merged(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    clone.create_branch("trial")
    on_branch = clone.branch("trial")
    on_branch.alter().add_column("w", "int", default=3).commit()
    on_branch.delete([("id", "=", 2)])
    clone.merge_branch("trial")
    assert rows(clone) == [{"id": n, "v": f"v{n}", "w": 3} for n in (1, 3)]
    assert is_sound(clone)


def test_adopted_files(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    for number in (1, 2):
        pq.write_table(numbers(number), tmp_path / "lake" / f"{number}.parquet")
    catalog.import_files("n.a", "root:lake")
    table = catalog.load_table("n.a")
    table.append(numbers(3))
    shallow = catalog.clone_table("n.b", "n.a", shallow=True)
    deep = catalog.clone_table("n.c", "n.a")
    assert ids(shallow) == ids(deep) == [1, 2, 3]
    for clone in (shallow, deep):
        assert clone.import_files("root:lake").files == 0, "they are known"
        assert is_sound(clone)
    assert sum(path.startswith("root:lake/") for path in shallow.state.segments.paths) == 2
    shutil.rmtree(tmp_path / "lake")
    assert ids(deep) == [1, 2, 3]
    with pytest.raises(CorruptTableError, match="its owner has moved"):
        ids(shallow)


def test_a_warehouse_may_be_moved(catalog: Catalog, source: Table, tmp_path: Path) -> None:
    catalog.clone_table("n.b", "n.a", shallow=True)
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    moved = Catalog(tmp_path / "elsewhere")
    assert ids(moved.load_table("n.b")) == [1, 2, 3]
    clean(moved.load_table("n.a"))
    assert len(kept_for(moved.load_table("n.a"))) == 1


def test_a_clone_by_its_path(catalog: Catalog, source: Table, tmp_path: Path) -> None:
    location = catalog.clone_table("n.b", "n.a", shallow=True).location
    with pytest.raises(InvalidRequestError, match=r"root\.this-warehouse|this-warehouse"):
        Catalog.load_path(location).scan().to_arrow()
    by_path = Catalog.load_path(location, roots={"this-warehouse": tmp_path / "w"})
    assert ids(by_path) == [1, 2, 3]


def test_a_path_leads_to_segments_only(catalog: Catalog, source: Table) -> None:
    from versioned_catalog.log.record import PLAIN, check_external

    name = "3-a0cb7bdbd6a144ef9a8a52ed04f1d7a6.parquet"
    check_external(f"root:this-warehouse/n/a/data/{name}", None, {}, PLAIN)
    for path in (
        f"root:this-warehouse/n/a/secret/{name}",
        "root:this-warehouse/n/a/data/x.parquet",
        f"root:this-warehouse/data/{name}".replace("/data", "", 1),
        f"root:lake/n/a/data/{name}",
    ):
        with pytest.raises(CorruptTableError, match="needs an ID map"):
            check_external(path, None, {}, PLAIN)


def other_file(path: Path) -> None:
    pq.write_table(numbers(1, 2, 3, 4), path)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [other_file, flipped])
def test_damaged_files_are_not_cloned(
    catalog: Catalog, source: Table, damage: Callable[[Path], None]
) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    damage(Path(source.location, source.state.segments.paths[0]))
    with pytest.raises(CorruptTableError, match="nothing was cloned"):
        catalog.clone_table("n.c", "n.a")
    assert not catalog.table_exists("n.c")
    assert not clone.maintenance.verify(deep=True).is_clean
    if damage is other_file:
        with pytest.raises(CorruptTableError, match="bytes instead of"):
            clone.scan().to_arrow()


def test_a_file_that_is_gone_is_said_to_be(catalog: Catalog, source: Table) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    Path(source.location, source.state.segments.paths[0]).unlink()
    with pytest.raises(CorruptTableError, match="is a clone of the one in n/a"):
        clone.scan().to_arrow()


@KINDS
def test_an_attempt_that_is_repeated(
    catalog: Catalog, source: Table, shallow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the first one ended before or after the clone had its name."""
    key = "a0cb7bdb-d6a1-44ef-9a8a-52ed04f1d7a6"
    with monkeypatch.context() as patch:
        patch.setattr("versioned_catalog.names.clones._name", _fail)
        with pytest.raises(RuntimeError):
            catalog.clone_table("n.b", "n.a", shallow=shallow, commit_id=key)
    assert not catalog.table_exists("n.b")
    source.append(numbers(4))
    first = catalog.clone_table("n.b", "n.a", shallow=shallow, commit_id=key)
    again = catalog.clone_table("n.b", "n.a", shallow=shallow, commit_id=key)
    assert (first.location, ids(first)) == (again.location, ids(again))
    assert ids(first) == [1, 2, 3]
    assert is_sound(first)
    assert len(kept_for(source)) == shallow


def test_a_repeated_attempt_keeps_the_tags_of_the_first(
    catalog: Catalog, source: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it had written the first entry, which is of another version than the newest by then."""
    key = "a0cb7bdb-d6a1-44ef-9a8a-52ed04f1d7a6"
    uuid_of_clone = str(uuid.uuid5(uuid.NAMESPACE_OID, f"the clone of {key}"))
    folder = f"n/b-{uuid_of_clone[:8]}"
    earlier = int((dt.datetime.now(dt.UTC) - timedelta(days=1)).timestamp())
    source.set_tag(f"__clone/{uuid_of_clone}/{earlier}/{folder}", 1)
    with monkeypatch.context() as patch:
        patch.setattr("versioned_catalog.names.clones.make_reserve", _fail)
        patch.setattr("versioned_catalog.log.commit_log.CommitLog.write_kept", _fail)
        with pytest.raises(RuntimeError):
            catalog.clone_table("n.b", "n.a", shallow=True, commit_id=key)
    assert sorted(source.refresh().tags.values()) == [1, 3]
    source.overwrite(numbers(4))
    made = catalog.clone_table("n.b", "n.a", shallow=True, commit_id=key)
    assert sorted(source.refresh().tags.values()) == [1, 3]
    clean(source)
    assert ids(made) == [1, 2, 3]
    assert kept_for(source) == [folder, folder]


def test_an_attempt_that_is_repeated_too_late(
    catalog: Catalog, source: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a0cb7bdb-d6a1-44ef-9a8a-52ed04f1d7a6"
    with monkeypatch.context() as patch:
        patch.setattr("versioned_catalog.log.commit_log.CommitLog.write_kept", _fail)
        with pytest.raises(RuntimeError):
            catalog.clone_table("n.b", "n.a", shallow=True, commit_id=key)
    (tag,) = source.refresh().tags
    source.drop_tag(tag)
    with pytest.raises(CommitConflictError, match="begun too long ago"):
        catalog.clone_table("n.b", "n.a", shallow=True, commit_id=key)
    assert not catalog.table_exists("n.b")


def _fail(*_: object) -> None:
    raise RuntimeError


@KINDS
def test_the_log_of_a_clone(catalog: Catalog, source: Table, shallow: bool) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=shallow)
    (begun,) = clone.inspect.history().to_pylist()
    assert clone.state.floor == clone.state.created_version == 3
    assert (begun["version"], begun["operation"], begun["rows_added"]) == (3, "create", 3)
    assert begun["changes"] == [f"{'SHALLOW' if shallow else 'DEEP'} CLONE OF n.a VERSION AS OF 2"]
    assert [commit["version"] for commit in clone.inspect.commits()] == [3]
    assert clone.inspect.snapshots()["version"].to_pylist() == [3]
    for version in (0, 1, 2):
        with pytest.raises(NotFoundError):
            clone.scan(version=version).to_arrow()
    with pytest.raises(NotFoundError):
        clone.scan(timestamp=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)).to_arrow()
    clone.append(numbers(5))
    clone.append(numbers(6))
    assert sorted(clone.scan(version=4).to_arrow()["id"].to_pylist()) == [1, 2, 3, 5]
    assert clone.find_commit("no such") is None
    assert sorted(clone.changes(4).to_arrow()["id"].to_pylist()) == [5, 6]
    clone.rollback(3)
    assert ids(clone) == [1, 2, 3]
    clone.log.write_checkpoint(clone.state)
    expire(clone)
    clone.append(numbers(7))
    assert ids(Catalog(catalog._store.url).load_table("n.b")) == [1, 2, 3, 7]
    assert next(commit["version"] for commit in clone.inspect.commits()) == clone.version
    assert is_sound(clone)
    clean(clone)
    assert is_sound(clone)
    Path(clone.location, "_versioned/log/00000000000000000004.json").unlink()
    assert not clone.maintenance.verify().is_clean, "a version that was there is missing"


@KINDS
def test_a_dropped_clone_and_another_of_its_name(
    catalog: Catalog, source: Table, shallow: bool
) -> None:
    first = catalog.clone_table("n.b", "n.a", shallow=shallow)
    catalog.drop_table("n.b")
    second = catalog.clone_table("n.b", "n.a", shallow=shallow)
    assert first.location != second.location
    assert ids(second) == [1, 2, 3]
    Catalog.vacuum_path(first.location, timedelta(0), force=True, dry_run=False)
    assert ids(second) == ids(source) == [1, 2, 3]


def test_properties(catalog: Catalog, source: Table) -> None:
    source.alter().set_property("owner", "me").set_property("row_changes", "copy").commit()
    clone = catalog.clone_table(
        "n.b", "n.a", shallow=True, properties={"owner": "you", "sort_by": "id DESC"}
    )
    assert {k: clone.properties[k] for k in ("owner", "row_changes")} == {
        "owner": "you",
        "row_changes": "copy",
    }
    assert clone.schema.sort_by
    assert not source.refresh().schema.sort_by
    assert ids(clone) == [1, 2, 3]
    assert is_sound(clone)
    with pytest.raises(InvalidRequestError, match="isolation"):
        catalog.clone_table("n.c", "n.a", shallow=True, properties={"isolation": "none"})
    assert len(kept_for(source)) == 1


@pytest.mark.parametrize("with_versions", [False, True])
def test_a_deep_clone_goes_on_with_the_streams_of_its_source(
    catalog: Catalog, source: Table, with_versions: bool
) -> None:
    source.append(numbers(4), batch=("sink", 7))
    if with_versions:
        expire(source)
    deep, shallow = (catalog.clone_table(f"n.{s}", "n.a", shallow=s == "s") for s in "ds")
    deep.append(numbers(4), batch=("sink", 7))
    shallow.append(numbers(4), batch=("sink", 7))
    assert ids(deep) == [1, 2, 3, 4]
    assert ids(shallow) == [1, 2, 3, 4, 4]
    deep.append(numbers(5), batch=("sink", 8))
    assert ids(deep) == [1, 2, 3, 4, 5]
    assert is_sound(deep)


def test_publishing(catalog: Catalog, source: Table) -> None:
    pytest.importorskip("pyiceberg")
    source.alter().set_property("publish", "iceberg").commit()
    shallow = catalog.clone_table("n.b", "n.a", shallow=True)
    assert "publish" not in shallow.properties
    source.refresh().append(numbers(4))
    newest = max(Path(source.location, "iceberg/metadata").glob("v*.metadata.json"))
    assert [*json.loads(newest.read_text())["refs"]] == ["main"]  # not the tag that keeps files
    with pytest.raises(InvalidRequestError, match="can't be published"):
        catalog.clone_table("n.c", "n.a", shallow=True, properties={"publish": "iceberg"})
    with pytest.raises(InvalidRequestError, match=r"can't be published.*\(n/a.*\); compact"):
        shallow.alter().set_property("publish", "iceberg").commit()
    shallow.maintenance.compact(strategy="full")
    shallow.alter().set_property("publish", "iceberg").commit()
    deep = catalog.clone_table("n.c", "n.a")
    for clone in (shallow, deep):
        assert Path(clone.location, "iceberg/metadata").is_dir()


@KINDS
def test_a_clone_is_recovered(
    catalog: Catalog, source: Table, shallow: bool, tmp_path: Path
) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=shallow)
    clone.append(numbers(9))
    done = Catalog.recover(clone.location, tmp_path / "saved")
    saved = Catalog.load_path(tmp_path / "saved")
    assert ids(saved) == ([9] if shallow else [1, 2, 3, 9])
    assert [*done.left.values()] == (
        ["is a file of the table in n/a, which is still where it was: clone that again"] * 2
        if shallow
        else []
    )
    assert ("clones" in saved.state.features.read) is not shallow


def test_an_earlier_schema_is_no_source(catalog: Catalog, source: Table) -> None:
    source.pin_schema("job", 0)
    with pytest.raises(InvalidRequestError, match="seen in an earlier schema"):
        catalog.clone_table("n.b", source.seen_as("job"))


def test_another_table_in_the_folder_of_a_clone_can_be_rolled_back_to_it(
    catalog: Catalog, source: Table
) -> None:
    clone = catalog.clone_table("n.b", "n.a", shallow=True)
    clone.append(numbers(4))
    catalog.drop_table("n.b")
    roots = {"this-warehouse": catalog._store.url}
    options = {f"root.{name}": url for name, url in roots.items()}
    other = Catalog.create_path(clone.location, "x INT", storage_options=options)
    source.overwrite(numbers(9))
    clean(source)
    assert kept_for(source)
    other.rollback(clone.version)
    assert ids(other) == [1, 2, 3, 4]
    other.append(numbers(5))
    other.maintenance.compact(strategy="full")
    clean(other)
    clean(source)
    assert kept_for(source) == []
    assert ids(other) == [1, 2, 3, 4, 5]


@KINDS
def test_a_property_of_the_clone_brings_its_feature(
    catalog: Catalog, source: Table, shallow: bool
) -> None:
    given = {"append_only": "true"}
    clone = catalog.clone_table("n.b", "n.a", shallow=shallow, properties=given)
    assert "append-only" in clone.state.features.write
    assert "append-only" not in source.refresh().state.features.write
