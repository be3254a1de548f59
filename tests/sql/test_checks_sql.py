"""CHECK constraints by SQL, DataFrames and streams.

Needs a JVM because Spark parses the conditions, and checks rows before this library does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.thorough


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def table(sql_spark: SparkSession, catalog: Catalog, ns: str, t: str) -> Table:
    """Two rows, and constraints of CREATE TABLE and ALTER TABLE."""
    sql_spark.sql(
        f"CREATE TABLE {t} (id BIGINT, s STRING, st STRUCT<x: INT>, CONSTRAINT low CHECK (id < 1000))"
    )
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'a', NULL), (2, 'b', NULL)")
    sql_spark.sql(
        f"ALTER TABLE {t} ADD CONSTRAINT validIds CHECK (id > 0 and (s <> 'x' OR st.x = 1))"
    )
    return catalog.load_table(f"{ns}.t")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def refused(what: Callable[[], object], *texts: str) -> None:
    with pytest.raises(Exception, match="CHECK") as caught:
        what()
    for text in texts:
        assert text in str(caught.value)


STATEMENTS = [
    "INSERT INTO {t} VALUES ({id}, 'n', NULL)",
    "INSERT INTO {t} (id) VALUES ({id})",
    "INSERT OVERWRITE {t} VALUES ({id}, 'n', NULL)",
    "INSERT INTO {t} REPLACE WHERE id = 1 VALUES ({id}, 'n', NULL)",
    "UPDATE {t} SET id = {id} WHERE s = 'a'",
    "MERGE INTO {t} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = {id}",
    "MERGE INTO {t} t USING (SELECT 7L AS id) s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT (id) VALUES ({id})",
]


@pytest.mark.parametrize("io", ["native", "python"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_is_checked(
    sql_spark: SparkSession, table: Table, t: str, statement: str, io: str
) -> None:
    spark = sql_spark.newSession()
    spark.conf.set("spark.versioned.io", io)
    before, version = rows(spark, f"SELECT * FROM {t} ORDER BY id"), table.version
    for bad in (0, 1000):
        refused(
            lambda bad=bad: spark.sql(statement.format(t=t, id=bad)), "low" if bad else "validIds"
        )
    assert rows(spark, f"SELECT * FROM {t} ORDER BY id") == before
    assert table.refresh().version == version
    spark.sql(statement.format(t=t, id=3))
    assert 3 in [row[0] for row in rows(spark, f"SELECT id FROM {t}")]


WRITES: dict[str, Callable[[DataFrame, str, str], object]] = {
    "writeTo": lambda df, t, path: df.writeTo(t).append(),
    "insertInto": lambda df, t, path: df.write.insertInto(t),
    "path": lambda df, t, path: df.write.format("versioned").mode("append").save(path),
    "path by Python": lambda df, t, path: (
        df.write.format("versioned").mode("append").option("io", "python").save(path)
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_of_dataframes_are_checked(
    sql_spark: SparkSession, table: Table, t: str, name: str
) -> None:
    bad, good = (
        sql_spark.createDataFrame([(id_, "n", None)], "id long, s string, st struct<x: int>")
        for id_ in (0, 5)
    )
    refused(lambda: WRITES[name](bad, t, table.location), "validIds")
    WRITES[name](good, t, table.location)
    assert sorted(row[0] for row in rows(sql_spark, f"SELECT id FROM {t}")) == [1, 2, 5]


def test_streams_are_checked(
    sql_spark: SparkSession, table: Table, t: str, ns: str, tmp_path: Path
) -> None:
    source = f"versioned.{ns}.source"
    sql_spark.sql(f"CREATE TABLE {source} (id BIGINT, s STRING, st STRUCT<x: INT>)")
    sql_spark.sql(f"INSERT INTO {source} VALUES (0, 'n', NULL)")

    def run() -> None:
        (
            sql_spark.readStream.table(source)
            .writeStream.option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .toTable(t)
            .awaitTermination()
        )

    refused(run, "validIds")
    sql_spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT validIds")
    run()
    assert sorted(row[0] for row in rows(sql_spark, f"SELECT id FROM {t}")) == [0, 1, 2]


def test_like_copies_them(
    sql_spark: SparkSession, catalog: Catalog, table: Table, t: str, ns: str
) -> None:
    sql_spark.sql(f"CREATE TABLE versioned.{ns}.copy LIKE {t}")
    assert catalog.load_table(f"{ns}.copy").checks == table.checks
    refused(
        lambda: sql_spark.sql(f"INSERT INTO versioned.{ns}.copy VALUES (0, 'n', NULL)"), "validIds"
    )


def test_nested_columns_and_nulls(sql_spark: SparkSession, table: Table, t: str) -> None:
    sql_spark.sql(f"INSERT INTO {t} VALUES (3, 'x', named_struct('x', 1)), (4, 'x', NULL)")
    refused(
        lambda: sql_spark.sql(f"INSERT INTO {t} VALUES (5, 'x', named_struct('x', 2))"), "validIds"
    )


def test_they_are_shown_with_the_names_of_columns(
    sql_spark: SparkSession, catalog: Catalog, table: Table, t: str, ns: str
) -> None:
    sql_spark.sql(f"ALTER TABLE {t} RENAME COLUMN id TO `the id`")
    sql_spark.sql(f"ALTER TABLE {t} RENAME COLUMN st.x TO y")
    (created,) = rows(sql_spark, f"SHOW CREATE TABLE {t}")[0]
    assert "CONSTRAINT low CHECK (`the id` < 1000) ENFORCED" in created
    assert "CONSTRAINT validIds CHECK (`the id` > 0 AND (s != 'x' OR st.y = 1)) ENFORCED" in created
    described = rows(sql_spark, f"DESCRIBE EXTENDED {t}")
    assert ("low", "CHECK (`the id` < 1000) ENFORCED RELY", "") in described
    assert table.refresh().checks == {
        "low": "`the id` < 1000",
        "validIds": "`the id` > 0 AND (s != 'x' OR st.y = 1)",
    }
    sql_spark.sql(created.replace(f"{t} (", f"{t}_again ("))
    again = catalog.load_table(f"{ns}.t_again")
    assert (again.checks, again.schema.names) == (table.checks, table.schema.names)
    assert not [row for row in rows(sql_spark, f"SHOW TBLPROPERTIES {t}") if "check" in row[0]]
    refused(lambda: sql_spark.sql(f"INSERT INTO {t} VALUES (0, 'n', NULL)"), "validIds")
    refused(lambda: sql_spark.sql(f"UPDATE {t} SET s = 'x', st = named_struct('y', 2)"), "validIds")


def test_alter_refuses_what_does_not_hold(sql_spark: SparkSession, table: Table, t: str) -> None:
    for clause, why in {
        "ADD CONSTRAINT more CHECK (id > 1)": "NEW_CHECK_CONSTRAINT_VIOLATION",
        "ADD CONSTRAINT LOW CHECK (id > 0)": "there is a constraint LOW already",
        "ADD CONSTRAINT f CHECK (length(s) > 0)": "the condition",
        "ADD CONSTRAINT f CHECK (id > st.x)": "the condition",
        "ADD CONSTRAINT f CHECK (id > 0) NOT ENFORCED": "NOT ENFORCED",
        "ADD CONSTRAINT f CHECK (id < 1e3)": "without an exponent",
        "ADD CONSTRAINT f UNIQUE (id)": "PRIMARY KEY, NOT NULL and CHECK only",
        "DROP COLUMN id": "drop the constraint first",
        "DROP CONSTRAINT nothing": "no constraint nothing",
        "SET TBLPROPERTIES ('__check.x' = '`#1` > 0')": "ADD CONSTRAINT or DROP CONSTRAINT",
        "UNSET TBLPROPERTIES ('__check.low')": "ADD CONSTRAINT or DROP CONSTRAINT",
    }.items():
        with pytest.raises(Exception, match=re.escape(why)):
            sql_spark.sql(f"ALTER TABLE {t} {clause}")
    sql_spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT IF EXISTS nothing")
    assert set(table.refresh().checks) == {"low", "validIds"}


def test_the_primary_key_can_not_be_dropped(sql_spark: SparkSession, ns: str) -> None:
    t = f"versioned.{ns}.keyed"
    sql_spark.sql(
        f"CREATE TABLE {t} (id BIGINT NOT NULL, n INT, CONSTRAINT pk PRIMARY KEY (id), "
        "CONSTRAINT positive CHECK (n > 0))"
    )
    for clause in ("DROP CONSTRAINT pk", "DROP CONSTRAINT IF EXISTS pk"):
        with pytest.raises(Exception, match="a primary key is set when a table is created"):
            sql_spark.sql(f"ALTER TABLE {t} {clause}")
    with pytest.raises(Exception, match="choose another name"):
        sql_spark.sql(f"ALTER TABLE {t} ADD CONSTRAINT primary_key CHECK (n > 1)")
    refused(lambda: sql_spark.sql(f"INSERT INTO {t} VALUES (1, 0)"), "positive")
    sql_spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT positive")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 0)")


def test_spark_reads_a_condition_as_it_was_meant(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """What Spark shows, and parses again, has the parentheses that it needs."""
    t = f"versioned.{ns}.u"
    condition = "NOT (x > 1 AND x < 2) OR x = 1.5 AND d IS NOT NULL"
    sql_spark.sql(f"CREATE TABLE {t} (x DOUBLE, d DATE, CONSTRAINT c CHECK ({condition}))")
    for x, d in ((1.7, "DATE'2001-01-01'"), (1.5, "NULL")):
        refused(lambda x=x, d=d: sql_spark.sql(f"INSERT INTO {t} VALUES ({x}, {d})"))
    sql_spark.sql(f"INSERT INTO {t} VALUES (1.5, DATE'2001-01-01'), (0.5, NULL)")
    assert catalog.load_table(f"{ns}.u").count() == 2


def test_times_are_those_of_the_session(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    t, spark = f"versioned.{ns}.times", sql_spark.newSession()
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.sql(
        f"CREATE TABLE {t} (ts TIMESTAMP, CONSTRAINT a CHECK (ts > '2020-01-31'), "
        "CONSTRAINT b CHECK (ts > TIMESTAMP'2020-01-31 00:00:00'))"
    )
    spark.conf.set("spark.sql.session.timeZone", "GMT+3")
    spark.sql(f"ALTER TABLE {t} ADD CONSTRAINT c CHECK (ts >= DATE'2020-01-31')")
    checks = catalog.load_table(f"{ns}.times").checks
    assert checks == {
        "a": "ts > TIMESTAMP '2020-01-31T05:00:00+00:00'",
        "b": "ts > TIMESTAMP '2020-01-31T05:00:00+00:00'",
        "c": "ts >= TIMESTAMP '2020-01-30T21:00:00+00:00'",
    }
    refused(lambda: spark.sql(f"INSERT INTO {t} VALUES (TIMESTAMP'2020-01-31 08:00:00')"))
    spark.sql(f"INSERT INTO {t} VALUES (TIMESTAMP'2020-01-31 08:00:01')")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.id FROM {a} a JOIN {b} b ON a.id = b.id WHERE b.keeps",
        "SELECT a.id FROM {a} a LEFT SEMI JOIN {b} b ON a.id = b.id AND b.keeps",
        "SELECT id FROM {a} WHERE id IN (SELECT id FROM {b} WHERE keeps)",
        "SELECT id FROM {a} GROUP BY id HAVING sum(id) > 0",
        "SELECT id FROM (SELECT id, max(id) OVER (PARTITION BY id) AS m FROM {a}) WHERE m > 0",
        "SELECT DISTINCT id FROM (SELECT id, rand() AS r FROM {a} ORDER BY r) WHERE r >= 0 AND id > 0",
        "SELECT id FROM {a} ORDER BY id DESC LIMIT 1",
        "SELECT explode(array(id)) AS id FROM {a} WHERE id > 0",
    ],
)
def test_rows_that_are_not_written_are_not_checked(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, query: str
) -> None:
    """Spark pushes the condition of a constraint below joins and aggregates, as it does with a WHERE."""
    a, b = f"versioned.{ns}.a", f"versioned.{ns}.b"
    sql_spark.sql(f"CREATE TABLE {t} (id BIGINT, CONSTRAINT positive CHECK (id > 0))")
    sql_spark.sql(f"CREATE TABLE {a} AS SELECT * FROM VALUES (1L), (-1L) v(id)")
    sql_spark.sql(f"CREATE TABLE {b} AS SELECT * FROM VALUES (1L, true), (-1L, false) v(id, keeps)")
    sql_spark.sql(f"INSERT INTO {t} {query.format(a=a, b=b)}")
    merge = f"MERGE INTO {t} t USING ({query.format(a=a, b=b)}) s ON t.id = s.id + 7"
    sql_spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert rows(sql_spark, f"SELECT id FROM {t}") == [(1,), (1,)]
    refused(lambda: sql_spark.sql(f"INSERT INTO {t} SELECT id FROM {a}"), "positive")
    sql_spark.table(a).join(sql_spark.table(b).where("keeps"), "id").select("id").writeTo(
        t
    ).append()
    assert catalog.load_table(f"{ns}.t").count() == 3
