"""Unusual names of tables, columns and segment files in Spark: they round-trip, or are refused.

Needs a JVM because Spark and Hadoop parse the names and paths.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sealing import sealed
from sql.plans import is_native, plan_of
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [
    *(
        "a b",
        " x ",
        "..",
        "a.b",
        "a/../b",
        "/etc",
        "data",
        "_versioned",
        "con",
        "x.",
        "a%2Fb",
        "a\\b",
    ),
    *("a'b", 'a"b', "a`b", "{x,y}", "*?[a]", "#", "a:b", "s3://b/k", "a;b--", "a,b=c", "$x{y}"),
    *("\u00e9", "e\u0301", "ß", "İ", "日本語" * 30, "\U0001f600", "\u202eab", "<b>&amp;"),
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.nightly
def test_unusual_names_of_columns(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """All names are columns of one table, since each statement takes a while."""
    columns = ", ".join(f"{quoted(name)} INT" for name in NAMES)
    wide = f"versioned.{ns}.wide"
    sql_spark.sql(f"CREATE TABLE {wide} ({columns}, s STRUCT<{columns.replace(' INT', ': INT')}>)")
    values = ", ".join(str(n) for n in range(len(NAMES)))
    fields = ", ".join(f"'{_escaped(name)}', {n}" for n, name in enumerate(NAMES))
    sql_spark.sql(f"INSERT INTO {wide} SELECT {values}, named_struct({fields})")
    frame = sql_spark.table(wide)
    assert frame.columns == [*NAMES, "s"]
    assert is_native(frame)
    (row,) = frame.collect()
    assert list(row)[:-1] == list(range(len(NAMES)))
    assert row.s.asDict() == {name: n for n, name in enumerate(NAMES)}
    conditions = [
        f"{quoted(name)} = {n} AND s.{quoted(name)} = {n}" for n, name in enumerate(NAMES)
    ]
    assert sql_spark.sql(f"SELECT 1 FROM {wide} WHERE {' AND '.join(conditions)}").count() == 1
    read = catalog.load_table(f"{ns}.wide").scan().to_arrow()
    assert read.column_names == [*NAMES, "s"]
    folder = str(catalog.load_table(f"{ns}.wide").location)
    plain = sql_spark.read.format("versioned").option("io", "python").load(folder)
    assert plain.collect() == [row]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(NAMES[:12], marks=pytest.mark.nightly, id="paths"),
        pytest.param(NAMES[12:23], id="signs"),
        pytest.param(NAMES[23:], marks=pytest.mark.nightly, id="letters"),
    ],
)
def test_unusual_names_of_tables_and_namespaces(
    names: list[str], sql_spark: SparkSession, catalog: Catalog, ns: str, warehouse: Path
) -> None:
    beside = sorted(path.name for path in warehouse.parent.iterdir())
    for n, name in enumerate(names):
        where = f"versioned.{ns}.{quoted(name)}"
        sql_spark.sql(f"CREATE NAMESPACE {where}")
        sql_spark.sql(f"CREATE TABLE {where}.{quoted(name)} AS SELECT {n} AS a")
    shown = [row.namespace for row in sql_spark.sql(f"SHOW NAMESPACES IN versioned.{ns}").collect()]
    assert len(shown) == len(names)
    for n, name in enumerate(names):
        where = f"versioned.{ns}.{quoted(name)}"
        assert [r.tableName for r in sql_spark.sql(f"SHOW TABLES IN {where}").collect()] == [name]
        assert [row.a for row in sql_spark.table(f"{where}.{quoted(name)}").collect()] == [n]
        assert catalog.load_table((ns, name, name)).scan().to_arrow() == pa.table(
            {"a": pa.array([n], pa.int32())}
        )
        sql_spark.sql(f"DROP TABLE {where}.{quoted(name)}")
    assert sorted(path.name for path in warehouse.parent.iterdir()) == beside


@pytest.mark.parametrize("name", ["a\nb", "x" * 256])
def test_names_that_are_refused(name: str, sql_spark: SparkSession, ns: str) -> None:
    with pytest.raises(Exception, match=r"control characters|use up to 255"):
        sql_spark.sql(f"CREATE TABLE versioned.{ns}.{quoted(name)} (a INT)")


PATHS = [
    *("a{b,c}.parquet", "*.parquet", "?.parquet", "[ab].parquet", "a%41.parquet", "a%2Fb.parquet"),
    *(
        "a#b.parquet",
        "a b+c.parquet",
        "é.parquet",
        "file:.parquet",
        "a:b.parquet",
        "a;b=c&d.parquet",
    ),
    *("_hidden.parquet", "s3://x/y.parquet", "hdfs:/x.parquet", "root:a/x.parquet"),
]


@pytest.mark.nightly
@pytest.mark.parametrize("io", ["native", "python"])
def test_unusual_paths_of_segments(
    io: str, sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """A path is read as the file of exactly that name in the table's folder; no pattern is expanded."""
    table = catalog.create_table(f"{ns}.t", "a INT")
    for value in range(len(PATHS)):
        table.append(pa.table({"a": pa.array([value], pa.int32())}))
    folder = Path(table.location)
    renamed = {}
    for value, name in enumerate(PATHS):
        log = folder / "_versioned" / "log" / f"{value + 1:020d}.json"
        entry = json.loads(log.read_text())
        old, new = folder / entry["added"][0]["path"], folder / "data" / name
        if "//" in name:
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        entry["added"][0]["path"] = f"data/{name}"
        log.write_text(sealed(entry))
        renamed[value] = name
    for stale in ("checkpoint", "last_checkpoint.json"):  # they hold the old paths
        shutil.rmtree(folder / "_versioned" / stale, ignore_errors=True)
    for decoy in ("ab.parquet", "aA.parquet", "x.parquet", "aA.parquet", "a.parquet"):
        (folder / "data" / decoy).write_bytes(b"no segment")
    frame = sql_spark.read.format("versioned").option("io", io).load(str(folder))
    if io == "native":
        assert "native={0=1}, python={0=15}" in plan_of(frame)
    assert sorted(row.a for row in frame.collect()) == list(range(len(PATHS)))
    assert len(renamed) > 10
