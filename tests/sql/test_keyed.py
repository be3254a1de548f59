"""Tables with a primary key in SQL: creating, changing and reading them, and conflicting statements.

Needs a JVM because Spark plans the statements and the jar writes the rows; ``tests/read`` tests the
same rules with PyArrow.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from versioned_catalog import Catalog, Table
from wrong_clocks import put_ahead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SERIALIZABLE = {"isolation": "serializable"}


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def make(catalog: Catalog, ns: str) -> Callable[..., Table]:
    def table(ddl: str, *primary_key: str, **given: Any) -> Table:
        return catalog.create_table(f"{ns}.t", ddl, primary_key=primary_key, **given)

    return table


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.nightly)])
def io(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[str]:
    sql_spark.conf.set("spark.versioned.io", request.param)
    yield request.param
    sql_spark.conf.set("spark.versioned.io", "native")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def shown(spark: SparkSession, query: str) -> str:
    return "\n".join("|".join(map(str, row)) for row in spark.sql(query).collect())


def key_of(table: Table) -> list[str]:
    schema = table.refresh().schema
    return [schema.column(key).name for key in schema.row_key]


def by_python(spark: SparkSession, warehouse: Path, ns: str) -> DataFrame:
    """The test's table as Spark reads it without the jar."""
    reader = spark.read.format("versioned").option("io", "python")
    return reader.load(str(warehouse / ns / "t"))


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def operations(table: Table) -> list[tuple[str, int]]:
    """The operation of each commit, and the number of segments that it removed."""
    commits = table.refresh().inspect.history().to_pylist()
    return [(commit["operation"], commit["segments_removed"]) for commit in commits]


# Creating


def test_a_primary_key_by_a_constraint(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog
) -> None:
    sql_spark.sql(
        f"CREATE TABLE {t} (dc STRING, `a.host` STRING, ts TIMESTAMP, v DOUBLE, "
        "PRIMARY KEY (dc, `a.host`)) TBLPROPERTIES ('time_index' = 'ts')"
    )
    table = catalog.load_table(f"{ns}.t")
    assert key_of(table) == ["dc", "a.host", "ts"]
    assert [column.nullable for column in table.schema.columns] == [False, False, False, True]
    assert shown(sql_spark, f"SHOW TBLPROPERTIES {t}") == "time_index|ts"
    # NORELY: with a time index, a host may have many rows, at different times.
    constraint = "primary_key|PRIMARY KEY (dc, `a.host`) NOT ENFORCED NORELY"
    assert constraint in shown(sql_spark, f"DESCRIBE EXTENDED {t}")
    ddl = shown(sql_spark, f"SHOW CREATE TABLE {t}")
    sql_spark.sql(f"DROP TABLE {t}")
    sql_spark.sql(ddl)
    table = catalog.load_table(f"{ns}.t")
    assert key_of(table) == ["dc", "a.host", "ts"]
    sql_spark.sql(f"CREATE OR REPLACE TABLE {t} (a INT, b INT PRIMARY KEY)")
    assert key_of(table) == ["b"]
    assert "PRIMARY KEY (b) NOT ENFORCED RELY" in shown(sql_spark, f"DESCRIBE EXTENDED {t}")
    sql_spark.sql(f"CREATE OR REPLACE TABLE {t} (a INT, b INT)")
    assert key_of(table) == []


@pytest.mark.thorough
def test_a_primary_key_of_create_table_as_select(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog
) -> None:
    """Spark allows no constraint in CREATE TABLE ... AS SELECT, so a property declares the key."""
    query = "SELECT 1 AS a, 2 AS b UNION ALL SELECT 1, 2"
    sql_spark.sql(f"CREATE TABLE {t} TBLPROPERTIES ('primary_key' = 'a') AS {query}")
    table = catalog.load_table(f"{ns}.t")
    assert (key_of(table), rows(sql_spark, f"SELECT * FROM {t}")) == (["a"], [(1, 2)])
    sql_spark.sql(f"REPLACE TABLE {t} TBLPROPERTIES ('primary_key' = 'b, a') AS {query}")
    assert (key_of(table), rows(sql_spark, f"SELECT * FROM {t}")) == (["b", "a"], [(1, 2)])
    frame = sql_spark.sql(query)
    frame.writeTo(t).tableProperty("primary_key", "b").createOrReplace()
    assert (key_of(table), rows(sql_spark, f"SELECT * FROM {t}")) == (["b"], [(1, 2)])
    with pytest.raises(Exception, match=r"tableProperty\('primary_key'"):
        frame.write.format("versioned").option("primaryKey", "a").saveAsTable(f"{t}2")


