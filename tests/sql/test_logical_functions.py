"""The functions of ``pyspark_versioned.functions``, and that columns take what they make.

Needs a JVM because they are expressions of Spark. Expected values are Python's own.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import random
import struct
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from pyspark_versioned import functions as V
from versioned_catalog import Catalog, InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = pytest.mark.nightly

SEED = random.Random(7)
MANY = 300


def values(spark: SparkSession, column: Column, given: list[Any], kind: str) -> list[Any]:
    """The column ``v`` of some rows, after an expression."""
    frame = spark.createDataFrame(list(enumerate(given)), f"i INT, v {kind}")
    return [row[0] for row in frame.select(column.alias("r"), "i").orderBy("i").collect()]


def refused(spark: SparkSession, column: Column, given: Any, kind: str = "STRING") -> None:
    with pytest.raises(Exception, match=r"not (a|an|positions of|4) "):
        values(spark, column, [given], kind)


def test_uuids(sql_spark: SparkSession) -> None:
    given = [uuid.UUID(int=SEED.getrandbits(128)) for _ in range(50)]
    texts = [str(each) for each in given]
    forms = [str(each).upper() if i % 2 else "{" + each.hex + "}" for i, each in enumerate(given)]
    assert values(sql_spark, V.to_uuid("v"), [None, *forms], "STRING") == [None, *texts]
    stored = values(sql_spark, V.uuid_bytes("v"), [None, *forms], "STRING")
    assert stored == [None, *(bytearray(each.bytes) for each in given)]
    assert values(sql_spark, V.uuid_text("v"), stored, "BINARY") == [None, *texts]
    for bad in ("", "x" * 32, texts[0] + "\n", texts[0][:-1]):
        refused(sql_spark, V.to_uuid("v"), bad)


def test_enumerations(sql_spark: SparkSession) -> None:
    kind = "ENUM('low', NULL, 'it\\'s')"
    ordinals = values(sql_spark, V.enum_ordinal("v", kind), ["it's", None, "low"], "STRING")
    assert ordinals == [3, None, 1]
    labels = values(sql_spark, V.enum_label("v", kind), [1, 2, 3, 4, 0, None], "INT")
    assert labels == ["low", None, "it's", None, None, None]
    refused(sql_spark, V.enum_ordinal("v", kind), "high")
    with pytest.raises(InvalidRequestError, match="ENUM"):
        V.enum_label("v", "UUID")


def stored_address(text: str) -> bytes:
    address = ipaddress.ip_address(text)
    return bytes(10) + b"\xff\xff" + address.packed if address.version == 4 else address.packed


def test_addresses(sql_spark: SparkSession) -> None:
    texts = ["::", "::1", "1::", "2001:db8::1:0:0:1", "1:0:0:2:0:0:0:3", "0:1::", "::2:0:0:3"]
    texts += ["1:2:3:4:5:6:7:8", "1:0:2:3:4:5:6:7", "192.0.2.1", "0.0.0.0", "255.255.255.255"]
    for _ in range(MANY):
        groups = [SEED.choice([0, 0, 1, 0x10, SEED.getrandbits(16)]) for _ in range(8)]
        texts.append(str(ipaddress.IPv6Address(struct.pack(">8H", *groups))))
        texts.append(str(ipaddress.IPv4Address(SEED.getrandbits(32))))
    texts = [text for text in texts if not text.startswith("::ffff:")]
    texts = [str(ipaddress.ip_address(text)) for text in texts]
    stored = [stored_address(text) for text in texts]
    found = values(sql_spark, V.to_ip("v"), [*texts, None], "STRING")
    assert found == [*map(bytearray, stored), None]
    assert values(sql_spark, V.ip_text("v"), [*stored, None], "BINARY") == [*texts, None]
    odd = ["0000:0:0:0:0:0:0:00Ab", "::FFFF:192.0.2.1", "64:ff9b::192.0.2.33", "1::2:3:4:5:6:7"]
    assert values(sql_spark, V.to_ip("v"), odd, "STRING") == [
        bytearray(stored_address(text)) for text in odd[:1]
    ] + [bytearray(stored_address("192.0.2.1"))] + [
        bytearray(ipaddress.IPv6Address(text).packed) for text in odd[2:]
    ]
    for bad in ("", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::"):
        refused(sql_spark, V.to_ip("v"), bad)
    for bad in ("1.2.3", "256.1.1.1", "1.2.3.4\n", "01.2.3.4", "1:2:3:4:5:6:7::8", ":1::2", "1:"):
        refused(sql_spark, V.to_ip("v"), bad)


def test_bitmasks(sql_spark: SparkSession) -> None:
    given: list[Any] = [[], [0], [11, 3], list(range(12)), None]
    expected = [b"\0\0", b"\x01\0", b"\x08\x08", b"\xff\x0f", None]
    made = values(sql_spark, V.to_bitmask("v", 12), given, "ARRAY<INT>")
    assert made == [None if each is None else bytearray(each) for each in expected]
    set_bits = values(sql_spark, V.bit_is_set("v", 11), made, "BINARY")
    assert set_bits == [False, False, True, True, None]
    refused(sql_spark, V.to_bitmask("v", 12), [12], "ARRAY<INT>")


def half(value: float) -> float:
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def test_half_floats(sql_spark: SparkSession) -> None:
    given = [0.0, -0.0, 1.0, 2.0**-24, 2.0**-25, 3 * 2.0**-25, 65_504.0, 65_519.9, 65_520.0, -1e9]
    given += [1 + 2.0**-11, 1 + 3 * 2.0**-11, float("inf"), float("-inf"), 2.0**-14 - 2.0**-25]
    given += [SEED.uniform(-2, 2) * 2.0 ** SEED.randint(-26, 15) for _ in range(MANY)]
    assert values(sql_spark, V.to_float16("v"), given, "DOUBLE") == [half(each) for each in given]
    (nan, none) = values(sql_spark, V.to_float16("v"), [float("nan"), None], "DOUBLE")
    assert math.isnan(nan)
    assert none is None


def test_intervals(sql_spark: SparkSession) -> None:
    made = F.struct(
        F.lit(1).alias("months"), F.lit(2).alias("days"), F.lit(3).alias("microseconds")
    )
    (row,) = values(sql_spark, V.to_interval(F.lit(1), F.lit(2), "v"), [3], "BIGINT")
    assert row.asDict() == {"months": 1, "days": 2, "microseconds": 3}
    assert values(sql_spark, V.to_interval(F.lit(1), F.lit(2), "v"), [None], "BIGINT") == [None]
    start = dt.datetime(2026, 1, 31, 12)
    (end,) = values(sql_spark, V.add_interval("v", made), [start], "TIMESTAMP_NTZ")
    assert end == dt.datetime(2026, 3, 2, 12, microsecond=3)


def exact_text(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def test_numbers(sql_spark: SparkSession) -> None:
    texts = ["+1", "-0", "00.10", ".5", "5.", "-007.250", "9" * 400, "0", "-0.000"]
    exact = ["1", "0", "0.1", "0.5", "5", "-7.25", "9" * 400, "0", "0"]
    near = [2**80 + SEED.randint(-3, 3) for _ in range(40)]
    fractions = [
        f"{SEED.choice(near)}.{SEED.choice(['', '5', '25', '0', '50'])}" for _ in range(40)
    ]
    for text in fractions + [f"-{text}" for text in fractions]:
        texts.append(text)
        exact.append(exact_text(Decimal(text)))
    made = values(sql_spark, V.to_numeric("v"), [*texts, None], "STRING")
    assert [row["exact"] for row in made[:-1]] == exact
    assert [row["approximate"] for row in made[:-1]] == [float(text) for text in exact]
    assert made[-1] is None
    for bad in ("", ".", "1e5", "NaN", "1\n", "--1", "1.2.3", " 1"):
        refused(sql_spark, V.to_numeric("v"), bad)
    frame = sql_spark.createDataFrame([(text,) for text in texts], "t STRING")
    frame = frame.select("t", V.to_numeric("t").alias("n"))
    ordered = [row["t"] for row in frame.orderBy(V.numeric_key("n")).collect()]
    assert [Decimal(text) for text in ordered] == sorted(map(Decimal, texts))
    for operator, holds in (
        ("<", Decimal.__lt__),
        ("<=", Decimal.__le__),
        ("=", Decimal.__eq__),
        (">=", Decimal.__ge__),
        (">", Decimal.__gt__),
    ):
        for bound in (fractions[0], f"-{fractions[1]}", "0.1"):
            kept = frame.where(V.compare_numeric("n", operator, bound)).collect()
            wanted = [text for text in texts if holds(Decimal(text), Decimal(bound))]
            assert sorted(row["t"] for row in kept) == sorted(wanted), (operator, bound)
    with pytest.raises(InvalidRequestError, match="operator must be"):
        V.compare_numeric("n", "<>", "1")


def test_ranges(sql_spark: SparkSession) -> None:
    spark = sql_spark
    made = spark.range(-2, 12).select(
        "id",
        *(
            V.to_range(F.lit(2), F.lit(5), bounds, discrete=discrete).alias(f"r{i}")
            for i, (bounds, discrete) in enumerate(
                [("[)", True), ("(]", True), ("[]", False), ("()", False), ("(]", False)]
            )
        ),
        V.to_range(F.lit(None).cast("int"), F.lit(5), "[)").alias("below"),
        V.to_range(F.lit(5), F.lit(5), "[)").alias("empty"),
        V.to_range(F.lit(5), F.lit(5), "[]").alias("point"),
    )
    rows = made.collect()
    first = rows[0]
    assert tuple(first["r0"]) == (2, 5, True, False, False)
    assert tuple(first["r1"]) == (3, 6, True, False, False)
    assert tuple(first["r2"]) == (2, 5, True, True, False)
    assert tuple(first["below"]) == (None, 5, False, False, False)
    assert tuple(first["empty"]) == (None, None, False, False, True)
    assert tuple(first["point"]) == (5, 5, True, True, False)
    inside = {
        "r0": {2, 3, 4},
        "r1": {3, 4, 5},
        "r2": {2, 3, 4, 5},
        "r3": {3, 4},
        "r4": {3, 4, 5},
        "below": {-2, -1, 0, 1, 2, 3, 4},
        "empty": set(),
        "point": {5},
    }
    for name, wanted in inside.items():
        kept = made.where(V.range_contains(name, "id")).select("id").collect()
        assert {row["id"] for row in kept} == wanted, name
    with pytest.raises(InvalidRequestError, match="bounds must be"):
        V.to_range("a", "b", "[[")


def test_arrays_of_several_dimensions(sql_spark: SparkSession) -> None:
    grid = V.to_ndarray("v", [2, 2], [0, 1])
    given = [["a", "b", "c", "d"]]
    (made,) = values(sql_spark, grid, given, "ARRAY<STRING>")
    assert tuple(made) == ([0, 1], [2, 2], given[0])
    for indices, wanted in (((0, 1), "a"), ((0, 2), "b"), ((1, 1), "c"), ((1, 2), "d")):
        found = values(sql_spark, V.ndarray_element(grid, *indices), given, "ARRAY<STRING>")
        assert found == [wanted]
    for indices in ((2, 1), (-1, 1), (0, 0), (0, 3), (0,), (0, 1, 1)):
        found = values(sql_spark, V.ndarray_element(grid, *indices), given, "ARRAY<STRING>")
        assert found == [None]
    refused(sql_spark, grid, ["a"], "ARRAY<STRING>")
    with pytest.raises(InvalidRequestError, match="dimensions"):
        V.to_ndarray("v", [2], [1, 1])


def test_columns_take_what_they_make(sql_spark: SparkSession, ns: str, catalog: Catalog) -> None:
    spark, t = sql_spark, f"versioned.{ns}.t"
    made = {
        "UUID": V.to_uuid(F.lit(str(uuid.uuid4()).upper())),
        "FIXED(16)": V.uuid_bytes(F.lit(str(uuid.uuid4()))),
        "ENUM('a', 'b')": V.enum_ordinal(F.lit("b"), "ENUM('a', 'b')"),
        "IP": V.to_ip(F.lit("2001:db8::1")),
        "BITMASK(12)": V.to_bitmask(F.array(F.lit(11)), 12),
        "FLOAT16": V.to_float16(F.lit(0.1)),
        "INTERVAL": V.to_interval(F.lit(1), F.lit(2), F.lit(3)),
        "NUMERIC": V.to_numeric(F.lit("-" + "12" * 30 + ".50")),
        "RANGE": V.to_range(F.lit(2), F.lit(5), "(]", discrete=True),
        "NDARRAY": V.to_ndarray(F.array(*map(F.lit, "abcd")), [2, 2]),
    }
    columns = [column.alias(f"c{at}") for at, column in enumerate(made.values())]
    frame = spark.range(3).select(*columns)
    frame.writeTo(t).create()
    table = catalog.load_table(f"{ns}.t")
    alter = table.alter()
    for at, logical in enumerate(made):
        alter.set_logical(f"c{at}", logical)
    alter.commit()
    frame.writeTo(t).append()
    frame.write.format("versioned").mode("append").save(table.location)
    assert table.refresh().count() == 9
    assert list(table.logical_types.values()) == list(made)


def test_approximate_numbers_skip_segments_and_exact_ones_decide(
    sql_spark: SparkSession, ns: str, catalog: Catalog
) -> None:
    spark, t = sql_spark, f"versioned.{ns}.t"
    spark.sql(
        f"CREATE TABLE {t} (n STRUCT<approximate: DOUBLE, exact: STRING>) "
        "TBLPROPERTIES ('logical_type.n' = 'NUMERIC')"
    )
    near = [str(2**80 + at) for at in (-1, 0, 1)]
    for texts in (near, ["1", "2.5"]):
        frame = spark.createDataFrame([(text,) for text in texts], "t STRING")
        frame.coalesce(1).select(V.to_numeric("t").alias("n")).writeTo(t).append()
    found = spark.table(t).where(V.compare_numeric("n", ">", near[1]))
    assert [row["n"]["exact"] for row in found.collect()] == [near[2]]
    plan = found._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert "n.approximate >= 1.2089258196146292E24" in plan
    scan = catalog.load_table(f"{ns}.t").scan(filters=[("n.approximate", ">=", 2.0**80)])
    assert (scan.report().segments, scan.report().pruned) == (2, 1)
