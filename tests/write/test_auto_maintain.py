"""``auto_maintain``: a writer compacts a little after some commits; no write fails or changes for it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintain.steps import calls_of, stepped
from maintain.tables import ids, load, shown
from read.keyed_table import make as make_keyed
from read.keyed_table import rows
from read.keyed_table import shown as shown_keyed
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.log import segment_set
from versioned_catalog.write import auto_maintain
from versioned_catalog.write.auto_maintain import crosses

ON = {"auto_maintain": "on"}


def make(root: Path, **properties: str) -> Table:
    return Catalog.create_path(root / "t", "id LONG", properties=ON | properties)


def count(table: Table) -> int:
    return table.state.segments.count


def operations(table: Table) -> list[str]:
    found: list[str] = table.inspect.history()["operation"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0, 0, False),
        (14, 15, False),
        (15, 16, True),
        (16, 17, False),
        (30, 31, False),
        (31, 32, True),
        (47, 48, False),
        (63, 64, True),
        (3, 40, True),
        (40, 3, False),
    ],
)
def test_the_commits_that_compact(before: int, after: int, expected: bool) -> None:
    assert crosses(before, after) is expected


def test_the_writer_of_the_sixteenth_small_segment_compacts(tmp_path: Path) -> None:
    table = make(tmp_path)
    for number in range(1, 16):
        assert table.append(ids(number)) == number
        assert count(table) == number
    assert table.append(ids(16)) == 16
    assert (table.version, count(table)) == (17, 1)
    for number in range(17, 31):
        assert table.append(ids(number)) == number + 1
    assert count(table) == 15
    assert table.append(ids(31)) == 32
    assert (table.version, count(table)) == (33, 1)
    assert operations(table).count("compact") == 2
    assert shown(load(tmp_path)) == list(range(1, 32))


@pytest.mark.parametrize(
    "properties",
    [{}, ON, ON | {"auto_compact": "99"}, ON | {"sort_by": "id"}, ON | {"row_changes": "copy"}],
    ids=str,
)
def test_it_is_on_unless_a_property_says_otherwise(
    properties: dict[str, str], tmp_path: Path
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG", properties=properties)
    for number in range(16):
        table.append(ids(number))
    assert (table.version, count(table)) == (17, 1)


@pytest.mark.parametrize(
    "properties",
    [
        *({"auto_maintain": "off"}, {"auto_compact": "99"}, {"sort_by": "id"}),
        *({"row_changes": "copy"}, {"isolation": "serializable"}),
    ],
    ids=str,
)
def test_it_is_off_where_other_writers_would_start_again(
    properties: dict[str, str], tmp_path: Path
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG", properties=properties)
    for number in range(17):
        table.append(ids(number))
    assert (table.version, count(table)) == (17, 17)


@pytest.mark.parametrize("key", [{"primary_key": ["id"]}, {"time_index": "at"}], ids=str)
def test_tables_with_a_key_are_not_compacted_unless_it_is_on(
    key: dict[str, Any], tmp_path: Path
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG, at TIMESTAMP", **key)
    for number in range(17):
        at = pa.array([number], pa.timestamp("us", "UTC"))
        table.append(pa.table({"id": [number], "at": at}))
    assert (table.version, count(table)) == (17, 17)


def test_segments_of_another_partitioning_are_left_unless_it_is_on(tmp_path: Path) -> None:
    """A compaction would split their rows, so that writes could not follow it."""
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    for number in range(10):
        table.append(ids(number))
    before = {*table.state.segments.paths}
    table.alter().set_partitioning(["truncate(100, id)"]).commit()
    for number in range(17):
        table.append(ids(number))
    assert before < {*table.state.segments.paths}
    assert "compact" in operations(table)
    table.alter().set_property("auto_maintain", "on").commit()
    for number in range(40):
        table.append(ids(number))
    assert before.isdisjoint(table.state.segments.paths)


def test_tables_with_files_of_others_are_not_compacted_unless_it_is_on(tmp_path: Path) -> None:
    pq.write_table(ids(99), tmp_path / "old.parquet")
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.import_files(str(tmp_path / "old.parquet"), copy=True)
    for number in range(17):
        table.append(ids(number))
    assert (table.version, count(table)) == (18, 18)


def in_partitions(values: range, into: int) -> pa.Table:
    """Rows of as many partitions."""
    return pa.table({"id": list(values), "p": pa.array([v % into for v in values], pa.int32())})


@pytest.mark.parametrize("columns", [["p"], ["p", "bucket(1, id)"]])
def test_one_segment_a_partition_is_not_counted(columns: list[str], tmp_path: Path) -> None:
    """As in a table by days, of which only the last one is written to."""
    table = Catalog.create_path(
        tmp_path / "t", "id LONG, p INT", partitioned_by=columns, properties=ON
    )
    table.append(in_partitions(range(30), 30))
    for number in range(14):
        table.append(in_partitions(range(30, 31), 30))
        assert count(table) == 31 + number
    table.append(in_partitions(range(30, 31), 30))
    assert (count(table), operations(table).count("compact")) == (30, 1)


def test_commits_into_many_partitions_do_not_each_compact(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id LONG, p INT", partitioned_by=["p"], properties=ON
    )
    for number in range(16):
        table.append(in_partitions(range(20), 20))
        assert count(table) == 20 * (number + 1)
    table.append(in_partitions(range(20), 20))
    assert (count(table), table.version) == (20, 18)
    for number in range(15):
        table.append(in_partitions(range(20), 20))
        assert count(table) == 20 * (number + 2)
    assert "compact" in operations(table)


def test_null_is_a_partition(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id LONG, p INT", partitioned_by=["p"], properties=ON
    )
    row = pa.table({"id": [1], "p": pa.nulls(1, pa.int32())})
    table.append(in_partitions(range(2), 2))
    for _ in range(15):
        table.append(row)
    assert count(table) == 17
    table.append(row)
    assert count(table) == 3


@pytest.mark.parametrize("fold_at", [1, 3, 256])
def test_what_is_counted_is_what_is_live(
    fold_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts are kept beside the segments; here they are made again from the list of them."""
    monkeypatch.setattr(segment_set, "FOLD_AT", fold_at)
    draw = random.Random(fold_at)
    table = Catalog.create_path(tmp_path / "t", "id LONG, p INT", partitioned_by=["p"])
    for number in range(30):
        match draw.randrange(4):
            case 0:
                table.delete([("id", "<", draw.randrange(number + 1))])
            case 1:
                table.maintenance.compact(strategy="small")
            case _:
                partitions = pa.array([draw.choice([None, 0, 1])], pa.int32())
                size = draw.choice([1, 1000])
                one = pa.table({"id": [number], "p": partitions})
                table.append(pa.concat_tables([one] * size))
        table = table if draw.randrange(3) else load(tmp_path)
        live = table.state.segments.core.to_pylist()
        for limit in (0, 1100, 10**9):
            since, until = sorted(draw.randrange(table.version + 2) for _ in range(2))
            for commits in (range(table.version + 1), range(since, until)):
                known = [row for row in live if row["sequence"] in commits]
                small = [row["partition"] for row in known if row["bytes"] < limit]
                partitions, segments = {*map(tuple, small)}, table.state.segments
                counts = segments.count_small(limit, commits, partitioned=True)
                assert counts == (len(small), len(partitions))
                counts = segments.count_small(limit, commits, partitioned=False)
                assert counts == (len(small), min(len(small), 1))
            commits = range(until + 1)
            known = [row for row in live if row["sequence"] in commits]
            assert segments.count_commits(until) == len({row["sequence"] for row in known})