def test_constraints_that_are_refused(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog
) -> None:
    for constraint in ("UNIQUE (a)", f"FOREIGN KEY (a) REFERENCES {t} (b)"):
        with pytest.raises(Exception, match=rf"{ns}\.t can.t enforce .*{constraint[:5]}.*leave"):
            sql_spark.sql(f"CREATE TABLE {t} (a INT, b INT, {constraint})")
    sql_spark.sql(f"CREATE TABLE {t} (a INT, b INT, PRIMARY KEY (a))")
    for change, message in {
        "ADD CONSTRAINT other PRIMARY KEY (b)": "set when a table is created",
        "DROP CONSTRAINT primary_key": "set when a table is created",
        "ADD CONSTRAINT more UNIQUE (a)": "can't enforce",
        "SET TBLPROPERTIES ('primary_key' = 'b')": "set when a table is created",
        "SET TBLPROPERTIES ('time_index' = 'b')": "set when a table is created",
    }.items():
        with pytest.raises(Exception, match=message):
            sql_spark.sql(f"ALTER TABLE {t} {change}")
    assert catalog.load_table(f"{ns}.t").version == 0


@pytest.mark.thorough
def test_a_primary_key_by_writer_options(sql_spark: SparkSession, tmp_path: Path) -> None:
    frame = sql_spark.sql("SELECT 1 AS a, 'x' AS `b,c`, DATE'2026-01-01' AS day, 1.5D AS v")
    path = str(tmp_path / "t")

    def save(frame: DataFrame, mode: str = "append", to: str = path, **options: Any) -> Table:
        frame.write.format("versioned").mode(mode).options(**options).save(to)
        return Catalog.load_path(to)

    table = save(frame, primaryKey="a, `b,c`", timeIndex="day")
    assert key_of(table) == ["a", "b,c", "day"]
    save(frame, primaryKey="A, `b,c`")
    save(frame.drop("v").withColumn("w", f.lit(7)), mergeSchema=True, partialUpdate=True)
    assert table.refresh().scan(["a", "v", "w"]).to_arrow().to_pylist() == [
        {"a": 1, "v": 1.5, "w": 7}
    ]
    save(frame)
    assert table.refresh().scan(["v", "w"]).to_arrow().to_pylist() == [{"v": 1.5, "w": None}]
    for options, message in {
        ("primaryKey", "a"): "has the primary_key a, `b,c` and the time_index day",
        ("timeIndex", "a"): "leave out primaryKey and timeIndex",
    }.items():
        with pytest.raises(Exception, match=message):
            save(frame, **dict([options]))
    with pytest.raises(Exception, match="leaves no row to update in part"):
        save(frame, "overwrite", partialUpdate=True)
    plain = str(tmp_path / "plain")
    for _ in range(2):
        with pytest.raises(Exception, match="has no primary key, by which partialUpdate"):
            save(frame, to=plain, partialUpdate=True)
        save(frame, to=plain)
    with pytest.raises(Exception, match="has no row key"):
        save(frame, to=plain, primaryKey="a")


def test_partial_updates_through_a_catalog_are_refused(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    """Spark fills omitted columns, so a partial update through a catalog would set them to null."""
    make("a INT, b INT", "a").append(integers(a=[1], b=[1]))
    frame = sql_spark.sql("SELECT 1 AS a")
    with pytest.raises(Exception, match="Spark fills the columns that the rows lack; use MERGE"):
        frame.writeTo(t).option("partialUpdate", True).append()
    with pytest.raises(Exception, match="Spark fills the columns that the rows lack; use MERGE"):
        sql_spark.sql(f"INSERT INTO {t} WITH ('partialUpdate' = 'true') BY NAME SELECT 1 AS a")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 1)]


# Changing


