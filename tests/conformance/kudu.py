"""Situations of Apache Kudu."""

from __future__ import annotations

from conformance.lake import Lake, alter, arrow, put, refused, rows, segments
from conformance.registry import Situation, Source
from versioned_catalog import NotFoundError, Table

SITUATIONS: list[Situation] = []
kudu = Source("kudu", "src/kudu/integration-tests/alter_table-test.cc", SITUATIONS)
tablet = Source("kudu", "src/kudu/tablet/tablet-schema-test.cc", SITUATIONS)
projection = Source("kudu", "src/kudu/common/schema-test.cc", SITUATIONS)
client = Source("kudu", "src/kudu/client/client-test.cc", SITUATIONS)


def keyed(lake: Lake, *values: tuple[object, ...]) -> Table:
    return lake.table("c0 INT, c1 INT", *values, primary_key=["c0"])


@kudu.passes("TestAddExistingColumn", "A column that is there already is refused.")
def kudu_existing(lake: Lake) -> None:
    with refused("there is a column c1 already"):
        alter(keyed(lake), "ADD COLUMN c1 INT")


@kudu.passes(
    "TestAddNotNullableColumnWithoutDefaults", "A NOT NULL column without a default is refused."
)
def kudu_not_null(lake: Lake) -> None:
    with refused("NOT NULL without a default"):
        alter(keyed(lake, (1, 1)), "ADD COLUMN c2 INT NOT NULL")


