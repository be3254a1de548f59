"""LOCATION of a table: where it is, who may be there, and what DROP TABLE leaves."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pyspark_versioned.registering import catalog_class
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


class Places:
    """A session whose default catalog has a root beside its warehouse."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.raw, self.warehouse = home / "raw", home / "warehouse"
        self.spark = spark.newSession()
        self.name = f"places{next(_numbers)}"
        key = f"spark.sql.catalog.{self.name}"
        self.spark.conf.set("spark.versioned.io", "native")
        self.spark.conf.set(key, catalog_class())
        self.spark.conf.set(f"{key}.warehouse", str(self.warehouse))
        self.spark.conf.set(f"{key}.root.raw", str(self.raw))
        self.catalog = Catalog(self.warehouse, roots={"raw": self.raw})
        self.catalog.create_namespace("db")
        self.run(f"USE {self.name}.db")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        text = statement.replace("$RAW", str(self.raw)).replace("$HOME", str(self.warehouse))
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def refused(self, statement: str, message: str) -> None:
        with pytest.raises(Exception, match=message):
            self.run(statement)


@pytest.fixture
def places(spark: SparkSession, tmp_path: Path) -> Places:
    return Places(spark, tmp_path)


def test_a_table_with_a_location(places: Places) -> None:
    run = places.run
    run("CREATE TABLE t (id INT, v STRING DEFAULT 'a') USING delta LOCATION '$RAW/a b/t'")
    run("INSERT INTO t (id) VALUES (1), (2)")
    run("UPDATE t SET v = 'b' WHERE id = 2")
    run("ALTER TABLE t ADD COLUMN n INT")
    run(
        "MERGE INTO t USING (SELECT 3 AS id) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (3)"
    )
    expected = [(1, "a", None), (2, "b", None), (3, "a", None)]
    assert run("SELECT * FROM t ORDER BY id") == expected
    folder = places.raw / "a b/t"
    by_path = places.spark.read.format("versioned").load(str(folder)).orderBy("id")
    assert [tuple(row) for row in by_path.collect()] == expected
    assert run("SELECT count(*) FROM db.t.history") == [(5,)]
    assert run("SELECT * FROM t VERSION AS OF 1 ORDER BY id") == [(1, "a"), (2, "a")]
    described = {row[0]: row[1] for row in run("DESCRIBE EXTENDED t")}
    assert described["Type"] == "EXTERNAL"
    assert described["Location"] == str(folder)


def test_what_show_create_table_says_creates_it_again(places: Places) -> None:
    run = places.run
    run(
        "CREATE TABLE t (id INT NOT NULL, d INT GENERATED ALWAYS AS (id + 1), PRIMARY KEY (id), "
        "CONSTRAINT c CHECK (id > 0)) USING iceberg PARTITIONED BY (bucket(4, id)) COMMENT 'x' "
        "TBLPROPERTIES ('k' = 'v') LOCATION '$RAW/t'"
    )
    run("INSERT INTO t (id) VALUES (1)")
    ((statement,),) = run("SHOW CREATE TABLE t")
    assert f"LOCATION '{places.raw}/t'" in statement
    run("DROP TABLE t")
    run(statement)
    assert run("SELECT * FROM t") == [(1, 2)]
    assert run("SHOW CREATE TABLE t") == [(statement,)]
    run("CREATE TABLE u (id INT)")
    assert "LOCATION" not in run("SHOW CREATE TABLE u")[0][0]


def test_a_drop_leaves_the_files(places: Places) -> None:
    run = places.run
    run("CREATE TABLE t USING delta LOCATION '$RAW/t' AS SELECT 1 AS id")
    places.refused("DROP TABLE t PURGE", "leave out PURGE")
    run("DROP TABLE t")
    assert run("SHOW TABLES") == []
    assert [row[:2] for row in run("SHOW TABLES DROPPED")] == [("db", "t")]
    run("UNDROP TABLE t")
    assert run("SELECT * FROM t") == [(1,)]
    run("DROP TABLE t")
    run("CREATE TABLE u USING delta LOCATION '$RAW/t'")
    run("ALTER TABLE u RENAME TO w")
    assert run("SELECT * FROM w") == [(1,)]
    assert "EXTERNAL" in {row[1] for row in run("DESCRIBE EXTENDED w")}
    run("CREATE TABLE m (id INT)")
    run("DROP TABLE m PURGE")


