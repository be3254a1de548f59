"""Exports of tables with a past, against rows that are written out by hand."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

from export.readers import READERS, in_order
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    Identity,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
)

I32 = pa.int32()
OFF = {"auto_maintain": "off"}

formats = pytest.mark.parametrize("format", ["parquet", "iceberg", "delta"])


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "lake").mkdir()
    return Catalog(tmp_path / "warehouse", roots={"lake": tmp_path / "lake"})


def evolved(catalog: Catalog, _: Path) -> tuple[Table, list[dict[str, Any]]]:
    """Dropped and added again, renamed, widened, nested; with rows that are marked as deleted."""
    table = catalog.create_table(
        "t",
        "id BIGINT, n INT, note STRING, place STRUCT<lat: FLOAT, tags: ARRAY<STRING>>, day DATE",
        properties={**OFF, "row_changes": "mark"},
    )
    rows = {
        "id": [1, 2, 3],
        "n": pa.array([10, 20, 30], I32),
        "note": ["old", "old", "old"],
        "place": pa.array(
            [{"lat": 1.5, "tags": ["x", None]}, None, {"lat": None, "tags": []}],
            pa.struct({"lat": pa.float32(), "tags": pa.list_(pa.string())}),
        ),
        "day": [dt.date(2026, 1, 2), None, dt.date(1969, 12, 31)],
    }
    table.append(pa.table(rows))
    change = table.alter().drop_column("note").rename_column("place.lat", "latitude")
    change.change_type("n", "BIGINT").change_type("place.latitude", "DOUBLE").commit()
    change = table.alter().add_column("note", "INT", default=7).add_column("place.height", "INT")
    change.commit()
    table.append(pa.table({"id": [4], "n": [2**40], "note": pa.array([None], I32)}))
    table.delete([("id", "=", 2)])
    return table, [
        {
            **{"id": 1, "n": 10, "day": dt.date(2026, 1, 2), "note": 7},
            "place": {"latitude": 1.5, "tags": ["x", None], "height": None},
        },
        {
            **{"id": 3, "n": 30, "day": dt.date(1969, 12, 31), "note": 7},
            "place": {"latitude": None, "tags": [], "height": None},
        },
        {"id": 4, "n": 2**40, "day": None, "note": None, "place": None},
    ]


def keyed(catalog: Catalog, _: Path) -> tuple[Table, list[dict[str, Any]]]:
    """With replaced, partly replaced and deleted rows."""
    table = catalog.create_table("t", "k INT, a INT, b STRING", primary_key=["k"], properties=OFF)

    def rows(*rows: tuple[int, int, str]) -> pa.Table:
        keys, numbers, texts = zip(*rows, strict=True)
        return pa.table({"k": pa.array(keys, I32), "a": pa.array(numbers, I32), "b": list(texts)})

    table.upsert(rows((1, 1, "one"), (2, 2, "two"), (3, 3, "three")))
    table.upsert(rows((2, 22, "new")))
    table.upsert(pa.table({"k": pa.array([1], I32), "a": pa.array([11], I32)}), partial=True)
    table.delete_keys(pa.table({"k": pa.array([3], I32)}))
    return table, [{"k": 1, "a": 11, "b": "one"}, {"k": 2, "a": 22, "b": "new"}]


def partitioned(catalog: Catalog, _: Path) -> tuple[Table, list[dict[str, Any]]]:
    """By a text, null among it, an integer, and days, in odd names."""
    table = catalog.create_table(
        "t",
        "id BIGINT, zone STRING, n INT, ts TIMESTAMP, d DECIMAL(10,2)",
        partitioned_by=["zone", "n", "days(ts)"],
        properties=OFF,
    )
    when = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    zones = ["a/b c=%", None, "ü", "a/b c=%"]
    rows = [
        {"id": at, "zone": zone, "n": at % 2, "ts": when, "d": Decimal("1.50")}
        for at, zone in enumerate(zones)
    ]
    table.append(pa.Table.from_pylist(rows, schema=table.scan().schema))
    return table, rows


def adopted(catalog: Catalog, lake: Path) -> tuple[Table, list[dict[str, Any]]]:
    """Files of somebody else, in other names, beside rows of the table's own."""
    pq.write_table(pa.table({"n": pa.array([1, 2], I32)}), lake / "a.parquet")
    catalog.import_files("t", str(lake))
    table = catalog.load_table("t")
    table.alter().rename_column("n", "number").add_column("extra", "STRING", default="x").commit()
    table.append(pa.table({"number": pa.array([3], I32)}))
    return table, [{"number": n, "extra": "x"} for n in (1, 2, 3)]


