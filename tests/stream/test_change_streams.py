"""The changes of a table as a stream: batch after batch, in the schema of the start."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream.tables import ids, table_at
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, SchemaChangedError, Table
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.offsets import NO_LIMITS, Limits, Offset, OnDrop, SchemaMode, Settings

Row = tuple[Any, ...]


class Feed:
    """A query on the changes of a table; each batch, planned again, must have the same rows."""

    def __init__(self, table: Table, settings: Settings | None = None, **given: Any) -> None:
        self.stream: ChangeStream = table.change_stream(settings, **given)
        self.at = self.stream.initial()

    def batch(self, limits: Limits = NO_LIMITS) -> list[Row]:
        """The next batch: the columns of the table, the type of change and the version."""
        end = self.stream.latest(self.at, limits)
        found = self.stream.read(self.at, end)
        start, self.at = self.at, Offset.from_json(end.to_json())
        rows = found.drop_columns(["_commit_timestamp"]).to_pylist()
        again = self.stream.read(start, self.at).drop_columns(["_commit_timestamp"]).to_pylist()
        shown = [sorted((tuple(row.values()) for row in one), key=repr) for one in (rows, again)]
        assert shown[0] == shown[1]
        return shown[0]


@pytest.fixture
def plain(tmp_path: Path) -> Table:
    return table_at(tmp_path)


@pytest.fixture
def keyed(tmp_path: Path) -> Table:
    return table_at(tmp_path, primary_key=["id"])


def test_a_snapshot_comes_first_as_inserts(plain: Table) -> None:
    plain.append(ids(1))
    plain.append(ids(2))
    feed = Feed(plain)
    plain.append(ids(3))
    assert feed.batch() == [(1, 10, "insert", 2), (2, 20, "insert", 2), (3, 30, "insert", 3)]
    assert feed.batch() == []
    plain.update({"n": 0}, [("id", "=", 2)])
    assert feed.batch() == [(2, 0, "insert", 4), (2, 20, "delete", 4)]


def test_the_snapshot_of_a_keyed_table_has_each_key_once(keyed: Table) -> None:
    keyed.append(ids(1, 2))
    keyed.delete([("id", "=", 1)])
    keyed.append(ids(2, 3))
    feed = Feed(keyed)
    assert feed.batch(Limits(segments=1)) == [(2, 20, "insert", 3), (3, 30, "insert", 3)]
    keyed.update({"n": 5}, [("id", "=", 2)])
    keyed.delete_keys(pa.table({"id": [3]}))
    assert feed.batch() == [
        (2, 20, "update_preimage", 4),
        (2, 5, "update_postimage", 4),
        (3, 30, "delete", 5),
    ]


def test_updates_can_come_as_a_delete_and_an_insert(keyed: Table) -> None:
    keyed.append(ids(1))
    feed = Feed(keyed, Settings(starting_version="latest"), updates=False)
    keyed.update({"n": 5}, [("id", "=", 1)])
    assert feed.batch() == [(1, 10, "delete", 2), (1, 5, "insert", 2)]


def test_batches_have_whole_commits(plain: Table) -> None:
    for one in range(3):
        plain.append(ids(one))
    feed = Feed(plain, Settings(starting_version=1))
    plain.overwrite(ids(7))
    one_segment = Limits(segments=1)
    assert [feed.batch(one_segment) for _ in range(3)] == [
        [(0, 0, "insert", 1)],
        [(1, 10, "insert", 2)],
        [(2, 20, "insert", 3)],
    ]
    assert feed.batch(one_segment) == [
        (0, 0, "delete", 4),
        (1, 10, "delete", 4),
        (2, 20, "delete", 4),
        (7, 70, "insert", 4),
    ], "three segments removed and one added, in one commit"
    assert feed.batch(one_segment) == []


def test_a_snapshot_is_read_in_parts(plain: Table) -> None:
    for one in range(3):
        plain.append(ids(one))
    feed = Feed(plain)
    found = [feed.batch(Limits(rows=2)) for _ in range(2)]
    assert [[row[0] for row in batch] for batch in found] == [[0, 1], [2]]
    assert {row[3] for batch in found for row in batch} == {3}


@pytest.mark.parametrize("primary_key", [[], ["id"]])
def test_a_compaction_shows_nothing_but_the_values_that_it_removes(
    tmp_path: Path, primary_key: list[str]
) -> None:
    table = table_at(tmp_path, primary_key=primary_key)
    table.append(ids(1))
    table.append(ids(2))
    feed = Feed(table, updates=False)
    feed.batch()
    table.maintenance.compact()
    assert feed.batch() == []
    table.alter().drop_column("n").commit()
    table.append(pa.table({"id": [3]}))
    assert feed.batch() == [(3, None, "insert", table.version)]
    table.maintenance.compact()
    feed.stream.newest()
    assert feed.stream.behind(feed.at).segments == 3, "two removed and one added"
    assert feed.batch() == [
        (1, 10, "delete", table.version),
        (1, None, "insert", table.version),
        (2, 20, "delete", table.version),
        (2, None, "insert", table.version),
    ], "those of the dropped column, which a rollback can bring back"
    table.append(pa.table({"id": [4]}))
    table.maintenance.compact()
    assert feed.batch() == [(4, None, "insert", table.version - 1)]
    table.set_tag("then")
    assert feed.batch() == []


@pytest.mark.parametrize("primary_key", [[], ["id"]])
def test_columns_match_by_id_in_the_schema_of_the_start(
    tmp_path: Path, primary_key: list[str]
) -> None:
    table = table_at(tmp_path, primary_key=primary_key)
    table.append(ids(1))
    feed = Feed(table, updates=False)
    assert feed.batch() == [(1, 10, "insert", 1)]
    table.alter().rename_column("n", "m").add_column("x", "INT", default=7).commit()
    table.alter().change_type("m", "BIGINT").commit()
    table.append(pa.table({"id": [2], "m": [20], "x": pa.array([1], pa.int32())}))
    assert feed.batch() == [(2, 20, "insert", 4)]
    table.update({"m": 21, "x": 0}, [("id", "=", 2)])
    table.update({"x": 5}, [("id", "=", 1)])
    assert feed.batch() == [(2, 20, "delete", 5), (2, 21, "insert", 5)], "x is not seen"
    table.alter().drop_column("m").commit()
    table.alter().add_column("n", "INT", default=99).commit()
    table.append(pa.table({"id": [3], "n": pa.array([33], pa.int32())}))
    assert feed.batch() == [(3, None, "insert", 9)], "another column n"
    table.delete([("id", "=", 2)])
    assert feed.batch() == [(2, 21, "delete", 10)], "as it was inserted"


def test_of_a_dropped_column_newer_rows_are_null_whatever_its_default(plain: Table) -> None:
    plain.append(ids(1))
    plain.alter().add_column("x", "INT", default=7).commit()
    feed = Feed(plain)
    assert feed.batch() == [(1, 10, 7, "insert", 2)]
    plain.alter().drop_column("x").commit()
    plain.append(ids(2))
    assert feed.batch() == [(2, 20, None, "insert", 4)]


def test_a_stream_that_is_behind_sees_later_columns_by_their_default(keyed: Table) -> None:
    keyed.append(ids(1))
    keyed.update({"n": 5}, [("id", "=", 1)])
    keyed.alter().add_column("x", "INT", default=7).commit()
    feed = Feed(keyed, Settings(starting_version=1))
    first = feed.batch(Limits(segments=1))
    assert first == [(1, 10, 7, "insert", 1)]
    assert feed.batch(Limits(segments=1))[1] == (1, 5, 7, "update_postimage", 2)


def test_a_value_that_does_not_fit_the_schema_of_the_start_names_its_column(keyed: Table) -> None:
    feed = Feed(keyed)
    feed.batch()
    keyed.alter().change_type("n", "BIGINT").commit()
    keyed.append(pa.table({"id": [1], "n": [2**40]}))
    with pytest.raises(InvalidRequestError, match=r"\bn\b.*INT"):
        feed.batch()


def test_a_hidden_column_was_dropped(plain: Table) -> None:
    plain.append(ids(1))
    plain.pin_schema("old")
    pinned, other = Feed(plain.seen_as("old")), Feed(plain)
    plain.alter().drop_column("n").commit()
    plain.append(pa.table({"id": [2]}))
    plain.seen_as("old").append(ids(3))
    plain.refresh()
    late = plain.version
    assert other.batch() == [
        (1, 10, "insert", 2),
        (2, None, "insert", late - 1),
        (3, None, "insert", late),
    ]
    assert pinned.batch()[1:] == [(2, None, "insert", late - 1), (3, 30, "insert", late)]


def test_schema_mode_stop_ends_a_batch_at_the_alter(plain: Table) -> None:
    feed = Feed(plain, Settings(schema_mode=SchemaMode.STOP))
    plain.append(ids(1))
    plain.alter().add_column("x", "INT").commit()
    plain.delete([("id", "=", 1)])
    assert feed.batch() == [(1, 10, "insert", 1)]
    with pytest.raises(SchemaChangedError, match="x was added"):
        feed.batch()
    again = Feed(plain, Settings(schema_mode=SchemaMode.STOP))
    again.at = feed.at
    assert again.batch() == [(1, 10, None, "delete", 3)]


def test_on_drop_fail_stops_there(plain: Table) -> None:
    feed = Feed(plain, Settings(on_drop=OnDrop.FAIL))
    feed.batch()
    plain.alter().drop_column("n").commit()
    with pytest.raises(InvalidRequestError, match="column n was dropped at version 1"):
        feed.batch()


@pytest.mark.parametrize("primary_key", [[], ["id"]])
@pytest.mark.parametrize("default", [None, 7], ids=["stored", "read default"])
def test_every_image_of_a_dropped_column_is_one_that_was_shown(
    tmp_path: Path, primary_key: list[str], default: int | None
) -> None:
    """Across DROP COLUMN, DELETE, compaction and rollback, whatever the column's default is."""
    table = table_at(tmp_path, primary_key=primary_key)
    if default is None:
        table.alter().add_column("x", "INT").commit()
        table.append(ids(1, 2, 3).append_column("x", pa.array([7] * 3, pa.int32())))
    else:
        table.append(ids(1, 2, 3))
        table.alter().add_column("x", "INT", default=default).commit()
    feed = Feed(table, updates=False)
    replica = Counter(row[:3] for row in feed.batch())
    assert replica == Counter([(1, 10, 7), (2, 20, 7), (3, 30, 7)])
    table.alter().drop_column("x").commit()
    table.delete([("id", "=", 1)])
    assert (1, 10, 7, "delete", 4) in shown_once(feed, replica)
    table.append(ids(4))
    shown_once(feed, replica)
    table.maintenance.compact(strategy="full")
    shown_once(feed, replica)
    assert replica == Counter([(2, 20, None), (3, 30, None), (4, 40, None)])
    table.update({"n": 0}, [("id", "=", 3)])
    table.rollback(2)
    shown_once(feed, replica)
    assert replica == Counter([(1, 10, 7), (2, 20, 7), (3, 30, 7)])


