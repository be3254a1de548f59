"""Errors as Spark users see them: class, condition, SQLSTATE, and one line that names table and column.

Needs a JVM because the jar turns the errors of Python into Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
THOROUGH = pytest.mark.thorough

STATEMENTS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("ALTER TABLE {t} ALTER COLUMN id TYPE STRING", "NOT_SUPPORTED", "0A000", ("id",)),
    ("ALTER TABLE {t} ADD COLUMN c INT NOT NULL", "INVALID_REQUEST", "42000", ("c",)),
    ("ALTER TABLE {t} REPLACE COLUMNS (id SMALLINT)", "NOT_SUPPORTED", "0A000", ("id",)),
    (
        "ALTER TABLE {t} SET TBLPROPERTIES ('isolation' = 'none')",
        "INVALID_OPTION",
        "42616",
        ("isolation", "'serializable'"),
    ),
    ("CREATE TABLE {n}.z (a INT) LOCATION '/tmp/x'", "NOT_SUPPORTED", "0A000", ("LOCATION",)),
    ("SELECT * FROM {t} VERSION AS OF 99", "VERSION_NOT_FOUND", "42704", ("99", "newest is 1")),
    ("SELECT * FROM {t} VERSION AS OF 'x'", "VERSION_NOT_FOUND", "42704", ("tag",)),
    ("UPDATE {k} SET id = 2", "KEY_NOT_UPDATABLE", "42808", ("{k}", "id", "DELETE the row")),
    ("CALL versioned.system.nope('x')", "PROCEDURE_NOT_FOUND", "42883", ("nope",)),
    ("CALL versioned.system.rollback_to_version('{n}.t', 7)", "VERSION_NOT_FOUND", "42704", ("7",)),
    ("SELECT * FROM {n}.nope", "TABLE_OR_VIEW_NOT_FOUND", "42P01", ("nope",)),
    ("ALTER TABLE {t} DROP COLUMN nope", "UNRESOLVED_COLUMN", "42703", ("nope",)),
]
"""A statement, its condition (ours without ``VERSIONED_``), its SQLSTATE, and words of the message other
than the table's name."""


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    table = catalog.create_table(f"{ns}.t", "id INT NOT NULL, v VARCHAR(3), s STRING")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "v": ["a"], "s": ["x"]}))
    keyed = catalog.create_table(f"{ns}.k", "id INT NOT NULL, v STRING", primary_key=["id"])
    keyed.append(pa.table({"id": pa.array([1], pa.int32())}))
    return table


def check_error(act: Callable[[], Any], condition: str, sqlstate: str, *fragments: str) -> None:
    """Check that a call fails with this condition and SQLSTATE, in one line that holds all fragments."""
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as caught:
        act()
    error, message = caught.value, str(caught.value)
    assert error.getSqlState() == sqlstate, message
    shown = error.getCondition()
    if shown is not None and shown.startswith("VERSIONED_"):
        assert shown == f"VERSIONED_{condition}"
        assert message.splitlines() == [message]
        assert message.startswith(f"[{shown}] ")
        assert message.endswith(f". SQLSTATE: {sqlstate}")
    else:
        assert shown.startswith(condition)
    for text in fragments:
        assert text in message


SHORT = ("INVALID_OPTION", "KEY_NOT_UPDATABLE", "PROCEDURE_NOT_FOUND", "UNRESOLVED_COLUMN")


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param(SHORT, id="some"),
        pytest.param({row[1] for row in STATEMENTS} - {*SHORT}, id="others", marks=THOROUGH),
    ],
)
def test_errors_of_statements(
    sql_spark: SparkSession, table: Table, ns: str, conditions: Collection[str]
) -> None:
    names = {"t": f"versioned.{ns}.t", "k": f"versioned.{ns}.k", "n": f"versioned.{ns}"}
    for statement, condition, sqlstate, says in STATEMENTS:
        if condition not in conditions:
            continue
        sql = statement.format(**names)
        named = [names["t"]] if "{t}" in statement and sqlstate[:3] != "427" else []
        check_error(
            lambda sql=sql: sql_spark.sql(sql).collect(),
            condition,
            sqlstate,
            *named,
            *(text.format(**names) for text in says),
        )
    assert table.refresh().version == 1


@pytest.mark.parametrize(
    "query, condition, sqlstate, says",
    [
        ("SELECT 1 id, 'abcd' v", "VALUE_TOO_LONG", "22001", ("v", "4 charac")),
        pytest.param("SELECT 1 id, 2 nope", "COLUMN_NOT_FOUND", "42703", ("nope",), marks=THOROUGH),
        pytest.param("SELECT CAST(NULL AS INT) id", "NULL_VALUE", "23502", ("id",), marks=THOROUGH),
    ],
)
def test_errors_of_writes_by_the_data_source(
    sql_spark: SparkSession,
    table: Table,
    warehouse: Path,
    ns: str,
    query: str,
    condition: str,
    sqlstate: str,
    says: tuple[str, ...],
) -> None:
    writer = sql_spark.sql(query).write.format("versioned").mode("append")
    writer.option("warehouse", str(warehouse))
    check_error(lambda: writer.save(f"{ns}.t"), condition, sqlstate, f"{ns}.t", *says)
    assert table.refresh().version == 1


