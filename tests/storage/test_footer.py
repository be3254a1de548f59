"""Bounds of column chunks read from footers: compared with PyArrow's, and from hostile footers."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog
from versioned_catalog.log.footer_statistics import chunk_bounds
from versioned_catalog.storage.footer import Footer
from versioned_catalog.storage.parquet import footer_of, open_parquet

DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "short": (pa.int16(), [-5, 9, 0]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 5]),
    "float": (pa.float32(), [-1.5, 2.5, float("inf")]),
    "double": (pa.float64(), [-0.0, 0.0, float("nan")]),
    "date": (pa.date32(), [DAY, dt.date(1, 1, 1), None]),
    "ntz": (pa.timestamp("us"), [MOMENT, None, MOMENT]),
    "moment": (pa.timestamp("us", "UTC"), [MOMENT, dt.datetime(9999, 1, 1), None]),
    "time": (pa.time64("us"), [dt.time(1, 2, 3, 4), dt.time(0), None]),
    "small_decimal": (pa.decimal128(9, 2), [decimal.Decimal("-1.25"), decimal.Decimal(7), None]),
    "decimal": (pa.decimal128(38, 3), [-(decimal.Decimal(10) ** 30), decimal.Decimal(1), None]),
    "text": (pa.string(), ["", "é" * 30, "a"]),
    "binary": (pa.binary(), [b"", b"\xff" * 200, None]),
    "nothing": (pa.int32(), [None, None, None]),
    "a.b": (pa.int64(), [1, 2, 3]),
}


def written(table: pa.Table, **how: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def opened(data: bytes) -> tuple[Footer, pq.ParquetFile]:
    source = pa.BufferReader(data)
    file = open_parquet(source, "x")
    return footer_of(source, file), file


def random_table(random: Random) -> pa.Table:
    columns = {}
    for name, (type_, values) in VALUES.items():
        columns[name] = pa.array([random.choice(values) for _ in range(60)], type_)
    inner = pa.StructArray.from_arrays(
        [columns["int"], columns["text"]], ["x", "y"], mask=columns["flag"].is_null()
    )
    return pa.table({**columns, "s": inner, "list": [[n, None] for n in range(60)]})


@pytest.mark.parametrize("seed", range(12))
def test_bounds_equal_those_of_pyarrow(seed: int) -> None:
    random = Random(seed)
    how = {
        "row_group_size": random.choice((7, 20, 60)),
        "use_dictionary": random.random() < 0.5,
        "store_decimal_as_integer": random.random() < 0.5,
        "data_page_version": random.choice(("1.0", "2.0")),
        "write_page_index": random.random() < 0.5,
        "write_statistics": random.random() < 0.9,
    }
    table = random_table(random)
    footer, file = opened(written(table, **how))
    paths = [(name,) for name in VALUES] + [("s", "x"), ("s", "y"), ("list", "list", "element")]
    metadata = file.metadata
    positions = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    for path in paths:
        chunks = footer.chunks(path)
        assert chunks is not None
        at = positions[".".join(path)]
        columns = [metadata.row_group(g).column(at) for g in range(metadata.num_row_groups)]
        stats = [column.statistics for column in columns]
        assert [chunk.nulls for chunk in chunks] == [s and s.null_count for s in stats]
        ranges = [footer.ranges(group, [path])[0] for group in range(metadata.num_row_groups)]
        assert [end - first for first, end in ranges] == [
            column.total_compressed_size for column in columns
        ]
        assert [first for first, _ in ranges] == [
            column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            for column in columns
        ]
        type_ = {"s": pa.int32() if path[-1] == "x" else pa.string(), "list": pa.int64()}.get(
            path[0], VALUES.get(path[0], (None,))[0]
        )
        low, high = chunk_bounds(chunks, type_, type_)
        zone = dt.UTC if path == ("moment",) else None
        assert [_zoned(v, zone) for v in low.to_pylist()] == [s and s.min for s in stats]
        assert [_zoned(v, zone) for v in high.to_pylist()] == [s and s.max for s in stats]


def _zoned(value: Any, zone: Any) -> Any:
    return value.replace(tzinfo=zone) if zone and value is not None else value


def test_ranges_of_nested_columns() -> None:
    footer, file = opened(written(random_table(Random(1)), row_group_size=20))
    leaves = footer.leaves(["s", "a.b", "list"])
    assert leaves == [("a.b",), ("s", "x"), ("s", "y"), ("list", "list", "element")]
    for group in range(3):
        row_group = file.metadata.row_group(group)
        columns = [row_group.column(at) for at in range(row_group.num_columns)]
        expected = [
            column.dictionary_page_offset
            for column in columns
            if column.path_in_schema.split(".")[0] in ("s", "a", "list")
        ]
        assert [first for first, _ in footer.ranges(group, leaves)] == expected


def test_bounds_are_unknown_if_values_look_like_a_path() -> None:
    marker = "\x19\x18\x01a"
    table = pa.table({"a": [1, 2], "b": [marker, marker + "\x15\x00"], "c": [1, 2]})
    footer, _ = opened(written(table))
    assert footer.chunks(("a",)) is None
    assert footer.chunks(("c",)) is not None
    assert footer.chunks(("missing",)) is None


def test_values_that_look_like_a_path_lose_no_rows(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a BIGINT, b STRING")
    marker = "\x19\x18\x01a"
    table.append(pa.table({"a": range(2000), "b": [marker + str(n) for n in range(2000)]}))
    found = table.scan(filters=[("a", ">=", 1990)]).to_arrow()
    assert found["a"].to_pylist() == list(range(1990, 2000))


@pytest.mark.parametrize("held", [pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.int64()])
def test_bounds_in_another_unit_are_unknown(held: pa.DataType) -> None:
    footer, _ = opened(written(pa.table({"a": pa.array([1], held)})))
    chunks = footer.chunks(("a",))
    assert chunks is not None
    low, high = chunk_bounds(chunks, held, pa.timestamp("us"))
    assert (low.null_count, high.null_count) == (1, 1)


def test_bounds_of_another_type_are_unknown() -> None:
    footer, _ = opened(written(pa.table({"a": [300], "b": [b"\xff"]})))
    for name, type_ in (("a", pa.int8()), ("a", pa.string()), ("b", pa.string())):
        chunks = footer.chunks((name,))
        assert chunks is not None
        low, _ = chunk_bounds(chunks, pa.int64(), type_)
        assert low.to_pylist() == [None]


CASES = sorted((Path(__file__).parents[1] / "fuzz" / "cases" / "footer").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_footers_that_crash_pyarrow_do_not_crash_the_process(case: Path) -> None:
    """Such a footer may give wrong bounds; the process survives."""
    footer, file = opened(case.read_bytes())
    for path in footer.leaves(file.schema_arrow.names):
        for chunk in footer.chunks(path) or ():
            chunk_bounds([chunk], pa.int64(), pa.int64())
        footer.ranges(0, [path])


def test_mutated_footers_raise_nothing() -> None:
    random = Random(3)
    data = bytearray(written(random_table(random), row_group_size=20))
    file = pq.ParquetFile(pa.BufferReader(bytes(data)))
    length = int.from_bytes(data[-8:-4], "little")
    for _ in range(1500):
        tail = bytearray(data[-8 - length : -8])
        for _ in range(random.choice((1, 4, 30))):
            tail[random.randrange(len(tail))] = random.randrange(256)
        footer = Footer(bytes(tail[: random.choice((length, random.randrange(length)))]), file)
        for path in (("int",), ("s", "y"), ("binary",)):
            for chunk in footer.chunks(path) or ():
                chunk_bounds([chunk], pa.int32(), pa.int32())
            footer.ranges(1, [path])
