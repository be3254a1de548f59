"""Writes to tables with the property ``schema_mode=live`` through Spark.

Needs a JVM because Spark compares the columns of a statement with the table's while it analyses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from pairwise import some
from sql.plans import is_native
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OLD = pytest.mark.skipif(pyspark.__version__ < "4.3", reason="Spark can't add columns for a write")

WIDER = "SELECT 5000000000 AS id, 'b' AS s, named_struct('x', 1, 'y', 2) AS n, 7 AS extra"


def warehouse(spark: SparkSession) -> str:
    return spark.conf.get("spark.sql.catalog.versioned.warehouse") or ""


def located(frame: DataFrame, t: str) -> Table:
    return Catalog(warehouse(frame.sparkSession)).load_table(t.removeprefix("versioned."))


def sql(statement: str) -> Callable[[DataFrame, str], Any]:
    def run(frame: DataFrame, t: str) -> Any:
        frame.createOrReplaceTempView("wider")
        return frame.sparkSession.sql(statement.format(t=t))

    return run


WRITES: dict[str, Callable[[DataFrame, str], Any]] = {
    "INSERT BY NAME": sql("INSERT INTO {t} BY NAME SELECT * FROM wider"),
    "INSERT OVERWRITE": sql("INSERT OVERWRITE {t} BY NAME SELECT * FROM wider"),
    "MERGE": sql("MERGE INTO {t} t USING wider w ON t.id = w.id WHEN NOT MATCHED THEN INSERT *"),
    "writeTo": lambda frame, t: frame.writeTo(t).append(),
    "overwritePartitions": lambda frame, t: frame.writeTo(t).overwritePartitions(),
    "saveAsTable": lambda frame, t: frame.write.mode("append").saveAsTable(t),
    "save by name": lambda frame, t: (
        frame.write.format("versioned")
        .mode("append")
        .option("warehouse", warehouse(frame.sparkSession))
        .save(t.removeprefix("versioned."))
    ),
    "save by path": lambda frame, t: (
        frame.write.format("versioned").mode("append").save(located(frame, t).location)
    ),
}
NATIVE = {"INSERT BY NAME", "INSERT OVERWRITE", "MERGE", "writeTo", "overwritePartitions"} | {
    "saveAsTable"
}


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def live(catalog: Catalog, ns: str) -> Table:
    columns = "id INT, s STRING, n STRUCT<x: BIGINT>"
    return catalog.create_table(f"{ns}.t", columns, properties={"schema_mode": "live"})


def refused(run: Callable[[], Any], *says: str) -> None:
    with pytest.raises(Exception) as caught:
        run()
    for text in says:
        assert text in str(caught.value)


@OLD
@pytest.mark.parametrize("how", some({"INSERT BY NAME", "MERGE", "save by path"}, WRITES))
def test_new_columns_come_with_the_rows(
    sql_spark: SparkSession, live: Table, t: str, how: str
) -> None:
    WRITES[how](sql_spark.sql(WIDER), t)
    found = live.refresh()
    assert found.version == 1  # one commit
    assert [column.id for column in found.schema.columns] == [1, 2, 3, 6]
    assert found.scan().to_arrow().to_pylist() == [
        {"id": 5_000_000_000, "s": "b", "n": {"x": 1, "y": 2}, "extra": 7}
    ]
    (path,) = found.state.segments.paths
    writer = pq.read_metadata(f"{live.location.removeprefix('file://')}/{path}").created_by
    assert ("parquet-mr" in writer) == (how in NATIVE)
    assert is_native(sql_spark.sql(f"SELECT extra, n.y FROM {t}"))


@OLD
def test_fewer_columns_change_nothing(sql_spark: SparkSession, live: Table, t: str) -> None:
    sql_spark.sql(f"INSERT INTO {t} BY NAME SELECT 's' AS s")
    sql_spark.sql("SELECT 1 AS id").writeTo(t).append()
    assert live.refresh().state.schema_version == 0
    assert sorted(map(str, live.scan(["id", "s"]).to_arrow().to_pylist())) == [
        "{'id': 1, 's': None}",
        "{'id': None, 's': 's'}",
    ]


@OLD
def test_what_a_live_table_refuses(sql_spark: SparkSession, live: Table, t: str) -> None:
    """Positions name no column; an option overrides the mode; EXPLAIN changes nothing."""
    frame = sql_spark.sql(WIDER)
    refused(lambda: sql("INSERT INTO {t} SELECT * FROM wider")(frame, t), "TOO_MANY_DATA_COLUMNS")
    refused(lambda: frame.write.insertInto(t), "TOO_MANY_DATA_COLUMNS")
    refused(
        lambda: frame.writeTo(t).option("mergeSchema", False).append(),
        "the table has no column n.y, extra",
    )
    by_path = frame.write.format("versioned").mode("append").option("mergeSchema", False)
    refused(lambda: by_path.save(live.location), "no column", "schema_mode = live")
    sql_spark.sql(f"EXPLAIN INSERT INTO {t} BY NAME SELECT 1 AS id, 2 AS b").collect()
    assert live.refresh().version == 0


@pytest.mark.thorough
@OLD
def test_a_keyed_table(sql_spark: SparkSession, catalog: Catalog, ns: str, t: str) -> None:
    mode = {"schema_mode": "live"}
    table = catalog.create_table(f"{ns}.t", "id INT, v INT", primary_key=["id"], properties=mode)
    sql_spark.sql("SELECT 1 AS id, 1 AS v, 'a' AS w").writeTo(t).append()
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 1 AS id, 'q' AS q) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    (
        sql_spark.sql("SELECT 1 AS id, 5 AS p")
        .write.format("versioned")
        .mode("append")
        .option("partialUpdate", True)
        .save(table.location)
    )
    assert table.refresh().scan().to_arrow().to_pylist() == [
        {"id": 1, "v": 1, "w": "a", "q": "q", "p": 5}
    ]


@pytest.mark.thorough
@OLD
@pytest.mark.parametrize("how", ["INSERT BY NAME", "writeTo", "save by path", "MERGE"])
def test_a_concurrent_column_is_no_conflict(
    sql_spark: SparkSession, live: Table, t: str, how: str
) -> None:
    """Another writer adds a column while the rows are computed; the column of both is there once."""
    location = live.location

    def meanwhile(id: int) -> int:
        table = Catalog.load_path(location)
        if "theirs" not in table.schema.names:
            table.append(pa.table({"id": [1], "theirs": [1], "both": [1]}))
        return id

    sql_spark.udf.register("meanwhile", meanwhile, "int")
    frame = sql_spark.sql(
        "SELECT meanwhile(id) AS id, CAST(2 AS BIGINT) AS both, 3 AS ours FROM VALUES (2) AS v(id)"
    )
    sql_spark.conf.set("spark.versioned.conflictRetries", 3)
    try:
        WRITES[how](frame, t)
    finally:
        sql_spark.conf.set("spark.versioned.conflictRetries", 0)
    found = live.refresh().scan(["id", "both", "theirs", "ours"]).to_arrow().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "both": 1, "theirs": 1, "ours": None},
        {"id": 2, "both": 2, "theirs": None, "ours": 3},
    ]
    assert len(live.schema.names) == 6


STRICT: dict[str, Callable[[DataFrame, str], Any]] = {
    **{
        name: WRITES[name]
        for name in ("INSERT BY NAME", "INSERT OVERWRITE", "writeTo", "saveAsTable")
    },
    "column list": sql("INSERT INTO {t} (id, s, n, extra) SELECT * FROM wider"),
}


@pytest.mark.parametrize("how", some({"INSERT BY NAME", "column list"}, STRICT))
def test_the_refusal_of_a_strict_table_has_the_statements_that_let_the_rows_in(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, how: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "id BIGINT, s STRING, n STRUCT<x: BIGINT>")
    wider = sql_spark.sql(WIDER)
    statements = ["ADD COLUMN extra INT", "ADD COLUMN n.y INT"]
    refused(lambda: STRICT[how](wider, t), "no column", "schema_mode = live", *statements)
    for statement in statements:
        sql_spark.sql(f"ALTER TABLE {t} {statement}")
    STRICT[how](wider, t)
    assert table.refresh().scan().to_arrow().to_pylist() == [
        {"id": 5_000_000_000, "s": "b", "n": {"x": 1, "y": 2}, "extra": 7}
    ]


def test_a_strict_table_takes_rows_with_fewer_columns_and_other_types(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    """Spark casts to the types of the table, and reports what is wrong with the query itself."""
    table = catalog.create_table(f"{ns}.t", "id INT, s STRING")
    sql_spark.sql(f"INSERT INTO {t} BY NAME SELECT CAST(1 AS BIGINT) AS ID")
    sql_spark.sql(f"INSERT INTO {t} (s) VALUES ('a')")
    sql_spark.sql(f"WITH q AS (SELECT 2 AS id) INSERT INTO {t} BY NAME SELECT * FROM q")
    assert table.refresh().scan().count() == 3
    refused(lambda: sql_spark.sql(f"INSERT INTO {t} BY NAME SELECT nope"), "UNRESOLVED_COLUMN")
    with_cte = f"WITH q AS (SELECT 2 AS b) INSERT INTO {t} BY NAME SELECT * FROM q"
    refused(lambda: sql_spark.sql(with_cte), "ADD COLUMN b INT")


@OLD
@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(WRITES))
def test_delta_s_setting_of_a_session(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str, name: str
) -> None:
    """Writes by name change the schema, as of a live table; by path, and through a pin, they do not."""
    spark = sql_spark.newSession()
    table = catalog.create_table(f"{ns}.t", "id INT, s STRING, n STRUCT<x: BIGINT>")
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    frame = spark.sql(WIDER)
    if name not in NATIVE:
        refused(lambda: WRITES[name](frame, t), "extra")
        return
    WRITES[name](frame, t)
    assert table.refresh().version == 1
    assert [
        tuple(row) for row in spark.sql(f"SELECT id, s, n.x, n.y, extra FROM {t}").collect()
    ] == [(5_000_000_000, "b", 1, 2, 7)]
    refused(lambda: spark.sql(f"INSERT INTO {t} VALUES (1, 'a', NULL, 2, 3)"), "column")
    refused(
        lambda: (
            frame.selectExpr("*", "1 AS more").writeTo(t).option("mergeSchema", "false").append()
        ),
        "more",
    )
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "false")
    wider = frame.selectExpr("*", "1 AS more")
    if name == "MERGE":  # INSERT * takes the columns that the table has
        WRITES[name](wider, t)
    else:
        refused(lambda: WRITES[name](wider, t), "more")
    assert spark.table(t).columns == ["id", "s", "n", "extra"]
