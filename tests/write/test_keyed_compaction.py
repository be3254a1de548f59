"""Compaction of keyed tables: it changes no result, and drops only rows that no read needs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintain.tables import NOW, tick
from read.keyed_table import make, rows, shown
from versioned_catalog import Catalog, InvalidRequestError, Table


def paths(table: Table) -> list[str]:
    return table.state.segments.paths


def test_a_tombstone_is_kept_while_an_older_row_exists(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0)))
    table.append(rows(("b", 1, 2.0), ("c", 1, 1.0)))
    table.delete([("host", "=", "b")])
    before = shown(table)
    table.maintenance.compact(paths=paths(table)[1:])
    assert shown(table) == before == [("a", 1, 1.0, 7), ("c", 1, 1.0, 7)]
    assert table.state.segments.rows == 4, "a, b, c, and the tombstone of b"
    table.maintenance.compact()
    assert shown(table) == before
    assert table.state.segments.rows == 2


def test_a_partial_upsert_is_not_compacted_without_older_rows(tmp_path: Path) -> None:
    """Compacted without the older row, its defaults would become values."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0, 70), columns="host ts v w"))
    table.upsert(rows(("a", 1, 2.0)), partial=True)
    table.upsert(rows(("a", 1, 3.0)), partial=True)
    result = table.maintenance.compact(paths=paths(table)[1:])
    assert result.removed == 3, "the segment of the older row is compacted with it"
    assert shown(table) == [("a", 1, 3.0, 70)]


@pytest.mark.parametrize("hiding", ["upsert", "delete"])
def test_a_null_that_is_not_allowed_any_more_is_compacted_with_what_hides_it(
    tmp_path: Path, hiding: str
) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, None), ("b", 1, 1.0)))
    table.append(rows(("c", 1, 1.0)))
    if hiding == "upsert":
        table.upsert(rows(("a", 1, 2.0)))
    else:
        table.delete([("host", "=", "a")])
    table.alter().set_not_null("v").commit()
    table.append(rows(("b", 1, 3.0)))
    before = shown(table)
    result = table.maintenance.compact(paths=paths(table)[:1])
    assert result.removed == 3, "the first, the hiding one and the newest overlap it"
    assert shown(table) == before
    assert (("a", 1, 2.0, 7) in before) == (hiding == "upsert")


