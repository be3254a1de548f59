"""system.snapshot and add_files take in the files of tables of Spark's own catalog, in place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sql.test_location_sql import Places
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Hive(Places):
    """A session with a database of Spark's own catalog below the root."""

    def call(self, procedure: str, arguments: str) -> list[tuple[object, ...]]:
        return self.run(f"CALL {self.name}.system.{procedure}({arguments})")


@pytest.fixture
def hive(spark: SparkSession, tmp_path: Path) -> Iterator[Hive]:
    hive = Hive(spark, tmp_path)
    hive.run("CREATE DATABASE spark_catalog.src LOCATION '$RAW/src'")
    hive.run(
        "CREATE TABLE spark_catalog.src.t (id BIGINT, p STRING) USING parquet PARTITIONED BY (p)"
    )
    hive.run("INSERT INTO spark_catalog.src.t VALUES (1, 'x y'), (2, 'q'), (3, NULL)")
    yield hive
    hive.run("DROP DATABASE spark_catalog.src CASCADE")


ROWS = [(1, "x y"), (2, "q"), (3, None)]


def test_a_snapshot_has_the_files_of_the_source_in_place(hive: Hive) -> None:
    run = hive.run
    assert hive.call("snapshot", "'src.t', 'db.t', NULL, map('k', 'v')") == [(3,)]
    assert run("SELECT * FROM db.t ORDER BY id") == ROWS
    assert {p.split("/")[0] for (p,) in run("SELECT path FROM db.t.segments")} == {"root:raw"}
    shown = run("SHOW CREATE TABLE db.t")[0][0]
    assert "PARTITIONED BY (p)" in shown
    assert "'k' = 'v'" in shown
    run("INSERT INTO db.t VALUES (4, 'q')")
    run("DELETE FROM db.t WHERE p = 'x y'")
    assert run("SELECT * FROM spark_catalog.src.t ORDER BY id") == ROWS
    assert run("SELECT id FROM db.t ORDER BY id") == [(2,), (3,), (4,)]
    with pytest.raises(Exception, match=r"db\.t: there is a table of that name already"):
        hive.call("snapshot", "'src.t', 'db.t'")


def test_a_snapshot_with_a_location(hive: Hive) -> None:
    arguments = "source_table => 'spark_catalog.src.t', table => 'db.t', location => '{}/snap'"
    assert hive.call("snapshot", arguments.format(hive.raw)) == [(3,)]
    assert hive.catalog.load_table("db.t").location == f"{hive.raw}/snap"
    assert Catalog.load_path(hive.raw / "snap", roots={"raw": hive.raw}).count() == 3


def test_a_snapshot_of_a_folder_an_empty_table_and_orc(hive: Hive) -> None:
    run = hive.run
    assert hive.call("snapshot", f"'parquet.`{hive.raw}/src/t`', 'db.a'") == [(3,)]
    assert run("SELECT * FROM db.a ORDER BY id") == ROWS
    assert "PARTITIONED BY (p)" in run("SHOW CREATE TABLE db.a")[0][0]
    run("CREATE TABLE spark_catalog.src.e (id INT COMMENT 'c', v VARCHAR(5)) USING parquet")
    assert hive.call("snapshot", "'src.e', 'db.e'") == [(0,)]
    assert str(hive.catalog.load_table("db.e").schema) == "id INT COMMENT 'c', v VARCHAR(5)"
    run("CREATE TABLE spark_catalog.src.o (id INT) USING orc")
    run("INSERT INTO spark_catalog.src.o VALUES (7)")
    assert hive.call("snapshot", "'src.o', 'db.o'") == [(1,)]
    assert run("SELECT * FROM db.o") == [(7,)]


