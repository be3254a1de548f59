"""Files of types that other libraries add to Parquet: what is imported can be read."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def _tensors(rows: list[list[float] | None]) -> pa.Array:
    kind = pa.fixed_shape_tensor(pa.float32(), [2, 2])
    flat = [0.0 if row is None else value for row in rows for value in row or [0.0] * 4]
    mask = pa.array([row is None for row in rows])
    storage = pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), 4, mask=mask)
    return pa.ExtensionArray.from_storage(kind, storage)


def _extended() -> dict[str, tuple[pa.Array, str, list[Any]]]:
    interval = pa.array(pd.array([pd.Interval(1, 3), pd.Interval(2, 5)]))
    intervals = [{"left": 1, "right": 3}, {"left": 2, "right": 5}]
    period = pa.array(pd.array([pd.Period("1970-01-03", "D"), None]))
    json_ = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None]))
    bool8 = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8()))
    nested = pa.StructArray.from_arrays([interval], ["i"])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2]), interval)
    return {
        "interval": (interval, "STRUCT<`left`: BIGINT, `right`: BIGINT>", intervals),
        "period": (period, "BIGINT", [2, None]),
        "tensor": (
            _tensors([[1, 2, 3, 4], [5, 6, 7, 8]]),
            "ARRAY<FLOAT>",
            [[1, 2, 3, 4], [5, 6, 7, 8]],
        ),
        "json": (json_, "STRING", ['{"a": 1}', None]),
        "bool8": (bool8, "TINYINT", [1, None]),
        "in_struct": (
            nested,
            "STRUCT<i: STRUCT<`left`: BIGINT, `right`: BIGINT>>",
            [{"i": one} for one in intervals],
        ),
        "in_list": (lists, "ARRAY<STRUCT<`left`: BIGINT, `right`: BIGINT>>", [intervals, []]),
    }


EXTENDED = _extended()


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("name", EXTENDED)
def test_extension_types_are_what_they_are_stored_as(lake: Lake, name: str, copy: bool) -> None:
    array, type_, wanted = EXTENDED[name]
    lake.write("0.parquet", {"x": array})
    table = lake.load(copy=copy)
    assert str(table.schema) == f"x {type_}"
    assert [row["x"] for row in lake.rows()] == wanted


def test_missing_tensors_are_read_or_refused_when_they_are_imported(lake: Lake) -> None:
    lake.write("0.parquet", {"x": _tensors([[1, 2, 3, 4], None])})
    lake.load()
    assert [row["x"] for row in lake.rows()] == [[1, 2, 3, 4], None]


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("unit", UNITS)
def test_intervals_of_every_unit(lake: Lake, unit: str, copy: bool) -> None:
    values = pa.array([90 * UNITS[unit], -UNITS[unit], None], pa.int64()).view(pa.duration(unit))
    lake.write("0.parquet", {"x": values, "s": pa.StructArray.from_arrays([values], ["i"])})
    table = lake.load(copy=copy)
    wanted = [dt.timedelta(seconds=90), dt.timedelta(seconds=-1), None]
    assert [row["x"] for row in lake.rows()] == wanted
    assert [row["s"]["i"] for row in lake.rows()] == wanted
    rows = table.scan(filters=[("x", "=", dt.timedelta(seconds=90))]).to_arrow()
    assert rows.num_rows == 1


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("kind", ["duration", "time", "timestamp"])
def test_nanoseconds_with_a_rest_are_refused_or_cut(lake: Lake, kind: str, copy: bool) -> None:
    type_ = {"duration": pa.duration, "time": pa.time64, "timestamp": pa.timestamp}[kind]("ns")
    values = pa.array([1_000, 1_999], pa.int64()).view(type_)
    lake.write("0.parquet", {"l": pa.ListArray.from_arrays(pa.array([0, 1, 2]), values)})
    with pytest.raises(InvalidRequestError, match=r"digits below a microsecond|would lose data"):
        lake.load(copy=copy)
    lake.load(copy=copy, nanoseconds="truncate")
    wanted = pa.array([1, 1], pa.int64()).view(
        {"duration": pa.duration("us"), "time": pa.time64("us"), "timestamp": pa.timestamp("us")}[
            kind
        ]
    )
    assert [row["l"][0] for row in lake.rows()] == wanted.to_pylist()


def test_a_negative_interval_is_cut_downwards(lake: Lake) -> None:
    lake.write("0.parquet", {"x": pa.array([-1], pa.int64()).view(pa.duration("ns"))})
    lake.load(nanoseconds="truncate")
    assert lake.rows() == [{"x": dt.timedelta(microseconds=-1)}]


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("seconds", [2**62, -(2**62)])
def test_an_interval_out_of_range_is_refused(lake: Lake, seconds: int, statistics: bool) -> None:
    values = pa.array([seconds, 0], pa.int64()).view(pa.duration("s"))
    lake.write("0.parquet", {"x": values}, write_statistics=statistics)
    with pytest.raises(InvalidRequestError, match="out of the range of microseconds"):
        lake.load()


@pytest.mark.parametrize("copy", [True, False])
def test_a_file_with_none_of_the_columns_is_refused(lake: Lake, copy: bool) -> None:
    table = lake.catalog.create_table("t", "id BIGINT, name STRING")
    lake.write("a/0.parquet", {"id": [1]})
    lake.write("b/0.parquet", {"other": [1, 2]})
    with pytest.raises(InvalidRequestError, match="none of the columns"):
        lake.load(copy=copy, exclude=["other"])
    assert table.refresh().count() == 0
    lake.load("u", source="a", copy=copy)
    lake.load("u", source="b", copy=copy, evolve=True)
    assert lake.rows("u") == [{"id": 1, "other": None}, *({"id": None, "other": n} for n in (1, 2))]


@pytest.mark.parametrize("copy", [True, False])
def test_a_file_may_have_its_columns_in_the_path_alone(lake: Lake, copy: bool) -> None:
    lake.write("id=7/0.parquet", {"other": [1, 2]})
    lake.load(copy=copy, exclude=["other"])
    assert lake.rows() == [{"id": 7}, {"id": 7}]


CODECS = {"none": None, "snappy": None, "gzip": None, "zstd": None, "lz4": None, "brotli": "brotli"}


def _codec(segment: Any) -> str | None:
    found: str | None = segment.record.id_map.codec
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_the_map_says_the_codecs_that_spark_lacks(lake: Lake, codec: str) -> None:
    rows = pa.table({"a.b": [1], "s": [{"x": "y" * 1000}], "l": [[1, 2]]})
    lake.write("0.parquet", rows, compression=codec)
    table = lake.load()
    assert lake.rows() == rows.to_pylist()
    (segment,) = table.refresh().state.segments.tail
    assert _codec(segment) == CODECS[codec]


def test_one_column_of_another_codec_counts(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2]}, compression={"a": "snappy", "b": "brotli"})
    lake.write("1.parquet", {"a": [3], "b": [4]})
    table = lake.load()
    codecs = [_codec(one) for one in table.state.segments.tail]
    assert codecs == ["brotli", None]


def test_pages_of_an_unknown_codec_are_refused(lake: Lake) -> None:
    path = lake.write("0.parquet", {"a": [1]}, compression="snappy")
    data = path.read_bytes()
    # The codec follows the path of the column: SNAPPY is 1, LZO is 3.
    snappy, lzo = b"\x19\x18\x01a\x15\x02", b"\x19\x18\x01a\x15\x06"
    assert data.count(snappy) == 1
    path.write_bytes(data.replace(snappy, lzo))
    with pytest.raises(InvalidRequestError, match="compressed with LZO, which can't be read"):
        lake.load()


@pytest.mark.parametrize("copy", [True, False])
def test_a_struct_with_none_of_the_fields_is_null(lake: Lake, copy: bool) -> None:
    lake.catalog.create_table("t", "a BIGINT, s STRUCT<y: INT>")
    lake.write("0.parquet", {"a": [1], "s": [{"x": 2}]})
    lake.load(copy=copy, exclude=["s.x"])
    assert lake.rows() == [{"a": 1, "s": None}]
