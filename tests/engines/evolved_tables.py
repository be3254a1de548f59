"""Tables for other engines, with their rows by hand."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import Catalog, Table

UTC = dt.UTC
NAN = math.nan


def make_evolved(folder: Path) -> Table:
    """Six rows in three segments of three schemas: renamed, dropped and added again, widened, nested."""
    table = Catalog.create_path(
        folder, "id INT, host STRING, n INT, place STRUCT<lat: DOUBLE>, gone STRING"
    )
    place = pa.array([{"lat": 1.5}, None], pa.struct([("lat", pa.float64())]))
    table.append(
        pa.table(
            {
                "id": pa.array([1, 2], pa.int32()),
                "host": ["a", "b"],
                "n": pa.array([10, None], pa.int32()),
                "place": place,
                "gone": ["x", "y"],
            }
        )
    )
    change = table.alter().rename_column("host", "server").change_type("n", "BIGINT")
    change.drop_column("gone").add_column("score", "DOUBLE", default=0.5)
    change.add_column("place.lon", "INT", default=7).commit()
    place = pa.array(
        [{"lat": -0.0, "lon": 1}, {"lat": NAN, "lon": None}],
        pa.struct([("lat", pa.float64()), ("lon", pa.int32())]),
    )
    table.append(
        pa.table(
            {
                "id": pa.array([3, 4], pa.int32()),
                "server": ["c", None],
                "n": [2**40, 5],
                "place": place,
                "score": [NAN, -0.0],
            }
        )
    )
    table.alter().add_column("gone", "BIGINT").commit()
    table.append(
        pa.table(
            {
                "id": pa.array([5, 6], pa.int32()),
                "server": ["e", "é"],
                "n": [None, -1],
                "place": pa.array([None, {"lat": 2.0, "lon": 9}], place.type),
                "score": [None, 3.0],
                "gone": [50, None],
            }
        )
    )
    return table


EVOLVED: list[dict[str, Any]] = [
    {"id": 1, "server": "a", "n": 10, "place": {"lat": 1.5, "lon": 7}, "score": 0.5, "gone": None},
    {"id": 2, "server": "b", "n": None, "place": None, "score": 0.5, "gone": None},
    {
        "id": 3,
        "server": "c",
        "n": 2**40,
        "place": {"lat": -0.0, "lon": 1},
        "score": NAN,
        "gone": None,
    },
    {
        "id": 4,
        "server": None,
        "n": 5,
        "place": {"lat": NAN, "lon": None},
        "score": -0.0,
        "gone": None,
    },
    {"id": 5, "server": "e", "n": None, "place": None, "score": None, "gone": 50},
    {"id": 6, "server": "é", "n": -1, "place": {"lat": 2.0, "lon": 9}, "score": 3.0, "gone": None},
]
"""What the table ``evolved`` shows, by hand."""


def same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Compare rows; NaN equals NaN."""
    assert repr(found) == repr(wanted)


TYPES = (
    "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i64 BIGINT, f32 FLOAT, f64 DOUBLE, dec DECIMAL(20,2), "
    "s STRING, bin BINARY, d DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, t TIME(6), "
    "du INTERVAL DAY TO SECOND, c CHAR(3), v VARCHAR(5), "
    "l ARRAY<INT>, m MAP<STRING, INT>, `a.b` STRUCT<`c d`: INT>"
)

TYPED: dict[str, list[Any]] = {
    "b": [True, False, None],
    "i8": [-128, 127, None],
    "i16": [1, 2, None],
    "i64": [2**53 + 1, -1, None],
    "f32": [1.1, math.inf, None],
    "f64": [NAN, -0.0, None],
    "dec": [Decimal("1.50"), Decimal("-123456789012345678.99"), None],
    "s": ["a", "", None],
    "bin": [b"\x00\xff", b"", None],
    "d": [dt.date(2024, 2, 29), dt.date(1, 1, 1), None],
    "ts": [
        dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        None,
    ],
    "ntz": [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1900, 1, 1), None],
    "t": [dt.time(23, 59, 59, 999999), dt.time(0), None],
    "du": [dt.timedelta(days=1, microseconds=1), dt.timedelta(microseconds=-1), None],
    "c": ["a  ", "abc", None],
    "v": ["a", "b", None],
    "l": [[1, None], [], None],
    "m": [[("k", 1)], [], None],
    "a.b": [{"c d": 1}, {"c d": None}, None],
}
"""Values of the table ``typed``, by column."""


def make_typed(folder: Path) -> Table:
    """Three rows of every type that other engines know."""
    table = Catalog.create_path(folder, TYPES)
    arrays = [pa.array(TYPED[field.name], field.type) for field in table.scan().schema]
    table.append(pa.table(arrays, schema=table.scan().schema))
    return table


def spoil(table: Table, physical: str) -> None:
    """Overwrite a column in every segment, so that whoever reads it gets an error."""
    for path in table.inspect.segments()["path"].to_pylist():
        file = Path(table.location.removeprefix("file://")) / path
        meta = pq.read_metadata(file)
        for group in map(meta.row_group, range(meta.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                if chunk.path_in_schema.split(".")[0] == physical:
                    start = chunk.dictionary_page_offset or chunk.data_page_offset
                    with file.open("r+b") as opened:
                        opened.seek(start)
                        opened.write(b"\xff" * chunk.total_compressed_size)


def remove(table: Table, numbers: set[int]) -> None:
    """Delete the files of segments, by their place."""
    for at, path in enumerate(table.inspect.segments()["path"].to_pylist()):
        if at in numbers:
            (Path(table.location.removeprefix("file://")) / path).unlink()