def shown_once(feed: Feed, replica: Counter[Row]) -> list[Row]:
    """Apply the next batch to the rows so far; a row that is deleted must be among them."""
    changes = feed.batch()
    for *row, kind, _ in sorted(changes, key=lambda change: (change[-1], change[-2])):
        replica[tuple(row)] += 1 if kind == "insert" else -1
        assert replica[tuple(row)] >= 0, (kind, row)
        replica += Counter()
    return changes


@pytest.mark.parametrize("primary_key", [[], ["id"]])
def test_a_rollback_shows_what_it_restores_and_takes_away(
    tmp_path: Path, primary_key: list[str]
) -> None:
    table = table_at(tmp_path, primary_key=primary_key)
    table.append(ids(1, 2))
    feed = Feed(table, updates=False)
    feed.batch()
    table.delete([("id", "=", 1)])
    table.append(ids(3))
    table.rollback(1)
    assert feed.batch() == [
        (1, 10, "delete", 2),
        (1, 10, "insert", 4),
        (3, 30, "delete", 4),
        (3, 30, "insert", 3),
    ]


@pytest.mark.parametrize("primary_key", [[], ["id"]])
def test_a_pinned_stream_goes_on_over_a_rollback_past_the_add_of_its_column(
    tmp_path: Path, primary_key: list[str]
) -> None:
    table = table_at(tmp_path, primary_key=primary_key)
    table.append(ids(1))
    table.alter().add_column("x", "INT", default=5).commit()
    table.pin_schema("later")
    table.append(ids(2).append_column("x", pa.array([7], pa.int32())))
    pinned = table.seen_as("later")
    feed, sink = Feed(pinned), pinned.sink("job")
    assert [row[:4] for row in feed.batch()] == [(1, 10, 5, "insert"), (2, 20, 7, "insert")]
    table.rollback(1)
    assert feed.batch() == [(2, 20, 7, "delete", 5)]
    sink.write(ids(3).append_column("x", pa.array([9], pa.int32())), 0)
    table.append(ids(4))
    assert feed.batch() == [(3, 30, 9, "insert", 6), (4, 40, 5, "insert", 7)]
    table.alter().add_column("x", "INT", default=8).commit()
    end = table.seen_as("later").scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in end) == [(1, 10, 5), (3, 30, 9), (4, 40, 5)]


