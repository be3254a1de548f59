"""Situations of Delta Lake: changes of columns."""

from __future__ import annotations

from conformance.lake import Lake, alter, ids, put, read_segments, refused, rows
from conformance.registry import Situation, Source
from versioned_catalog import NotFoundError

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
alters = Source("delta", f"{SPARK}/DeltaAlterTableTests.scala", SITUATIONS)
renames = Source("delta", f"{SPARK}/DeltaColumnRenameSuite.scala", SITUATIONS)
drops = Source("delta", f"{SPARK}/DeltaDropColumnSuite.scala", SITUATIONS)
mapping = Source("delta", f"{SPARK}/DeltaColumnMappingSuite.scala", SITUATIONS)
protocol = Source("delta", "PROTOCOL.md", SITUATIONS)


@alters.passes("ADD COLUMNS - with positions", "Columns are added first and behind another one.")
def add_at_positions(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING", (1, "a"))
    alter(table, "ADD COLUMNS (v3 BIGINT FIRST, v4 BIGINT AFTER v1, v5 BIGINT, v6 BIGINT AFTER v2)")
    assert table.schema.names == ["v3", "v1", "v4", "v2", "v6", "v5"]
    assert rows(table) == [(None, 1, None, "a", None, None)]


@alters.passes(
    "ADD COLUMNS - with positions using an added column",
    "A column is added behind one of the same statement.",
)
def add_after_added(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING")
    alter(table, "ADD COLUMNS (v3 BIGINT FIRST, v4 BIGINT AFTER v3, v5 BIGINT AFTER v4)")
    assert table.schema.names == ["v3", "v4", "v5", "v1", "v2"]


@alters.passes(
    "ADD COLUMNS - nested columns", "Fields are added to structs, in arrays and in maps."
)
def add_nested(lake: Lake) -> None:
    table = lake.table(
        "s STRUCT<v1: INT>, a ARRAY<STRUCT<v1: INT>>, m MAP<INT, STRUCT<v1: INT>>",
        ({"v1": 1}, [{"v1": 2}], [(3, {"v1": 4})]),
    )
    alter(table, "ADD COLUMNS (s.sv BIGINT, a.element.av BIGINT, m.value.mv BIGINT)")
    assert rows(table) == [
        ({"v1": 1, "sv": None}, [{"v1": 2, "av": None}], [(3, {"v1": 4, "mv": None})])
    ]


@alters.passes(
    "ADD COLUMNS - special column names with positions",
    "Names with dots are added and named in AFTER.",
)
def add_dotted(lake: Lake) -> None:
    table = lake.table("`v.1` INT, v2 STRING", (1, "a"))
    alter(table, "ADD COLUMNS (`v.3` BIGINT AFTER `v.1`)")
    assert table.schema.names == ["v.1", "v.3", "v2"]


@alters.passes(
    "ADD COLUMNS - adding after an unknown column",
    "A column is not added behind one that is not there.",
)
def add_after_unknown(lake: Lake) -> None:
    with refused("no column unknown to come after"):
        alter(lake.table("v1 INT"), "ADD COLUMN v3 BIGINT AFTER unknown")


@alters.passes(
    "ADD COLUMNS - case insensitive", "AFTER finds a column by its name in another case."
)
def add_any_case(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING")
    alter(table, "ADD COLUMN v3 BIGINT AFTER V1")
    assert table.schema.names == ["v1", "v3", "v2"]


@alters.differs(
    "ADD COLUMNS - case sensitive",
    "In a session that tells cases apart, AFTER V1 does not find v1.",
    "names are compared regardless of case, whatever the session says; they are stored as written.",
)
def case_sensitive(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING")
    alter(table, "ADD COLUMNS (V3 BIGINT AFTER V1)")
    assert table.schema.names == ["v1", "V3", "v2"]
    with refused("there is a column V3 already"):
        alter(table, "ADD COLUMN v3 INT")


@alters.passes("CHANGE COLUMN - move to first", "A column becomes the first one.")
def change_first(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING", (1, "a"))
    alter(table, "CHANGE COLUMN v2 v2 STRING FIRST")
    assert rows(table) == [("a", 1)]


@alters.passes(
    "CHANGE COLUMN - move to after some column (nested)",
    "A field of a struct moves behind another one.",
)
def change_nested_after(lake: Lake) -> None:
    table = lake.table("s STRUCT<v1: INT, v2: STRING, v3: INT>", ({"v1": 1, "v2": "a", "v3": 2},))
    alter(table, "CHANGE COLUMN s.v1 AFTER v3")
    assert list(rows(table)[0][0].items()) == [("v2", "a"), ("v3", 2), ("v1", 1)]


@alters.differs(
    "CHANGE COLUMN - move to after the same column",
    "A move behind itself leaves the column where it is.",
    "it is refused, as in Iceberg: it can only be a mistake.",
)
def change_after_itself(lake: Lake) -> None:
    with refused("v1 can't be moved after itself"):
        alter(lake.table("v1 INT, v2 STRING"), "CHANGE COLUMN v1 AFTER v1")


@alters.passes(
    "CHANGE COLUMN - move a partitioned column to first", "A column of the partitioning moves."
)
def change_partitioned(lake: Lake) -> None:
    table = lake.table("v1 INT, v2 STRING", (1, "a"), partitioned_by=["v2"])
    alter(table, "CHANGE COLUMN v2 FIRST")
    assert rows(table, filters=[("v2", "=", "a")]) == [("a", 1)]
    assert table.partitioning == ["v2"]


@alters.passes(
    "CHANGE COLUMN: allow to change change column from char to string type", "CHAR becomes STRING."
)
def char_to_string(lake: Lake) -> None:
    table = lake.table("v CHAR(3)", ("ab",))
    alter(table, "CHANGE COLUMN v v STRING")
    put(table, ("longer",))
    assert [value.rstrip() for (value,) in rows(table)] == ["ab", "longer"]


@alters.passes(
    "CHANGE COLUMN: allow to change column from varchar(x) to varchar(y) type x <= y",
    "VARCHAR gets longer.",
)
def longer_varchar(lake: Lake) -> None:
    table = lake.table("v VARCHAR(2)", ("ab",))
    alter(table, "CHANGE COLUMN v v VARCHAR(4)")
    put(table, ("abcd",))
    with refused("a value has 5 characters"):
        put(table, ("abcde",))
    with refused(r"from VARCHAR\(4\) to VARCHAR\(3\)"):
        alter(table, "CHANGE COLUMN v v VARCHAR(3)")
    assert rows(table) == [("ab",), ("abcd",)]


@alters.passes(
    "CHANGE COLUMN: allow to change column from char(x) to varchar(y) type x <= y",
    "CHAR becomes a VARCHAR that is as long.",
)
def char_to_varchar(lake: Lake) -> None:
    table = lake.table("v CHAR(2)", ("ab",))
    alter(table, "CHANGE COLUMN v v VARCHAR(4)")
    with refused("a value has 5 characters"):
        put(table, ("abcde",))
    assert rows(table) == [("ab",)]


@alters.passes(
    "CHANGE COLUMN: allow to change array element from char to string type",
    "Elements of CHAR become STRING.",
)
def char_elements(lake: Lake) -> None:
    table = lake.table("l ARRAY<CHAR(1)>", (["a"],))
    alter(table, "ALTER COLUMN l.element TYPE STRING")
    put(table, (["bcd"],))
    assert rows(table) == [(["a"],), (["bcd"],)]


@alters.passes("CHANGE COLUMN - move unknown column", "A column that is not there is not moved.")
def change_unknown(lake: Lake) -> None:
    with refused("no column unknown", NotFoundError):
        alter(lake.table("v1 INT"), "CHANGE COLUMN unknown FIRST")


@alters.differs(
    "SET LOCATION",
    "SET LOCATION points the table at another folder.",
    "it is refused: a table stays in its folder, and rows are copied to another one.",
)
def set_location(lake: Lake) -> None:
    with refused("SET LOCATION is not supported"):
        alter(lake.table("v1 INT"), "SET LOCATION '/elsewhere'")


@renames.passes(
    "rename in column mapping mode",
    "Columns are renamed without rewriting a file; old names are gone.",
)
def rename(lake: Lake) -> None:
    table = lake.table("a INT, b STRUCT<c: STRING, d: INT>", (1, {"c": "x", "d": 2}))
    before = table.inspect.segments()["path"].to_pylist()
    alter(table, "RENAME COLUMN a TO a1")
    alter(table, "RENAME COLUMN b.c TO c1")
    assert rows(table, "a1", "b") == [(1, {"c1": "x", "d": 2})]
    assert table.inspect.segments()["path"].to_pylist() == before
    with refused("no column a"):
        table.scan(["a"])


@renames.differs(
    "rename with constraints",
    "A column that a CHECK constraint names can't be renamed.",
    "it can: constraints are bound to columns by ID, and follow the name.",
)
def rename_checked(lake: Lake) -> None:
    table = lake.table("a INT, b STRUCT<d: INT>", checks={"pos": "a > 0", "deep": "b.d > 0"})
    alter(table, "RENAME COLUMN a TO a1")
    alter(table, "RENAME COLUMN b TO b1")
    put(table, (1, {"d": 1}))
    for row in ((0, {"d": 1}), (1, {"d": 0})):
        with refused("violates the constraint (pos|deep)"):
            put(table, row)
    assert rows(table) == [(1, {"d": 1})]


@renames.differs(
    "rename with generated column",
    "A column that a generated column is computed from can't be renamed.",
    "it can: expressions are bound to columns by ID, and follow the name.",
)
def rename_source(lake: Lake) -> None:
    table = lake.table("a INT, g INT", generated={"g": "a + 1"})
    put(table, (1,))
    alter(table, "RENAME COLUMN a TO a1")
    put(table, (2,))
    assert rows(table) == [(1, 2), (2, 3)]
    assert table.generated == {"g": "a1 + 1"}


@renames.passes(
    "ALTER TABLE RENAME COLUMN - rename fields nested in maps",
    "Fields in the keys and values of maps are renamed.",
)
def rename_in_maps(lake: Lake) -> None:
    table = lake.table("m MAP<STRUCT<a: INT>, STRUCT<b: INT>>", ([({"a": 1}, {"b": 2})],))
    alter(table, "RENAME COLUMN m.key.a TO a1")
    alter(table, "RENAME COLUMN m.value.b TO b1")
    assert rows(table) == [([({"a1": 1}, {"b1": 2})],)]


@renames.passes(
    "ALTER TABLE RENAME COLUMN - rename fields nested in arrays",
    "Fields in arrays of arrays are renamed.",
)
def rename_in_arrays(lake: Lake) -> None:
    table = lake.table("l ARRAY<ARRAY<STRUCT<a: INT>>>", ([[{"a": 1}]],))
    alter(table, "RENAME COLUMN l.element.element.a TO a1")
    assert rows(table) == [([[{"a1": 1}]],)]


@renames.passes(
    "rename column with special characters and data skipping stats",
    "A column becomes one with odd characters, and still skips files.",
)
def rename_odd(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    put(table, (2,))
    alter(table, "RENAME COLUMN a TO `c.o,l ;{}()=`")
    assert rows(table) == [(1,), (2,)]
    assert read_segments(table, "`c.o,l ;{}()=`", "=", 2) == 1


@drops.passes("drop column - basic", "Columns and nested fields are dropped, several at once.")
def drop(lake: Lake) -> None:
    table = lake.table(
        "a STRING, b STRUCT<c: STRING, d: INT>, arr ARRAY<INT>", ("s", {"c": "x", "d": 1}, [1])
    )
    alter(table, "DROP COLUMN arr")
    alter(table, "DROP COLUMNS (a, b.c)")
    assert rows(table) == [({"d": 1},)]


@drops.passes("dropped columns can no longer be queried", "A dropped column is not found any more.")
def dropped(lake: Lake) -> None:
    table = lake.table("a STRING, b INT", ("s", 1))
    alter(table, "DROP COLUMN a")
    with refused("no column a", NotFoundError):
        table.scan(filters=[("a", "=", "s")])


@drops.passes(
    "drop column - corner cases", "The last field of a struct and the last column are not dropped."
)
def drop_last(lake: Lake) -> None:
    table = lake.table("b STRUCT<d: INT>, n INT", ({"d": 1}, 2))
    with refused("the last field of b"):
        alter(table, "DROP COLUMN b.d")
    alter(table, "DROP COLUMN b")
    with refused("the last column"):
        alter(table, "DROP COLUMN n")
    assert rows(table) == [(2,)]


@drops.passes("drop column with constraints", "A column that a constraint names is not dropped.")
def drop_checked(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2), checks={"pos": "a > 0"})
    with refused("the constraint pos needs it"):
        alter(table, "DROP COLUMN a")
    alter(table, "DROP COLUMN b")
    assert rows(table) == [(1,)]


@drops.passes(
    "can't drop map key/value or array element", "The key, value or element is not dropped."
)
def drop_inner(lake: Lake) -> None:
    table = lake.table("m MAP<INT, INT>, l ARRAY<INT>")
    for path in ("m.key", "m.value", "l.element"):
        with refused(f"{path} can't be dropped"):
            alter(table, f"DROP COLUMN {path}")


@drops.passes(
    "drop with generated column", "A column that another is computed from is not dropped."
)
def drop_source(lake: Lake) -> None:
    table = lake.table("a INT, b INT, g INT", generated={"g": "a + 1"})
    with refused("drop that column first"):
        alter(table, "DROP COLUMN a")
    alter(table, "DROP COLUMN b")
    alter(table, "DROP COLUMN g")
    assert table.schema.names == ["a"]


@drops.passes(
    "dropping partition columns is not allowed", "A column of the partitioning is not dropped."
)
def drop_partitioned(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2), partitioned_by=["a"])
    with refused("partition"):
        alter(table, "DROP COLUMN a")
    assert rows(table) == [(1, 2)]


@drops.passes("dropping all columns is not allowed", "A table keeps at least one column.")
def drop_all(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    with refused("the last column"):
        alter(table, "DROP COLUMNS (a, b)")
    assert rows(table) == [(1, 2)]


@mapping.differs(
    "drop and recreate external Delta table with name column mapping enabled",
    "A table that is dropped is created again in its folder, and goes on with its column IDs.",
    "a new table needs an empty folder; `register_table` takes up the table that is in one.",
)
def recreate(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2), location=lake.warehouse / "kept")
    alter(table, "DROP COLUMN a")
    lake.catalog.drop_table("t")
    with refused("kept"):
        lake.table("b INT", location=lake.warehouse / "kept")
    taken_up = lake.catalog.register_table("t", lake.warehouse / "kept")
    alter(taken_up, "ADD COLUMN c INT")
    assert (rows(taken_up), ids(taken_up, "b", "c")) == ([(2, None)], [2, 3])


@mapping.differs(
    "replace delta table will reuse the field id only when column name and type unchanged",
    "REPLACE TABLE keeps the ID of a column whose name and type are as before.",
    "each incarnation gives new IDs: a column of the new table is another one than that of the old.",
)
def replace(lake: Lake) -> None:
    table = lake.table("a BIGINT, b INT", (1, 2))
    before = ids(table, "a", "b")
    replaced = lake.catalog.replace_table("t", "a BIGINT, b BIGINT")
    assert not set(before) & set(ids(replaced, "a", "b"))
    assert rows(replaced) == []


@mapping.passes(
    "restore Delta table with name column mapping enabled",
    "A restore brings names and columns back, with their values.",
)
def restore_names(lake: Lake) -> None:
    table = lake.table("a INT, b STRING", (1, "x"))
    alter(table, "RENAME COLUMN a TO c")
    alter(table, "DROP COLUMN b")
    put(table, (2,))
    table.rollback(1)
    assert table.schema.names == ["a", "b"]
    assert rows(table) == [(1, "x")]


@protocol.passes(
    "Reader Requirements for Column Mapping",
    "Columns of files are found by ID, whatever their names in the schema are.",
)
def by_id(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 2))
    table.alter().rename_column("a", "x").rename_column("b", "a").rename_column("x", "b").commit()
    put(table, (30, 40), columns=["b", "a"])
    assert rows(table, "a", "b") == [(2, 1), (40, 30)]


@mapping.passes(
    "filters pushed down to parquet use physical names",
    "A filter on a renamed column finds rows of files from before.",
)
def filter_renamed(lake: Lake) -> None:
    table = lake.table("a INT, b INT", (1, 9))
    put(table, (5, 8))
    alter(table, "RENAME COLUMN a TO c")
    assert read_segments(table, "c", "=", 5) == 1
    assert rows(table, filters=[("c", "=", 5)]) == [(5, 8)]


@mapping.passes(
    "add nested column in schema on new protocol",
    "A nested field is added, and is null in old rows.",
)
def add_nested_field(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>", ({"a": 1},))
    alter(table, "ADD COLUMN s.b STRUCT<c: INT>")
    put(table, ({"a": 2, "b": {"c": 3}},))
    assert rows(table) == [({"a": 1, "b": None},), ({"a": 2, "b": {"c": 3}},)]


@protocol.passes(
    "Writer Requirements for Column Mapping",
    "Each column gets an ID, and a name in files that no other column has, and keeps both.",
)
def physical_names(lake: Lake) -> None:
    table = lake.table("Col INT", (1,))
    table.alter().rename_column("Col", "other").add_column("COL", "INT").commit()
    put(table, (2, 20))
    names = [column.physical_name.lower() for column in table.schema.columns]
    assert (len(set(names)), ids(table, "other", "COL")) == (2, [1, 2])
    assert rows(table, "other", "COL") == [(1, None), (2, 20)]
