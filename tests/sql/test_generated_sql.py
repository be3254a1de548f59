"""Generated columns by SQL, DataFrames and streams.

Needs a JVM because Spark computes them in an INSERT, and its plans are changed for UPDATE and MERGE.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.model.types import Atom

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough

COLUMNS = (
    "id BIGINT, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), "
    "part INT GENERATED ALWAYS AS (CAST(pmod(id, 4) AS INT)), n INT DEFAULT 7, "
    "st STRUCT<x: INT>, total INT GENERATED ALWAYS AS (n + st.x)"
)


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def session(spark: SparkSession, io: str = "native", zone: str = "UTC") -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.versioned.io", io)
    own.conf.set("spark.sql.session.timeZone", zone)
    return own


@pytest.fixture(params=["copy", "mark"])
def table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, request: pytest.FixtureRequest
) -> Table:
    session(sql_spark).sql(
        f"CREATE TABLE {t} ({COLUMNS}) PARTITIONED BY (part) "
        f"TBLPROPERTIES ('row_changes' = '{request.param}')"
    )
    session(sql_spark).sql(
        f"INSERT INTO {t} (id, at, st) VALUES (1, TIMESTAMP '2026-01-31 23:30:00', "
        "named_struct('x', 1)), (2, NULL, NULL)"
    )
    return catalog.load_table(f"{ns}.t")


def rows(spark: SparkSession, t: str) -> list[tuple[Any, ...]]:
    query = f"SELECT id, day, part, n, total FROM {t} ORDER BY id"
    return [tuple(row) for row in spark.sql(query).collect()]


FIRST, SECOND = (1, date(2026, 1, 31), 1, 7, 8), (2, None, 2, 7, None)
FEBRUARY = "TIMESTAMP '2026-02-01 00:30:00'"

FIFTH = (5, date(2026, 2, 1), 1, 7, None)

STATEMENTS: list[tuple[str, list[tuple[Any, ...]]]] = [
    (f"INSERT INTO {{t}} (id, at) VALUES (5, {FEBRUARY})", [FIRST, SECOND, FIFTH]),
    (f"INSERT INTO {{t}} BY NAME SELECT 5L AS id, {FEBRUARY} AS at", [FIRST, SECOND, FIFTH]),
    ("INSERT INTO {t} (id, part) VALUES (5, 1)", [FIRST, SECOND, (5, None, 1, 7, None)]),
    ("INSERT OVERWRITE {t} (id, n, st) VALUES (5, 1, named_struct('x', 2))", [(5, None, 1, 1, 3)]),
    (f"UPDATE {{t}} SET at = {FEBRUARY} WHERE id = 1", [(1, date(2026, 2, 1), 1, 7, 8), SECOND]),
    ("UPDATE {t} SET id = id + 5, st.x = 10 WHERE id = 1", [SECOND, (6, date(2026, 1, 31), 2, 7, 17)]),
    (
        "UPDATE {t} x SET x.n = CAST(9 AS TINYINT), part = DEFAULT WHERE x.id = 1",
        [(*FIRST[:3], 9, 10), SECOND],
    ),
    ("UPDATE {t} SET part = pmod(id, 4)", [FIRST, SECOND]),
    (
        f"MERGE INTO {{t}} t USING (SELECT id, {FEBRUARY} AS at FROM VALUES (1L), (7L) v(id)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET at = s.at "
        "WHEN NOT MATCHED THEN INSERT (id, at, st) VALUES (s.id, s.at, named_struct('x', 3)) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET st = named_struct('x', 5)",
        [(1, date(2026, 2, 1), 1, 7, 8), (2, None, 2, 7, 12), (7, date(2026, 2, 1), 3, 7, 10)],
    ),
    (
        "MERGE INTO {t} USING (SELECT 1L AS k) s ON id = k WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (k)",
        [SECOND],
    ),
]  # fmt: skip

REFUSED = [
    "INSERT INTO {t} (id, part) VALUES (5, 2)",
    "INSERT INTO {t} VALUES (5, NULL, DATE '2026-01-01', 1, 1, NULL, NULL)",
    "INSERT OVERWRITE {t} (id, part) VALUES (5, NULL)",
    "UPDATE {t} SET part = 3 WHERE id = 1",
    "UPDATE {t} SET id = 9, part = 3 WHERE id = 1",
    "UPDATE {t} SET n = CAST(rand() * 1000000 AS INT), st = named_struct('x', 1)",
    "MERGE INTO {t} t USING (SELECT 1L AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET total = 100",
    "MERGE INTO {t} t USING (SELECT 9L AS k) s ON t.id = s.k "
    "WHEN NOT MATCHED THEN INSERT (id, part) VALUES (k, 3)",
]


@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.nightly)])
def test_statements_compute(sql_spark: SparkSession, table: Table, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    version = table.version
    for statement, expected in STATEMENTS:
        spark.sql(statement.format(t=t))
        assert rows(spark, t) == expected, statement
        table.refresh().rollback(version)


@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.nightly)])
def test_other_values_are_refused(sql_spark: SparkSession, table: Table, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    for statement in REFUSED:
        with pytest.raises(Exception, match="CHECK"):
            spark.sql(statement.format(t=t))
        assert rows(spark, t) == [FIRST, SECOND], statement
    assert table.refresh().version == 1


def test_a_table_with_a_key_computes(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    spark.sql(
        f"CREATE TABLE {t} (id BIGINT NOT NULL, a INT, b INT GENERATED ALWAYS AS (a * 2), "
        "CONSTRAINT p PRIMARY KEY (id))"
    )
    spark.sql(f"INSERT INTO {t} (id, a) VALUES (1, 2), (2, 3)")
    spark.sql(f"UPDATE {t} SET a = 9 WHERE id = 1")
    spark.sql(
        f"MERGE INTO {t} t USING (SELECT 2L AS id, 70 AS a UNION ALL SELECT 3L, 80) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a)"
    )
    found = [tuple(row) for row in spark.sql(f"SELECT * FROM {t} ORDER BY id").collect()]
    assert found == [(1, 9, 18), (2, 70, 140), (3, 80, 160)]
    for statement in (f"UPDATE {t} SET b = 1", f"INSERT INTO {t} VALUES (1, 1, 1)"):
        with pytest.raises(Exception, match="CHECK"):
            spark.sql(statement)


def test_data_frames_and_streams_compute(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    spark = session(sql_spark)
    frame = spark.createDataFrame([(5, 1)], "id long, n int")
    frame.writeTo(t).append()
    frame.write.mode("append").saveAsTable(t)
    frame.write.format("versioned").mode("append").save(table.location)
    frame.write.parquet(str(tmp_path / "in"))
    frame.selectExpr("*", "2 AS part").write.parquet(str(tmp_path / "bad"))
    for number, start in enumerate(
        [lambda w: w.toTable(t), lambda w: w.format("versioned").start(table.location)]
    ):
        stream(spark, tmp_path, "in", "id long, n int", f"c{number}", start)
        with pytest.raises(Exception, match="another value"):
            stream(spark, tmp_path, "bad", "id long, n int, part int", f"b{number}", start)
    assert rows(spark, t) == [FIRST, SECOND, *[(5, None, 1, 1, None)] * 5]


def stream(
    spark: SparkSession,
    folder: Path,
    source: str,
    schema: str,
    name: str,
    start: Callable[[Any], Any],
) -> None:
    frame = spark.readStream.schema(schema).parquet(str(folder / source))
    writer = frame.writeStream.option("checkpointLocation", str(folder / name))
    start(writer.trigger(availableNow=True)).awaitTermination()


def test_the_time_zone_is_that_of_the_statement_that_creates_the_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    new_york, tokyo = (session(sql_spark, zone=z) for z in ("America/New_York", "Asia/Tokyo"))
    new_york.sql(f"CREATE TABLE {t} (at TIMESTAMP, h INT GENERATED ALWAYS AS (hour(at)))")
    for spark in (new_york, tokyo):
        # Twice the hour that New York has twice, as seconds since 1970.
        values = "SELECT timestamp_seconds(s) FROM VALUES (1793511000), (1793514600) v(s)"
        spark.sql(f"INSERT INTO {t} (at) {values}")
        spark.sql(f"UPDATE {t} SET at = at + INTERVAL 1 DAY")
        spark.sql(f"UPDATE {t} SET at = at - INTERVAL 1 DAY")
    table = catalog.load_table(f"{ns}.t")
    times = [datetime.fromtimestamp(s, UTC) for s in (1793511000, 1793514600)]
    table.append(pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))}))
    assert [r.h for r in new_york.sql(f"SELECT h FROM {t}").collect()] == [1] * 6
    assert table.state.properties["__generated.2"].endswith('"zone":"America/New_York"}')


EXPRESSIONS: dict[str, tuple[str, str]] = {
    "y": ("INT", "year(at) * 10000 + month(at) * 100 + day(at)"),
    "h": ("INT", "hour(at) * 10000 + minute(at) * 100 + second(at)"),
    "w": ("INT", "weekofyear(at) * 10000 + dayofweek(at) * 1000 + dayofyear(at)"),
    "q": ("INT", "quarter(d) + quarter(at) + dayofmonth(d)"),
    "td": ("DATE", "CAST(at AS DATE)"),
    "tm": ("DATE", "trunc(d, 'MM')"),
    "tq": ("DATE", "trunc(at, 'QUARTER')"),
    "tw": ("DATE", "trunc(d, 'week')"),
    "ty": ("DATE", "trunc(d, 'yyyy')"),
    "ds": ("STRING", "CAST(d AS STRING) || ':' || CAST(i AS STRING)"),
    "cc": ("STRING", "concat(s, '-', substring(s, 2, 3), substr(s, 3))"),
    "le": ("INT", "length(s) + length(coalesce(s, 'none'))"),
    "pm": ("BIGINT", "pmod(l, 7) + l % 7 + abs(l)"),
    "di": ("DOUBLE", "i / 7 + x * 0.5D"),
    "de": ("DECIMAL(14,2)", "m + m"),
    "ne": ("INT", "-i - 3 * (i - 2)"),
    "co": ("BIGINT", "coalesce(l, CAST(i AS BIGINT), -1)"),
}


def test_spark_and_python_compute_the_same(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    spark = session(sql_spark, zone="Europe/Berlin")
    sources = "id INT, at TIMESTAMP, d DATE, s STRING, i INT, l BIGINT, x DOUBLE, m DECIMAL(10,2)"
    generated = ", ".join(
        f"{name} {type_} GENERATED ALWAYS AS ({sql})" for name, (type_, sql) in EXPRESSIONS.items()
    )
    spark.sql(f"CREATE TABLE {t} ({sources}, {generated})")
    names = ["id", "at", "d", "s", "i", "l", "x", "m"]
    data = random_rows(300)
    table = catalog.load_table(f"{ns}.t")
    arrow = table.scan(names).to_arrow().schema
    table.append(pa.table(dict(zip(names, zip(*data, strict=True), strict=True)), schema=arrow))
    frame = spark.createDataFrame(data, sources)
    frame.selectExpr("id + 1000 AS id", *names[1:]).writeTo(t).append()
    found = {row.pop("id"): row for row in table.refresh().scan().to_arrow().to_pylist()}
    assert len(found) == 600
    for number in range(300):
        assert found[number] == found[number + 1000]


def random_rows(count: int) -> list[tuple[Any, ...]]:
    random = Random(4)

    def row(number: int) -> tuple[Any, ...]:
        micros = random.randint(-3_000_000_000_000_000, 6_000_000_000_000_000)
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
        values = [
            at,
            (at + timedelta(days=random.randint(-400, 400))).date(),
            random.choice(["", "a", "äöü", "日本語テキスト", "plain text", "x'y\\z"]),
            random.randint(-1_000_000, 1_000_000),
            random.randint(-(10**15), 10**15),
            random.uniform(-1e6, 1e6),
            Decimal(random.randint(-(10**7), 10**7)).scaleb(-2),
        ]
        return (number, *(None if random.random() < 0.1 else value for value in values))

    return [row(number) for number in range(count)]


def test_a_filter_on_a_source_reads_only_its_partitions(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    spark.sql(
        f"CREATE TABLE {t} (id BIGINT, v INT, part INT GENERATED ALWAYS AS (CAST(pmod(id, 8) AS INT))) "
        "PARTITIONED BY (part)"
    )
    spark.sql(f"INSERT INTO {t} (id, v) SELECT id, 1 FROM range(1000)")
    frame = spark.sql(f"SELECT v FROM {t} WHERE id = 13")
    assert [row.v for row in frame.collect()] == [1]
    scan = frame._jdf.queryExecution().executedPlan().toString()
    assert "BatchScan" in scan
    files = spark.sql(f"SELECT count(*) AS n FROM {t}.segments").collect()[0].n
    assert files == 8
    paths = {row.p for row in spark.sql(f"SELECT _segment AS p FROM {t} WHERE id = 13").collect()}
    assert len(paths) == 1
    assert read_segments(frame) == 1


def read_segments(frame: Any) -> int:
    """The number of segments that the scan of an executed query has read, by its metrics."""
    plan = frame._jdf.queryExecution().executedPlan()
    leaves = plan.collectLeaves()
    metrics = leaves.apply(0).metrics()
    return int(metrics.apply("segmentsRead").value())


def test_like_and_rename_keep_generated_columns(
    sql_spark: SparkSession, catalog: Catalog, ns: str, table: Table, t: str
) -> None:
    spark = session(sql_spark)
    spark.sql(f"ALTER TABLE {t} RENAME COLUMN id TO number")
    spark.sql(f"CREATE TABLE {t}2 LIKE {t}")
    spark.sql(f"INSERT INTO {t}2 (number) VALUES (7)")
    assert [r.part for r in spark.sql(f"SELECT part FROM {t}2").collect()] == [3]
    assert catalog.load_table(f"{ns}.t2").generated == table.refresh().generated
    with pytest.raises(Exception, match="computed from it"):
        spark.sql(f"ALTER TABLE {t} DROP COLUMN number")
    spark.sql(f"ALTER TABLE {t} DROP COLUMN total")
    assert "total" not in table.refresh().generated


def test_a_writer_through_a_pin_computes(sql_spark: SparkSession, table: Table, t: str) -> None:
    spark = session(sql_spark)
    table.pin_schema("old")
    spark.sql(f"ALTER TABLE {t} ADD COLUMN later INT")
    frame = spark.createDataFrame([(9,)], "id long")
    frame.writeTo(t).option("schemaVersion", "old").append()
    assert (9, None, 1, 7, None) in rows(spark, t)


def test_show_create_table_creates_the_same_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    spark = session(sql_spark)
    spark.sql(
        f"CREATE TABLE {t} (a INT NOT NULL COMMENT 'first, (b)', `b c` INT GENERATED ALWAYS AS (a * 2), "
        "d STRING DEFAULT 'x' COMMENT 'e', "
        "e STRING GENERATED ALWAYS AS (substring(d, 1, 2)) COMMENT 'f', "
        "CONSTRAINT k CHECK (a > 0)) PARTITIONED BY (e) COMMENT 'b c INT'"
    )
    shown = spark.sql(f"SHOW CREATE TABLE {t}").first()[0]
    assert "  `b c` INT GENERATED ALWAYS AS (a * 2),\n" in shown
    assert "COMMENT 'f' GENERATED ALWAYS AS (substring(d, 1, 2))" in shown
    before = catalog.load_table(f"{ns}.t")
    spark.sql(f"DROP TABLE {t}")
    spark.sql(shown)
    after = catalog.load_table(f"{ns}.t")
    assert after.generated == before.generated
    assert after.checks == {"k": "a > 0"}
    assert spark.sql(f"SHOW CREATE TABLE {t}").first()[0] == shown


def test_a_merge_that_adds_a_column_computes(sql_spark: SparkSession, table: Table, t: str) -> None:
    spark = session(sql_spark)
    source = "SELECT id, id * 2 AS extra FROM VALUES (1L), (7L) v(id)"
    for extra in ("extra", "more"):
        spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {t} t USING ({source.replace('extra', extra)}) s "
            f"ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.id + 9, {extra} = s.{extra} "
            f"WHEN NOT MATCHED THEN INSERT (id, {extra}) VALUES (s.id, s.{extra})"
        )
        found = spark.sql(f"SELECT id, part, {extra} FROM {t} WHERE {extra} > 0 ORDER BY id")
        expected = [(7, 3, 14), (10, 2, 2)] if extra == "extra" else [(1, 1, 2), (16, 0, 14)]
        assert [tuple(row) for row in found.collect()] == expected
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 5L AS id, 'x' AS last")
    assert [tuple(r) for r in spark.sql(f"SELECT part, last FROM {t} WHERE id = 5").collect()] == [
        (1, "x")
    ]
    assert len(table.refresh().generated) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 3000000000 AS n, 1 AS extra",
        "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 3000000000 AS n, 1 AS extra) s "
        "ON t.n = s.n WHEN NOT MATCHED THEN INSERT (n, extra) VALUES (s.n, s.extra)",
        "INSERT INTO {live} BY NAME SELECT 3000000000 AS n",
    ],
)
def test_a_computed_value_widens_no_column(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, statement: str
) -> None:
    live = f"{t}_live"
    for name, mode in [(t, "strict"), (live, "live")]:
        sql_spark.sql(
            f"CREATE TABLE {name} (n INT, g INT GENERATED ALWAYS AS (n * 2)) "
            f"TBLPROPERTIES ('schema_mode' = '{mode}')"
        )
        sql_spark.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE BIGINT")
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        sql_spark.sql(statement.format(t=t, live=live))
    for name in ("t", "t_live"):
        table = catalog.load_table(f"{ns}.{name}")
        assert [column.type for column in table.schema.columns] == [Atom.LONG, Atom.INT]
        assert table.count() == 0


@pytest.mark.parametrize(
    "star", ["WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"]
)
def test_a_star_without_a_generated_column_says_what_to_write(
    sql_spark: SparkSession, table: Table, t: str, star: str
) -> None:
    own = session(sql_spark)
    others = "1L AS id, TIMESTAMP '2026-02-03 00:00:00' AS at, 5 AS n, named_struct('x', 1) AS st"
    for source in (f"(SELECT {others}, 1 AS part, 6 AS total)", f"(SELECT {others}, 2 AS DAY)"):
        with pytest.raises(
            Exception,
            match=rf"{t}: (day|part|total) is a generated column, which the source of MERGE lacks, .*"
            r"INSERT \(id, at, n, st\), .* or add it to the source, as .* AS (day|part|total)",
        ):
            own.sql(f"MERGE INTO {t} t USING {source} s ON t.id = s.id {star}")
    whole = f"(SELECT {others}, DATE '2026-02-03' AS Day, 1 AS part, 6 AS total)"
    own.sql(f"MERGE INTO {t} t USING {whole} s ON t.id = s.id {star}")
    day = date(2026, 2, 3) if "UPDATE" in star else date(2026, 1, 31)
    assert rows(own, t)[0][1] == day


def test_a_local_time_of_a_region_that_spark_computed_is_found(
    sql_spark: SparkSession, t: str
) -> None:
    spark = session(sql_spark, zone="Atlantic/Reykjavik")
    spark.sql(
        f"CREATE TABLE {t} (at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE))) "
        "PARTITIONED BY (day)"
    )
    spark.sql(f"INSERT INTO {t} (at) VALUES (TIMESTAMP '1960-01-01 00:30:00Z')")
    found = spark.sql(f"SELECT count(*) FROM {t} WHERE at = TIMESTAMP '1960-01-01 00:30:00Z'")
    assert found.first()[0] == 1
