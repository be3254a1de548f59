"""Names of folders and files that a URL or a pattern would take apart.

Every path in this library is plain text. It is percent-encoded only where a format says so: in the log
of Delta, and in the folders of Hive. ``*``, ``?`` and ``[`` are a pattern only in the source of an
import, and only if there is no file of that name.
"""

from __future__ import annotations

import io
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from publish.engines import connect_duckdb
from pyspark_versioned.registering import catalog_class
from s3.server import Server
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ODD = (" ", "a%20b", "a%2Fb", "[", "a?b", "a*b", "a{1,2}b", "a:b", 'a"b', "u\u0308", "-a")
ODDER = (
    *(
        "a b",
        "a%b",
        "a[1]",
        "a]b",
        "a**b",
        "ü",
        "日本",
        "🙂",
        "a+b",
        "a&b=c",
        "=",
        "a;b",
        "a,b",
        "a'b",
    ),
    *("a`b", "a$b", "~a", "a|b<c>"),
)
SHORT = ("a [1] 50%ü", "a#b")
odd = pytest.mark.parametrize(
    "name",
    [
        *SHORT,
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ODD),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ODDER),
    ],
)
"""In the short set two names, of which one has most of it; then those that others take apart."""

UNREADABLE = {"deltalake": {"a%20b", "a%2Fb"}, "pyiceberg": {"a#b", "a?b"}, "duckdb": {'a"b'}}
"""What other libraries take apart: folders that they read or write elsewhere."""
ROWS = pa.table({"id": [1, 2, 3], "v": ["a", None, "c"]})
EXPECTED = ROWS.to_pylist()


def shown(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.scan(["id", "v"]).to_arrow().sort_by("id").to_pylist()
    return found


def write(path: Path, rows: pa.Table = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    return path


@odd
def test_a_warehouse_is_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    for place in (tmp_path / name, f"file://{tmp_path}/{name}"):
        catalog = Catalog(place)
        table = catalog.create_table("t", "id BIGINT, v STRING")
        table.append(ROWS)
        table.alter().add_column("w", "INT", default=5).commit()
        assert shown(table) == EXPECTED
        assert shown(Catalog(place).load_table("t")) == EXPECTED
        assert sorted(catalog.list_tables()) == ["t"]
        assert table.to_duckdb(duckdb.connect()).filter("id = 2").fetchall() == [(2, None, 5)]
        assert table.to_polars().collect().height == 3
        table.delete([("id", "=", 1)])
        table.maintenance.compact()
        table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        assert shown(table) == EXPECTED[1:]
        catalog.drop_table("t")
        shutil.rmtree(tmp_path / name)


@odd
def test_a_table_is_published_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    catalog = Catalog(tmp_path / name)
    table = catalog.create_table("t", "id BIGINT, v STRING", properties={"publish": "iceberg"})
    table.append(ROWS)
    table.delete([("id", "=", 1)])
    metadata = table.maintenance.publish().metadata
    expected = EXPECTED[1:]
    if name not in UNREADABLE["pyiceberg"]:
        assert StaticTable.from_metadata(metadata).scan().to_arrow().to_pylist() == expected
    if name in UNREADABLE["duckdb"]:
        return
    path = metadata.removeprefix("file://").replace("'", "''")
    sql = f"SELECT * FROM iceberg_scan('{path}') ORDER BY id"
    assert connect_duckdb().execute(sql).to_arrow_table().to_pylist() == expected


@odd
@pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])
def test_files_and_folders_of_any_name_are_imported(tmp_path: Path, name: str, copy: bool) -> None:
    lake = tmp_path / name / "lake"
    for folder in ("", f"{name}/"):
        write(lake / f"{folder}{name}.parquet")
        write(lake / f"{folder}a1.parquet", pa.table({"id": [9], "v": ["another file"]}))
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": lake})
    sources = (
        lake / f"{name}.parquet",
        lake / name / f"{name}.parquet",
        f"root:lake/{name}/{name}.parquet",
        f"file://{lake}/{name}.parquet",
    )
    for number, source in enumerate(sources):
        catalog.import_files(f"t{number}", source, copy=copy)
        assert shown(catalog.load_table(f"t{number}")) == EXPECTED, source
    catalog.import_files("folder", lake / name, copy=copy)
    assert catalog.load_table("folder").count() == 4
    catalog.import_files("pattern", f"{lake}/**/*.parquet", copy=copy)
    assert catalog.load_table("pattern").count() == 8
    outside = Catalog(tmp_path / "warehouse")
    outside.import_files("outside", lake / name / f"{name}.parquet", copy=True)
    assert shown(outside.load_table("outside")) == EXPECTED


