"""Situations of Apache Hudi, Apache Kudu, GreptimeDB and Apache Ignite."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from conformance.lake import Lake, alter, arrow, ids, put, refused, rows, segments, shown
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
hudi = Source("hudi", "website/docs/schema_evolution.md", SITUATIONS)
kudu = Source("kudu", "src/kudu/integration-tests/alter_table-test.cc", SITUATIONS)
tablet = Source("kudu", "src/kudu/tablet/tablet-schema-test.cc", SITUATIONS)
projection = Source("kudu", "src/kudu/common/schema-test.cc", SITUATIONS)
client = Source("kudu", "src/kudu/client/client-test.cc", SITUATIONS)
greptime = Source("greptimedb", "tests/cases/standalone/common", SITUATIONS)
compat = Source("greptimedb", "src/mito2/src/read/compat.rs", SITUATIONS)
IGNITE = "src/integrationTest/java/org/apache/ignite/internal"
SQL = f"modules/sql-engine/{IGNITE}/sql/engine"
catalog = Source(
    "ignite",
    "modules/catalog/src/test/java/org/apache/ignite/internal/catalog/CatalogTableTest.java",
    SITUATIONS,
)
views = Source(
    "ignite", f"modules/runner/{IGNITE}/runner/app/ItSchemaChangeTableViewTest.java", SITUATIONS
)
columns = Source("ignite", f"{SQL}/ItAlterTableAlterColumnTest.java", SITUATIONS)
ddl = Source("ignite", f"{SQL}/ItAlterTableDdlTest.java", SITUATIONS)
forward = Source(
    "ignite",
    f"modules/schema-sync/{IGNITE}/schemasync/ItSchemaForwardCompatibilityTest.java",
    SITUATIONS,
)


def evolving(table: Table, data: pa.Table) -> list[tuple[object, ...]]:
    """Add rows that may change the schema, and return all rows."""
    table.append(data, merge_schema=True)
    return rows(table)


@hudi.passes(
    "Add a new nullable column at root level at the end",
    "Rows bring a further column; old rows show null.",
)
def hudi_column(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    assert evolving(table, pa.table({"id": [2], "new": ["x"]})) == [(1, None), (2, "x")]


@hudi.passes(
    "Add a new nullable column to inner struct (at the end)",
    "Rows bring a further field of a struct.",
)
def hudi_field(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: BIGINT>", ({"a": 1},))
    assert evolving(table, pa.table({"s": [{"a": 2, "b": "x"}]})) == [
        ({"a": 1, "b": None},),
        ({"a": 2, "b": "x"},),
    ]


@hudi.passes(
    "Add a new complex type field with default (map and array)",
    "A map and an array are added with a default.",
)
def hudi_complex(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    table.alter().add_column("l", "ARRAY<INT>", default=[1, 2]).add_column(
        "m", "MAP<STRING, INT>", default={"a": 1}
    ).commit()
    assert rows(table) == [(1, [1, 2], [("a", 1)])]


@hudi.differs(
    "Add a new nullable column and change the ordering of fields",
    "The write succeeds, and reading fails if only some files were rewritten.",
    "all rows are read, whatever the order of columns in each file is.",
)
def hudi_order(lake: Lake) -> None:
    table = lake.table("a BIGINT, b STRING", (1, "x"), primary_key=["a"])
    alter(table, "ALTER COLUMN b FIRST")
    table.append(pa.table({"c": [0.5], "a": [2], "b": ["y"]}), merge_schema=True)
    assert rows(table, "a", "b", "c") == [(1, "x", None), (2, "y", 0.5)]


@hudi.passes(
    "Add a custom nullable Hudi meta column, e.g. `_hoodie_meta_col`",
    "A column may be named like an internal one.",
)
def hudi_meta(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    assert evolving(table, pa.table({"id": [2], "_hoodie_meta_col": ["x"]})) == [
        (1, None),
        (2, "x"),
    ]


@hudi.passes(
    "Promote datatype from `int` to `long` for a field at root level",
    "Rows with BIGINT widen a column of INT.",
)
def hudi_long(lake: Lake) -> None:
    table = lake.table("n INT", (1,))
    assert evolving(table, pa.table({"n": [2**40]})) == [(1,), (2**40,)]


@hudi.passes(
    "Promote datatype from `int` to `long` for a nested field", "Rows widen a field of a struct."
)
def hudi_nested_long(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>", ({"a": 1},))
    assert evolving(table, pa.table({"s": [{"a": 2**40}]})) == [({"a": 2**40},), ({"a": 1},)]


@hudi.passes(
    "Promote datatype from `int` to `long` for a complex type (value of map or array)",
    "Rows widen the values of a map and the elements of an array.",
)
def hudi_complex_long(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, INT>, l ARRAY<INT>", ([("a", 1)], [1]))
    wide = pa.table(
        {"m": pa.array([[("b", 2**40)]], pa.map_(pa.string(), pa.int64())), "l": [[2**40]]}
    )
    assert evolving(table, wide) == [([("a", 1)], [1]), ([("b", 2**40)], [2**40])]


@hudi.differs(
    "Add a new non-nullable column at root level at the end",
    "A NOT NULL column can't be added.",
    "it can with a default, which old rows show; without one it is refused.",
)
def hudi_required(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    with refused("NOT NULL without a default"):
        alter(table, "ADD COLUMN n INT NOT NULL")
    alter(table, "ADD COLUMN n INT NOT NULL DEFAULT 5")
    assert rows(table) == [(1, 5)]


@hudi.differs(
    "Add a new non-nullable column to inner struct (at the end)",
    "A NOT NULL field can't be added to a struct.",
    "it can with a default, which old structs show.",
)
def hudi_required_field(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>", ({"a": 1},), (None,))
    table.alter().add_column("s.b", "INT", default=5, nullable=False).commit()
    assert rows(table) == [(None,), ({"a": 1, "b": 5},)]


@hudi.passes(
    "Change datatype from `long` to `int` for a nested field",
    "A field does not get narrower than its values.",
)
def hudi_narrow(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: BIGINT>", ({"a": 2**40},))
    with refused("the column s.a can't change from BIGINT to INT"):
        alter(table, "ALTER COLUMN s.a TYPE INT")


@hudi.passes(
    "Change datatype from `long` to `int` for a complex type (value of map or array)",
    "Values of a map do not get narrower.",
)
def hudi_narrow_map(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, BIGINT>", ([("a", 2**40)],))
    with refused("the column m.value can't change from BIGINT to INT"):
        alter(table, "ALTER COLUMN m.value TYPE INT")


@hudi.passes(
    "Sample runbook", "An upsert brings a new column and a wider one; other rows keep their values."
)
def hudi_runbook(lake: Lake) -> None:
    table = lake.table(
        "rowId STRING, name STRING, n INT",
        ("row_1", "bob", 0),
        ("row_2", "john", 0),
        primary_key=["rowId"],
    )
    more = {
        "rowId": ["row_2", "row_5"],
        "name": ["john", "maroon"],
        "n": [3, 2**40],
        "new": ["x", "y"],
    }
    table.upsert(pa.table(more), merge_schema=True)
    assert rows(table) == [
        ("row_1", "bob", 0, None),
        ("row_2", "john", 3, "x"),
        ("row_5", "maroon", 2**40, "y"),
    ]


@hudi.differs(
    "You cannot add, delete, or perform operations on nested columns of the Array type",
    "Fields of structs in arrays can't be changed.",
    "they can.",
)
def hudi_array(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRUCT<a: INT, b: INT>>", ([{"a": 1, "b": 2}],))
    alter(table, "ADD COLUMN l.element.c INT")
    alter(table, "DROP COLUMN l.element.a")
    assert rows(table) == [([{"b": 2, "c": None}],)]


@hudi.differs(
    "Partition columns cannot be evolved",
    "Columns of the partitioning can't be changed.",
    "they may be renamed, moved and widened; they are not dropped before the partitioning changes.",
)
def hudi_partition(lake: Lake) -> None:
    table = lake.table("p INT, v INT", (1, 1), partitioned_by=["p"])
    alter(table, "RENAME COLUMN p TO q")
    alter(table, "ALTER COLUMN q TYPE BIGINT")
    put(table, (2**40, 2))
    assert rows(table, filters=[("q", "=", 1)]) == [(1, 1)]


# Kudu


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
    "Writers with the old name of a column and readers with the new one see the same rows.",
)
def kudu_rename_projection(lake: Lake) -> None:
    table = keyed(lake, (0, 0))
    table.pin_schema("old")
    alter(table, "RENAME COLUMN c1 TO c1_renamed")
    old = lake.catalog.load_table("t", schema="old")
    old.upsert(pa.table({"c0": pa.array([1], pa.int32()), "c1": pa.array([5], pa.int32())}))
    assert rows(table, "c0", "c1_renamed") == [(0, 0), (1, 5)]
    assert rows(old, "c0", "c1") == [(0, 0), (1, 5)]


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


@client.passes(
    "TestMutateDeletedRow", "An update or a deletion of a row that was deleted changes nothing."
)
def kudu_deleted(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    table.delete_keys(arrow(table, [(1,)]))
    before = table.version
    assert table.update({"c1": 2}, [("c0", "=", 1)]) == before
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


# GreptimeDB


def ts(number: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, 0, 0, number)


def metrics(
    lake: Lake, *values: tuple[object, ...], columns: str = "i TIMESTAMP_NTZ, j INT"
) -> Table:
    return lake.table(columns, *values, time_index="i")


@greptime.passes(
    "alter/add_col_default.sql", "Old rows show the default of a new column, and filters see it."
)
def greptime_default(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), (ts(2), 2))
    alter(table, "ADD COLUMN k INT DEFAULT 3")
    assert rows(table, "j", "k") == [(1, 3), (2, 3)]
    assert rows(table, filters=[("k", "!=", 3)]) == []
    assert rows(table, filters=[("k", "=", 3), ("j", "=", 2)]) == [(ts(2), 2, 3)]


@greptime.differs(
    "alter/add_col.sql",
    "A column may be added to the primary key.",
    "the row key never changes: create a table with the new key, and copy the rows.",
)
def greptime_add_key(lake: Lake) -> None:
    table = lake.table("host STRING, i TIMESTAMP_NTZ, v INT", primary_key=["host"], time_index="i")
    alter(table, "ADD COLUMN idc STRING DEFAULT ''")
    with refused("primary_key is set when a table is created"):
        alter(table, "SET TBLPROPERTIES ('primary_key' = 'host, idc')")


@greptime.passes(
    "alter/add_incorrect_col.sql", "After a refused ALTER the table is written and read as before."
)
def greptime_incorrect(lake: Lake) -> None:
    table = metrics(lake)
    with refused("NOT NULL without a default"):
        alter(table, "ADD COLUMN k STRING NOT NULL")
    put(table, (ts(1), 1))
    assert rows(table) == [(ts(1), 1)]


@greptime.passes(
    "alter/alter_table_first_after.sql", "Columns are added first and behind another one."
)
def greptime_position(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1))
    alter(table, "ADD COLUMN n INT FIRST")
    alter(table, "ADD COLUMN m INT AFTER i")
    assert table.schema.names == ["n", "i", "m", "j"]
    assert rows(table) == [(None, ts(1), None, 1)]


@greptime.passes(
    "alter/drop_add_col.sql", "A column that is dropped and added again shows its new default."
)
def greptime_drop_add(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 11))
    alter(table, "DROP COLUMN j")
    alter(table, "ADD COLUMN j INT DEFAULT 0")
    put(table, (ts(2), 7))
    assert rows(table) == [(ts(1), 0), (ts(2), 7)]
    assert rows(table, filters=[("j", "=", 0)]) == [(ts(1), 0)]


@greptime.passes(
    "alter/drop_col_not_null.sql", "A NOT NULL column is dropped, and rows go without it."
)
def greptime_drop_not_null(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), columns="i TIMESTAMP_NTZ, j INT NOT NULL")
    alter(table, "DROP COLUMN j")
    put(table, (ts(2),))
    assert rows(table) == [(ts(1),), (ts(2),)]


@greptime.passes(
    "alter/alter_table_alter_column_set_default.sql",
    "A new default is for rows that leave the column out.",
)
def greptime_set_default(lake: Lake) -> None:
    table = metrics(lake)
    alter(table, "ADD COLUMN k INT DEFAULT 100")
    put(table, (ts(1), 1))
    alter(table, "ALTER COLUMN k SET DEFAULT 101")
    put(table, (ts(2), 2))
    assert rows(table, "k") == [(100,), (101,)]


@greptime.passes(
    "alter/alter_table_alter_column_drop_default.sql",
    "A default is dropped, and rows without the column are null.",
)
def greptime_drop_default(lake: Lake) -> None:
    table = metrics(lake)
    alter(table, "ADD COLUMN k INT DEFAULT 100")
    alter(table, "ALTER COLUMN k DROP DEFAULT")
    put(table, (ts(1), 1))
    assert rows(table, "k") == [(None,)]


@greptime.differs(
    "alter/change_col_type_not_null.sql",
    "A NOT NULL column can't change its type, since a value that can't be cast becomes null.",
    "it can: only types that hold every value are legal, so no value becomes null.",
)
def greptime_type(lake: Lake) -> None:
    table = metrics(lake, (ts(1), 1), columns="i TIMESTAMP_NTZ, j INT NOT NULL")
    alter(table, "ALTER COLUMN j TYPE BIGINT")
    assert rows(table, "j") == [(1,)]
    assert "j BIGINT NOT NULL" in shown(table)


@greptime.differs(
    "insert/merge_mode.sql",
    "In the mode last_non_null a null leaves a column as it is; in last_row the last row wins whole.",
    "the last row wins whole; a partial upsert leaves columns as they are that it does not name.",
)
def greptime_merge(lake: Lake) -> None:
    table = lake.table(
        "host STRING, ts TIMESTAMP_NTZ, cpu DOUBLE, memory DOUBLE",
        primary_key=["host"],
        time_index="ts",
    )
    put(table, ("host1", ts(0), 0.0, None), ("host2", ts(1), None, 1.0))
    put(table, ("host1", ts(0), None, 10.0))
    assert rows(table, "host", "cpu", "memory") == [("host1", None, 10.0), ("host2", None, 1.0)]
    table.upsert(arrow(table, [("host2", ts(1), 11.0)], ["host", "ts", "cpu"]), partial=True)
    assert rows(table, "host", "cpu", "memory")[1] == ("host2", 11.0, 1.0)


@greptime.passes("insert/append_mode.sql", "Without a primary key, rows of one time are all kept.")
def greptime_append(lake: Lake) -> None:
    table = metrics(lake, (ts(0), 1))
    put(table, (ts(0), 1))
    assert rows(table) == [(ts(0), 1), (ts(0), 1)]


@greptime.differs(
    "alter/alter_append_mode.sql",
    "A table that replaces rows of a key becomes one that keeps all.",
    "the key is chosen when a table is created.",
)
def greptime_append_mode(lake: Lake) -> None:
    table = lake.table("h STRING, ts TIMESTAMP_NTZ", primary_key=["h"], time_index="ts")
    with refused("primary_key is set when a table is created"):
        alter(table, "UNSET TBLPROPERTIES ('primary_key')")


@greptime.passes(
    "delete/delete.sql", "Rows are deleted by key, and a row of that key may come again."
)
def greptime_delete(lake: Lake) -> None:
    table = lake.table(
        "host STRING, ts TIMESTAMP_NTZ, cpu DOUBLE", primary_key=["host"], time_index="ts"
    )
    put(table, *[(f"host{n}", ts(0), float(n)) for n in range(3)])
    table.delete([("host", "=", "host1")])
    assert rows(table, "host") == [("host0",), ("host2",)]
    put(table, ("host1", ts(0), 9.0))
    assert rows(table, "cpu") == [(0.0,), (2.0,), (9.0,)]


@greptime.differs(
    "insert/nullable_tag.sql",
    "Columns of the primary key may be null.",
    "key columns are NOT NULL, as in Kudu: a row whose key is null is refused.",
)
def greptime_null_tag(lake: Lake) -> None:
    table = lake.table("host STRING, ts TIMESTAMP_NTZ", primary_key=["host"], time_index="ts")
    with refused("host is NOT NULL"):
        put(table, (None, ts(0)))


@greptime.passes("insert/insert_different_order.sql", "Rows name their columns in any order.")
def greptime_order(lake: Lake) -> None:
    table = metrics(lake)
    table.append(
        pa.table({"j": pa.array([5], pa.int32()), "i": pa.array([ts(1)], pa.timestamp("us"))})
    )
    assert rows(table) == [(ts(1), 5)]


@greptime.passes("ttl/basic.sql", "Rows that are older than the table's time to live are not read.")
def greptime_ttl(lake: Lake) -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    table = lake.table(
        "k INT, ts TIMESTAMP_NTZ", primary_key=["k"], time_index="ts", properties={"ttl": "1 days"}
    )
    put(table, (1, now - dt.timedelta(days=3)), (2, now))
    assert rows(table, "k") == [(2,)]


@greptime.differs(
    "ttl/alter_table_ttl.sql",
    "With a longer time to live, rows that are still in a file are read again.",
    "rows that were hidden once stay hidden, whether a compaction has removed them or not.",
)
def greptime_longer_ttl(lake: Lake) -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    table = lake.table(
        "k INT, ts TIMESTAMP_NTZ", primary_key=["k"], time_index="ts", properties={"ttl": "1 days"}
    )
    put(table, (1, now - dt.timedelta(days=3)), (2, now))
    alter(table, "UNSET TBLPROPERTIES ('ttl')")
    assert rows(table, "k") == [(2,)]


@compat.passes(
    "test_flat_compat_batch_with_missing_columns",
    "A batch of an older file gets its missing columns in their places.",
)
def greptime_compat(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    alter(table, "ADD COLUMN m STRING DEFAULT 'x' FIRST")
    alter(table, "ALTER COLUMN b FIRST")
    assert rows(table) == [(2, "x", 1)]
    assert rows(table, "m") == [("x",)]


@compat.passes(
    "test_flat_compat_batch_with_read_projection_superset",
    "A filter reads columns that the result does not show.",
)
def greptime_superset(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2), (3, 4))
    alter(table, "ADD COLUMN c INT DEFAULT 7")
    assert rows(table, "b", filters=[("a", "=", 3), ("c", "=", 7)]) == [(4,)]


compat.not_applicable(
    "test_flat_compat_batch_with_different_pk_encoding",
    "Keys are encoded in one binary column, in one of two encodings.",
    "key columns stand in files as columns.",
)


# Ignite


@catalog.passes(
    "testAddColumn", "A new column with a default is in the schema from that version on."
)
def ignite_add(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    alter(table, "ADD COLUMN v VARCHAR(11) DEFAULT 'Ignite!'")
    assert rows(table) == [(1, 1, "Ignite!")]
    assert table.scan(version=1).to_arrow().column_names == ["c0", "c1"]


@catalog.passes(
    "testAddDropMultipleColumns", "Several columns are added, and dropped, in one version."
)
def ignite_several(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    before = table.version
    alter(table, "ADD COLUMNS (a STRING, b INT)")
    alter(table, "DROP COLUMNS (a, b)")
    assert (table.version, table.schema.names) == (before + 2, ["c0", "c1"])


@catalog.passes(
    "testDropColumnWithPrimaryKeyColumns", "A column of the primary key is not dropped."
)
def ignite_drop_key(lake: Lake) -> None:
    with refused("c0 can't be dropped, since it is in the row key"):
        alter(keyed(lake), "DROP COLUMN c0")


@catalog.passes(
    "testDropMultipleColumnsWithMissingColumn",
    "If one of several columns is not there, none is dropped.",
)
def ignite_drop_missing(lake: Lake) -> None:
    table = lake.table("a INT, b INT, c INT")
    with refused("no column fake"):
        alter(table, "DROP COLUMNS (b, fake)")
    assert table.refresh().schema.names == ["a", "b", "c"]


@catalog.passes("testAlterColumnTypePrecision", "A DECIMAL gets more digits, and not fewer.")
def ignite_precision(lake: Lake) -> None:
    table = lake.table("d DECIMAL(6,1)", (Decimal("12345.5"),))
    alter(table, "ALTER COLUMN d TYPE DECIMAL(7,1)")
    with refused("d"):
        alter(table, "ALTER COLUMN d TYPE DECIMAL(5,1)")
    put(table, (Decimal("123456.5"),))
    assert rows(table) == [(Decimal("12345.5"),), (Decimal("123456.5"),)]


@catalog.passes("testAlterColumnTypeLength", "A VARCHAR gets longer, and not shorter.")
def ignite_length(lake: Lake) -> None:
    table = lake.table("v VARCHAR(10)", ("0123456789",))
    alter(table, "ALTER COLUMN v TYPE VARCHAR(11)")
    with refused("v"):
        alter(table, "ALTER COLUMN v TYPE VARCHAR(9)")
    assert shown(table) == "v VARCHAR(11)"


@catalog.differs(
    "testAlterColumnTypeScaleIsRejected",
    "The scale of a DECIMAL never changes.",
    "it grows, if the digits before the point stay, as in Delta.",
)
def ignite_scale(lake: Lake) -> None:
    table = lake.table("d DECIMAL(6,1)", (Decimal("12345.5"),))
    alter(table, "ALTER COLUMN d TYPE DECIMAL(8,3)")
    assert rows(table) == [(Decimal("12345.500"),)]


@catalog.differs(
    "testAlterColumnTypeRejectedForPrimaryKey",
    "The type of a key column never changes.",
    "it may be widened where the order of keys stays.",
)
def ignite_key_type(lake: Lake) -> None:
    table = keyed(lake, (1, 1))
    alter(table, "ALTER COLUMN c0 TYPE BIGINT")
    put(table, (1, 2))
    assert rows(table) == [(1, 2)]


@catalog.differs(
    "testAlterColumnType",
    "Integers widen to integers only, and FLOAT to DOUBLE.",
    "they also widen to DOUBLE and DECIMAL where these hold every value.",
)
def ignite_types(lake: Lake) -> None:
    table = lake.table("a TINYINT, b FLOAT", (1, 0.5))
    alter(table, "ALTER COLUMN a TYPE SMALLINT")
    alter(table, "ALTER COLUMN a TYPE INT")
    alter(table, "ALTER COLUMN a TYPE DOUBLE")
    alter(table, "ALTER COLUMN b TYPE DOUBLE")
    assert rows(table) == [(1.0, 0.5)]


@catalog.passes(
    "testTableRenameAndCreateTableWithSameName",
    "The name of a renamed table is given to another one.",
)
def ignite_rename(lake: Lake) -> None:
    keyed(lake, (1, 1))
    lake.catalog.rename_table("t", "t2")
    other = lake.table("x INT")
    assert (rows(other), rows(lake.catalog.load_table("t2"))) == ([], [(1, 1)])


@views.passes(
    "testMergeChangesAddDropAdd",
    "A column is added, dropped and added: rows of all times show its last default.",
)
def ignite_add_drop_add(lake: Lake) -> None:
    table = keyed(lake, (1, 111))
    alter(table, "ADD COLUMN val STRING DEFAULT 'default'")
    put(table, (2, 222, "string"), (3, 333, "default"))
    alter(table, "DROP COLUMN val")
    put(table, (4, 444))
    with refused("no column val"):
        table.append(pa.table({"c0": pa.array([4], pa.int32()), "val": ["x"]}))
    alter(table, "ADD COLUMN val STRING DEFAULT 'default'")
    put(table, (5, 555))
    assert rows(table) == [(n, 111 * n, "default") for n in range(1, 6)]


@views.passes("testMergeChangesColumnDefault", "Each row shows the defaults of its time.")
def ignite_defaults(lake: Lake) -> None:
    table = lake.table("k INT, s STRING DEFAULT 'default'", primary_key=["k"])
    put(table, (1,))
    alter(table, "ALTER COLUMN s SET DEFAULT 'new'")
    alter(table, "ADD COLUMN v STRING DEFAULT 'new'")
    put(table, (2,))
    alter(table, "ALTER COLUMN s SET DEFAULT 'brand'")
    alter(table, "ALTER COLUMN v SET DEFAULT 'brand'")
    put(table, (3,))
    assert rows(table) == [(1, "default", "new"), (2, "new", "new"), (3, "brand", "brand")]


@views.passes(
    "testRenameThenAddColumnWithSameName", "A column is renamed, and another one takes its name."
)
def ignite_rename_add(lake: Lake) -> None:
    table = keyed(lake, (1, 111))
    alter(table, "RENAME COLUMN c1 TO val2")
    alter(table, "ADD COLUMN c1 INT DEFAULT -1")
    put(table, (2, 222, 1))
    assert rows(table) == [(1, 111, -1), (2, 222, 1)]


@views.passes(
    "testStrictSchemaInsertRowOfNewSchema",
    "A row with a column that the table does not have is refused.",
)
def ignite_strict(lake: Lake) -> None:
    table = keyed(lake)
    with refused("no column unknown"):
        table.append(pa.table({"c0": pa.array([1], pa.int32()), "unknown": ["x"]}))


@columns.differs(
    "testChangeNullability",
    "NOT NULL can be dropped, and never set.",
    "it is set if no row is null.",
)
def ignite_nullability(lake: Lake) -> None:
    table = lake.table("id INT, v STRING NOT NULL", (1, "a"), primary_key=["id"])
    alter(table, "ALTER COLUMN v DROP NOT NULL")
    alter(table, "ALTER COLUMN v SET NOT NULL")
    with refused("v is NOT NULL"):
        put(table, (2, None))


@columns.passes(
    "dropDefaultNonNullableColumn", "A NOT NULL column without a default must be given by each row."
)
def ignite_drop_default(lake: Lake) -> None:
    table = lake.table("id INT", (0,), primary_key=["id"])
    alter(table, "ADD COLUMN c STRING NOT NULL DEFAULT 'a'")
    alter(table, "ALTER COLUMN c DROP DEFAULT")
    with refused("c is NOT NULL and has no default"):
        put(table, (1,), columns=["id"])
    alter(table, "ALTER COLUMN c SET DEFAULT 'b'")
    put(table, (2,), columns=["id"])
    assert rows(table) == [(0, "a"), (2, "b")]


@ddl.passes(
    "cannotAddNonNullableColumnWithoutDefault", "A NOT NULL column without a default is not added."
)
def ignite_not_null(lake: Lake) -> None:
    with refused("NOT NULL without a default"):
        alter(keyed(lake, (1, 1)), "ADD COLUMN v INT NOT NULL")


@ddl.passes(
    "testAddColumnWithNotFittingDefaultValues", "A default that does not fit the type is refused."
)
def ignite_default_fits(lake: Lake) -> None:
    table = keyed(lake)
    for type_, default in (("TINYINT", "128"), ("INT", "'x'"), ("VARCHAR(2)", "'abc'")):
        with refused("column v: DEFAULT .* does not fit", InvalidRequestError):
            alter(table, f"ADD COLUMN v {type_} DEFAULT {default}")


@forward.differs(
    "forwardCompatibleSchemaChangesAllowCommitting",
    "A transaction that began before a column was added is committed.",
    "so are all writes of rows that were planned before an ALTER of any kind.",
)
def ignite_forward(lake: Lake) -> None:
    table = keyed(lake)
    other = lake.catalog.load_table("t")
    alter(other, "ADD COLUMN n INT DEFAULT 5")
    put(table, (1, 1))
    assert rows(table) == [(1, 1, 5)]


@forward.differs(
    "forwardIncompatibleSchemaChangesDoNotAllowSyncCommit",
    "A transaction that began before a column was dropped, or its default changed, is aborted.",
    "it is committed as it was planned; values of dropped columns are not shown.",
)
def ignite_incompatible(lake: Lake) -> None:
    table = keyed(lake)
    other = lake.catalog.load_table("t")
    alter(other, "ADD COLUMN n INT")
    alter(other, "DROP COLUMN c1")
    put(table, (1, 1))
    assert rows(table) == [(1, None)]
    assert ids(table, "n") == [3]
