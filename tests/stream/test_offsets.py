"""Where a stream starts and where its batches end."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stream.tables import Reader, ids, table_at
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.offsets import Limits, Offset, Settings
from versioned_catalog.stream.stream_log import Behind


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 0 creates it; versions 1 to 4 append one segment of one row each."""
    table = table_at(tmp_path)
    for one in (1, 2, 3, 4):
        table.append(ids(one))
    return table


def append_segments(table: Table, count: int) -> int:
    """One commit of several segments of one row each, with the IDs from 100 on."""
    records = []
    for one in range(100, 100 + count):
        plan, written = table._write(ids(one), None)
        records += written
    return table.transaction().commit_append(plan, records)


def test_a_stream_starts_with_a_snapshot_and_goes_on_with_what_is_added(table: Table) -> None:
    reader = Reader(table.stream())
    table.append(ids(5))
    assert reader.at.snapshot
    assert reader.at.version == 4
    assert reader.ids() == [1, 2, 3, 4, 5]
    assert reader.ids() == []
    table.append(ids(6))
    assert reader.ids() == [6]


def test_nothing_new_is_the_same_offset(table: Table) -> None:
    stream = table.stream()
    end = stream.latest(stream.initial())
    assert stream.latest(end) == end == stream.newest()


def test_an_offset_survives_a_restart_with_another_schema_version(table: Table) -> None:
    reader = Reader(table.stream())
    reader.batch()
    table.alter().rename_column("n", "m").commit()
    again = Reader(table.stream(), reader.at)
    table.append(ids(9).rename_columns(["id", "m"]))
    assert again.batch() == [{"id": 9, "m": 90}]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(starting_version=0), [1, 2, 3, 4]),
        (Settings(starting_version=3), [3, 4]),
        (Settings(starting_version="latest"), []),
        (Settings(starting_version=5), []),
        (Settings(starting_version="third"), [3, 4]),
    ],
)
def test_starting_version_is_the_first_that_is_read(
    table: Table, settings: Settings, expected: list[int]
) -> None:
    table.set_tag("third", 3)
    reader = Reader(table.stream(settings))
    assert reader.ids() == expected
    table.append(ids(7))
    assert reader.ids() == [7]


def test_starting_timestamp_includes_the_commit_of_that_time(table: Table) -> None:
    time = table.at(3).time
    assert Reader(table.stream(Settings(starting_time=time))).ids() == [3, 4]
    later = time.replace(microsecond=time.microsecond).isoformat()
    assert Reader(table.stream(Settings(starting_time=later))).ids() == [3, 4]
    assert Reader(table.stream(Settings(starting_time="2001-01-01"))).ids() == [1, 2, 3, 4]
    assert Reader(table.stream(Settings(starting_time="2999-01-01"))).ids() == []
    with pytest.raises(InvalidRequestError, match="startingTimestamp must be ISO 8601"):
        table.stream(Settings(starting_time="noon")).initial()


@pytest.mark.parametrize("version", [6, -1])
def test_a_start_beyond_the_next_version_is_refused(table: Table, version: int) -> None:
    with pytest.raises(NotFoundError, match=f"t has no version {version}; .* 5 at most"):
        table.stream(Settings(starting_version=version)).initial()


def test_two_places_to_start_with_are_refused(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="not both"):
        table.stream(Settings(starting_version=1, starting_time="2001-01-01")).initial()


@pytest.mark.parametrize(
    "limits", [Limits(segments=2), Limits(rows=2), Limits(rows=3, segments=2)], ids=str
)
@pytest.mark.parametrize("settings", [Settings(), Settings(starting_version=0)], ids=str)
def test_a_batch_stays_within_its_limits(table: Table, limits: Limits, settings: Settings) -> None:
    reader = Reader(table.stream(settings))
    assert [reader.ids(limits) for _ in range(3)] == [[1, 2], [3, 4], []]


def test_a_segment_beyond_every_limit_is_read_alone(table: Table) -> None:
    reader = Reader(table.stream())
    table.append(ids(5, 6, 7))
    one_byte = Limits(rows=1, bytes=1)
    assert [reader.ids(one_byte) for _ in range(6)] == [[1], [2], [3], [4], [5, 6, 7], []]


