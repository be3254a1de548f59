"""Races on a table with a primary key: commits by others between the plan of a write and its commit."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from pairwise import some
from versioned_catalog import Catalog, CommitConflictError, Table
from versioned_catalog.commit.row_rules import KeyConflictError
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.write.plan import plan_delta, plan_now
from versioned_catalog.write.row_level import delete_rows, update_rows
from versioned_catalog.write.update import Updater

Rows = dict[int, tuple[Any, ...]]
Commit = Callable[[], Any]


def rows(*given: tuple[Any, ...], names: str = "knm") -> pa.Table:
    columns = zip(*given, strict=True)
    return pa.table([pa.array(list(one), pa.int32()) for one in columns], list(names))


def create() -> Table:
    """Keys 1 to 4 in two segments; later 2 and 4 were deleted, and 3 was partially updated."""
    folder = f"memory://{uuid4()}"
    table = Catalog.create_path(folder, "k INT, n INT, m INT", primary_key=["k"])
    table.upsert(rows((1, 10, 1), (2, 20, 2), (3, 30, 3)))
    table.upsert(rows((4, 40, 4), (2, 21, 2)))
    table.delete([("n", "in", [21, 40])])
    table.upsert(rows((3, 31), names="kn"), partial=True)
    return table


BEFORE: Rows = {1: (10, 1), 3: (31, 3)}


def again(table: Table) -> Table:
    """The table, loaded by another writer."""
    return Catalog.load_path(table.location)


def shown(table: Table) -> Rows:
    found = again(table).scan().to_arrow().to_pylist()
    by_key = {row["k"]: tuple(list(row.values())[1:]) for row in found}
    assert len(by_key) == len(found), "a duplicate key"
    return by_key


def check(table: Table, wanted: Rows) -> None:
    assert shown(table) == wanted
    again(table).maintenance.compact(strategy="full")
    assert shown(table) == wanted
    assert again(table).maintenance.verify(deep=True, every_version=True).findings == ()


# What another writer commits meanwhile, and the rows after it


def nothing(table: Table) -> Rows:
    return BEFORE


def upsert(table: Table) -> Rows:
    table.upsert(rows((2, 22, 9), (3, 32, 9), (5, 50, 9)))
    return {**BEFORE, 2: (22, 9), 3: (32, 9), 5: (50, 9)}


def partial_upsert(table: Table) -> Rows:
    table.upsert(rows((1, 9), (2, 9), names="km"), partial=True)
    return {**BEFORE, 1: (10, 9), 2: (None, 9)}


def delete(table: Table) -> Rows:
    table.delete([("n", "=", 31)])
    return {1: (10, 1)}


def update(table: Table) -> Rows:
    table.update({"m": 7}, [("n", "=", 31)])
    return {1: (10, 1), 3: (31, 7)}


def rollback(table: Table) -> Rows:
    """Roll back to before the tombstones."""
    table.rollback(2)
    return {1: (10, 1), 2: (21, 2), 3: (30, 3), 4: (40, 4)}


def rollback_and_back(table: Table) -> Rows:
    table.rollback(2)
    table.rollback(4)
    return BEFORE


def overwrite(table: Table) -> Rows:
    table.overwrite(rows((2, 23, 5)))
    return {2: (23, 5)}


def overwrite_where(table: Table) -> Rows:
    table.overwrite_where(rows((2, 23, 5)), [("n", "=", 31)])
    return {1: (10, 1), 2: (23, 5)}


def truncate(table: Table) -> Rows:
    table.truncate()
    return {}


def alter(table: Table) -> Rows:
    """Values of a dropped column do not return under its name."""
    table.alter().drop_column("m").commit()
    table.alter().add_column("m", "int", default=8).commit()
    return {1: (10, 8), 3: (31, 8)}


def widen(table: Table) -> Rows:
    table.alter().change_type("k", "long").rename_column("n", "nn").commit()
    table.alter().change_type("nn", "long").set_default("m", 6).commit()
    return BEFORE


def expire(table: Table) -> Rows:
    time.sleep(0.002)
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    return BEFORE


def compact(table: Table) -> Rows:
    table.maintenance.compact(strategy="full")
    return BEFORE


def compact_a_part(table: Table) -> Rows:
    table.maintenance.compact(paths=table.state.segments.paths[:1])
    return BEFORE


def write_and_compact(table: Table) -> Rows:
    found = upsert(table)
    table.maintenance.compact(strategy="full")
    return found


def vacuum(table: Table) -> Rows:
    """The fence passes everything planned on the version before, and its segments are deleted."""
    table._write(rows((1, 1, 1)), merge_schema=False)
    found = upsert(table)
    time.sleep(0.002)
    assert table.maintenance.vacuum(timedelta(0), dry_run=False, force=True).segments
    assert again(table).state.fence == table.version - 1
    return found


MEANWHILE = [
    nothing,
    upsert,
    partial_upsert,
    delete,
    update,
    rollback,
    rollback_and_back,
    overwrite,
    overwrite_where,
    truncate,
    alter,
    widen,
    expire,
    compact,
    compact_a_part,
    write_and_compact,
    vacuum,
]
STOPS_COMPACTION = {
    "rollback",
    "rollback_and_back",
    "overwrite",
    "truncate",
    "compact",
    "compact_a_part",
    "write_and_compact",
    "vacuum",
}


@pytest.mark.thorough
@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda one: one.__name__)
@pytest.mark.parametrize("when", ["planned", "carried out"])
def test_compaction_after_any_concurrent_commit(
    meanwhile: Callable[[Table], Rows], when: str
) -> None:
    table = create()
    tasks = table.maintenance.plan_compaction(strategy="full")
    assert sum(len(task.paths) for task in tasks) == 4
    if when == "planned":
        wanted = meanwhile(again(table))
    done = [(task, task.run(table.store)) for task in tasks]
    if when == "carried out":
        wanted = meanwhile(again(table))
    before = again(table).version
    found = table.maintenance.commit_compaction(tasks, done)
    assert (again(table).version == before) == (meanwhile.__name__ in STOPS_COMPACTION)
    assert found.removed + found.skipped == 4
    check(table, wanted)


def test_a_rollback_to_a_row_whose_tombstone_was_dropped() -> None:
    """No row is older than the tombstone when its compaction is planned; a rollback restores one."""
    folder = f"memory://{uuid4()}"
    table = Catalog.create_path(folder, "k INT, n INT, m INT", primary_key=["k"])
    table.upsert(rows((1, 10, 1)))
    table.delete([("k", "=", 1)])
    older, tombstone = table.state.segments.paths
    table.upsert(rows((1, 20, 2)))
    table.maintenance.compact(paths=[older, table.state.segments.paths[-1]])
    tasks = table.maintenance.plan_compaction(paths=[tombstone])
    assert [task.paths for task in tasks] == [(tombstone,)]
    done = [(task, task.run(table.store)) for task in tasks]
    assert done[0][1] == ()
    again(table).rollback(2)
    assert table.maintenance.commit_compaction(tasks, done).removed == 0
    check(table, {})


@pytest.mark.thorough
@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda one: one.__name__)
def test_upserts_never_conflict(meanwhile: Callable[[Table], Rows]) -> None:
    """Except with a vacuum that may have deleted their segments."""
    table = create()
    puts, patches = again(table), again(table)
    commits = [_written(puts, rows((2, 77, 7))), _written(patches, rows((2, 78), names="kn"), True)]
    wanted = meanwhile(again(table))
    if meanwhile is vacuum:
        for commit in commits:
            with pytest.raises(CommitConflictError, match="fence"):
                commit()
        check(table, wanted)
        return
    for commit in commits:
        commit()
    check(table, {**wanted, 2: (78, 7) if meanwhile is not alter else (78, 8)})


def _written(table: Table, data: pa.Table, partial: bool = False) -> Commit:
    plan, records = table._write(data, merge_schema=False, partial=partial)
    return lambda: table.transaction().commit_append(plan, records)


# A DELETE or UPDATE by a filter, against writes of the same keys or of others in their range


def delete_of(table: Table, filters: Any) -> Commit:
    """A delete that is planned, with its tombstones written."""
    plan = plan_delta(table.store, table.state, table.name)
    records = delete_rows(table.store, table.state, bind_filters(filters, table.schema), plan.spec)
    return lambda: table.transaction().commit_delta(plan, records, kind="delete", reads=filters)


def update_of(table: Table, filters: Any) -> Commit:
    plan = plan_now(table.store, table.state, table.name)
    updater = Updater({"m": 99}, table.schema, table.name)
    bound = bind_filters(filters, table.schema)
    records = update_rows(table.store, table.state, bound, plan.spec, updater)
    return lambda: table.transaction().commit_delta(plan, records, kind="update", reads=filters)


def wide() -> Table:
    """Keys 0 to 9, each with ten times its value."""
    folder = f"memory://{uuid4()}"
    table = Catalog.create_path(folder, "k INT, n INT, m INT", primary_key=["k"])
    table.upsert(rows(*((k, 10 * k, 0) for k in range(10))))
    return table


WIDE: Rows = {k: (10 * k, 0) for k in range(10)}
ENDS = [("n", "in", [10, 80])]
"""Write rows 1 and 8, so that every key between is within the written range."""


@pytest.mark.parametrize("planned", [delete_of, update_of])
@pytest.mark.parametrize(
    "key, partial", [(1, False), (1, True), (8, False), (4, False), (4, True), (9, False)]
)
def test_only_writes_of_the_same_keys_conflict(
    planned: Callable[[Table, Any], Commit], key: int, partial: bool
) -> None:
    table = wide()
    commit = planned(again(table), ENDS)
    table.upsert(rows((key, 5), names="kn"), partial=partial)
    wanted = {**WIDE, key: (5, 0 if partial else None)}
    if key in (1, 8):
        with pytest.raises(KeyConflictError, match="same row key"):
            commit()
        check(table, wanted)
        return
    commit()
    for gone in (1, 8):
        if planned is delete_of:
            del wanted[gone]
        else:
            wanted[gone] = (10 * gone, 99)
    check(table, wanted)


@pytest.mark.parametrize("planned", [delete_of, update_of])
def test_an_upsert_after_a_concurrent_delete_is_kept(
    planned: Callable[[Table, Any], Commit],
) -> None:
    """An upsert that was planned before and commits after is newer, and stays."""
    table = wide()
    upsert, patch = again(table), again(table)
    commits = [_written(upsert, rows((1, 5, 5))), _written(patch, rows((8, 5), names="kn"), True)]
    planned(table, ENDS)()
    for commit in commits:
        commit()
    after = (5, None) if planned is delete_of else (5, 99)
    check(table, {**WIDE, 1: (5, 5), 8: after})


@pytest.mark.parametrize("compacted", [False, True])
def test_a_delete_is_evaluated_again(compacted: bool) -> None:
    """Rows that match no more stay; rows that match now are deleted."""
    table = wide()
    late = again(table)
    table.upsert(rows((1, 11, 1), (5, 80, 1), (8, 80, 1)))
    if compacted:
        table.maintenance.compact(strategy="full")
    late.delete(ENDS)
    assert late.version == table.version + 1
    wanted = {**WIDE, 1: (11, 1)}
    del wanted[5], wanted[8]
    check(table, wanted)


def test_a_delete_without_conflicts_is_evaluated_once() -> None:
    """Rows that match since then are newer: a delete of other keys leaves them."""
    table = wide()
    late = again(table)
    table.upsert(rows((5, 80, 1)))
    late.delete(ENDS)
    wanted = {**WIDE, 5: (80, 1)}
    del wanted[1], wanted[8]
    check(table, wanted)


def test_two_deletes_of_the_same_row() -> None:
    table = wide()
    first, second = (delete_of(again(table), [("k", "=", key)]) for key in (1, 1))
    first()
    with pytest.raises(KeyConflictError):
        second()
    del_other = delete_of(again(table), [("k", "=", 3)])
    delete_of(again(table), [("k", "=", 2)])()
    del_other()
    check(table, {key: row for key, row in WIDE.items() if key not in (1, 2, 3)})


@pytest.mark.parametrize("planned", [delete_of, update_of])
def test_compactions_do_not_conflict_with_writes(planned: Callable[[Table, Any], Commit]) -> None:
    table = wide()
    commit = planned(again(table), ENDS)
    table.maintenance.compact(strategy="full")
    commit()
    wanted = {**WIDE, 1: (10, 99), 8: (80, 99)}
    if planned is delete_of:
        del wanted[1], wanted[8]
    check(table, wanted)


@pytest.mark.parametrize("planned", [delete_of, update_of])
@pytest.mark.parametrize("meanwhile", [rollback, overwrite, truncate, vacuum])
def test_concurrently_deleted_rows_are_not_written_again(
    planned: Callable[[Table, Any], Commit], meanwhile: Callable[[Table], Rows]
) -> None:
    table = create()
    commit = planned(again(table), [("k", "in", [1, 3])])
    wanted = meanwhile(again(table))
    with pytest.raises(CommitConflictError, match="fence" if meanwhile is vacuum else "row key"):
        commit()
    check(table, wanted)


def test_nulls_of_a_partial_upsert_against_set_not_null() -> None:
    """Without an older row, the partial upsert shows null for the columns that it leaves out."""
    table = create()
    late = again(table)
    plan = late.transaction().plan_write(rows((5, 50), names="kn").schema, partial=True)
    data = rows((5, 50), names="kn")
    records = plan.write(data.schema, iter(data.to_batches()), late.store)
    table.alter().set_not_null("m").commit()
    with pytest.raises(CommitConflictError, match="NOT NULL"):
        late.transaction().commit_append(plan, records)
    check(table, BEFORE)


def test_an_alter_between_read_and_commit() -> None:
    """By ID: the column of that name is another one now."""
    table = wide()
    commit = update_of(again(table), ENDS)
    table.alter().drop_column("m").commit()
    table.alter().add_column("m", "int", default=3).commit()
    commit()
    check(table, {key: (n, 3) for key, (n, _) in WIDE.items()})


def test_a_filter_is_not_evaluated_again_on_a_column_that_took_the_name() -> None:
    table = wide()
    late = again(table)
    table.alter().rename_column("n", "x").rename_column("m", "n").commit()
    table.upsert(rows((1, 10, 10), names="kxn"))
    with pytest.raises(KeyConflictError):
        late.delete(ENDS)
    check(table, {**WIDE, 1: (10, 10)})


# Tombstones come before the rows of their commit


def test_an_overwrite_may_rewrite_its_own_rows() -> None:
    table = create()
    table.overwrite_where(rows((3, 5, 5), (4, 6, 6)), [("n", ">=", 31)])
    check(table, {1: (10, 1), 3: (5, 5), 4: (6, 6)})


@pytest.mark.parametrize("reverse", [False, True])
def test_a_merge_that_deletes_and_writes_a_key(reverse: bool) -> None:
    """Its tasks report their segments in any order."""
    table = wide()
    plan = plan_delta(table.store, table.state, table.name)

    def written(op: int, *given: tuple[int, int, int]) -> Any:
        ops = pa.array([op] * len(given), pa.int8())
        data = rows(*given).append_column("op", ops)
        return plan.write(data.schema, iter(data.to_batches()), table.store)

    tasks = [written(1, (1, 0, 0), (2, 0, 0)), written(0, (1, 5, 5), (20, 6, 6))]
    records = [one for task in (reversed(tasks) if reverse else tasks) for one in task]
    table.transaction().commit_delta(plan, records, kind="merge", reads=[("k", "in", [1, 2])])
    wanted = {**WIDE, 1: (5, 5), 20: (6, 6)}
    del wanted[2]
    check(table, wanted)


# Compactions of a subset of segments, and the segments that they need


@pytest.mark.parametrize(
    "chosen",
    some({(0,), (1, 3), (1, 2)}, [(0,), (1,), (2,), (3,), (0, 2), (0, 3), (1, 3), (2, 3), (1, 2)]),
)
def test_any_subset_of_segments_can_be_compacted(chosen: tuple[int, ...]) -> None:
    """Tombstones stay while an older row exists; PATCH rows are compacted with the rows below them."""
    table = create()
    paths = table.state.segments.paths
    assert len(paths) == 4
    table.maintenance.compact(paths=[paths[at] for at in chosen])
    check(table, BEFORE)


@pytest.mark.parametrize(
    "chosen", some({(-4, -3), (-3, -1)}, itertools.combinations(range(-4, 0), 2))
)
def test_overlapping_segments_of_one_commit_are_compacted_together(chosen: tuple[int, int]) -> None:
    """A tombstone and a row of one key have one sequence: apart, their order would be lost."""
    table = create()
    table.overwrite_where(rows((3, 5, 5)), [("n", "=", 31)])
    table.overwrite_where(rows((2, 7, 7), (4, 8, 8)), [("n", "=", 10)])
    paths = table.state.segments.paths
    table.maintenance.compact(paths=[paths[at] for at in chosen])
    check(table, {2: (7, 7), 3: (5, 5), 4: (8, 8)})
