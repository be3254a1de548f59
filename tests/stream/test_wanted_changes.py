"""Filters on the columns of the feed: what they leave out is not read, and no answer changes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import feed_rows
from faults.store import FaultyStore, Plan
from versioned_catalog import Catalog, Table
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.wanted_changes import Wanted

FEED = ("_change_type", "_commit_version")


def table_of(folder: Path, key: list[str], row_changes: str = "auto") -> Table:
    """1: three rows; 2: one deleted; 3: ten others; 4: one of these rows changed; 5: two deleted."""
    properties = {"auto_maintain": "off"} | ({} if key else {"row_changes": row_changes})
    table = Catalog(folder).create_table(
        "t", "id BIGINT, n BIGINT", primary_key=key, properties=properties
    )
    table.append(pa.table({"id": [1, 2, 3], "n": [1, 2, 3]}))
    table.delete([("id", "=", 2)])
    table.append(pa.table({"id": list(range(10, 20)), "n": [0] * 10}))
    table.update({"n": 5}, [("id", "=", 12)])
    table.delete([("id", "in", [1, 15])])
    return table


def asked(table: Table, filters: Any = None, **options: Any) -> Changes:
    wanted = Wanted() if filters is None else feed_rows.wanted(filters)
    return table.changes_between(1, table.version, Request(wanted=wanted, **options))


def rows(changes: Changes) -> list[Any]:
    return sorted((*row.values(),) for row in feed_rows.rows_of(changes))


KEYED_OR_NOT = [
    pytest.param([], "mark", id="marks"),
    pytest.param([], "copy", id="copies"),
    pytest.param(["id"], "auto", id="keyed"),
]


@pytest.mark.parametrize(("key", "how"), KEYED_OR_NOT)
@pytest.mark.parametrize("carryovers", [False, True])
def test_no_wanted_change_is_left_out(
    tmp_path: Path, key: list[str], how: str, carryovers: bool
) -> None:
    table = table_of(tmp_path, key, how)
    every = rows(asked(table, carryovers=carryovers))
    at = {name: place for place, name in enumerate(asked(table).schema.names)}
    kind, version, time = (at[name] for name in asked(table).schema.names[2:])
    third = table.at(3).time
    by_hand = {
        (("_change_type", "=", "insert"),): lambda row: row[kind] == "insert",
        (("_change_type", "in", ("delete", "update_preimage")),): lambda row: (
            row[kind] in ("delete", "update_preimage")
        ),
        (("_commit_version", ">", 3),): lambda row: row[version] > 3,
        (("_commit_version", "in", (2, 4)),): lambda row: row[version] in (2, 4),
        (("_commit_version", "<", 1),): lambda _: False,
        (("_commit_timestamp", "<=", third),): lambda row: row[time] <= third,
        (("_commit_version", "=", 4), ("_change_type", "!=", "insert")): lambda row: (
            row[version] == 4 and row[kind] != "insert"
        ),
    }
    for filters, matches in by_hand.items():
        shown = rows(asked(table, list(filters), carryovers=carryovers))
        assert [row for row in shown if matches(row)] == [row for row in every if matches(row)]
        assert set(shown) <= set(every)


def test_what_is_not_wanted_is_not_planned(tmp_path: Path) -> None:
    table = table_of(tmp_path, [], "mark")

    def versions(*filters: Any) -> list[int]:
        return sorted({task.stamp.version for task in asked(table, [*filters]).plan.tasks})

    assert versions(("_commit_version", ">=", 1)) == [1, 2, 3, 4, 5]
    assert versions(("_commit_version", "=", 3)) == [3]
    assert versions(("_change_type", "=", "insert")) == [1, 3, 4], "4 is compared"
    assert versions(("_change_type", "=", "delete")) == [2, 4, 5]
    assert versions(("_change_type", "=", "update_preimage")) == [], "it has no key"
    later = table.at(2).time + timedelta(microseconds=1)
    assert versions(("_commit_timestamp", ">=", later)) == [3, 4, 5]
    net = asked(table, [("_commit_version", "<", 5)], net=True)
    assert net.plan.tasks == (), "net changes are those of the last version"
    assert rows(asked(table, [("_commit_version", "=", 5)], net=True)) == rows(
        asked(table, net=True)
    )


@pytest.mark.parametrize("key", [[], ["id"]], ids=["plain", "keyed"])
def test_commits_that_are_left_out_are_not_read(tmp_path: Path, key: list[str]) -> None:
    table = Catalog(tmp_path).create_table(
        "t", "id BIGINT, n BIGINT", primary_key=key, properties={"auto_maintain": "off"}
    )
    for number in range(60):
        table.append(pa.table({"id": [number], "n": [0]}))
    plan = Plan()
    table = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)).load_table("t")

    def entries(filters: Any) -> int:
        plan.calls.clear()
        found = rows(asked(table, filters))
        assert [row[0] for row in found if row[3] in (41, 42)] == [40, 41]
        return len([call for call in plan.calls if "_versioned/log/" in call])

    few = entries([("_commit_version", ">=", 41), ("_commit_version", "<=", 42)])
    assert entries(None) - few >= 40


def test_segments_that_are_read_whole_have_no_other_tasks(tmp_path: Path) -> None:
    """Those are the segments that Spark reads itself."""
    copied = table_of(tmp_path / "a", [], "copy").changes(1).plan
    assert [(read.type, read.state.segments.count) for read in copied.whole] == [("insert", 2)]
    assert [type(task).__name__ for task in copied.compared] == ["DifferenceTask"] * 3
    keyed = table_of(tmp_path / "b", ["id"]).changes(1).plan
    assert keyed.whole == (), "all were changed later in the range"
    first = table_of(tmp_path / "c", ["id"]).changes(1, 1).plan
    assert [read.type for read in first.whole] == ["insert"]
    assert first.compared == ()


def test_a_scan_shows_no_default_of_a_column_that_was_dropped(tmp_path: Path) -> None:
    """A column with a default is dropped while a stream reads it; newer rows never had a value."""
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    table.append(pa.table({"id": [1]}))
    table.alter().add_column("x", "INT", default=7).commit()
    stream = table.change_stream()
    at = stream.latest(stream.initial())
    table.alter().drop_column("x").commit()
    table.append(pa.table({"id": [2]}))
    found = feed_rows.rows_of(stream.changes(at, stream.latest(at)))
    assert [(row["id"], row["x"], row["_change_type"]) for row in found] == [(2, None, "insert")]


def test_tombstones_of_no_key_are_no_inserts(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1], "n": [1]}))
    feed = {"id": [5, 7], "n": [5, 7], "kind": ["insert", "delete"], "_commit_version": [1, 1]}
    table.apply_changes(pa.table(feed), change_column="kind")
    assert rows(table.changes(2)) == [(5, 5, "insert", 2, table.at(2).time)]