@pytest.mark.thorough
@pytest.mark.usefixtures("io")
def test_statements_that_change_rows(sql_spark: SparkSession, make: Any, t: str) -> None:
    """INSERT, UPDATE, DELETE and MERGE only add segments; reads show the newest row of each key."""
    table = make("v INT, b INT, s STRING, a INT", "b", "a", partitioned_by=["bucket(2, a)"])
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 1, 'x', 1), (2, 1, 'y', 2), (3, 2, NULL, 1)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (10, 1, NULL, 1), (4, 2, 'z', 2)")
    sql_spark.sql(f"UPDATE {t} SET v = v + 1, b = b WHERE s IS NULL")
    sql_spark.sql(f"DELETE FROM {t} WHERE v = 2")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 2), (2, 1), (7, 7) AS s (b, a)) s "
        "ON t.b = s.b AND t.a = s.a WHEN MATCHED AND t.a = 1 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (v, b, a) VALUES (9, s.b, s.a) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'other'"
    )
    assert rows(sql_spark, f"SELECT * FROM {t}") == [
        (0, 2, "z", 2),
        (11, 1, "other", 1),
        (9, 7, None, 7),
    ]
    assert {removed for _, removed in operations(table)} == {0}
    assert [done for done, _ in operations(table)][-3:] == ["update", "delete", "merge"]
    assert sql_spark.table(t).count() == 3
    assert rows(sql_spark, f"SELECT max(v), min(b), count(s) FROM {t}") == [(11, 1, 2)]
    assert len(rows(sql_spark, f"SELECT v FROM {t} LIMIT 3")) == 3
    assert rows(sql_spark, f"SELECT a FROM {t} WHERE v = 1 OR v = 10 OR v = 2") == []
    assert rows(sql_spark, f"SELECT v FROM {t} WHERE b = 1") == [(11,)]


@pytest.mark.thorough
def test_overlapping_segments_are_merged_by_spark_unless_some_are_patches(
    sql_spark: SparkSession, make: Any, t: str, ns: str, warehouse: Path
) -> None:
    """Spark reads all segments and merges those that overlap; Python merges groups with PATCH rows."""
    table = make("a INT, b INT", "a")
    table.append(integers(a=[1, 2], b=[1, 2]))
    table.append(integers(a=[11, 12], b=[1, 2]))
    table.append(integers(a=[21, 22], b=[1, 2]))
    plan = f"EXPLAIN SELECT * FROM {t}"
    assert "segments by schema version: {native={0=3}}" in shown(sql_spark, plan)
    table.append(integers(a=[12, 13], b=[7, 7]))
    assert "segments by schema version: {native={0=4}}" in shown(sql_spark, plan)
    assert "{native={0=1}}, pruned: 3 of 4" in shown(sql_spark, f"{plan} WHERE a >= 20")
    # A filter must not prune a segment whose rows hide older rows of their keys.
    assert "{native={0=4}}" in shown(sql_spark, f"{plan} WHERE b = 2")
    assert rows(sql_spark, f"SELECT * FROM {t} WHERE b = 2") == [(2, 2), (22, 2)]
    assert "{native={0=2}}, pruned: 2 of 4" in shown(
        sql_spark, f"{plan} WHERE b = 2 AND a <> 12 AND (a < 5 OR a > 15)"
    )
    everything = rows(sql_spark, f"SELECT * FROM {t}")
    assert everything == [(1, 1), (11, 1), (12, 7), (13, 7), (2, 2), (21, 1), (22, 2)]
    by_path = sql_spark.read.format("versioned").load(table.location)
    without = by_python(sql_spark, warehouse, ns)
    assert sorted(map(tuple, by_path.collect()), key=repr) == everything
    assert sorted(map(tuple, without.collect()), key=repr) == everything
    explained = shown(sql_spark, f"EXPLAIN DELETE FROM {t} WHERE a = 1")
    assert "VersionedScan" in explained
    assert "WriteDelta" in explained
    table.refresh().upsert(integers(a=[13], b=[8]), partial=True)
    explained = shown(sql_spark, plan)
    assert "native={0=2}" in explained
    assert "python={0=3}" in explained
    assert (13, 8) in rows(sql_spark, f"SELECT * FROM {t}")


