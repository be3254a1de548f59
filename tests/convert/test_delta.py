"""Delta tables are converted in place and followed: what we read is what deltalake reads."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from convert.sources import Lake, check_filters, delta_rows, drop_log, rows_of
from maintain.tables import DAY, later
from versioned_catalog import InvalidRequestError, Table

ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None],
        "a b": ["x/y", None, "ü%2F"],
        "f": [1.0, float("nan"), None],
        "ts": pa.array([1_700_000_000_123_456, -1, 3], pa.timestamp("us", "UTC")),
        "n": [{"a": 1, "l": ["x"]}, None, {"a": 2, "l": None}],
        "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
    }
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def convert(lake: Lake, **options: Any) -> Table:
    return lake.catalog.convert("t", lake.delta_path, **options)


def test_a_partitioned_table_is_converted_in_place(lake: Lake) -> None:
    lake.write_delta(ROWS, partition_by=["day", "a b"])
    before = lake.listing()
    table = convert(lake)
    assert rows_of(table) == delta_rows(lake.delta())
    assert table.partitioning == ["day", "`a b`"]
    assert [record["partition"] for record in table.inspect.partitions().to_pylist()]
    assert lake.listing() == before
    check_filters(
        table,
        [("day", "=", dt.date(2024, 1, 2))],
        [("a b", "=", "x/y")],
        [("a b", "is null")],
        [("f", "=", 1.0)],
        [("ts", ">", dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC))],
    )


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.int8(), [1, -128, None]),
        (pa.int16(), [1, -(2**15), None]),
        (pa.bool_(), [True, False, None]),
        (pa.decimal128(9, 2), ["1.25", "0.50", None]),
        (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29), None]),
        (pa.timestamp("us", "UTC"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None]),
        (pa.timestamp("us"), [dt.datetime(2024, 1, 1, 0, 0, 0, 1), None]),
        (pa.string(), ["a=b", "%", "'", " ", "ä/ö", "__HIVE_DEFAULT_PARTITION__x"]),
        (pa.float64(), [1.5, -0.25, None]),
        (pa.binary(), [b"\x00\xff", b"a\\u0041", None]),
    ],
    ids=str,
)
def test_partition_values_of_every_type(lake: Lake, type_: pa.DataType, values: list[Any]) -> None:
    is_decimal = pa.types.is_decimal(type_)
    array = pa.array(values).cast(type_) if is_decimal else pa.array(values, type_)
    rows = pa.table({"id": list(range(len(values))), "p": array})
    lake.write_delta(rows, partition_by=["p"])
    table = convert(lake)
    found = table.scan().to_arrow().sort_by("id")
    assert found["p"].to_pylist() == array.to_pylist()
    assert table.scan(filters=[("id", "=", 1)]).to_arrow()["p"].to_pylist() == [array[1].as_py()]


def test_partition_values_are_widened_as_values_in_files_are(lake: Lake) -> None:
    def append(id_: int) -> None:
        rows = pa.table({"id": [id_], "p": pa.array([0.1], pa.float32())})
        lake.write_delta(rows, partition_by=["p"], mode="append")

    append(1)
    table = convert(lake)
    table.alter().change_type("p", "DOUBLE").commit()
    append(2)
    table.sync()
    as_double = pa.scalar(0.1, pa.float32()).cast(pa.float64()).as_py()
    assert table.scan(["p"]).to_arrow()["p"].to_pylist() == [as_double] * 2
    assert as_double != 0.1


def test_an_empty_text_is_null_as_the_format_says(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1], "p": [""]}), partition_by=["p"])
    assert convert(lake).scan().to_arrow().to_pylist() == [{"id": 1, "p": None}]


def test_each_change_of_the_source_is_followed(lake: Lake) -> None:
    lake.write_delta(ROWS, partition_by=["day"])
    table = convert(lake)

    def follow() -> None:
        table.sync()
        assert rows_of(table) == delta_rows(lake.delta())
        version = table.version
        assert table.sync().version == version

    more = ROWS.append_column("new", pa.array([1, 2, None], pa.int32()))
    lake.write_delta(more, mode="append", schema_mode="merge")
    follow()
    lake.delta().alter.add_columns(Field("late", PrimitiveType("string")))
    follow()
    lake.delta().delete("id = 2")
    follow()
    lake.delta().update({"f": "5.5"}, predicate="id = 1")
    follow()
    lake.delta().optimize.compact()
    follow()
    lake.delta().restore(1)
    follow()
    lake.write_delta(
        pa.table({"id": ["a", "b"], "f": [1, 2]}),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=[],
    )
    follow()
    assert table.schema.names == ["id", "f"]
    lake.delta().vacuum(0, enforce_retention_duration=False, dry_run=False)
    follow()


def test_the_history_of_schemas_is_repeated(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    lake.write_delta(pa.table({"id": [2], "b": ["x"]}), mode="append", schema_mode="merge")
    lake.write_delta(pa.table({"b": [1], "c": [2]}), mode="overwrite", schema_mode="overwrite")
    table = convert(lake)
    names = [table.state.schemas[version].names for version in table.state.schemas]
    assert names == [["id"], ["id", "b"], ["b", "c"]]
    assert table.schema.get(("b",)).id != table.state.schemas[1].get(("b",)).id
    assert rows_of(table) == delta_rows(lake.delta())


def test_an_earlier_version_can_be_converted(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    lake.write_delta(pa.table({"id": [2]}), mode="append")
    table = convert(lake, version=0)
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    assert table.sync().source_version == "1"
    assert rows_of(table) == delta_rows(lake.delta())


def test_constraints_are_told_as_dropped(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    lake.delta().alter.add_constraint({"positive": "id > 0"})
    table = convert(lake)
    assert table.sync().dropped == ("the constraint positive (id > 0)",)


def test_a_copy_may_have_a_primary_key_and_is_upserted(lake: Lake) -> None:
    lake.write_delta(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    with pytest.raises(InvalidRequestError, match="give copy=True as well"):
        convert(lake, primary_key=["id"])
    table = convert(lake, primary_key=["id"], copy=True)
    table.upsert(pa.table({"id": [2, 3], "v": ["B", "c"]}))
    expected = [{"id": 1, "v": "a"}, {"id": 2, "v": "B"}, {"id": 3, "v": "c"}]
    assert table.scan().to_arrow().sort_by("id").to_pylist() == expected
    lake.write_delta(pa.table({"id": [1], "v": ["A"]}), mode="append")
    assert table.sync().copied == 1
    assert table.scan().to_arrow().sort_by("id").to_pylist()[0] == {"id": 1, "v": "A"}
    lake.delta().delete("id = 2")
    with pytest.raises(InvalidRequestError, match="rows can't be taken back"):
        table.sync()


def test_options_of_a_conversion_are_not_ignored_for_a_table_that_exists(lake: Lake) -> None:
    """One that is as they say is followed, so that a call can be repeated."""
    lake.write_delta(pa.table({"id": [1], "v": ["a"]}))
    there = {"properties": {"k": "v"}, "comment": "c", "deletes": "refuse", "root": "lake"}
    convert(lake, **there)
    lake.write_delta(pa.table({"id": [2], "v": ["b"]}), mode="append")
    assert convert(lake, **there).scan().to_arrow().num_rows == 2
    for said, other in {
        "k = v, while k is w": {"properties": {"k": "w"}},
        "the comment 'c', while": {"comment": "d"},
        "copy = False, not True": {"copy": True},
        "root = 'lake', not 'sea'": {"root": "sea"},
        "primary_key": {"copy": True, "primary_key": ["id"]},
    }.items():
        with pytest.raises(InvalidRequestError, match=f"exists, and .*{said}|was converted with"):
            convert(lake, **other)


def appended(lake: Lake, *numbers: int, id_: int = 1) -> None:
    for number in numbers:
        lake.write_delta(pa.table({"id": [id_, number], "n": [number, number]}), mode="append")


def value(table: Table, id_: int = 1) -> int:
    (found,) = table.scan(["n"], filters=[("id", "=", id_)]).to_arrow().to_pylist()
    return int(found["n"])


def test_of_several_appends_the_newest_row_of_a_key_counts(lake: Lake) -> None:
    appended(lake, 10, 11, 12)
    table = convert(lake, primary_key=["id"], copy=True)
    assert value(table) == 12
    appended(lake, 13, 14, 15, 16)
    table.sync()
    assert value(table) == 16
    drop_log(lake)
    again = lake.catalog.convert("again", lake.delta_path, primary_key=["id"], copy=True)
    assert value(again) == 16


def test_rows_that_were_compacted_are_as_old_as_before(lake: Lake) -> None:
    """OPTIMIZE may commit after an append that it has not seen."""
    appended(lake, 10, 11)
    compacting = lake.delta()
    appended(lake, 12)
    compacting.optimize.compact()
    assert len(lake.delta().file_uris()) == 2
    assert value(convert(lake, primary_key=["id"], copy=True)) == 12


def test_a_folder_that_is_no_table_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidRequestError, match="there is no folder "):
        convert(lake)
    (lake.root / "d").mkdir(parents=True)
    with pytest.raises(InvalidRequestError, match="is neither a Delta table"):
        convert(lake)
    with pytest.raises(InvalidRequestError, match="is not a Delta table that can be read"):
        convert(lake, kind="delta")
    with pytest.raises(InvalidRequestError, match="kind must be one of iceberg, delta"):
        convert(lake, kind="hudi")


def test_a_table_of_deltalake_is_taken_as_it_is(lake: Lake) -> None:
    lake.write_delta(ROWS)
    table = lake.catalog.convert("t", DeltaTable(lake.delta_path))
    assert rows_of(table) == delta_rows(lake.delta())


def test_a_source_is_followed_after_an_expiry_forgot_its_syncs(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.write_delta(pa.table({"id": [1]}))
    table = convert(lake)
    every_version = 36_500 * DAY
    table.maintenance.expire(every_version, dry_run=False)
    lake.write_delta(pa.table({"id": [2]}), mode="append")
    assert table.sync().version == table.refresh().version
    before = table.state.applications
    later(monkeypatch, 31 * DAY)
    assert table.maintenance.expire(every_version, dry_run=False).forgotten == len(before) == 1
    version = table.refresh().version
    assert table.sync().version == version, "nothing is followed twice"
    lake.write_delta(pa.table({"id": [3]}), mode="append")
    table.sync()
    assert rows_of(table.refresh()) == delta_rows(lake.delta())
    assert table.maintenance.verify(deep=True).is_clean