@pytest.mark.thorough
def test_a_table_that_is_there_is_registered(places: Places) -> None:
    run, refused = places.run, places.refused
    table = Catalog.create_path(places.raw / "t", "id INT, s STRING", partitioned_by=["id"])
    table.append(pa.table({"id": pa.array([1], pa.int32()), "s": ["x"]}))
    refused(
        "CREATE TABLE t (id BIGINT, s STRING) LOCATION '$RAW/t'", "columns are declared as id B"
    )
    refused(
        "CREATE TABLE t (id INT, s STRING) LOCATION '$RAW/t'", "partitioning is declared as none"
    )
    refused(
        "CREATE TABLE t TBLPROPERTIES ('a' = 'b') LOCATION '$RAW/t'", "leave out all but LOCATION"
    )
    refused("CREATE TABLE t LOCATION '$RAW/t' AS SELECT 1 AS id", "there is a table at")
    refused("CREATE OR REPLACE TABLE t LOCATION '$RAW/t' AS SELECT 1 AS id", "there is a table at")
    refused("CREATE TABLE t LOCATION '$RAW/u'", r"no versioned table at .*write the columns")
    run("CREATE TABLE IF NOT EXISTS t USING DELTA LOCATION '$RAW/t'")
    run("CREATE TABLE IF NOT EXISTS t USING DELTA LOCATION '$RAW/t'")
    refused("CREATE TABLE u USING DELTA LOCATION '$RAW/t'", r"has the name db\.t in this warehouse")
    assert run("SELECT * FROM t") == [(1, "x")]


def test_a_replacement_stays_where_the_table_is(places: Places) -> None:
    run = places.run
    run("CREATE OR REPLACE TABLE t LOCATION '$RAW/t' AS SELECT 1 AS id")
    run("CREATE OR REPLACE TABLE t LOCATION '$RAW/t' AS SELECT id + 1 AS id, 'x' AS s FROM t")
    run("REPLACE TABLE t USING delta PARTITIONED BY (s) AS SELECT id + 1 AS id, s FROM t")
    assert run("SELECT * FROM t") == [(3, "x")]
    assert run("SELECT * FROM t VERSION AS OF 0") == [(1,)]
    assert f"LOCATION '{places.raw}/t'" in run("SHOW CREATE TABLE t")[0][0]
    places.refused("CREATE OR REPLACE TABLE t (a INT) LOCATION '$RAW/u'", "leave out LOCATION")
    run("CREATE TABLE m (id INT)")
    places.refused("REPLACE TABLE m (a INT) LOCATION '$RAW/u'", r"db\.m is at .*leave out LOCATION")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t (a INT) LOCATION '/tmp/elsewhere/t'", r"below neither .*\(raw\)"),
        ("CREATE TABLE t LOCATION '/tmp/elsewhere/t' AS SELECT 1 AS a", "below neither"),
        ("CREATE TABLE t LOCATION '$RAW/../t' AS SELECT 1 AS a", "below neither"),
        ("CREATE TABLE t (a INT) LOCATION '$HOME/_versioned/t'", "is in the folder _versioned"),
        ("CREATE TABLE t LOCATION '/tmp/elsewhere/t'", "below neither"),
        ("CREATE TABLE t SHALLOW CLONE s LOCATION '/tmp/elsewhere/t'", "below neither"),
        ("CREATE TABLE t SHALLOW CLONE s LOCATION '$RAW/t'", "outside the warehouse"),
        ("CREATE EXTERNAL TABLE t (a INT)", "needs a LOCATION"),
    ],
)
def test_other_folders_are_refused(places: Places, statement: str, message: str) -> None:
    places.run("CREATE TABLE s (a INT)")
    places.refused(statement, message)
    assert [row[1] for row in places.run("SHOW TABLES")] == ["s"]
    assert not places.raw.exists()


