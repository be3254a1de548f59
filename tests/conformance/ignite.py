"""Situations of Apache Ignite."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from conformance.lake import Lake, alter, ids, put, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError, Table

SITUATIONS: list[Situation] = []
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


def keyed(lake: Lake, *values: tuple[object, ...]) -> Table:
    return lake.table("c0 INT, c1 INT", *values, primary_key=["c0"])


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