@pytest.mark.thorough
def test_overlapping_segments_of_several_schemas(
    sql_spark: SparkSession, make: Any, t: str, ns: str, warehouse: Path
) -> None:
    """Rows older than a column with a default are merged with newer rows and tombstones."""
    make("a INT, b INT", "a").append(integers(a=[1, 2, 3], b=[1, 2, 3]))
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN c INT DEFAULT 9")
    sql_spark.sql(f"DELETE FROM {t} WHERE a = 2")
    sql_spark.sql(f"INSERT INTO {t} VALUES (3, 33, 333)")
    expected = [(1, 1, 9), (3, 33, 333)]
    assert rows(sql_spark, f"SELECT * FROM {t}") == expected
    without = by_python(sql_spark, warehouse, ns)
    assert sorted(map(tuple, without.collect())) == expected


@pytest.mark.thorough
def test_runtime_filters_on_overlapping_segments(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    """Runtime filters skip some of several overlapping segments."""
    table = make("a INT, b INT", "a")
    table.append(integers(a=list(range(0, 100)), b=[1] * 100))
    table.append(integers(a=list(range(50, 150)), b=[2] * 100))
    table.append(integers(a=list(range(140, 200)), b=[3] * 60))
    sql_spark.sql(
        "CREATE OR REPLACE TEMP VIEW few AS SELECT id FROM range(60, 62) WHERE id > rand()"
    )
    found = rows(
        sql_spark, f"SELECT * FROM {t} JOIN (SELECT CAST(id AS INT) AS a FROM few) USING (a)"
    )
    assert found == [(60, 2), (61, 2)]
    assert rows(sql_spark, f"SELECT b, count(*) FROM {t} GROUP BY b") == [(1, 50), (2, 90), (3, 60)]


@pytest.mark.thorough
def test_changes_of_tables_with_maps_and_quoted_names(sql_spark: SparkSession, t: str) -> None:
    """Spark can't compare maps, which a runtime filter on all columns would need."""
    sql_spark.sql(
        f"CREATE TABLE {t} (`a b` INT, s STRUCT<q: INT NOT NULL>, m MAP<STRING, INT>, `A.x` BINARY, "
        "at TIME, PRIMARY KEY (`A.x`, `a b`, at))"
    )
    sql_spark.sql(
        f"INSERT INTO {t} SELECT id, named_struct('q', 1), map('a', 1), X'01', TIME'10:00:00' "
        "FROM range(4)"
    )
    sql_spark.sql(f"UPDATE {t} SET s.q = 5 WHERE `a b` * 2 = 2")
    sql_spark.sql(f"UPDATE {t} SET m = NULL, s = NULL WHERE `A.x` = X'01' AND `a b` = 3")
    sql_spark.sql(f"DELETE FROM {t} WHERE `a b` % 4 = 2")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 0 AS id, X'01' AS x) s ON t.`a b` = s.id AND t.`A.x` = s.x "
        "WHEN MATCHED THEN UPDATE SET m = map('b', 2)"
    )
    assert rows(sql_spark, f"SELECT `a b`, s.q, m FROM {t}") == [
        (0, 1, {"b": 2}),
        (1, 5, {"a": 1}),
        (3, None, None),
    ]
    explained = shown(sql_spark, f"EXPLAIN UPDATE {t} SET m = NULL WHERE `a b` * 2 = 2")
    assert explained.count("BatchScan") == 1


@pytest.mark.thorough
def test_a_row_key_can_not_be_updated(sql_spark: SparkSession, make: Any, t: str) -> None:
    table = make("s STRING, a INT, b INT", "a", "s")
    sql_spark.sql(f"INSERT INTO {t} VALUES ('x', 1, 1), ('y', 2, 2)")
    refused = rf"{t}: UPDATE can't change a row key, and s is part of it; DELETE the row and INSERT"
    with pytest.raises(Exception, match=refused):
        sql_spark.sql(f"UPDATE {t} SET s = 'z' WHERE b = 1")
    with pytest.raises(Exception, match=refused):
        sql_spark.sql(
            f"MERGE INTO {t} t USING (SELECT 1 AS a) s ON t.a = s.a "
            "WHEN MATCHED THEN UPDATE SET s = 'z', b = 5"
        )
    with pytest.raises(Exception, match=r"(?i)null"):
        sql_spark.sql(f"UPDATE {t} SET a = NULL")
    assert table.refresh().version == 1
    sql_spark.sql(f"UPDATE {t} SET s = lower(upper(s)), a = a + 0, b = b + 1")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [("x", 1, 2), ("y", 2, 3)]
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        sql_spark.sql(
            f"MERGE INTO {t} t USING (SELECT 1 AS a UNION ALL SELECT 1) s ON t.a = s.a "
            "WHEN MATCHED THEN UPDATE SET b = 5"
        )


