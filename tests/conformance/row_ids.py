"""Situations of Iceberg's row lineage, Delta's row tracking and DuckLake's row IDs."""

from __future__ import annotations

from conformance.lake import Lake, alter, changed, put, refused, rows, segments
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
spec = Source("iceberg", "format/spec.md", SITUATIONS)
TRACKING = "spark/src/test/scala/org/apache/spark/sql/delta/rowid/{}.scala"
ids = Source("delta", TRACKING.format("RowIdSuite"), SITUATIONS)
updates = Source("delta", TRACKING.format("RowTrackingUpdateSuite"), SITUATIONS)
deletes = Source("delta", TRACKING.format("RowTrackingDeleteSuite"), SITUATIONS)
compactions = Source("delta", TRACKING.format("RowTrackingCompactionSuite"), SITUATIONS)
duck = Source("ducklake", "test/sql", SITUATIONS)
ROW_IDS = {"row_ids": "true"}


def tracked(lake: Lake, **more: str) -> Table:
    """The rows (1, 10), (2, 20) and (3, 30), which have IDs."""
    return lake.table("k INT, v INT", (1, 10), (2, 20), (3, 30), properties={**ROW_IDS, **more})


def identified(table: Table) -> dict[int, tuple[int, int]]:
    """The ID of each row and the version that last wrote it, by its column k."""
    return {key: (row_id, at) for row_id, at, key in rows(table, "_row_id", "_row_updated", "k")}


@spec.passes(
    "Row lineage assignment: a row that is modified",
    "A changed row keeps its ID, and its sequence number is that of the change.",
)
def modified(lake: Lake) -> None:
    for way in ("copy", "mark"):
        table = lake.table("k INT, v INT", (1, 10), (2, 20), name=way, properties=ROW_IDS)
        alter(table, f"SET TBLPROPERTIES ('row_changes' = '{way}')")
        before = identified(table)
        version = table.update({"v": 0}, [("k", "=", 2)])
        assert identified(table) == {1: before[1], 2: (before[2][0], version)}


@spec.passes(
    "Row lineage assignment: a row that is moved", "A row that is only copied keeps both numbers."
)
def moved(lake: Lake) -> None:
    table = tracked(lake)
    put(table, (4, 40))
    before = identified(table)
    table.maintenance.compact(strategy="full")
    assert segments(table) == 1
    assert identified(table) == before


@spec.passes(
    "First Row ID Inheritance",
    "The ID of a new row is the first one of its file, and its position.",
)
def inherited(lake: Lake) -> None:
    table = tracked(lake)
    put(table, (4, 40), (5, 50))
    found = identified(table)
    assert [found[key][0] for key in (2, 3)] == [found[1][0] + 1, found[1][0] + 2]
    assert found[5][0] == found[4][0] + 1
    assert len({row_id for row_id, _ in found.values()}) == 5


@ids.passes(
    "row ids are assigned when they are enabled", "Each row has an ID that no other row has."
)
def assigned(lake: Lake) -> None:
    table = tracked(lake)
    other = lake.catalog.load_table("t")
    put(other, (4, 40))
    put(table, (5, 50))
    assert len({row_id for row_id, _ in identified(table).values()}) == 5


@ids.differs(
    "ALTER TABLE cannot enable Row IDs on existing table",
    "Row IDs are declared when a table is created, or filled in by a backfill.",
    "ALTER gives IDs to the rows that are there, and rewrites nothing.",
)
def enabled_later(lake: Lake) -> None:
    table = lake.table("k INT, v INT", (1, 10), (2, 20))
    before = table.inspect.segments()["path"].to_pylist()
    alter(table, "SET TBLPROPERTIES ('row_ids' = 'true')")
    assert len({row_id for row_id, _ in identified(table).values()}) == 2
    assert table.inspect.segments()["path"].to_pylist() == before


@ids.differs(
    "row ids can be disabled",
    "The property is set to false.",
    "it can't be unset: IDs that a reader has seen would be given again.",
)
def disabled(lake: Lake) -> None:
    table = tracked(lake)
    for change in ("SET TBLPROPERTIES ('row_ids' = 'false')", "UNSET TBLPROPERTIES ('row_ids')"):
        with refused("row_ids"):
            alter(table, change)


@ids.passes("RESTORE retains high watermark", "No ID is given again after a restore.")
def restored(lake: Lake) -> None:
    table = tracked(lake)
    first = table.version
    put(table, (4, 40))
    given = {row_id for row_id, _ in identified(table).values()}
    table.rollback(first)
    put(table, (5, 50))
    assert identified(table)[5][0] not in given


@updates.passes(
    "Preserves row IDs across multiple updates", "A row that is updated several times keeps its ID."
)
def updated_twice(lake: Lake) -> None:
    table = tracked(lake)
    before = identified(table)
    table.update({"v": 0})
    version = table.update({"v": 1}, [("k", "=", 3)])
    found = identified(table)
    assert {key: row_id for key, (row_id, _) in found.items()} == {
        key: row_id for key, (row_id, _) in before.items()
    }
    assert [found[key][1] for key in (2, 3)] == [version - 1, version]


@deletes.passes("Multiple DELETEs preserve Row IDs", "Rows that are left keep their IDs.")
def deleted_twice(lake: Lake) -> None:
    table = tracked(lake)
    before = identified(table)
    table.delete([("k", "=", 1)])
    table.delete([("k", "=", 3)])
    assert identified(table) == {2: before[2]}


@deletes.passes(
    "Insert after DELETE on whole table",
    "Rows that come after all others went get IDs of their own.",
)
def inserted_after(lake: Lake) -> None:
    table = tracked(lake)
    given = {row_id for row_id, _ in identified(table).values()}
    table.delete(None)
    put(table, (1, 10))
    assert identified(table)[1][0] not in given


@compactions.passes(
    "unpartitioned table with stable row IDs",
    "A compaction keeps IDs that earlier rewrites have kept.",
)
def compacted_again(lake: Lake) -> None:
    table = tracked(lake, row_changes="copy")
    table.update({"v": 0}, [("k", "=", 2)])
    put(table, (4, 40))
    before = identified(table)
    table.maintenance.compact(strategy="full")
    assert identified(table) == before


@duck.passes("rowid/ducklake_row_id.test", "Rows are read and filtered by their IDs.")
def by_row_id(lake: Lake) -> None:
    table = tracked(lake)
    row_id = identified(table)[2][0]
    found = table.scan(["_row_id", "k"], [("_row_id", "=", row_id)]).to_arrow().to_pylist()
    assert found == [{"_row_id": row_id, "k": 2}]


@duck.passes(
    "rowid/ducklake_row_id_update.test", "Updates keep row IDs, and changes show both images."
)
def update_feed(lake: Lake) -> None:
    table = tracked(lake)
    before = identified(table)
    table.update({"v": 0}, [("k", "=", 2)])
    assert identified(table)[2][0] == before[2][0]
    assert changed(table, 2) == [("update_postimage", 2, 0), ("update_preimage", 2, 20)]