def test_names_of_files_come_before_patterns(tmp_path: Path) -> None:
    for file in ("a[1].parquet", "a1.parquet", "a[2]/x.parquet", "a2/x.parquet", "a2/y.parquet"):
        write(tmp_path / "lake" / file, pa.table({"file": [file]}))
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": tmp_path / "lake"})
    found = {
        "a[1].parquet": ["a[1].parquet"],
        "a[[]1].parquet": ["a[1].parquet"],
        "a[1-9].parquet": ["a1.parquet"],
        "a[2]/*.parquet": ["a[2]/x.parquet"],
        "a[2-3]/*": ["a2/x.parquet", "a2/y.parquet"],
        "a[!3-9]/[^x].parquet": ["a2/y.parquet"],
        "**/*[[]*/*": ["a[2]/x.parquet"],
    }
    for number, (source, files) in enumerate(found.items()):
        for copy in (True, False):
            catalog.import_files(f"t{number}{copy}", f"root:lake/{source}", copy=copy)
            rows = catalog.load_table(f"t{number}{copy}").scan().to_arrow()
            assert sorted(rows["file"].to_pylist()) == files, source


@pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])
def test_names_that_no_path_of_a_table_has_are_refused_with_the_reason(
    tmp_path: Path, copy: bool
) -> None:
    write(tmp_path / "lake" / "a\\b.parquet")
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": tmp_path / "lake"})
    for source in ("", "*", "a\\b.parquet"):
        with pytest.raises(InvalidRequestError, match=r"'a\\\\b.parquet' has a backslash.* rename"):
            catalog.import_files("t", f"root:lake/{source}", copy=copy)


@odd
def test_values_of_any_kind_stand_in_folders_of_hive(tmp_path: Path, name: str) -> None:
    lake = tmp_path / "lake"
    write(lake / f"v={quote(name, safe='')}/part.parquet", pa.table({"id": [1]}))
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": lake})
    catalog.import_files("t", lake)
    assert shown(catalog.load_table("t")) == [{"id": 1, "v": name}]


@odd
def test_values_of_any_kind_partition_a_table(tmp_path: Path, name: str) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, v STRING", partitioned_by=["v"])
    table.append(pa.table({"id": [1, 2], "v": [name, "other"]}))
    assert table.scan(filters=[("v", "=", name)]).to_arrow().to_pylist() == [{"id": 1, "v": name}]


@odd
def test_delta_tables_in_folders_of_any_name_are_converted(tmp_path: Path, name: str) -> None:
    made, folder = tmp_path / "made", tmp_path / name / name / "d"
    folder.parent.mkdir(parents=True)

    def append(rows: pa.Table) -> None:
        """Write where deltalake can: it can't in folders with brackets or what looks encoded."""
        if folder.exists():
            folder.rename(made)
        write_deltalake(str(made), rows, mode="append", partition_by=["v"])
        made.rename(folder)

    append(pa.table({"id": [1], "v": [name]}))
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": tmp_path / name})
    if name in UNREADABLE["deltalake"]:
        with pytest.raises(InvalidRequestError, match="is not a Delta table that can be read"):
            catalog.convert("t", str(folder))
        return
    table = catalog.convert("t", str(folder))
    assert shown(table) == [{"id": 1, "v": name}]
    assert table.source is not None
    assert table.source.location.rstrip("/").removeprefix("file://") == str(folder)
    append(pa.table({"id": [2], "v": [None]}, ROWS.schema))
    table.sync()
    assert shown(table) == [{"id": 1, "v": name}, {"id": 2, "v": None}]
    keyed = catalog.convert("keyed", DeltaTable(str(folder)), copy=True, primary_key=["id"])
    assert shown(keyed) == shown(table)