def test_other_values_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path)
    for value in ("", "ON", "true", "16"):
        with pytest.raises(InvalidRequestError, match="auto_maintain must be on or off"):
            table.alter().set_property("auto_maintain", value).commit()


def test_a_write_succeeds_whose_compaction_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(tmp_path)
    table.append(ids(1))
    (broken,) = table.state.segments.paths
    for number in range(2, 16):
        table.append(ids(number))
    content = (tmp_path / "t" / broken).read_bytes()
    (tmp_path / "t" / broken).unlink()
    with caplog.at_level(logging.WARNING, "versioned_catalog"):
        assert table.append(ids(16)) == 16
        (record,) = caplog.records
        assert "was not maintained: " in record.message
        assert broken in record.message
        for number in range(17, 32):
            assert table.append(ids(number)) == number
        assert len(caplog.records) == 1, "it is not tried again at each commit"
        (tmp_path / "t" / broken).write_bytes(content)
        assert table.append(ids(32)) == 32
    assert (table.version, count(table)) == (33, 1)
    assert shown(load(tmp_path)) == list(range(1, 33))


def test_any_failure_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Such as one that is no error of ours."""
    table = make(tmp_path)
    for number in range(1, 16):
        table.append(ids(number))
    calls = calls_of(tmp_path, lambda table: table.append(ids(16)))
    last = max(at for at, call in enumerate(calls) if "data/N-" in call)

    def fail() -> None:
        raise MemoryError("no memory")

    with caplog.at_level(logging.WARNING, "versioned_catalog"):
        assert stepped(tmp_path, last, fail).append(ids(16)) == 16
    assert [record.message for record in caplog.records] == ["t was not maintained: no memory"]
    assert (load(tmp_path).version, shown(load(tmp_path))) == (16, list(range(1, 17)))


def test_a_writer_rewrites_no_more_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id LONG, p INT", partitioned_by=["p"], properties=ON
    )
    for number in range(16):
        table.append(pa.table({"id": [number], "p": pa.array([number % 2], pa.int32())}))
    sizes = table.state.segments.core["bytes"].to_pylist()
    monkeypatch.setattr(auto_maintain, "MOST_BYTES", sum(sizes[1::2]) + max(sizes) + 8)
    table.append(pa.table({"id": [16], "p": pa.array([1], pa.int32())}))
    assert count(table) == 1 + 8, "one partition of two"
    assert shown(table) == list(range(17))


def test_deletes_and_updates_count(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t", properties=ON)
    for number in range(13):
        table.upsert(rows((f"h{number}", 1, 1.0)))
    table.update({"v": 2.0}, [("host", "=", "h0")])
    table.delete([("host", "=", "h1")])
    assert (table.version, count(table)) == (15, 15)
    assert table.delete_keys(rows(("h2", 1, 1.0)).select(["host", "ts"])) == 16
    assert (table.version, operations(table)[-1]) == (17, "compact")
    assert shown_keyed(table) == sorted(
        [("h0", 1, 2.0, 7), *((f"h{n}", 1, 1.0, 7) for n in range(3, 13))]
    )


def test_overlapping_large_segments_count_by_their_commits(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t", properties=ON | {"target_segment_bytes": "1"})
    for number in range(15):
        table.upsert(rows(("a", 1, float(number))))
    assert count(table) == 15
    assert table.upsert(rows(("a", 1, 15.0))) == 16
    assert (table.version, count(table)) == (17, 1)
    assert shown_keyed(table) == [("a", 1, 15.0, 7)]


def test_a_table_of_very_many_segments_is_left_to_maintain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_maintain, "MOST_PLANNED", 15)
    table, plain = make_keyed(tmp_path / "k", properties=ON), make(tmp_path)
    for number in range(16):
        table.upsert(rows((f"h{number}", 1, 1.0)))
        plain.append(ids(number))
    assert (count(table), count(plain)) == (16, 16)


def test_a_write_of_nothing_compacts_nothing(tmp_path: Path) -> None:
    """The version that it finds is that of another writer, which may be compacting."""
    table = make(tmp_path)
    for number in range(1, 16):
        table.append(ids(number))
    with auto_maintain.alone(table.location):
        table.append(ids(16))
    assert load(tmp_path).delete([("id", "=", 99)]) == 16
    assert load(tmp_path).version == 16
    assert load(tmp_path).update({"id": 1}, [("id", "=", 99)]) == 16
    assert load(tmp_path).version == 16


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["plain", "keyed"])
def test_writers_at_once_lose_nothing(kind: str, tmp_path: Path) -> None:
    if kind == "plain":
        make(tmp_path)
    else:
        make_keyed(tmp_path / "t", properties=ON)

    def write(writer: int) -> None:
        table = load(tmp_path)
        for number in range(12):
            if kind == "plain":
                table.append(ids(100 * writer + number))
            else:
                table.upsert(rows((f"w{writer}", number, 1.0), ("all", number, 1.0)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    table = load(tmp_path)
    assert "compact" in operations(table)
    assert operations(table).count("append") == 48
    if kind == "plain":
        assert shown(table) == sorted(100 * w + n for w in range(4) for n in range(12))
    else:
        hosts = [*(f"w{writer}" for writer in range(4)), "all"]
        found = ((h, n, 1.0, 7) for h in hosts for n in range(12))
        assert shown_keyed(table) == sorted(found, key=repr)
    assert table.maintenance.verify(deep=True).is_clean


def test_a_second_thread_does_not_compact_while_the_first_one_does(tmp_path: Path) -> None:
    table = make(tmp_path)
    for number in range(1, 16):
        table.append(ids(number))
    with auto_maintain.alone(table.location) as first:
        assert first
        assert table.append(ids(16)) == 16
    assert (table.version, count(table)) == (16, 16)


Change = Callable[[Table, dict[tuple[str, int], float], random.Random], object]


def upsert(table: Table, model: dict[tuple[str, int], float], draw: random.Random) -> None:
    new = {(draw.choice("abc"), draw.randrange(4)): float(draw.randrange(9)) for _ in range(3)}
    table.upsert(rows(*((host, day, v) for (host, day), v in new.items())))
    model |= new


def delete(table: Table, model: dict[tuple[str, int], float], draw: random.Random) -> None:
    host = draw.choice("abc")
    table.delete([("host", "=", host)])
    for key in [key for key in model if key[0] == host]:
        del model[key]


def update(table: Table, model: dict[tuple[str, int], float], draw: random.Random) -> None:
    host = draw.choice("abc")
    table.update({"v": 5.0}, [("host", "=", host)])
    model |= {key: 5.0 for key in model if key[0] == host}


def alter(table: Table, model: dict[tuple[str, int], float], draw: random.Random) -> None:
    table.alter().add_column(f"c{table.version}", "INT").commit()


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["1", "134217728"])
def test_a_random_history_shows_the_rows_of_a_model(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_maintain, "FIRST", 3)
    draw, model = random.Random(7), dict[tuple[str, int], float]()
    table = make_keyed(tmp_path / "t", properties=ON | {"target_segment_bytes": target})
    changes: list[Change] = [upsert, upsert, upsert, delete, update, alter]
    for _ in range(40):
        draw.choice(changes)(load(tmp_path), model, draw)
        found = load(tmp_path).scan(["host", "ts", "v"]).to_arrow()
        days = [time.day - 1 for time in found["ts"].to_pylist()]
        keys = zip(found["host"].to_pylist(), days, strict=True)
        assert dict(zip(keys, found["v"].to_pylist(), strict=True)) == model
    assert operations(table.refresh()).count("compact") >= 5
    assert table.maintenance.verify(deep=True, every_version=True).is_clean
