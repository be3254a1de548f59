"""Recover a broken table into a new folder: from its log as far as it is readable, then its segments."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.store import Fault, FaultyStore, Plan
from maintain.tables import NOW, everything, expire, ids, load, write
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CorruptTableError,
    NotFoundError,
    Table,
    VersionedError,
)
from versioned_catalog.commit.table_handle import silent
from versioned_catalog.log.entry import Batch
from versioned_catalog.maintain.recover import MARGIN, Recovered
from versioned_catalog.maintain.recover import recover as recover_stores
from versioned_catalog.storage import parquet
from versioned_catalog.storage.local import LocalStore

FOLDER = "t/_versioned"
Rows = list[dict[str, object]]


def rows(table: Table) -> Rows:
    found = table.scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


def make(root: Path) -> Table:
    """Create versions 0 to 7: appends, a renamed column, a deleted row, a checkpoint at 4."""
    table = Catalog.create_path(
        root / "t", "id LONG, b STRING", properties={"team": "ops"}, comment="mine"
    )
    table.append(pa.table({"id": [1, 2], "b": ["x", "y"]}))
    plan = table.transaction().plan_write(ids(3).schema)
    records = plan.write(ids(3).schema, iter(ids(3).to_batches()), table.store)
    table.transaction().commit_append(plan, records, batch=Batch("sink", 4))
    table.alter().rename_column("b", "c").add_column("d", "int", default=9).commit()
    table.append(pa.table({"id": [4], "c": ["z"]}))
    table.log.write_checkpoint(table.state)
    table.delete([("id", "=", 1)])
    table.set_tag("now", 4)
    table.append(pa.table({"id": [5], "d": pa.array([5], pa.int32())}))
    return table


def entry(root: Path, version: int) -> Path:
    return root / FOLDER / f"log/{version:020d}.json"


def recover(root: Path) -> tuple[Recovered, Table]:
    """Recover the table; check that the old folder is unchanged and that the new table is whole."""
    before = everything(root / "t")
    result = Catalog.recover(root / "t", root / "new")
    assert everything(root / "t") == before
    table = Catalog.load_path(root / "new")
    assert table.maintenance.verify(deep=True, every_version=True).findings == ()
    assert (result.rows, result.version) == (table.count(), table.version)
    return result, table


def no_checkpoints(root: Path) -> None:
    shutil.rmtree(root / FOLDER / "checkpoint")
    (root / FOLDER / "last_checkpoint.json").unlink()


def test_recover_a_table_without_damage(tmp_path: Path) -> None:
    old = make(tmp_path)
    result, new = recover(tmp_path)
    assert rows(new) == rows(old)
    assert (result.known_until, result.guessed) == (7, ())
    assert list(result.left.values()) == ["was removed by a commit"]
    assert new.schema.columns == old.schema.columns
    assert (new.properties, new.comment) == (old.properties, old.comment)
    assert new.state.table_uuid == old.state.table_uuid
    assert {name: last.id for name, last in new.state.applications.items()} == {"sink": 4}
    assert any("now = 4" in sentence for sentence in result.unknown)
    # It is an ordinary table.
    new.append(pa.table({"id": [6], "c": ["w"]}))
    new.alter().drop_column("d").add_column("d", "string").commit()
    assert (
        min(c.id for c in new.schema.columns if c.name == "d") >= old.state.next_column_id + MARGIN
    )
    new.delete([("id", "=", 2)])
    expire(new, 1)
    assert len(new.maintenance.vacuum(NOW, dry_run=False, force=True).segments) >= 1
    assert new.maintenance.verify(deep=True).findings == ()


def test_recover_without_the_last_entries(tmp_path: Path) -> None:
    make(tmp_path)
    for version in (5, 6, 7):
        entry(tmp_path, version).unlink()
    result, new = recover(tmp_path)
    assert result.known_until == 4
    assert len(result.certain) == 3
    # The copy of row 2 that the DELETE wrote is there beside the old row, and so is row 1.
    assert [row["id"] for row in rows(new)] == [1, 2, 2, 3, 4, 5]
    assert len(result.guessed) == 2
    assert any("2 segments that no entry names" in sentence for sentence in result.unknown)


@pytest.mark.parametrize("damage", ["corrupt", "lost"])
def test_recover_without_an_entry_in_the_middle(damage: str, tmp_path: Path) -> None:
    old = make(tmp_path)
    expected = rows(old)
    if damage == "lost":
        entry(tmp_path, 6).unlink()
    else:
        entry(tmp_path, 6).write_text("{")
    result, new = recover(tmp_path)
    assert result.known_until == 5
    assert rows(new) == expected
    assert any(f"log/{6:020d}.json" in sentence for sentence in result.unknown)


def test_rows_that_a_lost_entry_removed_return(tmp_path: Path) -> None:
    make(tmp_path)
    entry(tmp_path, 5).write_text("{")
    result, new = recover(tmp_path)
    assert result.known_until == 4
    assert [row["id"] for row in rows(new)] == [1, 2, 2, 3, 4, 5]
    assert len(result.guessed) == 1


def test_recover_without_the_first_entries_and_checkpoints(tmp_path: Path) -> None:
    old = make(tmp_path)
    expected = rows(old)
    no_checkpoints(tmp_path)
    for version in (0, 1):
        entry(tmp_path, version).unlink()
    result, new = recover(tmp_path)
    assert result.known_until == -1
    assert rows(new) == expected, "later entries name the removed segments"


def test_recover_from_a_checkpoint_alone(tmp_path: Path) -> None:
    old = make(tmp_path)
    old.log.write_checkpoint(old.state)
    expected = rows(old)
    shutil.rmtree(tmp_path / FOLDER / "log")
    result, new = recover(tmp_path)
    assert (result.known_until, result.guessed) == (7, ())
    assert rows(new) == expected
    assert new.properties == {"team": "ops"}


def test_recover_from_segments_alone(tmp_path: Path) -> None:
    make(tmp_path)
    shutil.rmtree(tmp_path / FOLDER)
    result, new = recover(tmp_path)
    assert (result.known_until, result.certain) == (-1, ())
    assert len(result.guessed) == 5
    assert [row["id"] for row in rows(new)] == [1, 2, 2, 3, 4, 5]
    assert new.schema.names == ["id", "c", "d"]
    assert [row["d"] for row in rows(new)] == [9, 9, 9, 9, 9, 5]
    assert new.properties == {}
    shown = " ".join(result.unknown)
    for what in (
        "deleted, updated",
        "order of the commits",
        "properties",
        "streaming sink",
        "history",
    ):
        assert what in shown, what


def test_schema_versions_without_a_segment(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.append(ids(1))
    for number in range(3):
        table.alter().add_column(f"c{number}", "int", default=number).commit()
    table.append(ids(2))
    shutil.rmtree(tmp_path / FOLDER)
    result, new = recover(tmp_path)
    assert rows(new) == [{"id": n, "c0": 0, "c1": 1, "c2": 2} for n in (1, 2)]
    assert any("schema versions 1, 2, " in sentence for sentence in result.unknown)


def test_a_damaged_segment_is_left_out_and_reported(tmp_path: Path) -> None:
    table = make(tmp_path)
    paths = table.inspect.segments()["path"].to_pylist()
    data = bytearray((tmp_path / "t" / paths[0]).read_bytes())
    data[4:40] = bytes(36)
    (tmp_path / "t" / paths[0]).write_bytes(data)
    (tmp_path / "t" / paths[1]).write_bytes(b"PAR1")
    (tmp_path / "t" / paths[2]).unlink()
    result, new = recover(tmp_path)
    assert result.left[paths[0]].startswith("is damaged")
    assert result.left[paths[1]].startswith("is damaged")
    assert result.left[paths[2]] == "is missing"
    assert len(result.certain) == new.inspect.segments().num_rows == 1


def test_a_segment_with_a_hostile_footer_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    lying, long = table.inspect.segments()["path"].to_pylist()[:2]
    file = tmp_path / "t" / lying
    rows_before = pq.read_metadata(file).num_rows
    data = bytearray(file.read_bytes())
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    num_rows = data.index(b"\x16" + bytes([2 * rows_before]) + b"\x19", start) + 1  # zigzag
    data[num_rows] += 2
    file.write_bytes(data)
    assert pq.read_metadata(file).num_rows == rows_before + 1
    # Column chunks of 3 bytes each, for each of which PyArrow takes 800.
    chunks = b"\x19\xfc\xc0\xb8\x02" + b"\x26\x08\x00" * 40_000 + b"\x00"
    footer = b"\x15\x02\x19\x1c\x00\x16\x00\x19\x1c" + chunks + b"\x00"
    hostile = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    (tmp_path / "t" / long).write_bytes(hostile)
    monkeypatch.setattr(parquet, "FOOTER_BYTES", 100_000)
    monkeypatch.setattr(parquet, "FOOTER_ITEMS", 1000)
    result, _ = recover(tmp_path)
    damaged = "is damaged: CorruptTableError: the file"
    assert result.left[lying].startswith(
        f"{damaged}: the row counts of its row groups do not add up"
    )
    assert result.left[long].startswith(f"{damaged} has a long footer that can't be checked")
    assert len(result.certain) == 2


def test_old_orphan_segments_are_not_recovered(tmp_path: Path) -> None:
    table = make(tmp_path)
    _, (orphan,) = write(table, 99)
    os.utime(tmp_path / "t" / orphan.path, (0, 0))
    table.append(ids(6))
    result, new = recover(tmp_path)
    assert "left from a failed write" in result.left[orphan.path]
    assert 99 not in [row["id"] for row in rows(new)]


def test_partitions_and_former_incarnations(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_table("t", "id LONG").append(ids(7))
    table = catalog.replace_table("t", "id LONG, day DATE", partitioned_by=["bucket(4, id)"])
    table.append(ids(1, 2, 3, 4, 5))
    keys = sorted(map(str, table.inspect.segments()["partition"].to_pylist()))
    shutil.rmtree(tmp_path / FOLDER)
    result, new = recover(tmp_path)
    assert [row["id"] for row in rows(new)] == [1, 2, 3, 4, 5]
    assert sorted(map(str, new.inspect.segments()["partition"].to_pylist())) == keys
    assert list(result.left.values()) == [
        "is of another table, or of an earlier incarnation of this one"
    ]


def test_recover_a_dropped_table(tmp_path: Path) -> None:
    table = make(tmp_path)
    expected = rows(table)
    table.drop()
    result, new = recover(tmp_path)
    assert rows(new) == expected
    assert any("dropped at version 8" in sentence for sentence in result.unknown)


def test_a_folder_without_log_and_segments_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t/data").mkdir(parents=True)
    (tmp_path / f"t/data/0-{'0' * 32}.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptTableError, match="the columns are unknown"):
        Catalog.recover(tmp_path / "t", tmp_path / "new")


def test_the_target_folder_must_be_empty(tmp_path: Path) -> None:
    make(tmp_path)
    Catalog.create_path(tmp_path / "other", "x INT")
    for folder in ("t", "other"):
        with pytest.raises(AlreadyExistsError, match="recover to an empty folder"):
            Catalog.recover(tmp_path / "t", tmp_path / folder)
    assert load(tmp_path).version == 7


@pytest.mark.thorough
def test_an_interrupted_recovery_leaves_no_table(tmp_path: Path) -> None:
    make(tmp_path)
    plan = Plan()

    def attempt(folder: str, plan: Plan) -> bool:
        new = FaultyStore(LocalStore(str(tmp_path / folder)), plan)
        try:
            recover_stores(LocalStore(str(tmp_path / "t")), new, silent)
        except VersionedError:
            return False
        return True

    assert attempt("whole", plan)
    expected = rows(Catalog.load_path(tmp_path / "whole"))
    for at in range(len(plan.calls)):
        for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
            folder = f"{at}-{fault.name}"
            done = attempt(folder, Plan(at, fault))
            try:
                assert rows(Catalog.load_path(tmp_path / folder)) == expected
            except NotFoundError:
                assert not done