def test_partitions_that_spark_sees_otherwise_are_refused(hive: Hive) -> None:
    run = hive.run
    run("ALTER TABLE spark_catalog.src.t ADD PARTITION (p = 'far') LOCATION '$RAW/far'")
    run("CREATE TABLE db.into (id BIGINT, p STRING) PARTITIONED BY (p)")
    calls = (("snapshot", "'src.t', 'db.t'"), ("add_files", "'db.into', 'src.t'"))
    for procedure, arguments in calls:
        with pytest.raises(Exception, match=r"partition .*/far of src\.t is outside the folder"):
            hive.call(procedure, arguments)
    run("ALTER TABLE spark_catalog.src.t DROP PARTITION (p = 'far')")
    run(
        "CREATE TABLE spark_catalog.src.x (id INT, p STRING) USING parquet PARTITIONED BY (p) "
        "LOCATION '$RAW/x'"
    )
    run("INSERT INTO spark_catalog.src.x VALUES (1, 'a'), (2, 'b')")
    run("ALTER TABLE spark_catalog.src.x DROP PARTITION (p = 'a')")
    assert run("SELECT * FROM spark_catalog.src.x") == [(2, "b")]
    with pytest.raises(
        Exception, match=r"/x/p=a has files of a partition that src\.x does not have"
    ):
        hive.call("snapshot", "'src.x', 'db.x'")
    run("MSCK REPAIR TABLE spark_catalog.src.x")
    assert hive.call("snapshot", "'src.x', 'db.x'") == [(2,)]
    assert run("SELECT * FROM db.x ORDER BY id") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("src.nothing", r"db\.t: there is no table src\.nothing in spark_catalog"),
        ("db.own", "is a versioned table; write INSERT INTO"),
        ("src.c", r"src\.c is a table of csv; copy its rows with CALL system\.import_files"),
        ("src.v", "there is no table"),
        ("parquet.`/tmp/elsewhere`", "does not lie below an external root"),
    ],
)
def test_other_sources_are_refused(hive: Hive, source: str, message: str) -> None:
    hive.run("CREATE TABLE db.own (id INT)")
    hive.run("CREATE TABLE spark_catalog.src.c (id INT) USING csv")
    hive.run("CREATE VIEW spark_catalog.src.v AS SELECT 1 AS id")
    hive.run("CREATE TABLE db.into (id BIGINT, p STRING) PARTITIONED BY (p)")
    with pytest.raises(Exception, match=message):
        hive.call("snapshot", f"'{source}', 'db.t'")
    with pytest.raises(Exception, match=message.replace(r"db\.t", r"db\.into")):
        hive.call("add_files", f"'db.into', '{source}'")
    assert not hive.catalog.table_exists("db.t")


def test_a_snapshot_that_fails_leaves_no_table(hive: Hive) -> None:
    hive.run("CREATE TABLE spark_catalog.src.n (id INT, s STRING) USING parquet")
    hive.run("INSERT INTO spark_catalog.src.n VALUES (1, 'a')")
    (file,) = (hive.raw / "src/n").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(Exception, match=r"can.t import .*1 of its files can.t be read"):
        hive.call("snapshot", "'src.n', 'db.n'")
    assert not hive.catalog.table_exists("db.n")


def test_a_snapshot_that_fails_late_leaves_no_table(hive: Hive) -> None:
    """Whether a nanosecond is lost shows when the file is adopted, after the table was created."""
    (hive.raw / "ns").mkdir()
    pq.write_table(pa.table({"t": pa.array([1], pa.timestamp("ns"))}), hive.raw / "ns/a.parquet")
    with pytest.raises(Exception, match="nanoseconds"):
        hive.call("snapshot", f"'parquet.`{hive.raw}/ns`', 'db.n'")
    assert not hive.catalog.table_exists("db.n")
    with pytest.raises(InvalidRequestError, match="nanoseconds"):
        hive.catalog.convert_files(hive.raw / "ns")
    with pytest.raises(NotFoundError):
        Catalog.load_path(hive.raw / "ns")


def test_add_files_by_the_name_of_a_table(hive: Hive) -> None:
    run = hive.run
    run("CREATE TABLE db.t (id BIGINT, p STRING) PARTITIONED BY (p)")
    one = "table => 'db.t', source_table => 'src.t', partition_filter => map('p', 'q')"
    assert hive.call("add_files", one) == [(1, 1, 1)]
    assert run("SELECT * FROM db.t") == [(2, "q")]
    assert hive.call("add_files", "table => 'db.t', source_table => 'spark_catalog.src.t'") == [
        (2, 2, 2)
    ]
    assert run("SELECT * FROM db.t ORDER BY id") == ROWS


def test_migrate_names_snapshot(hive: Hive) -> None:
    with pytest.raises(Exception, match=r"CALL system\.snapshot\(source_table => "):
        hive.call("migrate", "'src.t'")
