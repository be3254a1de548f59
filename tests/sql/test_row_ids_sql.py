"""Row IDs in SQL: read natively, and kept by UPDATE, DELETE and MERGE, by copies and by marks.

Needs a JVM because Spark plans the statements, and reads and writes the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sql.plans import is_native, plan_of
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Shown = dict[int, tuple[int, int, int]]
"""By n: the value, the row ID and the version that last wrote the row."""


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture(params=["mark", pytest.param("copy", marks=pytest.mark.nightly)])
def table(
    request: pytest.FixtureRequest, catalog: Catalog, ns: str, sql_spark: SparkSession
) -> Table:
    """Rows 1 to 3 of version 1, and 4 and 5 of version 2, whose values are ten times n."""
    sql_spark.sql(
        f"CREATE TABLE versioned.{ns}.t (n INT, v INT) USING versioned "
        f"TBLPROPERTIES (row_ids = 'true', row_changes = '{request.param}')"
    )
    for values in ("(1, 10), (2, 20), (3, 30)", "(4, 40), (5, 50)"):
        one = f"SELECT /*+ REPARTITION(1) */ * FROM VALUES {values}"
        sql_spark.sql(f"INSERT INTO versioned.{ns}.t {one}")
    return catalog.load_table(f"{ns}.t")


def shown(spark: SparkSession, table: Table, t: str) -> Shown:
    """What Spark shows natively, which is what Python shows."""
    frame = spark.sql(f"SELECT n, v, _row_id, _row_updated FROM {t}")
    rows = [tuple(row) for row in frame.collect()]
    assert is_native(frame), plan_of(frame)
    scan = table.refresh().scan(["n", "v", "_row_id", "_row_updated"])
    read = scan.to_arrow().to_pydict()
    assert sorted(zip(*read.values(), strict=True)) == sorted(rows)
    return {n: (v, row_id, updated) for n, v, row_id, updated in rows}


def written(spark: SparkSession, statement: str) -> str:
    """The plan of a statement that Spark reads and writes natively, and that is run."""
    plan: str = spark.sql(f"EXPLAIN {statement}").collect()[0][0]
    assert "VersionedWrite" in plan, plan
    assert "python={" not in plan, plan
    assert "native={" in plan, plan
    spark.sql(statement)
    return plan


@pytest.mark.thorough
def test_statements_keep_the_ids_of_rows(sql_spark: SparkSession, table: Table, t: str) -> None:
    before = {1: (10, 0, 1), 2: (20, 1, 1), 3: (30, 2, 1), 4: (40, 3, 2), 5: (50, 4, 2)}
    assert shown(sql_spark, table, t) == before

    written(sql_spark, f"UPDATE {t} SET v = v + 1 WHERE n IN (2, 4)")
    updated = before | {2: (21, 1, 3), 4: (41, 3, 3)}
    assert shown(sql_spark, table, t) == updated

    sql_spark.sql(f"DELETE FROM {t} WHERE n % 2 = 1 AND v < 20")
    del updated[1]
    assert shown(sql_spark, table, t) == updated

    written(
        sql_spark,
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (2, 5), (3, 0), (9, 90) AS s(k, w)) ON n = k "
        "WHEN MATCHED AND w = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = w "
        "WHEN NOT MATCHED THEN INSERT (n, v) VALUES (k, w)",
    )
    merged = shown(sql_spark, table, t)
    new_id = merged[9][1]
    assert new_id not in {0, 1, 2, 3, 4}
    assert merged == {2: (5, 1, 5), 4: (41, 3, 3), 5: (50, 4, 2), 9: (90, new_id, 5)}

    sql_spark.sql(f"CALL versioned.system.compact(table => '{t.partition('.')[2]}')")
    table.refresh().maintenance.compact(strategy="full")
    assert shown(sql_spark, table, t) == merged
    written(sql_spark, f"UPDATE {t} SET v = 0 WHERE n >= 5")
    last = table.refresh().version
    assert shown(sql_spark, table, t) == merged | {5: (0, 4, last), 9: (0, new_id, last)}

    picked = sql_spark.sql(f"SELECT n FROM {t} WHERE _row_id = {new_id}")
    assert [tuple(row) for row in picked.collect()] == [(9,)]
    assert is_native(picked)


@pytest.mark.nightly
def test_changes_pair_the_images_of_a_row(sql_spark: SparkSession, table: Table, t: str) -> None:
    sql_spark.sql(f"UPDATE {t} SET v = 7 WHERE n IN (1, 5)")
    sql_spark.sql(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (2, 8), (6, 60) AS s(k, w)) ON n = k "
        "WHEN MATCHED THEN UPDATE SET v = w WHEN NOT MATCHED THEN INSERT (n, v) VALUES (k, w)"
    )
    expected = [
        *((3, "update_postimage", 1, 7), (3, "update_postimage", 5, 7)),
        *((3, "update_preimage", 1, 10), (3, "update_preimage", 5, 50)),
        *((4, "insert", 6, 60), (4, "update_postimage", 2, 8), (4, "update_preimage", 2, 20)),
    ]
    columns = "_commit_version, _change_type, n, v"
    changes = f"SELECT {columns} FROM {t} CHANGES FROM VERSION 3 WITH (computeUpdates = 'true')"
    assert sorted(tuple(row) for row in sql_spark.sql(changes).collect()) == expected
    filtered = sql_spark.sql(f"{changes} WHERE _change_type = 'update_preimage' AND v > 10")
    assert sorted(tuple(row) for row in filtered.collect()) == [expected[3], expected[6]]
    feed = table.refresh().changes(3).to_arrow().select(columns.split(", ")).to_pydict()
    assert sorted(zip(*feed.values(), strict=True)) == expected


@pytest.mark.nightly
def test_the_data_source_reads_ids(sql_spark: SparkSession, table: Table, t: str) -> None:
    sql_spark.sql(f"UPDATE {t} SET v = 7 WHERE n = 1")
    reader = sql_spark.read.format("versioned").schema("n INT, _row_id BIGINT, _row_updated BIGINT")
    for io in ("native", "python"):
        rows = reader.option("io", io).load(table.location).collect()
        assert sorted(tuple(row) for row in rows) == [
            *((1, 0, 3), (2, 1, 1), (3, 2, 1), (4, 3, 2), (5, 4, 2)),
        ]


@pytest.mark.nightly
def test_a_condition_can_name_an_id_in_a_subquery_only(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    with pytest.raises(Exception, match="can't choose them by metadata columns"):
        sql_spark.sql(f"UPDATE {t} SET v = 0 WHERE _row_id = 1")
    sql_spark.sql(f"UPDATE {t} SET v = 0 WHERE n IN (SELECT n FROM {t} WHERE _row_id = 1)")
    assert shown(sql_spark, table, t)[2] == (0, 1, 3)


@pytest.mark.nightly
def test_rows_that_python_writes_keep_their_ids(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """With the setting that lets Python read and write all rows."""
    sql_spark.conf.set("spark.versioned.io", "python")
    try:
        sql_spark.sql(f"UPDATE {t} SET v = 7 WHERE n = 3")
        sql_spark.sql(
            f"MERGE INTO {t} USING (SELECT 1 AS k) ON n = k WHEN MATCHED THEN UPDATE SET v = 8 "
            "WHEN NOT MATCHED BY SOURCE AND n = 5 THEN DELETE"
        )
    finally:
        sql_spark.conf.set("spark.versioned.io", "native")
    assert shown(sql_spark, table, t) == {1: (8, 0, 4), 2: (20, 1, 1), 3: (7, 2, 3), 4: (40, 3, 2)}


@pytest.mark.nightly
def test_a_pinned_job_keeps_ids(sql_spark: SparkSession, table: Table, t: str) -> None:
    """It sees an earlier schema, so that columns that it does not see are kept beside the IDs."""
    table.pin_schema("old")
    table.alter().add_column("s", "STRING", default="x").commit()
    six = {"n": pa.array([6], pa.int32()), "v": pa.array([60], pa.int32()), "s": ["y"]}
    table.append(pa.table(six))
    pinned = "spark.sql.catalog.versioned.schema_label"
    sql_spark.conf.set(pinned, "old")
    try:
        assert sql_spark.table(t).columns == ["n", "v"]
        sql_spark.sql(f"UPDATE {t} SET v = 1 WHERE n = 6")
    finally:
        sql_spark.conf.unset(pinned)
    columns = ["v", "s", "_row_id", "_row_updated"]
    scan = table.refresh().scan(columns, filters=[("n", "=", 6)])
    assert scan.to_arrow().to_pylist() == [
        {"v": 1, "s": "y", "_row_id": 5, "_row_updated": table.version}
    ]


@pytest.mark.nightly
def test_a_table_without_ids_has_no_such_columns(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    catalog.create_table(f"{ns}.plain", "n INT")
    with pytest.raises(Exception, match="_row_id"):
        sql_spark.sql(f"SELECT _row_id FROM versioned.{ns}.plain")
    sql_spark.sql(f"INSERT INTO versioned.{ns}.plain VALUES (1)")
    sql_spark.sql(f"ALTER TABLE versioned.{ns}.plain SET TBLPROPERTIES (row_ids = 'true')")
    assert sql_spark.sql(f"SELECT _row_id FROM versioned.{ns}.plain").collect() == [(0,)]
    with pytest.raises(Exception, match="can't be unset"):
        sql_spark.sql(f"ALTER TABLE versioned.{ns}.plain UNSET TBLPROPERTIES (row_ids)")
