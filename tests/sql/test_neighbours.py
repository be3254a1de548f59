"""Statements of Iceberg and Delta work as they are written there, or say what to write instead.

Needs a JVM for those that run, because Spark parses the calls that they become.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_versioned.sql.statement_text import Said
from pyspark_versioned.sql.statements import parse
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = ("prod", "db", "sample")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "ALTER TABLE prod.db.sample ADD PARTITION FIELD bucket(16, id);",
            Said(T, "alter_partitioning", {"change": "'ADD PARTITION FIELD bucket(16, id)'"}),
        ),
        (
            "alter table prod.db.sample\n create tag `historical-tag`",
            Said(T, "create_tag", {"tag": "'historical-tag'", "mode": "'create'"}),
        ),
        (
            "ALTER TABLE prod.db.sample CREATE TAG IF NOT EXISTS `historical-tag`",
            Said(T, "create_tag", {"tag": "'historical-tag'", "mode": "'create if not exists'"}),
        ),
        (
            "ALTER TABLE prod.db.sample CREATE OR REPLACE TAG x AS OF VERSION 1234",
            Said(T, "create_tag", {"tag": "'x'", "mode": "'create or replace'", "version": "1234"}),
        ),
        (
            "ALTER TABLE prod.db.sample REPLACE TAG x AS OF VERSION 4567",
            Said(T, "create_tag", {"tag": "'x'", "mode": "'replace'", "version": "4567"}),
        ),
        (
            "ALTER TABLE prod.db.sample CREATE BRANCH b AS OF VERSION 3 RETAIN 7 DAYS "
            "WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS",
            Said(
                T,
                "create_branch",
                {
                    **{"branch": "'b'", "mode": "'create'", "version": "3"},
                    "keep_hours": "CAST(7 * 24 AS DOUBLE)",
                },
            ),
        ),
        (
            "ALTER TABLE prod.db.sample REPLACE TAG x AS OF VERSION 3 RETAIN 7 DAYS",
            Said(
                T,
                "create_tag",
                {
                    **{"tag": "'x'", "mode": "'replace'", "version": "3"},
                    "keep_hours": "CAST(7 * 24 AS DOUBLE)",
                },
            ),
        ),
        (
            "ALTER TABLE prod.db.sample CREATE OR REPLACE BRANCH `b-b` RETAIN 90 MINUTES;",
            Said(
                T,
                "create_branch",
                {
                    **{"branch": "'b-b'", "mode": "'create or replace'"},
                    "keep_hours": "CAST(90 * 1 / 60 AS DOUBLE)",
                },
            ),
        ),
        (
            "ALTER TABLE prod.db.sample DROP BRANCH IF EXISTS b",
            Said(T, "drop_branch", {"branch": "'b'", "if_exists": "true"}),
        ),
        ("ALTER TABLE prod.db.sample DROP TAG `a'b`", Said(T, "drop_tag", {"tag": "'a\\'b'"})),
        (
            "ALTER TABLE prod.db.sample DROP TAG IF EXISTS x",
            Said(T, "drop_tag", {"tag": "'x'", "if_exists": "true"}),
        ),
        (
            "ALTER TABLE prod.db.sample WRITE ORDERED BY category ASC, `my id` DESC NULLS LAST",
            Said(
                T,
                "set_write_order",
                {"order": "'category, `my id` DESC NULLS LAST'", "distribution": "'range'"},
            ),
        ),
        (
            "ALTER TABLE prod.db.sample WRITE LOCALLY ORDERED BY category, id",
            Said(T, "set_write_order", {"order": "'category, id'", "distribution": "'none'"}),
        ),
        (
            "ALTER TABLE prod.db.sample WRITE DISTRIBUTED BY PARTITION",
            Said(T, "set_write_order", {"distribution": "'hash'"}),
        ),
        (
            "ALTER TABLE prod.db.sample WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id",
            Said(T, "set_write_order", {"order": "'id'", "distribution": "'hash'"}),
        ),
        (
            "ALTER TABLE prod.db.sample WRITE UNORDERED",
            Said(T, "set_write_order", {"distribution": "'none'"}),
        ),
        (
            "ALTER TABLE prod.db.sample SET IDENTIFIER FIELDS `a b`.c, id",
            Said(
                T,
                "alter_identifier_fields",
                {"action": "'set'", "columns": "'`a b`.c, id'"},
            ),
        ),
        (
            "ALTER TABLE prod.db.sample DROP IDENTIFIER FIELDS id;",
            Said(T, "alter_identifier_fields", {"action": "'drop'", "columns": "'id'"}),
        ),
        ("OPTIMIZE events", Said(("events",), "compact")),
        ("OPTIMIZE '/a/b c'", Said(("delta", "/a/b c"), "compact")),
        ('DESC DETAIL "/a/b/"', Said(("delta", "/a/b/"), "describe_detail")),
        (
            "DESCRIBE HISTORY '/a' LIMIT 3",
            Said(("delta", "/a"), "describe_history", {"newest": "3"}),
        ),
        (
            "VACUUM '/a' DRY RUN",
            Said(("delta", "/a"), "vacuum", {"expire": "true", "dry_run": "true"}),
        ),
        (
            "OPTIMIZE events WHERE date = '2021-11-18' ZORDER BY (eventType, `a b`)",
            Said(
                ("events",),
                "compact",
                {"where": "'date = \\'2021-11-18\\''", "zorder": "'eventType, `a b`'"},
            ),
        ),
        ("OPTIMIZE t FULL;", Said(("t",), "compact", {"strategy": "'full'"})),
        ("VACUUM t", Said(("t",), "vacuum", {"expire": "true", "dry_run": "false"})),
        (
            "VACUUM t FULL RETAIN 0.5 HOURS DRY RUN",
            Said(
                ("t",),
                "vacuum",
                {"expire": "true", "dry_run": "true", "retention_hours": "0.5D"},
            ),
        ),
        (
            "VACUUM t LITE RETAIN 100 HOURS",
            Said(
                ("t",),
                "vacuum",
                {"expire": "true", "dry_run": "false", "retention_hours": "100.0D"},
            ),
        ),
        (
            "ALTER TABLE t ALTER COLUMN `a b`.c TYPE double COMMENT 'it''s'",
            Said(
                ("t",),
                "alter_column",
                {"change": "'ALTER COLUMN `a b`.c TYPE double COMMENT \\'it\\'\\'s\\''"},
            ),
        ),
        (
            "ALTER TABLE t ALTER a a BIGINT FIRST;",
            Said(("t",), "alter_column", {"change": "'ALTER a a BIGINT FIRST'"}),
        ),
        ("-- nightly\n/* dbt */ DESCRIBE HISTORY a.t", Said(("a", "t"), "describe_history")),
        ("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN", Said(("t",), "analyze", {"columns": "''"})),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", Said(("t",), "analyze")),
        (
            "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS `a b`, c",
            Said(("t",), "analyze", {"columns": "'`a b`, c'"}),
        ),
        (
            "CREATE TABLE a.t SHALLOW CLONE b.`s t` VERSION AS OF 3;",
            Said(
                ("a", "t"),
                "clone",
                {
                    **{"source_table": "'b.`s t`'", "shallow": "true", "mode": "'create'"},
                    "version": "'3'",
                },
            ),
        ),
        (
            "create or replace table t clone s version as of 'tag' tblproperties (a.b = 'c', 'd' 5)",
            Said(
                ("t",),
                "clone",
                {
                    **{"source_table": "'s'", "shallow": "false", "mode": "'create or replace'"},
                    **{"version": "'tag'", "properties": "map('a.b', 'c', 'd', '5')"},
                },
            ),
        ),
        (
            "CREATE TABLE IF NOT EXISTS t DEEP CLONE s TIMESTAMP AS OF '2026-01-31'",
            Said(
                ("t",),
                "clone",
                {
                    "source_table": "'s'",
                    **{"shallow": "false", "mode": "'create if not exists'"},
                    "timestamp": "TIMESTAMP'2026-01-31'",
                },
            ),
        ),
        (
            "CREATE TABLE t SHALLOW CLONE s LOCATION '/a b/t'",
            Said(
                ("t",),
                "clone",
                {
                    **{"source_table": "'s'", "shallow": "true", "mode": "'create'"},
                    "location": "'/a b/t'",
                },
            ),
        ),
        ("DESC HISTORY t LIMIT 1", Said(("t",), "describe_history", {"newest": "1"})),
        ("DESCRIBE DETAIL t", Said(("t",), "describe_detail")),
        (
            "RESTORE TABLE t TO VERSION AS OF 3",
            Said(("t",), "rollback_to_version", {"version": "3"}),
        ),
        (
            "RESTORE t TIMESTAMP AS OF '2026-01-31'",
            Said(("t",), "rollback_to_timestamp", {"timestamp": "TIMESTAMP'2026-01-31'"}),
        ),
        (
            "RESTORE t TO TIMESTAMP AS OF TIMESTAMP '2026-01-31 10:00:00'",
            Said(("t",), "rollback_to_timestamp", {"timestamp": "TIMESTAMP'2026-01-31 10:00:00'"}),
        ),
        (
            "REORG TABLE t WHERE date >= current_date() - INTERVAL '1' DAY APPLY (PURGE);",
            Said(
                ("t",),
                "compact",
                {
                    "strategy": "'full'",
                    "where": "'date >= current_date() - INTERVAL \\'1\\' DAY'",
                },
            ),
        ),
    ],
)
def test_what_is_said(statement: str, expected: Said) -> None:
    assert parse(statement) == expected


@pytest.mark.parametrize(
    "statement",
    [
        *("SELECT 1", "VACUUM", "OPTIMIZE 5", "DESCRIBE t", "DESCRIBE history a b"),
        *("ALTER TABLE t ADD COLUMN x INT COMMENT 'create tag y'", "RESTORE t", "OPTIMIZE t WHERE"),
        *("ALTER TABLE t CREATE TAG", "ALTER TABLE t WRITE", "REORG TABLE t APPLY (X)"),
        *(
            "CREATE TABLE t AS SELECT 'a CLONE b'",
            "CREATE TABLE t (clone INT)",
            "CREATE TABLE t LIKE s",
            "CREATE OR REPLACE TABLE IF NOT EXISTS t CLONE s",
            "CREATE TABLE t CLONE s TBLPROPERTIES ('a' = 'b', 'a' = 'c')",
        ),
        *("ALTER TABLE t ALTER COLUMN a SET DEFAULT 5", "ALTER TABLE t ALTER COLUMN a b"),
        *("ALTER TABLE t ALTER COLUMN a TYPE INT", "VACUUM t RETAIN '0, force => true' HOURS"),
        *("ALTER TABLE t CREATE BRANCH b RETAIN DAYS", "ALTER TABLE t REPLACE BRANCH b"),
        *("ALTER TABLE t REPLACE TAG IF EXISTS x AS OF VERSION 5", "VACUUM t RETAIN abc HOURS"),
        *(
            "ALTER TABLE t CREATE OR REPLACE TAG IF EXISTS x",
            "ALTER TABLE t DROP PARTITION (tag = 1)",
        ),
    ],
)
def test_spark_parses_the_rest(statement: str) -> None:
    assert parse(statement) is None


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("RESTORE t TIMESTAMP AS OF date_sub(current_date(), 1)", "write it as a text"),
        ("ANALYZE TABLE t PARTITION (day = '1970-01-01') COMPUTE STATISTICS", "FOR ALL COLUMNS"),
        ("GENERATE symlink_format_manifest FOR TABLE t", "system.publish"),
        ("CREATE TABLE t SHALLOW CLONE other TIMESTAMP AS OF current_timestamp()", "as a text"),
        ("VACUUM t USING INVENTORY (SELECT * FROM x)", "leave it out"),
        (
            "REORG TABLE t APPLY (UPGRADE UNIFORM(ICEBERG_COMPAT_VERSION=2))",
            "'publish' = 'iceberg'",
        ),
        ("ALTER TABLE t DROP FEATURE 'typeWidening' TRUNCATE HISTORY", "leave it out"),
    ],
)
@pytest.mark.thorough
def test_what_is_refused(
    sql_spark: SparkSession, table: Table, ns: str, statement: str, instead: str
) -> None:
    named = f"versioned.{ns}.t"
    with pytest.raises(Exception, match=rf"{ns}\.t: .* not supported: .*{instead}"):
        sql_spark.sql(statement.replace(" t", f" {named}", 1).replace(f"{named}ag", " tag"))


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    """Two versions of rows: 1 and 2, then 3."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, day DATE", partitioned_by=["day"])
    for ids in ([1, 2], [3]):
        days = pa.array([0] * len(ids), pa.date32())
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "day": days}))
    return table