@pytest.mark.thorough
def test_hidden_rows_and_dropped_columns_match_nothing(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    table = make("a INT, b INT", "a")
    table.append(integers(a=[1, 2, 3], b=[1, 1, 5]))
    sql_spark.sql(f"UPDATE {t} SET b = 9 WHERE a = 1")
    sql_spark.sql(f"DELETE FROM {t} WHERE b = 1")  # the row that the UPDATE hid does not match
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 9), (3, 5)]
    table.refresh().alter().drop_column("b").add_column("b", "INT", default=999).commit()
    sql_spark.sql(f"DELETE FROM {t} WHERE b = 5")  # nor do the values of a dropped column
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 999), (3, 999)]
    table.refresh().alter().add_column("c", "INT", default=7).rename_column("a", "id").commit()
    sql_spark.sql(f"UPDATE {t} SET c = c + 1 WHERE c = 7 AND id = 3")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 999, 7), (3, 999, 8)]
    sql_spark.sql(f"ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT")
    sql_spark.sql(f"INSERT INTO {t} VALUES (3, 1, 1), (5000000000, 2, 2)")
    sql_spark.sql(f"DELETE FROM {t} WHERE id = 1")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(3, 1, 1), (5000000000, 2, 2)]
    with pytest.raises(Exception, match="row key"):
        sql_spark.sql(f"ALTER TABLE {t} DROP COLUMN id")


@pytest.mark.thorough
def test_a_key_written_by_many_tasks_has_one_row(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    table = make("a INT, b INT", "a")
    many = sql_spark.range(0, 400, 1, 4).selectExpr(
        "CAST(id % 10 AS INT) AS a", "CAST(id AS INT) AS b"
    )
    many.coalesce(1).writeTo(t).append()
    assert table.refresh().inspect.segments()["rows"].to_pylist() == [10]
    assert sql_spark.table(t).count() == 10
    many.repartition(4).writeTo(t).append()
    assert table.refresh().inspect.segments().num_rows == 5
    assert rows(sql_spark, f"SELECT count(*), count(DISTINCT a), min(b % 10 = a) FROM {t}") == [
        (10, 10, True)
    ]
    sql_spark.sql(f"DELETE FROM {t} WHERE a < 5")
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(5,), (6,), (7,), (8,), (9,)]


@pytest.mark.thorough
def test_char_keys_are_padded(sql_spark: SparkSession, t: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (c CHAR(4), d VARCHAR(3), v INT, PRIMARY KEY (c, d))")
    sql_spark.sql(f"INSERT INTO {t} VALUES ('a', 'x', 1), ('b ', 'x', 2), ('c   ', 'x', 3)")
    sql_spark.sql(f"INSERT INTO {t} VALUES ('a  ', 'x', 10)")
    sql_spark.sql(f"UPDATE {t} SET v = v + 1, c = 'b' WHERE c = 'b'")
    sql_spark.sql(f"UPDATE {t} SET v = v + 1 WHERE length(c) = 4 AND v = 3 AND d = 'x' AND c > 'b'")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 'a   ' AS c, 'x' AS d UNION ALL SELECT 'd', 'y') s "
        "ON t.c = s.c AND t.d = s.d WHEN MATCHED THEN UPDATE SET c = s.c, v = 100 "
        "WHEN NOT MATCHED THEN INSERT (c, d, v) VALUES (s.c, s.d, 4)"
    )
    whole = [("a   ", "x", 100), ("b   ", "x", 3), ("c   ", "x", 4), ("d   ", "y", 4)]
    assert rows(sql_spark, f"SELECT * FROM {t}") == whole
    sql_spark.sql(f"DELETE FROM {t} WHERE c = 'c'")
    assert rows(sql_spark, f"SELECT v FROM {t}") == [(100,), (3,), (4,)]
    sql_spark.sql(f"DELETE FROM {t}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == []


@pytest.mark.thorough
def test_removing_all_rows_leaves_no_segment(sql_spark: SparkSession, make: Any, t: str) -> None:
    """Statements that remove all rows add no tombstones."""
    table = make("a INT, b INT", "a")
    for statement in (
        f"DELETE FROM {t}",
        f"DELETE FROM {t} WHERE 1 = 1",
        f"TRUNCATE TABLE {t}",
        f"INSERT OVERWRITE {t} SELECT 1, 1 WHERE false",
    ):
        sql_spark.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 2)")
        sql_spark.sql(f"INSERT INTO {t} VALUES (2, 3)")
        sql_spark.sql(statement)
        assert rows(sql_spark, f"SELECT * FROM {t}") == []
        assert table.refresh().inspect.segments().num_rows == 0, statement
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 3)")
    sql_spark.sql(f"UPDATE {t} SET b = 1 WHERE a = 3")
    sql_spark.sql(f"INSERT INTO {t} REPLACE WHERE b = 1 SELECT 2, 20")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(2, 20)]