@pytest.mark.parametrize("start", [None, "latest"])
def test_a_commit_is_read_in_parts(tmp_path: Path, start: str | None) -> None:
    table = table_at(tmp_path)
    stream = table.stream(Settings(starting_version=start))
    reader = Reader(stream)
    if start is None:
        append_segments(table, 5)
        reader = Reader(stream)  # they are in its first snapshot
    else:
        append_segments(table, 5)
    table.append(ids(1))
    three = Limits(segments=3)
    assert [reader.ids(three) for _ in range(3)] == [[100, 101, 102], [103, 104, 1], []]


def test_a_read_until_a_version_ends_there(table: Table) -> None:
    stream = table.stream(Settings(starting_version=0))
    end = stream.latest(stream.initial(), until=2)
    assert end.version == 3
    assert stream.latest(end, until=2) == end


def test_a_place_from_another_process_that_has_read_more(tmp_path: Path) -> None:
    """Spark asks one worker for an offset and another one what comes after it."""
    table = table_at(tmp_path)
    knows_less, asked = table.stream(), Catalog(tmp_path).load_table("t")
    asked.append(ids(1))
    place = asked.stream().initial()
    assert knows_less.behind(place) == Behind(1, 1, 1, place_bytes(asked))
    asked.append(ids(2))
    later = table.stream()
    end = asked.stream().latest(place)
    assert later.read(place, end)["id"].to_pylist() == [1, 2]


def place_bytes(table: Table) -> int:
    return sum(table.state.segments.core["bytes"].to_pylist())


@pytest.mark.parametrize("version", [None, "latest", 3])
def test_the_first_answer_where_a_stream_starts_counts(table: Table, version: str | None) -> None:
    """Spark asks again for each run of the first batch, and the table may have moved on."""
    stream = table.stream(Settings(starting_version=version))
    first = stream.initial()
    table.append(ids(5))
    end = Offset.from_json(stream.latest(first).to_json())
    expected = stream.read(first, end)["id"].to_pylist()
    table.append(ids(6))
    again = Offset.from_json(table.stream(Settings(starting_version=version)).initial().to_json())
    assert stream.read(again, end)["id"].to_pylist() == expected
    assert stream.read(end, stream.latest(end))["id"].to_pylist() == [6]


def test_limits_are_positive() -> None:
    with pytest.raises(InvalidRequestError, match="maxRowsPerTrigger is 0; it must be 1 or more"):
        Limits(rows=0)


def test_how_far_behind_a_stream_is(table: Table) -> None:
    stream = table.stream(Settings(starting_version=2))
    sizes = table.state.segments.core["bytes"].to_pylist()
    assert stream.behind(stream.initial()) == Behind(3, 3, 3, sum(sizes[1:]))
    assert stream.behind(stream.newest()) == Behind(0, 0, 0, 0)
    whole = table.stream()
    table.append(ids(5, 6))
    whole.newest()
    behind = whole.behind(Offset(table.state.table_uuid, 4, 1, 0, snapshot=True))
    assert (behind.versions, behind.segments, behind.rows) == (2, 4, 5)


@pytest.mark.parametrize(
    "text", ["", "7", "{}", '{"table_uuid": "u"}', '{"reservoirVersion": 3, "index": -1}', "[1]"]
)
def test_what_is_no_offset_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="not an offset of a versioned table"):
        Offset.from_json(text)


def test_an_offset_may_not_be_negative() -> None:
    with pytest.raises(InvalidRequestError, match="not an offset"):
        Offset.from_json(Offset("u", -1, 0, 0).to_json())


