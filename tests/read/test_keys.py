"""Declaring the row key of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from read.keyed_table import DDL, make, shown
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError


def test_a_key_is_declared_by_arguments_or_properties(tmp_path: Path) -> None:
    message = {"primary_key": "host", "time_index": "ts"}
    one = make(tmp_path / "a")
    two = Catalog.create_path(tmp_path / "b", DDL, properties=message)
    for table in (one, two):
        assert (table.primary_key, table.time_index) == (["host"], "ts")
        assert table.properties == message
        assert [column.nullable for column in table.schema.columns] == [False, False, True, True]
    with pytest.raises(InvalidRequestError, match="another primary_key"):
        make(tmp_path / "c", properties={"primary_key": "v"})


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"primary_key": ["nope"]}, NotFoundError, "nope"),
        ({"primary_key": ["host", "host"]}, InvalidRequestError, "twice"),
        ({"time_index": "host"}, InvalidRequestError, "time index host is STRING"),
        ({"partitioned_by": ["w"]}, InvalidRequestError, "columns of its row key .host, ts"),
        ({"properties": {"sort_by": "v"}}, InvalidRequestError, "leave out sort_by"),
        ({"primary_key": "host"}, InvalidRequestError, "a list of columns"),
    ],
)
def test_invalid_keys_are_refused(
    tmp_path: Path, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make(tmp_path / "t", **more)


def test_a_key_can_not_be_changed(tmp_path: Path) -> None:
    table = make(
        tmp_path / "t", "host CHAR(2), n INT, ts DATE, v DOUBLE", primary_key=["host", "n"]
    )
    for change, says in (
        (lambda a: a.drop_column("host"), "host can't be dropped"),
        (lambda a: a.drop_not_null("ts"), "ts must stay NOT NULL"),
        (lambda a: a.change_type("n", "double"), "n can't be in the row key as DOUBLE"),
        (lambda a: a.set_property("primary_key", "n"), "set when a table is created"),
        (lambda a: a.set_property("time_index", "ts"), "set when a table is created"),
        (lambda a: a.unset_property("time_index"), "set when a table is created"),
        (lambda a: a.set_property("sort_by", "v"), "leave out sort_by"),
        (lambda a: a.set_partitioning(["v"]), "can't be partitioned by v"),
    ):
        with pytest.raises(InvalidRequestError, match=says):
            change(table.alter()).commit()
    data = pa.table({"host": ["a"], "n": [1], "ts": pa.array([1], pa.date32()), "v": [1.0]})
    data = data.set_column(1, "n", data["n"].cast(pa.int32()))
    table.append(data)
    table.alter().rename_column("n", "m").change_type("m", "long").change_type(
        "ts", "timestamp_ntz"
    ).change_type("host", "string").move_column("v", first=True).commit()
    assert (table.primary_key, table.time_index) == (["host", "m"], "ts")
    table.append(
        pa.table(
            {
                "host": ["a "],
                "m": [1],
                "ts": pa.array([86_400_000_000], pa.timestamp("us")),
                "v": [2.0],
            }
        )
    )
    assert table.scan(columns=["v"]).to_arrow().to_pylist() == [{"v": 2.0}]
    with pytest.raises(InvalidRequestError, match="m is part of the row key"):
        table.update({"m": 5})


def test_ttl_hides_old_rows(tmp_path: Path) -> None:

    table = make(tmp_path / "t", properties={"ttl": "10 days"})
    table.append(old_and_new())
    assert [row[2] for row in shown(table)] == [2.0]
    assert (table.count(), table.scan(filters=[("v", "=", 1.0)]).count()) == (1, 0)
    assert len(table.scan().merged_paths()) == 1, "the segment of the old row is pruned"
    table.alter().unset_property("ttl").commit()
    assert [row[2] for row in shown(table)] == [2.0], "a hidden row stays hidden"
    table.append(old_and_new().slice(0, 1))
    assert table.count() == 1
    assert "ttl_floor" not in table.properties
    table.maintenance.compact(strategy="full")
    assert (table.count(), table.state.segments.rows) == (1, 1)
    for value in ("5", "0 days", "5 months", ""):
        with pytest.raises(InvalidRequestError, match="write a number and a unit"):
            table.alter().set_property("ttl", value).commit()
    with pytest.raises(InvalidRequestError, match="needs a time index"):
        make(tmp_path / "u", time_index=None, properties={"ttl": "1 day"})


def old_and_new() -> pa.Table:
    import datetime as dt

    now = dt.datetime.now(dt.UTC)
    times = pa.array([now - dt.timedelta(days=100), now], pa.timestamp("us", "UTC"))
    return pa.table({"host": ["a", "a"], "ts": times, "v": [1.0, 2.0]})
