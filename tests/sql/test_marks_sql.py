"""Spark reads marked segments natively: rows are found by their positions, and dropped from batches.

Needs a JVM because Spark's Parquet reader reads the rows.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, is_python, plan_of, pruned
from sql.test_external_sql import Lake
from versioned_catalog import Catalog, CorruptTableError, Table
from versioned_catalog.log.bitmaps import positions_in
from versioned_catalog.log.marks import FileMark, InlineMark
from versioned_catalog.write import segment_writer, writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[Any, ...]]
INTS = pa.int32()

ROWS, GROUP = 10_000, 1_000
MARKED = {0, 1, 999, 1_500, *range(2_000, 4_000), *range(6_001, 8_000, 7), 9_999}
"""Rows at both ends of a row group, two whole row groups, and none in others."""
LEFT = [k for k in range(ROWS) if k not in MARKED]


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "ROW_GROUP_ROWS", GROUP)
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", GROUP)


OFF_HEAP = "spark.sql.columnVector.offheap.enabled"


@pytest.fixture(
    params=[
        "columns",
        *(pytest.param(how, marks=pytest.mark.thorough) for how in ("off_heap", "rows")),
    ]
)
def vectorized(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[bool]:
    """Whether Spark reads columns in batches, on the heap of Java or off it."""
    is_on = request.param != "rows"
    sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", is_on)
    sql_spark.conf.set(OFF_HEAP, request.param == "off_heap")
    yield is_on
    sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", True)
    sql_spark.conf.unset(OFF_HEAP)


class Both:
    """Queries that the jar and Python answer."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name

    def native(self, query: str, **options: str) -> DataFrame:
        return self._frame("native", query, options)

    def rows(self, query: str, **options: str) -> Rows:
        """The rows of a query of ``@t``, which both give."""
        native, python = (self._frame(io, query, options) for io in ("native", "python"))
        assert is_native(native)
        assert is_python(python)
        rows = [tuple(row) for row in native.collect()]
        assert [tuple(row) for row in python.collect()] == rows
        return rows

    def _frame(self, io: str, query: str, options: dict[str, str]) -> DataFrame:
        how = ", ".join(f"'{name}' = '{value}'" for name, value in {**options, "io": io}.items())
        return self._spark.sql(query.replace("@t", f"{self._name} WITH ({how})"))


@pytest.fixture
def both(sql_spark: SparkSession, ns: str) -> Both:
    return Both(sql_spark, f"versioned.{ns}.t")


def numbers(table: Table, first: int = 0, rows: int = ROWS) -> None:
    """Append a segment with k from ``first`` on, and v = 10 k."""
    k = pa.array(range(first, first + rows), pa.int32())
    table.append(pa.table({"k": k, "v": pa.array([10 * n for n in k.to_pylist()], pa.int64())}))


def marked(catalog: Catalog, ns: str, **properties: str) -> Table:
    """One segment of ten row groups, of which rows are marked."""
    how = {"row_changes": "mark", **properties}
    table = catalog.create_table(f"{ns}.t", "k INT, v LONG", properties=how)
    numbers(table)
    table.delete([("k", "in", sorted(MARKED))])
    assert table.state.segments.count == 1
    return table


def test_marked_rows_are_not_shown(
    catalog: Catalog, ns: str, both: Both, small_row_groups: None, vectorized: bool
) -> None:
    table = marked(catalog, ns)
    assert [type(mark) for mark in table.state.segments.marks.values()] == [FileMark]
    assert both.rows("SELECT k, v FROM @t ORDER BY k") == [(k, 10 * k) for k in LEFT]
    assert both.rows("SELECT v, _row_position, k FROM @t ORDER BY k") == [
        (10 * k, k, k) for k in LEFT
    ]


