"""``CALL system.import_files``: the same result as in Python, and errors in the words of SQL."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from external.files import write
from sql.plans import is_native, is_python
from sql.test_external_sql import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


def call(lake: Lake, arguments: str) -> dict[str, object]:
    (row,) = lake.sql(f"CALL {lake.name}.system.import_files({arguments})").collect()
    return dict(row.asDict())


@pytest.mark.thorough
def test_files_are_imported_in_place_and_again(lake: Lake) -> None:
    write(lake.folder, "day=2024-01-01/0.parquet", pa.table({"n": [1, 2], "old": ["a", "b"]}))
    arguments = "table => 't', source => 'root:lake', aliases => 'old = new'"
    found = call(lake, arguments)
    assert (found["files"], found["rows"], found["unreadable"]) == (1, 2, [])
    rows = lake.sql("SELECT n, new, CAST(day AS STRING) FROM @t ORDER BY n").collect()
    assert [tuple(row) for row in rows] == [(1, "a", "2024-01-01"), (2, "b", "2024-01-01")]
    write(lake.folder, "day=2024-01-02/1.parquet", pa.table({"n": [3], "new": ["c"]}))
    assert call(lake, arguments)["files"] == 1
    assert lake.sql("SELECT * FROM @t").count() == 3
    # A file that is adopted again is a segment of its own: its name is no path of a file.
    lake.sql("DELETE FROM @t WHERE n = 3")
    assert call(lake, arguments)["known"] == 2
    assert call(lake, f"{arguments}, again => 'all'")["files"] == 2
    names = {row[0] for row in lake.sql("SELECT _segment FROM @t WHERE n = 3").collect()}
    assert names == {"root:lake@4/day=2024-01-02/1.parquet"}
    lake.sql("DELETE FROM @t WHERE n = 1")
    lake.sql("UPDATE @t SET new = 'd' WHERE n = 3")
    rows = lake.sql("SELECT n, new FROM @t ORDER BY n, new").collect()
    assert [tuple(row) for row in rows] == [(2, "b"), (2, "b"), (3, "d")]


def test_an_error_is_settled_by_what_it_says(lake: Lake) -> None:
    write(lake.folder, "0.parquet", pa.table({"n": [1]}))
    write(lake.folder, "1.parquet", pa.table({"n": ["x"]}))
    arguments = "table => 't', source => 'root:lake'"
    with pytest.raises(Exception, match="n is BIGINT in 1 file") as caught:
        call(lake, arguments)
    (hint,) = re.findall(r"Pass (schema => .*?true)", str(caught.value))
    assert hint == "schema => 'n STRING', copy => true"
    assert call(lake, f"{arguments}, {hint}")["rows"] == 2
    assert {row.n for row in lake.sql("SELECT n FROM @t").collect()} == {"1", "x"}


def test_csv_by_a_provided_schema(lake: Lake) -> None:
    lake.folder.mkdir()
    (lake.folder / "x.csv").write_text("d;n\n31.01.2024;1\n")
    schema = "d DATE FORMAT ''dd.MM.yyyy''"
    call(
        lake,
        f"table => 't', source => '{lake.folder}', copy => true, delimiter => ';', schema => '{schema}'",
    )
    (row,) = lake.sql("SELECT * FROM @t").collect()
    assert (str(row.d), row.n) == ("2024-01-31", 1)
    (lake.folder / "y.csv").write_text("d;n\n01.02.2024;1.000\n-;-\n;NA\n")
    more = "copy => true, thousands => '.', decimal => ',', nulls => array('', '-', 'NA')"
    more = f"{more}, file_columns => 'file_name'"
    found = call(lake, f"table => 't', source => '{lake.folder}', evolve => true, {more}")
    assert (found["rows"], found["options_used"]) == (3, ["schema", "delimiter"])
    assert found["options_kept"] == ["file_columns", "null", "decimal", "thousands"]
    rows = lake.sql("SELECT CAST(d AS STRING), n, file_name FROM @t WHERE file_name = 'y.csv'")
    assert [tuple(row) for row in rows.collect()] == [
        ("2024-02-01", 1000, "y.csv"),
        (None, None, "y.csv"),
        (None, None, "y.csv"),
    ]


@pytest.mark.thorough
def test_odd_files_are_read_as_in_python(lake: Lake) -> None:
    """Brotli, which Spark does not have, intervals of nanoseconds, and files of constants alone."""
    intervals = pa.array([1_000, 90_000_000_000], pa.int64()).view(pa.duration("ns"))
    files = {
        "brotli": (pa.table({"a": [1, 2]}), {"compression": "brotli"}),
        "lz4_raw": (pa.table({"a": [3]}), {"compression": "lz4"}),
        "interval": (pa.table({"a": [4, 5], "i": intervals}), {}),
        "none": (pa.table({"other": [1, 2]}), {}),
    }
    for name, (rows, how) in files.items():
        write(lake.folder, f"k={name}/0.parquet", rows, **how)
    call(lake, "table => 't', source => 'root:lake', exclude => 'other'")
    wanted = [
        ("brotli", 1, None),
        ("brotli", 2, None),
        ("interval", 4, dt.timedelta(microseconds=1)),
        ("interval", 5, dt.timedelta(seconds=90)),
        ("lz4_raw", 3, None),
        ("none", None, None),
        ("none", None, None),
    ]
    rows = lake.rows("SELECT k, a, i FROM @t ORDER BY k, a")
    assert rows == wanted
    assert lake.rows("SELECT k, i FROM @t WHERE i = INTERVAL '0 00:01:30' DAY TO SECOND") == [
        ("interval", dt.timedelta(seconds=90))
    ]
    assert lake.rows("SELECT count(a), count(k) FROM @t WHERE k <> 'brotli'") == [(3, 5)]
    assert is_native(lake.sql("SELECT a FROM @t WHERE k = 'lz4_raw'"))
    assert is_python(lake.sql("SELECT a FROM @t WHERE k = 'brotli'"))


@pytest.mark.thorough
def test_add_files_takes_a_folder_and_partitions_of_it(lake: Lake) -> None:
    for day, part in (("a", 1), ("a", 2), ("b", 1)):
        rows = pa.table({"n": pa.array([ord(day) * 10 + part], pa.int64())})
        write(lake.folder, f"sales/day={day}/part={part}/0.parquet", rows)
    lake.sql("CREATE TABLE @t (n BIGINT, day STRING, part INT) PARTITIONED BY (day)")
    source = f"source_table => '`parquet`.`{lake.folder}/sales`'"
    add = f"CALL {lake.name}.system.add_files(table => 't', {source}"
    filtered = f"{add}, partition_filter => map('part', '2', 'day', 'a'))"
    assert [tuple(row) for row in lake.sql(filtered).collect()] == [(1, 1, 1)]
    assert [tuple(row) for row in lake.sql("SELECT * FROM @t").collect()] == [(972, "a", 2)]
    with pytest.raises(
        Exception, match=r"partition_filter names n, by .* columns: `?day`?, `?part`?"
    ):
        lake.sql(f"{add}, partition_filter => map('n', '1'))")
    assert [tuple(row) for row in lake.sql(f"{add})").collect()] == [(2, 2, 2)]
    assert [tuple(row)[:2] for row in lake.sql(f"{add})").collect()] == [(0, 0)]
    rows = lake.sql("SELECT * FROM @t ORDER BY n").collect()
    assert [tuple(row) for row in rows] == [(971, "a", 1), (972, "a", 2), (981, "b", 1)]
    names = [row[0] for row in lake.sql("SELECT _segment FROM @t").collect()]
    assert all(name.startswith("root:lake/sales/") for name in names)


def test_add_files_refuses_what_it_can_not_find(lake: Lake) -> None:
    add = f"CALL {lake.name}.system.add_files(table => 't', source_table => "
    lake.sql("CREATE TABLE @t (n BIGINT)")
    with pytest.raises(Exception, match="no table nope"):
        lake.sql(add.replace("'t'", "'nope'") + f"'`parquet`.`{lake.folder}`')")
    with pytest.raises(
        Exception, match=r"no table db\.src in spark_catalog; write its name, or its folder"
    ):
        lake.sql(f"{add}'db.src')")