def test_entries_are_read_once_and_nothing_is_listed(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    stream = Catalog(tmp_path).load_table("t").stream(Settings(starting_version="latest"))
    reader = Reader(stream)
    for name in ("list", "files"):
        monkeypatch.setattr(Store, name, lambda *_: pytest.fail("a stream lists nothing"))
    whole, many = Store.read, Store.read_in_order

    def read(self: Store, path: str, *rest: int) -> bytes | None:
        reads.append(path)
        return whole(self, path, *rest)

    def read_in_order(self: Store, paths: list[str], *rest: int) -> object:
        reads.extend(paths)
        return many(self, paths, *rest)

    for one in (5, 6, 7):
        table.append(ids(one))
    monkeypatch.setattr(Store, "read", read)
    monkeypatch.setattr(Store, "read_in_order", read_in_order)
    assert reader.ids(Limits(segments=2)) == [5, 6]
    assert reader.ids(Limits(segments=2)) == [7]
    entries = [path for path in reads if path.endswith(tuple(f"{v:020d}.json" for v in (5, 6, 7)))]
    assert len(entries) == len(set(entries)) == 3


def test_a_place_beyond_versions_that_were_expired_unread(table: Table) -> None:
    """The stream was opened before an ALTER, and goes on where another process has read it."""
    stream = table.stream()
    table.alter().add_column("x", "INT").commit()
    table.append(ids(5))
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    start = table.stream().newest()
    table.append(ids(6))
    assert stream.read(start, stream.latest(start)).to_pylist() == [{"id": 6, "n": 60}]


@pytest.mark.parametrize("changes", [False, True])
def test_a_stream_that_starts_in_the_future_waits(table: Table, changes: bool) -> None:
    """What is committed before is not read, also by who plans the batch again without the option."""
    then = datetime.now(UTC) + timedelta(seconds=0.4)
    open_stream = table.change_stream if changes else table.stream
    stream = open_stream(Settings(starting_time=then))
    start = stream.initial()
    table.append(ids(5))
    assert stream.latest(start) == start == open_stream(Settings(starting_time=then)).latest(start)
    assert stream.behind(start).versions == 0
    time.sleep(0.5)
    assert stream.latest(start) == start
    assert stream.read(start, stream.newest()).num_rows == 0, "as Spark before 4.2 ends a batch"
    table.append(ids(6))
    assert stream.read(start, stream.newest())["id"].to_pylist() == [6]
    end = Offset.from_json(stream.latest(start).to_json())
    again = open_stream(Settings())
    table.append(ids(7))
    assert again.initial() != start
    for one in (stream, again):
        assert one.read(start, end)["id"].to_pylist() == [6]
        assert one.read(end, one.latest(end))["id"].to_pylist() == [7]


def test_another_time_does_not_move_a_stream_that_has_begun(table: Table) -> None:
    """The option counts only for a stream that has read nothing yet."""
    stream = table.stream(Settings(starting_time=table.at(3).time))
    end = stream.latest(stream.initial())
    table.append(ids(5))
    later = table.stream(Settings(starting_time=datetime.now(UTC) + timedelta(hours=1)))
    assert later.read(end, later.latest(end))["id"].to_pylist() == [5]


@pytest.mark.parametrize("changes", [False, True])
def test_a_checkpoint_of_versions_that_are_not_there(table: Table, changes: bool) -> None:
    """The table was restored from an older copy: the next versions would be passed over."""
    stream = table.change_stream() if changes else table.stream()
    end = stream.latest(stream.initial())
    beyond = replace(end, version=end.version + 2)
    steps = (stream.latest, stream.behind, lambda at: stream.read(at, at))
    for step in steps:
        step(end)
        with pytest.raises(
            NotFoundError, match=r"says that version 6 was read.*newest version is 4"
        ):
            step(beyond)


def test_how_far_behind_a_stream_is_in_the_middle_of_a_commit(table: Table) -> None:
    stream = table.stream(Settings(starting_version="latest"))
    start = stream.initial()
    append_segments(table, 3)
    middle = stream.latest(start, Limits(segments=1))
    assert middle.ordinal == 1
    assert stream.behind(middle).segments == 2


def test_a_start_before_the_table_was_replaced_is_the_first_version_since(tmp_path: Path) -> None:
    table = table_at(tmp_path)
    table.append(ids(1))
    time = table.at(1).time
    table = Catalog(tmp_path).replace_table("t", "id BIGINT, n INT")
    table.append(ids(2))
    assert Reader(table.stream(Settings(starting_time=time))).ids() == [2]