def test_splits_of_a_file_know_their_positions(
    sql_spark: SparkSession, catalog: Catalog, ns: str, both: Both, small_row_groups: None
) -> None:
    table = marked(catalog, ns)
    size = table.state.segments.bytes // 5
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    for name in names:
        sql_spark.conf.set(name, size)
    try:
        frame = both.native("SELECT k FROM @t")
        assert frame.rdd.getNumPartitions() >= 5
        assert sorted(row.k for row in frame.collect()) == LEFT
        filtered = both.rows("SELECT k FROM @t WHERE k BETWEEN 998 AND 1501 ORDER BY k")
        assert filtered == [(998,), *((k,) for k in range(1_000, 1_500)), (1_501,)]
    finally:
        for name in names:
            sql_spark.conf.unset(name)


@pytest.mark.thorough
def test_batches_without_marked_rows_and_batches_of_marked_rows(
    catalog: Catalog, ns: str, both: Both, small_row_groups: None, vectorized: bool
) -> None:
    marked(catalog, ns)
    assert both.rows("SELECT count(*), sum(v) FROM @t WHERE k BETWEEN 4000 AND 5999") == [
        (2_000, sum(range(40_000, 60_000, 10)))
    ]
    assert both.rows("SELECT count(*), max(v) FROM @t WHERE k BETWEEN 2000 AND 3999") == [(0, None)]


@pytest.mark.parametrize("io", ["native", "python"])
def test_counts_and_extremes_leave_out_marked_rows(
    sql_spark: SparkSession, catalog: Catalog, ns: str, io: str, vectorized: bool
) -> None:
    """Metadata answers them only if it knows them: the first and the last rows are marked."""
    marked(catalog, ns)

    def rows(query: str) -> Rows:
        table = f"versioned.{ns}.t WITH ('io' = '{io}')"
        return [tuple(row) for row in sql_spark.sql(query.replace("@t", table)).collect()]

    assert rows("SELECT count(*) FROM @t") == [(len(LEFT),)]
    assert rows("SELECT count(v), count(*) FROM @t") == [(len(LEFT), len(LEFT))]
    assert rows("SELECT min(k), max(k) FROM @t") == [(2, 9_998)]
    assert rows("SELECT max(v) FROM @t WHERE k >= 0") == [(99_980,)]
    assert rows("SELECT count(*) FROM @t WHERE k >= 0") == [(len(LEFT),)]
    assert rows("SELECT count(*) FROM (SELECT 1 FROM @t LIMIT 1000000)") == [(len(LEFT),)]


@pytest.mark.thorough
def test_rows_are_counted_without_columns(
    catalog: Catalog, ns: str, both: Both, small_row_groups: None, vectorized: bool
) -> None:
    """Spark reads no column of the file for this query, and metadata does not answer it."""
    marked(catalog, ns)
    query = "SELECT count(*) FROM (SELECT 1 FROM @t UNION ALL SELECT 1 FROM @t)"
    assert both.rows(query) == [(2 * len(LEFT),)]


def test_a_limit_counts_rows_that_are_left(catalog: Catalog, ns: str, both: Both) -> None:
    """The first two segments have enough rows, and too few of them are left."""
    table = catalog.create_table(f"{ns}.t", "k INT, v LONG", properties={"row_changes": "mark"})
    for first in (0, 10, 20, 30):
        numbers(table, first, 10)
    table.delete([("k", "in", [*range(1, 10), *range(11, 20)])])
    assert len(both.native("SELECT k FROM @t LIMIT 20").collect()) == 20


