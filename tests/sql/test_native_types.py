"""TIME, intervals and variants by Spark, which counts nanoseconds where files count microseconds.

Needs a JVM because Spark's Parquet code and the jar convert the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native
from versioned_catalog import Catalog
from versioned_catalog.write import segment_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows(spark: SparkSession, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(sql).collect()]


@pytest.fixture
def t(sql_spark: SparkSession, ns: str) -> str:
    """A table whose segments Python and Spark have written."""
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} (id INT, t TIME(6), d INTERVAL DAY TO SECOND)")
    return name


def test_filters_skip_row_groups_and_no_row(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A microsecond apart: the sixth digit of a second decides, and digits beyond it match nothing."""
    monkeypatch.setattr(segment_writer, "ROW_GROUP_ROWS", 10)
    ids = pa.array(range(40), pa.int32())
    python = pa.table(
        {
            "id": ids,
            "t": ids.cast(pa.int64()).cast(pa.time64("us")),
            "d": ids.cast(pa.int64()).cast(pa.duration("us")),
        }
    )
    catalog.load_table(f"{ns}.t").append(python)
    sql_spark.sql(
        f"INSERT INTO {t} SELECT id + 40, t, d FROM {t} WHERE t < TIME'00:00:00.000003' ORDER BY id"
    )
    found = sql_spark.sql(f"SELECT id FROM {t} WHERE t >= TIME'00:00:00.000038'")
    assert is_native(found)
    assert found.collect() == [(38,), (39,)]
    for where, wanted in (
        ("t = TIME'00:00:00.000002'", [2, 42]),
        ("t = TIME'00:00:00.0000025'", []),
        ("t < TIME'00:00:00.0000015'", [0, 1, 40, 41]),
        ("t > TIME'00:00:00.0000375'", [38, 39]),
        ("t IN (TIME'00:00:00.000039', TIME'00:00:00.0000395')", [39]),
        ("d BETWEEN INTERVAL '0.000037' SECOND AND INTERVAL '1' DAY", [37, 38, 39]),
    ):
        assert sorted(rows(sql_spark, f"SELECT id FROM {t} WHERE {where}")) == [
            (number,) for number in wanted
        ]
    bounds = f"SELECT CAST(min(t) AS STRING), CAST(max(d) AS STRING) FROM {t}"
    assert rows(sql_spark, bounds) == [
        ("00:00:00", "INTERVAL '0 00:00:00.000039' DAY TO SECOND"),
    ]
    sql_spark.sql(f"DELETE FROM {t} WHERE t < TIME'00:00:00.0000375'")
    assert rows(sql_spark, f"SELECT id FROM {t} ORDER BY id") == [(38,), (39,)]


def test_what_rows_do_not_hold_is_filled_in(sql_spark: SparkSession, t: str) -> None:
    sql_spark.sql(f"INSERT INTO {t} (id) VALUES (1)")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN u TIME(0) DEFAULT TIME'01:02:03'")
    day = "INTERVAL '1 00:00:01' DAY TO SECOND"
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN v INTERVAL DAY TO SECOND DEFAULT {day}")
    frame = sql_spark.sql(f"SELECT CAST(u AS STRING), CAST(v AS STRING), t FROM {t}")
    assert is_native(frame)
    assert frame.collect() == [("01:02:03", day, None)]


def test_months_are_keys(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """Python has written the runs, since Spark passes it no such intervals; Spark merges them."""
    table = catalog.create_table(f"{ns}.k", "m INTERVAL YEAR TO MONTH, v INT", primary_key=["m"])
    for months, value in (([1, 2, 3], 1), ([-14, 2, 3], 2)):
        keys = pa.array(months, pa.int32())
        table.append(pa.table({"m": keys, "v": pa.array([value] * 3, pa.int32())}))
    frame = sql_spark.sql(f"SELECT CAST(m AS STRING), v FROM versioned.{ns}.k ORDER BY m")
    assert is_native(frame)
    assert frame.collect() == [
        ("INTERVAL '-1-2' YEAR TO MONTH", 2),
        ("INTERVAL '0-1' YEAR TO MONTH", 1),
        ("INTERVAL '0-2' YEAR TO MONTH", 2),
        ("INTERVAL '0-3' YEAR TO MONTH", 2),
    ]


def test_variants_are_written_as_python_writes_them(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Whole, in a column and inside others, whatever the session says of shredding."""
    for setting in ("writeShredding.enabled", "inferShreddingSchema"):
        sql_spark.conf.set(f"spark.sql.variant.{setting}", "true")
    t, values = f"versioned.{ns}.v", ('{"a":1}', "[1,2]")
    sql_spark.sql(f"CREATE TABLE {t} (id INT, v VARIANT, s STRUCT<v: VARIANT>)")
    for at, text in enumerate(values):
        variant = f"parse_json('{text}')"
        sql_spark.sql(f"INSERT INTO {t} VALUES ({at}, {variant}, named_struct('v', {variant}))")
    sql_spark.sql(f"INSERT INTO {t} (id) VALUES (2)")
    table = catalog.load_table(f"{ns}.v")
    by_python = table.scan().to_arrow().sort_by("id")
    pair = {"value": b"\x02\x01\x00\x00\x02\x0c\x01", "metadata": b"\x01\x01\x00\x01a"}
    assert by_python.to_pylist()[0] == {"id": 0, "v": pair, "s": {"v": pair}}
    table.append(by_python)
    frame = sql_spark.sql(f"SELECT id, CAST(v AS STRING), CAST(s.v AS STRING) FROM {t} ORDER BY id")
    assert is_native(frame)
    wanted = [(at, text, text) for at, text in enumerate(values)] + [(2, None, None)]
    assert [tuple(row) for row in frame.collect()] == [row for row in wanted for _ in range(2)]
    number = sql_spark.sql(f"SELECT id FROM {t} WHERE variant_get(v, '$.a', 'int') = 1")
    assert number.collect() == [(0,), (0,)]