def test_clones_and_likes_with_a_location(places: Places) -> None:
    run = places.run
    run("CREATE TABLE s (a INT) LOCATION '$HOME/x/s'")
    run("INSERT INTO s VALUES (1)")
    run("CREATE TABLE c SHALLOW CLONE s LOCATION '$HOME/x/c'")
    run("CREATE TABLE d CLONE c LOCATION '$RAW/d'")
    run("CREATE TABLE l LIKE s LOCATION '$RAW/l'")
    run("CREATE TABLE k LIKE s")
    assert run("SELECT * FROM c") == run("SELECT * FROM d") == [(1,)]
    shown = {name: run(f"SHOW CREATE TABLE {name}")[0][0] for name in "cdlk"}
    assert f"LOCATION '{places.warehouse}/x/c'" in shown["c"]
    assert f"LOCATION '{places.raw}/d'" in shown["d"]
    assert f"LOCATION '{places.raw}/l'" in shown["l"]
    assert "LOCATION" not in shown["k"]


@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.thorough)])
def test_frames_and_streams(places: Places, io: str) -> None:
    run, spark = places.run, places.spark
    spark.conf.set("spark.versioned.io", io)
    frame = spark.createDataFrame([(1, "x")], "id INT, s STRING")
    location = f"{places.raw}/t"
    frame.writeTo("t").using("delta").tableProperty("location", location).create()
    frame.write.format("versioned").mode("append").saveAsTable("t")
    frame.write.format("versioned").mode("append").save(location)
    assert spark.table("t").count() == 3
    with pytest.raises(Exception, match="created with a LOCATION; leave it out"):
        frame.write.format("versioned").option("path", location).mode("append").saveAsTable("t")
    reading = spark.readStream.table("t")
    run("CREATE TABLE u (id INT, s STRING) LOCATION '$HOME/streamed/u'")
    writing = reading.writeStream.option("checkpointLocation", f"{places.raw}/check")
    writing.trigger(availableNow=True).toTable("u").awaitTermination()
    assert run("SELECT count(*) FROM u") == [(3,)]
    created = spark.catalog.createTable("c", f"{places.raw}/c", "delta", frame.schema)
    assert created.columns == ["id", "s"]
    assert run("SHOW TBLPROPERTIES c") == []
    assert f"LOCATION '{places.raw}/c'" in run("SHOW CREATE TABLE c")[0][0]


def test_branches_pins_tags_and_publishing(places: Places) -> None:
    run, raw = places.run, places.raw
    run("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) LOCATION '$RAW/t'")
    run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    run("ALTER TABLE t CREATE BRANCH b")
    run("INSERT INTO db.t.branch_b VALUES (3, 'c')")
    run("ALTER TABLE t CREATE TAG one")
    run(f"CALL {places.name}.system.pin_schema('t', 'p')")
    run("ALTER TABLE t RENAME COLUMN v TO w")
    run("INSERT INTO t VALUES (1, 'z')")
    assert run("SELECT id, v FROM t VERSION AS OF 'one' ORDER BY id") == [(1, "a"), (2, "b")]
    assert run("SELECT id FROM db.t.branch_b ORDER BY id") == [(1,), (2,), (3,)]
    run("OPTIMIZE t FULL")
    run("VACUUM t")
    assert run("SELECT * FROM t ORDER BY id") == [(1, "z"), (2, "b")]
    ((_, metadata, *_),) = run(f"CALL {places.name}.system.publish('t')")
    assert metadata.startswith(f"file://{raw}/t/iceberg/metadata/")
    run("DROP TABLE t")
    assert Path(metadata.removeprefix("file://")).exists()
