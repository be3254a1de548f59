"""Situations of Delta Lake: changes between versions, restores, time travel, and clones."""

from __future__ import annotations

import datetime as dt

import pyarrow.compute as pc

from conformance.lake import (
    Lake,
    alter,
    arrow,
    changed,
    put,
    refused,
    rows,
    three_versions,
)
from conformance.registry import Situation, Source
from versioned_catalog import (
    InvalidRequestError,
    NotFoundError,
)

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
feed = Source("delta", f"{SPARK}/DeltaCDCSuite.scala", SITUATIONS)
updated = Source("delta", f"{SPARK}/cdc/UpdateCDCSuite.scala", SITUATIONS)
restores = Source("delta", f"{SPARK}/RestoreTableSuiteBase.scala", SITUATIONS)
travel = Source("delta", f"{SPARK}/DeltaTimeTravelSuite.scala", SITUATIONS)
clones = Source("delta", f"{SPARK}/CloneTableSuiteBase.scala", SITUATIONS)


@feed.passes(
    "start version and end version are the same",
    "A range of one version has the changes of that version.",
)
def one_version(lake: Lake) -> None:
    assert changed(three_versions(lake), 2, 2) == [("insert", 3), ("insert", 4), ("insert", 5)]


@feed.passes(
    "start version is provided and no end version",
    "A range without end goes to the newest version.",
)
def no_end(lake: Lake) -> None:
    assert [n for _, n in changed(three_versions(lake), 2)] == [3, 4, 5, 6, 7, 8]


@feed.passes("end version < start version", "A range that ends before it starts is refused.")
def end_first(lake: Lake) -> None:
    with refused("changes from version 3 to 1 can't be read", InvalidRequestError):
        three_versions(lake).changes(3, 1).to_arrow()


@feed.passes(
    "version from timestamp - between two valid versions",
    "A range of times between two versions has no changes.",
)
def between_versions(lake: Lake) -> None:
    table = three_versions(lake)
    times = table.inspect.history().sort_by("version")["time"].to_pylist()
    little = dt.timedelta(microseconds=1)
    assert changed(table, times[1] + little, times[2] - little) == []


@feed.passes(
    "version from timestamp - one version in between",
    "A range of times with one version in it has the changes of that version.",
)
def by_times(lake: Lake) -> None:
    table = three_versions(lake)
    times = table.inspect.history().sort_by("version")["time"].to_pylist()
    little = dt.timedelta(microseconds=1)
    assert [n for _, n in changed(table, times[1] + little, times[2] + little)] == [3, 4, 5]


@feed.passes(
    "changes - start and end are timestamps",
    "Versions at the two times of a range are in the range.",
)
def at_times(lake: Lake) -> None:
    table = three_versions(lake)
    times = table.inspect.history().sort_by("version")["time"].to_pylist()
    assert [n for _, n in changed(table, times[2], times[3])] == [3, 4, 5, 6, 7, 8]


@feed.passes(
    "version from timestamp - before the first version",
    "A range of times before the first version is an error.",
)
def before_all(lake: Lake) -> None:
    first = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
    with refused("did not exist yet", NotFoundError):
        three_versions(lake).changes(first, first + dt.timedelta(1)).to_arrow()


@feed.differs(
    "filtering cdc metadata columns",
    "A frame of changes is filtered by version and by type.",
    "SQL does (WHERE); `Table.changes` filters by columns of the table, and its result by Arrow.",
)
def filter_feed(lake: Lake) -> None:
    table = three_versions(lake)
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
    assert len(changed(three_versions(lake), 1)) == 9


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
    "A frame of changes without an end leaves out a column that came later, and shows later rows.",
    "a range ends at the version that was newest when it was asked for, in the schema of that version.",
)
def feed_and_alter(lake: Lake) -> None:
    table = three_versions(lake)
    asked = table.changes(3)
    alter(table, "ADD COLUMN v STRING")
    put(table, (9, "x"))
    assert sorted(asked.to_arrow()["id"].to_pylist()) == [6, 7, 8]
    assert "v" not in asked.to_arrow().column_names


@feed.differs(
    "writes with metadata columns",
    "Columns of the feed's names can't be written to a table whose feed is on.",
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
    "without a primary key or row IDs, nothing says what a row became: it is a delete and an insert.",
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
    table = three_versions(lake)
    table.rollback(1)
    assert len(rows(table)) == 3
    table.rollback(3)
    assert len(rows(table)) == 9


@restores.passes(
    "restore to a restored version", "The version that a restore made can be restored."
)
def restore_restored(lake: Lake) -> None:
    table = three_versions(lake)
    restored = table.rollback(1)
    put(table, (99,))
    table.rollback(restored)
    assert rows(table) == [(0,), (1,), (2,)]


@restores.passes("cdf + RESTORE", "A restore reports what it brings back and takes away.")
def restore_feed(lake: Lake) -> None:
    table = three_versions(lake)
    table.delete([("id", "=", 0)])
    restored = table.rollback(1)
    taken = [("delete", n) for n in range(3, 9)]
    assert changed(table, restored, restored) == [*taken, ("insert", 0)]


@travel.passes("as of with versions", "Each version is read as it was.")
def as_of_version(lake: Lake) -> None:
    table = three_versions(lake)
    assert [len(rows(table, version=version)) for version in range(4)] == [0, 3, 6, 9]


@travel.passes(
    "as of timestamp in between commits should use commit before timestamp",
    "A time between two commits is that of the first.",
)
def as_of_between(lake: Lake) -> None:
    table = three_versions(lake)
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
    assert len(rows(three_versions(lake), timestamp=later)) == 9


@travel.passes("as of timestamp on invalid timestamp", "What is no time is refused.")
def as_of_nonsense(lake: Lake) -> None:
    with refused("i-am-no-time", InvalidRequestError):
        three_versions(lake).scan(timestamp="i-am-no-time")


@travel.passes(
    "time travel with schema changes - should instantiate old schema",
    "An earlier version has the columns of then.",
)
def as_of_schema(lake: Lake) -> None:
    table = three_versions(lake)
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
        three_versions(lake).scan(version=1, timestamp=dt.datetime.now(dt.UTC))


@travel.passes(
    "scans on different versions of same table are executed correctly",
    "Two versions are read at once.",
)
def two_versions(lake: Lake) -> None:
    table = three_versions(lake)
    old, new = table.scan(version=1), table.scan(version=2)
    assert (old.to_arrow().num_rows, new.to_arrow().num_rows) == (3, 6)


@clones.passes(
    "simple clone of source using table name",
    "A shallow clone reads the source's files, and is written by itself.",
)
def shallow(lake: Lake) -> None:
    table = three_versions(lake)
    clone = lake.catalog.clone_table("c", "t", shallow=True)
    put(clone, (99,))
    assert (len(rows(clone)), len(rows(table))) == (10, 9)


@clones.passes(
    "clone a time traveled source using version",
    "A clone begins as an earlier version of its source.",
)
def clone_version(lake: Lake) -> None:
    three_versions(lake)
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
