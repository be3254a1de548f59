"""Situations of Delta Lake: writers at once, clean-up, and its protocol."""

from __future__ import annotations

import datetime as dt

from conformance.lake import (
    Lake,
    alter,
    arrow,
    put,
    read_segments,
    refused,
    rows,
    segments,
    three_versions,
)
from conformance.registry import Situation, Source
from versioned_catalog import (
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
conflicts = Source("delta", f"{SPARK}/OptimisticTransactionSuite.scala", SITUATIONS)
legacy = Source("delta", f"{SPARK}/OptimisticTransactionLegacyTests.scala", SITUATIONS)
vacuums = Source("delta", f"{SPARK}/DeltaVacuumSuite.scala", SITUATIONS)
protocol = Source("delta", "PROTOCOL.md", SITUATIONS)


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


@legacy.differs(
    "block concurrent set-txns with the same app id",
    "Of two writers of one application at once, the second one is refused.",
    "it finds that its batch, or a later one, is written, and writes nothing.",
)
def same_batch(lake: Lake) -> None:
    table = lake.table("x INT")
    other = lake.catalog.load_table("t")
    other.append(arrow(table, [(1,)]), batch=("job", 1))
    table.append(arrow(table, [(1,)]), batch=("job", 1))
    assert rows(table) == [(1,)]


@legacy.passes(
    "allow concurrent set-txns with different app ids",
    "Two applications write their batches at once.",
)
def two_batches(lake: Lake) -> None:
    table = lake.table("x INT")
    other = lake.catalog.load_table("t")
    other.append(arrow(table, [(1,)]), batch=("job", 1))
    table.append(arrow(table, [(2,)]), batch=("other", 1))
    assert rows(table) == [(1,), (2,)]


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
    table = three_versions(lake)
    other = lake.catalog.load_table("t")
    put(other, (99,))
    table.maintenance.compact(strategy="full")
    assert len(rows(table)) == 10


@legacy.differs(
    "no data change: block data rearrange when concurrently delete removes same file",
    "A compaction fails if one of its files was deleted meanwhile.",
    "it leaves out the files that have changed, and is committed for the others.",
)
def compact_delete(lake: Lake) -> None:
    table = three_versions(lake)
    other = lake.catalog.load_table("t")
    other.delete([("id", "=", 0)])
    table.maintenance.compact(strategy="full")
    assert [n for (n,) in rows(table)] == list(range(1, 9))


NOW = dt.timedelta(0)


@vacuums.passes(
    "don't delete data in a non-reservoir", "A vacuum of a folder that is no table is refused."
)
def vacuum_foreign(lake: Lake) -> None:
    folder = lake.warehouse / "no-table"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    with refused("there is no table at", NotFoundError):
        lake.catalog.vacuum_path(folder, NOW, dry_run=False, force=True)
    assert (folder / "notes.txt").read_text() == "mine"


@vacuums.differs(
    "invisible files and dirs",
    "A vacuum deletes files that the log does not know, but for hidden ones.",
    "files whose names are not ours are left, and reported.",
)
def vacuum_unknown(lake: Lake) -> None:
    table = three_versions(lake)
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
        three_versions(lake).maintenance.vacuum(NOW)


@vacuums.passes(
    "correctness test", "Files that no retained version needs go; those that one needs stay."
)
def vacuum_right(lake: Lake) -> None:
    table = three_versions(lake)
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
