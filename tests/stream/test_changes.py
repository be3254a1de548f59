"""``Table.changes``: what it reports, and what it refuses."""

from __future__ import annotations

import pickle
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.stream import change_reading
from versioned_catalog.stream import row_difference as difference
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.row_difference import NEW, OLD


def short(changes: Changes) -> list[tuple[Any, ...]]:
    """The values of each change, without its time, sorted."""
    rows = changes.to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


@pytest.fixture
def plain(tmp_path: Path) -> Table:
    """1: three rows, of which two are equal; 2: an update; 3: a new column; 4: a delete."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n BIGINT")
    table.append(pa.table({"id": [1, 2, 2], "n": [1, 2, 2]}))
    table.update({"n": 5}, [("id", "=", 1)])
    table.alter().add_column("x", "STRING", default="d").commit()
    table.delete([("id", "=", 2)])
    return table


@pytest.fixture
def keyed(tmp_path: Path) -> Table:
    """1: two keys; 2: an update and an insert; 3: a delete; 4: an upsert of the same values."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1, 2], "n": [1, 2]}))
    table.append(pa.table({"id": [2, 3], "n": [5, 3]}))
    table.delete([("id", "=", 1)])
    table.append(pa.table({"id": [2], "n": [5]}))
    return table


def test_rows_that_were_copied_are_no_changes(plain: Table) -> None:
    assert short(plain.changes(2, 2)) == [(1, 1, "delete", 2), (1, 5, "insert", 2)]
    assert (2, 2, "delete", 2) in short(plain.changes(2, 2, carryovers=True))


def test_the_schema_is_that_of_the_last_version(plain: Table) -> None:
    assert short(plain.changes(1, 1))[0] == (1, 1, "insert", 1)
    assert short(plain.changes(1, 4))[0] == (1, 1, "d", "delete", 2)
    before = plain.changes(1, 4).to_arrow()
    plain.alter().drop_column("n").commit()
    plain.alter().add_column("n", "BIGINT").commit()
    assert plain.changes(1, 4).to_arrow().equals(before)
    assert set(plain.changes(1).to_arrow()["n"].to_pylist()) == {None}


def test_net_changes_leave_out_what_was_undone(plain: Table) -> None:
    assert short(plain.changes(1, net=True)) == [(1, 5, "d", "insert", 4)]


def test_net_changes_of_keys(keyed: Table) -> None:
    assert short(keyed.changes(2, net=True)) == [
        (1, 1, "delete", 4),
        (2, 2, "update_preimage", 4),
        (2, 5, "update_postimage", 4),
        (3, 3, "insert", 4),
    ]
    assert short(keyed.changes(1, net=True)) == [(2, 5, "insert", 4), (3, 3, "insert", 4)]


def test_upserts_of_equal_rows(keyed: Table) -> None:
    assert short(keyed.changes(4)) == []
    assert short(keyed.changes(4, carryovers=True)) == [
        (2, 5, "update_postimage", 4),
        (2, 5, "update_preimage", 4),
    ]


def test_updates_as_deletes_and_inserts(keyed: Table) -> None:
    assert short(keyed.changes(2, 2, updates=False)) == [
        (2, 2, "delete", 2),
        (2, 5, "insert", 2),
        (3, 3, "insert", 2),
    ]


def test_a_filter_applies_to_each_image(keyed: Table) -> None:
    found = keyed.changes(1, columns=["id"], filters=[("n", "=", 2)])
    assert short(found) == [(2, "insert", 1), (2, "update_preimage", 2)]


def test_compactions_are_no_changes(keyed: Table) -> None:
    before = short(keyed.changes(1))
    keyed.maintenance.compact(strategy="full")
    assert short(keyed.changes(1)) == before
    assert short(keyed.changes(keyed.version)) == []


def test_a_rollback_of_a_truncated_table(keyed: Table) -> None:
    """It adds segments whose rows are older than it."""
    keyed.maintenance.compact(strategy="full")
    version = keyed.version
    keyed.overwrite(keyed.scan().to_arrow().slice(0, 0))
    keyed.rollback(version)
    last = keyed.version
    assert short(keyed.changes(last)) == [(2, 5, "insert", last), (3, 3, "insert", last)]


def test_partial_upserts(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, a BIGINT, b BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1], "a": [1], "b": [1]}))
    table.upsert(pa.table({"id": [1], "a": [2]}), partial=True)
    table.upsert(pa.table({"id": [1], "b": [3]}), partial=True)
    assert short(table.changes(2)) == [
        (1, 1, 1, "update_preimage", 2),
        (1, 2, 1, "update_postimage", 2),
        (1, 2, 1, "update_preimage", 3),
        (1, 2, 3, "update_postimage", 3),
    ]


def test_seen_as_an_earlier_schema(plain: Table) -> None:
    plain.alter().change_type("n", "DECIMAL(24,4)").commit()
    seen = plain.seen_as(0)
    assert short(seen.changes(1, 2))[0] == (1, 1, "delete", 2)
    assert seen.changes(1).schema.field("n").type == pa.int64()
    assert "x" not in seen.changes(1).schema.names