def cloned(catalog: Catalog, lake: Path) -> tuple[Table, list[dict[str, Any]]]:
    """A shallow clone of a table with marked rows."""
    _, rows = evolved(catalog, lake)
    return catalog.clone_table("copy", "t", shallow=True), rows


def on_a_branch(catalog: Catalog, _: Path) -> tuple[Table, list[dict[str, Any]]]:
    table = catalog.create_table("t", "a INT", properties=OFF)
    table.append(pa.table({"a": pa.array([1], I32)}))
    table.create_branch("trial")
    branch = catalog.load_table("t.branch_trial")
    branch.append(pa.table({"a": pa.array([2], I32)}))
    return branch, [{"a": 1}, {"a": 2}]


def through_a_pin(catalog: Catalog, lake: Path) -> tuple[Table, list[dict[str, Any]]]:
    table, rows = evolved(catalog, lake)
    table.pin_schema("job", table.schema.version)
    table.alter().rename_column("n", "number").drop_column("day").commit()
    return catalog.load_table("t").seen_as("job"), rows


def empty(catalog: Catalog, _: Path) -> tuple[Table, list[dict[str, Any]]]:
    return catalog.create_table("t", "a INT, p STRING", partitioned_by=["p"]), []


KINDS = (evolved, keyed, partitioned, adopted, cloned, on_a_branch, through_a_pin, empty)


@formats
@pytest.mark.parametrize("make", KINDS)
def test_an_export_has_the_rows_and_needs_no_table(
    catalog: Catalog,
    tmp_path: Path,
    format: str,
    make: Callable[[Catalog, Path], tuple[Table, list[dict[str, Any]]]],
) -> None:
    table, rows = make(catalog, tmp_path / "lake")
    target = tmp_path / "target"
    done = table.export(target, format=format)
    assert (done.version, done.rows, done.folder) == (table.version, len(rows), str(target))
    for folder in ("warehouse", "lake"):
        shutil.rmtree(tmp_path / folder)
    assert in_order(READERS[format](target)) == in_order(rows)
    assert not list(target.glob("_EXPORT*"))
    assert not (target / "_versioned").exists()


@formats
def test_an_earlier_version_has_its_own_columns(
    catalog: Catalog, tmp_path: Path, format: str
) -> None:
    table, _ = evolved(catalog, tmp_path)
    table.set_tag("first", 1)
    for at, version in enumerate((1, "first")):
        done = table.export(tmp_path / f"{at}", format=format, version=version)
        assert (done.version, done.rows) == (1, 3)
        rows = READERS[format](tmp_path / f"{at}")
        assert {(row["id"], row["n"], row["note"]) for row in rows} == {
            (1, 10, "old"),
            (2, 20, "old"),
            (3, 30, "old"),
        }
    with pytest.raises(NotFoundError):
        table.export(tmp_path / "other", format=format, version=99)
    assert not (tmp_path / "other").exists()


def test_parquet_has_current_names_and_types_and_folders(catalog: Catalog, tmp_path: Path) -> None:
    table, _ = partitioned(catalog, tmp_path)
    table.export(tmp_path / "t")
    folders = {
        str(file.parent.relative_to(tmp_path / "t")) for file in (tmp_path / "t").rglob("*.parquet")
    }
    assert folders == {
        "zone=a%2Fb%20c%3D%25/n=0",
        "zone=a%2Fb%20c%3D%25/n=1",
        "zone=__HIVE_DEFAULT_PARTITION__/n=1",
        "zone=%C3%BC/n=0",
    }
    file = next((tmp_path / "t").rglob("*.parquet"))
    assert pq.read_schema(file).names == ["id", "ts", "d"]
    table.export(tmp_path / "flat", partition_folders=False)
    (file,) = (tmp_path / "flat").rglob("*.parquet")
    assert pq.read_schema(file).names == ["id", "zone", "n", "ts", "d"]
    assert pq.read_schema(file).field("d").type == pa.decimal128(10, 2)
    assert sorted(row["id"] for row in READERS["parquet"](tmp_path / "flat")) == [0, 1, 2, 3]