@kudu.passes(
    "TestAddNullableColumnWithoutDefault", "Rows of before and rows without the column are null."
)
def kudu_nullable(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    alter(table, "ADD COLUMN n INT")
    put(table, (1, 1))
    assert rows(table) == [(0, 0, None), (1, 1, None)]


@kudu.passes(
    "TestRenamePrimaryKeyColumn", "A key column is renamed, and its rows are found by the new name."
)
def kudu_rename_key(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    alter(table, "RENAME COLUMN c0 TO k0")
    with refused("there is a column c1 already"):
        alter(table, "RENAME COLUMN k0 TO c1")
    put(table, (0, 5))
    assert rows(table, filters=[("k0", "=", 0)]) == [(0, 5)]


@kudu.passes(
    "TestAddChangeRemoveColumnDefaultValue",
    "A default is set, changed and removed, and is only for rows to come.",
)
def kudu_defaults(lake: Lake) -> None:
    table = keyed(lake)
    alter(table, "ADD COLUMN n INT")
    put(table, (0, 0))
    for number, change in enumerate(("SET DEFAULT 12345", "SET DEFAULT 54321", "DROP DEFAULT"), 1):
        alter(table, f"ALTER COLUMN n {change}")
        put(table, (number, number))
    assert rows(table) == [(0, 0, None), (1, 1, 12345), (2, 2, 54321), (3, 3, None)]


@kudu.passes(
    "TestDropAndAddNewColumn",
    "A column that is dropped and added again shows its new default in all rows.",
)
def kudu_drop_add(lake: Lake) -> None:
    table = keyed(lake, (0, 0), (1, 1))
    alter(table, "DROP COLUMN c1")
    alter(table, "ADD COLUMN c1 INT DEFAULT 777")
    assert rows(table) == [(0, 777), (1, 777)]


@kudu.passes("TestRenameTableAndAdd", "A table is renamed, and gets a column under its new name.")
def kudu_rename_table(lake: Lake) -> None:
    keyed(lake, (0, 0))
    lake.catalog.rename_table("t", "other")
    table = lake.catalog.load_table("other")
    alter(table, "ADD COLUMN n INT DEFAULT 5")
    assert rows(table) == [(0, 0, 5)]


@kudu.differs(
    "TestRenameToSameName",
    "A rename of a table to its own name is refused.",
    "it changes nothing.",
)
def kudu_same_name(lake: Lake) -> None:
    keyed(lake, (0, 0))
    lake.catalog.rename_table("t", "t")
    assert rows(lake.catalog.load_table("t")) == [(0, 0)]


@kudu.passes(
    "TestBootstrapAfterAlters", "Rows of several schemas are read after the table is opened anew."
)
def kudu_bootstrap(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    alter(table, "ADD COLUMN c2 INT DEFAULT 12345")
    put(table, (1, 1))
    alter(table, "DROP COLUMN c1")
    put(table, (2,))
    alter(table, "ADD COLUMN c1 INT DEFAULT 20000")
    assert rows(lake.catalog.load_table("t")) == [
        (0, 12345, 20000),
        (1, 12345, 20000),
        (2, 12345, 20000),
    ]


@kudu.passes(
    "TestCompactAfterUpdatingRemovedColumn",
    "Updates of a column that was dropped are gone after a compaction, and don't come back.",
)
def kudu_compact_removed(lake: Lake) -> None:
    table = keyed(lake, (0, 0), (1, 1))
    table.upsert(arrow(table, [(0, 9)]), partial=True)
    alter(table, "DROP COLUMN c1")
    table.maintenance.compact(strategy="full")
    alter(table, "ADD COLUMN c1 INT")
    assert rows(table) == [(0, None), (1, None)]


@kudu.passes(
    "TestMajorCompactDeltasIntoMissingBaseData",
    "Updates of a column that was added after the rows were written are merged over its default.",
)
def kudu_missing_base(lake: Lake) -> None:
    table = keyed(lake, *[(n, n) for n in range(4)])
    alter(table, "ADD COLUMN c2 INT DEFAULT 7")
    table.upsert(arrow(table, [(1, 99)], ["c0", "c2"]), partial=True)
    expected = [(0, 0, 7), (1, 1, 99), (2, 2, 7), (3, 3, 7)]
    assert rows(table) == expected
    table.maintenance.compact(strategy="full")
    assert (rows(table), segments(table)) == (expected, 1)


@kudu.passes(
    "TestMajorCompactDeltasAfterAddUpdateRemoveColumn",
    "A column is added, updated and dropped, then compacted: other columns are as before.",
)
def kudu_add_update_remove(lake: Lake) -> None:
    table = keyed(lake, (0, 0), (1, 1))
    alter(table, "ADD COLUMN c2 INT DEFAULT 7")
    table.update({"c2": 5}, [("c0", "=", 1)])
    alter(table, "DROP COLUMN c2")
    table.maintenance.compact(strategy="full")
    assert rows(table) == [(0, 0), (1, 1)]


@kudu.differs(
    "TestReadHistoryAfterAlter",
    "A scan of the past shows the columns of now, with their defaults.",
    "a version has the columns that it had; its rows in an earlier or later schema are read by a pin.",
)
def kudu_history(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    table.delete_keys(arrow(table, [(0,)]))
    put(table, (0, 5))
    alter(table, "ADD COLUMN c2 INT DEFAULT 12345")
    assert rows(table, version=1) == [(0, 0)]
    assert rows(table) == [(0, 5, 12345)]


@kudu.passes(
    "TestMultipleAlters", "Many changes of a schema follow each other without rewriting data."
)
def kudu_many(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    for number in range(10):
        alter(table, f"ADD COLUMN new_{number} INT DEFAULT 5")
    for number in range(10):
        alter(table, f"DROP COLUMN new_{number}")
    assert (rows(table), segments(table)) == ([(0, 0)], 1)


kudu.not_applicable(
    "TestAlterRangePartitioning",
    "Ranges of keys are added to a table, and dropped with their rows.",
    "partitions come and go with rows; drop the rows of one by DELETE, which reads nothing.",
)


kudu.not_applicable(
    "AlterReplicationFactor",
    "The number of copies of a tablet changes.",
    "copies are made by the storage.",
)


@tablet.passes(
    "TestWrite",
    "A new column has one default for rows of before and another for rows of writers that lack it.",
)
def kudu_write(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    table.alter().add_column("c2", "INT", default=7).set_default("c2", 5).commit()
    put(table, (1, 1))
    assert rows(table) == [(0, 0, 7), (1, 1, 5)]
    table.delete_keys(arrow(table, [(1,)]))
    put(table, (1, 1))
    table.maintenance.compact(strategy="full")
    assert rows(table) == [(0, 0, 7), (1, 1, 5)]


@tablet.passes(
    "TestReInsert",
    "A row that was deleted and inserted before a column came shows the read default.",
)
def kudu_reinsert(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    table.delete_keys(arrow(table, [(0,)]))
    put(table, (0, 0))
    table.alter().add_column("c2", "INT", default=7).set_default("c2", 5).commit()
    put(table, (1, 1))
    table.maintenance.compact(strategy="full")
    assert rows(table) == [(0, 0, 7), (1, 1, 5)]


@tablet.passes(
    "TestRenameProjection",
    "Rows of before and after a rename are read, updated and deleted by the new name.",
)
def kudu_rename_projection(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    alter(table, "RENAME COLUMN c1 TO c1_renamed")
    put(table, (2, 2))
    assert rows(table, "c0", "c1_renamed") == [(1, 1), (2, 2)]
    table.delete_keys(arrow(table, [(1,)]))
    table.update({"c1_renamed": 6}, [("c0", "=", 2)])
    assert rows(table) == [(2, 6)]


@tablet.passes(
    "TestDeleteAndReAddColumn",
    "A column that is dropped and added again has none of its values, after updates of it, too.",
)
def kudu_readd(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    table.update({"c1": 5})
    alter(table, "DROP COLUMN c1")
    alter(table, "ADD COLUMN c1 INT DEFAULT 9")
    assert rows(table) == [(0, 9)]


@projection.passes(
    "TestProjectMissingColumn", "A projection on a column that is not there is refused."
)
def kudu_project_missing(lake: Lake) -> None:
    with refused("no column non_present", NotFoundError):
        keyed(lake).scan(["non_present"])


@projection.passes(
    "TestProjectRename",
    "Columns are matched by ID, whatever their names are; a new one has no column in older files.",
)
def kudu_project_rename(lake: Lake) -> None:
    table = lake.table("key STRING, val INT", ("a", 1))
    alter(table, "RENAME COLUMN key TO key_renamed")
    alter(table, "ADD COLUMN key STRING")
    assert rows(table, "key_renamed", "val", "key") == [("a", 1, None)]


@client.passes("TestUpsert", "An upsert inserts a row, and replaces it the next time.")
def kudu_upsert(lake: Lake) -> None:
    table = keyed(lake)
    table.upsert(arrow(table, [(1, 1)]))
    table.upsert(arrow(table, [(1, 2)]))
    assert rows(table) == [(1, 2)]


@client.differs(
    "TestMutateDeletedRow",
    "An update, or a deletion, of a row that was deleted is an error.",
    "it changes nothing: a condition that no row meets, and a key that no row has, are none.",
)
def kudu_deleted(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    table.delete_keys(arrow(table, [(1,)]))
    before = table.version
    assert table.update({"c1": 2}, [("c0", "=", 1)]) == before
    table.delete_keys(arrow(table, [(1,)]))
    assert rows(table) == []


@client.differs(
    "TestInsertDuplicateKeys",
    "An INSERT of a key that is there is an error.",
    "it replaces the row: writes of keys read nothing.",
)
def kudu_duplicates(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    put(table, (1, 2))
    assert rows(table) == [(1, 2)]