def test_tags_and_times(plain: Table) -> None:
    plain.set_tag("then", version=2)
    assert short(plain.changes("then", "then")) == short(plain.changes(2, 2))
    time = plain.at(2).time
    assert short(plain.changes(time, time)) == short(plain.changes(2, 2))
    assert plain.changes(time - timedelta(days=1)).start == 0
    assert set(plain.changes(2, 2).to_arrow()["_commit_timestamp"].to_pylist()) == {time}


def test_rows_beyond_memory_are_spilled(plain: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = short(plain.changes(2))
    monkeypatch.setattr(difference, "ROWS_IN_MEMORY", 1)
    assert short(plain.changes(2)) == expected


def test_the_columns_of_the_feed_are_built_once_for_the_batches_of_a_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []
    build = change_reading.constant_columns
    monkeypatch.setattr(change_reading, "FEED_ROWS", 100)
    monkeypatch.setattr(
        change_reading, "constant_columns", lambda *of: built.append(of[-1]) or build(*of)
    )
    table = Catalog.create_path(tmp_path / "t", "id LONG, n LONG")
    for first in (0, 950):
        table.append(pa.table({"id": range(first, first + 950), "n": range(950)}))
    read = list(table.changes(1, columns=["id"]).to_batches())
    assert built == [100, 100], "of a hundred rows, for each segment"
    assert [batch.num_rows for batch in read] == [*[100] * 9, 50] * 2
    rows = pa.Table.from_batches(read)
    assert rows.schema == table.changes(1, columns=["id"]).schema
    assert rows["id"].to_pylist() == list(range(1900))
    assert rows["_commit_version"].to_pylist() == [1] * 950 + [2] * 950
    assert set(rows["_change_type"].to_pylist()) == {"insert"}


def test_appended_rows_come_in_order(tmp_path: Path) -> None:
    """Those of several segments are read at once."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    for one in range(20):
        table.append(pa.table({"id": [one]}))
    changes = table.changes(1)
    assert changes.to_arrow()["id"].to_pylist() == list(range(20))
    assert pa.Table.from_batches(changes.to_batches()).equals(changes.to_arrow())


NAN = float("nan")
MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.float64(), [NAN, 0.0, -0.0, None]),
        (pa.string(), ["", "a", "b", None]),
        (pa.decimal128(12, 2), [None, 1, 2, -1]),
        (
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
            [None, {"a": None, "b": None}, {"a": 1}],
        ),
        (pa.list_(pa.int64()), [None, [], [None], [1, 2], [2, 1]]),
        (pa.map_(pa.string(), pa.int64()), [None, [], [("a", 1)], [("a", None)]]),
    ],
    ids=lambda one: str(one) if isinstance(one, pa.DataType) else "",
)
def test_the_difference_tells_values_apart(
    type_: pa.DataType, values: list[Any], parts: int
) -> None:
    """Each value occurs three times before; after, the first one twice, the others four times."""
    schema = pa.schema([("v", type_)])
    old = pa.record_batch([pa.array(values * 3, type_)], schema=schema)
    new = pa.record_batch([pa.array(values[:1] * 2 + values[1:] * 4, type_)], schema=schema)
    found: dict[int, list[str]] = {OLD: [], NEW: []}
    for side, batch in difference.difference([old], [new], schema, parts):
        found[side] += map(repr, batch["v"].to_pylist())
    wanted = pa.array(values, type_).to_pylist()
    assert found[OLD] == [repr(wanted[0])]
    assert sorted(found[NEW]) == sorted(map(repr, wanted[1:]))


def test_the_tasks_of_a_plan_can_be_sent_to_other_processes(plain: Table) -> None:
    for changes in (plain.changes(1), plain.changes(1, net=True)):
        tasks = changes.plan.tasks
        assert pickle.loads(pickle.dumps(tasks)) == tasks
        assert tasks
        assert all(task.rows and task.bytes for task in tasks)


def test_the_arrow_stream(plain: Table) -> None:
    changes = plain.changes(1)
    assert pa.table(changes).equals(changes.to_arrow())
    assert changes.head(2).num_rows == 2


def test_ranges_that_are_refused(plain: Table) -> None:
    with pytest.raises(InvalidRequestError, match="from version 3 to 2"):
        plain.changes(3, 2)
    with pytest.raises(NotFoundError, match="has no version 9; the newest is 4"):
        plain.changes(0, 9)
    with pytest.raises(InvalidRequestError, match="net changes have no carry-overs"):
        plain.changes(0, net=True, carryovers=True)


@pytest.mark.parametrize("kind", ["plain", "keyed"])
def test_ranges_without_commits(kind: str, request: pytest.FixtureRequest) -> None:
    """Between two commits, after the last one, and from the version after it on."""
    table: Table = request.getfixturevalue(kind)
    now, between = datetime.now(UTC), table.at(2).time + MICROSECOND
    empty = [
        table.changes(table.version + 1),
        table.changes(between, between),
        table.changes(between, 2),
        table.changes(3, between),
        table.changes(now),
        table.changes(now, now + timedelta(days=1)),
        table.changes(now + timedelta(days=1), net=True),
    ]
    for changes in empty:
        assert changes.to_arrow().num_rows == 0
        assert changes.start == changes.end + 1
    assert empty[1].end == 2
    assert table.changes(0, columns=["id"]).schema == table.changes(now, columns=["id"]).schema


def test_ranges_that_end_before_they_start(plain: Table) -> None:
    now, between = datetime.now(UTC), plain.at(2).time + MICROSECOND
    for start, end in ((now, between), (between + MICROSECOND, between), (6, None), (now, 3)):
        with pytest.raises(
            InvalidRequestError, match="first version must be from 0 up to the last"
        ):
            plain.changes(start, end)


def test_net_changes_count_a_segment_as_often_as_it_was_added(tmp_path: Path) -> None:
    """A compaction is no change, and the rollback behind it adds the same segments again."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n BIGINT")
    for rows in ({"id": [1, 1], "n": [1, 1]}, {"id": [2], "n": [2]}):
        table.append(pa.table(rows))
    table.maintenance.compact(strategy="full")
    table.rollback(1)
    assert short(table.changes(1, net=True)) == [(1, 1, "insert", 4)] * 2
    table.maintenance.compact(strategy="full")
    table.rollback(2)
    assert short(table.changes(1, net=True)) == [
        *[(1, 1, "insert", table.version)] * 2,
        (2, 2, "insert", table.version),
    ]