def test_an_empty_table_has_its_columns_in_parquet_too(catalog: Catalog, tmp_path: Path) -> None:
    for name, partitions in (("t", []), ("u", ["day"])):
        table = catalog.create_table(name, "id INT, day DATE", partitioned_by=partitions)
        done = table.export(tmp_path / name, format="parquet")
        assert (done.rows, done.files) == (0, 1)
        read = pq.read_table(tmp_path / name / "part-0.parquet")
        assert (read.num_rows, read.schema.names) == (0, ["id", "day"])
        assert READERS["parquet"](tmp_path / name) == []


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_text_that_would_read_as_null_is_refused(
    catalog: Catalog, tmp_path: Path, value: str
) -> None:
    table = catalog.create_table("t", "a INT, p STRING", partitioned_by=["p"])
    table.append(pa.table({"a": pa.array([1, 2], I32), "p": [value, None]}))
    for format in ("parquet", "delta"):
        with pytest.raises(InvalidRequestError, match="by p, which has an empty text") as refused:
            table.export(tmp_path / "t", format=format)
        assert str(refused.value).startswith("t can't be exported")
        assert not (tmp_path / "t").exists()
        flat = tmp_path / f"flat-{format}"
        table.export(flat, format=format, partition_folders=False)
        assert {row["p"] for row in READERS[format](flat)} == {value, None}
    table.export(tmp_path / "iceberg", format="iceberg")
    assert {row["p"] for row in READERS["iceberg"](tmp_path / "iceberg")} == {value, None}


VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, 127],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INT": [-(2**31), 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1],
    "DECIMAL(38,10)": [Decimal("-1.5")],
    "DECIMAL(5,2)": [Decimal("-999.99")],
    "STRING": ["x", "ü", " ", "01"],
    "CHAR(3)": ["a  "],
    "VARCHAR(4)": ["abcd"],
    "BINARY": [b"\x00\xff", b""],
    "DATE": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "TIMESTAMP": [dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, tzinfo=dt.UTC)],
    "TIMESTAMP_NTZ": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
}


@pytest.mark.parametrize("is_partition", [False, True])
@formats
def test_values_at_the_limits_of_types(
    catalog: Catalog, tmp_path: Path, format: str, is_partition: bool
) -> None:
    for at, (type_, values) in enumerate(VALUES.items()):
        table = catalog.create_table(
            f"t{at}", f"id INT, v {type_}", partitioned_by=["v"] if is_partition else []
        )
        rows = [{"id": n, "v": value} for n, value in enumerate([*values, None])]
        table.append(pa.Table.from_pylist(rows, schema=table.scan().schema))
        table.export(tmp_path / f"{at}", format=format)
        assert in_order(READERS[format](tmp_path / f"{at}")) == in_order(rows), type_


def test_iceberg_keeps_key_partitioning_comments_and_properties(
    catalog: Catalog, tmp_path: Path
) -> None:
    table = catalog.create_table(
        "t",
        "k BIGINT COMMENT 'the key', ts TIMESTAMP NOT NULL, v INT DEFAULT 3",
        primary_key=["k"],
        time_index="ts",
        partitioned_by=["bucket(4, k)"],
        properties={"my.team": "ops"},
        comment="all of them",
    )
    done = table.export(tmp_path / "t", format="iceberg")
    found = StaticTable.from_metadata(str(tmp_path / "t" / "metadata" / "v1.metadata.json"))
    assert found.properties == {"my.team": "ops", "comment": "all of them"}
    assert found.location() == f"file://{tmp_path / 't'}"
    assert found.metadata.format_version == 2
    assert found.schema().find_field("k").doc == "the key"
    assert found.schema().find_field("ts").required
    assert found.schema().identifier_field_names() == {"k"}
    assert [str(field.transform) for field in found.spec().fields] == ["bucket[4]"]
    assert done.left_out == ("default of v",)


