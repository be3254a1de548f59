"""Options of reads and writes by table name: each is honoured or refused, whatever names the table.

Needs a JVM because Spark carries the options; ``tests/test_options.py`` tests the list.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from pyspark_versioned.option_names import OPTIONS, Use
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = dt.date(2026, 1, 1)
LABEL = "spark.sql.catalog.versioned.schema_label"
MODE = "spark.sql.sources.partitionOverwriteMode"


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def table(catalog: Catalog, ns: str, sql_spark: SparkSession, t: str) -> Table:
    """Nine rows in three partitions, with a property and a comment."""
    made = catalog.create_table(
        f"{ns}.t",
        "id INT, day DATE, s STRING",
        partitioned_by=["day"],
        properties={"team.owner": "ops"},
        comment="mine",
    )
    made.append(rows(sql_spark, range(9)).toArrow())
    return made


def rows(spark: SparkSession, ids: Any, text: str = "a") -> DataFrame:
    """Rows in the partition that their ID has modulo three."""
    found = [(one, DAY + dt.timedelta(days=one % 3), text) for one in ids]
    return spark.createDataFrame(found, "id INT, day DATE, s STRING")


def ids(spark: SparkSession, t: str) -> list[int]:
    return sorted(row.id for row in spark.table(t).select("id").collect())


def refused(act: Callable[[], Any], *fragments: str) -> None:
    with pytest.raises(Exception) as caught:
        act()
    for fragment in fragments:
        assert fragment in str(caught.value)


def overwriter(frame: DataFrame, **options: Any) -> Any:
    return frame.write.mode("overwrite").options(**options)


@pytest.mark.thorough
def test_save_as_table_overwrites_the_rows_and_keeps_the_table(
    sql_spark: SparkSession, catalog: Catalog, table: Table, t: str
) -> None:
    """As in Delta; Spark would replace the table with its partitioning and properties."""
    frame = rows(sql_spark, [3])
    for kind in ("versioned", None):
        writer = frame.write.mode("overwrite")
        (writer if kind is None else writer.format(kind)).saveAsTable(t)
        assert ids(sql_spark, t) == [3]
    found = table.refresh()
    assert (found.version, found.partitioning, found.comment) == (3, ["day"], "mine")
    assert found.properties["team.owner"] == "ops"
    assert [column.id for column in found.schema.columns] == [1, 2, 3]
    other = frame.selectExpr("id", "day", "s", "id AS extra")
    refused(lambda: overwriter(other).saveAsTable(t), "VERSIONED_COLUMN_NOT_FOUND", "extra")
    refused(
        lambda: frame.write.mode("overwrite").partitionBy("s").saveAsTable(t),
        "is partitioned by day",
    )
    refused(lambda: overwriter(frame).format("orc").saveAsTable(t), "USING orc is not possible")
    refused(lambda: overwriter(frame, path="/tmp/x").saveAsTable(t), "path is not supported")
    overwriter(frame).partitionBy("day").saveAsTable(t)
    overwriter(other, mergeSchema=True).saveAsTable(t)
    assert table.refresh().schema.get(("extra",)).id == 4
    overwriter(frame.select("id", "day"), overwriteSchema=True).saveAsTable(t)
    replaced = catalog.load_table(table.name)
    assert [column.name for column in replaced.schema.columns] == ["id", "day"]
    assert (replaced.partitioning, replaced.comment) == (["day"], "mine")
    assert replaced.properties["team.owner"] == "ops"
    frame.select("id").writeTo(t).createOrReplace()
    assert sql_spark.table(t).columns == ["id"], "this replaces the table"


@pytest.mark.thorough
def test_an_overwrite_replaces_what_its_options_say(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    one = rows(sql_spark, [30])  # in the partition of 0, 3 and 6
    overwriter(one, partitionOverwriteMode="dynamic").saveAsTable(t)
    assert ids(sql_spark, t) == [1, 2, 4, 5, 7, 8, 30]
    overwriter(rows(sql_spark, [31]), **{"OVERWRITE-MODE": "dynamic"}).insertInto(t)
    assert ids(sql_spark, t) == [2, 5, 8, 30, 31]
    where = "day = DATE'2026-01-03' AND id < 8"
    overwriter(rows(sql_spark, [5]), replaceWhere=where).saveAsTable(t)
    assert ids(sql_spark, t) == [5, 8, 30, 31]
    overwriter(rows(sql_spark, []), replaceWhere="id = 5").insertInto(t)
    assert ids(sql_spark, t) == [8, 30, 31]
    rows(sql_spark, [29]).writeTo(t).option(
        "partitionOverwriteMode", "dynamic"
    ).overwritePartitions()
    assert ids(sql_spark, t) == [29, 30, 31]
    wrong = lambda: overwriter(rows(sql_spark, [5, 6]), replaceWhere=where).saveAsTable(t)  # noqa: E731
    refused(wrong, "does not match replaceWhere", where)
    assert ids(sql_spark, t) == [29, 30, 31]
    check = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
    sql_spark.conf.set(check, "false")
    try:
        overwriter(rows(sql_spark, [0, 40]), replaceWhere="id = 31").saveAsTable(t)
        assert ids(sql_spark, t) == [0, 29, 30, 40]
        overwriter(rows(sql_spark, [31]), replaceWhere="id IN (0, 40)").insertInto(t)
        assert ids(sql_spark, t) == [29, 30, 31]
    finally:
        sql_spark.conf.unset(check)
    refused(wrong, "does not match replaceWhere", where)
    sql_spark.conf.set(MODE, "dynamic")
    try:
        overwriter(rows(sql_spark, [33])).saveAsTable(t)
        assert ids(sql_spark, t) == [29, 31, 33]
        overwriter(rows(sql_spark, [34])).format("versioned").save(table.location)
        assert ids(sql_spark, t) == [29, 33, 34]
        overwriter(rows(sql_spark, [35]), replaceWhere="id >= 34").insertInto(t)
        assert ids(sql_spark, t) == [29, 33, 35]
        overwriter(rows(sql_spark, [36]), partitionOverwriteMode="static").insertInto(t)
        assert ids(sql_spark, t) == [36]
        overwriter(rows(sql_spark, [37, 38]), partitionOverwriteMode="static").saveAsTable(t)
        assert ids(sql_spark, t) == [37, 38]
        refused(lambda: overwriter(one, overwriteSchema=True).saveAsTable(t), "does not go")
    finally:
        sql_spark.conf.unset(MODE)
    assert table.refresh().partitioning == ["day"]
    new = f"{t}_new"
    refused(lambda: overwriter(one, replaceWhere="id = 1").saveAsTable(new), "does not match")
    overwriter(one, replaceWhere="id = 30").saveAsTable(new)
    assert ids(sql_spark, new) == [30]


@pytest.mark.thorough
def test_a_write_that_is_repeated_happens_once(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    given = {"txnAppId": "job", "txnVersion": 4}
    for _ in range(2):
        rows(sql_spark, [9]).write.mode("append").options(**given).saveAsTable(t)
        rows(sql_spark, [9]).writeTo(t).options(**given).append()
        sql_spark.sql(
            f"INSERT INTO {t} WITH ('txnAppId' = 'job', 'txnVersion' = 4) "
            "SELECT 9, DATE'2026-01-01', 'a'"
        )
    assert ids(sql_spark, t) == list(range(10))
    given["txnVersion"] = 5
    for _ in range(2):
        overwriter(rows(sql_spark, [12]), partitionOverwriteMode="dynamic", **given).saveAsTable(t)
    assert ids(sql_spark, t) == [1, 2, 4, 5, 7, 8, 12]
    refused(
        lambda: overwriter(rows(sql_spark, [1]), replaceWhere="id = 1", **given).saveAsTable(t),
        "application and batch",
    )
    refused(lambda: rows(sql_spark, [1]).writeTo(t).option("txnAppId", "j").append(), "go together")


@pytest.mark.thorough
def test_reads_by_name_take_other_names_of_options(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    table.set_tag("first")
    table.append(rows(sql_spark, [9]).toArrow())
    assert sql_spark.read.option("tag", "first").table(t).count() == 9
    assert sql_spark.read.option("AS-OF-TIMESTAMP", "4102444800000").table(t).count() == 10
    assert sql_spark.sql(f"SELECT * FROM {t} WITH ('tag' = 'first')").count() == 9
    by_path = sql_spark.read.format("versioned")
    assert by_path.option("tag", "first").load(table.location).count() == 9
    refused(lambda: sql_spark.read.option("tag", "none").table(t), "none")


Writes = dict[str, Callable[["DataFrame", str, str, dict[str, Any]], Any]]
WRITES: Writes = {
    "saveAsTable": lambda f, t, _, o: f.write.mode("append").options(**o).saveAsTable(t),
    "overwrite": lambda f, t, _, o: overwriter(f, **o).saveAsTable(t),
    "insertInto": lambda f, t, _, o: f.write.options(**o).insertInto(t),
    "writeTo": lambda f, t, _, o: f.writeTo(t).options(**o).append(),
    "create": lambda f, t, _, o: f.writeTo(f"{t}2").options(**o).createOrReplace(),
    "SQL": lambda f, t, _, o: f.sparkSession.sql(f"INSERT INTO {t} {with_(o)} SELECT * FROM gone"),
    "path": lambda f, _, p, o: f.write.format("versioned").mode("append").options(**o).save(p),
}
READS: dict[str, Callable[[SparkSession, str, str, dict[str, Any]], Any]] = {
    "table": lambda s, t, _, o: s.read.options(**o).table(t),
    "SQL": lambda s, t, _, o: s.sql(f"SELECT * FROM {t} {with_(o)}"),
    "delete": lambda s, t, _, o: s.sql(f"DELETE FROM {t} {with_(o)} WHERE id = 77"),
    "path": lambda s, _, p, o: s.read.format("versioned").options(**o).load(p).collect(),
    "stream": lambda s, t, _, o: s.readStream.options(**o).table(t),
    "changes": lambda s, t, _, o: s.read.options(**{"startingVersion": "0"} | o).changes(t),
    "change stream": lambda s, t, _, o: s.readStream.options(
        **{"startingVersion": "0"} | o
    ).changes(t),
}


def with_(options: dict[str, Any]) -> str:
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in options.items()) + ")"


SAMPLES = ("readChangeFeed", "snapshot-property.x", "header", "verionAsOf")
"""Refused everywhere: options of Delta, of Iceberg and of Spark, and a misspelled one of ours."""


def walk(spark: SparkSession, t: str, path: str, options: Any) -> None:
    frame = rows(spark, [1])
    frame.createOrReplaceTempView("gone")
    for option in options:
        given = {option.upper(): "1"}
        for name, write in WRITES.items():
            check(lambda w=write, g=given: w(frame, t, path, g), option, name)
        for name, read in READS.items():
            check(lambda r=read, g=given: r(spark, t, path, g), option, name)


def check(act: Callable[[], Any], option: str, name: str) -> None:
    try:
        act()
    except Exception as error:
        text = str(error).lower()
        # Spark refuses versions of a write or a stream, and some bounds of changes, by itself.
        by_spark = "time travel" in text or "invalid_cdc_option" in text
        assert by_spark or f"option {option.lower()} is" in text, (option, name, text[:300])
        return
    raise AssertionError(f"{name} ignores {option}")


@pytest.mark.thorough
def test_options_are_refused_on_every_path(sql_spark: SparkSession, table: Table, t: str) -> None:
    walk(sql_spark, t, table.location, SAMPLES)
    assert table.refresh().version == 1


@pytest.mark.nightly
def test_every_option_that_is_refused_is_refused_on_every_path(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    names = [one.name.replace("*", "x") for one in OPTIONS if not one.path | one.named]
    assert len(names) > 70
    walk(sql_spark, t, table.location, [*names, *SAMPLES])
    assert table.refresh().version == 1


BY_NAME: dict[str, tuple[Use, dict[str, Any]]] = {
    **dict.fromkeys(("saveAsTable", "insertInto", "writeTo", "SQL"), (Use.WRITE, WRITES)),
    **dict.fromkeys(("table", "delete"), (Use.READ, READS)),
    "stream": (Use.STREAM, READS),
    "changes": (Use.CHANGES, READS),
    "change stream": (Use.CHANGE_STREAM, READS),
}


@pytest.mark.nightly
def test_an_option_of_another_use_is_refused_by_name(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """Options that are honoured somewhere, given to what does not honour them."""
    frame = rows(sql_spark, [1])
    frame.createOrReplaceTempView("gone")
    for option in (one for one in OPTIONS if one.path | one.named):
        given = {option.name.replace("*", "x"): option.values[0] if option.values else "true"}
        for name, (use, ways) in BY_NAME.items():
            if use not in option.named:
                first = frame if ways is WRITES else sql_spark
                check(
                    lambda w=ways[name], f=first, g=given: w(f, t, "", g), next(iter(given)), name
                )
    assert table.refresh().version == 1


@pytest.mark.thorough
def test_options_of_streams_that_write(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    """A stream knows the options of its target by name when its first epoch is planned."""
    source = sql_spark.readStream.table(t)
    for at, option in enumerate(("userMetadata", "replaceWhere", "maxRecordsPerFile", "nope")):
        writer = source.writeStream.option("checkpointLocation", str(tmp_path / str(at)))
        writer = writer.option(option, "1").trigger(availableNow=True)
        refused(lambda w=writer: w.toTable(f"{t}_copy").awaitTermination(), f"option {option} is")
        path = str(tmp_path / f"t{at}")
        writer = source.writeStream.option("checkpointLocation", str(tmp_path / f"p{at}"))
        writer = writer.option(option, "1").trigger(availableNow=True).format("versioned")
        refused(lambda w=writer, p=path: w.start(p).awaitTermination(), f"option {option} is")
    assert ids(sql_spark, f"{t}_copy") == []


@pytest.mark.thorough
def test_options_of_a_view_are_refused(sql_spark: SparkSession, table: Table, t: str) -> None:
    """Spark passes none to the tables of its query."""
    sql_spark.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    for option in ("schemaVersion", "IO"):
        read = sql_spark.read.option(option, "0")
        refused(lambda r=read: r.table(f"{t}_view"), "t_view is a view", option.lower()[:2])
    refused(lambda: sql_spark.read.option("tag", "x").table(f"{t}_view"), "is a view")


OTHER = "spark_catalog.default.no_table"
MADE: dict[str, Callable[[DataFrame, str], Any]] = {
    "CREATE": lambda f, n: f.sparkSession.sql(f"CREATE TABLE {n} (id INT) USING versioned"),
    "LOCATION": lambda f, n: f.sparkSession.sql(
        f"CREATE TABLE {n} (id INT) USING versioned LOCATION '/tmp/nowhere'"
    ),
    "CTAS": lambda f, n: f.sparkSession.sql(f"CREATE TABLE {n} USING versioned AS SELECT 1 AS id"),
    "saveAsTable": lambda f, n: f.write.format("versioned").saveAsTable(n),
    "overwrite": lambda f, n: f.write.format("versioned").mode("overwrite").saveAsTable(n),
    "append": lambda f, n: f.write.format("versioned").mode("append").saveAsTable(n),
    "writeTo": lambda f, n: f.writeTo(n).using("versioned").create(),
    "createTable": lambda f, n: f.sparkSession.catalog.createTable(
        n, source="Versioned", schema=f.schema
    ),
}


def test_another_catalog_holds_no_versioned_tables(sql_spark: SparkSession) -> None:
    """Spark's own would hold a name without a folder, which nobody can read or write."""
    frame = rows(sql_spark, [1])
    for make in MADE.values():
        with pytest.raises(
            Exception, match="spark_catalog can't hold tables of the format"
        ) as caught:
            make(frame, OTHER)
        text = str(caught.value)
        assert 'format("versioned").save("/path/of/table")' in text
        named = re.search(r"write (\w+)\.<namespace>\.no_table", text)
        assert named is not None, text
        # Other tests may have registered catalogs of their own in this session.
        kind = sql_spark.conf.get(f"spark.sql.catalog.{named[1]}")
        assert kind is not None
        assert kind.startswith("versioned.spark.Versioned")
    assert not sql_spark.catalog.tableExists(OTHER)