@pytest.mark.parametrize("key", [[], ["id"]], ids=["plain", "keyed"])
@pytest.mark.parametrize("net", [False, True])
def test_changes_add_up_where_a_rollback_restores_a_column(
    tmp_path: Path, key: list[str], net: bool
) -> None:
    """A compaction has left out its values, which the last version has again."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n BIGINT", primary_key=key)
    table.append(pa.table({"id": [1], "n": [10]}))
    table.append(pa.table({"id": [2], "n": [20]}))
    table.alter().drop_column("n").commit()
    table.maintenance.compact(strategy="full")
    table.rollback(2)
    for start in range(table.version + 1):
        before = table.scan(version=max(start - 1, 0)).to_arrow()
        if "n" not in before.column_names:
            continue
        rows = Counter((row["id"], row["n"]) for row in before.to_pylist())
        for id_, n, type_, _ in short(table.changes(start, net=net)):
            rows[id_, n] += -1 if type_ in ("delete", "update_preimage") else 1
        assert {row: count for row, count in rows.items() if count} == {(1, 10): 1, (2, 20): 1}


@pytest.mark.parametrize(("key", "ids"), [([], None), ([], "true"), (["id"], None)])
def test_rows_that_are_changed_after_their_column_was_narrowed(
    tmp_path: Path, key: list[str], ids: str | None
) -> None:
    """Their values before are in segments of the wider type, which no commit need remove."""
    table = Catalog(tmp_path).create_table(
        "t", "id BIGINT, n BIGINT, x STRUCT<a: BIGINT>", primary_key=key
    )
    if ids:
        table.alter().set_property("row_ids", ids).commit()
    rows = [{"id": i, "n": 10 * i, "x": {"a": i}} for i in (1, 2, 3)]
    table.append(pa.Table.from_pylist(rows))
    table.alter().narrow("n", "INT").narrow("x.a", "SMALLINT").commit()
    version = table.update({"n": 7}, [("id", "=", 1)])
    table.delete([("id", "=", 2)])
    old, new = (1, 10, {"a": 1}), (1, 7, {"a": 1})
    as_update = ("update_preimage", "update_postimage") if key or ids else ("delete", "insert")
    expected = [
        (*old, as_update[0], version),
        (*new, as_update[1], version),
        (2, 20, {"a": 2}, "delete", version + 1),
    ]
    changes = table.changes(version, version + 1)
    assert short(changes) == sorted(expected, key=repr)
    arrow = changes.to_arrow().schema
    assert (arrow.field("n").type, arrow.field("x").type.field("a").type) == (
        pa.int32(),
        pa.int16(),
    )
    net = table.changes(version, version + 1, net=True)
    assert [row[:-1] for row in short(net)] == [row[:-1] for row in sorted(expected, key=repr)]


def test_expired_versions_are_refused(plain: Table) -> None:
    plain.maintenance.expire(timedelta(0), 2, dry_run=False, force=True)
    assert plain.state.floor >= 3
    with pytest.raises(NotFoundError, match="first version whose changes can be read is 4"):
        plain.changes(2)
    assert short(plain.changes(4)) == [(2, 2, "d", "delete", 4)] * 2


def test_a_column_with_a_name_of_the_feed(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, _change_type STRING")
    with pytest.raises(
        InvalidRequestError, match="can't be shown, since changes have a column of that"
    ):
        table.changes(0)
    assert table.changes(0, columns=["id"]).to_arrow().num_rows == 0
