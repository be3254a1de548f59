"""CONVERT TO DELTA of a folder of Parquet files: a versioned table there, which has the files in "
"place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sql.test_location_sql import Places
from versioned_catalog import AlreadyExistsError, Catalog, CorruptTableError, InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write(folder: Path) -> None:
    for part in (1, 2):
        (folder / f"p={part}").mkdir(parents=True)
        rows = pa.table({"id": pa.array([part, part + 10], pa.int32())})
        pq.write_table(rows, folder / f"p={part}/a.parquet")


@pytest.fixture
def places(spark: SparkSession, tmp_path: Path) -> Places:
    return Places(spark, tmp_path)


@pytest.mark.thorough
def test_the_statements_of_a_migration(places: Places) -> None:
    run = places.run
    write(places.raw / "pipe")
    before = {path: path.read_bytes() for path in places.raw.rglob("*.parquet")}
    done = run("CONVERT TO DELTA parquet.`$RAW/pipe/` NO STATISTICS PARTITIONED BY (p BIGINT)")
    assert done == [(f"{places.raw}/pipe", 2, 1)]
    run("CREATE TABLE events USING DELTA LOCATION '$RAW/pipe/'")
    assert run("SELECT * FROM events ORDER BY id") == [(1, 1), (2, 2), (11, 1), (12, 2)]
    assert str(places.catalog.load_table("db.events").schema) == "id INT, p BIGINT"
    assert "PARTITIONED BY (p)" in run("SHOW CREATE TABLE events")[0][0]
    run("INSERT INTO events VALUES (3, 7)")
    run("DELETE FROM events WHERE p = 1")
    run("OPTIMIZE events FULL")
    run("VACUUM events")
    assert run("SELECT * FROM events ORDER BY id") == [(2, 2), (3, 7), (12, 2)]
    assert {path: path.read_bytes() for path in before} == before
    run("DROP TABLE events")
    reader = places.spark.read.format("versioned").option("root.raw", str(places.raw))
    assert reader.load(f"{places.raw}/pipe").count() == 3
    places.refused("CONVERT TO DELTA parquet.`$RAW/pipe`", "is a versioned table already")


def test_partitions_stand_in_paths(places: Places) -> None:
    write(places.raw / "pipe")
    places.run(f"CONVERT TO VERSIONED {places.name}.parquet.`$RAW/pipe`")
    table = Catalog.load_path(places.raw / "pipe", roots={"raw": places.raw})
    assert table.partitioning == ["p"]
    assert table.count() == 4


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CONVERT TO DELTA parquet.`/tmp/elsewhere`", "does not lie below an external root"),
        ("CONVERT TO DELTA parquet.`$RAW/nothing`", "there is no file or folder"),
        ("CONVERT TO DELTA iceberg.`$RAW/x`", r"CALL system\.convert\('db\.name', "),
        ("CONVERT TO DELTA events", r"CALL system\.snapshot\(source_table => "),
        ("CONVERT TO DELTA parquet.`$RAW/x` PARTITIONED BY p", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_is_refused(places: Places, statement: str, message: str) -> None:
    places.refused(statement, message)
    assert not places.raw.exists()


def test_by_python(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"raw": tmp_path / "raw"})
    write(tmp_path / "raw/pipe")
    table, done = catalog.convert_files(tmp_path / "raw/pipe", partitioned_by=["p"])
    assert (table.count(), done.files, table.partitioning) == (4, 2, ["p"])
    named = catalog.register_table("t", tmp_path / "raw/pipe")
    assert sorted(named.scan().to_arrow()["id"].to_pylist()) == [1, 2, 11, 12]
    with pytest.raises(AlreadyExistsError, match="is a versioned table already"):
        catalog.convert_files(tmp_path / "raw/pipe")
    with pytest.raises(InvalidRequestError, match="below neither"):
        catalog.convert_files(tmp_path / "elsewhere")
    (tmp_path / "raw/pipe/p=1/a.parquet").unlink()
    with pytest.raises(CorruptTableError, match="its owner has moved or deleted"):
        catalog.load_table("t").scan().to_arrow()


def test_files_that_do_not_fit_together_make_no_table(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"raw": tmp_path / "raw"})
    write(tmp_path / "raw/pipe")
    pq.write_table(pa.table({"id": ["text"]}), tmp_path / "raw/pipe/p=1/b.parquet")
    with pytest.raises(InvalidRequestError, match="id"):
        catalog.convert_files(tmp_path / "raw/pipe")
    assert not (tmp_path / "raw/pipe/_versioned").exists()


def test_like_keeps_the_names_of_partition_fields(places: Places) -> None:
    places.run("CREATE TABLE t (id INT, day DATE)")
    places.run("ALTER TABLE t ADD PARTITION FIELD bucket(16, id) AS shard")
    places.run("ALTER TABLE t ADD PARTITION FIELD day")
    places.run("CREATE TABLE u LIKE t")
    assert places.catalog.load_table("db.u").partitioning == ["bucket(16, id)", "day"]
    places.run("ALTER TABLE u DROP PARTITION FIELD shard")
    assert places.catalog.load_table("db.u").partitioning == ["day"]


def test_a_conversion_that_died_is_not_registered(
    tmp_path: Path,
) -> None:
    catalog = Catalog(tmp_path / "w", roots={"raw": tmp_path / "raw"})
    write(tmp_path / "raw/pipe")
    table = Catalog.create_path(
        tmp_path / "raw/pipe", "id INT", properties={"convert.unfinished": "true"}
    )  # as the creation of a conversion leaves it
    assert table.version == 0
    with pytest.raises(InvalidRequestError, match="its conversion did not finish"):
        catalog.register_table("t", tmp_path / "raw/pipe")
    with pytest.raises(AlreadyExistsError, match="an earlier conversion did not finish"):
        catalog.convert_files(tmp_path / "raw/pipe")
    shutil.rmtree(tmp_path / "raw/pipe/_versioned")
    table, _ = catalog.convert_files(tmp_path / "raw/pipe", partitioned_by=["p"])
    assert table.count() == 4
    assert table.properties == {}
    assert catalog.register_table("t", tmp_path / "raw/pipe").count() == 4


def test_a_folder_with_a_subfolder_data_is_left_alone(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"raw": tmp_path / "raw"})
    (tmp_path / "raw/pipe/data").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "raw/pipe/data/g.parquet")
    with pytest.raises(InvalidRequestError, match="has a folder data"):
        catalog.convert_files(tmp_path / "raw/pipe")
    assert not (tmp_path / "raw/pipe/_versioned").exists()