def test_a_table_that_was_replaced_ends_the_stream(tmp_path: Path, plain: Table) -> None:
    feed = Feed(plain)
    plain.append(ids(1))
    Catalog(tmp_path).replace_table("t", "id BIGINT")
    assert feed.batch() == [(1, 10, "insert", 1)]
    with pytest.raises(NotFoundError, match="was replaced at version 2"):
        feed.batch()


def test_expired_versions_are_refused(plain: Table) -> None:
    plain.append(ids(1))
    plain.append(ids(2))
    feed = Feed(plain, Settings(starting_version=1))
    plain.append(ids(3))
    plain.maintenance.expire(timedelta(0), force=True, dry_run=False)
    with pytest.raises(NotFoundError, match="expired"):
        feed.batch()
    plain.refresh()
    with pytest.raises(NotFoundError, match="expired"):
        Feed(plain, Settings(starting_version=2))
    assert [row[0] for row in Feed(plain).batch()] == [1, 2, 3], "a snapshot"


def test_how_far_behind_a_stream_is(plain: Table) -> None:
    plain.append(ids(1))
    feed = Feed(plain)
    plain.append(ids(2, 3))
    plain.delete([("id", "=", 2)])
    feed.stream.newest()
    lag = feed.stream.behind(feed.at)
    assert (lag.versions, lag.segments, lag.rows) == (3, 1 + 1 + 2, 1 + 2 + 1)
    feed.batch()
    assert feed.stream.behind(feed.at).versions == 0
