"""Situations of Delta Lake: changed rows, changes between versions, restores, and commits."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from conformance.lake import (
    Lake,
    alter,
    arrow,
    changed,
    put,
    read_segments,
    refused,
    rows,
    segments,
)
from conformance.registry import Situation, Source
from versioned_catalog import (
    CommitConflictError,
    CorruptTableError,
    Identity,
    InvalidRequestError,
    NotFoundError,
    Table,
    expr,
)

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
vectors = Source("delta", f"{SPARK}/deletionvectors/DeletionVectorsSuite.scala", SITUATIONS)
deletes = Source("delta", f"{SPARK}/DeleteSuiteBase.scala", SITUATIONS)
updates = Source("delta", f"{SPARK}/UpdateSuiteBase.scala", SITUATIONS)
feed = Source("delta", f"{SPARK}/DeltaCDCSuite.scala", SITUATIONS)
updated = Source("delta", f"{SPARK}/cdc/UpdateCDCSuite.scala", SITUATIONS)
restores = Source("delta", f"{SPARK}/RestoreTableSuiteBase.scala", SITUATIONS)
travel = Source("delta", f"{SPARK}/DeltaTimeTravelSuite.scala", SITUATIONS)
identity = Source("delta", f"{SPARK}/IdentityColumnSuite.scala", SITUATIONS)
ingestion = Source("delta", f"{SPARK}/IdentityColumnIngestionSuite.scala", SITUATIONS)
synced = Source("delta", f"{SPARK}/IdentityColumnSyncSuite.scala", SITUATIONS)
generated = Source("delta", f"{SPARK}/GeneratedColumnSuite.scala", SITUATIONS)
clones = Source("delta", f"{SPARK}/CloneTableSuiteBase.scala", SITUATIONS)
evolution = Source("delta", f"{SPARK}/DeltaInsertIntoSchemaEvolutionSuite.scala", SITUATIONS)
conflicts = Source("delta", f"{SPARK}/OptimisticTransactionSuite.scala", SITUATIONS)
legacy = Source("delta", f"{SPARK}/OptimisticTransactionLegacyTests.scala", SITUATIONS)
vacuums = Source("delta", f"{SPARK}/DeltaVacuumSuite.scala", SITUATIONS)
protocol = Source("delta", "PROTOCOL.md", SITUATIONS)

NOW = dt.timedelta(0)
MARK = {"row_changes": "mark"}


def marked(lake: Lake) -> Table:
    """Ten rows in one segment, of which 1, 4 and 7 are marked as deleted."""
    table = lake.table("id INT, v STRING", *[(n, f"v{n}") for n in range(10)], properties=MARK)
    table.delete([("id", "in", [1, 4, 7])])
    return table


LEFT = [0, 2, 3, 5, 6, 8, 9]


@vectors.passes("read Delta table with deletion vectors", "Rows that a vector marks are not read.")
def read_marked(lake: Lake) -> None:
    table = marked(lake)
    assert [row[0] for row in rows(table)] == LEFT
    assert (table.count(), segments(table)) == (7, 1)


@vectors.passes(
    "read Delta table with deletion vectors with a filter", "Filters apply beside the marks."
)
def filter_marked(lake: Lake) -> None:
    table = marked(lake)
    assert rows(table, "id", filters=[("id", "in", [1, 2])]) == [(2,)]
    assert rows(table, "id", filters=[("id", "=", 4)]) == []


@vectors.passes(
    "select metadata columns from a Delta table with deletion vectors",
    "Positions in the file stay those of before.",
)
def positions_of_marked(lake: Lake) -> None:
    found = marked(lake).scan(["id", "_row_position"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["_row_position"]) for row in found) == [(n, n) for n in LEFT]


@vectors.passes(
    "DELETE with DVs - existing table already has DVs",
    "A second DELETE marks further rows, and no row again.",
)
def mark_again(lake: Lake) -> None:
    table = marked(lake)
    table.delete([("id", "in", [4, 5])])
    assert [row[0] for row in rows(table)] == [0, 2, 3, 6, 8, 9]
    assert changed(table, table.version) == [("delete", 5, "v5")]


@vectors.passes(
    "DELETE with DVs - table with a user column named 'path' does not conflict",
    "A column may be called path.",
)
def column_path(lake: Lake) -> None:
    table = lake.table("path STRING, n INT", ("a", 1), ("b", 2), properties=MARK)
    table.delete([("path", "=", "a")])
    assert rows(table) == [("b", 2)]


@vectors.passes(
    "DELETE with DVs with column mapping mode", "Rows are deleted by a column that was renamed."
)
def delete_renamed(lake: Lake) -> None:
    table = marked(lake)
    alter(table, "RENAME COLUMN id TO key")
    table.delete([("key", "=", 0)])
    assert [row[0] for row in rows(table)] == LEFT[1:]


@vectors.passes(
    "UPDATE with DVs - update deleted rows updates nothing",
    "An UPDATE of marked rows changes nothing.",
)
def update_marked(lake: Lake) -> None:
    table = marked(lake)
    before = table.version
    assert table.update({"v": "x"}, [("id", "=", 4)]) == before
    assert "x" not in [value for _, value in rows(table)]


@vectors.passes(
    "insert into Delta table with DVs", "Rows are added to a table with marks, also equal ones."
)
def insert_marked(lake: Lake) -> None:
    table = marked(lake)
    put(table, (4, "again"))
    assert (4, "again") in rows(table)
    assert table.count() == 8


@vectors.passes(
    "UPDATE with DVs - update rewrite files with DVs",
    "An UPDATE of all rows does not bring marked ones back.",
)
def update_all_marked(lake: Lake) -> None:
    table = marked(lake)
    table.update({"v": "x"})
    assert rows(table) == [(n, "x") for n in LEFT]


@vectors.passes(
    "Check no resource leak when DV files are missing (table corrupted)",
    "A segment that is gone is an error.",
)
def missing_file(lake: Lake) -> None:
    table = marked(lake)
    (path,) = table.inspect.segments()["path"].to_pylist()
    next(lake.warehouse.rglob(path.rsplit("/", 1)[-1])).unlink()
    with refused("is missing, and version 2 needs it", CorruptTableError):
        table.refresh().scan().to_arrow()


@deletes.passes(
    "SC-12232: should not delete the rows where condition evaluates to null",
    "Rows for which the condition is null stay.",
)
def delete_null(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (0, "x"), (1, "y"), (None, "z"))
    table.delete([("a", "=", 0)])
    assert rows(table) == [(1, "y"), (None, "z")]


@deletes.passes("SC-12232: delete rows with null values using isNull", "IS NULL deletes nulls.")
def delete_is_null(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (0, "x"), (None, "z"))
    table.delete([("a", "is null", None)])
    assert rows(table) == [(0, "x")]


@deletes.passes(
    "basic case - delete from a Delta table", "DELETE without a condition deletes all rows."
)
def delete_all(lake: Lake) -> None:
    table = lake.table("a INT", (1,), (2,))
    table.delete(None)
    assert (rows(table), segments(table)) == ([], 0)


@deletes.passes("where key columns", "A DELETE by partition drops files without reading them.")
def delete_partition(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 1), (2, 2), partitioned_by=["k"])
    table.delete([("k", "=", 1)])
    assert (rows(table), segments(table)) == ([(2, 2)], 1)


@deletes.passes("where data columns and partition columns", "A DELETE by partition and value.")
def delete_both(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 1), (1, 2), (2, 2), partitioned_by=["k"])
    table.delete([("k", "=", 1), ("v", "=", 2)])
    assert rows(table) == [(1, 1), (2, 2)]


@deletes.passes(
    "delete on partitioned table with special chars",
    "Partition values hold blanks, slashes and umlauts.",
)
def delete_special(lake: Lake) -> None:
    table = lake.table("p STRING, n INT", ("a b/ä%=", 1), ("x", 2), partitioned_by=["p"])
    table.delete([("p", "=", "a b/ä%=")])
    assert rows(table) == [("x", 2)]


@updates.passes("basic update - without where", "UPDATE without a condition changes all rows.")
def update_all(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4), (2, 2))
    table.update({"v": expr("v + 1"), "k": 0})
    assert rows(table) == [(0, 3), (0, 5)]


@updates.passes(
    "basic update - with where and complex input", "UPDATE computes from the values before it."
)
def update_where(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4), (2, 2))
    table.update({"v": pc.field("k") + pc.field("v"), "k": pc.field("v")}, [("k", "=", 1)])
    assert rows(table) == [(2, 2), (4, 5)]


@updates.passes(
    "basic update - with where and no row matched", "An UPDATE that matches no row makes no commit."
)
def update_none(lake: Lake) -> None:
    table = lake.table("k INT", (1,))
    assert table.update({"k": 9}, [("k", "=", 5)]) == 1


@updates.passes("set to null", "A column is set to null.")
def update_null(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 4))
    table.update({"v": None})
    assert rows(table) == [(1, None)]


@updates.passes("type mismatch", "A text for a number is refused.")
def update_type(lake: Lake) -> None:
    table = lake.table("k INT", (1,))
    with refused("does not fit the column k of type INT", InvalidRequestError):
        table.update({"k": "text"})
    assert rows(table) == [(1,)]


@updates.passes(
    "nested data support", "A field of a struct is updated; the others and null structs stay."
)
def update_nested(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT, b: STRUCT<c: INT>>", ({"a": 1, "b": {"c": 2}},), (None,))
    table.update({"s.b.c": 9})
    assert rows(table) == [(None,), ({"a": 1, "b": {"c": 9}},)]


@updates.passes(
    "Negative case - check target columns during analysis",
    "A column that is not there can't be set.",
)
def update_missing(lake: Lake) -> None:
    with refused("no column missing", NotFoundError):
        lake.table("k INT", (1,)).update({"missing": 1})


def versions(lake: Lake) -> Table:
    """Versions 1, 2 and 3, which add the rows 0 to 2, 3 to 5 and 6 to 8."""
    table = lake.table("id INT", (0,), (1,), (2,))
    put(table, (3,), (4,), (5,))
    put(table, (6,), (7,), (8,))
    return table


@feed.passes(
    "start version and end version are the same",
    "A range of one version has the changes of that version.",
)
def one_version(lake: Lake) -> None:
    assert changed(versions(lake), 2, 2) == [("insert", 3), ("insert", 4), ("insert", 5)]


@feed.passes(
    "start version is provided and no end version",
    "A range without end goes to the newest version.",
)
def no_end(lake: Lake) -> None:
    assert [n for _, n in changed(versions(lake), 2)] == [3, 4, 5, 6, 7, 8]


@feed.passes("end version < start version", "A range that ends before it starts is refused.")
def end_first(lake: Lake) -> None:
    with refused("changes from version 3 to 1 can't be read", InvalidRequestError):
        versions(lake).changes(3, 1).to_arrow()


@feed.passes(
    "version from timestamp - between two valid versions",
    "A time stands for the next version as a start.",
)
def by_times(lake: Lake) -> None:
    table = versions(lake)
    times = table.inspect.history().sort_by("version")["time"].to_pylist()
    assert [n for _, n in changed(table, times[2], times[3])] == [3, 4, 5, 6, 7, 8]
    assert [n for _, n in changed(table, times[1] + dt.timedelta(microseconds=1), times[2])] == [
        3,
        4,
        5,
    ]


@feed.passes(
    "version from timestamp - before the first version",
    "A range of times before the first version is an error.",
)
def before_all(lake: Lake) -> None:
    first = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
    with refused("did not exist yet", NotFoundError):
        versions(lake).changes(first, first + dt.timedelta(1)).to_arrow()


@feed.differs(
    "filtering cdc metadata columns",
    "A frame of changes is filtered by version and by type.",
    "SQL does (WHERE); `Table.changes` filters by columns of the table, and its result by Arrow.",
)
def filter_feed(lake: Lake) -> None:
    table = versions(lake)
    table.delete([("id", "=", 4)])
    with refused("no column _change_type"):
        table.changes(1, filters=[("_change_type", "=", "delete")]).to_arrow()
    found = table.changes(1).to_arrow().filter(pc.field("_change_type") == "delete")
    assert found.select(["id", "_commit_version"]).to_pylist() == [{"id": 4, "_commit_version": 4}]


@feed.differs(
    "An error should be thrown when CDC is not enabled",
    "Changes can be read only of versions since the feed was switched on.",
    "there is nothing to switch on: changes are found in the segments of all retained versions.",
)
def no_switch(lake: Lake) -> None:
    assert len(changed(versions(lake), 1)) == 9


@feed.passes(
    "Repeated delete", "Deletes of several versions from one file are those of their versions."
)
def repeated_delete(lake: Lake) -> None:
    table = lake.table("id INT", *[(n,) for n in range(5)])
    table.delete([("id", "=", 3)])
    table.delete([("id", "=", 4)])
    table.delete([("id", "in", [0, 1, 2])])
    expected = {2: [3], 3: [4], 4: [0, 1, 2]}
    for start in expected:
        for end in range(start, 5):
            wanted = sorted(n for version in range(start, end + 1) for n in expected[version])
            assert changed(table, start, end) == [("delete", n) for n in wanted]


@feed.passes(
    "batch write: append, dynamic partition overwrite + CDF",
    "An overwrite of partitions deletes and inserts rows.",
)
def overwrite_feed(lake: Lake) -> None:
    table = lake.table("id INT, p STRING", (0, "a"), (1, "b"), (2, "b"), partitioned_by=["p"])
    table.overwrite_partitions(arrow(table, [(3, "b")]))
    assert changed(table, 2) == [("delete", 1, "b"), ("delete", 2, "b"), ("insert", 3, "b")]


@feed.differs(
    "table schema changed after dataframe with ending not specified",
    "A frame of changes fails if the schema has changed since it was made.",
    "a range ends at the version that was newest when it was asked for, in the schema of that version.",
)
def feed_and_alter(lake: Lake) -> None:
    table = versions(lake)
    asked = table.changes(3)
    alter(table, "RENAME COLUMN id TO key")
    assert sorted(asked.to_arrow()["id"].to_pylist()) == [6, 7, 8]


@feed.differs(
    "writes with metadata columns",
    "A table can't have a column _change_type while the feed is on.",
    "it can; whoever reads its changes leaves that column out.",
)
def reserved_name(lake: Lake) -> None:
    table = lake.table("id INT, _change_type STRING", (1, "mine"))
    assert rows(table) == [(1, "mine")]
    with refused("changes of the column _change_type can't be shown"):
        table.changes(1).to_arrow()
    assert table.changes(1, columns=["id"]).to_arrow()["_change_type"].to_pylist() == ["insert"]


@updated.differs(
    "CDC for point update",
    "An update has an image before and one after it.",
    "only a table with a primary key knows what a row became; in others it is a delete and an insert.",
)
def update_feed(lake: Lake) -> None:
    table = lake.table("id INT, v INT", (1, 1), (2, 2))
    table.update({"v": 9}, [("id", "=", 2)])
    assert changed(table, 2) == [("delete", 2, 2), ("insert", 2, 9)]
    keyed = lake.table("id INT, v INT", (1, 1), (2, 2), name="k", primary_key=["id"])
    keyed.update({"v": 9}, [("id", "=", 2)])
    assert changed(keyed, 2) == [("update_postimage", 2, 9), ("update_preimage", 2, 2)]


@updated.passes("CDC for repeated point update", "Each update of a row has its own images.")
def repeated_update(lake: Lake) -> None:
    table = lake.table("id INT, v INT", (1, 1), primary_key=["id"])
    table.update({"v": 2})
    table.update({"v": 3})
    assert changed(table, 2, 2) == [("update_postimage", 1, 2), ("update_preimage", 1, 1)]
    assert changed(table, 3, 3) == [("update_postimage", 1, 3), ("update_preimage", 1, 2)]
    assert changed(table, 2, 3, net=True) == [("update_postimage", 1, 3), ("update_preimage", 1, 1)]


@restores.passes(
    "restore a restore back to pre-restore version", "A restore is taken back by another one."
)
def restore_twice(lake: Lake) -> None:
    table = versions(lake)
    table.rollback(1)
    assert len(rows(table)) == 3
    table.rollback(3)
    assert len(rows(table)) == 9


@restores.passes(
    "restore to a restored version", "The version that a restore made can be restored."
)
def restore_restored(lake: Lake) -> None:
    table = versions(lake)
    restored = table.rollback(1)
    put(table, (99,))
    table.rollback(restored)
    assert rows(table) == [(0,), (1,), (2,)]


@restores.passes("cdf + RESTORE", "A restore reports what it brings back and takes away.")
def restore_feed(lake: Lake) -> None:
    table = versions(lake)
    table.delete([("id", "=", 0)])
    restored = table.rollback(1)
    taken = [("delete", n) for n in range(3, 9)]
    assert changed(table, restored, restored) == [*taken, ("insert", 0)]


@travel.passes("as of with versions", "Each version is read as it was.")
def as_of_version(lake: Lake) -> None:
    table = versions(lake)
    assert [len(rows(table, version=version)) for version in range(4)] == [0, 3, 6, 9]


@travel.passes(
    "as of timestamp in between commits should use commit before timestamp",
    "A time between two commits is that of the first.",
)
def as_of_between(lake: Lake) -> None:
    table = versions(lake)
    times = table.inspect.history().sort_by("version")["time"].to_pylist()
    assert len(rows(table, timestamp=times[2])) == 6
    assert len(rows(table, timestamp=times[2] - dt.timedelta(microseconds=1))) == 3


@travel.differs(
    "as of exact timestamp after last commit should fail",
    "A time after the last commit is refused.",
    "it is the newest version: nothing was committed between it and that time.",
)
def as_of_future(lake: Lake) -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    assert len(rows(versions(lake), timestamp=later)) == 9


@travel.passes("as of timestamp on invalid timestamp", "What is no time is refused.")
def as_of_nonsense(lake: Lake) -> None:
    with refused("i-am-no-time", InvalidRequestError):
        versions(lake).scan(timestamp="i-am-no-time")


@travel.passes(
    "time travel with schema changes - should instantiate old schema",
    "An earlier version has the columns of then.",
)
def as_of_schema(lake: Lake) -> None:
    table = versions(lake)
    alter(table, "ADD COLUMN v STRING DEFAULT 'x'")
    alter(table, "RENAME COLUMN id TO key")
    assert table.scan(version=3).to_arrow().column_names == ["id"]
    assert table.scan().to_arrow().column_names == ["key", "v"]


@travel.passes(
    "can't provide both version and timestamp in DataFrameReader",
    "A version and a time at once are refused.",
)
def both(lake: Lake) -> None:
    with refused("a version or a timestamp, not both", InvalidRequestError):
        versions(lake).scan(version=1, timestamp=dt.datetime.now(dt.UTC))


@travel.passes(
    "scans on different versions of same table are executed correctly",
    "Two versions are read at once.",
)
def two_versions(lake: Lake) -> None:
    table = versions(lake)
    old, new = table.scan(version=1), table.scan(version=2)
    assert (old.to_arrow().num_rows, new.to_arrow().num_rows) == (3, 6)


def numbered(lake: Lake, **options: Any) -> Table:
    return lake.table("id BIGINT, v STRING", identity={"id": Identity(**options)})


@identity.passes("default configuration", "Numbers start at 1, by steps of 1.")
def count_up(lake: Lake) -> None:
    table = numbered(lake)
    put(table, ("a",), ("b",), columns=["v"])
    put(table, ("c",), columns=["v"])
    assert rows(table) == [(1, "a"), (2, "b"), (3, "c")]


@identity.passes(
    "various configuration", "Numbers start and step as the table says, downwards too."
)
def count_down(lake: Lake) -> None:
    table = numbered(lake, start=-5, step=-10)
    put(table, ("a",), ("b",), columns=["v"])
    assert sorted(rows(table), reverse=True) == [(-5, "a"), (-15, "b")]


@identity.passes("unsupported step", "A step of 0 is refused.")
def no_step(lake: Lake) -> None:
    with refused("INCREMENT BY 0"):
        Identity(step=0)


@identity.passes("unsupported column type", "Only a BIGINT counts.")
def wrong_type(lake: Lake) -> None:
    with refused("id is no BIGINT"):
        lake.table("id STRING", identity={"id": Identity()})


@identity.differs(
    "restore - positive step",
    "After a restore, numbers go on from those of the restored version, and are given again.",
    "no number is given twice, also after a restore.",
)
def restore_numbers(lake: Lake) -> None:
    table = numbered(lake)
    put(table, ("a",), columns=["v"])
    first = table.version
    put(table, ("b",), columns=["v"])
    table.rollback(first)
    put(table, ("c",), columns=["v"])
    assert rows(table) == [(1, "a"), (3, "c")]


@identity.passes("clone", "A clone goes on to count.")
def clone_numbers(lake: Lake) -> None:
    put(numbered(lake), ("a",), ("b",), columns=["v"])
    clone = lake.catalog.clone_table("c", "t")
    put(clone, ("c",), columns=["v"])
    assert rows(clone) == [(1, "a"), (2, "b"), (3, "c")]


@ingestion.passes(
    "explicit insert not allowed", "GENERATED ALWAYS refuses numbers that rows bring."
)
def own_number(lake: Lake) -> None:
    with refused("id is GENERATED ALWAYS AS IDENTITY", InvalidRequestError):
        put(numbered(lake), (7, "a"))


@ingestion.passes(
    "explicit insert should not update high water mark",
    "GENERATED BY DEFAULT takes numbers, and does not count on from them.",
)
def by_default(lake: Lake) -> None:
    table = numbered(lake, always=False)
    put(table, (7, "a"))
    put(table, ("b",), columns=["v"])
    assert rows(table) == [(1, "b"), (7, "a")]


@synced.passes(
    "sync identity with values before start",
    "Synchronizing with numbers below the start changes nothing.",
)
def sync_below(lake: Lake) -> None:
    table = numbered(lake, always=False, start=100, step=2)
    put(table, (1, "a"), (99, "b"))
    table.sync_identity("id")
    put(table, ("c",), ("d",), columns=["v"])
    assert rows(table) == [(1, "a"), (100, "c"), (102, "d"), (99, "b")]


@synced.passes(
    "sync identity with values before and after start",
    "Synchronizing goes on after the greatest number, in step.",
)
def sync_above(lake: Lake) -> None:
    table = numbered(lake, always=False, start=100, step=2)
    put(table, (1, "a"), (101, "b"))
    table.sync_identity("id")
    put(table, ("c",), columns=["v"])
    assert sorted(rows(table)) == [(1, "a"), (101, "b"), (102, "c")]


@synced.passes(
    "sync identity with values before start and negative step",
    "Downwards, numbers above the start are before it.",
)
def sync_down(lake: Lake) -> None:
    table = numbered(lake, always=False, start=-10, step=-2)
    put(table, (1, "a"), (-9, "b"))
    table.sync_identity("id")
    put(table, ("c",), columns=["v"])
    assert sorted(rows(table)) == [(-10, "c"), (-9, "b"), (1, "a")]


@synced.passes(
    "alter table sync identity on non identity column error",
    "A column that counts nothing is not synchronized.",
)
def sync_other(lake: Lake) -> None:
    with refused("v is no identity column", InvalidRequestError):
        numbered(lake).sync_identity("v")


@generated.passes(
    "insert_into_by_name_not_provide_generated_columns",
    "A row without the column gets the computed value.",
)
def computed(lake: Lake) -> None:
    table = lake.table("ts TIMESTAMP, day DATE", generated={"day": "CAST(ts AS DATE)"})
    put(table, (dt.datetime(2026, 1, 31, 23, 59, tzinfo=dt.UTC),), columns=["ts"])
    assert rows(table, "day") == [(dt.date(2026, 1, 31),)]


@generated.passes(
    "insert_into_values_provide_all_columns",
    "A row may bring the value that is computed, and no other.",
)
def computed_given(lake: Lake) -> None:
    table = lake.table("a INT, b INT", generated={"b": "a + 1"})
    put(table, (1, 2))
    with refused("b is generated as a . 1", InvalidRequestError):
        put(table, (1, 3))
    assert rows(table) == [(1, 2)]


@generated.passes(
    "update_source_column_used_by_generated_column", "An UPDATE of a source computes anew."
)
def update_source(lake: Lake) -> None:
    table = lake.table("a INT, b INT", generated={"b": "a * 2"})
    put(table, (1,), columns=["a"])
    table.update({"a": 5})
    assert rows(table) == [(5, 10)]


@generated.passes(
    "update_generated_column_with_incorrect_value", "An UPDATE with another value is refused."
)
def update_computed(lake: Lake) -> None:
    table = lake.table("a INT, b INT", generated={"b": "a * 2"})
    put(table, (1,), columns=["a"])
    with refused("b is generated as a . 2", InvalidRequestError):
        table.update({"b": 5})
    assert rows(table) == [(1, 2)]


@generated.passes(
    "validateGeneratedColumns: generated columns should not refer to other generated columns",
    "A column is not computed from a computed one.",
)
def computed_of_computed(lake: Lake) -> None:
    with refused("b is a generated column, too"):
        lake.table("a INT, b INT, c INT", generated={"b": "a + 1", "c": "b + 1"})


@generated.passes(
    "validateGeneratedColumns: generated columns should not refer to non-existent columns",
    "Its sources must exist.",
)
def computed_of_missing(lake: Lake) -> None:
    with refused("there is no column foo"):
        lake.table("a INT, b INT", generated={"b": "foo + 1"})


@generated.passes(
    "the generation expression constraint should support null values",
    "What is computed from null is null.",
)
def computed_null(lake: Lake) -> None:
    table = lake.table("a INT, b INT", generated={"b": "a + 1"})
    put(table, (None, None))
    put(table, (None,), columns=["a"])
    assert rows(table) == [(None, None), (None, None)]


@clones.passes(
    "simple clone of source using table name",
    "A shallow clone reads the source's files, and is written by itself.",
)
def shallow(lake: Lake) -> None:
    table = versions(lake)
    clone = lake.catalog.clone_table("c", "t", shallow=True)
    put(clone, (99,))
    assert (len(rows(clone)), len(rows(table))) == (10, 9)


@clones.passes(
    "clone a time traveled source using version",
    "A clone begins as an earlier version of its source.",
)
def clone_version(lake: Lake) -> None:
    versions(lake)
    assert rows(lake.catalog.clone_table("c", "t", version=1)) == [(0,), (1,), (2,)]


@clones.passes(
    "clones take the set transactions of the source",
    "A clone knows the batches that its source has.",
)
def clone_batches(lake: Lake) -> None:
    table = lake.table("id INT")
    table.append(arrow(table, [(1,)]), batch=("job", 7))
    clone = lake.catalog.clone_table("c", "t")
    clone.append(arrow(table, [(2,)]), batch=("job", 7))
    assert rows(clone) == [(1,)]


@evolution.passes(
    "insert with extra top-level column",
    "A further column is added with evolution, and refused without.",
)
def extra_column(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    extra = pa.table({"a": pa.array([2], pa.int32()), "b": pa.array([3], pa.int32())})
    with refused("the table has no column b"):
        table.append(extra)
    table.append(extra, merge_schema=True)
    assert rows(table) == [(1, None), (2, 3)]


@evolution.passes(
    "insert with extra nested field",
    "A further field of a struct is added with evolution; null structs stay null.",
)
def extra_field(lake: Lake) -> None:
    table = lake.table("a INT, s STRUCT<x: INT>", (1, {"x": 1}), (2, None))
    row = arrow_of({"a": 3, "s": {"x": 2, "y": 3}})
    table.append(row, merge_schema=True)
    assert rows(table) == [(1, {"x": 1, "y": None}), (2, None), (3, {"x": 2, "y": 3})]


def arrow_of(row: dict[str, Any]) -> pa.Table:
    """One row whose integers are INT."""
    inner = pa.struct([(name, pa.int32()) for name in row["s"]])
    return pa.Table.from_pylist([row], schema=pa.schema([("a", pa.int32()), ("s", inner)]))


@conflicts.passes("append / append", "Two appends at once are both committed.")
def append_append(lake: Lake) -> None:
    table = lake.table("x INT")
    other = lake.catalog.load_table("t")
    put(other, (1,))
    put(table, (2,))
    assert rows(table) == [(1,), (2,)]


@conflicts.passes(
    "disjoint delete / read", "A DELETE of one partition is not disturbed by one of another."
)
def disjoint_deletes(lake: Lake) -> None:
    table = lake.table("x INT, y INT", (1, 1), (2, 2), partitioned_by=["x"])
    other = lake.catalog.load_table("t")
    other.delete([("x", "=", 2)])
    table.delete([("x", "=", 1), ("y", "=", 1)])
    assert rows(table) == []


@conflicts.passes(
    "delete / delete", "Two DELETEs of the same row at once: the second one finds it changed."
)
def delete_delete(lake: Lake) -> None:
    table = lake.table("x INT, y INT", (1, 1), (2, 2))
    other = lake.catalog.load_table("t")
    other.delete([("x", "=", 1)])
    with refused("removed by another commit", CommitConflictError):
        table.delete([("x", "=", 1)])
    assert rows(table) == [(2, 2)]


@conflicts.passes(
    "has SetTransaction version conflicts",
    "A batch that another process has written is not written again.",
)
def same_batch(lake: Lake) -> None:
    table = lake.table("x INT")
    other = lake.catalog.load_table("t")
    other.append(arrow(table, [(1,)]), batch=("job", 1))
    table.append(arrow(table, [(1,)]), batch=("job", 1))
    assert rows(table) == [(1,)]


@legacy.differs(
    "block append against metadata change",
    "An append fails if the schema has changed since it was planned.",
    "it is committed, with the schema that it was planned under: an ALTER stops no writer.",
)
def append_alter(lake: Lake) -> None:
    table = lake.table("x INT, y INT", (1, 1))
    other = lake.catalog.load_table("t")
    alter(other, "RENAME COLUMN y TO z")
    alter(other, "ADD COLUMN n INT DEFAULT 7")
    put(table, (2, 2))
    assert rows(table, "x", "z", "n") == [(1, 1, 7), (2, 2, 7)]


@legacy.passes(
    "allow blind-append against any data change", "An append is committed after a DELETE."
)
def append_delete(lake: Lake) -> None:
    table = lake.table("x INT", (1,))
    other = lake.catalog.load_table("t")
    other.delete(None)
    put(table, (2,))
    assert rows(table) == [(2,)]


@legacy.passes(
    "block concurrent commit when read partition was appended to by concurrent write",
    "A DELETE that is serializable fails if rows came into what it read.",
)
def delete_append(lake: Lake) -> None:
    table = lake.table(
        "x INT, y INT", (1, 1), partitioned_by=["x"], properties={"isolation": "serializable"}
    )
    other = lake.catalog.load_table("t")
    put(other, (1, 2))
    with refused("isolation=serializable", CommitConflictError):
        table.delete([("x", "=", 1), ("y", "<", 5)])
    assert rows(table) == [(1, 1), (1, 2)]


@legacy.passes(
    "allow concurrent replaceWhere disjoint partitions initial empty",
    "Two writers replace different empty partitions.",
)
def replace_disjoint(lake: Lake) -> None:
    table = lake.table("x INT", partitioned_by=["x"], properties={"isolation": "serializable"})
    other = lake.catalog.load_table("t")
    other.overwrite_where(arrow(table, [(1,)]), [("x", "=", 1)])
    table.overwrite_where(arrow(table, [(2,)]), [("x", "=", 2)])
    assert rows(table) == [(1,), (2,)]


@legacy.passes(
    "block concurrent replaceWhere initial empty",
    "Two writers replace the same empty partition: one is refused.",
)
def replace_empty(lake: Lake) -> None:
    table = lake.table("x INT", partitioned_by=["x"], properties={"isolation": "serializable"})
    other = lake.catalog.load_table("t")
    other.overwrite_where(arrow(table, [(1,)]), [("x", "=", 1)])
    with refused("isolation=serializable", CommitConflictError):
        table.overwrite_where(arrow(table, [(1,)]), [("x", "=", 1)])
    assert rows(table) == [(1,)]


@legacy.passes(
    "no data change: allow data rearrange when new files concurrently added",
    "A compaction is committed after an append.",
)
def compact_append(lake: Lake) -> None:
    table = versions(lake)
    other = lake.catalog.load_table("t")
    put(other, (99,))
    table.maintenance.compact(strategy="full")
    assert len(rows(table)) == 10


@legacy.passes(
    "no data change: block data rearrange when concurrently delete removes same file",
    "A compaction does not bring back rows that were deleted meanwhile.",
)
def compact_delete(lake: Lake) -> None:
    table = versions(lake)
    other = lake.catalog.load_table("t")
    other.delete([("id", "=", 0)])
    table.maintenance.compact(strategy="full")
    assert [n for (n,) in rows(table)] == list(range(1, 9))


@vacuums.passes("don't delete data in a non-reservoir", "Files whose names are not ours are left.")
def vacuum_foreign(lake: Lake) -> None:
    table = versions(lake)
    foreign = next(lake.warehouse.rglob("*.parquet")).with_name("notes.txt")
    foreign.write_text("mine")
    table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert foreign.read_text() == "mine"


@vacuums.passes(
    "additional retention duration check with vacuum command",
    "A short retention is refused unless it is forced.",
)
def vacuum_short(lake: Lake) -> None:
    with refused("shorter than 1:00:00", InvalidRequestError):
        versions(lake).maintenance.vacuum(NOW)


@vacuums.passes(
    "correctness test", "Files that no retained version needs go; those that one needs stay."
)
def vacuum_right(lake: Lake) -> None:
    table = versions(lake)
    table.delete([("id", "<", 3)])
    put(table, (10,))
    table.maintenance.expire(NOW, dry_run=False, force=True)
    table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert len(list(lake.warehouse.rglob("data/**/*.parquet"))) == segments(table) == 3
    assert [n for (n,) in rows(table)] == [10, 3, 4, 5, 6, 7, 8]


@protocol.passes(
    "Append-only Tables", "Commits must not change or remove rows; a compaction may rearrange them."
)
def append_only(lake: Lake) -> None:
    table = lake.table("id INT", (1,), properties={"append_only": "true"})
    put(table, (2,))
    for change in (
        lambda: table.delete([("id", "=", 1)]),
        table.truncate,
        lambda: table.update({"id": 5}),
    ):
        with refused("rows can only be added"):
            change()
    table.maintenance.compact(strategy="full")
    assert (rows(table), segments(table)) == ([(1,), (2,)], 1)


@protocol.differs(
    "Default Columns: a new column",
    "ADD COLUMN with a DEFAULT is refused.",
    "it is accepted: old rows show the default that the column was added with.",
)
def default_of_new(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    alter(table, "ADD COLUMN c INT DEFAULT 42")
    assert rows(table) == [(1, 42)]


@protocol.passes(
    "Default Columns: a column that is there",
    "SET DEFAULT is for rows to come; nulls that rows bring stay nulls.",
)
def default_of_old(lake: Lake) -> None:
    table = lake.table("id INT, c INT", (1, None))
    alter(table, "ALTER COLUMN c SET DEFAULT 42")
    put(table, (2, None))
    put(table, (3,), columns=["id"])
    assert rows(table) == [(1, None), (2, None), (3, 42)]


@protocol.passes(
    "Transaction Identifiers",
    "The last batch of an application is known; the same and earlier ones are not written again.",
)
def batches(lake: Lake) -> None:
    table = lake.table("id INT")
    for number, value in ((1, 1), (2, 2), (1, 3), (2, 4), (3, 5)):
        table.append(arrow(table, [(value,)]), batch=("stream", number))
    assert rows(table) == [(1,), (2,), (5,)]


@protocol.passes(
    "Per-file Statistics", "Files are skipped by least and greatest values and numbers of nulls."
)
def statistics(lake: Lake) -> None:
    table = lake.table("id INT, s STRING", (1, "a"), (2, None))
    put(table, (8, "z"), (9, "z"))
    assert read_segments(table, "id", ">", 5) == 1
    assert read_segments(table, "s", "is null", None) == 1
    assert read_segments(table, "s", "<", "a") == 0


@protocol.passes(
    "Generated Columns", "A written value must be the computed one, where null equals null."
)
def generated_rule(lake: Lake) -> None:
    table = lake.table("a INT, b INT", generated={"b": "a * 2"})
    put(table, (1, 2), (None, None))
    with refused("b is generated as a . 2"):
        put(table, (1, None))
    assert len(rows(table)) == 2


protocol.not_applicable(
    "Column Mapping",
    "Column mapping is switched on by a property, and raises the protocol of the table.",
    "columns have IDs in every table; there is nothing to switch on.",
)
protocol.not_applicable(
    "Reader Requirements for Deletion Vectors",
    "A table may have vectors beside its files, or within its log, by a feature.",
    "marks stand in the log; the first one gives the table a feature, which older readers refuse.",
)
vectors.not_applicable(
    "throw error when non-pinned TahoeFileIndex snapshot is used",
    "An index of files must be pinned to a snapshot.",
    "a scan always belongs to one version.",
)
