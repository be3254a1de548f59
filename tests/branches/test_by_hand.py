"""Branches in situations of which the outcome is written by hand."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from faults.store import FaultyStore, Plan
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.features import BRANCHES
from versioned_catalog.names.creation import creation
from versioned_catalog.storage.local import LocalStore


def make(columns: str = "id INT, b STRING", **options: Any) -> Table:
    return Catalog.create_path(f"memory://{uuid4()}", columns, **options)


def rows(*ids: int, **columns: Any) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), **columns})


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


def shown(table: Table) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=str)


@pytest.fixture
def table() -> Table:
    table = make()
    table.append(rows(1, 2, 3, 4, 5, 6, 7, 8, b=["x"] * 8))
    return table


# Write, audit, publish


def test_an_audit_that_passes_publishes_all_commits_at_once(table: Table) -> None:
    table.create_branch("audit")
    audit = table.branch("audit")
    audit.append(rows(9, b=["y"]))
    audit.delete([("id", "=", 1)])
    audit.append(rows(10, b=["z"]))
    assert (ids(table), ids(audit)) == ([1, 2, 3, 4, 5, 6, 7, 8], [2, 3, 4, 5, 6, 7, 8, 9, 10])
    before = table.version
    assert table.merge_branch("audit", fast_forward=True) == before + 1
    assert ids(table) == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    changes = table.changes(before + 1).to_arrow().select(["id", "_change_type"]).to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in changes) == [
        *((1, "delete"), (9, "insert"), (10, "insert")),
    ]


def test_an_audit_that_fails_leaves_the_table_untouched(table: Table) -> None:
    before = shown(table)
    table.create_branch("audit")
    table.branch("audit").overwrite(rows(99, b=["wrong"]))
    table.drop_branch("audit")
    assert (shown(table), table.branches) == (before, {})
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    assert shown(table) == before
    assert all(branch_of_file(file.name) is None for file in table.store.files("data"))


def test_a_branch_can_be_written_and_merged_again(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    for number in (20, 21, 22):
        branch.append(rows(number, b=["n"]))
        table.merge_branch("b", fast_forward=True)
    assert ids(table)[-3:] == ids(branch)[-3:] == [20, 21, 22]
    version = table.version
    assert table.merge_branch("b") == version, "nothing is new"


def test_a_branch_shows_the_version_that_it_began_at(table: Table) -> None:
    table.append(rows(50, b=["later"]))
    table.create_branch("old", 1)
    assert ids(table.branch("old")) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table.scan(version="old").to_arrow().num_rows == 8
    assert ids(table.as_of("old")) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_times_of_a_branch_grow_from_its_base_on(table: Table) -> None:
    table.create_branch("b", 1)
    table.create_branch("c")
    for name, base in (("b", 1), ("c", 2)):
        branch = table.branch(name)
        times = branch.inspect.history()["time"].to_pylist()[-2:]
        assert branch.version == base + 1
        assert times[0] < times[1]


def test_versions_of_a_branch_are_its_own(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    first = branch.version
    branch.append(rows(9, b=["y"]))
    table.append(rows(70, b=["main"]))
    assert (branch.version, table.version) == (first + 1, first + 1)
    assert branch.scan(version=first).to_arrow().num_rows == 8
    with pytest.raises(NotFoundError, match="expired"):
        branch.scan(version=0)
    history = branch.inspect.history()["operation"].to_pylist()
    assert history == [None, "append", "branch", "append"]
    assert [row["id"] for row in branch.changes(first + 1).to_arrow().to_pylist()] == [9]


# Schemas


def test_dropped_and_added_again_on_both_sides_the_values_never_come_back(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter().drop_column("b").commit()
    branch.alter().add_column("b", "STRING").commit()
    branch.append(rows(9, b=["branch"]))
    table.alter().add_column("c", "INT", default=3).commit()
    table.append(rows(10, b=["main"], c=pa.array([4], pa.int32())))
    table.merge_branch("b")
    assert {(row["id"], row["b"], row["c"]) for row in shown(table)} == {
        *((number, None, 3) for number in range(1, 9)),
        *((9, "branch", 3), (10, None, 4)),
    }
    assert table.maintenance.verify(deep=True).findings == ()
    assert table.scan(filters=[("b", "=", "main")]).to_arrow().num_rows == 0
    assert table.scan(filters=[("b", "=", "x")]).to_arrow().num_rows == 0


def test_columns_of_two_branches_differ(table: Table) -> None:
    for name in ("p", "q"):
        table.create_branch(name)
        table.branch(name).alter().add_column(name, "INT", default=1).commit()
    columns = {name: table.branch(name).schema.get((name,)) for name in ("p", "q")}
    assert columns["p"].id != columns["q"].id
    for name in ("p", "q"):
        assert columns[name].physical_name == f"{name}_{columns[name].id}"
        table.merge_branch(name)
    table.alter().add_column("m", "INT").commit()
    assert table.schema.names == ["id", "b", "p", "q", "m"]
    assert table.schema.get(("m",)).id > max(column.id for column in columns.values())


def test_segments_of_schemas_in_between_are_read(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    for number, type_ in ((20, "INT"), (21, "STRING"), (22, "DOUBLE")):
        branch.alter().add_column("n", type_).commit()
        branch.append(rows(number, b=["n"], n=pa.array([number]).cast(ARROW[type_])))
        if type_ != "DOUBLE":
            branch.alter().drop_column("n").commit()
    table.alter().rename_column("b", "text").commit()
    table.merge_branch("b")
    assert [(row["id"], row["n"]) for row in shown(table) if row["id"] > 19] == [
        *((20, None), (21, None), (22, 22.0)),
    ]
    assert table.maintenance.verify(deep=True, every_version=True).findings == ()
    assert Catalog.recover(table.location, f"memory://{uuid4()}").rows == table.count()


ARROW = {"INT": pa.int32(), "STRING": pa.string(), "DOUBLE": pa.float64()}


def test_not_null_of_one_side_and_rows_of_the_other_are_refused() -> None:
    for on_branch in (True, False):
        table = make()
        table.append(rows(1, b=["x"]))
        table.create_branch("b")
        branch = table.branch("b")
        tight, loose = (branch, table) if on_branch else (table, branch)
        tight.alter().set_not_null("b").commit()
        loose.append(rows(2, b=pa.nulls(1, pa.string())))
        with pytest.raises(CommitConflictError, match="b NOT NULL"):
            table.merge_branch("b")


def test_a_pin_holds_on_a_branch_and_at_a_merge(table: Table) -> None:
    table.create_branch("early")
    table.pin_schema("job")
    table.create_branch("late")
    for name in ("late", "early"):
        branch = table.branch(name)
        branch.alter().drop_column("b").commit()
        branch.append(rows(9))
    assert table.branch("late").seen_as("job").schema.names == ["id", "b"]
    table.merge_branch("early")
    assert table.schema.visible.names == ["id"]
    seen = table.seen_as("job").scan().to_arrow().to_pylist()
    assert {(row["id"], row["b"]) for row in seen} == {*((n, "x") for n in range(1, 9)), (9, None)}
    strict = make()
    strict.pin_schema("job")
    strict.alter().set_property("pins", "refuse").commit()
    strict.create_branch("b")
    with pytest.raises(InvalidRequestError, match="'job'"):
        strict.branch("b").alter().change_type("id", "DOUBLE").commit()


def test_a_branch_runs_out_of_column_ids(table: Table) -> None:
    table.create_branch("b")
    columns = [(f"c{number}", "INT") for number in range(10_000)]
    change = table.branch("b").alter()
    for name, type_ in columns:
        change.add_column(name, type_)
    change.commit()
    with pytest.raises(InvalidRequestError, match="no column IDs left"):
        table.branch("b").alter().add_column("one_more", "INT").commit()


# Rows


def test_marks_of_both_sides_are_united(table: Table) -> None:
    table.create_branch("b")
    table.branch("b").delete([("id", "=", 1)])
    table.delete([("id", "=", 2)])
    table.merge_branch("b")
    assert ids(table) == [3, 4, 5, 6, 7, 8]


def test_a_row_that_both_sides_change_is_a_conflict(table: Table) -> None:
    table.create_branch("b")
    table.branch("b").update({"b": "branch"}, [("id", "=", 1)])
    table.update({"b": "main"}, [("id", "=", 1)])
    before = shown(table)
    with pytest.raises(CommitConflictError, match="the same rows of data"):
        table.merge_branch("b")
    assert shown(table) == before


def test_a_merge_does_not_undo_a_compaction(table: Table) -> None:
    table.append(rows(9, b=["x"]))
    table.create_branch("adds")
    table.create_branch("changes")
    table.branch("adds").append(rows(10, b=["n"]))
    table.branch("changes").delete([("id", "=", 9)])
    table.maintenance.compact(strategy="full")
    table.refresh().merge_branch("adds")
    with pytest.raises(CommitConflictError, match="replaced or removed on the table"):
        table.merge_branch("changes")
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_serializable_tables_take_no_changes_of_rows_beside_new_rows(table: Table) -> None:
    table.alter().set_property("isolation", "serializable").commit()
    for name in ("adds", "changes"):
        table.create_branch(name)
    table.branch("adds").append(rows(9, b=["n"]))
    table.branch("changes").delete([("id", "=", 1)])
    table.merge_branch("adds")
    with pytest.raises(CommitConflictError, match="isolation"):
        table.merge_branch("changes")


def test_upserts_of_a_branch_come_after_those_of_the_table() -> None:
    table = make("id INT NOT NULL, b STRING", primary_key=["id"])
    table.upsert(rows(1, 2, 3, b=["x"] * 3))
    table.create_branch("b")
    branch = table.branch("b")
    branch.upsert(rows(2, b=["first"]))
    branch.upsert(rows(2, b=["second"]))
    branch.delete_keys(rows(3))
    table.upsert(rows(2, 4, b=["main"] * 2))
    table.merge_branch("b")
    assert [(row["id"], row["b"]) for row in shown(table)] == [
        *((1, "x"), (2, "second"), (4, "main")),
    ]


def test_a_keyed_branch_that_reads_rows_conflicts_with_new_ones() -> None:
    table = make("id INT NOT NULL, b STRING", primary_key=["id"])
    table.upsert(rows(1, 2, b=["x"] * 2))
    table.create_branch("b")
    table.branch("b").update({"b": "branch"}, [("id", "=", 1)])
    table.upsert(rows(1, b=["main"]))
    with pytest.raises(CommitConflictError, match="keys of which it may have read"):
        table.merge_branch("b")


def test_batches_of_a_branch_are_known_after_a_merge(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    for batch in (1, 2):
        branch.append(rows(batch + 100, b=["s"]), batch=("stream", batch))
    branch.append(rows(200, b=["s"]), batch=("other", 7))
    table.merge_branch("b")
    for application, batch in (("stream", 2), ("other", 7)):
        table.append(rows(999, b=["again"]), batch=(application, batch))
    assert 999 not in ids(table)
    table.append(rows(103, b=["s"]), batch=("stream", 3))
    assert 103 in ids(table)


def test_an_expired_base_can_still_be_merged(table: Table) -> None:
    table.create_branch("b")
    table.branch("b").append(rows(9, b=["y"]))
    for number in range(5):
        table.append(rows(100 + number, b=["m"]))
    table.maintenance.expire(timedelta(0), 1, dry_run=False, force=True)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    table.merge_branch("b")
    assert 9 in ids(table)


# Names and refusals


def test_names_of_branches(table: Table) -> None:
    table.set_tag("tagged")
    table.create_branch("b")
    assert BRANCHES in table.state.features.read & table.state.features.write
    for name, error in (
        *(("b", AlreadyExistsError), ("tagged", AlreadyExistsError), ("7", InvalidRequestError)),
        *(("main", InvalidRequestError), ("", InvalidRequestError)),
    ):
        with pytest.raises(error):
            table.create_branch(name)
    with pytest.raises(AlreadyExistsError, match="branch 'b'"):
        table.set_tag("b")
    for missing in (table.branch, table.drop_branch, table.merge_branch):
        with pytest.raises(NotFoundError, match="the branches: b"):
            missing("zzz")
    with pytest.raises(NotFoundError):
        table.create_branch("later", 99)


def test_replacing_a_branch_begins_anew(table: Table) -> None:
    table.create_branch("b")
    old = table.branch("b")
    old.append(rows(9, b=["y"]))
    table.create_branch("b", replace=True)
    assert ids(table.branch("b")) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table.branches["b"].id != old.state.branch.id  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "act",
    [
        *(lambda b: b.set_tag("t"), lambda b: b.pin_schema("p"), lambda b: b.rollback(2)),
        *(lambda b: b.maintenance, lambda b: b.move_consumer("c"), lambda b: b.drop()),
        *(lambda b: b.create_branch("c"), lambda b: b.merge_branch("c")),
        lambda b: b.drop_branch("c"),
    ],
)
def test_what_a_branch_can_not_do_is_refused(table: Table, act: Any) -> None:
    table.create_branch("b")
    with pytest.raises((InvalidRequestError, NotFoundError)):
        act(table.branch("b"))


def test_a_table_with_branches_is_not_replaced(table: Table) -> None:
    table.create_branch("b")
    plan, operation = Catalog.plan_replacing(table, *replacement())
    with pytest.raises(InvalidRequestError, match="the branch 'b' would be lost"):
        Catalog.commit_replacing(plan.location, operation, plan.table, str(uuid4()))


def replacement() -> tuple[Any, pa.Schema]:
    return creation("n INT"), pa.schema({"n": pa.int32()})


def test_a_rollback_keeps_branches(table: Table) -> None:
    table.append(rows(9, b=["y"]))
    table.create_branch("b")
    table.rollback(1)
    assert [*table.branches] == ["b"]
    assert ids(table.branch("b")) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    table.branch("b").append(rows(10, b=["z"]))
    table.merge_branch("b")
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_expiry_drops_a_branch_that_nobody_writes_to(table: Table) -> None:
    table.create_branch("short", keep=timedelta(seconds=1))
    table.create_branch("long", keep=timedelta(days=1))
    table.create_branch("forever")
    long_ago = {"dry_run": True, "force": True}
    assert table.maintenance.expire(timedelta(0), **long_ago).branches == ()
    time.sleep(1.1)
    done = table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    assert done.branches == ("short",)
    assert [*table.refresh().branches] == ["long", "forever"]


def test_a_branch_costs_readers_of_the_table_nothing(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for name in ("plain", "branched"):
        catalog.create_table(name, "id INT, b STRING").append(rows(1, 2, b=["x", "y"]))
    branched = catalog.load_table("branched")
    branched.create_branch("b")
    branched.branch("b").append(rows(3, b=["z"]))
    catalog.load_table("plain").set_tag("t")  # as many commits
    calls = {}
    for name in ("plain", "branched"):
        plan = Plan()
        table = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)).load_table(name)
        assert table.scan().to_arrow().num_rows == 2
        calls[name] = [call.replace(name, "t") for call in plan.calls]
    assert calls["plain"] == calls["branched"]


def test_a_branch_that_has_changed_nothing_can_be_moved_to(table: Table) -> None:
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter().set_property("team", "x").unset_property("team").commit()
    table.append(rows(50))
    before = table.scan().to_arrow()
    table.merge_branch("b", fast_forward=True)
    assert table.refresh().scan().to_arrow().equals(before)


def test_a_name_stands_for_a_table_before_it_stands_for_a_branch(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id INT")
    table.create_branch("b")
    table.branch("b").append(rows(1))
    assert catalog.load_table("n.t.branch_b").count() == 1
    catalog.create_namespace("n.t")
    assert catalog.load_table("n.t.branch_b").count() == 1
    with pytest.raises(NotFoundError, match="branch_c"):
        catalog.load_table("n.t.branch_c")
    catalog.create_table("n.t.branch_b", "id INT")
    assert catalog.load_table("n.t.branch_b").count() == 0
    with pytest.raises(NotFoundError, match="tag_x"):
        catalog.load_table("n.t.tag_x")


def test_two_columns_do_not_share_a_name_in_files(table: Table) -> None:
    """The name of a new column of a branch ends in its ID, and so may that of a column of the table."""
    table.create_branch("b")
    branch = table.branch("b")
    branch.alter().add_column("c", "INT").commit()
    name = branch.schema.get(("c",)).physical_name
    table.alter().add_column(name, "INT").commit()
    assert table.refresh().schema.get((name,)).physical_name == name
    with pytest.raises(InvalidRequestError, match="the column c of the branch has a name in files"):
        table.merge_branch("b")


def test_two_names_of_one_partition_field_are_a_conflict(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    table.create_branch("b")
    for on, name in (("t.branch_b", "shard"), ("t", "piece")):
        target = table.branch("b") if name == "shard" else table
        target.alter_sql(f"ALTER TABLE {on} ADD PARTITION FIELD bucket(4, id) AS {name}").commit()
    with pytest.raises(CommitConflictError, match="is called piece and shard"):
        table.refresh().merge_branch("b")


@pytest.mark.parametrize(("pinned", "what"), [(True, "is NOT NULL"), (False, "changed on the br")])
def test_a_column_that_was_dropped_is_not_made_not_null(pinned: bool, what: str) -> None:
    """Nobody sees it, so nobody could write a value."""
    table = make()
    table.create_branch("work")
    table.branch("work").alter().set_not_null("b").commit()
    if pinned:
        table.pin_schema("job")
    table.alter().drop_column("b").commit()
    with pytest.raises(CommitConflictError, match=f"the column b was dropped on .* {what}"):
        table.merge_branch("work")
    assert table.append(rows(1)) == table.version


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize(
    ("arrange", "what"),
    [
        ("ADD PARTITION FIELD b", "partitioning"),
        ("SET TBLPROPERTIES ('sort_by' = 'b')", "sort order"),
    ],
)
def test_a_branch_is_not_arranged_by_a_column_that_was_dropped(
    pinned: bool, arrange: str, what: str
) -> None:
    """Every reader would refuse such a schema."""
    table = make()
    table.create_branch("work")
    table.branch("work").alter_sql(f"ALTER TABLE t {arrange}").commit()
    if pinned:
        table.pin_schema("job")
    table.alter().drop_column("b").commit()
    with pytest.raises(
        CommitConflictError, match=f"the {what} names b, which was dropped on one side"
    ):
        table.merge_branch("work")
    assert Catalog.load_path(table.location).schema.names == ["id"]
