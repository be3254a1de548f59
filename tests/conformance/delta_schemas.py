"""Situations of Delta Lake: changes of schemas, and constraints."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from conformance.lake import Lake, alter, ids, put, read_segments, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
SPARK = "spark/src/test/scala/org/apache/spark/sql/delta"
cases = Source("delta", f"{SPARK}/typewidening/TypeWideningTestCases.scala", SITUATIONS)
widening = Source("delta", f"{SPARK}/typewidening/TypeWideningAlterTableSuite.scala", SITUATIONS)
nested = Source(
    "delta", f"{SPARK}/typewidening/TypeWideningAlterTableNestedSuite.scala", SITUATIONS
)
inserts = Source(
    "delta", f"{SPARK}/typewidening/TypeWideningInsertSchemaEvolutionBasicSuite.scala", SITUATIONS
)
statistics = Source("delta", f"{SPARK}/typewidening/TypeWideningStatsSuite.scala", SITUATIONS)
widened_checks = Source(
    "delta", f"{SPARK}/typewidening/TypeWideningConstraintsSuite.scala", SITUATIONS
)
alters = Source("delta", f"{SPARK}/DeltaAlterTableTests.scala", SITUATIONS)
renames = Source("delta", f"{SPARK}/DeltaColumnRenameSuite.scala", SITUATIONS)
drops = Source("delta", f"{SPARK}/DeltaDropColumnSuite.scala", SITUATIONS)
mapping = Source("delta", f"{SPARK}/DeltaColumnMappingSuite.scala", SITUATIONS)
checks = Source("delta", f"{SPARK}/schema/CheckConstraintsSuite.scala", SITUATIONS)


def widened(lake: Lake, old: str, new: str, before: list[Any], after: list[Any]) -> list[Any]:
    """Widen a column of one type to another, and return the values from before and from after it."""
    name = f"from_{old}_to_{new}".translate(str.maketrans("(,)", "___"))
    table = lake.table(f"n INT, a {old}", *enumerate(before), name=name)
    alter(table, f"ALTER COLUMN a TYPE {new}")
    put(table, *enumerate(after, len(before)))
    assert shown(table) == f"n INT, a {new}"
    found = table.scan(["n", "a"]).to_arrow().sort_by("n")["a"].to_pylist()
    assert type(found[0]) is type(after[0])
    return found


@cases.passes(
    "ByteType, ShortType", "TINYINT becomes SMALLINT, INT; each value of before and after is read."
)
def widen_bytes(lake: Lake) -> None:
    old = [1, -1, -128, 127, None]
    for new, most in (("SMALLINT", 2**15), ("INT", 2**31), ("BIGINT", 2**63)):
        more = [4, -4, -most, most - 1, None]
        assert widened(lake, "TINYINT", new, old, more) == old + more


@cases.passes("ShortType, IntegerType", "SMALLINT becomes INT, BIGINT.")
def widen_shorts(lake: Lake) -> None:
    old = [1, -1, -(2**15), 2**15 - 1, None]
    for new, most in (("INT", 2**31), ("BIGINT", 2**63)):
        more = [4, -4, -most, most - 1, None]
        assert widened(lake, "SMALLINT", new, old, more) == old + more


@cases.passes("IntegerType, LongType", "INT becomes BIGINT.")
def widen_ints(lake: Lake) -> None:
    old, more = [1, -1, -(2**31), 2**31 - 1, None], [4, -4, -(2**63), 2**63 - 1, None]
    assert widened(lake, "INT", "BIGINT", old, more) == old + more


@cases.passes("FloatType, DoubleType", "FLOAT becomes DOUBLE, with NaN, infinities and both zeros.")
def widen_floats(lake: Lake) -> None:
    old = [0.5, -0.0, 0.0, math.nan, -math.inf, math.inf, 2**-149, None]
    more = [987654321.987654321, -0.0, math.nan, math.inf, 5e-324, None]
    found = widened(lake, "FLOAT", "DOUBLE", old, more)
    assert [repr(value) for value in found] == [repr(value) for value in old + more]


@cases.passes("DateType, TimestampNTZType", "DATE becomes TIMESTAMP_NTZ at midnight, also in 1312.")
def widen_dates(lake: Lake) -> None:
    old = [dt.date(2020, 1, 1), dt.date(2024, 2, 29), dt.date(1312, 2, 27)]
    more = [dt.datetime(2020, 3, 17, 15, 23, 15, 123456), dt.datetime(1, 1, 1)]
    table = lake.table("n INT, a DATE", *enumerate(old))
    alter(table, "ALTER COLUMN a TYPE TIMESTAMP_NTZ")
    put(table, *enumerate(more, 3))
    found = [value for _, value in rows(table)]
    assert found == [dt.datetime(day.year, day.month, day.day) for day in old] + more


@cases.passes(
    "DecimalType(Decimal.MAX_INT_DIGITS",
    "A DECIMAL gets more digits, before the point and after it.",
)
def widen_decimals(lake: Lake) -> None:
    old = [Decimal("1.23"), Decimal("10.34"), None]
    most = [Decimal("-67.89"), Decimal("9" * 16 + ".99"), None]
    assert widened(lake, "DECIMAL(9,2)", "DECIMAL(18,2)", old, most) == old + most
    small = [Decimal("-67.890"), Decimal("999999.990")]
    assert widened(lake, "DECIMAL(8,2)", "DECIMAL(9,3)", old, small) == [*old, *small]
    wide = [Decimal("9" * 16 + ".990")]
    assert widened(lake, "DECIMAL(9,2)", "DECIMAL(19,3)", old, wide) == [*old, *wide]


@cases.passes("IntegerType, DoubleType", "INT becomes DOUBLE, exactly.")
def widen_to_double(lake: Lake) -> None:
    old, more = [1, -1, -(2**31), 2**31 - 1, None], [987654321.987654321, math.inf, None]
    found = widened(lake, "INT", "DOUBLE", old, more)
    assert found == [1.0, -1.0, -2147483648.0, 2147483647.0, None, *more]


@cases.passes("ByteType, DecimalType(10, 0)", "Integers become a DECIMAL that holds all of them.")
def widen_to_decimal(lake: Lake) -> None:
    more = [Decimal("9" * 10), None]
    for old, most in (("TINYINT", 127), ("SMALLINT", 2**15 - 1), ("INT", 2**31 - 1)):
        assert widened(lake, old, "DECIMAL(10,0)", [1, most, None], more) == [1, most, None, *more]
    wide = [Decimal("9" * 20)]
    assert widened(lake, "BIGINT", "DECIMAL(20,0)", [2**63 - 1], wide) == [2**63 - 1, *wide]


NARROWER = (
    ("INT", "TINYINT", 128),
    ("BIGINT", "INT", 2**31),
    ("DOUBLE", "FLOAT", 0.1),
    ("TINYINT", "DECIMAL(2,0)", 100),
    ("SMALLINT", "DECIMAL(4,0)", 10_000),
    ("INT", "DECIMAL(9,0)", 10**9),
    ("BIGINT", "DECIMAL(18,0)", 10**18),
    ("TIMESTAMP_NTZ", "DATE", dt.datetime(2020, 3, 17, 15, 23)),
    ("DECIMAL(9,2)", "DECIMAL(9,3)", Decimal("9999999.99")),
    ("DECIMAL(9,2)", "DECIMAL(8,2)", Decimal("9999999.99")),
    ("DECIMAL(18,2)", "DECIMAL(8,1)", Decimal("-67.89")),
    ("DECIMAL(9,2)", "DECIMAL(10,4)", Decimal("9999999.99")),
    ("DECIMAL(18,2)", "DECIMAL(12,1)", Decimal("-67.89")),
)
"""Types, narrower ones, and a value that does not fit these."""


@widening.passes(
    "unsupported type changes",
    "Types that do not hold every value are refused; rows are still read.",
)
def narrower(lake: Lake) -> None:
    table = lake.table(", ".join(f"c{number} {old}" for number, (old, _, _) in enumerate(NARROWER)))
    put(table, tuple(value for _, _, value in NARROWER))
    for number, (_, new, _) in enumerate(NARROWER):
        with refused(f"c{number}"):
            alter(table, f"ALTER COLUMN c{number} TYPE {new}")
    assert rows(table) == [tuple(value for _, _, value in NARROWER)]


@widening.passes(
    "type widening using ALTER TABLE REPLACE COLUMNS", "REPLACE COLUMNS with a wider type widens."
)
def widen_by_replacing(lake: Lake) -> None:
    table = lake.table("value SMALLINT, n INT", (1, 2))
    alter(table, "REPLACE COLUMNS (value INT, n INT)")
    put(table, (2**31 - 1, 3))
    assert rows(table) == [(1, 2), (2**31 - 1, 3)]


@nested.passes(
    "unsupported ALTER TABLE CHANGE COLUMN on non-leaf fields",
    "A struct, map or array is not changed as a whole.",
)
def change_nested(lake: Lake) -> None:
    table = lake.table("s STRUCT<a: INT>, m MAP<INT, INT>, l ARRAY<INT>")
    for name, type_ in (
        ("s", "STRUCT<a: BIGINT>"),
        ("m", "MAP<INT, BIGINT>"),
        ("l", "ARRAY<BIGINT>"),
    ):
        with refused(f"the type of {name} is a.*can't be changed as a whole"):
            alter(table, f"ALTER COLUMN {name} TYPE {type_}")


@nested.differs(
    "type widening with ALTER TABLE on nested fields",
    "Fields of structs, the keys and values of maps and the elements of arrays are widened.",
    "keys of a map are not widened: two keys that differ could become equal.",
)
def widen_nested(lake: Lake) -> None:
    table = lake.table(
        "s STRUCT<a: TINYINT>, m MAP<TINYINT, SMALLINT>, l ARRAY<SMALLINT>",
        ({"a": 1}, [(0, 1)], [1, None]),
    )
    alter(table, "ALTER COLUMN s.a TYPE SMALLINT")
    alter(table, "ALTER COLUMN m.value TYPE INT")
    alter(table, "ALTER COLUMN l.element TYPE INT")
    with refused("in the key of a map"):
        alter(table, "ALTER COLUMN m.key TYPE SMALLINT")
    put(table, ({"a": 32767}, [(1, 2**31 - 1)], [2**31 - 1]))
    assert rows(table, "s", "m", "l") == [
        ({"a": 1}, [(0, 1)], [1, None]),
        ({"a": 32767}, [(1, 2**31 - 1)], [2**31 - 1]),
    ]


@inserts.passes(
    "INSERT - automatic type widening",
    "Rows with a wider type widen the column, if evolution is on.",
)
def insert_wider(lake: Lake) -> None:
    table = lake.table("a SMALLINT", (1,))
    table.append(pa.table({"a": pa.array([2**31 - 1], pa.int32())}), merge_schema=True)
    assert shown(table) == "a INT"
    assert rows(table) == [(1,), (2**31 - 1,)]


@inserts.passes(
    "INSERT - unsupported automatic type widening",
    "Rows with a type that the column can't widen to are cast or refused.",
)
def insert_not_wider(lake: Lake) -> None:
    table = lake.table("a INT", (1,))
    with refused("a is INT, and STRING does not widen"):
        table.append(pa.table({"a": ["x"]}), merge_schema=True)
    assert shown(table) == "a INT"


@inserts.differs(
    "INSERT - type widening isn't applied when schema evolution is disabled",
    "Without schema evolution, wider values are cast to the type of the column, and may overflow.",
    "in Python a wider type is refused, whatever the values are; Spark's INSERT casts, as there.",
)
def insert_strict(lake: Lake) -> None:
    table = lake.table("a SMALLINT", (1,))
    with refused("a is SMALLINT"):
        table.append(pa.table({"a": pa.array([2], pa.int32())}))
    assert shown(table) == "a SMALLINT"


@inserts.passes(
    "INSERT - type widening is triggered when schema evolution is enabled via option",
    "The option of one write widens the column.",
)
def insert_by_property(lake: Lake) -> None:
    table = lake.table("a SMALLINT", (1,), properties={"schema_mode": "live"})
    table.append(pa.table({"a": pa.array([70_000], pa.int32())}))
    assert rows(table) == [(1,), (70_000,)]


@statistics.passes(
    "data skipping after type change",
    "After SMALLINT became INT, filters skip files of both types.",
)
def skip_widened(lake: Lake) -> None:
    table = lake.table("a SMALLINT", (1,))
    put(table, (2,))
    alter(table, "ALTER COLUMN a TYPE INT")
    put(table, (-(2**31),))
    assert read_segments(table, "a", "=", 1) == 1
    assert rows(table, filters=[("a", "=", 1)]) == [(1,)]
    assert read_segments(table, "a", "=", -(2**31)) == 1
    assert rows(table, filters=[("a", "=", -(2**31))]) == [(-(2**31),)]


@statistics.passes(
    "metadata-only query", "The number of rows is known without reading after a type change."
)
def count_widened(lake: Lake) -> None:
    table = lake.table("a SMALLINT", (1,), (2,))
    alter(table, "ALTER COLUMN a TYPE INT")
    put(table, (3,))
    assert table.count() == 3


@widened_checks.passes(
    "not null constraint with type change", "A NOT NULL column is widened and stays NOT NULL."
)
def widen_not_null(lake: Lake) -> None:
    table = lake.table("a TINYINT NOT NULL", (1,))
    alter(table, "ALTER COLUMN a TYPE SMALLINT")
    with refused("a is NOT NULL"):
        put(table, (None,))
    assert shown(table) == "a SMALLINT NOT NULL"


@widened_checks.differs(
    "check constraint with type change",
    "A column that a CHECK constraint names can't be widened: hash(a) would be another value.",
    "it can: conditions are comparisons, which mean the same in a wider type; hash is refused in them.",
)
def widen_checked(lake: Lake) -> None:
    table = lake.table("a TINYINT, b TINYINT", checks={"ck": "a > 0"})
    put(table, (2, 2))
    alter(table, "ALTER COLUMN a TYPE SMALLINT")
    with refused("violates the constraint ck"):
        put(table, (-300, 1))
    put(table, (300, 1))
    assert rows(table) == [(2, 2), (300, 1)]
    with refused("a comparison with a constant was expected", InvalidRequestError):
        table.alter().add_check("h", "hash(a) > 0").commit()


@widened_checks.passes(
    "add constraint after type change then RESTORE",
    "A restore to before a type change and a constraint takes both back.",
)
def restore_checked(lake: Lake) -> None:
    table = lake.table("a TINYINT", (2,))
    alter(table, "ALTER COLUMN a TYPE INT")
    alter(table, "ADD CONSTRAINT ck CHECK (a > 0)")
    table.rollback(1)
    assert shown(table) == "a TINYINT"
    assert table.checks == {}
    put(table, (-1,))


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
    "In a session that tells cases apart, V1 is not v1.",
    "names are compared regardless of case, whatever the session says; they are stored as written.",
)
def case_sensitive(lake: Lake) -> None:
    table = lake.table("V1 INT")
    with refused("there is a column V1 already"):
        alter(table, "ADD COLUMN v1 INT")
    assert table.schema.names == ["V1"]


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
    "A table that is dropped is created again in its folder, and has the rows of before.",
    "a new table needs an empty folder; `register_table` takes up the table that is in one.",
)
def recreate(lake: Lake) -> None:
    lake.table("a INT, b INT", (1, 2), location=lake.warehouse / "kept")
    lake.catalog.drop_table("t")
    with refused("kept"):
        lake.table("b INT, a INT", location=lake.warehouse / "kept")
    assert rows(lake.catalog.register_table("t", lake.warehouse / "kept")) == [(1, 2)]


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


@mapping.passes(
    "explicit id matching",
    "Files are matched by ID: a file's column of another name is read under the new one.",
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


@mapping.passes(
    "unit test physical name assigning is case-insensitive",
    "No two columns get names in files that differ only in case.",
)
def physical_names(lake: Lake) -> None:
    table = lake.table("Col INT", (1,))
    table.alter().rename_column("Col", "other").add_column("COL", "INT").commit()
    put(table, (2, 20))
    names = [column.physical_name.lower() for column in table.schema.columns]
    assert len(set(names)) == 2
    assert rows(table, "other", "COL") == [(1, None), (2, 20)]


def numbers(lake: Lake) -> Table:
    return lake.table("num INT, text STRING", (1, "a"), (2, "b"))


@checks.passes("can't add unparseable constraint", "A condition that does not parse is refused.")
def unparseable(lake: Lake) -> None:
    with refused("a constant was expected", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (id <> )")


@checks.passes("constraint must be boolean", "CHECK (3) is refused.")
def not_boolean(lake: Lake) -> None:
    with refused("a name was expected .*but found 3", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (3)")


@checks.passes(
    "can't add constraint referencing non-existent columns",
    "A condition on a column that is not there is refused.",
)
def check_of_missing(lake: Lake) -> None:
    with refused("no column other", NotFoundError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (other > 0)")


@checks.passes(
    "duplicate constraint check is case insensitive",
    "A second constraint of one name, in any case, is refused.",
)
def check_twice(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT trivial CHECK (num > 0)")
    with refused("(?i)there is a constraint trivial already"):
        alter(table, "ADD CONSTRAINT TRIVIAL CHECK (num > -1)")


@checks.passes("can't add already violated constraint", "A condition that rows violate is refused.")
def violated(lake: Lake) -> None:
    table = numbers(lake)
    with refused("violates the constraint c"):
        alter(table, "ADD CONSTRAINT c CHECK (num <> 2)")
    assert table.refresh().checks == {}


@checks.passes(
    "can't add row violating constraint",
    "A row that violates a condition is refused, with the whole write.",
)
def violating_row(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (text <> 'fail')")
    with refused("violates the constraint c"):
        put(table, (3, "good"), (4, "fail"))
    assert rows(table) == [(1, "a"), (2, "b")]


@checks.passes(
    "drop constraint that doesn't exist throws an exception",
    "A constraint that is not there is not dropped.",
)
def drop_missing_check(lake: Lake) -> None:
    with refused("no constraint none", NotFoundError):
        alter(numbers(lake), "DROP CONSTRAINT none")


@checks.passes(
    "can drop constraint that doesn't exist with IF EXISTS",
    "IF EXISTS drops nothing, without an error.",
)
def drop_check_if_exists(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (num > 0)")
    table.alter().drop_check("none", if_exists=True).set_property("my.key", "x").commit()
    assert table.checks == {"c": "num > 0"}


@checks.passes(
    "drop constraint is case insensitive", "A constraint is dropped by its name in another case."
)
def drop_any_case(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT MyCheck CHECK (num > 0)")
    alter(table, "DROP CONSTRAINT mycheck")
    put(table, (-1, "x"))
    assert table.checks == {}


@checks.differs(
    "constraints with nulls",
    "A row for which the condition is null violates the constraint.",
    "it satisfies it, as in standard SQL; add `IS NOT NULL` to refuse it.",
)
def null_check(lake: Lake) -> None:
    table = numbers(lake)
    alter(table, "ADD CONSTRAINT c CHECK (num < 5)")
    put(table, (None, "x"))
    alter(table, "ADD CONSTRAINT d CHECK (text IS NOT NULL AND text < 'z')")
    with refused("violates the constraint d"):
        put(table, (1, None))
    assert rows(table)[-1] == (None, "x")


@checks.passes(
    "complex constraints", "Conditions with AND, OR, NOT, IN and fields of structs are enforced."
)
def complex_check(lake: Lake) -> None:
    table = lake.table("n INT, s STRUCT<m: INT>")
    alter(table, "ADD CONSTRAINT c CHECK ((n IN (1, 2) OR s.m BETWEEN 5 AND 7) AND NOT (n = 2))")
    put(table, (1, {"m": 0}), (9, {"m": 6}))
    for row in ((2, {"m": 6}), (9, {"m": 8})):
        with refused("violates the constraint c"):
            put(table, row)
    assert len(rows(table)) == 2


@checks.passes("SET NOT NULL constraint fails", "SET NOT NULL is refused if there are nulls.")
def not_null_fails(lake: Lake) -> None:
    table = numbers(lake)
    put(table, (None, "c"))
    with refused("1 of its values are null"):
        alter(table, "ALTER COLUMN num SET NOT NULL")


@checks.differs(
    "constraint on builtin methods",
    "A condition may call functions, such as length(text) > 1.",
    "conditions are comparisons of columns with constants; functions are refused, so that all writers "
    "decide alike.",
)
def check_function(lake: Lake) -> None:
    with refused("a comparison with a constant was expected", InvalidRequestError):
        alter(numbers(lake), "ADD CONSTRAINT c CHECK (length(text) < 10)")
