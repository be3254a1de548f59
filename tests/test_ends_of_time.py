"""Times that users give, at the ends of what a datetime can say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.log.times import moment, moment_of_micros
from versioned_catalog.stream.offsets import Settings

BEYOND = [
    "9999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+14:00",
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
]
NO_TIME = [
    "",
    "nan",
    "NaT",
    "10000-01-01",
    "0000-01-01",
    float("nan"),
    float("inf"),
    0,
    None,
    b"2026",
]


@pytest.fixture
def table() -> Table:
    table = Catalog(f"memory://{uuid4()}").create_table(
        "t", "id INT, ts TIMESTAMP", time_index="ts"
    )
    table.append(
        pa.table({"id": pa.array([1], pa.int32()), "ts": pa.array([0], pa.timestamp("us", "UTC"))})
    )
    return table


def test_a_time_is_in_utc() -> None:
    assert moment("2026-01-31 12:00", "x") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert moment("2026-01-31T12:00:00+02:00", "x") == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert moment(date.max, "x") == datetime(9999, 12, 31, tzinfo=UTC)
    assert moment("9999-12-31T23:59:59.999999Z", "x").replace(tzinfo=None) == datetime.max


@pytest.mark.parametrize("value", BEYOND)
def test_a_time_beyond_the_years_is_refused(table: Table, value: object) -> None:
    acts: list[Callable[[], object]] = [
        lambda: table.pin_schema("p", until=value),  # type: ignore[arg-type]
        lambda: table.at(timestamp=value),  # type: ignore[arg-type]
        lambda: table.rollback(timestamp=value),  # type: ignore[arg-type]
        lambda: table.stream(Settings(starting_time=value)).initial(),  # type: ignore[arg-type]
        lambda: moment(value, "x"),
    ]
    for act in acts:
        with pytest.raises(InvalidRequestError, match="is not within the years 1 to 9999 in UTC"):
            act()
    assert table.refresh().version == 1


@pytest.mark.parametrize("value", NO_TIME)
def test_what_is_no_time_is_refused(table: Table, value: object) -> None:
    with pytest.raises(InvalidRequestError):
        moment(value, "x")
    if value is not None:
        with pytest.raises(InvalidRequestError, match="must be"):
            table.pin_schema("p", until=value)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError, match="must be"):
            table.at(timestamp=value)  # type: ignore[arg-type]


def test_the_ends_of_time_are_times(table: Table) -> None:
    with pytest.raises(NotFoundError):
        table.at(timestamp="0001-01-01")
    assert table.at(timestamp="9999-12-31T23:59:59.999999").version == 1
    for until in ("0001-01-01", "9999-12-31T23:59:59.999999"):
        table.pin_schema("p", until=until)
        (row,) = table.inspect.schema_pins().to_pylist()
        assert row["until"].isoformat().startswith(until[:10])
    assert Catalog.load_path(table.location).state.pins == table.state.pins
    start, end = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert table.changes(start, end).to_arrow().num_rows == 1
    for micros in (2**63 - 1, -(2**63)):
        with pytest.raises(InvalidRequestError, match="microseconds since 1970"):
            moment_of_micros(micros, "x")


def test_a_ttl_of_any_length_is_kept_or_refused(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="more than 999999999 days"):
        table.alter().set_property("ttl", "999999999 weeks").commit()
    table.alter().set_property("ttl", "999999999 days").commit()
    assert table.count() == 1
    for span in (timedelta.max, timedelta(0)):
        assert table.maintenance.vacuum(span, force=True).dry_run
        assert table.maintenance.expire(span, force=True).dry_run
