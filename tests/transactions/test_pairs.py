"""Transactions over several tables beside everything else that a table can do."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from transactions.bank import TABLES, amounts, bank, leave_undecided, move, read, rows
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.stream.offsets import Limits, Settings

pytestmark = pytest.mark.thorough


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def ids(table: Table) -> dict[int, tuple[int, int]]:
    """The row ID and the version of each row, by n."""
    found = table.scan(["n", "_row_id", "_row_updated"]).to_arrow().to_pylist()
    return {row["n"]: (row["_row_id"], row["_row_updated"]) for row in found}


def verified(catalog: Catalog, *names: str) -> None:
    for name in names:
        checked = catalog.load_table(name).maintenance.verify(every_version=True)
        assert checked.findings == ()


@pytest.mark.nightly
def test_a_pinned_job_takes_part(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    catalog.load_table("n.a").pin_schema("job")
    catalog.load_table("n.a").alter().rename_column("amount", "total").commit()
    with catalog.transaction(*TABLES) as transaction:
        pinned = transaction.table("n.a").seen_as("job")
        assert read(pinned) == {1: 10, 2: 20}
        pinned.upsert(rows({1: 9}))
        transaction.table("n.b").upsert(rows({1: 11}))
        assert transaction.table("n.a").scan().to_arrow()["total"].to_pylist() == [9, 20]
    assert read(catalog.load_table("n.a", schema="job")) == {1: 9, 2: 20}
    with catalog.transaction(*TABLES) as transaction:
        transaction.table("n.a").alter().drop_column("total").commit()
        transaction.table("n.b").upsert(rows({1: 12}))
        assert read(transaction.table("n.a").seen_as("job")) == {1: 9, 2: 20}
    assert read(catalog.load_table("n.a", schema="job")) == {1: 9, 2: 20}
    assert catalog.load_table("n.a").scan().to_arrow().column_names == ["id"]
    with catalog.transaction(*TABLES) as transaction:
        transaction.table("n.b").pin_schema("other")
        transaction.table("n.b").alter().rename_column("amount", "total").commit()
        transaction.table("n.a").retire_schema("job")
    assert read(catalog.load_table("n.b", schema="other")) == {1: 12, 2: 20}
    with pytest.raises(NotFoundError, match="retired"):
        catalog.load_table("n.a", schema="job")
    verified(catalog, *TABLES)


def test_row_ids_are_given_where_the_commit_lands(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    table = catalog.create_table("n.r", "n BIGINT", properties={"row_ids": "true"})
    table.append(numbers(1, 2))
    leave = catalog.transaction("n.r", "n.a")
    leave.table("n.r").append(numbers(7))
    leave.abort()
    with catalog.transaction("n.r", "n.a") as transaction:
        inside = transaction.table("n.r")
        inside.append(numbers(3))
        inside.append(numbers(4, 5))
        transaction.table("n.a").upsert(rows({1: 9}))
        assert ids(transaction.table("n.r")) == {
            1: (0, 1),
            2: (1, 1),
            3: (2, 2),
            4: (3, 3),
            5: (4, 3),
        }
        catalog.load_table("n.r").append(numbers(6))  # takes the ID 2
    found = ids(catalog.load_table("n.r"))
    assert found == {1: (0, 1), 2: (1, 1), 6: (2, 2), 3: (3, 3), 4: (4, 4), 5: (5, 4)}
    with catalog.transaction("n.r", "n.a") as transaction:
        transaction.table("n.r").update({"n": 30}, [("n", "=", 3)])
        transaction.table("n.a").upsert(rows({1: 8}))
    assert ids(catalog.load_table("n.r"))[30] == (3, 5)
    changes = catalog.load_table("n.r").changes(5).to_arrow().to_pylist()
    kinds = [(row["_change_type"], row["n"]) for row in changes]
    assert kinds == [("update_preimage", 3), ("update_postimage", 30)]
    verified(catalog, "n.r", "n.a")


@pytest.mark.nightly
def test_aborted_rows_use_up_no_row_ids(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    for name in ("n.r", "n.s"):
        catalog.create_table(name, "n BIGINT", properties={"row_ids": "true"})
    with catalog.transaction("n.r", "n.s") as transaction:
        for name in ("n.r", "n.s"):
            transaction.table(name).append(numbers(1))
    transaction = catalog.transaction("n.r", "n.s")
    transaction.table("n.r").append(numbers(2))
    transaction.table("n.s").delete([("n", "=", 1)])
    catalog.load_table("n.s").delete([("n", "=", 1)])
    with pytest.raises(CommitConflictError):
        transaction.commit()
    catalog.load_table("n.r").append(numbers(3))
    found = ids(catalog.load_table("n.r"))
    assert (found[1], found[3][0]) == ((0, 1), 1)
    verified(catalog, "n.r", "n.s")


def test_a_column_is_narrowed_beside_another_table(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    with catalog.transaction(*TABLES) as transaction:
        transaction.table("n.a").alter().narrow("amount", "INT").commit()
        transaction.table("n.b").upsert(rows({1: 11}))
        assert transaction.table("n.a").scan().to_arrow().schema.field("amount").type == pa.int32()
    assert catalog.load_table("n.a").scan().to_arrow().schema.field("amount").type == pa.int32()
    # A value that does not fit, and was committed meanwhile, keeps both tables as they are.
    transaction = catalog.transaction(*TABLES)
    transaction.table("n.b").alter().narrow("amount", "SMALLINT").commit()
    five = pa.table({"id": pa.array([5], pa.int64()), "amount": pa.array([5], pa.int32())})
    transaction.table("n.a").upsert(five)
    catalog.load_table("n.b").upsert(rows({9: 100_000}))
    with pytest.raises(InvalidRequestError, match="amount"):
        transaction.commit()
    assert 5 not in amounts(catalog, "n.a")
    assert amounts(catalog, "n.b")[9] == 100_000
    verified(catalog, *TABLES)


@pytest.mark.nightly
def test_what_a_transaction_changed_is_published(tmp_path: Path) -> None:
    from publish.engines import published_versions

    catalog = Catalog(tmp_path)
    for name in ("x", "y"):
        catalog.create_table(name, "n BIGINT", properties={"publish": "iceberg"}).append(numbers(1))
    with catalog.transaction("x", "y") as transaction:
        for name in ("x", "y"):
            transaction.table(name).append(numbers(2))
            assert max(published_versions(catalog.load_table(name))) == 1
    for name in ("x", "y"):
        assert max(published_versions(catalog.load_table(name))) == 2
    dying = catalog.transaction("x", "y")
    for name in ("x", "y"):
        dying.table(name).delete([("n", "=", 2)])
    catalog.load_table("y").delete([("n", "=", 2)])
    with pytest.raises(CommitConflictError):
        dying.commit()
    catalog.load_table("x").append(numbers(3))
    assert catalog.load_table("x").scan().to_arrow()["n"].to_pylist() == [1, 2, 3]
    assert max(published_versions(catalog.load_table("x"))) == catalog.load_table("x").version


@pytest.mark.nightly
@pytest.mark.parametrize("strategy", ["small", "full"])
def test_a_compaction_beside_it(strategy: str, tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    catalog.create_table("n.log", "n BIGINT")
    for value in range(3):
        catalog.load_table("n.log").append(numbers(value))
        catalog.load_table("n.a").upsert(rows({10 + value: 0}))

    def compacted() -> None:
        for name in ("n.log", "n.a"):
            catalog.load_table(name).maintenance.compact(strategy=strategy)

    with catalog.transaction("n.log", "n.a") as transaction:  # appends and upserts follow it
        transaction.table("n.log").append(numbers(3))
        transaction.table("n.a").upsert(rows({1: 9}))
        compacted()
    assert sorted(catalog.load_table("n.log").scan().to_arrow()["n"].to_pylist()) == [0, 1, 2, 3]
    assert amounts(catalog, "n.a")[1] == 9
    # A compaction that was planned before a transaction's entry has to keep its rows.
    with catalog.transaction("n.log", "n.a") as transaction:
        transaction.table("n.log").delete([("n", "=", 1)])
        transaction.table("n.a").delete([("id", "=", 2)])
    compacted()
    assert sorted(catalog.load_table("n.log").scan().to_arrow()["n"].to_pylist()) == [0, 2, 3]
    assert 2 not in amounts(catalog, "n.a")
    verified(catalog, "n.log", "n.a")


def test_a_compaction_settles_what_is_undecided(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    catalog.load_table("n.a").upsert(rows({3: 30}))
    catalog.load_table("n.b").upsert(rows({3: 30}))
    leave_undecided(tmp_path)
    table = catalog.load_table("n.a")
    table.maintenance.compact(strategy="full")
    assert read(table.refresh()) == {1: 10, 2: 20, 3: 30}
    history = table.inspect.history()["operation"].to_pylist()
    assert history[-2:] == ["abort", "compact"]
    verified(catalog, *TABLES)


@pytest.mark.nightly
def test_tags_rollback_and_expiry_of_its_versions(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    move(catalog)
    leave_undecided(tmp_path)
    move(catalog)  # settles that
    table = catalog.load_table("n.a")
    assert table.inspect.history()["operation"].to_pylist() == [
        *("create", "append", "append", "abort", "append"),
    ]
    table.set_tag("first", 2)
    table.set_tag("aborted", 3)
    assert read(table.as_of("first")) == read(table.as_of("aborted")) == {1: 9, 2: 20}
    time.sleep(0.02)
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    table = catalog.load_table("n.a")
    assert read(table.as_of("first")) == read(table.as_of("aborted")) == {1: 9, 2: 20}
    assert read(table) == {1: 8, 2: 20}
    table.rollback("aborted")
    assert amounts(catalog, "n.a") == {1: 9, 2: 20}
    assert amounts(catalog, "n.b") == {1: 12, 2: 20}  # tables are rolled back one by one
    verified(catalog, *TABLES)


def test_streams_cross_a_transaction(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for name in ("x", "y"):
        catalog.create_table(name, "n BIGINT").append(numbers(1))
    stream = catalog.load_table("x").stream(Settings())
    delivered: list[int] = []
    offset = stream.initial()

    def deliver() -> None:
        nonlocal offset
        end = stream.latest(offset, Limits())
        delivered.extend(row["n"] for row in stream.read(offset, end).to_pylist())
        offset = end

    deliver()
    assert delivered == [1]
    with catalog.transaction("x", "y") as transaction:
        transaction.table("x").append(numbers(2))
        transaction.table("x").append(numbers(3))
        transaction.table("y").append(numbers(2))
        deliver()
        assert delivered == [1]
    deliver()
    assert delivered == [1, 2, 3]
    dying = catalog.transaction("x", "y")
    for name in ("x", "y"):
        dying.table(name).append(numbers(4))
    dying.table("y").delete([("n", "=", 1)])
    catalog.load_table("y").delete([("n", "=", 1)])
    with pytest.raises(CommitConflictError):
        dying.commit()
    deliver()
    assert delivered == [1, 2, 3]
    catalog.load_table("x").append(numbers(5))
    deliver()
    assert delivered == [1, 2, 3, 5]


@pytest.mark.nightly
@pytest.mark.parametrize("shallow", [True, False])
def test_a_clone_of_a_table_that_took_part(shallow: bool, tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    move(catalog)
    clone = catalog.clone_table("n.clone", "n.a", shallow=shallow)
    assert read(clone) == {1: 9, 2: 20}
    if not shallow:
        assert read(Catalog.load_path(clone.location)) == {1: 9, 2: 20}
    leave_undecided(tmp_path)
    assert read(catalog.clone_table("n.other", "n.a", shallow=shallow)) == {1: 9, 2: 20}
    with catalog.transaction("n.clone", "n.a") as transaction:
        transaction.table("n.clone").upsert(rows({1: 0}))
        transaction.table("n.a").upsert(rows({1: 1}))
    assert (amounts(catalog, "n.clone")[1], amounts(catalog, "n.a")[1]) == (0, 1)
    assert amounts(catalog, "n.other") == {1: 9, 2: 20}
    verified(catalog, "n.a", "n.clone", "n.other")


@pytest.mark.nightly
def test_a_dropped_table_comes_back(tmp_path: Path) -> None:
    catalog = bank(tmp_path)
    move(catalog)
    catalog.drop_table("n.a")
    assert read(catalog.undrop("n.a")) == {1: 9, 2: 20}
    with catalog.transaction(*TABLES) as transaction:
        transaction.drop_table("n.a")
        transaction.table("n.b").upsert(rows({1: 0}))
    assert [table.name for table in catalog.dropped_tables()] == [("n", "a")]
    assert read(catalog.undrop("n.a")) == {1: 9, 2: 20}
    move(catalog)
    assert [amounts(catalog, name)[1] for name in TABLES] == [8, 1]
    with catalog.transaction(*TABLES) as transaction:
        transaction.drop_table("n.a")
        transaction.create_table("n.a", "n BIGINT").append(numbers(1))
        transaction.table("n.b").upsert(rows({1: 5}))
    assert catalog.load_table("n.a").scan().to_arrow().to_pylist() == [{"n": 1}]
    assert read(catalog.undrop("n.a", new_name="n.old")) == {1: 8, 2: 20}
    verified(catalog, "n.a", "n.b", "n.old")


@pytest.mark.nightly
def test_identity_columns_number_rows(tmp_path: Path) -> None:
    from versioned_catalog import Identity

    catalog = bank(tmp_path)
    catalog.create_table("n.i", "id BIGINT, v STRING", identity={"id": Identity()})
    one: Any = pa.table({"v": ["x"]})
    transaction = catalog.transaction("n.i", "n.a")
    transaction.table("n.i").append(one)
    transaction.table("n.a").upsert(rows({1: 9}))
    assert transaction.table("n.i").scan().to_arrow()["id"].to_pylist() == [1]
    catalog.load_table("n.i").append(one)
    with pytest.raises(CommitConflictError, match=r"n\.i: another commit came first"):
        transaction.commit()  # to take numbers is a commit of its own
    with catalog.transaction("n.i", "n.a") as transaction:
        transaction.table("n.i").append(one)
        transaction.table("n.a").upsert(rows({1: 9}))
    catalog.load_table("n.i").append(one)
    assert len(set(catalog.load_table("n.i").scan().to_arrow()["id"].to_pylist())) == 3
    verified(catalog, "n.i")