def test_overlapping_segments_of_one_commit_are_compacted_together(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    first, second = rows(("a", 1, 1.0)), rows(("a", 1, 2.0))
    plan = table.transaction().plan_write(first.schema)
    records = [
        r for d in (first, second) for r in plan.write(d.schema, d.to_batches(), table.store)
    ]
    table.transaction().commit_append(plan, records)
    table.append(rows(("b", 1, 1.0)))
    for at in (0, 1):
        result = table.as_of(2).maintenance.compact(paths=[paths(table)[at]], dry_run=True)
        assert result.removed == 2
    table.maintenance.compact(paths=paths(table)[:1])
    assert shown(table)[0] == ("a", 1, 2.0, 7)


def test_compacted_rows_keep_their_age(tmp_path: Path) -> None:
    """Compacted rows stay older than later rows, and newer than earlier ones."""
    table = make(tmp_path / "t")
    for value in (1.0, 2.0, 3.0, 4.0):
        table.append(rows(("a", 1, value), ("b", int(value), value)))
    table.maintenance.compact(paths=[paths(table)[at] for at in (0, 2)])
    assert shown(table)[0] == ("a", 1, 4.0, 7)
    table.maintenance.compact(paths=paths(table)[:2])
    assert shown(table)[0] == ("a", 1, 4.0, 7)
    table.rollback(3)
    assert shown(table)[0] == ("a", 1, 3.0, 7)
    table.append(rows(("a", 1, 5.0)))
    assert shown(table)[0] == ("a", 1, 5.0, 7)


def test_rows_restored_by_a_rollback_keep_their_age(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    table.append(rows(("a", 1, 2.0)))
    table.maintenance.compact(paths=paths(table)[:1])
    assert table.rollback(2) == 4
    assert shown(table) == [("a", 1, 2.0, 7)]


def test_a_concurrent_rollback_fails_the_compaction(tmp_path: Path) -> None:
    """The compaction drops a tombstone, and the rollback restores the row that it deletes."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    slow = Catalog.load_path(tmp_path / "t")
    table.delete([("host", "=", "a")])
    slow.truncate()  # removes the row's segment, and keeps the later tombstone
    late = Catalog.load_path(tmp_path / "t")
    tasks = late.maintenance.plan_compaction(paths=paths(late))
    done = [(task, task.run(late.store)) for task in tasks]
    assert [records_ for _, records_ in done] == [()]
    table.refresh().rollback(2)
    assert late.maintenance.commit_compaction(tasks, done).removed == 0
    assert shown(late.refresh()) == []


def test_a_tombstone_is_kept_while_a_compacted_segment_holds_an_older_row(tmp_path: Path) -> None:
    """The oldest row of a segment that stays decides, not its newest."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("c", 1, 1.0)))
    table.delete([("host", "=", "a")])
    table.append(rows(("a", 2, 3.0), ("c", 1, 3.0)))
    first, tombstone, third = paths(table)
    table.maintenance.compact(paths=[first, third])
    assert table.state.segments.core["extra"].to_pylist()[-1].count('"sequences":[1,3]') == 1
    table.maintenance.compact(paths=[tombstone])
    assert shown(table) == [("a", 2, 3.0, 7), ("c", 1, 3.0, 7)]
    table.maintenance.compact(strategy="full")
    assert shown(table) == [("a", 2, 3.0, 7), ("c", 1, 3.0, 7)]
    assert table.state.segments.rows == 2


def test_compacted_rows_do_not_replace_newer_ones(tmp_path: Path) -> None:
    """In a segment of several commits, each row keeps its own sequence."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("c", 1, 1.0)))
    table.append(rows(("a", 1, 2.0)))
    table.append(rows(("b", 1, 3.0), ("c", 1, 3.0)))
    first, _, third = paths(table)
    assert table.maintenance.compact(paths=[first, third]).added == 1
    assert shown(table) == [("a", 1, 2.0, 7), ("b", 1, 3.0, 7), ("c", 1, 3.0, 7)]
    sequences = table.scan(["__sequence", "host"]).to_arrow().to_pylist()
    assert {row["host"]: row["__sequence"] for row in sequences} == {"a": 2, "b": 3, "c": 3}


def test_a_second_rollback_keeps_the_order_of_the_first(tmp_path: Path) -> None:
    """A compacted segment and a restored one record the age of their rows themselves."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    table.append(rows(("a", 1, 2.0)))
    table.maintenance.compact(paths=paths(table)[:1])
    table.truncate()
    assert table.rollback(3) == 5
    assert shown(table) == [("a", 1, 2.0, 7)]
    table.append(rows(("a", 1, 6.0)))
    table.maintenance.compact(paths=paths(table)[:2])
    assert shown(table) == [("a", 1, 6.0, 7)]
    for again, value in ((7, 6.0), (5, 2.0), (6, 6.0), (3, 2.0)):
        table.truncate()
        table.rollback(again)
        assert shown(table) == [("a", 1, value, 7)]


def test_an_expired_concurrent_rollback_fails_the_compaction(tmp_path: Path) -> None:
    """The rollback's entry is a stub by then, so what it restored is unknown."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    slow = Catalog.load_path(tmp_path / "t")
    table.delete([("host", "=", "a")])
    slow.truncate()
    late = Catalog.load_path(tmp_path / "t")
    tasks = late.maintenance.plan_compaction(paths=paths(late))
    done = [(task, task.run(late.store)) for task in tasks]
    assert [records_ for _, records_ in done] == [()]
    table.refresh().rollback(2)
    table.append(rows(("b", 1, 1.0)))
    tick()
    assert table.maintenance.expire(NOW, 1, dry_run=False, force=True).oldest_version == 5
    assert late.maintenance.commit_compaction(tasks, done).removed == 0
    assert shown(Catalog.load_path(tmp_path / "t")) == [("b", 1, 1.0, 7)]


def test_small_segments_without_a_key_are_compacted_into_one(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT, b STRING", partitioned_by=["a"])
    for n in range(6):
        table.append(pa.table({"a": pa.array([n % 2, 5], pa.int32()), "b": [f"{n}", "x"]}))
    table.alter().drop_column("b").add_column("b", "STRING", default="new").commit()
    before = shown(table)
    result = table.maintenance.compact(dry_run=True)
    assert (result.removed, table.version) == (12, 7)
    result = table.maintenance.compact()
    assert (result.removed, result.added, result.skipped) == (12, 3, 0)
    assert shown(table) == before == shown(table, version=7)
    file = pq.ParquetFile(tmp_path / "t" / paths(table)[0])
    assert [f.metadata[b"PARQUET:field_id"] for f in file.schema_arrow] == [b"1", b"3"]
    assert table.maintenance.compact().removed == 0
    assert table.maintenance.compact(strategy="full").removed == 3
    with pytest.raises(InvalidRequestError, match="'auto', 'full', 'small'"):
        table.maintenance.compact(strategy="z")  # type: ignore[arg-type]


def test_a_concurrent_append_succeeds(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    for value in (1.0, 2.0):
        table.append(rows(("a", 1, value), ("b", 1, value)))
    other = Catalog.load_path(tmp_path / "t")
    tasks = table.maintenance.plan_compaction()
    done = [(task, task.run(table.store)) for task in tasks]
    other.append(rows(("a", 1, 3.0)))
    other.delete([("host", "=", "b")])
    other.alter().add_column("x", "INT", default=1).commit()
    assert table.maintenance.commit_compaction(tasks, done).removed == 2
    assert shown(table) == [("a", 1, 3.0, 7, 1)]
    assert table.maintenance.verify(deep=True, every_version=True).findings == ()


def test_segments_removed_concurrently_are_skipped(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT", partitioned_by=["a"])
    for n in (1, 1, 2, 2):
        table.append(pa.table({"a": pa.array([n], pa.int32())}))
    other = Catalog.load_path(tmp_path / "t")
    tasks = table.maintenance.plan_compaction()
    done = [(task, task.run(table.store)) for task in tasks]
    other.delete([("a", "=", 1)])
    result = table.maintenance.commit_compaction(tasks, done)
    assert (result.removed, result.skipped, shown(table)) == (2, 2, [(2,), (2,)])


def test_a_split_with_a_removed_segment_does_not_fail_the_others(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT, b INT", partitioned_by=["a"])
    for a, b in ((1, 1), (1, 2), (2, 1), (2, 2)):
        table.append(pa.table({"a": pa.array([a], pa.int32()), "b": pa.array([b], pa.int32())}))
    other = Catalog.load_path(tmp_path / "t")
    tasks = table.maintenance.plan_compaction()
    done = [(task, task.run(table.store)) for task in tasks]
    other.delete([("a", "=", 1), ("b", "=", 1)])
    result = table.maintenance.commit_compaction(tasks, done)
    assert (result.removed, result.added, result.skipped) == (2, 1, 2)
    assert shown(table) == [(1, 2), (2, 1), (2, 2)]


def test_small_disjoint_neighbours_are_compacted_into_one(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    for day in range(5):
        table.append(rows(("a", day, 1.0), ("z", day, 1.0)))
    assert table.maintenance.compact().removed == 5
    assert table.count() == 10
    assert table.scan().merged_paths() == frozenset()


def test_auto_compaction_after_a_write(tmp_path: Path) -> None:
    table = make(tmp_path / "t", properties={"auto_compact": "3"})
    for n in range(3):
        assert table.append(rows(("a", n, 1.0), ("b", n, 1.0))) == n + 1
        assert table.state.segments.count == (n + 1 if n < 2 else 1)
    assert (table.version, table.count()) == (4, 6)
    assert table.append(rows(("a", 1, 2.0))) == 5
    assert table.state.segments.count == 2
    for value in ("1", "x", ""):
        with pytest.raises(InvalidRequestError, match="small segments"):
            table.alter().set_property("auto_compact", value).commit()


def test_small_segments_are_compacted_without_large_ones(tmp_path: Path) -> None:
    """A tombstone of a row in a large segment stays, and so does a partial upsert of such a row."""
    table = make(tmp_path / "t", properties={"target_segment_bytes": "4000"})
    table.append(rows(*((f"h{n}", n, float(n)) for n in range(900))))
    assert table.state.segments.core["bytes"][0].as_py() > 2000
    assert table.maintenance.compact(strategy="small").removed == 0
    table.append(rows(("h1", 1, -1.0)))
    table.delete([("host", "=", "h2")])
    table.append(rows(("h3", 3, -3.0)))
    result = table.maintenance.compact(strategy="small")
    assert (result.removed, result.added, table.count()) == (3, 2, 899)
    assert shown(table, filters=[("host", "in", ["h1", "h2", "h3"])]) == [
        ("h1", 1, -1.0, 7),
        ("h3", 3, -3.0, 7),
    ]
    table.upsert(rows(("h4", 4, 40), columns="host ts w"), partial=True)
    assert table.maintenance.compact(strategy="small").removed == 0, "the older row is still needed"
    assert shown(table, filters=[("host", "=", "h4")]) == [("h4", 4, 4.0, 40)]


def test_neighbours_of_different_partitions_are_not_compacted(tmp_path: Path) -> None:
    """A compaction would write them as separate segments again, and so would the next."""
    table = make(tmp_path / "t", partitioned_by=["host"])
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0)))
    assert table.maintenance.compact().removed == 0
    table.append(rows(("a", 2, 1.0), ("b", 2, 1.0)))
    assert (table.maintenance.compact().removed, table.maintenance.compact().removed) == (4, 0)
    assert table.count() == 4
