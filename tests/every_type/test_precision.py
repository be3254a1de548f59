"""A value finer than its type, which Spark would cut or never find, is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError

US, DURATION = pa.time64("us"), pa.duration("us")


@pytest.mark.parametrize(
    "ddl, arrow, fitting, finer, reason",
    [
        ("TIME(0)", US, [dt.time(1, 2, 3), None], dt.time(1, 2, 3, 1), "more than 0 digits of a second"),
        ("TIME(3)", US, [dt.time(0, 0, 0, 5000)], dt.time(0, 0, 0, 5), "more than 3 digits"),
        ("INTERVAL HOUR", DURATION, [dt.timedelta(hours=-5)], dt.timedelta(minutes=90), "of hours"),
        ("INTERVAL MINUTE", DURATION, [dt.timedelta(minutes=1)], dt.timedelta(seconds=-1), "minutes"),
        ("INTERVAL YEAR", pa.int32(), [-24, 0, None], 13, "of years"),
    ],
)  # fmt: skip
def test_a_value_between_two_steps_is_refused(
    tmp_path: Path, ddl: str, arrow: Any, fitting: list[Any], finer: Any, reason: str
) -> None:
    table = Catalog.create_path(tmp_path / "t", f"x {ddl}, l ARRAY<{ddl}>")
    table.append(
        pa.table(
            {
                "x": pa.array(fitting, arrow),
                "l": pa.array([fitting] * len(fitting), pa.list_(arrow)),
            }
        )
    )
    assert table.refresh().scan(["x"]).to_arrow()["x"].to_pylist() == fitting
    for rows in (
        pa.table({"x": pa.array([*fitting, finer], arrow)}),
        pa.table({"l": pa.array([[finer]], pa.list_(arrow))}),
    ):
        with pytest.raises(
            InvalidRequestError, match=f"the column .* is .*{reason}.*declare a finer type"
        ):
            table.append(rows)
