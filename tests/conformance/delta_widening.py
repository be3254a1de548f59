"""Situations of Delta Lake: wider types."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from conformance.lake import Lake, alter, put, read_segments, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import InvalidRequestError

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


@nested.passes(
    "type widening with ALTER TABLE on nested fields",
    "Fields of structs, the keys and values of maps and the elements of arrays are widened.",
)
def widen_nested(lake: Lake) -> None:
    table = lake.table(
        "s STRUCT<a: TINYINT>, m MAP<TINYINT, SMALLINT>, l ARRAY<SMALLINT>",
        ({"a": 1}, [(0, 1)], [1, None]),
    )
    alter(table, "ALTER COLUMN s.a TYPE SMALLINT")
    alter(table, "ALTER COLUMN m.key TYPE INT")
    alter(table, "ALTER COLUMN m.value TYPE INT")
    alter(table, "ALTER COLUMN l.element TYPE INT")
    put(table, ({"a": 32767}, [(2**31 - 1, 2**31 - 1)], [2**31 - 1]))
    assert rows(table, "s", "m", "l") == [
        ({"a": 1}, [(0, 1)], [1, None]),
        ({"a": 32767}, [(2**31 - 1, 2**31 - 1)], [2**31 - 1]),
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


@inserts.differs(
    "INSERT - unsupported automatic type widening",
    "Rows with a type that the column does not widen to are cast to it, and the type stays.",
    "in Python they are refused; Spark's INSERT casts, as there.",
)
def insert_not_wider(lake: Lake) -> None:
    table = lake.table("a FLOAT, b INT", (0.5, 1))
    with refused("b is INT, and STRING does not widen"):
        table.append(pa.table({"b": ["x"]}), merge_schema=True)
    assert shown(table) == "a FLOAT, b INT"


@inserts.differs(
    "INSERT - type widening isn't applied when schema evolution is disabled",
    "Without schema evolution, wider values are cast to the type of the column.",
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
