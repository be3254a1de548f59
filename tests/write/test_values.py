"""Values of Arrow tables and data frames that are appended: exact, or refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from versioned_catalog import Catalog, InvalidRequestError

ODD_APPENDS: list[tuple[str, Any]] = [
    ("d DECIMAL(10,2)", pa.array([0.129])),
    ("d DATE", pa.array([dt.datetime(2024, 1, 31, 23, 59)])),
    ("d DATE", pa.array([86_399_999], pa.int64()).view(pa.date64())),
    ("d TIMESTAMP_NTZ", pa.array([1001], pa.int64()).view(pa.timestamp("ns"))),
    ("d TIME", pa.array([1001], pa.int64()).view(pa.time64("ns"))),
    ("d INTERVAL DAY TO SECOND", pa.array([1001], pa.int64()).view(pa.duration("ns"))),
    ("d INT", pa.array([0.5])),
    ("d FLOAT", pa.array([0.1])),
    ("d BIGINT", pa.array([2**64 - 1], pa.uint64())),
    ("d BIGINT", pc.dictionary_encode(pa.array([2**64 - 1], pa.uint64()))),
    ("d DOUBLE", pa.array([2**53 + 1])),
    ("d TIMESTAMP", pa.array([2**62], pa.int64()).view(pa.timestamp("s", tz="UTC"))),
]


@pytest.mark.parametrize(("ddl", "values"), ODD_APPENDS)
def test_an_append_that_would_lose_something_is_refused(
    tmp_path: Path, ddl: str, values: Any
) -> None:
    table = Catalog(tmp_path).create_table("t", ddl)
    with pytest.raises(InvalidRequestError, match=r"does not widen|does not fit"):
        table.append(pa.table({"d": values}))
    assert table.count() == 0


def test_a_data_frame_that_is_no_table_is_refused(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "d STRING")
    with pytest.raises(InvalidRequestError, match=r"DataFrame can't be read as Arrow data: .*'x'"):
        table.append(pd.DataFrame({"d": [1, "x"]}))
    assert table.count() == 0