KINDS = {
    "s": ("STRING", [None if k % 11 == 0 else f"s{k % 5}" for k in range(100)]),
    "b": ("BINARY", [str(k).encode() for k in range(100)]),
    "f": ("BOOLEAN", [k % 3 == 0 for k in range(100)]),
    "i8": ("BYTE", [k - 50 for k in range(100)]),
    "i16": ("SHORT", [k * 300 for k in range(100)]),
    "r": ("FLOAT", [k / 2 for k in range(100)]),
    "w": ("DOUBLE", [k / 4 for k in range(100)]),
    "d9": ("DECIMAL(9,2)", [Decimal(k) / 4 for k in range(100)]),
    "d18": ("DECIMAL(18,2)", [Decimal(k) / 4 for k in range(100)]),
    "d30": ("DECIMAL(30,2)", [Decimal(k) / 4 for k in range(100)]),
    "day": ("DATE", [dt.date(2000, 1, 1) + dt.timedelta(k) for k in range(100)]),
    "at": ("TIMESTAMP_NTZ", [dt.datetime(2000, 1, 1, 0, 0, k % 60, k) for k in range(100)]),
    "st": (
        "STRUCT<x: INT, y: STRING, z: STRUCT<u: LONG, w: ARRAY<INT>>>",
        [
            None if k % 7 == 0 else {"x": k, "y": f"y{k}", "z": {"u": k, "w": [k] * (k % 3)}}
            for k in range(100)
        ],
    ),
    "a": ("ARRAY<STRING>", [None if k % 5 == 0 else [f"a{k}"] * (k % 4) for k in range(100)]),
    "ss": (
        "ARRAY<STRUCT<x: INT, y: STRING>>",
        [[{"x": k + n, "y": f"y{n}"} for n in range(k % 3)] for k in range(100)],
    ),
    "m": ("MAP<STRING, INT>", [{f"m{n}": k for n in range(k % 3)} for k in range(100)]),
    "n": ("INT", [None if k % 2 else k for k in range(100)]),
    "e": ("STRING", [None if k % 11 == 0 else f"e{k % 4}" for k in range(100)]),
}
"""Values of a hundred rows, by column."""


@pytest.mark.thorough
@pytest.mark.parametrize("changed", [False, True], ids=["as_written", "changed_since"])
def test_columns_of_all_kinds(
    catalog: Catalog, ns: str, both: Both, vectorized: bool, changed: bool
) -> None:
    """Columns of a file and constants, in the order of the file and in another."""
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in KINDS.items())
    how = {"row_changes": "mark"}
    table = catalog.create_table(f"{ns}.t", f"k INT, {columns}", properties=how)
    values = {name: of_rows for name, (_, of_rows) in KINDS.items()}
    rows = {"k": list(range(100)), **values}
    table.append(pa.table(rows, table.scan().schema))
    deleted = {*range(0, 100, 3), *range(40, 60)}
    table.delete([("k", "in", sorted(deleted))])
    names = list(KINDS)
    if changed:
        alteration = table.alter().add_column("c", "INT", default=5).change_type("i16", "LONG")
        alteration.rename_column("s", "t").change_type("st.x", "LONG").drop_column("b").commit()
        names = [{"s": "t", "b": "c"}.get(name, name) for name in names][::-1]
        values |= {"t": values["s"], "c": [5] * 100}
    query = ", ".join(["k", *names, "_schema_version", "_sequence"])
    shown = [
        (row[0], *map(plain, row[1:])) for row in both.rows(f"SELECT {query} FROM @t ORDER BY k")
    ]
    assert shown == [
        (k, *(values[name][k] for name in names), 0, 1) for k in range(100) if k not in deleted
    ]
    assert both.rows("SELECT st.z.u, size(st.z.w) FROM @t WHERE st.y = 'y1'") == [(1, 1)]


