"""Situations of Apache Iceberg: writers at once, references to snapshots, and expiry."""

from __future__ import annotations

import datetime as dt

from conformance.lake import (
    Lake,
    arrow,
    changed,
    ids,
    put,
    refused,
    rows,
    shown,
)
from conformance.registry import Situation, Source
from versioned_catalog import CommitConflictError, InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
CORE = "core/src/test/java/org/apache/iceberg"
overwrite = Source("iceberg", f"{CORE}/TestOverwriteWithValidation.java", SITUATIONS)
partitions = Source("iceberg", f"{CORE}/TestReplacePartitions.java", SITUATIONS)
refs = Source("iceberg", f"{CORE}/TestSnapshotManager.java", SITUATIONS)
expiry = Source("iceberg", f"{CORE}/TestRemoveSnapshots.java", SITUATIONS)
commits = Source("iceberg", f"{CORE}/TestTransaction.java", SITUATIONS)


def days(lake: Lake, *options: tuple[str, str]) -> tuple[Table, Table]:
    """A table of two days, and the same as another writer sees it."""
    table = lake.table("day INT, id INT", (1, 1), partitioned_by=["day"], properties=dict(options))
    put(table, (2, 2))
    return table, lake.catalog.load_table("t")


@overwrite.passes(
    "testOverwriteTableNotValidated", "An overwrite replaces the files that match its filter."
)
def overwritten(lake: Lake) -> None:
    table, _ = days(lake)
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 20)]


SERIALIZABLE = ("isolation", "serializable")


@overwrite.passes(
    "testOverwriteCompatibleAdditionValidated",
    "An overwrite of one day is not disturbed by rows that are added to another meanwhile.",
)
def compatible_addition(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(other, (1, 10))
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (1, 10), (2, 20)]


@overwrite.passes(
    "testOverwriteIncompatibleAdditionValidated",
    "An overwrite of one day fails if rows were added to that day meanwhile, if it is serializable.",
)
def incompatible_addition(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(other, (2, 22))
    with refused("looked for .isolation=serializable", CommitConflictError):
        table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 2), (2, 22)]


@overwrite.passes(
    "testOverwriteIncompatibleDeletionValidated",
    "An overwrite fails if the file that it replaces was deleted meanwhile.",
)
def incompatible_deletion(lake: Lake) -> None:
    table, other = days(lake)
    other.delete([("day", "=", 2)])
    with refused("removed by another commit", CommitConflictError):
        table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1)]


@overwrite.passes(
    "testOverwriteCompatibleDeletionValidated",
    "An overwrite of one day is not disturbed by a deletion of another one.",
)
def compatible_deletion(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    other.delete([("day", "=", 1)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(2, 20)]


@overwrite.passes(
    "testOverwriteCompatibleRewriteAllowed",
    "An overwrite of one day is not disturbed by a compaction of another.",
)
def compatible_rewrite(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(table, (1, 10))
    other.refresh().maintenance.compact(strategy="full", filters=[("day", "=", 1)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (1, 10), (2, 20)]


@overwrite.passes(
    "testConcurrentNonConflictingPositionDeletes",
    "An overwrite of one day is not disturbed by rows that are marked in another file meanwhile.",
)
def marks_elsewhere(lake: Lake) -> None:
    table, other = days(lake, ("row_changes", "mark"))
    put(other, (1, 10))
    table.refresh()
    other.refresh().delete([("id", "=", 10)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 20)]


@partitions.passes(
    "testReplaceOnePartition", "Partitions that new rows are in are replaced, and others stay."
)
def replace_partition(lake: Lake) -> None:
    table, _ = days(lake)
    table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 1), (2, 20)]


@partitions.passes(
    "testReplaceWithUnpartitionedTable", "Without a partitioning, all rows are replaced."
)
def replace_unpartitioned(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.overwrite_partitions(arrow(table, [(2,)]))
    assert rows(table) == [(2,)]


@partitions.passes(
    "testConcurrentReplaceNoConflict", "Two writers replace different partitions at once."
)
def replace_two(lake: Lake) -> None:
    table, other = days(lake)
    other.overwrite_partitions(arrow(table, [(1, 10)]))
    table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 10), (2, 20)]


@partitions.passes(
    "testConcurrentReplaceConflict", "Two writers replace one partition at once: one is refused."
)
def replace_same(lake: Lake) -> None:
    table, other = days(lake)
    other.overwrite_partitions(arrow(table, [(2, 22)]))
    with refused("removed by another commit", CommitConflictError):
        table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 1), (2, 22)]


@partitions.passes(
    "testValidateWithNullPartition",
    "Two writers replace the partition of nulls at once: one is refused.",
)
def replace_null(lake: Lake) -> None:
    table, other = days(lake)
    put(table, (None, 5))
    other.refresh().overwrite_partitions(arrow(table, [(None, 50)]))
    with refused("removed by another commit", CommitConflictError):
        table.overwrite_partitions(arrow(table, [(None, 51)]))
    assert rows(table) == [(1, 1), (2, 2), (None, 50)]