@pytest.mark.thorough
def test_metadata_columns(sql_spark: SparkSession, make: Any, t: str) -> None:
    table = make("a INT, b INT", "a")
    table.append(integers(a=[1, 2], b=[1, 2]))
    table.append(integers(a=[11], b=[1]))
    sql_spark.sql(f"UPDATE {t} SET b = 5 WHERE a = 2")
    query = f"SELECT a, __sequence, __op_type, _sequence FROM {t}"
    assert rows(sql_spark, query) == [(1, 1, 0, 1), (11, 2, 0, 2), (2, 3, 0, 3)]
    assert rows(sql_spark, f"SELECT a FROM {t} WHERE __sequence > 1") == [(11,), (2,)]
    sql_spark.sql(f"UPDATE {t} SET b = 7 WHERE __sequence = 2")
    sql_spark.sql(f"DELETE FROM {t} WHERE _sequence = 1")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(11, 7), (2, 5)]
    table.refresh().rollback(version=2)
    assert rows(sql_spark, query) == [(1, 1, 0, 1), (11, 2, 0, 2), (2, 1, 0, 1)]
    last = max(table.state.segments.paths)
    table.maintenance.compact(paths=[last])
    moved = table.version
    assert "python={" not in shown(sql_spark, f"EXPLAIN {query}")
    assert rows(sql_spark, query) == [(1, 1, 0, 1), (11, 2, 0, moved), (2, 1, 0, 1)]
    table.append(integers(a=[2], b=[9]))
    newest = table.version
    table.maintenance.compact()
    moved = table.version
    assert rows(sql_spark, f"{query} WHERE a < 5") == [(1, 1, 0, moved), (2, newest, 0, moved)]
    assert "python={0=1}" in shown(sql_spark, f"EXPLAIN {query}"), "each row has its own sequence"
    assert "python={" not in shown(sql_spark, f"EXPLAIN SELECT a, b, __op_type FROM {t}")


@pytest.mark.thorough
def test_columns_with_the_names_of_metadata_columns(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    table = make("a INT, __sequence STRING, __op_type INT", "a")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'x', 2), (2, 'y', 1)")
    sql_spark.sql(f"UPDATE {t} SET __op_type = 3 WHERE __op_type = 1")
    sql_spark.sql(f"DELETE FROM {t} WHERE __sequence = 'x'")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(2, "y", 3)]
    assert rows(sql_spark, f"SELECT __sequence, __op_type FROM {t} WHERE __op_type = 3") == [
        ("y", 3)
    ]
    assert table.refresh().scan().to_arrow().to_pylist() == [
        {"a": 2, "__sequence": "y", "__op_type": 3}
    ]


# Concurrent commits