def rows_of(spark: SparkSession, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan(["id"]).to_arrow()["id"].to_pylist())


@pytest.mark.thorough
@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.nightly)])
def test_nulls_stand_where_the_write_order_says(
    sql_spark: SparkSession, catalog: Catalog, ns: str, io: str
) -> None:
    t, session = f"versioned.{ns}.o", sql_spark.newSession()
    session.conf.set("spark.versioned.io", io)
    session.sql(f"CREATE TABLE {t} (a STRING, n INT)")
    session.sql(f"ALTER TABLE {t} WRITE ORDERED BY a ASC NULLS LAST, n DESC NULLS FIRST")
    values = "('b', 1), (NULL, 2), ('a', NULL), ('b', NULL), (NULL, NULL), ('b', 2)"
    session.sql(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    expected = [("a", None), ("b", None), ("b", 2), ("b", 1), (None, None), (None, 2)]
    table = catalog.load_table(f"{ns}.o")

    def stored() -> list[tuple[Any, Any]]:
        paths = table.refresh().inspect.segments()["path"].to_pylist()
        return [
            (row["a"], row["n"])
            for path in paths
            for row in pq.read_table(Path(table.location) / path).to_pylist()
        ]

    assert stored() == expected
    session.sql(f"INSERT INTO {t} VALUES (NULL, 7), ('b', 1)")
    session.sql(f"OPTIMIZE {t} FULL")
    assert stored() == [*expected[:4], ("b", 1), (None, None), (None, 7), (None, 2)]
    assert rows_of(session, f"SELECT a, n FROM {t} ORDER BY a NULLS LAST, n DESC LIMIT 1") == [
        ("a", None)
    ]


def test_a_column_changes_in_several_ways_at_once(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    t = f"versioned.{ns}.c"
    sql_spark.sql(f"CREATE TABLE {t} (id INT, m FLOAT)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 0.5)")
    table = catalog.load_table(f"{ns}.c")
    sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN m TYPE double COMMENT 'bytes per second'")
    assert table.refresh().version == 2
    assert str(table.schema) == "id INT, m DOUBLE COMMENT 'bytes per second'"
    sql_spark.sql(f"ALTER TABLE {t} ALTER id id BIGINT COMMENT 'key' AFTER m")
    assert str(table.refresh().schema) == (
        "m DOUBLE COMMENT 'bytes per second', id BIGINT COMMENT 'key'"
    )
    sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN id number BIGINT FIRST")
    assert rows_of(sql_spark, f"SELECT * FROM {t}") == [(1, 0.5)]
    assert sql_spark.table(t).columns == ["number", "m"]
    with pytest.raises(Exception, match="m"):
        sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN m TYPE INT COMMENT 'x'")
    assert sql_spark.table(t).schema["m"].metadata["comment"] == "bytes per second"


def test_entries_and_delete_files(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    entries = f"SELECT snapshot_id, sequence_number, record_count FROM {t}.entries ORDER BY 1"
    assert rows_of(sql_spark, entries) == [(1, 1, 2), (2, 2, 1)]
    assert rows_of(sql_spark, f"SELECT * FROM {t}.delete_files") == []
    table.alter().set_property("row_changes", "mark").commit()
    table.delete([("id", "=", 1)])
    (marked,) = rows_of(sql_spark, f"SELECT * FROM {t}.delete_files")
    files = [path for (path,) in rows_of(sql_spark, f"SELECT file_path FROM {t}.entries")]
    assert marked[:1] == (1,)
    assert marked[3] == 1
    assert marked[4] in files
    log = rows_of(
        sql_spark, f"SELECT latest_snapshot_id, file FROM {t}.metadata_log_entries ORDER BY 1"
    )
    assert [version for version, _ in log] == [0, 1, 2, 3, 4]
    assert all(Path(file).exists() for _, file in log)
    assert rows_of(sql_spark, f"SELECT count(*) FROM {t}.entries VERSION AS OF 1") == [(1,)]


def test_a_call_finds_its_table_in_the_current_namespace(
    sql_spark: SparkSession, table: Table, ns: str
) -> None:
    sql_spark.sql(f"USE versioned.{ns}")
    try:
        assert len(rows_of(sql_spark, "CALL versioned.system.ancestors_of('t')")) == 3
        with pytest.raises(Exception, match=f"no table {ns}.nope"):
            sql_spark.sql("CALL versioned.system.ancestors_of('nope')")
        with pytest.raises(Exception, match="no table t "):  # a whole name, of no table
            sql_spark.sql("RESTORE TABLE versioned.t TO VERSION AS OF 1")
    finally:
        sql_spark.sql("USE spark_catalog")
    with pytest.raises(Exception, match="no table t "):
        sql_spark.sql("CALL versioned.system.ancestors_of('t')")


@pytest.mark.thorough
def test_dropping_a_constraint_that_is_not_there(
    sql_spark: SparkSession, table: Table, ns: str
) -> None:
    t = f"versioned.{ns}.t"
    sql_spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT IF EXISTS c")
    with pytest.raises(Exception, match="there is no constraint c"):
        sql_spark.sql(f"ALTER TABLE {t} DROP CONSTRAINT c")
    assert table.refresh().version == 2


def test_restore(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    assert rows_of(sql_spark, f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(2, 3, [])]
    assert ids(table) == [1, 2]
    time = table.as_of(2).state.time.strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
    sql_spark.sql(f"RESTORE TABLE {t} TO TIMESTAMP AS OF '{time}'")
    assert ids(table) == [1, 2, 3]
    with pytest.raises(Exception, match="did not exist yet"):
        sql_spark.sql(f"RESTORE {t} TO TIMESTAMP AS OF '1990-01-01'")


def test_tags(sql_spark: SparkSession, table: Table, ns: str) -> None:
    alter = f"ALTER TABLE versioned.{ns}.t"
    assert rows_of(sql_spark, f"{alter} CREATE TAG `a-tag` AS OF VERSION 1") == [("a-tag", 1, 3)]
    read = f"SELECT count(*) FROM versioned.{ns}.t VERSION AS OF 'a-tag'"
    assert rows_of(sql_spark, read) == [(2,)]
    with pytest.raises(Exception, match="CREATE OR REPLACE TAG"):
        sql_spark.sql(f"{alter} CREATE TAG `a-tag`")
    assert rows_of(sql_spark, f"{alter} CREATE TAG IF NOT EXISTS `a-tag`") == [("a-tag", 1, 3)]
    sql_spark.sql(f"{alter} REPLACE TAG `a-tag` AS OF VERSION 2")
    assert rows_of(sql_spark, read) == [(3,)]
    with pytest.raises(Exception, match="there is no tag other; write CREATE TAG"):
        sql_spark.sql(f"{alter} REPLACE TAG other AS OF VERSION 2")
    sql_spark.sql(f"{alter} DROP TAG `a-tag`")
    sql_spark.sql(f"{alter} DROP TAG IF EXISTS `a-tag`")
    with pytest.raises(Exception, match="a-tag"):
        sql_spark.sql(f"{alter} DROP TAG `a-tag`")


@pytest.mark.thorough
def test_identifier_fields(
    sql_spark: SparkSession, table: Table, catalog: Catalog, ns: str
) -> None:
    t = f"versioned.{ns}.t"
    with pytest.raises(Exception, match="SET NOT NULL"):
        sql_spark.sql(f"ALTER TABLE {t} SET IDENTIFIER FIELDS id")
    with pytest.raises(Exception, match="id is no identifier field; these are: none"):
        sql_spark.sql(f"ALTER TABLE {t} DROP IDENTIFIER FIELDS id")
    for column in ("id", "day"):
        sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN {column} SET NOT NULL")
    sql_spark.sql(f"ALTER TABLE {t} SET IDENTIFIER FIELDS day, ID")
    (created,) = sql_spark.sql(f"SHOW CREATE TABLE {t}").collect()
    assert "'identifier_fields' = 'day, id'" in created[0]
    sql_spark.sql(created[0].replace(f"{ns}.t", f"{ns}.t2"))
    assert catalog.load_table(f"{ns}.t2").properties["identifier_fields"] == "day, id"
    sql_spark.sql(f"ALTER TABLE {t} DROP IDENTIFIER FIELDS day")
    assert table.refresh().properties["identifier_fields"] == "id"
    sql_spark.sql(f"ALTER TABLE {t} DROP IDENTIFIER FIELDS id")
    assert "identifier_fields" not in table.refresh().properties
    k = f"versioned.{ns}.k"
    sql_spark.sql(f"CREATE TABLE {k} (id BIGINT NOT NULL, n INT NOT NULL, PRIMARY KEY (id))")
    sql_spark.sql(f"ALTER TABLE {k} SET IDENTIFIER FIELDS id")
    for change, message in (
        ("SET IDENTIFIER FIELDS n", "key"),
        ("DROP IDENTIFIER FIELDS id", "key"),
    ):
        with pytest.raises(Exception, match=f"primary {message}.*create another table"):
            sql_spark.sql(f"ALTER TABLE {k} {change}")


@pytest.mark.thorough
def test_the_order_of_writes(sql_spark: SparkSession, table: Table, ns: str) -> None:
    alter = f"ALTER TABLE versioned.{ns}.t"
    for clause, expected in (
        ("WRITE ORDERED BY id DESC", {"distribution_mode": "range", "sort_by": "id DESC"}),
        ("WRITE DISTRIBUTED BY PARTITION", {"distribution_mode": "hash"}),
        ("WRITE LOCALLY ORDERED BY day, id", {"distribution_mode": "none", "sort_by": "day, id"}),
        ("WRITE UNORDERED", {"distribution_mode": "none"}),
    ):
        sql_spark.sql(f"{alter} {clause}")
        shown = rows_of(sql_spark, f"SHOW TBLPROPERTIES versioned.{ns}.t")
        assert {key: text for key, text in shown if key in ("sort_by", "distribution_mode")} == (
            expected
        )


@pytest.mark.thorough
def test_history_and_detail(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    history = sql_spark.sql(f"DESCRIBE HISTORY {t}")
    assert [(row.version, row.operation) for row in history.collect()] == [
        (2, "append"),
        (1, "append"),
        (0, "create"),
    ]
    (newest,) = sql_spark.sql(f"DESCRIBE HISTORY {t} LIMIT 1").collect()
    assert (newest.version, newest.rowsAdded, newest.filesAdded, newest.readVersion) == (2, 1, 1, 1)
    assert newest.timestamp.timestamp() == pytest.approx(table.state.time.timestamp())
    (detail,) = sql_spark.sql(f"DESCRIBE DETAIL {t}").collect()
    assert (detail.format, detail.numFiles, detail.numRows) == ("versioned", 2, 3)
    assert (detail.partitionColumns, detail.clusteringColumns) == (["day"], [])
    assert detail.location == table.location
    table.pin_schema("job")
    one = sql_spark.table(t).limit(1)
    one.writeTo(t).option("schemaVersion", "job").append()
    table.refresh().rollback(2)
    newest = sql_spark.sql(f"DESCRIBE HISTORY {t} LIMIT 3").collect()
    assert [row.operationParameters for row in newest[:2]] == [["to=2"], ["seen_as=job"]]
    assert newest[2].operationParameters == table.refresh().inspect.history(3)["changes"][0].as_py()


@pytest.mark.thorough
def test_optimize_vacuum_and_reorg(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    (done,) = sql_spark.sql(f"OPTIMIZE {t} WHERE day = '1970-01-01'").collect()
    assert (done.removed_segments, done.added_segments) == (2, 1)
    sql_spark.sql(f"OPTIMIZE {t} ZORDER BY (id)")
    (done,) = sql_spark.sql(f"REORG TABLE {t} APPLY (PURGE)").collect()
    assert (done.removed_segments, done.added_segments) == (1, 1)
    assert ids(table) == [1, 2, 3]
    assert rows_of(sql_spark, f"VACUUM {t} RETAIN 168 HOURS DRY RUN") == []
    with pytest.raises(Exception, match="shorter than 1:00:00"):
        sql_spark.sql(f"VACUUM {t} RETAIN 0 HOURS")
    sql_spark.sql(f"VACUUM {t}")
    assert ids(table) == [1, 2, 3]
    call = f"CALL versioned.system.vacuum('{ns}.t', retention_hours => 0, dry_run => false"
    gone = rows_of(sql_spark, f"{call}, force => true, expire => true)")
    assert len(gone) >= 4
    with pytest.raises(Exception, match="version 1 is expired"):
        sql_spark.sql(f"SELECT * FROM {t} VERSION AS OF 1").collect()
    assert ids(table) == [1, 2, 3]


def test_the_name_of_a_tag_after_that_of_a_table(
    sql_spark: SparkSession, table: Table, ns: str
) -> None:
    t = f"versioned.{ns}.t"
    table.set_tag("a-tag", 1)
    read = f"SELECT id FROM {t}.`tag_a-tag` ORDER BY id"
    assert rows_of(sql_spark, read) == [(1,), (2,)]
    assert [row.id for row in sql_spark.table(f"{t}.`tag_a-tag`").orderBy("id").collect()] == [1, 2]
    for statement, message in (
        (f"INSERT INTO {t}.`tag_a-tag` VALUES (9, NULL)", "older version, which can't be changed"),
        (f"DELETE FROM {t}.`tag_a-tag` WHERE id = 1", "older version, which can't be changed"),
        (f"INSERT WITH SCHEMA EVOLUTION INTO {t}.`tag_a-tag` VALUES (9, NULL)", "can't be changed"),
        (f"SELECT * FROM {t}.`tag_a-tag` VERSION AS OF 1", "leave out VERSION AS OF"),
        (f"SELECT * FROM {t}.tag_other", "other"),
        (f"SELECT * FROM {t}.branch_audit", "has no branch 'audit'"),
        (f"INSERT INTO {t}.branch_audit VALUES (9, NULL)", "has no branch 'audit'"),
        (f"SELECT * FROM versioned.{ns}.x.tag_other", "cannot be found"),
    ):
        with pytest.raises(Exception, match=message):
            sql_spark.sql(statement).collect()
    assert ids(table) == [1, 2, 3]


@pytest.mark.thorough
def test_metadata_tables_of_iceberg(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    table.set_tag("x", 1)
    refs = f"SELECT name, type, snapshot_id FROM {t}.refs ORDER BY name"
    assert rows_of(sql_spark, refs) == [
        ("main", "BRANCH", 3),
        ("x", "TAG", 1),
    ]
    paths = table.state.segments.core["path"].to_pylist()
    for name in ("files", "data_files"):
        query = f"SELECT file_path, file_format, record_count, partition FROM {t}.{name}"
        assert rows_of(sql_spark, f"{query} ORDER BY record_count") == [
            (f"{table.location}/{paths[1]}", "PARQUET", 1, ["0"]),
            (f"{table.location}/{paths[0]}", "PARQUET", 2, ["0"]),
        ]
    assert rows_of(sql_spark, f"SELECT count(*) FROM {t}.files VERSION AS OF 1") == [(1,)]
    assert rows_of(sql_spark, f"SELECT label FROM {t}.schema_pins") == []


@pytest.mark.thorough
def test_the_schema_of_a_pin_at_a_tag(sql_spark: SparkSession, table: Table, ns: str) -> None:
    table.set_tag("x")
    table.alter_sql("ALTER TABLE t RENAME COLUMN id TO renamed").commit()
    table.set_tag("y")
    read = sql_spark.read.option("schemaVersion", "0")
    assert read.table(f"versioned.{ns}.t.tag_y").columns == ["id", "day"]
    with pytest.raises(Exception, match="nonsense"):
        sql_spark.read.option("schemaVersion", "nonsense").table(f"versioned.{ns}.t.tag_y")


@pytest.mark.thorough
def test_statements_that_spark_parses_too(
    sql_spark: SparkSession, catalog: Catalog, table: Table, ns: str
) -> None:
    """A column of a table that is named history, and comments before a statement."""
    catalog.create_table(f"{ns}.history", "ts TIMESTAMP")
    before = sql_spark.catalog.currentCatalog(), sql_spark.catalog.currentDatabase()
    try:
        sql_spark.sql(f"USE versioned.{ns}")
        shown = rows_of(sql_spark, "DESCRIBE history ts")
        assert ("col_name", "ts") in shown
        assert (
            rows_of(sql_spark, f'/* {{"app": "dbt"}} */ DESCRIBE HISTORY {ns}.t LIMIT 1')[0][0] == 2
        )
        assert rows_of(sql_spark, f"-- nightly\nDESCRIBE DETAIL {ns}.t")[0][0] == "versioned"
    finally:
        sql_spark.sql(f"USE {before[0]}.{before[1]}")
    for statement in ("OPTIMIZE", "VACUUM", "RESTORE TABLE"):
        rest = " TO VERSION AS OF 1" if statement == "RESTORE TABLE" else ""
        with pytest.raises(Exception, match="no table"):
            sql_spark.sql(f"{statement} versioned.{ns}.nowhere{rest}")


@pytest.mark.thorough
def test_a_namespace_of_the_name_of_a_table(
    sql_spark: SparkSession, catalog: Catalog, table: Table, ns: str
) -> None:
    catalog.create_namespace(f"{ns}.t")
    t = f"versioned.{ns}.t.branch_totals"
    sql_spark.sql(f"DROP TABLE IF EXISTS {t}")
    sql_spark.sql(f"CREATE TABLE IF NOT EXISTS {t} (a INT)")
    assert rows_of(sql_spark, f"SELECT * FROM {t}") == []
    sql_spark.sql(f"DROP TABLE {t}")


@pytest.mark.thorough
def test_a_view_of_a_table_and_its_tag(sql_spark: SparkSession, table: Table, ns: str) -> None:
    t = f"versioned.{ns}.t"
    table.set_tag("x")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN extra INT")
    query = f"SELECT a.id, a.extra FROM {t} a JOIN {t}.tag_x b ON a.id = b.id"
    sql_spark.sql(f"CREATE VIEW versioned.{ns}.v AS {query}")
    assert len(rows_of(sql_spark, f"SELECT * FROM versioned.{ns}.v")) == 3


@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.thorough)])
def test_history_shows_who_commits(sql_spark: SparkSession, table: Table, ns: str, io: str) -> None:
    """Of each kind of commit; the message may be set as for Delta."""
    t, context = f"versioned.{ns}.t", sql_spark.sparkContext
    session = sql_spark.newSession()
    session.conf.set("spark.versioned.io", io)
    session.sql(f"ALTER TABLE {t} ADD COLUMN x INT")
    session.conf.set("spark.databricks.delta.commitInfo.userMetadata", "fixing May")
    session.sql(f"INSERT INTO {t} VALUES (5, DATE'2020-01-01', 1)")
    session.conf.set("spark.versioned.commitMessage", "right to be forgotten")
    session.sql(f"DELETE FROM {t} WHERE id = 5")
    session.sql(f"CALL versioned.system.rollback_to_version('{ns}.t', 4)")
    said = "SELECT userName, applicationId, userMetadata"
    history = session.sql(f"DESCRIBE HISTORY {t} LIMIT 4").selectExpr(*said[7:].split(", "))
    by = (context.sparkUser(), context.applicationId)
    assert [tuple(row) for row in history.collect()] == [
        (*by, "right to be forgotten"),
        (*by, "right to be forgotten"),
        (*by, "fixing May"),
        (*by, None),
    ]
    columns = "user, application, message"
    ctas = f"{t}_{io}"
    session.sql(f"CREATE TABLE {ctas} AS SELECT 1 AS a")
    assert rows_of(session, f"SELECT {columns} FROM {ctas}.history") == [
        (*by, "right to be forgotten")
    ]


@pytest.mark.thorough
def test_like_takes_properties_of_others(sql_spark: SparkSession, table: Table, ns: str) -> None:
    table.alter().set_property("row_changes", "mark").commit()
    t = f"versioned.{ns}.t"
    sql_spark.sql(
        f"CREATE TABLE {t}2 LIKE {t} TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')"
    )
    shown = rows_of(sql_spark, f"SHOW TBLPROPERTIES {t}2 ('row_changes')")
    assert shown == [("row_changes", "copy")]


@pytest.mark.thorough
def test_the_first_rows_of_a_table_heed_properties_of_others(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """With an option, the write is planned apart from the table."""
    frame = sql_spark.range(0, 8, 1, 4).selectExpr("id", "id % 2 AS p")
    for mode, count in (("none", 8), ("hash", 2)):
        writer = frame.writeTo(f"versioned.{ns}.{mode}").partitionedBy("p")
        writer = writer.tableProperty("write.distribution-mode", mode)
        writer.option("io", "native").create()
        assert catalog.load_table(f"{ns}.{mode}").state.segments.count == count
