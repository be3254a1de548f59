"""Situations of Apache Paimon."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from conformance.lake import (
    Lake,
    alter,
    arrow,
    ids,
    put,
    read_segments,
    refused,
    rows,
    segments,
    shown,
)
from conformance.registry import Situation, Source
from versioned_catalog import Table

SITUATIONS: list[Situation] = []
CORE = "paimon-core/src/test/java/org/apache/paimon"
FLINK = "paimon-flink/paimon-flink-common/src/test/java/org/apache/paimon/flink"
evolution = Source("paimon", f"{CORE}/table/SchemaEvolutionTest.java", SITUATIONS)
manager = Source("paimon", f"{CORE}/schema/SchemaManagerTest.java", SITUATIONS)
merging = Source("paimon", f"{CORE}/schema/SchemaMergingUtilsTest.java", SITUATIONS)
changes = Source("paimon", f"{FLINK}/SchemaChangeITCase.java", SITUATIONS)
partial = Source("paimon", f"{FLINK}/PartialUpdateITCase.java", SITUATIONS)
first = Source("paimon", f"{FLINK}/FirstRowITCase.java", SITUATIONS)


@evolution.passes("testAddField", "A column is added, and is null in old rows.")
def paimon_add(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT", (1, 1))
    alter(table, "ADD COLUMN f3 BIGINT")
    put(table, (2, 2, 3))
    assert rows(table) == [(1, 1, None), (2, 2, 3)]
    assert rows(table, filters=[("f3", "=", 3)]) == [(2, 2, 3)]


@evolution.passes("testAddDuplicateField", "A column of a name that is taken is refused.")
def paimon_duplicate(lake: Lake) -> None:
    with refused("there is a column f0 already"):
        alter(lake.table("f0 INT, f1 BIGINT"), "ADD COLUMN f0 INT")


@evolution.passes("testUpdateFieldType", "INT becomes BIGINT, and keeps its comment.")
def paimon_type(lake: Lake) -> None:
    table = lake.table("f0 INT COMMENT 'f0 field', f1 BIGINT", (1, 2**40))
    alter(table, "ALTER COLUMN f0 TYPE BIGINT")
    put(table, (2**40, 1))
    assert rows(table) == [(1, 2**40), (2**40, 1)]
    assert table.schema.get(("f0",)).comment == "f0 field"


@evolution.differs(
    "testUpdatePrimaryKeyType",
    "The type of a key column can't change.",
    "it may be widened where the order of keys stays; other changes are refused.",
)
def paimon_key_type(lake: Lake) -> None:
    table = lake.table("k INT, v BIGINT", (1, 1), primary_key=["k"])
    alter(table, "ALTER COLUMN k TYPE BIGINT")
    put(table, (1, 2), (2**40, 3))
    assert rows(table) == [(1, 2), (2**40, 3)]
    with refused("k can't change from BIGINT to DOUBLE"):
        alter(table, "ALTER COLUMN k TYPE DOUBLE")


@evolution.differs(
    "testUpdateColumnNullabilityWithData",
    "A column becomes NOT NULL although rows hold nulls, which are still read.",
    "it is refused as long as a row is null.",
)
def paimon_nulls(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT", (1, 1), (2, None))
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN f1 SET NOT NULL")
    alter(table, "ALTER COLUMN f0 SET NOT NULL")
    assert rows(table) == [(1, 1), (2, None)]


@evolution.passes("testUpdatePrimaryKeyNullability", "A key column can't become nullable.")
def paimon_key_null(lake: Lake) -> None:
    table = lake.table("k INT, v INT", primary_key=["k"])
    with refused("k must stay NOT NULL"):
        alter(table, "ALTER COLUMN k DROP NOT NULL")


@evolution.passes("testUpdateNestedColumnNullability", "A field of a struct becomes nullable.")
def paimon_nested_null(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT NOT NULL>", ({"a": 1},))
    alter(table, "ALTER COLUMN s.a DROP NOT NULL")
    put(table, ({"a": None},))
    assert rows(table) == [({"a": 1},), ({"a": None},)]


@evolution.passes(
    "testRenameField",
    "A column is renamed, and another one can't take its name; filters use the new name.",
)
def paimon_rename(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT", (1, 1), (2, 2))
    alter(table, "RENAME COLUMN f0 TO f01")
    with refused("there is a column f1 already"):
        alter(table, "RENAME COLUMN f01 TO f1")
    assert rows(table, filters=[("f01", "=", 2)]) == [(2, 2)]


@evolution.passes("testRenamePrimaryKeyColumn", "A key column is renamed and stays in the key.")
def paimon_rename_key(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT", (1, 1), primary_key=["f0"])
    alter(table, "RENAME COLUMN f0 TO f0_")
    put(table, (1, 2))
    assert (rows(table), table.primary_key) == ([(1, 2)], ["f0_"])


@evolution.passes("testDropField", "A column is dropped; columns of the key are not.")
def paimon_drop(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT, f2 INT", (1, 1, 1), primary_key=["f0"])
    alter(table, "DROP COLUMN f1")
    with refused("f0 can't be dropped, since it is in the row key"):
        alter(table, "DROP COLUMN f0")
    assert rows(table) == [(1, 1)]


@evolution.passes("testDropAllFields", "The last column is not dropped.")
def paimon_drop_all(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT")
    alter(table, "DROP COLUMN f0")
    with refused("the last column"):
        alter(table, "DROP COLUMN f1")


@evolution.differs(
    "testCreateAlterSystemField",
    "Names of internal columns, such as _KEY_f1, can't be used.",
    "they can: an internal column takes its name in files first, and one of a user gets another there.",
)
def paimon_system(lake: Lake) -> None:
    table = lake.table("k INT, __op_type INT", (1, 5), primary_key=["k"])
    put(table, (1, 6))
    assert rows(table) == [(1, 6)]


@evolution.passes(
    "testPushDownEvolutionSafeFilter",
    "A filter skips files by columns whose type is as before, and by wider ones.",
)
def paimon_filter(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 BIGINT", (1, 1))
    put(table, (2, 2))
    alter(table, "ALTER COLUMN f0 TYPE BIGINT")
    put(table, (2**40, 3))
    assert read_segments(table, "f1", ">=", 2) == 2
    assert read_segments(table, "f0", ">=", 3) == 1


@manager.passes("testConcurrentCommit", "Two changes of the schema at once are both made.")
def paimon_concurrent(lake: Lake) -> None:
    table = lake.table("f0 INT")
    others = [lake.catalog.load_table("t") for _ in range(3)]
    for number, other in enumerate(others):
        other.alter().add_column(f"a{number}", "INT").commit()
    assert table.refresh().schema.names == ["f0", "a0", "a1", "a2"]


@manager.passes("testPrimaryKeyType", "Maps, arrays and structs are no key columns.")
def paimon_key_types(lake: Lake) -> None:
    for type_ in ("MAP<INT, INT>", "ARRAY<INT>", "STRUCT<a: INT>"):
        with refused("k can't be in the row key as"):
            lake.table(f"k {type_}, v INT", primary_key=["k"])


@manager.passes(
    "testPartitionType", "A map is no partition column; nor are arrays and structs here."
)
def paimon_partition_types(lake: Lake) -> None:
    for type_ in ("MAP<INT, INT>", "ARRAY<INT>", "STRUCT<a: INT>"):
        with refused("partition"):
            lake.table(f"p {type_}, v INT", partitioned_by=["p"])


@manager.passes("testApplyMoveOperations", "Columns move first, and after another one.")
def paimon_move(lake: Lake) -> None:
    table = lake.table("f0 INT, f1 INT, f2 INT, f3 INT", (0, 1, 2, 3))
    alter(table, "ALTER COLUMN f2 FIRST")
    assert rows(table) == [(2, 0, 1, 3)]
    alter(table, "ALTER COLUMN f2 AFTER f3")
    assert rows(table) == [(0, 1, 3, 2)]


@manager.passes(
    "testAddAndDropNestedColumns",
    "Fields of structs in structs are added and dropped; wrong paths are refused.",
)
def paimon_nested(lake: Lake) -> None:
    table = lake.table("v STRUCT<f1: INT, f2: STRUCT<f1: STRING>>", ({"f1": 1, "f2": {"f1": "a"}},))
    alter(table, "ADD COLUMN v.f2.f3 STRING")
    with refused("there is a column v.f2.f3 already"):
        alter(table, "ADD COLUMN v.f2.f3 STRING")
    with refused("no column v.invalid"):
        alter(table, "ADD COLUMN v.invalid.f4 STRING")
    alter(table, "DROP COLUMN v.f2.f1")
    assert rows(table) == [({"f1": 1, "f2": {"f3": None}},)]


@manager.passes("testRenameNestedColumns", "Fields of structs in structs are renamed.")
def paimon_rename_nested(lake: Lake) -> None:
    table = lake.table("v STRUCT<f1: INT, f2: STRUCT<f1: STRING>>", ({"f1": 1, "f2": {"f1": "a"}},))
    alter(table, "RENAME COLUMN v.f2.f1 TO f100")
    with refused("no column v.f2.f1"):
        alter(table, "RENAME COLUMN v.f2.f1 TO f200")
    assert rows(table) == [({"f1": 1, "f2": {"f100": "a"}},)]


@manager.passes(
    "testUpdateRowTypeInArrayAndMap", "Fields in arrays and maps are added, dropped and widened."
)
def paimon_in_array(lake: Lake) -> None:
    table = lake.table(
        "v ARRAY<MAP<INT, STRUCT<f1: STRING, f2: INT>>>", ([[(1, {"f1": "a", "f2": 2})]],)
    )
    alter(table, "DROP COLUMN v.element.value.f1")
    alter(table, "ADD COLUMN v.element.value.f3 STRING FIRST")
    alter(table, "ALTER COLUMN v.element.value.f2 TYPE BIGINT")
    assert rows(table) == [([[(1, {"f3": None, "f2": 2})]],)]


@manager.differs(
    "testDropPrimaryKeyOnNonEmptyTable",
    "The primary key is dropped from a table without rows only.",
    "the primary key can't be changed, whether there are rows or not.",
)
def paimon_drop_key(lake: Lake) -> None:
    table = lake.table("k INT, v INT", primary_key=["k"])
    with refused("primary_key is set when a table is created"):
        alter(table, "UNSET TBLPROPERTIES ('primary_key')")


@manager.passes(
    "testUpdateColumnTypeKeepsADefaultValueTheNewTypeCanRead",
    "A default goes along when the type is widened.",
)
def paimon_default(lake: Lake) -> None:
    table = lake.table("k INT, v INT DEFAULT 5")
    alter(table, "ALTER COLUMN v TYPE BIGINT")
    put(table, (1,))
    assert (rows(table), shown(table)) == ([(1, 5)], "k INT, v BIGINT DEFAULT 5")


@merging.passes(
    "testMergeSchemas",
    "Rows with new columns and wider types give the union of both schemas, with new IDs.",
)
def paimon_union(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    before = ids(table, "a", "b")
    table.append(pa.table({"b": ["y"], "a": [2**40], "c": [0.5]}), merge_schema=True)
    assert shown(table) == "a BIGINT, b STRING, c DOUBLE"
    assert ids(table, "a", "b") == before
    assert rows(table) == [(1, "x", None), (2**40, "y", 0.5)]


@merging.passes(
    "testMergeTableSchemaNotChanges", "Rows with fewer or the same columns make no schema."
)
def paimon_same(lake: Lake) -> None:
    table = lake.table("a INT, b STRING")
    before = table.schema
    table.append(pa.table({"b": ["y"]}), merge_schema=True)
    assert table.schema == before


@merging.differs(
    "testMergeDecimalTypes",
    "DECIMALs of other scales don't merge.",
    "they become one that holds both, as in Delta, if the column can widen to it.",
)
def paimon_decimals(lake: Lake) -> None:
    table = lake.table("d DECIMAL(10,2)", (Decimal("1.25"),))
    wide = pa.array([Decimal("1.125")], pa.decimal128(11, 3))
    table.append(pa.table({"d": wide}), merge_schema=True)
    assert shown(table) == "d DECIMAL(11,3)"


@changes.differs(
    "testModifyColumnTypeBooleanAndNumeric",
    "BOOLEAN becomes a number, and back.",
    "only types that hold each value, in its order, are legal; copy the values to a new column.",
)
def paimon_boolean(lake: Lake) -> None:
    with refused("from BOOLEAN to INT"):
        alter(lake.table("b BOOLEAN", (True,)), "ALTER COLUMN b TYPE INT")


@changes.passes("testDropPartitionKey", "A column of the partitioning is not dropped.")
def paimon_drop_partition(lake: Lake) -> None:
    table = lake.table("id INT, dt STRING", primary_key=["dt", "id"], partitioned_by=["dt"])
    with refused("dt can't be dropped"):
        alter(table, "DROP COLUMN dt")


@changes.differs(
    "testSequenceFieldSortOrder",
    "The row with the greatest value of a sequence column wins, whenever it came.",
    "the last commit wins, as in Kudu and GreptimeDB; order rows before they are written.",
)
def paimon_sequence(lake: Lake) -> None:
    table = lake.table("a STRING, b STRING, c STRING", primary_key=["a"])
    for row in (("a", "b", "l"), ("a", "d", "n"), ("a", "e", "m")):
        put(table, row)
    assert rows(table) == [("a", "e", "m")]


def keyed(lake: Lake) -> Table:
    return lake.table("j INT, k INT, a INT, b INT, c STRING", primary_key=["j", "k"])


def patch(table: Table, columns: list[str], *values: tuple[object, ...]) -> None:
    table.upsert(arrow(table, values, columns), partial=True)


@partial.differs(
    "testMergeRead",
    "A null in an update leaves the column as it is.",
    "columns that an update leaves out stay; a null that it brings is written.",
)
def paimon_partial(lake: Lake) -> None:
    table = keyed(lake)
    patch(table, ["j", "k", "a"], (1, 2, 3))
    patch(table, ["j", "k", "a", "b"], (1, 2, 4, 5))
    patch(table, ["j", "k", "c"], (1, 2, "6"))
    assert rows(table) == [(1, 2, 4, 5, "6")]
    patch(table, ["j", "k", "b"], (1, 2, None))
    assert rows(table, "a", "b") == [(4, None)]


@partial.passes(
    "testMergeCompaction", "Partial updates over several commits are merged by a compaction."
)
def paimon_compaction(lake: Lake) -> None:
    table = keyed(lake)
    patch(table, ["j", "k", "a"], (1, 2, 3), (1, 3, 7))
    patch(table, ["j", "k", "b"], (1, 2, 5), (1, 3, 8))
    patch(table, ["j", "k", "c"], (1, 2, "6"))
    table.maintenance.compact(strategy="full")
    assert (rows(table), segments(table)) == ([(1, 2, 3, 5, "6"), (1, 3, 7, 8, None)], 1)


partial.not_applicable(
    "testSequenceGroup",
    "Groups of columns have a sequence column each, which decides whose values win.",
    "updates apply in the order of commits; there are no sequence columns.",
)


partial.not_applicable(
    "testPartialUpdateWithAggregation",
    "Columns are aggregated where rows of a key meet: sums, maxima, lists.",
    "a table keeps rows and computes nothing from them; aggregate in a query.",
)


@first.differs(
    "testBatchQuery",
    "The first row of a key wins, and later ones are ignored.",
    "the last row wins; write rows whose key is not there yet by MERGE with NOT MATCHED only.",
)
def paimon_first(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", primary_key=["a"])
    put(table, (1, "1"), (1, "2"))
    put(table, (1, "3"))
    assert rows(table) == [(1, "3")]