RACES = {
    "update": "UPDATE {t} SET b = landing(5) WHERE a = 1",
    "merge": "MERGE INTO {t} t USING (SELECT 1 AS a, landing(5) AS b) s ON t.a = s.a "
    "WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT *",
    "delete": "DELETE FROM {t} WHERE a = 1 AND landing(b) > 0",
    "only inserts": "MERGE INTO {t} t USING (SELECT CAST(7 + id AS INT) AS a FROM range(1)) s "
    "ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, landing(s.a))",
    "from itself": "INSERT INTO {t} SELECT a, landing(b) FROM {t} WHERE a = 1",
    "blind": "INSERT INTO {t} SELECT CAST(1 + id AS INT), landing(5) FROM range(1)",
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "key"),
    [
        *((name, "same") for name in ("update", "merge", "delete", "only inserts")),
        *(
            pytest.param(name, "same", marks=pytest.mark.nightly)
            for name in ("from itself", "blind")
        ),
        ("update", "other"),
        pytest.param("only inserts", "other", marks=pytest.mark.nightly),
        ("merge", "compaction"),
        pytest.param("delete", "compaction", marks=pytest.mark.nightly),
    ],
)
def test_a_concurrent_upsert_or_compaction(
    sql_spark: SparkSession, make: Any, t: str, name: str, key: str
) -> None:
    """Another commit lands after the statement has read, and before it commits."""
    table = make("a INT, b INT", "a")
    table.append(integers(a=[1, 2], b=[0, 1]))
    table.append(integers(a=[1], b=[1]))
    location, before = table.location, table.version
    concurrent_key = {"same": 7 if name == "only inserts" else 1}.get(key, 3)

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version == before and key == "compaction":
            other.maintenance.compact(strategy="full")
        elif other.version == before:
            other.append(
                pa.table(
                    {"a": pa.array([concurrent_key], pa.int32()), "b": pa.array([50], pa.int32())}
                )
            )
        return value

    sql_spark.udf.register("landing", landing)
    statement = RACES[name].format(t=t)
    if key != "same" or name == "blind":
        sql_spark.sql(statement)
        assert table.refresh().version == before + 2
        expected = {"delete": [], "only inserts": [(1,)]}.get(name, [(5,)])
        assert rows(sql_spark, f"SELECT b FROM {t} WHERE a = 1") == expected
        return
    with pytest.raises(Exception, match="run it again"):
        sql_spark.sql(statement)
    assert table.refresh().version == before + 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["subquery", "own rows"])
def test_serializable_statements_conflict_with_rows_they_would_have_read(
    sql_spark: SparkSession, make: Any, t: str, name: str
) -> None:
    """Under serializable isolation, a statement conflicts with new rows that it would have read."""
    table = make("a INT, b INT", "a", properties=SERIALIZABLE)
    table.append(integers(a=[1, 2], b=[1, 1]))
    location = table.location

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version == 1:
            other.append(pa.table({"a": pa.array([3], pa.int32()), "b": pa.array([1], pa.int32())}))
        return value

    sql_spark.udf.register("landing", landing)
    if name == "own rows":
        sql_spark.sql(f"UPDATE {t} SET b = landing(5) WHERE a = 1")
        assert table.refresh().version == 3
        return
    with pytest.raises(Exception, match="run it again"):
        sql_spark.sql(f"UPDATE {t} SET b = landing(5) WHERE a = 1 AND b < (SELECT sum(b) FROM {t})")
    assert table.refresh().version == 2


@pytest.mark.thorough
def test_a_merge_with_schema_evolution_from_its_own_table(
    sql_spark: SparkSession, make: Any, t: str
) -> None:
    table = make("a INT, b INT", "a")
    table.append(integers(a=[1, 2], b=[10, 20]))
    merge = (
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} t "
        f"USING (SELECT a + 1 AS a, b, 5 AS c FROM {t}) s ON t.a = s.a "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    sql_spark.sql("EXPLAIN " + merge)
    assert table.refresh().version == 1
    sql_spark.sql(merge)
    assert operations(table)[-1] == ("merge", 0)
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 10, None), (2, 10, 5), (3, 20, 5)]


@pytest.mark.thorough
def test_a_time_index_without_a_primary_key(sql_spark: SparkSession, make: Any, t: str) -> None:
    """Without a primary key nothing is merged: rows are only sorted by time."""
    make("v INT, ts TIMESTAMP", time_index="ts")
    sql_spark.sql(
        f"INSERT INTO {t} VALUES (2, TIMESTAMP'2026-01-02'), (1, TIMESTAMP'2026-01-01'), "
        "(3, TIMESTAMP'2026-01-02')"
    )
    assert "native={0=" in shown(sql_spark, f"EXPLAIN SELECT * FROM {t}")
    sql_spark.sql(f"UPDATE {t} SET v = v + 10 WHERE ts = TIMESTAMP'2026-01-02'")
    sql_spark.sql(f"DELETE FROM {t} WHERE v % 10 = 3")
    assert rows(sql_spark, f"SELECT v FROM {t}") == [(1,), (12,)]