def plain(value: Any) -> Any:
    """A value of Spark without its classes."""
    if hasattr(value, "asDict"):
        return value.asDict(recursive=True)
    if isinstance(value, bytearray):
        return bytes(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_a_pin_never_sees_marked_values_that_do_not_fit(
    catalog: Catalog, ns: str, both: Both, vectorized: bool
) -> None:
    how = {"row_changes": "mark"}
    table = catalog.create_table(f"{ns}.t", "k INT, v INT, st STRUCT<x: INT>", properties=how)
    table.pin_schema("job", owner="billing")
    table.alter().change_type("v", "LONG").change_type("st.x", "LONG").commit()
    wide = [2**40 if k in (3, 4) else k for k in range(10)]
    structs = [{"x": x} for x in wide]
    table.append(pa.table({"k": list(range(10)), "v": wide, "st": structs}, table.scan().schema))
    table.delete([("k", "in", [3, 4, 7])])
    kept = [0, 1, 2, 5, 6, 8, 9]
    query = "SELECT k, v, st.x FROM @t ORDER BY k"
    assert both.rows(query, schemaVersion="job") == [(k, k, k) for k in kept]
    assert dict(both.native("SELECT v, k FROM @t", schemaVersion="job").dtypes)["v"] == "int"


@pytest.mark.thorough
def test_partitions_time_travel_and_several_segments(
    catalog: Catalog, ns: str, both: Both, vectorized: bool
) -> None:
    """A task reads marked segments and others, with positions and without."""
    table = catalog.create_table(
        f"{ns}.t", "k INT, p INT", partitioned_by=["p"], properties={"row_changes": "mark"}
    )
    for first in (0, 30):
        k = list(range(first, first + 30))
        table.append(pa.table({"k": pa.array(k, INTS), "p": pa.array([n % 3 for n in k], INTS)}))
    before = table.version
    deleted = [3, 6, 31, 37]
    table.delete([("k", "in", deleted)])
    assert table.state.segments.count == 6
    assert {type(mark) for mark in table.state.segments.marks.values()} == {InlineMark}
    left = [(k, k % 3) for k in range(60) if k not in deleted]
    assert both.rows("SELECT k, p FROM @t ORDER BY k") == left
    assert both.rows("SELECT p, count(*) FROM @t WHERE k >= 0 GROUP BY p ORDER BY p") == [
        (0, 18),
        (1, 18),
        (2, 20),
    ]
    positions = [(k, k % 30 // 3) for k, _ in left]
    assert both.rows("SELECT k, _row_position FROM @t ORDER BY k") == positions
    frame = both.native("SELECT k FROM @t WHERE p = 1 AND k < 10 ORDER BY k")
    assert pruned(frame) == (5, 6)
    assert [row.k for row in frame.collect()] == [1, 4, 7]
    earlier = both.rows("SELECT k FROM @t ORDER BY k", versionAsOf=str(before))
    assert earlier == [(k,) for k in range(60)]


def test_a_second_mark_replaces_the_first(catalog: Catalog, ns: str, both: Both) -> None:
    table = marked(catalog, ns)
    table.delete([("k", "in", [5, 6, 9_998])])
    assert both.rows("SELECT count(*), max(k), sum(k) FROM @t WHERE v >= 0") == [
        (len(LEFT) - 3, 9_997, sum(LEFT) - 5 - 6 - 9_998)
    ]


def test_estimates_count_the_rows_that_are_left(catalog: Catalog, ns: str, both: Both) -> None:
    segments = marked(catalog, ns).state.segments
    frame = both.native("SELECT k, v FROM @t")
    stats = frame._jdf.queryExecution().optimizedPlan().stats()  # type: ignore[operator]
    in_files = sum(segments.core["bytes"].to_pylist()) * len(LEFT) // segments.rows
    assert int(str(stats.sizeInBytes())) == max(in_files, len(LEFT) * (4 + 8) // 4)
    assert segments.rows > len(LEFT)


def test_runtime_filters_keep_marks(
    sql_spark: SparkSession, catalog: Catalog, ns: str, both: Both
) -> None:
    table = catalog.create_table(
        f"{ns}.t", "k INT, v LONG", properties={"sort_by": "k", "row_changes": "mark"}
    )
    for first in (0, 10, 20):
        numbers(table, first, 10)
    table.delete([("k", "in", [5, 12])])
    small = catalog.create_table(f"{ns}.small", "x INT, word STRING")
    small.append(pa.table({"x": pa.array([12, 13], INTS), "word": ["yes", "yes"]}))
    query = f"SELECT k FROM @t JOIN versioned.{ns}.small ON k = x WHERE word = 'yes'"
    frame = both.native(query)
    assert "dynamicpruning" in plan_of(frame)
    assert [row.k for row in frame.collect()] == [13]
    assert pruned(frame) == (2, 3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "statement", ["UPDATE {t} SET v = 0 WHERE k = 8", "DELETE FROM {t} WHERE k = 8"]
)
def test_copies_of_marked_segments_leave_out_marked_rows(
    sql_spark: SparkSession, catalog: Catalog, ns: str, statement: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "k INT, v LONG", properties={"row_changes": "mark"})
    numbers(table, 0, 10)
    table.delete([("k", "in", [2, 9])])
    sql_spark.sql(f"ALTER TABLE versioned.{ns}.t SET TBLPROPERTIES ('row_changes' = 'copy')")
    sql_spark.sql(statement.format(t=f"versioned.{ns}.t"))
    left = [(k, 10 * k) for k in (0, 1, 3, 4, 5, 6, 7)]
    rows = sql_spark.sql(f"SELECT k, v FROM versioned.{ns}.t ORDER BY k").collect()
    assert [tuple(row) for row in rows] == (left if "DELETE" in statement else [*left, (8, 0)])
    assert not table.refresh().state.segments.has_marks


def test_adopted_files_are_marked(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path)
    table = lake.table("k INT, v LONG, day INT", properties={"row_changes": "mark"})
    rows = pa.table({"k": pa.array(range(1_000), INTS), "other": pa.array(range(1_000))})
    constants = {"day": "7"}
    lake.add(table, "x.parquet", rows, {"row_group_size": 100}, constants=constants)
    deleted = {*range(50, 250), 999}
    table.delete([("k", "in", sorted(deleted))])
    assert list(table.state.segments.marks) == ["root:lake/x.parquet"]
    lake.spark.catalog.refreshTable(f"{lake.name}.t")
    frame = lake.sql("SELECT k, v, day FROM @t ORDER BY k")
    assert is_native(frame)
    assert [tuple(row) for row in frame.collect()] == [
        (k, None, 7) for k in range(1_000) if k not in deleted
    ]


def test_pages_that_a_filter_skips(spark: SparkSession, tmp_path: Path) -> None:
    """A batch then holds rows from both sides of a gap."""
    lake = Lake(spark, tmp_path)
    table = lake.table("k LONG", properties={"row_changes": "mark"})
    paged = {"data_page_size": 512, "write_page_index": True, "use_dictionary": False}
    rows = pa.table({"k": pa.array(range(8_000), pa.int64())})
    lake.add(table, "x.parquet", rows, {**paged, "write_batch_size": 64})
    table.delete([("k", "in", list(range(0, 8_000, 7)))])
    lake.spark.catalog.refreshTable(f"{lake.name}.t")
    frame = lake.sql("SELECT k FROM @t WHERE k < 100 OR k BETWEEN 5000 AND 5100 OR k > 7990")
    assert is_native(frame)
    wanted = [*range(100), *range(5_000, 5_101), *range(7_991, 8_000)]
    assert sorted(row.k for row in frame.collect()) == [k for k in wanted if k % 7]


# Damaged marks


def test_a_mark_whose_file_is_missing_or_damaged_is_refused(
    catalog: Catalog, ns: str, both: Both
) -> None:
    table = marked(catalog, ns)
    ((segment, mark),) = table.state.segments.marks.items()
    assert isinstance(mark, FileMark)
    path = Path(table.location.removeprefix("file://")) / mark.path
    data = path.read_bytes()
    damaged = {
        "does not have its checksum": data[:100] + bytes([data[100] ^ 1]) + data[101:],
        "does not have the form deletion-vector-v1": data[: mark.bytes - 1],
        "the form deletion-vector-v1": b"",
    }
    for problem, content in damaged.items():
        path.write_bytes(content)
        refused(both, problem, segment)
    path.unlink()
    refused(both, f"{mark.path}, the marks of", segment)
    path.write_bytes(data)
    assert both.native("SELECT count(k) FROM @t WHERE v >= 0").collect()[0][0] == len(LEFT)


def refused(both: Both, problem: str, segment: str) -> None:
    with pytest.raises(Exception, match=re.escape(problem)) as raised:
        both.native("SELECT sum(v) FROM @t").collect()
    assert "VERSIONED_TABLE_CORRUPT" in str(raised.value)
    assert segment in str(raised.value)


def vector(body: bytes) -> bytes:
    """A bitmap with its length, magic number and checksum."""
    body = bytes.fromhex("d1d33964") + body
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def roaring(*bitmaps: tuple[int, list[int]]) -> bytes:
    """Bitmaps by their upper 32 bits, each with one container of few positions."""
    parts = [struct.pack("<Q", len(bitmaps))]
    for upper, positions in bitmaps:
        head = struct.pack("<IIIHHI", upper, 0x303A, 1, 0, len(positions) - 1, 16)
        parts.append(head + struct.pack(f"<{len(positions)}H", *positions))
    return b"".join(parts)


TWO = vector(roaring((0, [7, 9]), (2, [5])))
BLOBS = {
    "as_written": (TWO, 3, 3 * 2**32, [7, 9, 2 * 2**32 + 5]),
    "first_of_the_format": (
        bytes.fromhex(
            "00000022d1d33964 0100000000000000 00000000 3a300000 01000000 00000000".replace(" ", "")
        )
        + bytes.fromhex("10000000 0000 f7a6b4b5".replace(" ", "")),
        *(1, 1, [0]),
    ),
    "other_count": (TWO, 2, 3 * 2**32, "marks 3 rows, and the log says 2"),
    "beyond_the_rows": (
        TWO,
        3,
        2 * 2**32 + 5,
        "row 8589934597 is marked in a segment of 8589934597 rows",
    ),
    "short": (b"\0\0\0", 1, 1, "the form deletion-vector-v1"),
    "wrong_length": (b"\0" + TWO, 3, 3 * 2**32, "the form deletion-vector-v1"),
    "wrong_checksum": (TWO[:-1] + b"\0", 3, 3 * 2**32, "its checksum"),
    "bytes_behind": (vector(roaring((0, [7])) + b"\0"), 1, 9, "the portable form"),
    "out_of_order": (vector(roaring((1, [7]), (0, [7]))), 2, 2**33, "the portable form"),
    "repeated": (vector(roaring((0, [7]), (0, [8]))), 2, 2**33, "the portable form"),
    "cut": (vector(roaring((0, [7, 8]))[:-1]), 2, 9, "can't be read"),
    "too_many_bitmaps": (vector(struct.pack("<Q", 2**63)), 1, 9, "can't be read"),
    "no_bitmap": (vector(b"\0" * 7), 1, 9, "can't be read"),
}


@pytest.mark.parametrize(
    ("blob", "marked_rows", "rows", "expected"), BLOBS.values(), ids=list(BLOBS)
)
def test_the_jar_and_python_decode_the_same_bitmaps(
    sql_spark: SparkSession, blob: bytes, marked_rows: int, rows: int, expected: list[int] | str
) -> None:
    """Python is asked too, where it does not say the same in other words."""
    jvm = sql_spark._jvm
    assert jvm
    buffer = jvm.java.nio.ByteBuffer.wrap(blob)
    if isinstance(expected, str):
        with pytest.raises(Exception, match=expected):
            jvm.versioned.spark.scan.MarkedRows.of(buffer, marked_rows, rows)
        if "log says" not in expected:
            with pytest.raises(CorruptTableError):
                positions_in(blob, rows)
        return
    decoded = jvm.versioned.spark.scan.MarkedRows.of(buffer, marked_rows, rows)
    positions, at = [], -1
    while (at := getattr(decoded, "from")(at + 1)) < 2**63 - 1:
        positions.append(at)
    assert positions == expected == positions_in(blob, rows).tolist()
