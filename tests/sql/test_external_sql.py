"""Spark reads files of somebody else in place, natively where it is exact, and rewrites their rows."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from external.files import ROOT, mapped, write
from pyspark_versioned.registering import catalog_class
from sql.plans import is_native, is_python, plan_of, pruned
from versioned_catalog import Catalog, Table
from versioned_catalog.model.parquet_forms import Form

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


class Lake:
    """A session with a catalog of its own, and a root beside its warehouse."""

    def __init__(self, spark: SparkSession, folder: Path, *, with_root: bool = True) -> None:
        self.name = f"lake{next(_numbers)}"
        self.folder = folder / "raw"
        self.warehouse = folder / "warehouse"
        self.roots = {ROOT: str(self.folder)}
        self.catalog = Catalog(self.warehouse, roots=self.roots)
        self.spark = spark.newSession()
        name = f"spark.sql.catalog.{self.name}"
        self.spark.conf.set("spark.versioned.io", "native")
        self.spark.conf.set(name, catalog_class())
        self.spark.conf.set(f"{name}.warehouse", str(self.warehouse))
        if with_root:
            self.spark.conf.set(f"{name}.root.{ROOT}", str(self.folder))

    def table(self, columns: str, **how: Any) -> Table:
        return self.catalog.create_table("t", columns, **how)

    def add(
        self,
        table: Table,
        name: str,
        rows: pa.Table,
        written: dict[str, Any] | None = None,
        **how: Any,
    ) -> None:
        """Write a file, with options of PyArrow, and adopt it, with arguments of ``mapped``."""
        write(self.folder, name, rows, **(written or {}))
        table.append_external([mapped(table, name, **how)])

    def sql(self, text: str) -> Any:
        return self.spark.sql(text.replace("@t", f"{self.name}.t"))

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.sql(text).collect()]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


PLAIN = pa.table(
    {
        "extra": [7, 8, 9],
        "Host": ["a", "b", None],
        "n": pa.array([1, 2, 3], pa.int32()),
        "s": [{"b": 1, "a": "x"}, None, {"b": 2, "a": None}],
    }
)
COLUMNS = (
    "host STRING, n BIGINT, day DATE, s STRUCT<a: STRING, b: BIGINT, c: INT>, "
    "missing STRING DEFAULT 'm'"
)


def plain(lake: Lake) -> Table:
    table = lake.table(COLUMNS)
    for day in (1, 2):
        how = {"names": {"host": "Host"}, "constants": {"day": str(day)}}
        lake.add(table, f"day={day}/x.parquet", PLAIN, {"row_group_size": 2}, **how)
    return table


def test_a_plain_file_is_read_natively(lake: Lake) -> None:
    table = plain(lake)
    frame = lake.sql("SELECT host, n, day, s.b, s.c, missing, _segment FROM @t ORDER BY day, n")
    assert is_native(frame)
    days = [dt.date(1970, 1, 2), dt.date(1970, 1, 3)]
    expected = [
        (host, n, day, b, None, "m", f"root:lake/day={at}/x.parquet")
        for at, day in enumerate(days, 1)
        for host, n, b in (("a", 1, 1), ("b", 2, None), (None, 3, 2))
    ]
    assert [tuple(row) for row in frame.collect()] == expected
    frame = lake.sql("SELECT n FROM @t WHERE day = DATE'1970-01-03' AND n > 1 AND missing = 'm'")
    assert pruned(frame) == (1, 2)
    assert sorted(row[0] for row in frame.collect()) == [2, 3]
    assert lake.rows("SELECT count(*), max(n), min(day), max(day) FROM @t") == [(6, 3, *days)]
    assert lake.rows("SELECT host FROM @t WHERE s IS NULL AND n = 2") == [("b",), ("b",)]
    table.alter().rename_column("n", "number").add_column("later", "INT", default=5).commit()
    lake.sql("REFRESH TABLE @t")
    assert lake.rows("SELECT sum(number), sum(later) FROM @t") == [(12, 30)]


FORMS = {
    "u8": (pa.array([0, 255, None], pa.uint8()), "SMALLINT", [0, 255, None]),
    "u16": (pa.array([0, 65535, None], pa.uint16()), "INT", [0, 65535, None]),
    "u32": (pa.array([0, 2**32 - 1, None], pa.uint32()), "BIGINT", [0, 2**32 - 1, None]),
    "u64": (
        pa.array([0, 2**64 - 1, None], pa.uint64()),
        "DECIMAL(20,0)",
        [Decimal(0), Decimal(2**64 - 1), None],
    ),
    "ms": (
        pa.array([-1, 1_700_000_000_001, None], pa.timestamp("ms")),
        "TIMESTAMP_NTZ",
        [
            dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
            dt.datetime(2023, 11, 14, 22, 13, 20, 1000),
            None,
        ],
    ),
}


def test_forms_that_spark_reads_are_native(lake: Lake) -> None:
    table = lake.table(", ".join(f"{name} {type_}" for name, (_, type_, _) in FORMS.items()))
    lake.add(table, "x.parquet", pa.table({name: one[0] for name, one in FORMS.items()}))
    frame = lake.sql("SELECT * FROM @t")
    assert is_native(frame)
    expected = list(zip(*(one[2] for one in FORMS.values()), strict=True))
    assert [tuple(row) for row in frame.collect()] == expected
    assert table.scan().to_arrow().to_pylist() == [
        dict(zip(FORMS, row, strict=True)) for row in expected
    ]
    for name, (_, _, values) in FORMS.items():
        literal = {"ms": "TIMESTAMP_NTZ'2023-11-14 22:13:20.001'"}.get(name, str(values[1]))
        found = lake.sql(f"SELECT {name} FROM @t WHERE {name} = {literal}")
        assert is_native(found)
        assert [row[0] for row in found.collect()] == [values[1]], name


def test_int96_is_native(lake: Lake) -> None:
    table = lake.table("ts TIMESTAMP")
    times = [-1_500, 1_700_000_000_000_001_999, None]
    rows = pa.table({"ts": pa.array(times, pa.timestamp("ns"))})
    lake.add(table, "x.parquet", rows, {"use_deprecated_int96_timestamps": True})
    frame = lake.sql("SELECT unix_micros(ts) FROM @t")
    assert is_native(frame)
    assert [row[0] for row in frame.collect()] == [-2, 1_700_000_000_000_001, None]
    assert table.scan().to_arrow()["ts"].cast(pa.int64()).to_pylist() == [
        -2,
        1_700_000_000_000_001,
        None,
    ]


@pytest.mark.thorough
def test_other_forms_are_read_in_python(lake: Lake) -> None:
    table = lake.table("n INT, ts TIMESTAMP_NTZ, h FLOAT")
    rows = pa.table(
        {
            "n": pa.array([1], pa.int32()),
            "ts": pa.array([1_001], pa.timestamp("ns")),
            "h": pa.array([1.5], pa.float16()),
        }
    )
    lake.add(table, "x.parquet", rows, forms={"ts": Form.NANOS_CUT})
    assert is_python(lake.sql("SELECT ts FROM @t"))
    assert is_python(lake.sql("SELECT h FROM @t"))
    assert is_native(lake.sql("SELECT n FROM @t"))
    assert lake.rows("SELECT * FROM @t") == [(1, dt.datetime(1970, 1, 1, 0, 0, 0, 1), 1.5)]


def test_a_widened_unsigned_column_is_read_in_python(lake: Lake) -> None:
    table = lake.table("n DECIMAL(30,2)")
    lake.add(table, "x.parquet", pa.table({"n": pa.array([2**32 - 1], pa.uint32())}))
    frame = lake.sql("SELECT * FROM @t")
    assert is_python(frame)
    assert [tuple(row) for row in frame.collect()] == [(Decimal(2**32 - 1),)]


@pytest.mark.parametrize("io", ["native", pytest.param("python", marks=pytest.mark.nightly)])
def test_rows_are_rewritten_and_files_stay(lake: Lake, io: str, row_changes: str) -> None:
    lake.spark.conf.set("spark.versioned.io", io)
    table = plain(lake)
    table.alter().set_property("row_changes", row_changes).commit()
    before = {path: path.read_bytes() for path in lake.folder.rglob("*.parquet")}
    lake.sql("DELETE FROM @t WHERE n = 1 AND day = DATE'1970-01-02'")
    lake.sql("UPDATE @t SET host = 'new' WHERE n = 2")
    lake.sql(
        "MERGE INTO @t USING (SELECT 3L AS n, 'merged' AS host) AS s ON t.n = s.n "
        "WHEN MATCHED THEN UPDATE SET host = s.host"
    )
    rows = lake.rows("SELECT host, n, day FROM @t ORDER BY day, n")
    first, second = dt.date(1970, 1, 2), dt.date(1970, 1, 3)
    assert rows == [
        ("new", 2, first),
        ("merged", 3, first),
        ("a", 1, second),
        ("new", 2, second),
        ("merged", 3, second),
    ]
    assert {path: path.read_bytes() for path in lake.folder.rglob("*.parquet")} == before
    assert table.refresh().scan(version=2).count() == 6
    adopted = [path for path in table.state.segments.paths if path.startswith("root:")]
    assert adopted == ([] if row_changes == "copy" else ["root:lake/day=2/x.parquet"])


@pytest.mark.parametrize("io", ["native", "python"])
def test_names_and_ids_of_others_mean_nothing(lake: Lake, io: str) -> None:
    """The file has field IDs and names that are other columns in the table."""
    lake.spark.conf.set("spark.versioned.io", io)
    table = lake.table("a BIGINT, b BIGINT, s STRUCT<x: INT, y: INT>")

    def field(name: str, type_: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})

    inner = pa.struct([field("x", pa.int32(), 5), field("y", pa.int32(), 4)])
    schema = pa.schema([field("b", pa.int64(), 1), field("c", pa.int64(), 2), field("s", inner, 3)])
    rows = pa.table([[1], [2], pa.array([{"x": 3, "y": 4}], inner)], schema=schema)
    lake.add(table, "x.parquet", rows, names={"a": "c"}, left_out=["y"])
    frame = lake.sql("SELECT a, b, s FROM @t")
    assert is_native(frame) == (io == "native")
    assert [row.asDict(recursive=True) for row in frame.collect()] == [
        {"a": 2, "b": 1, "s": {"x": 3, "y": None}}
    ]


@pytest.mark.thorough
def test_the_data_source_takes_the_root(lake: Lake) -> None:
    table = plain(lake)
    reader = lake.spark.read.format("versioned")
    for io in ("native", "python"):
        frame = (
            reader.option(f"root.{ROOT}", str(lake.folder)).option("io", io).load(table.location)
        )
        assert is_python(frame) == (io == "python")
        assert sorted(row.n for row in frame.collect()) == [1, 1, 2, 2, 3, 3]


def test_a_reader_without_the_root_is_told(spark: SparkSession, tmp_path: Path) -> None:
    writer = Lake(spark, tmp_path)
    plain(writer)
    reader = Lake(spark, tmp_path, with_root=False)
    assert reader.rows("SELECT count(*) FROM @t") == [(6,)]
    with pytest.raises(Exception, match=r"needs the external root 'lake', which was .*raw when"):
        reader.rows("SELECT * FROM @t")


def test_a_changed_file_is_refused(lake: Lake) -> None:
    plain(lake)
    write(lake.folder, "day=1/x.parquet", PLAIN.slice(0, 1))
    with pytest.raises(
        Exception, match=r"x.parquet was imported in place and has \d+ bytes instead"
    ):
        lake.rows("SELECT * FROM @t")
    (lake.folder / "day=1/x.parquet").unlink()
    with pytest.raises(Exception, match=r"x.parquet was imported in place and is missing"):
        lake.rows("SELECT * FROM @t")


def test_a_link_out_of_the_root_is_refused(lake: Lake, tmp_path: Path) -> None:
    table = plain(lake)
    outside = tmp_path / "outside.parquet"
    (lake.folder / "day=1/x.parquet").rename(outside)
    (lake.folder / "day=1/x.parquet").symlink_to(outside)
    with pytest.raises(Exception, match="leads outside"):
        lake.rows("SELECT * FROM @t")
    assert "VersionedScan" in plan_of(lake.sql("SELECT n FROM @t WHERE day = DATE'1970-01-03'"))
    assert table.count() == 6
