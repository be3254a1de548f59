"""Identity columns by SQL, DataFrames and streams.

Needs a JVM because Spark's own writer numbers rows, and its plans say what a statement assigns to.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import col, lit

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.thorough

IOS = ["native", "python"]


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def session(spark: SparkSession, io: str = "native") -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.versioned.io", io)
    return own


def create(spark: SparkSession, t: str, clause: str = "ALWAYS AS IDENTITY", more: str = "") -> None:
    spark.sql(f"CREATE TABLE {t} (id BIGINT GENERATED {clause}, name STRING, n INT) {more}")


def rows(spark: SparkSession, t: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, name FROM {t} ORDER BY id").collect()]


def ids(spark: SparkSession, t: str) -> list[int]:
    found = [number for number, _ in rows(spark, t)]
    assert len(set(found)) == len(found)
    return found


def refused(spark: SparkSession, statement: str, *texts: str) -> None:
    with pytest.raises(Exception, match="VERSIONED_") as caught:
        spark.sql(statement)
    for text in texts:
        assert text in str(caught.value), statement


@pytest.mark.parametrize("io", IOS)
@pytest.mark.parametrize("row_changes", ["copy", "mark"])
def test_statements_number_rows(
    sql_spark: SparkSession, t: str, ns: str, io: str, row_changes: str
) -> None:
    spark = session(sql_spark, io)
    create(spark, t, more=f"TBLPROPERTIES ('row_changes' = '{row_changes}')")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    spark.sql(f"INSERT INTO {t} BY NAME SELECT 'b' AS name")
    spark.sql(f"INSERT INTO {t} VALUES (DEFAULT, 'c', 1)")
    assert rows(spark, t) == [(1, "a"), (2, "b"), (3, "c")]
    spark.sql(f"UPDATE {t} SET name = 'B' WHERE id = 2")
    spark.sql(
        f"MERGE INTO {t} t USING (SELECT 'a' AS name UNION ALL SELECT 'd') s ON t.name = s.name "
        "WHEN MATCHED THEN UPDATE SET name = 'A' WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)"
    )
    found = rows(spark, t)
    assert found[:3] == [(1, "A"), (2, "B"), (3, "c")]
    ((number, name),) = found[3:]
    assert number >= 4
    assert name == "d"
    spark.sql(
        f"MERGE INTO {t} USING (SELECT 'e' AS v) ON name = v "
        "WHEN NOT MATCHED THEN INSERT (name) VALUES (v)"
    )
    spark.sql(f"DELETE FROM {t} WHERE id < 3")
    last = ids(spark, t)[-1]
    spark.sql(f"INSERT INTO {t} REPLACE WHERE name = 'c' VALUES (DEFAULT, 'c', 1)")
    number, name = rows(spark, t)[-1]
    assert number > last
    assert name == "c"
    spark.sql(f"INSERT OVERWRITE {t} (name) SELECT 'x'")
    ((only, _),) = rows(spark, t)
    assert only > last


@pytest.mark.parametrize("io", IOS)
def test_always_refuses_numbers(sql_spark: SparkSession, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    create(spark, t)
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    before = spark.sql(f"SELECT max(version) FROM {t}.history").first()
    source = "(SELECT 1L AS id, 'x' AS name, 1 AS n)"
    for statement in (
        f"UPDATE {t} SET id = 5",
        f"UPDATE {t} x SET x.id = DEFAULT, name = 'y'",
        f"MERGE INTO {t} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.id = 8",
        f"MERGE INTO {t} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        f"MERGE INTO {t} t USING {source} s ON t.id = -1 WHEN NOT MATCHED THEN INSERT *",
        f"MERGE INTO {t} t USING {source} s ON t.id = -1 "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (7, 'x')",
        f"MERGE INTO {t} t USING {source} s ON t.id = s.id "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = 3",
    ):
        refused(spark, statement, "id is GENERATED ALWAYS AS IDENTITY")
    assert spark.sql(f"SELECT max(version) FROM {t}.history").first() == before
    for statement in (
        f"INSERT INTO {t} VALUES (77, 'a', 1)",
        f"INSERT INTO {t} (name, id) VALUES ('a', 77)",
        f"INSERT OVERWRITE {t} VALUES (77, 'a', 1)",
        f"INSERT INTO {t} REPLACE WHERE n = 1 VALUES (77, 'a', 1)",
    ):
        refused(spark, statement, "id is GENERATED ALWAYS AS IDENTITY", "77")
    assert rows(spark, t) == [(1, "a")]
    spark.sql(f"INSERT INTO {t} (name) SELECT 'b'")
    assert ids(spark, t) == [1, 2]


def test_a_field_of_the_same_name_is_no_identity(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    spark.sql(f"CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY, name STRUCT<id: INT>)")
    spark.sql(f"INSERT INTO {t} (name) VALUES (named_struct('id', 1))")
    spark.sql(f"UPDATE {t} SET name.id = 5")
    assert rows(spark, t) == [(1, (5,))]


@pytest.mark.parametrize("io", IOS)
def test_a_merge_whose_star_has_no_number(sql_spark: SparkSession, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    create(spark, t)
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 'b' AS name, 5 AS n, 'q' AS more) s "
        "ON t.name = s.name WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert len(ids(spark, t)) == 2
    assert [row[0] for row in spark.sql(f"SELECT more FROM {t} ORDER BY id").collect()] == [
        None,
        "q",
    ]


@pytest.mark.parametrize("io", IOS)
def test_by_default(sql_spark: SparkSession, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    create(spark, t, "BY DEFAULT AS IDENTITY (START WITH 100 INCREMENT BY 10)")
    spark.sql(f"INSERT INTO {t} VALUES (5, 'x', 1)")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    spark.sql(f"INSERT INTO {t} (id, name) SELECT 120L, 'b'")
    assert rows(spark, t) == [(5, "x"), (100, "a"), (120, "b")]
    spark.sql(f"ALTER TABLE {t} ALTER COLUMN id SYNC IDENTITY")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'c'")
    assert rows(spark, t)[-1] == (130, "c")
    spark.sql(f"UPDATE {t} SET id = 6 WHERE id = 5")
    assert ids(spark, t)[0] == 6
    with pytest.raises(Exception, match=r"id is NOT NULL|column id is NOT NULL"):
        spark.sql(f"UPDATE {t} SET id = NULL WHERE id = 6")
    refused(spark, f"ALTER TABLE {t} ALTER COLUMN n SYNC IDENTITY", "n is no identity column")


def test_many_tasks(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    create(spark, t, "ALWAYS AS IDENTITY (START WITH -3 INCREMENT BY -2)", "PARTITIONED BY (n)")
    frame = spark.range(0, 1000, 1, 7).selectExpr(
        "CAST(id AS STRING) AS name", "CAST(id % 3 AS INT) AS n"
    )
    for count in (1, 2):
        frame.writeTo(t).append()
        found = ids(spark, t)
        assert len(found) == 1000 * count
        assert all((number + 3) % 2 == 0 for number in found)
    assert found[-1] == -3


def test_data_frames_by_name_and_path(
    sql_spark: SparkSession, t: str, catalog: Catalog, ns: str
) -> None:
    spark = session(sql_spark)
    create(spark, t)
    table = catalog.load_table(f"{ns}.t")
    frame = spark.createDataFrame([("a",)], "name string")
    frame.writeTo(t).append()
    frame.write.mode("append").saveAsTable(t)
    frame.write.format("versioned").mode("append").save(table.location)
    frame.write.format("versioned").mode("append").option("io", "python").save(table.location)
    assert len(ids(spark, t)) == 4
    numbered = spark.createDataFrame([(9, "a")], "id long, name string")
    with pytest.raises(Exception, match="GENERATED ALWAYS AS IDENTITY"):
        numbered.writeTo(t).append()
    with pytest.raises(Exception, match="GENERATED ALWAYS AS IDENTITY"):
        numbered.write.format("versioned").mode("append").save(table.location)
    frame.write.format("versioned").mode("overwrite").option("replaceWhere", "name = 'a'").save(
        table.location
    )
    ((number, _),) = rows(spark, t)
    assert number > 4


def _stream(frame: DataFrame, t: str, checkpoint: Path) -> None:
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).toTable(t).awaitTermination()


def test_streams(sql_spark: SparkSession, t: str, tmp_path: Path) -> None:
    spark = session(sql_spark)
    create(spark, t)
    for name in "abc":
        spark.createDataFrame([(name,)], "name string").write.mode("append").parquet(
            str(tmp_path / "in")
        )
        read = spark.readStream.schema("name string").parquet(str(tmp_path / "in"))
        _stream(read, t, tmp_path / "c")
    assert [name for _, name in rows(spark, t)] == ["a", "b", "c"]
    assert ids(spark, t)[0] == 1


def test_writes_without_rows_give_all_back(
    sql_spark: SparkSession, t: str, tmp_path: Path, catalog: Catalog, ns: str
) -> None:
    spark = session(sql_spark)
    create(spark, t)
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a' WHERE false")
    empty = spark.createDataFrame([], "name string")
    for _ in range(2):  # the second epoch has no rows either
        empty.write.mode("append").parquet(str(tmp_path / "in"))
        _stream(
            spark.readStream.schema("name string").parquet(str(tmp_path / "in")), t, tmp_path / "c"
        )
    for _ in range(2):  # the second one is a batch that was committed
        frame = spark.createDataFrame([("b",)], "name string").coalesce(1)
        frame.writeTo(t).option("application", "job").option("batch", "1").append()
    spark.createDataFrame([("c",)], "name string").coalesce(1).writeTo(t).append()
    assert rows(spark, t) == [(1, "b"), (2, "c")]
    table = catalog.load_table(f"{ns}.t")
    assert table.state.properties["__identity.1"].endswith('"next":3}')


def test_data_frames_that_merge(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    create(spark, t)
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    source = spark.createDataFrame([(1, "x", 1)], "id long, name string, n int").alias("s")
    merge = source.mergeInto(t, col("s.id") == col(f"{t}.id"))
    for refused_merge in (
        merge.whenMatched().updateAll(),
        merge.whenMatched().update({"id": col("s.id")}),
        source.mergeInto(t, lit(False)).whenNotMatched().insertAll(),
        source.mergeInto(t, lit(False)).whenNotMatched().insert({"id": col("s.id")}),
    ):
        with pytest.raises(Exception, match="id is GENERATED ALWAYS AS IDENTITY"):
            refused_merge.merge()
    refused(
        spark,
        f"WITH s AS (SELECT 7L AS id, 'y' AS name, 1 AS n) MERGE INTO {t} t USING s ON false "
        "WHEN NOT MATCHED THEN INSERT *",
        "id is GENERATED ALWAYS AS IDENTITY",
    )
    source.mergeInto(t, lit(False)).whenNotMatched().insert({"name": col("s.name")}).merge()
    assert ids(spark, t)[0] == 1
    assert len(ids(spark, t)) == 2


def test_changes_show_numbers(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    create(spark, t)
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    spark.sql(f"UPDATE {t} SET name = 'b'")
    changes = spark.sql(
        f"SELECT _change_type, id FROM {t} CHANGES FROM VERSION 0 ORDER BY ALL"
    ).collect()
    assert {row["id"] for row in changes} == {1}


def test_a_check_sees_numbers(sql_spark: SparkSession, t: str) -> None:
    spark = session(sql_spark)
    create(spark, t)
    spark.sql(f"ALTER TABLE {t} ADD CONSTRAINT few CHECK (id < 3)")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'b'")
    refused(spark, f"INSERT INTO {t} (name) SELECT 'c'", "few CHECK (id < 3)", "id = 3")
    spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT few")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'c'")
    assert ids(spark, t) == [1, 2, 3]  # a refused write gives its numbers back


def test_declarations(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    spark = session(sql_spark)
    spark.sql(
        f"CREATE TABLE {t} (a BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH -1 "
        "INCREMENT BY 2) COMMENT 'identifier', b INT, c BIGINT GENERATED ALWAYS AS IDENTITY)"
    )
    (shown,) = (row[0] for row in spark.sql(f"SHOW CREATE TABLE {t}").collect())
    assert "GENERATED BY DEFAULT AS IDENTITY (START WITH -1 INCREMENT BY 2)" in shown
    assert "c BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1)" in shown
    spark.sql(f"DROP TABLE {t}")
    spark.sql(shown)
    spark.sql(f"INSERT INTO {t} (b) VALUES (7)")
    assert [tuple(r) for r in spark.sql(f"SELECT * FROM {t}").collect()] == [(-1, 7, 1)]
    spark.sql(f"CREATE TABLE {t}2 LIKE {t}")
    spark.sql(f"INSERT INTO {t}2 (b) VALUES (7)")
    assert [tuple(r) for r in spark.sql(f"SELECT * FROM {t}2").collect()] == [(-1, 7, 1)]
    spark.sql(f"CREATE TABLE {t}3 AS SELECT * FROM {t}")
    assert catalog.load_table(f"{ns}.t3").identity == {}
    spark.sql(
        f"CREATE OR REPLACE TABLE {t} (a BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 50), b INT)"
    )
    spark.sql(f"INSERT INTO {t} (b) VALUES (7)")
    assert [tuple(r) for r in spark.sql(f"SELECT * FROM {t}").collect()] == [(50, 7)]


@pytest.mark.parametrize("io", IOS)
def test_branches(sql_spark: SparkSession, t: str, io: str) -> None:
    spark = session(sql_spark, io)
    create(spark, t)
    spark.sql(f"ALTER TABLE {t} CREATE BRANCH b")
    spark.sql(f"INSERT INTO {t}.branch_b (name) SELECT 'on b'")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'on main'")
    spark.sql(f"INSERT INTO {t}.branch_b (name) SELECT 'on b again'")
    spark.sql(f"CALL versioned.system.merge_branch('{t.removeprefix('versioned.')}', 'b')")
    assert len(ids(spark, t)) == 3


def test_a_staged_write(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    spark = session(sql_spark)
    create(spark, t, more="TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'a'")
    staging = session(sql_spark)
    staging.conf.set("spark.wap.id", "job1")
    staging.sql(f"INSERT INTO {t} (name) SELECT 'b'")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'c'")
    assert len(ids(spark, t)) == 2
    spark.sql(f"CALL versioned.system.publish_changes('{ns}.t', 'job1')")
    spark.sql(f"INSERT INTO {t} (name) SELECT 'd'")
    assert {name for _, name in rows(spark, t)} == set("abcd")
    assert len(ids(spark, t)) == 4
    spark.sql(f"ALTER TABLE {t} CREATE BRANCH one")
    spark.sql(f"INSERT INTO {t}.branch_one (name) SELECT 'e'")
    version = catalog.load_table(f"{ns}.t").branch("one").version
    spark.sql(f"CALL versioned.system.cherrypick_snapshot('{ns}.t', {version})")
    assert len(ids(spark, t)) == 5


@pytest.mark.nightly
def test_writers_at_once(sql_spark: SparkSession, t: str) -> None:
    create(session(sql_spark), t)

    def write(writer: int) -> None:
        spark = session(sql_spark, IOS[writer % 2])
        for _ in range(3):
            spark.range(0, 10, 1, 2).selectExpr(f"'{writer}' AS name").writeTo(t).append()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert len(ids(sql_spark, t)) == 8 * 3 * 10


def test_what_a_write_takes(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    """An INSERT takes numbers and adds rows; a statement without new rows takes none."""
    spark = session(sql_spark)
    create(spark, t)
    table: Table = catalog.load_table(f"{ns}.t")
    for statement, expected in (
        (f"INSERT INTO {t} (name) SELECT 'a'", ["alter", "append"]),
        (f"UPDATE {t} SET name = 'b'", ["update"]),
        (f"EXPLAIN INSERT INTO {t} (name) SELECT 'a'", []),
        (f"DELETE FROM {t} WHERE name = 'b' AND n IS NULL", ["delete"]),
    ):
        before = table.refresh().version
        spark.sql(statement).collect()
        history = table.refresh().inspect.history().to_pylist()
        found = [row["operation"] for row in history if row["version"] > before]
        assert found == expected, statement
    assert table.state.properties["__identity.1"].endswith('"next":2}')