@pytest.mark.thorough
def test_overwrite_schema_keeps_the_row_key(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Without it, each append would add the row of a key once more."""
    keys: dict[str, dict[str, str]] = {
        "plain": {"primary_key": "id"},
        "timed": {"primary_key": "s, id", "time_index": "at", "ttl": "30 days"},
        "dotted": {"primary_key": "`a.b`"},
    }
    row = (1, "s", dt.datetime.now(), 2)
    frame = sql_spark.createDataFrame([row], "id INT, s STRING, at TIMESTAMP, `a.b` INT")
    for name, key in keys.items():
        columns = "id INT, s STRING, at TIMESTAMP, `a.b` INT"
        catalog.create_table(f"{ns}.{name}", columns, properties=key)
        t = f"versioned.{ns}.{name}"
        wider = frame.selectExpr("*", "5 AS extra")
        overwriter(wider, overwriteSchema=True).saveAsTable(t)
        for _ in range(2):
            wider.write.mode("append").saveAsTable(t)
        assert sql_spark.table(t).count() == 1, name
        kept = catalog.load_table(f"{ns}.{name}")
        assert key.items() <= kept.properties.items()
        lacking = frame.select("s", "at")
        refused(
            lambda f=lacking, n=t: overwriter(f, overwriteSchema=True).saveAsTable(n), "VERSIONED_"
        )
        assert sql_spark.table(t).count() == 1, "nothing was changed"


@pytest.mark.thorough
def test_overwrite_schema_is_refused_where_it_would_surprise(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """A pinned job does not see each column that it would remove, and rows keep their partitions."""
    frame = rows(sql_spark, [3])
    for option, value in (("schemaVersion", "0"), ("onOverflow", "null")):
        given = {"overwriteSchema": True, option: value}
        refused(
            lambda g=given: overwriter(frame, **g).saveAsTable(t),
            "VERSIONED_INVALID_OPTION",
            f"does not go with {option}; leave one of them out",
        )
    table.pin_schema("job", owner="billing")
    sql_spark.conf.set(LABEL, "job")
    try:
        refused(
            lambda: overwriter(frame, overwriteSchema=True).saveAsTable(t),
            "the schema label of the session (job)",
        )
    finally:
        sql_spark.conf.unset(LABEL)
    refused(
        lambda: overwriter(frame.drop("day"), overwriteSchema=True).saveAsTable(t),
        "VERSIONED_NOT_SUPPORTED",
        "the frame has no column day; add it, or give another partitionBy",
    )
    assert ids(sql_spark, t) == list(range(9)), "nothing was changed"
    overwriter(frame.drop("day"), overwriteSchema=True).partitionBy("s").saveAsTable(t)
    assert ids(sql_spark, t) == [3]


@pytest.mark.thorough
def test_a_pinned_job_may_name_the_partitioning_that_it_sees(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    table.pin_schema("job", owner="billing")
    table.alter().rename_column("day", "at").commit()
    pinned = overwriter(rows(sql_spark, [3]), schemaVersion="job")
    refused(lambda: pinned.partitionBy("s").saveAsTable(t), "is partitioned by day, not by s")
    pinned.partitionBy("day").saveAsTable(t)
    assert [tuple(row) for row in sql_spark.table(t).collect()] == [(3, DAY, "a")]
    assert sql_spark.table(t).columns == ["id", "at", "s"]


@pytest.mark.thorough
def test_write_to_replaces_the_table_also_with_the_default_source(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """Spark's statement is then the same as that of saveAsTable."""
    frame = rows(sql_spark, [3]).select("id")
    for default in ("versioned", "parquet"):
        sql_spark.conf.set("spark.sql.sources.default", default)
        try:
            writer = frame.writeTo(t)
            (writer.using(default) if default == "versioned" else writer).createOrReplace()
            assert sql_spark.table(t).columns == ["id"]
            wider = frame.selectExpr("id", "1 AS extra")
            refused(lambda w=wider: overwriter(w).saveAsTable(t), "VERSIONED_COLUMN_NOT_FOUND")
        finally:
            sql_spark.conf.unset("spark.sql.sources.default")
        rows(sql_spark, [3]).writeTo(t).createOrReplace()


def test_the_statement_of_a_writer_is_known_without_its_stack(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """Spark Connect runs it so, since Spark 4.3."""
    if pyspark.__version__ < "4.3":
        pytest.skip("the writers of this Spark give no statements")
    frame = rows(sql_spark, [3])
    jvm: Any = sql_spark._jvm

    def run(plan: Any) -> None:
        jvm.org.apache.spark.sql.classic.Dataset.ofRows(sql_spark._jsparkSession, plan)

    sql_spark.conf.set("spark.sql.sources.default", "versioned")
    try:
        writer: Any = frame.write.mode("overwrite")
        run(writer._jwrite.saveAsTableCommand(t))
        assert ids(sql_spark, t) == [3]
        assert table.refresh().partitioning == ["day"], "this overwrites the rows"
        named: Any = frame.select("id").writeTo(t).using("versioned")
        run(named._jwriter.replaceCommand(True))
        assert sql_spark.table(t).columns == ["id"], "this replaces the table"
    finally:
        sql_spark.conf.unset("spark.sql.sources.default")


@pytest.mark.thorough
def test_the_condition_of_an_overwrite_is_one_on_a_row(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    none = rows(sql_spark, [])
    for text in ("null", "id", "sum(id) > 1", "rand() < 2", "row_number() OVER (ORDER BY id) > 1"):
        refused(
            lambda c=text: overwriter(none, replaceWhere=c).saveAsTable(t),
            f"replaceWhere is '{text}'; it must be a condition on the columns of one row",
        )
    assert ids(sql_spark, t) == list(range(9))


def test_a_refused_stream_says_that_its_table_is_there(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    """Spark has created it, without a key, before it asks for the output mode."""
    writer = sql_spark.readStream.table(t).writeStream.outputMode("update")
    writer = writer.option("checkpointLocation", str(tmp_path / "c"))
    for _ in range(2):
        refused(
            lambda: writer.toTable(f"{t}_new"),
            "t_new if this stream has just created it, create it with a primary key, and start again",
        )
