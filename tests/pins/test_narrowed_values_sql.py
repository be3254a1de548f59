"""Spark shows a widened column to a pinned job in its earlier type, and checks that each value fits.

Needs a JVM because the jar narrows the columns that Spark's Parquet reader reads.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pairwise import most_at_night
from pins.conftest import LABEL
from sql.plans import is_native, is_python, plan_of
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

PAIRS: list[tuple[str, str, str, Any, str]] = [
    ("TINYINT", "SMALLINT", "-128", -128, "128"),
    ("TINYINT", "INT", "127", 127, "-129"),
    ("TINYINT", "BIGINT", "127", 127, "256"),
    ("TINYINT", "DOUBLE", "5", 5, "5.5"),
    ("TINYINT", "DECIMAL(12,2)", "5", 5, "300"),
    ("SMALLINT", "INT", "-32768", -32768, "32768"),
    ("SMALLINT", "BIGINT", "32767", 32767, "65536"),
    ("SMALLINT", "DOUBLE", "7", 7, "1e9"),
    ("SMALLINT", "DECIMAL(12,2)", "7", 7, "7.25"),
    ("INT", "BIGINT", "2147483647", 2147483647, "2147483648"),
    ("INT", "DOUBLE", "-2147483648", -2147483648, "2147483648"),
    ("INT", "DECIMAL(12,2)", "3", 3, "0.01"),
    ("BIGINT", "DECIMAL(20,0)", "9223372036854775807", 2**63 - 1, "9223372036854775808"),
    ("FLOAT", "DOUBLE", "1.5", 1.5, "0.1"),
    ("DECIMAL(9,0)", "DECIMAL(12,2)", "999999999", Decimal(999999999), "0.5"),
    ("DECIMAL(4,2)", "DECIMAL(6,2)", "-99.99", Decimal("-99.99"), "100.00"),
    ("DECIMAL(4,2)", "DECIMAL(30,10)", "99.99", Decimal("99.99"), "1.0000000001"),
    (
        "DATE",
        "TIMESTAMP_NTZ",
        "TIMESTAMP_NTZ'1969-12-31 00:00:00'",
        dt.date(1969, 12, 31),
        "TIMESTAMP_NTZ'2024-02-29 00:00:00.000001'",
    ),
    ("VARCHAR(3)", "VARCHAR(5)", "'äöü'", "äöü", "'abcd'"),
    ("VARCHAR(3)", "STRING", "''", "", "'    '"),
    ("CHAR(3)", "VARCHAR(5)", "'abc'", "abc", "'abcd'"),
]
"""The earlier type, the type of now, a value of now that fits, the same as it is shown, and one that
does not fit."""

COLUMNS = [f"c{at}" for at in range(len(PAIRS))]
READERS = [
    "native",
    *(
        pytest.param(reader, marks=pytest.mark.nightly)
        for reader in ("without codegen", "row by row", "python")
    ),
]
_SETTINGS = {
    "without codegen": ("spark.sql.codegen.wholeStage", "false"),
    "row by row": ("spark.sql.parquet.enableVectorizedReader", "false"),
    "python": ("spark.versioned.io", "python"),
}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> str:
    """A table with rows 1, of nulls, and 2, of values that fit, and in another segment 3, of values that
    do not fit."""
    catalog = Catalog(spark.conf.get("spark.sql.catalog.versioned.warehouse") or "")
    name = f"narrowed{next(_numbers)}"
    catalog.create_namespace(name)
    columns = [f"{c} {pair[0]}" for c, pair in zip(COLUMNS, PAIRS, strict=True)]
    table = catalog.create_table(
        f"{name}.t", f"id INT, {', '.join(columns)}, p STRUCT<x: INT, y: INT>"
    )
    table.pin_schema("job")
    change = table.alter()
    for column, pair in zip(COLUMNS, PAIRS, strict=True):
        change = change.change_type(column, pair[1])
    change.change_type("p.x", "BIGINT").commit()
    nulls = ", ".join(["NULL"] * len(PAIRS))
    fits = ", ".join(pair[2] for pair in PAIRS)
    spark.sql(
        f"INSERT INTO versioned.{name}.t VALUES (1, {nulls}, NULL), "
        f"(2, {fits}, named_struct('x', 2147483647, 'y', 1))"
    )
    unfit = ", ".join(pair[4] for pair in PAIRS)
    spark.sql(
        f"INSERT INTO versioned.{name}.t VALUES (3, {unfit}, named_struct('x', 2147483648, 'y', 3))"
    )
    return f"versioned.{name}.t"


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest, job: SparkSession) -> Iterator[str]:
    key, value = _SETTINGS.get(request.param, (LABEL, "job"))
    before = job.conf.get(key)
    job.conf.set(key, value)
    yield request.param
    job.conf.set(key, str(before))


def check_reader(frame: DataFrame, reader: str) -> None:
    assert is_python(frame) if reader == "python" else is_native(frame)


@pytest.mark.thorough
def test_values_that_fit_are_shown_in_the_earlier_types(
    job: SparkSession, t: str, reader: str
) -> None:
    names = ", ".join(COLUMNS)
    frame = job.sql(f"SELECT {names}, p.x, p FROM {t} WHERE id < 3 ORDER BY id")
    check_reader(frame, reader)
    types = {"TINYINT": "tinyint", "VARCHAR(3)": "string", "CHAR(3)": "string"}
    shown = [types.get(pair[0], pair[0].lower()) for pair in PAIRS]
    assert [kind for _, kind in frame.dtypes] == [*shown, "int", "struct<x:int,y:int>"]
    null, fitting = (tuple(row) for row in frame.collect())
    assert null == (None,) * (len(PAIRS) + 2)
    assert fitting == (*(pair[3] for pair in PAIRS), 2**31 - 1, (2**31 - 1, 1))


@pytest.mark.parametrize("column", most_at_night({COLUMNS[0], COLUMNS[5], "p"}, (*COLUMNS, "p")))
def test_a_value_that_does_not_fit_is_an_error_that_names_column_and_segment(
    job: SparkSession, spark: SparkSession, t: str, column: str
) -> None:
    from pyspark.errors import PySparkException

    ((segment,),) = spark.sql(f"SELECT _segment FROM {t} WHERE id = 3").collect()
    with pytest.raises(PySparkException) as raised:
        job.sql(f"SELECT {column} FROM {t}").collect()
    check_error(raised.value, t, "p.x" if column == "p" else column, segment)


def check_error(error: PySparkException, table: str, column: str, segment: str) -> None:
    assert error.getCondition() == "VERSIONED_INVALID_VALUE"
    for part in (table, f"the column {column} ", segment):
        assert part in str(error)


@pytest.mark.parametrize("setting", ["without codegen", "row by row", "python"])
def test_every_reader_refuses_a_value_that_does_not_fit(
    job: SparkSession, spark: SparkSession, t: str, setting: str
) -> None:
    from pyspark.errors import PySparkException

    ((segment,),) = spark.sql(f"SELECT _segment FROM {t} WHERE id = 3").collect()
    key, value = _SETTINGS[setting]
    before = job.conf.get(key)
    job.conf.set(key, value)
    try:
        with pytest.raises(PySparkException) as raised:
            job.sql(f"SELECT c9 FROM {t}").collect()
    finally:
        job.conf.set(key, str(before))
    check_error(raised.value, t, "c9", segment)


@pytest.mark.thorough
def test_null_is_shown_in_its_place_on_request(job: SparkSession, t: str, reader: str) -> None:
    names = ", ".join(COLUMNS)
    with_null = f"{t} WITH ('onOverflow' = 'null', 'schemaVersion' = 'job')"
    frame = job.sql(f"SELECT {names}, p FROM {with_null} ORDER BY id")
    check_reader(frame, reader)
    *_, unfit = (tuple(row) for row in frame.collect())
    assert unfit == (*(None for _ in PAIRS), (None, 3))
    for column in COLUMNS:
        ids = f"SELECT id FROM {with_null} WHERE {column} IS NULL ORDER BY id"
        assert [row.id for row in job.sql(ids).collect()] == [1, 3]


def test_filters_on_a_narrowed_column_do_not_reach_parquet(job: SparkSession, t: str) -> None:
    frame = job.sql(f"SELECT id FROM {t} WHERE c9 = 2147483647")
    assert is_native(frame)
    assert [row.id for row in frame.collect()] == [2]
    assert "c9" in plan_of(frame)  # Spark evaluates it
    # 2147483648 as an INT would be this value.
    assert job.sql(f"SELECT id FROM {t} WHERE c9 = -2147483648").collect() == []


def test_aggregates_are_not_taken_from_statistics_of_the_wide_type(
    job: SparkSession, t: str
) -> None:
    (row,) = job.sql(f"SELECT count(*), max(id) FROM {t}").collect()
    assert tuple(row) == (3, 3)
    with pytest.raises(Exception, match="VERSIONED_INVALID_VALUE"):
        job.sql(f"SELECT max(c9) FROM {t}").collect()


@pytest.mark.thorough
@pytest.mark.parametrize("overflow", ["error", "null"])
def test_the_data_source_by_path_sees_a_schema_too(
    spark: SparkSession, catalog: Catalog, ns: str, overflow: str
) -> None:
    table = catalog.create_table(f"{ns}.r", "id INT, n INT, s STRING")
    row = {"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32()), "s": ["a"]}
    table.append(pa.table(row))
    table.pin_schema("job")
    table.alter().rename_column("s", "t").add_column("u", "INT", default=5).commit()
    reader = spark.read.format("versioned").option("schemaVersion", "job")
    reader = reader.option("onOverflow", overflow)
    for io in ("native", "python"):
        frame = reader.option("io", io).load(table.location)
        assert frame.columns == ["id", "n", "s"]
        assert is_python(frame) == (io == "python")
        assert [tuple(row) for row in frame.collect()] == [(1, 1, "a")]
    table.alter().change_type("n", "BIGINT").commit()
    table.append(pa.table({"id": pa.array([2], pa.int32()), "n": pa.array([2**31], pa.int64())}))
    for io in ("native", "python"):
        frame = reader.option("io", io).load(table.location)
        if overflow == "error":
            with pytest.raises(Exception, match=r"do(es)? not fit INT"):
                frame.collect()
        else:
            rows = sorted(tuple(row) for row in frame.select("id", "n").collect())
            assert rows == [(1, 1), (2, None)]
