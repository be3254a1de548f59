"""Files of Spark 2 and of the LEGACY mode, whose old dates are of the Julian calendar.

Stored days are counted by hand: 1000-01-01 of the Julian calendar was the day that the Gregorian
calendar calls 1000-01-06, which is 354,280 days before 1970.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from imports.lake import Lake
from versioned_catalog import CorruptTableError, ExternalFile, InvalidRequestError
from versioned_catalog.model.id_map import Held, IdMap
from versioned_interop.imports.reading import footer_numbers

DAY = 86_400_000_000

MILLENNIUM, LAST_JULIAN, FIRST_GREGORIAN = -354_280, -141_428, -141_427
LEAP_DAY, AFTER_LEAP_DAY = -354_221, -354_220  # 29 February and 1 March 1000, Julian

SHOWN = {
    MILLENNIUM: dt.date(1000, 1, 1),
    LEAP_DAY: dt.date(1000, 3, 1),
    AFTER_LEAP_DAY: dt.date(1000, 3, 1),
    LAST_JULIAN: dt.date(1582, 10, 4),
    FIRST_GREGORIAN: dt.date(1582, 10, 15),
    0: dt.date(1970, 1, 1),
}

SPARK_2 = {"org.apache.spark.version": "2.4.8"}
LEGACY = {
    "org.apache.spark.version": "4.0.0",
    "org.apache.spark.legacyDateTime": "",
    "org.apache.spark.legacyINT96": "",
    "org.apache.spark.timeZone": "UTC",
}


def dates(days: Any) -> pa.Array:
    return pa.array(days, pa.int32()).view(pa.date32())


def instants(micros: Any, unit: str = "us") -> pa.Array:
    return pa.array(micros, pa.int64()).view(pa.timestamp(unit, tz="UTC"))


def midnight(days: int) -> dt.datetime:
    return dt.datetime.combine(SHOWN[days], dt.time(), dt.UTC)


def write(
    lake: Lake, marks: dict[str, str], name: str = "0.parquet", /, *, columns: Any, **how: Any
) -> None:
    rows = pa.table(columns)
    lake.write(name, rows.replace_schema_metadata(marks), **how)


@pytest.mark.parametrize("marks", [SPARK_2, LEGACY])
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("copy", [True, False])
def test_old_dates_are_those_that_their_writer_meant(
    lake: Lake, marks: dict[str, str], statistics: bool, copy: bool
) -> None:
    days = [*SHOWN, None]
    columns = {"d": dates(days), "s": pa.array([{"d": 1}] * 7), "l": pa.array([[1]] * 7)}
    columns["s"] = pa.StructArray.from_arrays([dates(days)], ["d"])
    columns["l"] = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4, 5, 6, 7]), dates(days))
    write(lake, marks, columns=columns, write_statistics=statistics, row_group_size=2)
    table = lake.load(copy=copy)
    wanted = [*SHOWN.values(), None]
    assert [row["d"] for row in lake.rows()] == wanted
    assert [row["s"] for row in lake.rows()] == [{"d": day} for day in wanted]
    assert [row["l"] for row in lake.rows()] == [[day] for day in wanted]
    for day in {*SHOWN.values(), dt.date(1582, 10, 10)}:
        for filter_ in (("d", "=", day), ("d", ">", day), ("d", "<=", day), ("s.d", "=", day)):
            rows = table.scan(filters=[filter_]).to_arrow().to_pylist()
            holds = {"=": day.__eq__, ">": day.__lt__, "<=": day.__ge__}[filter_[1]]
            assert [row["d"] for row in rows] == [one for one in wanted if one and holds(one)]


def test_bounds_are_those_of_the_shown_dates(lake: Lake) -> None:
    write(lake, LEGACY, columns={"d": dates([MILLENNIUM, 0])})
    (segment,) = lake.load().state.segments.tail
    (stats,) = segment.record.columns.values()
    assert (stats.min, stats.max) == ("-354285", "0")


def test_a_file_of_modern_dates_is_as_it_was(lake: Lake) -> None:
    write(lake, SPARK_2, columns={"d": dates([FIRST_GREGORIAN + 1]), "t": instants([0])})
    assert lake.load().scan().to_arrow()["d"].to_pylist() == [dt.date(1582, 10, 16)]
    assert lake.rows()[0]["t"] == midnight(0)


@pytest.mark.parametrize(
    "marks",
    [
        {},
        {"org.apache.spark.version": "3.0.0"},
        {"org.apache.spark.legacyDateTime": ""},  # Spark asks for the version first
        {"org.apache.spark.version": "3.5.1", "org.apache.spark.timeZone": "UTC"},
        {"org.apache.spark.version": "3.1.0", "org.apache.spark.legacyINT96": ""},
    ],
)
def test_files_without_the_marks_are_gregorian(lake: Lake, marks: dict[str, str]) -> None:
    write(lake, marks, columns={"d": dates([MILLENNIUM]), "t": instants([MILLENNIUM * DAY])})
    lake.load()
    assert lake.rows()[0]["d"] == dt.date(1000, 1, 6)
    assert lake.rows()[0]["t"] == dt.datetime(1000, 1, 6, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC", 0), ("Etc/UTC", 0), ("+02:00", 2), ("GMT-05:00", -5)]
)
@pytest.mark.parametrize("copy", [True, False])
def test_old_timestamps_keep_the_clock_of_their_writer(
    lake: Lake, zone: str, hours: int, copy: bool
) -> None:
    """23:30 of the last Julian day, on the writer's clock, stays 23:30 of that day."""
    local = [LAST_JULIAN * DAY + 84_600_000_000, FIRST_GREGORIAN * DAY, MILLENNIUM * DAY, None, 0]
    micros = [one and one - hours * 3_600_000_000 for one in local]
    wanted: list[Any] = [
        dt.datetime(1582, 10, 4, 23, 30),
        dt.datetime(1582, 10, 15),
        dt.datetime(1000, 1, 1),
        None,
        dt.datetime(1970, 1, 1, hours if hours > 0 else 0)
        if hours >= 0
        else dt.datetime(1969, 12, 31, 19),
    ]
    micros[-1] = 0
    offset = dt.timezone(dt.timedelta(hours=hours))
    instants_shown = [one and one.replace(tzinfo=offset) for one in wanted]
    columns = {
        "us": instants(micros),
        "ms": instants([None if one is None else one // 1000 for one in micros], "ms"),
    }
    marks = LEGACY | {"org.apache.spark.timeZone": zone}
    write(lake, marks, columns=columns)
    int96 = pa.table({"us": columns["us"]}).replace_schema_metadata(marks)
    lake.write("1.parquet", int96, use_deprecated_int96_timestamps=True)
    table = lake.load(copy=copy)
    found = table.scan().to_arrow().to_pylist()
    assert [row["us"] for row in found] == instants_shown * 2
    assert [row["ms"] for row in found[:5]] == instants_shown
    for at in (0, 1, 2, 4):
        for column, times in (("us", 2), ("ms", 1)):
            rows = table.scan(filters=[(column, "=", instants_shown[at])]).to_arrow()
            assert rows.num_rows == times


def test_local_timestamps_are_never_julian(lake: Lake) -> None:
    """Spark wrote no TIMESTAMP_NTZ before it wrote Gregorian ones, whatever the mode."""
    local = pa.array([MILLENNIUM * DAY], pa.int64()).view(pa.timestamp("us"))
    write(lake, LEGACY, columns={"t": local})
    assert lake.load().scan().to_arrow()["t"].to_pylist() == [dt.datetime(1000, 1, 6)]


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize(
    "marks", [SPARK_2, LEGACY | {"org.apache.spark.timeZone": "Europe/Berlin"}]
)
def test_old_timestamps_of_other_zones_are_refused(
    lake: Lake, marks: dict[str, str], copy: bool
) -> None:
    """Their offsets before 1900 differ between Java's calendars, too."""
    rows = pa.table({"t": instants([MILLENNIUM * DAY, 0]), "n": [1, 2]})
    lake.write(
        "0.parquet", rows.replace_schema_metadata(marks), use_deprecated_int96_timestamps=True
    )
    with pytest.raises(InvalidRequestError) as caught:
        lake.load(copy=copy)
    assert "holds timestamps before 1901 of the Julian calendar" in str(caught.value)
    assert "rewrite the file with Spark in 1 file (0.parquet). Pass exclude=['t']" in str(
        caught.value
    )
    lake.load(copy=copy, exclude=["t"])
    assert lake.rows() == [{"n": 1}, {"n": 2}]


def test_new_timestamps_of_spark_2_are_read(lake: Lake) -> None:
    rows = pa.table({"t": instants([0, None])}).replace_schema_metadata(SPARK_2)
    lake.write("0.parquet", rows, use_deprecated_int96_timestamps=True)
    lake.load()
    assert [row["t"] for row in lake.rows()] == [midnight(0), None]


def test_files_of_both_calendars_make_one_table(lake: Lake) -> None:
    write(lake, {}, columns={"d": dates([MILLENNIUM])})
    write(lake, LEGACY, "1.parquet", columns={"d": dates([MILLENNIUM])})
    write(lake, LEGACY, "2.parquet", columns={"d": dates([0])})
    table = lake.load()
    found = sorted(row["d"] for row in lake.rows())
    assert found == [dt.date(1000, 1, 1), dt.date(1000, 1, 6), dt.date(1970, 1, 1)]
    assert table.scan(filters=[("d", "=", dt.date(1000, 1, 1))]).to_arrow().num_rows == 1


def test_dates_that_widen_are_translated_first(lake: Lake) -> None:
    write(lake, LEGACY, columns={"d": dates([MILLENNIUM])})
    lake.load(schema="d TIMESTAMP_NTZ")
    assert lake.rows() == [{"d": dt.datetime(1000, 1, 1)}]


def test_a_file_that_was_adopted_as_gregorian_is_refused(lake: Lake) -> None:
    """Tables of an earlier release, and maps that users make, may say nothing of the calendar."""
    write(lake, LEGACY, columns={"d": dates([MILLENNIUM])})
    table = lake.catalog.create_table("t", "d DATE")
    path = "root:lake/0.parquet"
    size = (lake.folder / "0.parquet").stat().st_size
    id_map = IdMap({1: Held()})
    table.append_external([ExternalFile(path, 1, size, table.schema.version, id_map)])
    with pytest.raises(
        CorruptTableError, match=r"d holds values of the Julian calendar.*import it with again"
    ):
        table.scan().to_arrow()


def test_a_file_that_lost_its_marks_is_refused(lake: Lake) -> None:
    write(lake, LEGACY, columns={"d": dates([MILLENNIUM])})
    table = lake.load()
    path = lake.folder / "0.parquet"
    size = path.stat().st_size
    marks = {name.replace("spark", "spork"): text for name, text in LEGACY.items()}
    write(lake, marks, columns={"d": dates([MILLENNIUM])})
    assert path.stat().st_size == size
    with pytest.raises(CorruptTableError, match="is of another calendar in the column d"):
        table.scan().to_arrow()


def test_the_footer_says_so(lake: Lake) -> None:
    """The test's own files carry the marks where Spark puts them."""
    write(lake, LEGACY, columns={"d": dates([0])})
    found = pq.read_metadata(lake.folder / "0.parquet").metadata
    assert found is not None
    assert found[b"org.apache.spark.timeZone"] == b"UTC"


@pytest.mark.parametrize("calendar", [b"\x58\x01", b"\x58\x02", b""])
@pytest.mark.parametrize("writer", [0, 1])
def test_orc_says_its_calendar_or_its_writer_does(lake: Lake, calendar: bytes, writer: int) -> None:
    """The writer is field 9 of the footer, 0 for Java; the calendar is field 11, 1 for Julian."""
    path = lake.folder / "x.orc"
    rows = pa.table({"d": dates([MILLENNIUM, 0, None]), "a" * 200: [1, 2, 3]})
    orc.write_table(rows, path, compression="uncompressed")
    data = path.read_bytes()
    script, footer = data[-1], orc.ORCFile(path).file_footer_length
    start = len(data) - 1 - script - footer
    changed = data[start : start + footer].replace(b"\x48\x01", bytes([0x48, writer])) + calendar
    after = data[start + footer :].replace(_field_1(footer), _field_1(len(changed)), 1)
    path.write_bytes(data[:start] + changed + after)
    julian = calendar == b"\x58\x01" or (not calendar and writer == 0)
    lake.load(copy=True)
    first = dt.date(1000, 1, 1) if julian else dt.date(1000, 1, 6)
    assert [row["d"] for row in lake.rows()] == [first, dt.date(1970, 1, 1), None]


def _field_1(number: int) -> bytes:
    """The field 1 of a message of Protocol Buffers, a number of two bytes."""
    assert 128 <= number < 16_384
    return bytes([0x08, number & 127 | 128, number >> 7])


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_footers_of_orc_are_read_whatever_their_codec(lake: Lake, codec: str) -> None:
    path = str(lake.folder / "x.orc")
    orc.write_table(
        pa.table({f"column_{at}": dates([at]) for at in range(300)}), path, compression=codec
    )
    footer = dict(footer_numbers(path, orc.ORCFile(path)))
    assert (footer[6], footer[9]) == (1, 1)  # the number of rows, and the writer
    assert footer.get(11, 0) == 0
    assert set(footer) <= {1, 2, 6, 8, 9, 11}


def test_int96_of_spark_3_0_is_julian_and_int64_is_not(lake: Lake) -> None:
    """INT96 was written of the Gregorian calendar from 3.1 on, and everything else from 3.0 on."""
    marks = {"org.apache.spark.version": "3.0.3", "org.apache.spark.timeZone": "UTC"}
    rows = pa.table({"t": instants([MILLENNIUM * DAY])}).replace_schema_metadata(marks)
    lake.write("0.parquet", rows, use_deprecated_int96_timestamps=True)
    lake.write("1.parquet", rows)
    lake.load()
    first, other = (dt.datetime(1000, 1, day, tzinfo=dt.UTC) for day in (1, 6))
    assert [row["t"] for row in lake.rows()] == [first, other]


def test_timestamps_between_the_calendars_and_1901_need_a_fixed_offset(lake: Lake) -> None:
    """Java's old calendar has other offsets for local times of that age than its new one."""
    marks = LEGACY | {"org.apache.spark.timeZone": "Europe/Berlin"}
    write(lake, marks, columns={"t": instants([-2_177_452_800_000_001])})
    with pytest.raises(InvalidRequestError, match="the time zone Europe/Berlin"):
        lake.load()
    write(lake, marks, columns={"t": instants([-2_177_452_800_000_000])})
    assert lake.load().count() == 1