@pytest.mark.thorough
def test_errors_of_reads_by_the_data_source(sql_spark: SparkSession) -> None:
    read = sql_spark.read.format("versioned")
    check_error(lambda: read.load("/no/table"), "TABLE_NOT_FOUND", "42P01", "/no/table")
    check_error(lambda: read.option("nope", 1).load("/x"), "INVALID_OPTION", "42616", "nope", "/x")


@pytest.mark.thorough
@pytest.mark.parametrize("use", ["read", "write", "stream"])
def test_the_name_of_a_table_is_no_folder(
    sql_spark: SparkSession, table: Table, ns: str, use: str, tmp_path: Path
) -> None:
    """What Iceberg takes as a name would be a folder in the current one here, and hold the rows."""
    name = f"versioned.{ns}.t"

    def stream() -> None:
        rows = sql_spark.readStream.format("rate").load().selectExpr("1 AS id")
        writer = rows.writeStream.format("versioned").option("checkpointLocation", str(tmp_path))
        writer.trigger(availableNow=True).start(name).awaitTermination()

    frame = sql_spark.range(1).selectExpr("CAST(id AS INT) AS id")
    uses: dict[str, Callable[[], object]] = {
        "read": lambda: sql_spark.read.format("versioned").load(name),
        "write": lambda: frame.write.format("versioned").mode("append").save(name),
        "stream": stream,
    }
    with pytest.raises(Exception, match=f"name of a table in the catalog versioned.*./{name}"):
        uses[use]()
    assert not Path(name).exists()


@pytest.mark.thorough
def test_a_stream_may_read_and_write_tables_in_foreach_batch(
    sql_spark: SparkSession, table: Table, ns: str, tmp_path: Path
) -> None:
    """Each write in foreachBatch is a write of its own."""
    name = f"versioned.{ns}.t"
    found = sql_spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    joined = found.join(sql_spark.table(name), found.value == 1).selectExpr("2 AS id", "v", "s")
    new = f"versioned.{ns}.new"

    def write(rows: DataFrame, batch: int) -> None:
        rows.writeTo(name).append()
        if batch == 0:
            rows.writeTo(new).create()

    query = joined.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(write)
    query.trigger(availableNow=True).start().awaitTermination()
    assert table.refresh().scan(columns=["id"]).to_arrow().column("id").to_pylist() == [1, 2]
    assert sql_spark.table(new).count() == 1


READS: list[Callable[[Any, str], Any]] = [
    lambda read, t: read.option("verionAsOf", 0).table(t),
    lambda read, t: read.option("verionAsOf", 0).table(f"{t}.history"),
]
WRITES: list[Callable[[DataFrame, str], Any]] = [
    lambda frame, t: frame.writeTo(t).option("mergeShema", True).append(),
    lambda frame, t: frame.writeTo(t).option("mergeShema", True).overwrite(frame.id == 1),
    lambda frame, t: frame.write.option("mergeShema", True).mode("append").saveAsTable(t),
    lambda frame, t: frame.write.option("mergeShema", True).mode("overwrite").saveAsTable(t),
    lambda frame, t: frame.write.option("mergeShema", True).insertInto(t),
    lambda frame, t: frame.writeTo(f"{t}2").option("mergeShema", True).create(),
    lambda frame, t: frame.write.option("mergeShema", True).saveAsTable(f"{t}2"),
]


def test_misspelled_options_are_refused(
    sql_spark: SparkSession, table: Table, catalog: Catalog, ns: str
) -> None:
    name = f"versioned.{ns}.t"
    known = ("INVALID_OPTION", "42616", name, "mergeShema is unknown; did you mean mergeSchema?")
    for read in READS:
        says = (name, "verionAsOf is unknown; did you mean versionAsOf?")
        check_error(lambda read=read: read(sql_spark.read, name).collect(), *known[:2], *says)
    wider = sql_spark.sql("SELECT 1 AS id, 'a' AS v, 'b' AS s, 5 AS extra")
    for write in WRITES:
        check_error(lambda write=write: write(wider, name), *known)
    check_error(
        lambda: sql_spark.sql(f"INSERT INTO {name} WITH (mergeShema = true) VALUES (1, 'a', 'b')"),
        *known,
    )
    assert table.refresh().version == 1
    assert catalog.list_tables(ns) == ["k", "t"]
    others = sql_spark.read.option("header", True).option("versionAsOf", 0)
    check_error(
        lambda: others.table(name), *known[:3], "header is unknown. The options are version"
    )
    rows = wider.drop("extra").writeTo(name).option("replaceWhere", "id = 1")
    check_error(rows.append, *known[:3], "replaceWhere goes with mode overwrite")
    assert table.refresh().version == 1