def test_delta_keeps_partitioning_and_comments(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table(
        "t",
        "a INT NOT NULL COMMENT 'the number', p STRING, d DATE",
        partitioned_by=["p"],
        comment="all of them",
    )
    table.append(pa.table({"a": pa.array([1], I32), "p": ["x"]}))
    table.export(tmp_path / "t", format="delta")
    found = DeltaTable(tmp_path / "t")
    assert found.version() == 0
    assert (found.metadata().partition_columns, found.metadata().description) == (
        ["p"],
        "all of them",
    )
    field = found.schema().fields[0]
    assert (field.name, field.nullable, field.metadata["comment"]) == ("a", False, "the number")


def test_what_the_target_has_no_place_for_is_named(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table(
        "t",
        "id BIGINT, n INT DEFAULT 3, half DOUBLE, ts TIMESTAMP",
        partitioned_by=["days(ts)"],
        identity={"id": Identity()},
        generated={"half": "n / 2"},
        properties={"my.team": "ops", **OFF},
        comment="text",
    )
    table.alter().add_check("positive", "n > 0").commit()
    shared = ("default of n", "CHECK positive", "expression of half", "numbering of id")
    lost = {f: table.export(tmp_path / f, format=f).left_out for f in READERS}
    assert lost == {
        "parquet": (
            "partitioning by days(ts)",
            "property my.team",
            *shared,
            "comment of the table",
        ),
        "iceberg": shared,
        "delta": ("partitioning by days(ts)", "property my.team", *shared),
    }
    key = catalog.create_table("k", "a INT", primary_key=["a"])
    assert key.export(tmp_path / "k", format="delta").left_out == ("primary key a",)


@pytest.mark.parametrize(
    ("ddl", "refused"),
    [
        ("t TIME", {"delta": "the column t is TIME"}),
        ("v VARIANT", {"delta": "the column v is VARIANT", "iceberg": "the column v is VARIANT"}),
        ("s STRUCT<i: INTERVAL DAY>", {"delta": "the column s.i is INTERVAL DAY"}),
        ("`a b` INT", {"delta": "`a b` has a character in its name"}),
        ("`a.b` INT, a STRUCT<b: INT>", {"iceberg": "two columns are called a.b"}),
    ],
)
def test_what_a_format_lacks_is_refused_before_anything_is_written(
    catalog: Catalog, tmp_path: Path, ddl: str, refused: dict[str, str]
) -> None:
    table = catalog.create_table("t", ddl)
    for format in READERS:
        target = tmp_path / format
        if format not in refused:
            table.export(target, format=format)
            continue
        with pytest.raises(InvalidRequestError) as error:
            table.export(target, format=format)
        assert str(error.value).startswith("t can't be exported as ")
        assert refused[format] in str(error.value)
        assert not target.exists()


@formats
def test_a_target_that_is_not_empty_is_refused_and_left_alone(
    catalog: Catalog, tmp_path: Path, format: str
) -> None:
    table, _ = evolved(catalog, tmp_path)
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(AlreadyExistsError, match="not empty; give a new or an empty folder"):
        table.export(target, format=format)
    assert [(file.name, file.read_text()) for file in target.iterdir()] == [("mine.txt", "mine")]
    with pytest.raises(InvalidRequestError, match="is a file; give a folder"):
        table.export(target / "mine.txt", format=format)
    with pytest.raises(InvalidRequestError, match="is a file; give a folder"):
        table.export(target / "mine.txt" / "below", format=format)
    (target / "mine.txt").unlink()
    assert table.export(target, format=format).rows == 3  # empty now
    with pytest.raises(AlreadyExistsError, match="not empty"):
        table.export(target, format=format)


def test_other_targets_and_formats_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    table, _ = evolved(catalog, tmp_path)
    with pytest.raises(InvalidRequestError, match="did you mean delta"):
        table.export(tmp_path / "x", format="detla")
    with pytest.raises(InvalidRequestError, match="written to a local folder"):
        table.export("s3://user:secret@bucket/x")
    with pytest.raises(InvalidRequestError, match="in the table's own folder"):
        table.export(Path(table.location.removeprefix("file://")) / "data" / "x")
    with pytest.raises(InvalidRequestError, match="partition_folders is for parquet and delta"):
        table.export(tmp_path / "x", format="iceberg", partition_folders=False)
    assert not (tmp_path / "x").exists()
    assert table.export(f"file://{tmp_path}/a%20b").folder == str(tmp_path / "a b")


@formats
@pytest.mark.parametrize("existed", [False, True])
def test_an_export_that_fails_leaves_nothing(
    catalog: Catalog, tmp_path: Path, format: str, existed: bool
) -> None:
    table, rows = evolved(catalog, tmp_path)
    target = tmp_path / "target"
    if existed:
        target.mkdir()
    victim = table.inspect.segments()["path"].to_pylist()[-1]
    file = Path(table.location.removeprefix("file://")) / victim
    file.rename(tmp_path / "aside")
    with pytest.raises(CorruptTableError, match="is missing, and version"):
        table.export(target, format=format)
    assert target.exists() == existed
    assert list(target.glob("*")) == []
    (tmp_path / "aside").rename(file)
    assert table.export(target, format=format).rows == len(rows)


@formats
def test_two_exports_into_one_folder(catalog: Catalog, tmp_path: Path, format: str) -> None:
    table, rows = evolved(catalog, tmp_path)
    refused: list[str] = []

    def second(*_: object) -> None:
        with pytest.raises(AlreadyExistsError) as error:
            table.export(tmp_path / "target", format=format)
        refused.append(str(error.value))

    assert table.export(tmp_path / "target", format=format, progress=second).rows == len(rows)
    assert "is running, or was killed" in refused[0]
    assert in_order(READERS[format](tmp_path / "target")) == in_order(rows)


@formats
@pytest.mark.parametrize("fails", [False, True])
def test_an_export_leaves_a_folder_alone_that_became_that_of_another(
    catalog: Catalog, tmp_path: Path, format: str, fails: bool
) -> None:
    """Somebody takes a running export for killed, deletes its folder, and exports into it again."""
    table, rows = evolved(catalog, tmp_path)
    target = tmp_path / "target"

    def second(*_: object) -> None:
        if not done:
            done.append("begun")
            shutil.rmtree(target)
            table.export(target, format="parquet")
            files.extend(path for path in target.iterdir())
            if fails:
                raise KeyboardInterrupt

    done: list[str] = []
    files: list[Path] = []
    kinds = KeyboardInterrupt if fails else (CommitConflictError, StorageError)
    with pytest.raises(kinds):
        table.export(target, format=format, progress=second)
    assert files
    assert all(path.exists() for path in files)
    if fails:
        assert in_order(READERS["parquet"](target)) == in_order(rows)


KILLED = """
import os, sys
from versioned_catalog import Catalog

def die(step, done, total):
    if done > int(sys.argv[3]):
        os._exit(9)

Catalog(sys.argv[1]).load_table("t").export(sys.argv[2], format=sys.argv[4], progress=die)
"""


@formats
@pytest.mark.parametrize("after", [0, 2])
def test_a_killed_export_is_not_taken_for_a_whole_one(
    catalog: Catalog, tmp_path: Path, format: str, after: int
) -> None:
    table, rows = evolved(catalog, tmp_path)
    target = tmp_path / "target"
    arguments = [str(tmp_path / "warehouse"), str(target), str(after), format]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, timeout=120)
    assert done.returncode == 9
    assert (target / "_EXPORT_UNFINISHED").exists()
    assert not (target / "_SUCCESS").exists()
    assert not list(target.glob("metadata/*.json"))
    assert not list(target.glob("_delta_log/*.json"))
    with pytest.raises(AlreadyExistsError, match="delete the folder and export again"):
        table.export(target, format=format)
    shutil.rmtree(target)
    table.export(target, format=format)
    assert in_order(READERS[format](target)) == in_order(rows)


@formats
def test_an_interrupted_export_leaves_nothing(
    catalog: Catalog, tmp_path: Path, format: str
) -> None:
    table, _ = evolved(catalog, tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.export(tmp_path / "target", format=format, progress=interrupt)
    assert not (tmp_path / "target").exists()


@formats
def test_many_partitions(catalog: Catalog, tmp_path: Path, format: str) -> None:
    table = catalog.create_table("t", "a INT, p INT", partitioned_by=["p"], properties=OFF)
    numbers = pa.array(range(300), I32)
    table.append(pa.table({"a": numbers, "p": numbers}))
    assert table.export(tmp_path / "t", format=format).files == 300
    rows = READERS[format](tmp_path / "t")
    assert in_order(rows) == in_order([{"a": n, "p": n} for n in range(300)])


def test_progress_counts_rows(catalog: Catalog, tmp_path: Path) -> None:
    table, _ = evolved(catalog, tmp_path)
    seen: list[tuple[str, int, int]] = []
    table.export(tmp_path / "x", progress=lambda *step: seen.append(step))
    assert seen[-1] == ("rows", 3, 3)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_order_of_rows_and_sizes_of_files(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("t", "a INT", properties={**OFF, "sort_by": "a"})
    for start in range(0, 5000, 1000):
        table.append(pa.table({"a": pa.array(range(start, start + 1000), I32)}))
    table.export(tmp_path / "t")
    (file,) = (tmp_path / "t").glob("*.parquet")
    assert pq.read_table(file)["a"].to_pylist() == list(range(5000))
    assert pq.ParquetFile(file).num_row_groups == 1


SMALL_MEMORY = """
import sys
import pyarrow as pa
from versioned_catalog import Catalog

done = Catalog(sys.argv[1]).load_table("t").export(sys.argv[2], format=sys.argv[3])
print(done.rows, pa.default_memory_pool().max_memory())
"""


@pytest.mark.nightly
@pytest.mark.parametrize("format", ["parquet", "iceberg"])
def test_large_tables_are_streamed(catalog: Catalog, tmp_path: Path, format: str) -> None:
    """512 MB of random numbers in 64 segments of 8 MB, of which Arrow never holds the half."""
    import numpy as np

    table = catalog.create_table("t", "a DOUBLE", properties=OFF)
    for number in range(64):
        table.append(pa.table({"a": np.random.default_rng(number).random(1_000_000)}))
    arguments = [str(tmp_path / "warehouse"), str(tmp_path / "target"), format]
    done = subprocess.run(
        [sys.executable, "-c", SMALL_MEMORY, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    rows, most = map(int, done.stdout.split())
    assert rows == 64_000_000
    assert most < 250_000_000


def test_metadata_of_iceberg_names_only_files_of_the_folder(
    catalog: Catalog, tmp_path: Path
) -> None:
    table, _ = keyed(catalog, tmp_path)
    table.export(tmp_path / "t", format="iceberg")
    text = (tmp_path / "t" / "metadata" / "v1.metadata.json").read_text()
    assert "warehouse" not in text
    assert "versioned" not in text
    assert len(json.loads(text)["snapshots"]) == 1
    kinds = sorted({file.suffix for file in (tmp_path / "t").rglob("*") if file.is_file()})
    assert kinds == [".avro", ".json", ".parquet", ".text"]


@pytest.mark.parametrize("engine", ["iceberg", "delta"])
def test_an_exported_table_can_be_taken_in_again(
    catalog: Catalog, tmp_path: Path, engine: str
) -> None:
    table, rows = evolved(catalog, tmp_path)
    table.export(tmp_path / "lake" / "t", format=engine)
    other = Catalog(tmp_path / "other", roots={"lake": tmp_path / "lake"})
    again = other.convert("back", str(tmp_path / "lake" / "t"))
    assert in_order(again.scan().to_arrow().to_pylist()) == in_order(rows)
