"""How sessions, statements and DataFrames choose the schema in which they use a table.

Needs a JVM because Spark loads the tables; ``test_requests.py`` tests the responses of Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pins.conftest import LABEL
from sql.plans import is_native
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def usage(catalog: Catalog, ns: str) -> Table:
    """A table whose column ``usage`` was renamed since its pin, and one was added; schemas 0 to 2."""
    table = catalog.create_table(f"{ns}.t", "id INT, usage INT", properties={"comment": "x"})
    table.pin_schema("job", owner="billing")
    table.alter().rename_column("usage", "used").commit()
    table.alter().add_column("e", "INT", default=5).commit()
    return table


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def tuples(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_the_label_may_be_set_and_unset_at_run_time(
    spark: SparkSession, usage: Table, t: str
) -> None:
    session = spark.newSession()
    assert session.table(t).columns == ["id", "used", "e"]
    session.conf.set(LABEL, "job")
    assert session.table(t).columns == ["id", "usage"]
    session.conf.unset(LABEL)
    assert session.table(t).columns == ["id", "used", "e"]


def test_an_option_of_each_statement_chooses_the_schema(
    sql_spark: SparkSession, usage: Table, t: str
) -> None:
    pinned = f"{t} WITH ('schemaVersion' = 'job')"
    sql_spark.sql(f"INSERT INTO {pinned} (id, usage) VALUES (1, 10), (2, 20), (3, 30)")
    sql_spark.sql(f"UPDATE {t} SET e = 7")
    sql_spark.sql(f"UPDATE {pinned} SET usage = usage + 1 WHERE usage > 10")
    sql_spark.sql(f"DELETE FROM {pinned} WHERE usage = 31")
    sql_spark.sql(
        f"MERGE INTO {pinned} USING (SELECT * FROM VALUES (1, 11), (4, 40) AS s(i, v)) ON id = i "
        "WHEN MATCHED THEN UPDATE SET usage = v WHEN NOT MATCHED THEN INSERT (id, usage) VALUES (i, v)"
    )
    assert tuples(sql_spark.sql(f"SELECT usage, id FROM {pinned} WHERE usage < 40")) == [
        (11, 1),
        (21, 2),
    ]
    assert tuples(sql_spark.table(t)) == [(1, 11, 7), (2, 21, 7), (4, 40, 5)]


def test_the_option_wins_over_the_label(job: SparkSession, usage: Table, t: str) -> None:
    assert job.sql(f"SELECT * FROM {t} WITH ('schemaVersion' = '1')").columns == ["id", "used"]
    assert job.read.option("schemaVersion", "2").table(t).columns == ["id", "used", "e"]


@pytest.mark.thorough
def test_dataframes_take_the_option(sql_spark: SparkSession, usage: Table, t: str) -> None:
    frame = sql_spark.createDataFrame([(1, 10)], "id INT, usage INT")
    frame.writeTo(t).option("schemaVersion", "job").append()
    assert tuples(sql_spark.read.option("schemaVersion", "job").table(t)) == [(1, 10)]
    assert tuples(sql_spark.read.option("schemaVersion", 0).table(t)) == [(1, 10)]
    assert tuples(sql_spark.table(t)) == [(1, 10, 5)]


@pytest.mark.thorough
@pytest.mark.parametrize("via", ["native", "python"])
def test_the_data_source_takes_the_option(sql_spark: SparkSession, usage: Table, via: str) -> None:
    frame = sql_spark.createDataFrame([(1, 10)], "id INT, usage INT")
    write = frame.write.format("versioned").option("io", via).option("schemaVersion", "job")
    write.mode("append").save(usage.location)
    read = sql_spark.read.format("versioned").option("io", via).option("schemaVersion", "job")
    assert tuples(read.load(usage.location).where("usage = 10")) == [(1, 10)]
    assert tuples(sql_spark.read.format("versioned").load(usage.location)) == [(1, 10, 5)]


def test_an_unknown_label_is_an_error_in_an_option_only(
    sql_spark: SparkSession, job: SparkSession, catalog: Catalog, usage: Table, ns: str, t: str
) -> None:
    with pytest.raises(Exception, match="there is no schema pin 'nobody'"):
        sql_spark.sql(f"SELECT * FROM {t} WITH ('schemaVersion' = 'nobody')")
    catalog.create_table(f"{ns}.other", "a INT")
    assert job.table(f"versioned.{ns}.other").columns == ["a"]
    job.sql(f"ALTER TABLE versioned.{ns}.other ADD COLUMN b INT")
    with pytest.raises(Exception, match="onOverflow is 'wrap'; it must be error or null"):
        sql_spark.sql(f"SELECT * FROM {t} WITH ('onOverflow' = 'wrap')")


def test_an_older_version_is_shown_in_the_schema_of_the_pin(
    sql_spark: SparkSession, job: SparkSession, usage: Table, t: str
) -> None:
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 10, 1)")
    version = usage.refresh().version
    sql_spark.sql(f"INSERT INTO {t} VALUES (2, 20, 2)")
    assert tuples(job.sql(f"SELECT * FROM {t} VERSION AS OF {version}")) == [(1, 10)]
    assert job.sql(f"SELECT * FROM {t} VERSION AS OF 0").columns == ["id", "usage"]


def test_a_table_is_not_altered_through_a_pin(job: SparkSession, usage: Table, t: str) -> None:
    for change in (
        "ADD COLUMN z INT",
        "DROP COLUMN used",
        "RENAME COLUMN usage TO u",
        "ALTER COLUMN used TYPE BIGINT",
        "SET TBLPROPERTIES ('a' = 'b')",
    ):
        with pytest.raises(Exception, match=f"unset {LABEL}"):
            job.sql(f"ALTER TABLE {t} {change}")
    with pytest.raises(Exception, match="WITH SCHEMA EVOLUTION"):
        job.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {t} USING (SELECT 1 AS id, 2 AS x) s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *"
        )
    frame = job.createDataFrame([(1, 10, 3)], "id INT, usage INT, x INT")
    with pytest.raises(Exception, match="mergeSchema"):
        frame.writeTo(t).option("mergeSchema", "true").append()
    assert usage.refresh().schema.names == ["id", "used", "e"]


def test_metadata_tables_ignore_pins(job: SparkSession, usage: Table, t: str) -> None:
    assert job.sql(f"SELECT max(version) FROM {t}.history").collect()[0][0] == usage.version
    assert "operation" in job.table(f"{t}.history").columns


def test_a_write_names_its_pin_in_the_log(job: SparkSession, usage: Table, t: str) -> None:
    job.sql(f"INSERT INTO {t} VALUES (1, 10)")
    job.sql(f"DELETE FROM {t} WHERE usage = 10")
    (row,) = job.sql(
        f"CALL versioned.system.schema_pins('{t.removeprefix('versioned.')}')"
    ).collect()
    assert (row.label, row.schema_version, row.owner, row.writes) == ("job", 0, "billing", 2)
    assert (row.may_fail, row.needs_hidden) == ([], [])


@pytest.mark.thorough
def test_a_view_sees_what_its_statement_sees_if_its_columns_are_in_that_schema(
    sql_spark: SparkSession, job: SparkSession, usage: Table, t: str
) -> None:
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 10, 1)")
    sql_spark.sql(f"CREATE VIEW {t}_ids AS SELECT id FROM {t}")
    sql_spark.sql(f"CREATE VIEW {t}_both AS SELECT used + e AS both FROM {t}")
    assert tuples(job.sql(f"SELECT v.id, t.usage FROM {t}_ids v, {t}")) == [(1, 10)]
    with pytest.raises(Exception, match=f"reads the column used .* unset {LABEL}"):
        job.sql(f"SELECT * FROM {t}_both")
    with pytest.raises(Exception, match="a view is bound to the current one"):
        job.sql(f"CREATE VIEW {t}_other AS SELECT usage FROM {t}")


def test_a_view_does_not_read_another_column_of_the_same_name(
    sql_spark: SparkSession, job: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "a INT, b INT")
    table.pin_schema("job")
    table.alter().rename_column("a", "x").rename_column("b", "a").rename_column("x", "b").commit()
    sql_spark.sql(f"CREATE VIEW {t}_a AS SELECT a FROM {t}")
    # Spark loads the table for the statement, and not again for the view.
    with pytest.raises(Exception, match=rf"reads the column a \(ID 2\) .* unset {LABEL}"):
        job.sql(f"SELECT v.a FROM {t}, {t}_a v").collect()


def test_caches_tell_schemas_apart(sql_spark: SparkSession, usage: Table, t: str) -> None:
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 10, 1)")
    pinned = f"{t} WITH ('schemaVersion' = 'job')"
    joined = f"SELECT a.used, b.usage FROM {t} a JOIN (SELECT * FROM {pinned}) b ON a.id = b.id"
    assert tuples(sql_spark.sql(joined)) == [(10, 10)]


# Native paths


def test_reads_and_writes_through_a_pin_are_native(job: SparkSession, usage: Table, t: str) -> None:
    job.sql(f"INSERT INTO {t} VALUES (1, 10), (2, 20)")
    assert is_native(job.table(t).where("usage = 10"))
    for statement, write in (
        (f"INSERT INTO {t} VALUES (3, 30)", "VersionedWrite"),
        (f"UPDATE {t} SET usage = 21 WHERE id = 2", "VersionedWrite"),
        # one that statistics can't decide, which writes no rows
        (f"DELETE FROM {t} WHERE usage + id = 11", "VersionedMarks"),
    ):
        plan = str(job.sql(f"EXPLAIN {statement}").collect()[0][0])
        assert write in plan, plan
        assert "python={" not in plan, plan
        job.sql(statement)
    assert written_by(usage) == {"parquet-mr"}
    assert tuples(job.table(t)) == [(2, 21), (3, 30)]


def written_by(table: Table) -> set[str]:
    """The programs that wrote the live segments."""
    paths = table.refresh().inspect.segments()["path"].to_pylist()
    files = (pq.ParquetFile(f"{table.location}/{path}") for path in paths)
    return {file.metadata.created_by.split()[0] for file in files}