@odd
def test_iceberg_tables_in_folders_of_any_name_are_converted(tmp_path: Path, name: str) -> None:
    place = "i" if name in UNREADABLE["pyiceberg"] else name
    lake = tmp_path / place
    lake.mkdir()
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{lake}")
    made.create_namespace("n")
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "v", StringType()))
    by_value = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "v"))
    source = made.create_table(
        "n.t", schema, location=f"file://{lake}/{place}/i", partition_spec=by_value
    )
    source.append(pa.table({"id": [1], "v": [name]}))
    catalog = Catalog(tmp_path / "warehouse", roots={"lake": lake})
    table = catalog.convert("t", str(lake / place / "i"))
    assert shown(table) == [{"id": 1, "v": name}]
    source.append(pa.table({"id": [2], "v": [None]}, ROWS.schema))
    table.sync()
    assert shown(table) == [{"id": 1, "v": name}, {"id": 2, "v": None}]


@pytest.mark.thorough
def test_the_command_line_takes_any_name(tmp_path: Path) -> None:
    for name in (*SHORT, *ODD, *ODDER):
        lake = tmp_path / name
        source = write(lake / f"{name}.parquet")

        def run(*arguments: str, lake: Path = lake) -> str:
            shared = ["--warehouse", f"{lake}/w", "--root", f"lake={lake}"]
            done = CliRunner().invoke(main, [*shared, *arguments])
            assert done.exit_code == 0, (lake, done.output)
            return str(done.output)

        run("import", "t", str(source))
        assert "3" in run("describe", f"{lake}/w/t")
        assert shown(Catalog(f"{lake}/w", roots={"lake": lake}).load_table("t")) == EXPECTED


@pytest.mark.thorough
@pytest.mark.parametrize("names", [SHORT, pytest.param((*ODD, *ODDER), marks=pytest.mark.nightly)])
def test_keys_of_s3_have_any_name(
    s3: Server, s3_place: str, tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        if "?" in name or name == " ":
            continue  # a URL of S3 has no query, and no blanks at its end
        place = f"{s3_place}/{name}"
        catalog = Catalog(f"{place}/w", storage_options=s3.options, roots={"lake": place})
        data = io.BytesIO()
        pq.write_table(ROWS, data)
        with catalog._store.child("made").create(f"{name}.parquet") as file:
            file.write(data.getvalue())
        catalog.import_files("t", f"{place}/w/made/{name}.parquet", copy=True)
        table = catalog.load_table("t")
        table.append(pa.table({"id": [4]}))
        table.delete([("id", "=", 4)])
        table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        assert shown(Catalog(f"{place}/w", storage_options=s3.options).load_table("t")) == EXPECTED


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("number, name", list(enumerate((*SHORT, "a?b", "a%20b", "a:b"))))
def test_spark_reads_and_writes_below_any_name(
    spark: SparkSession, tmp_path: Path, number: int, name: str
) -> None:
    lake, here = tmp_path / name, f"odd{number}"
    write(lake / name / f"{name}.parquet")
    session = spark.newSession()
    session.conf.set("spark.versioned.io", "native")
    session.conf.set(f"spark.sql.catalog.{here}", catalog_class())
    session.conf.set(f"spark.sql.catalog.{here}.warehouse", str(lake / "w"))
    session.conf.set(f"spark.sql.catalog.{here}.root.lake", str(lake))
    session.sql(f"CREATE TABLE {here}.t (id BIGINT, v STRING)")
    session.sql(f"INSERT INTO {here}.t VALUES (4, '{name}')")
    source = f"{lake}/{name}/{name}.parquet"
    session.sql(f"CALL {here}.system.import_files(table => 't', source => '{source}')")
    session.sql(f"UPDATE {here}.t SET v = '{name}' WHERE id = 3")
    found = [tuple(row) for row in session.sql(f"SELECT id, v FROM {here}.t ORDER BY id").collect()]
    assert found == [(1, "a"), (2, None), (3, name), (4, name)], name
    by_path = session.read.format("versioned").option("root.lake", str(lake))
    assert by_path.load(str(lake / "w" / "t")).count() == 4
    session.sql(f"CREATE TABLE {here}.p PARTITIONED BY (v) AS SELECT * FROM {here}.t")
    where = session.sql(f"SELECT id FROM {here}.p WHERE v = '{name}' ORDER BY id").collect()
    assert [row.id for row in where] == [3, 4]
