"""Transactions over several tables: what they change, what others see, and what maintenance does."""

from __future__ import annotations

import json
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.store import Fault, FaultyStore, Plan
from transactions.bank import COLUMNS, TABLES, amounts, bank, leave_undecided, move, read, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CommitOutcomeUnknown,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    UnsupportedFeatureError,
    multi_table,
)
from versioned_catalog.log import decisions, features
from versioned_catalog.storage.local import LocalStore


def operations(catalog: Catalog, name: str) -> list[str]:
    kinds: list[str] = catalog.load_table(name).inspect.history()["operation"].to_pylist()
    return kinds


def test_changes_of_several_tables_become_visible_at_once(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    with catalog.transaction() as transaction:
        first, second = map(transaction.table, TABLES)
        first.upsert(rows({1: 9}))
        first.delete([("id", "=", 2)])
        second.alter().add_column("note", "STRING", default="new").commit()
        second.update({"amount": 21}, [("id", "=", 2)])
        assert read(first) == {1: 9}
        assert read(transaction.table("n.b")) == {1: 10, 2: 21}
        assert amounts(catalog, "n.a") == amounts(Catalog(tmp_path), "n.b") == {1: 10, 2: 20}
    assert amounts(catalog, "n.a") == {1: 9}
    assert catalog.load_table("n.b").scan().to_arrow().to_pylist() == [
        {"id": 1, "amount": 10, "note": "new"},
        {"id": 2, "amount": 21, "note": "new"},
    ]
    assert read(Catalog.load_path(tmp_path / "n/a")) == {1: 9}
    assert catalog.find_transaction(transaction.id) == "commit"


def test_a_transaction_reports_versions_of_what_it_changed_alone(tmp_path: Path) -> None:
    """A table that a serializable transaction has only read gets an entry, too, and no change."""
    catalog = bank(tmp_path)
    with catalog.transaction(*TABLES, isolation="serializable") as transaction:
        assert read(transaction.table("n.b")) == {1: 10, 2: 20}
        transaction.table("n.a").upsert(rows({1: 9}))
    assert operations(catalog, "n.b")[-1] == "guard"
    assert transaction.versions == {"n.a": catalog.load_table("n.a").version}


def test_a_transaction_that_outlives_a_vacuum_is_a_conflict(tmp_path: Path) -> None:
    """Its segments may be deleted, so its keys can't be compared with others; nothing is corrupt."""
    catalog = bank(tmp_path)
    transaction = catalog.transaction(*TABLES)
    for name in TABLES:
        transaction.table(name).upsert(rows({1: 7, 3: 7}))
    table = catalog.load_table("n.a")
    table.upsert(rows({2: 5}))
    time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
    assert table.maintenance.vacuum(timedelta(0), dry_run=False, force=True).segments
    with pytest.raises(CommitConflictError, match=r"n\.a: .* outlived the retention of a vacuum"):
        transaction.commit()
    assert amounts(catalog, "n.a") == {1: 10, 2: 5}
    assert amounts(catalog, "n.b") == {1: 10, 2: 20}


def test_an_exception_discards_everything(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    try:
        with catalog.transaction() as transaction:
            transaction.table("n.a").upsert(rows({1: 9}))
            transaction.create_table("n.c", "x INT")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert amounts(catalog, "n.a") == {1: 10, 2: 20}
    assert catalog.list_tables("n") == ["a", "b"]
    assert operations(catalog, "n.a") == ["create", "append"]
    with pytest.raises(InvalidRequestError, match="is over"):
        transaction.table("n.a").upsert(rows({1: 9}))


def test_tables_are_created_dropped_and_renamed_with_rows_of_others(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    with catalog.transaction() as transaction:
        transaction.create_table("n.c", COLUMNS).append(rows({5: 50}))
        transaction.drop_table("n.a")
        transaction.table("n.b").upsert(rows({1: 11}))
        assert transaction.list_tables("n") == ["b", "c"]
        assert catalog.list_tables("n") == ["a", "b"]
        with pytest.raises(NotFoundError):
            Catalog.load_path(tmp_path / "n/c")
    assert catalog.list_tables("n") == ["b", "c"]
    assert amounts(catalog, "n.c") == {5: 50}
    assert amounts(catalog, "n.b") == {1: 11, 2: 20}


def test_a_table_that_never_took_part_costs_and_needs_nothing(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    with catalog.transaction() as transaction:
        transaction.table("n.a").upsert(rows({1: 9}))
    state = catalog.load_table("n.a").state
    assert "transactions" not in state.features.read  # one commit of one table is an ordinary one
    assert not (tmp_path / "_versioned/tx").exists()
    assert catalog.find_transaction(transaction.id) is None


def test_older_readers_and_writers_refuse_by_the_name_of_the_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(bank(tmp_path))
    monkeypatch.setattr(features, "KNOWN_FEATURES", features.KNOWN_FEATURES - {"transactions"})
    with pytest.raises(UnsupportedFeatureError, match="transactions"):
        Catalog.load_path(tmp_path / "n/a")


def test_what_is_undecided_is_not_seen_and_the_next_writer_aborts_it(tmp_path: Path) -> None:
    bank(tmp_path)
    leave_undecided(tmp_path)
    catalog = Catalog(tmp_path)
    assert [amounts(catalog, name)[1] for name in TABLES] == [10, 10]
    assert Catalog.verify_path(tmp_path / "n/a", every_version=True).findings == ()
    assert catalog.load_table("n.a").version == 1
    catalog.load_table("n.a").upsert(rows({3: 30}))
    assert operations(catalog, "n.a") == ["create", "append", "abort", "append"]
    assert operations(catalog, "n.b") == [
        "create",
        "append",
        "abort",
    ]  # its reader asks the warehouse
    assert amounts(catalog, "n.a") == {1: 10, 2: 20, 3: 30}
    move(catalog)
    assert [amounts(Catalog(tmp_path), name)[1] for name in TABLES] == [9, 11]


def test_a_commit_that_lost_its_decision_is_not_found(tmp_path: Path) -> None:
    bank(tmp_path)
    leave_undecided(tmp_path)
    log = tmp_path / "n/a/_versioned/log"
    commit_id = json.loads((log / f"{2:020d}.json").read_bytes())["commit_id"]
    table = Catalog(tmp_path).load_table("n.a")
    assert table.find_commit(commit_id) is None
    table.upsert(rows({3: 30}))
    assert table.find_commit(commit_id) is None
    move(Catalog(tmp_path))
    committed = json.loads((log / f"{4:020d}.json").read_bytes())["commit_id"]
    assert table.find_commit(committed) == 4


def test_a_decision_counts_before_it_is_copied(tmp_path: Path) -> None:
    move(bank(tmp_path))
    for name in ("a", "b"):
        (tmp_path / f"n/{name}/_versioned/tx/{2:020d}.json").unlink()
    assert [amounts(Catalog(tmp_path), name)[1] for name in TABLES] == [9, 11]
    assert read(Catalog.load_path(tmp_path / "n/a")) == {1: 9, 2: 20}
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "n/b")
    assert read(Catalog.load_path(link)) == {1: 11, 2: 20}


def test_a_table_with_its_decisions_is_read_without_its_warehouse(tmp_path: Path) -> None:
    move(bank(tmp_path / "w"))
    shutil.copytree(tmp_path / "w/n/a", tmp_path / "copy")
    table = Catalog.load_path(tmp_path / "copy")
    assert read(table) == {1: 9, 2: 20}
    table.upsert(rows({1: 0}))
    assert read(Catalog.load_path(tmp_path / "copy")) == {1: 0, 2: 20}


def test_a_writer_decides_nothing_outside_of_the_warehouse(tmp_path: Path) -> None:
    bank(tmp_path / "w")
    leave_undecided(tmp_path / "w")
    shutil.copytree(tmp_path / "w/n/a", tmp_path / "deep/er/copy")
    table = Catalog.load_path(tmp_path / "deep/er/copy")
    assert read(table) == {1: 10, 2: 20}
    with pytest.raises(StorageError, match="the table was moved"):
        table.upsert(rows({1: 0}))
    assert not (tmp_path / "deep/_versioned").exists()
    bank(tmp_path / "deep")  # another warehouse at that place is no better
    with pytest.raises(StorageError, match="the table was moved"):
        table.upsert(rows({1: 0}))


def test_damaged_decisions_are_errors(tmp_path: Path) -> None:
    move(bank(tmp_path))
    copy = tmp_path / f"n/a/_versioned/tx/{2:020d}.json"
    for damage in (b"{}", copy.read_bytes().replace(b"commit", b"comnit"), b"x" * 5000):
        copy.write_bytes(damage)
        with pytest.raises(Exception, match="tx/0"):
            read(Catalog.load_path(tmp_path / "n/a"))


def test_a_writer_waits_for_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank(tmp_path)
    leave_undecided(tmp_path)
    monkeypatch.setattr(decisions, "GRACE", timedelta(seconds=0.4))
    began = time.monotonic()
    Catalog(tmp_path).load_table("n.a").upsert(rows({3: 30}))
    assert 0.1 < time.monotonic() - began < 5
    monkeypatch.setattr(decisions, "GRACE", timedelta(seconds=600))
    began = time.monotonic()
    Catalog(tmp_path).load_table("n.b").upsert(rows({3: 30}))  # decided
    assert time.monotonic() - began < 5


@pytest.mark.thorough
def test_maintenance_knows_versions_of_transactions(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    leave_undecided(tmp_path)
    for amount in (1, 2):
        move(catalog, amount)
    table = catalog.load_table("n.a")
    table.set_tag("there", 3)
    table.create_branch("b", 3)
    assert table.branch("b").count() == 2
    table.drop_branch("b")
    table.create_branch("aborted", 2)  # its log has a copy of that entry
    table.branch("aborted").upsert(rows({1: 0}))
    assert read(catalog.load_table("n.a").branch("aborted")) == {1: 0, 2: 20}
    table.refresh().drop_branch("aborted")
    assert table.scan(version=2).to_arrow().num_rows == 2
    leave_undecided(tmp_path)
    time.sleep(0.02)
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    assert read(catalog.load_table("n.a")) == {1: 7, 2: 20}
    assert amounts(Catalog(tmp_path), "n.b") == {1: 13, 2: 20}
    for name in ("a", "b"):
        assert Catalog.verify_path(tmp_path / "n" / name, every_version=True).findings == ()
    assert read(catalog.load_table("n.a").refresh()) == {1: 7, 2: 20}
    move(catalog, 3)
    catalog.load_table("n.b").rollback(2)
    assert amounts(catalog, "n.b") == {1: 10, 2: 20}


@pytest.mark.thorough
def test_checkpoints_need_no_decisions(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    for _ in range(20):
        move(catalog)
    shutil.rmtree(tmp_path / "_versioned/tx")
    checkpoints = (tmp_path / "n/a/_versioned/checkpoint").iterdir()
    for version in range(2, max(int(path.stem) for path in checkpoints) + 1):
        (tmp_path / f"n/a/_versioned/tx/{version:020d}.json").unlink()
    assert read(Catalog.load_path(tmp_path / "n/a")) == {1: -10, 2: 20}


def test_changes_and_streams_leave_out_what_was_aborted(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    leave_undecided(tmp_path)
    move(catalog)
    changes = catalog.load_table("n.a").changes(2).to_arrow().to_pylist()
    assert [(r["_change_type"], r["amount"]) for r in changes if r["id"] == 1][-1][1] == 9
    assert all(row["id"] == 1 for row in changes)


def test_blind_appends_follow_others_and_upserts_of_one_key_do_not(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    catalog.create_table("n.log", "x BIGINT")
    one = pa.table({"x": pa.array([1], pa.int64())})
    with catalog.transaction() as transaction:
        log = transaction.table("n.log")
        log.append(one)
        log.append(one)
        transaction.table("n.a").upsert(rows({7: 70}))
        catalog.load_table("n.log").append(one)
        catalog.load_table("n.a").upsert(rows({8: 80}))
    assert catalog.load_table("n.log").count() == 3
    assert amounts(catalog, "n.a") == {1: 10, 2: 20, 7: 70, 8: 80}
    transaction = catalog.transaction()
    transaction.table("n.log").append(one)
    transaction.table("n.a").upsert(rows({7: 71}))
    catalog.load_table("n.a").upsert(rows({7: 72}))
    with pytest.raises(CommitConflictError, match="same row key"):
        transaction.commit()
    assert catalog.load_table("n.log").count() == 3
    assert amounts(catalog, "n.a")[7] == 72


def test_tables_are_seen_as_of_one_moment(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    with catalog.transaction(*TABLES) as transaction:
        move(catalog)
        assert [read(transaction.table(name))[1] for name in TABLES] == [10, 10]
    with catalog.transaction("n.a") as transaction:
        move(catalog)
        with pytest.raises(CommitConflictError, match="one moment"):
            transaction.table("n.b")


def test_a_commit_while_the_tables_are_loaded_is_seen_in_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, load, moves = bank(tmp_path), multi_table._load, []

    def load_late(folder: str, store: Any) -> Any:
        if folder == "n/b" and not moves:
            moves.append(None)
            move(catalog)
        return load(folder, store)

    monkeypatch.setattr(multi_table, "_load", load_late)
    with catalog.transaction(*TABLES) as transaction:
        assert [read(transaction.table(name))[1] for name in TABLES] == [9, 11]


def test_branches_locations_and_maintenance_are_refused(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    catalog.load_table("n.a").create_branch("x")
    catalog.create_table("n.e", COLUMNS, location=tmp_path / "elsewhere")
    with catalog.transaction() as transaction:
        for name in ("n.a.branch_x", "n.e"):
            with pytest.raises(InvalidRequestError, match="can't have it"):
                transaction.table(name)
        table = transaction.table("n.b")
        with pytest.raises(InvalidRequestError):
            table.set_tag("t", 0)
        with pytest.raises(InvalidRequestError):
            table.create_branch("y")
        with pytest.raises(InvalidRequestError):
            transaction.create_table("n.f", COLUMNS, location=tmp_path / "f")


@pytest.mark.thorough
def test_a_store_that_does_not_say_leaves_the_outcome_to_be_asked(tmp_path: Path) -> None:
    for fault, decision in ((Fault.LOST_REQUEST, None), (Fault.LOST_REPLY, "commit")):
        folder = tmp_path / fault.name
        bank(folder)
        plan = Plan(0, fault, times=1000, only="put _versioned/tx/")
        catalog = Catalog.over(FaultyStore(LocalStore(str(folder)), plan))
        if decision is None:
            with pytest.raises(CommitOutcomeUnknown) as caught:
                move(catalog)
            assert Catalog(folder).find_transaction(caught.value.commit_id) is None
        else:
            move(catalog)
            assert [amounts(Catalog(folder), name)[1] for name in TABLES] == [9, 11]


def test_a_reader_looks_again_for_what_was_absent_before_the_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both entries of a transaction are read, though the second is put after the first was read."""
    catalog = bank(tmp_path)
    plan = Plan(0, Fault.FAIL_BEFORE, times=1000, only="put _versioned/tx/")
    transaction = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)).transaction(*TABLES)
    for amount in (8, 9):
        transaction.table("n.a").upsert(rows({amount: amount}))
    transaction.table("n.b").upsert(rows({1: 11}))
    with pytest.raises(StorageError):
        transaction.commit()
    second = tmp_path / f"n/a/_versioned/log/{3:020d}.json"
    content = second.read_bytes()
    second.unlink()
    asked = []

    def deciding(*given: Any) -> decisions.Decision | None:
        asked.append(given)
        second.write_bytes(content)
        decisions.decide(catalog.store, transaction.id, decisions.Decision.COMMIT)
        return decisions.known_decision(*given)

    monkeypatch.setattr("versioned_catalog.log.reader.known_decision", deciding)
    assert read(Catalog.load_path(tmp_path / "n/a")) == {1: 10, 2: 20, 8: 8, 9: 9}
    assert len(asked) == 2


def test_recovery_takes_what_was_committed(tmp_path: Path) -> None:
    catalog, one = Catalog(tmp_path), pa.table({"x": pa.array([1], pa.int64())})
    for name in ("x", "y"):
        catalog.create_table(name, "x BIGINT")
    plan = Plan(0, Fault.FAIL_BEFORE, times=1000, only="put _versioned/tx/")
    dying = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan))
    for begin, commits in ((dying, False), (catalog, True), (dying, False)):
        transaction = begin.transaction("x", "y")
        for name in ("x", "y"):
            transaction.table(name).append(one)
        if commits:
            transaction.commit()
        else:
            with pytest.raises(StorageError):
                transaction.commit()
    Catalog.recover(tmp_path / "x", tmp_path / "recovered")
    assert Catalog.load_path(tmp_path / "recovered").count() == 1
