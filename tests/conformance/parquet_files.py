"""Situations of apache/parquet-testing.

Equivalent files are written by PyArrow where it can; another test reads the files themselves.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.lake import Lake, refused, rows, shown
from conformance.registry import Situation, Source
from versioned_catalog import CorruptTableError, Table

SITUATIONS: list[Situation] = []
data = Source("parquet", "data", SITUATIONS)
bad = Source("parquet", "bad_data", SITUATIONS)
shredded = Source("parquet", "shredded_variant", SITUATIONS)


def imported(lake: Lake, columns: dict[str, Any] | pa.Table, **options: Any) -> Table:
    """Write a file with some options of PyArrow, import it, and load the table."""
    lake.parquet("f.parquet", columns, **options)
    return lake.imported("f.parquet")


def encoded(lake: Lake, values: pa.Array, encoding: str) -> list[Any]:
    """The values of a column that was written in some encoding, in their order."""
    table = imported(
        lake, pa.table({"c": values}), use_dictionary=False, column_encoding={"c": encoding}
    )
    found: list[Any] = table.scan().to_arrow()["c"].to_pylist()
    return found


@data.passes(
    "delta_binary_packed.parquet",
    "Integers in DELTA_BINARY_PACKED are read, with the greatest differences.",
)
def parquet_delta(lake: Lake) -> None:
    values = [0, -1, 2**63 - 1, -(2**63), 5] * 50
    assert encoded(lake, pa.array(values, pa.int64()), "DELTA_BINARY_PACKED") == values


@data.passes(
    "delta_byte_array.parquet",
    "Texts in DELTA_BYTE_ARRAY are read, with nulls and common beginnings.",
)
def parquet_delta_bytes(lake: Lake) -> None:
    values = ["axis", "axle", None, "", "babble", "babyhood"] * 20
    assert encoded(lake, pa.array(values), "DELTA_BYTE_ARRAY") == values


@data.passes("delta_length_byte_array.parquet", "Texts in DELTA_LENGTH_BYTE_ARRAY are read.")
def parquet_delta_length(lake: Lake) -> None:
    values = [f"apple_banana_mango{n * n}" for n in range(100)]
    assert encoded(lake, pa.array(values), "DELTA_LENGTH_BYTE_ARRAY") == values


@data.passes("rle_boolean_encoding.parquet", "Booleans in RLE are read, with nulls.")
def parquet_rle(lake: Lake) -> None:
    values = [True, True, None, False] * 40
    assert encoded(lake, pa.array(values), "RLE") == values


@data.passes("byte_stream_split.zstd.parquet", "FLOAT and DOUBLE in BYTE_STREAM_SPLIT are read.")
def parquet_split(lake: Lake) -> None:
    values = [0.5, -0.25, 1e300, 5e-324]
    assert encoded(lake, pa.array(values), "BYTE_STREAM_SPLIT") == values


@data.passes("int32_decimal.parquet", "DECIMALs that are stored as INT32 are read.")
def parquet_decimal(lake: Lake) -> None:
    values = pa.array([Decimal(n) for n in range(1, 25)], pa.decimal128(4, 2))
    table = imported(lake, {"value": values}, store_decimal_as_integer=True)
    assert pq.ParquetFile(lake.files / "f.parquet").schema.column(0).physical_type == "INT32"
    assert shown(table) == "value DECIMAL(4,2)"
    assert sorted(rows(table)) == [(Decimal(n),) for n in range(1, 25)]


@data.passes(
    "fixed_length_decimal.parquet", "DECIMALs that are stored as bytes of a fixed length are read."
)
def parquet_fixed_decimal(lake: Lake) -> None:
    values = pa.array([Decimal(n) for n in range(1, 25)], pa.decimal128(25, 2))
    assert sorted(rows(imported(lake, {"value": values}))) == [(Decimal(n),) for n in range(1, 25)]


@data.passes("null_list.parquet", "An empty list of no type is an array of texts.")
def parquet_null_list(lake: Lake) -> None:
    table = imported(lake, {"emptylist": pa.array([[]], pa.list_(pa.null()))})
    assert (shown(table), rows(table)) == ("emptylist ARRAY<STRING>", [([],)])


@data.passes("list_columns.parquet", "Lists with nulls in them, and null lists, are told apart.")
def parquet_lists(lake: Lake) -> None:
    values = {"l": [[1, 2, 3], [None, 1], [4]], "u": [["abc", "efg", "hij"], None, ["efg", None]]}
    assert sorted(rows(imported(lake, values)), key=repr) == sorted(
        zip(values["l"], values["u"], strict=True), key=repr
    )


@data.passes(
    "old_list_structure.parquet",
    "Lists of lists of two levels, as older writers made them, are read.",
)
def parquet_old_lists(lake: Lake) -> None:
    table = imported(lake, {"a": [[[1, 2], [3, 4]]]}, use_compliant_nested_type=False)
    assert rows(table) == [([[1, 2], [3, 4]],)]


@data.passes("nested_maps.snappy.parquet", "Maps of maps are read.")
def parquet_maps(lake: Lake) -> None:
    type_ = pa.map_(pa.string(), pa.map_(pa.int32(), pa.bool_()))
    value = [("a", [(1, True), (2, False)])]
    assert rows(imported(lake, {"a": pa.array([value, []], type_)})) == [(value,), ([],)]


@data.passes("nulls.snappy.parquet", "A struct whose field is null differs from a null struct.")
def parquet_nulls(lake: Lake) -> None:
    assert rows(imported(lake, {"s": [{"c": None}, {"c": None}]})) == [
        ({"c": None},),
        ({"c": None},),
    ]


@data.passes("nan_in_stats.parquet", "NaN beside other values leaves no value out of a filter.")
def parquet_nan(lake: Lake) -> None:
    table = imported(lake, {"x": [1.0, math.nan]})
    assert rows(table, filters=[("x", "=", 1.0)]) == [(1.0,)]
    assert len(rows(table, filters=[("x", ">", 2.0)])) == 1


@data.passes("single_nan.parquet", "NaN alone is found by NaN, and by greater than all.")
def parquet_single_nan(lake: Lake) -> None:
    table = imported(lake, {"mycol": [math.nan]})
    assert len(rows(table, filters=[("mycol", "=", math.nan)])) == 1
    assert rows(table, filters=[("mycol", "<", math.inf)]) == []


@data.passes("float16_zeros_and_nans.parquet", "FLOAT16 is read as FLOAT, with both zeros and NaN.")
def parquet_half(lake: Lake) -> None:
    import numpy as np

    halves = pa.array(np.array([-0.0, 0.0, math.nan], np.float16))
    table = imported(lake, {"x": halves})
    assert sorted(repr(value) for (value,) in rows(table)) == ["-0.0", "0.0", "nan"]


@data.passes("int96_from_spark.parquet", "Timestamps as INT96 are read to the microsecond.")
def parquet_int96(lake: Lake) -> None:
    moments = [dt.datetime(2024, 1, 1, 20, 34, 56, 123456), dt.datetime(1, 1, 1), None]
    table = imported(
        lake, {"a": pa.array(moments, pa.timestamp("us"))}, use_deprecated_int96_timestamps=True
    )
    assert shown(table) == "a TIMESTAMP"
    expected = {None if one is None else one.replace(tzinfo=dt.UTC) for one in moments}
    assert {value for (value,) in rows(table)} == expected


@data.passes("datapage_v2.snappy.parquet", "Data pages of version 2 are read.")
def parquet_v2(lake: Lake) -> None:
    columns = {"a": ["abc", None, "x"], "e": [[1, 2, 3], None, [1, 2]]}
    assert len(rows(imported(lake, columns, data_page_version="2.0"))) == 3


@data.passes("lz4_raw_compressed.parquet", "Pages in each codec of PyArrow are read.")
def parquet_codecs(lake: Lake) -> None:
    for codec in ("snappy", "gzip", "brotli", "zstd", "lz4"):
        lake.parquet(f"c/{codec}.parquet", {"c0": [codec]}, compression=codec)
    assert rows(lake.imported("c")) == [("brotli",), ("gzip",), ("lz4",), ("snappy",), ("zstd",)]


@data.passes(
    "binary_truncated_min_max.parquet", "Bounds that were cut off skip no file that has a match."
)
def parquet_truncated(lake: Lake) -> None:
    long = "z" * 500
    table = imported(lake, {"s": [long, long + "a"]})
    assert rows(table, filters=[("s", ">", long)]) == [(long + "a",)]
    assert rows(table, filters=[("s", "=", long)]) == [(long,)]


@data.passes("sort_columns.parquet", "A file that says how it is sorted is read as others are.")
def parquet_sorted(lake: Lake) -> None:
    order = [pq.SortingColumn(0, descending=True, nulls_first=True)]
    table = imported(lake, {"a": [None, 2, 1], "b": ["x", "y", "z"]}, sorting_columns=order)
    assert rows(table, filters=[("a", ">=", 2)]) == [(2, "y")]


@data.passes(
    "concatenated_gzip_members.parquet", "Unsigned integers of 64 bits are read as they are."
)
def parquet_unsigned(lake: Lake) -> None:
    table = imported(lake, {"long_col": pa.array([1, 2**64 - 1], pa.uint64())}, compression="gzip")
    assert sorted(int(value) for (value,) in rows(table)) == [1, 2**64 - 1]


@data.passes(
    "datapage_v1-corrupt-checksum.parquet",
    "A page whose checksum does not match is an error, never another value.",
)
def parquet_checksum(lake: Lake) -> None:
    values = pa.array(range(1000), pa.int32())
    file = lake.parquet(
        "f.parquet",
        pa.table({"a": values}),
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    lake.imported("f.parquet")
    stored = bytearray(file.read_bytes())
    place = stored.index((500).to_bytes(4, "little"))
    stored[place] ^= 1
    file.write_bytes(stored)
    with refused("^root:files/f.parquet can't be read: .*checksum", CorruptTableError):
        lake.catalog.load_table("t").scan().to_arrow()


ALL_FILES = (
    "tests/imports/test_parquet_testing.py::test_each_file_is_read_or_refused_as_the_page_says"
)


for name, what in (
    ("alltypes_tiny_pages.parquet", "A file with hundreds of small pages and a page index."),
    ("alltypes_plain.snappy.parquet", "A file of Impala with all its types, and INT96."),
    ("nullable.impala.parquet", "Nested columns of Impala, with nulls on each level."),
    ("repeated_primitive_no_list.parquet", "Repeated fields that no annotation calls lists."),
    ("map_no_value.parquet", "Maps without values, and with null ones."),
    ("overflow_i16_page_cnt.parquet", "A row group of more pages than a short integer counts."),
    ("hadoop_lz4_compressed.parquet", "LZ4 in the frames of Hadoop."),
    ("int32_with_null_pages.parquet", "Pages that hold nothing but nulls."),
    ("dict-page-offset-zero.parquet", "A dictionary whose offset is given as 0."),
    ("geospatial/geospatial.parquet", "Geometries as WKB."),
    ("page_v2_empty_compressed.parquet", "A compressed page of version 2 without a value."),
):
    data.tested_by(name, f"{what} It is read.", ALL_FILES)


for name, what in (
    (
        "encrypt_columns_and_footer.parquet.encrypted",
        "An encrypted file can't be read without keys.",
    ),
    ("incorrect_map_schema.parquet", "A map whose keys are declared optional."),
):
    data.tested_by(name, what, ALL_FILES, "the file is refused, by its name and with the reason.")


for name, what in (
    ("PARQUET-1481.parquet", "A physical type that does not exist."),
    ("ARROW-RS-GH-6229-DICTHEADER.parquet", "A dictionary with a negative number of values."),
    ("ARROW-RS-GH-6229-LEVELS.parquet", "A page with too few levels."),
    ("ARROW-GH-41317.parquet", "Columns of different lengths in one row group."),
    ("ARROW-GH-41321.parquet", "A bit width beyond the type."),
    ("ARROW-GH-45185.parquet", "A first level that continues a list."),
    ("ARROW-GH-47662.parquet", "A required column with nulls."),
):
    bad.tested_by(name, f"{what} It is an error.", ALL_FILES)


shredded.tested_by(
    "cases.json",
    "Variants that are shredded into columns are read as they were before.",
    ALL_FILES,
)