@pytest.mark.thorough
@pytest.mark.parametrize("key", [", PRIMARY KEY (ts, a)", ""])
def test_expired_rows_are_hidden(
    sql_spark: SparkSession, t: str, ns: str, warehouse: Path, key: str
) -> None:
    """Expired rows are hidden on every read path and ignored by statements that change rows."""
    sql_spark.sql(
        f"CREATE TABLE {t} (ts TIMESTAMP, a INT, v INT{key}) "
        "TBLPROPERTIES ('time_index' = 'ts', 'ttl' = '1 day')"
    )
    sql_spark.sql(
        f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ current_timestamp() - make_interval(0, 0, 0, id), "
        "CAST(id AS INT), 0 FROM range(3) WHERE id <> 1"
    )
    sql_spark.sql(f"INSERT INTO {t} VALUES (TIMESTAMP'2020-01-01', 3, 0)")
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(0,)]
    assert "native={" not in shown(sql_spark, f"EXPLAIN SELECT a FROM {t}")
    assert rows(sql_spark, f"SELECT count(*), max(a), count(v) FROM {t}") == [(1, 0, 1)]
    assert len(rows(sql_spark, f"SELECT a FROM {t} LIMIT 2")) == 1
    assert by_python(sql_spark, warehouse, ns).count() == 1
    sql_spark.sql(f"UPDATE {t} SET v = v + 1 WHERE a >= 0")
    assert rows(sql_spark, f"SELECT a, v FROM {t}") == [(0, 1)]
    sql_spark.sql(f"DELETE FROM {t} WHERE v % 2 = 1")
    assert rows(sql_spark, f"SELECT a FROM {t}") == []


@pytest.mark.thorough
@pytest.mark.parametrize("key", [", PRIMARY KEY (ts, a)", ""])
def test_a_commit_from_the_future_hides_no_row(
    sql_spark: SparkSession, t: str, ns: str, warehouse: Path, key: str
) -> None:
    """A clock that was ahead dated the commit: no read path may expire rows by its time."""
    sql_spark.sql(
        f"CREATE TABLE {t} (ts TIMESTAMP, a INT, v INT{key}) "
        "TBLPROPERTIES ('time_index' = 'ts', 'ttl' = '1 day')"
    )
    table = Catalog(warehouse).load_table(f"{ns}.t")
    times = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime.now(dt.UTC)]
    index = pa.array(times, pa.timestamp("us", "UTC"))
    table.append(integers(a=[0, 1], v=[0, 0]).add_column(0, "ts", index))
    put_ahead(Path(table.location), [table.version])
    sql_spark.sql(f"INSERT INTO {t} VALUES (current_timestamp(), 2, 0)")
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(1,), (2,)]
    assert rows(sql_spark, f"SELECT count(*), max(a), count(v) FROM {t}") == [(2, 2, 2)]
    assert by_python(sql_spark, warehouse, ns).count() == 2
    now = f"{t} TIMESTAMP AS OF current_timestamp()"
    assert rows(sql_spark, f"SELECT a FROM {now}") == [(1,), (2,)]
    sql_spark.sql(f"UPDATE {t} SET v = v + 1 WHERE a = 2")
    sql_spark.sql(f"CALL versioned.system.compact(table => '{ns}.t', strategy => 'full')")
    assert rows(sql_spark, f"SELECT a, v FROM {t}") == [(1, 0), (2, 1)]
    sql_spark.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('ttl')")
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(1,), (2,)]


@pytest.mark.thorough
def test_a_load_by_key_ranges_needs_no_merge(sql_spark: SparkSession, make: Any, t: str) -> None:
    """A load that is repartitioned by ranges of the row key is read natively, without compaction."""
    table = make("host INT, ts INT, v INT", "host", "ts")
    load = sql_spark.range(0, 1000, 1, 4)
    load = load.selectExpr("cast(id % 10 AS INT) host", "cast(id DIV 10 AS INT) ts", "1 v")
    ranged = load.repartitionByRange(3, "host").sortWithinPartitions("host", "ts")
    ranged.writeTo(t).append()
    table.refresh()
    assert table.state.segments.count == 3
    assert table.scan().merged_paths() == frozenset()
    assert sql_spark.table(t).count() == 1000