@refs.passes(
    "testCreateBranch", "A branch begins at a snapshot, and commits to it leave the table alone."
)
def branch(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    assert rows(table) == [(1,)]
    assert rows(table.branch("b1")) == [(1,), (2,)]


@refs.passes("testCreateBranchOnEmptyTable", "A branch begins on a table without rows.")
def branch_of_empty(lake: Lake) -> None:
    table = lake.table("id INT")
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    assert rows(table) == []
    assert rows(table.branch("b1")) == [(2,)]


@refs.passes("testCreateBranchFailsWhenRefAlreadyExists", "A second branch of one name is refused.")
def branch_twice(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    with refused("has a branch 'b1' already"):
        table.create_branch("b1")


@refs.passes("testCreateTag", "A tag names a snapshot, and still does after further commits.")
def tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    assert rows(table, version="t1") == [(1,)]


@refs.differs(
    "testCreateTagFailsWhenRefAlreadyExists",
    "A second tag of one name is refused.",
    "`set_tag` moves a tag that exists; CREATE TAG in SQL refuses one, as Iceberg does.",
)
def tag_twice(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    table.set_tag("t1")
    assert rows(table, version="t1") == [(1,), (2,)]


@refs.passes("testRemovingNonExistingTagFails", "A tag that does not exist can't be removed.")
def drop_missing_tag(lake: Lake) -> None:
    with refused("no tag 'none'", NotFoundError):
        lake.table("id INT", (1,)).drop_tag("none")


@refs.passes("testRemovingNonExistingBranchFails", "A branch that does not exist can't be removed.")
def drop_missing_branch(lake: Lake) -> None:
    with refused("no branch 'none'", NotFoundError):
        lake.table("id INT", (1,)).drop_branch("none")


@refs.passes("testRemovingMainBranchFails", "The main branch can't be removed.")
def drop_main(lake: Lake) -> None:
    with refused("no branch 'main'"):
        lake.table("id INT", (1,)).drop_branch("main")


@refs.passes("testFastForward", "The table takes over what its branch has committed.")
def fast_forward(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    table.merge_branch("b1", fast_forward=True)
    assert rows(table) == [(1,), (2,)]


@refs.passes(
    "testFastForwardWhenFromIsNotAncestorFails",
    "A fast-forward is refused if the table has gone on meanwhile.",
)
def no_fast_forward(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    put(table, (3,))
    with refused("has changed since the branch 'b1' began"):
        table.merge_branch("b1", fast_forward=True)
    assert rows(table) == [(1,), (3,)]


@refs.passes("testReplaceTag", "A tag is moved to another snapshot.")
def move_tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    table.set_tag("t1")
    assert table.tags["t1"] == 3  # after the creation, a row, the tag, another row


@refs.passes(
    "testAttemptToRollbackToCurrentSnapshot", "A rollback to the current snapshot changes no rows."
)
def rollback_to_now(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.rollback(table.version)
    assert rows(table) == [(1,)]


@refs.passes(
    "testCreateReferencesAndRollback", "A rollback moves the table, and not its branches and tags."
)
def rollback_keeps_refs(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.create_branch("b1")
    table.set_tag("t1", 2)
    table.rollback(1)
    assert rows(table) == [(1,)]
    assert rows(table.branch("b1")) == [(1,), (2,)]
    assert rows(table, version="t1") == [(1,), (2,)]


NOW = dt.timedelta(0)


@expiry.passes(
    "testExpireOlderThan", "Snapshots before a time are expired; the newest stays and is read."
)
def expire(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.maintenance.expire(NOW, dry_run=False, force=True)
    assert rows(table) == [(1,), (2,)]
    with refused("expired", NotFoundError):
        table.refresh().scan(version=1)


@expiry.passes(
    "testFailRemovingSnapshotWhenStillReferencedByTag",
    "A snapshot that a tag names is not expired.",
)
def expire_keeps_tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    table.truncate()
    put(table, (2,))
    table.maintenance.expire(NOW, dry_run=False, force=True)
    table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert rows(table, version="t1") == [(1,)]


@expiry.passes(
    "testRetainNLargerThanCurrentSnapshots",
    "If more snapshots are kept than there are, none is expired.",
)
def expire_nothing(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.maintenance.expire(NOW, 100, dry_run=False, force=True)
    assert rows(table, version=1) == [(1,)]


@expiry.passes("testRetainZeroSnapshots", "Keeping no snapshot at all is refused.")
def expire_all(lake: Lake) -> None:
    with refused("keep_last", InvalidRequestError):
        lake.table("id INT", (1,)).maintenance.expire(NOW, 0, force=True)


@commits.passes(
    "testMultipleOperationTransaction", "Several changes of a schema are committed together."
)
def several_changes(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    before = table.version
    table.alter().add_column("a", "INT").add_column("b", "INT").set_property("my.key", "x").commit()
    assert table.version == before + 1
    assert (shown(table), table.properties["my.key"]) == ("id INT, a INT, b INT", "x")


@commits.passes("testEmptyTransaction", "A transaction without changes makes no commit.")
def no_change(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    assert table.delete([("id", "=", 99)]) == table.version == 1


@commits.differs(
    "testTransactionRetrySchemaUpdate",
    "Two writers add different columns at once: the second one is refused.",
    "both columns are added: a change is checked against the schema of now, and conflicts only with "
    "changes of the same columns.",
)
def two_schema_changes(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    other = lake.catalog.load_table("t")
    other.alter().add_column("a", "INT").commit()
    table.alter().add_column("b", "INT").commit()
    assert shown(table) == "id INT, a INT, b INT"
    assert ids(table, "a", "b") == [2, 3]


@commits.passes(
    "testTransactionRetryMergeAppend", "An append is committed after one that came before it."
)
def two_appends(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    other = lake.catalog.load_table("t")
    put(other, (2,))
    put(table, (3,))
    assert rows(table) == [(1,), (2,), (3,)]
    assert changed(table, 3) == [("insert", 3)]