@pytest.mark.thorough
def test_a_missing_segment_is_an_error(sql_spark: SparkSession, table: Table, ns: str) -> None:
    for segment in Path(table.location).glob("data/*.parquet"):
        segment.unlink()
    for io in ("native", "python"):
        sql_spark.conf.set("spark.versioned.io", io)
        try:
            read = sql_spark.table(f"versioned.{ns}.t")
            with pytest.raises(Exception, match="missing") as caught:
                read.collect()
        finally:
            sql_spark.conf.set("spark.versioned.io", "native")
        assert caught.value.getSqlState() == "XX001"  # type: ignore[attr-defined]
        assert "Traceback" not in str(caught.value)


RETRIED = {
    "update": "UPDATE {t} SET n = n + landing(1) WHERE id = 1",
    "delete": "DELETE FROM {t} WHERE id = 1 AND n + landing(0) < 7",
    "merge": (
        "MERGE INTO {t} t USING (SELECT landing(1) AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET n = t.n + 1"
    ),
    "overwrite": "INSERT OVERWRITE {t} SELECT id, n + landing(1) FROM {t}",
}


@pytest.fixture
def make(catalog: Catalog, ns: str) -> Callable[[str], Table]:
    def create(key: str) -> Table:
        keyed = {"primary_key": [key]} if key else {}
        table = catalog.create_table(
            f"{ns}.c", "id INT NOT NULL, n INT", properties={"isolation": "serializable"}, **keyed
        )
        table.append(numbers(1, 1))
        return table

    return create


def numbers(id_: int, n: int) -> pa.Table:
    return pa.table({"id": pa.array([id_], pa.int32()), "n": pa.array([n], pa.int32())})


def register_landing(spark: SparkSession, location: str, until: int) -> None:
    """Register ``landing(x)``, which updates the row in a commit of its own up to version ``until``."""
    from pyspark.sql import functions as f

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version < until:
            other.update({"n": other.version * 10}, [("id", "=", 1)])
        return value

    spark.udf.register("landing", landing)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "key"),
    [
        *((name, "") for name in RETRIED),
        pytest.param("update", "id", marks=pytest.mark.nightly),
        ("merge", "id"),
    ],
)
def test_a_statement_that_conflicts_is_retried(
    sql_spark: SparkSession, make: Callable[[str], Table], ns: str, name: str, key: str
) -> None:
    table = make(key)
    register_landing(
        sql_spark, table.location, 2
    )  # the row is (1, 10) when the statement is retried
    sql_spark.conf.set("spark.versioned.conflictRetries", 3)
    try:
        sql_spark.sql(RETRIED[name].format(t=f"versioned.{ns}.c"))
    finally:
        sql_spark.conf.set("spark.versioned.conflictRetries", 0)
    rows = table.refresh().scan(columns=["n"]).to_arrow()["n"].to_pylist()
    assert rows == [{"delete": 10}.get(name, 11)]


@pytest.mark.thorough
def test_a_statement_is_retried_as_often_as_configured(
    sql_spark: SparkSession, make: Callable[[str], Table], ns: str
) -> None:
    table = make("")
    statement = RETRIED["update"].format(t=f"versioned.{ns}.c")
    register_landing(sql_spark, table.location, 9)  # every attempt conflicts
    for retries, version in ((0, 2), (2, 5)):
        sql_spark.conf.set("spark.versioned.conflictRetries", retries)
        try:
            check_error(
                lambda: sql_spark.sql(statement), "COMMIT_CONFLICT", "40001", f"versioned.{ns}.c"
            )
        finally:
            sql_spark.conf.set("spark.versioned.conflictRetries", 0)
        assert table.refresh().version == version


@pytest.mark.thorough
def test_a_statement_that_reads_an_old_version_is_not_retried(
    sql_spark: SparkSession, make: Callable[[str], Table], ns: str
) -> None:
    """A retry would write rows of the older version again, and undo what was committed since."""
    table, name = make(""), f"versioned.{ns}.c"
    register_landing(sql_spark, table.location, 2)
    sql_spark.conf.set("spark.versioned.conflictRetries", 3)
    try:
        check_error(
            lambda: sql_spark.sql(
                f"MERGE INTO {name} t USING (SELECT * FROM {name} VERSION AS OF 1) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET n = s.n + landing(1)"
            ),
            "COMMIT_CONFLICT",
            "40001",
        )
    finally:
        sql_spark.conf.set("spark.versioned.conflictRetries", 0)
    assert table.refresh().scan(columns=["n"]).to_arrow()["n"].to_pylist() == [10]
