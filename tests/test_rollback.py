"""Rollback, tags, and time travel by tag."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import sealed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.commit.operations import Replace
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import create_at

INTS = pa.int32()
DAY = "2024-02-29T12:00:00Z"


def rows(*pairs: tuple[Any, Any], kind: Any = INTS) -> pa.Table:
    keys, values = zip(*pairs, strict=True)
    return pa.table({"k": pa.array(keys, kind), "v": pa.array(values, INTS)})


@pytest.fixture
def table() -> Table:
    folder = f"memory://{uuid4()}"
    created = Catalog.create_path(folder, "k INT, v INT", properties={"p": "1"}, comment="c")
    created.append(rows((1, 1), (2, None)))
    return created


def again(table: Table) -> Table:
    return Catalog.load_path(table.location)


def shown(table: Table) -> list[tuple[Any, ...]]:
    found = again(table).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def checkpointed(table: Table) -> Table:
    table.log.write_checkpoint(table.state)
    return again(table)


def entry(table: Table, version: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        table.store.read(f"_versioned/log/{version:020d}.json") or b""
    )
    return found


# Rollback


def test_a_rollback_is_one_entry(table: Table) -> None:
    kept = table.inspect.segments()["path"].to_pylist()
    table.alter().drop_column("v").add_column("v", "string", default="x").commit()  # 2
    table.alter().set_property("p", "2").set_property("q", "3").commit()  # 3
    table.overwrite(pa.table({"k": pa.array([9], INTS), "v": ["y"]}))  # 4
    gone = table.inspect.segments()["path"].to_pylist()
    next_id = table.state.next_column_id
    assert table.rollback(1) == 5
    assert shown(table) == [(1, 1), (2, None)]
    assert again(table).properties == {"p": "1"}
    assert [(c.id, c.name) for c in again(table).schema.columns] == [(1, "k"), (2, "v")]
    said = entry(table, 5)
    assert (said["operation"], said["details"]) == ("rollback", {"to": 1})
    assert [record["path"] for record in said["added"]] == kept
    assert said["added"] == entry(table, 1)["added"], "the original records"
    assert said["removed"] == gone
    assert said["properties"] == {"p": "1"}
    assert (said["schema"]["schema_version"], said["next_column_id"]) == (2, next_id)
    assert said["schema"]["columns"] == entry(table, 0)["schema"]["columns"]
    assert "comment" not in said
    assert table.scan(version=4).to_arrow().to_pylist() == [{"k": 9, "v": "y"}]
    assert table.inspect.segments()["sequence"].to_pylist() == [5]


def test_column_ids_are_never_reused(table: Table) -> None:
    table.alter().add_column("w", "int", default=7).commit()
    table.rollback(1)
    table.alter().add_column("w", "int", default=8).commit()
    assert [(c.id, c.physical_name) for c in table.schema.columns] == [
        (1, "k"), (2, "v"), (4, "w_4"),
    ]  # fmt: skip
    assert shown(table) == [(1, 1, 8), (2, None, 8)]
    table.rollback(2)
    assert [c.id for c in table.schema.columns] == [1, 2, 3]
    assert shown(table) == [(1, 1, 7), (2, None, 7)]
    table.alter().add_column("x", "int").commit()
    assert [c.id for c in table.schema.columns] == [1, 2, 3, 5]


def test_a_rollback_is_rolled_back(table: Table) -> None:
    table.append(rows((3, 3)))
    table.rollback(1)
    assert shown(table) == [(1, 1), (2, None)]
    table.rollback(2)
    assert shown(table) == [(1, 1), (2, None), (3, 3)]
    assert again(table).scan(version=3).count() == 2
    assert table.inspect.history()["operation"].to_pylist()[-2:] == ["rollback", "rollback"]


@pytest.mark.parametrize("how", [lambda t: t, checkpointed])
def test_a_rollback_that_changes_nothing_makes_no_commit(
    table: Table, how: Callable[[Table], Table]
) -> None:
    table.set_tag("now")
    table = how(table)
    assert table.rollback(table.version) == 2
    assert table.rollback(1) == 2
    table.append(rows((3, 3)))
    table.delete([("k", "=", 3)])
    table.alter().set_comment("k", "x").commit()
    table.alter().set_comment("k", None).commit()
    assert table.rollback(1) == 6, "the appended rows are gone"
    assert again(table).version == 6


def test_what_a_rollback_restores_and_what_it_keeps() -> None:
    folder = f"memory://{uuid4()}"
    table = Catalog.create_path(folder, "k INT, v INT", comment="first")
    table.append(rows((1, 1)))
    base = table.state
    operation = Replace(creation("k INT, v INT", comment="second"), base.created_uuid, base.version)
    table = create_at(table.store, operation, "t", str(uuid4()))
    table.append(rows((2, 2)))
    table.set_tag("kept", 1)
    table.rollback(2)
    assert (shown(table), again(table).comment, again(table).tags) == ([], "second", {"kept": 1})
    table.rollback(tag="kept")
    assert (shown(table), again(table).comment, again(table).tags) == (
        [(1, 1)], "first", {"kept": 1},
    )  # fmt: skip


def test_the_target_of_a_rollback(table: Table) -> None:
    time = again(table).inspect.history().to_pylist()[1]["time"]
    table.append(rows((3, 3)))
    table.set_tag("good", 1)
    for given in ({}, {"version": 1, "tag": "good"}, {"version": 1, "timestamp": time}):
        with pytest.raises(InvalidRequestError, match="one of version, timestamp and tag"):
            table.rollback(**given)
    for given, error in (
        ({"version": 99}, NotFoundError),
        ({"version": -1}, NotFoundError),
        ({"version": True}, InvalidRequestError),
        ({"tag": "bad"}, NotFoundError),
        ({"tag": "7"}, InvalidRequestError),
        ({"timestamp": "1999-01-01"}, NotFoundError),
    ):
        with pytest.raises(error):
            table.rollback(**given)  # type: ignore[arg-type]
    assert again(table).version == 3
    for given in ({"timestamp": time}, {"tag": "good"}):
        table.rollback(**given, commit_id=f"by {next(iter(given))}")
        assert shown(table) == [(1, 1), (2, None)]
        table.append(rows((3, 3)))
    assert table.find_commit("by tag") == 6


def test_a_rollback_to_before_the_table_was_dropped_and_created_again(table: Table) -> None:
    uuid = table.state.table_uuid
    table.drop()
    table = Catalog.create_path(table.location, "k INT, v INT")
    with pytest.raises(NotFoundError, match="dropped at version 2"):
        table.rollback(2)
    created = table.state.table_uuid
    assert table.rollback(1) == 4
    assert shown(table) == [(1, 1), (2, None)]
    assert (again(table).properties, again(table).comment) == ({"p": "1"}, "c")
    state = again(table).state
    assert (state.table_uuid, state.created_uuid) == (uuid, created), "names go on to find it"


def test_segments_keep_their_order_and_statistics(table: Table) -> None:
    table.append(rows((5, 5)))
    table.append(rows((6, None)))
    paths = table.inspect.segments()["path"].to_pylist()
    table = checkpointed(table)
    table.delete([("k", "in", [1, 2, 6])])
    table.alter().drop_column("v").commit()
    table = checkpointed(table)
    table.rollback(3)
    assert table.inspect.segments()["path"].to_pylist() == [paths[1], paths[0], paths[2]]
    tail = {s.record.path: s.record.columns for s in table.state.segments.tail}
    assert tail[paths[2]][2] == ColumnStats(nulls=1)
    assert len(table.scan(filters=[("v", "=", 1)]).tasks()) == 2, "that of 5 has no statistics"
    assert shown(table) == [(1, 1), (2, None), (5, 5), (6, None)]
    assert shown(checkpointed(table)) == [(1, 1), (2, None), (5, 5), (6, None)]


def test_a_rollback_over_expired_entries(table: Table) -> None:
    """Then only the statistics are unknown."""
    table.append(rows((5, 5)))
    path = table.inspect.segments()["path"].to_pylist()[0]
    record = {s.record.path: s.record for s in table.state.segments.tail}[path]
    table = checkpointed(table)
    table.delete([("k", "<=", 2)])
    table.log.write_kept(table.at(2))
    stub = {"format": 1, "stub": True, "commit_id": "x", "time": "2020-01-01T00:00:00.000000Z"}
    for number in range(2):
        text = sealed(stub | {"version": number, "floor": 2}).encode()
        table.store.overwrite(f"_versioned/log/{number:020d}.json", text)
    table = again(table)
    assert table.rollback(2) == 4
    assert shown(table) == [(1, 1), (2, None), (5, 5)]
    back = table.state.segments.tail[-1].record
    assert (back.path, back.rows, back.bytes) == (path, 2, record.bytes)
    assert (back.checksum, back.partition, back.columns) == (record.checksum, (), {})
    assert table.inspect.snapshots()["version"].to_pylist() == [2, 3, 4]
    with pytest.raises(NotFoundError, match="expired"):
        table.rollback(1)


def test_partitioning_and_sort_order_are_restored(table: Table) -> None:
    table.alter().set_partitioning(["k"]).set_property("sort_by", "v DESC").commit()
    table.append(rows((7, 7)))
    table.rollback(1)
    assert (table.partitioning, table.properties) == ([], {"p": "1"})
    table.rollback(3)
    assert (table.partitioning, table.properties) == (["k"], {"p": "1", "sort_by": "v DESC"})
    assert [s["partition"] for s in table.inspect.segments().to_pylist()] == [None, ["7"]]
    assert shown(table) == [(1, 1), (2, None), (7, 7)]


def test_a_rollback_to_a_narrower_type(table: Table) -> None:
    """Statistics that were widened have the narrow type again."""
    table.append(rows((2**31 - 1, 5)))
    table.alter().change_type("k", "decimal(12,2)").commit()
    table = checkpointed(table)
    table.rollback(2)
    for one in (table, checkpointed(table)):
        assert str(one.schema.column(1).type) == "Atom.INT"
        assert one.scan(filters=[("k", ">", 2)]).to_arrow().to_pylist() == [
            {"k": 2**31 - 1, "v": 5}
        ]
        assert len(one.scan(filters=[("k", ">", 2)]).tasks()) == 1


# Concurrent commits: FORMAT.md, section 11, the row and the column "rollback"


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda t: t.append(rows((3, 3))),
        lambda t: t.delete([("k", "=", 1)]),
        lambda t: t.truncate(),
        lambda t: t.alter().set_property("p", "9").commit(),
        lambda t: t.alter().rename_column("k", "kk").commit(),
        lambda t: t.rollback(0),
        lambda t: t.drop(),
    ],
)
def test_a_rollback_conflicts_with_unseen_commits(
    table: Table, meanwhile: Callable[[Table], Any]
) -> None:
    table.append(rows((4, 4)))
    other = again(table)
    meanwhile(other)
    with pytest.raises(CommitConflictError):
        table.rollback(1)
    assert table.log.load().version == 3


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda t: t.set_tag("x"),
        lambda t: t.append(rows((3, 3)).slice(0, 0)),
    ],
)
def test_a_rollback_does_not_conflict_with_commits_that_change_nothing(
    table: Table, meanwhile: Callable[[Table], Any]
) -> None:
    table.append(rows((4, 4)))
    meanwhile(again(table))
    assert table.rollback(1) == 4
    assert shown(table) == [(1, 1), (2, None)]


@pytest.mark.parametrize(
    "late, expected",
    [
        (lambda t: t.append(rows((3, 3))), [(1, 1), (2, None), (3, 3)]),
        (lambda t: t.alter().add_column("w", "int").commit(), [(1, 1, None), (2, None, None)]),
        (lambda t: t.overwrite(rows((9, 9))), None),  # its segment was removed
        (lambda t: t.delete([("k", "=", 4)]), None),
        (lambda t: t.delete([("k", "=", 1)]), [(2, None)]),
        (lambda t: t.set_tag("x"), [(1, 1), (2, None)]),
        (lambda t: t.append(rows((3, 3)), merge_schema=True), [(1, 1), (2, None), (3, 3)]),
    ],
)
def test_writes_after_a_rollback_of_rows(
    table: Table, late: Callable[[Table], Any], expected: list[Any] | None
) -> None:
    table.append(rows((4, 4)))
    again(table).rollback(1)
    if expected is None:
        with pytest.raises(CommitConflictError):
            late(table)
        expected = [(1, 1), (2, None)]
    else:
        late(table)
    assert shown(table) == expected


def test_writes_after_a_rollback_of_columns(table: Table) -> None:
    table.alter().drop_column("v").add_column("w", "int", default=5).commit()
    late = [again(table) for _ in range(3)]
    table.rollback(1)
    late[0].append(pa.table({"k": pa.array([3], INTS), "w": pa.array([3], INTS)}))
    assert shown(table) == [(1, 1), (2, None), (3, None)], (
        "rows without the column show its default"
    )
    with pytest.raises(CommitConflictError, match="the schema changed"):
        late[1].append(pa.table({"z": pa.array([3], INTS)}), merge_schema=True)
    with pytest.raises(CommitConflictError, match="no longer exists"):
        late[2].alter().rename_column("w", "x").commit()


COPIES: dict[str, Callable[[Table], Any]] = {
    "delete": lambda t: t.delete([("k", "=", 1)]),
    "update": lambda t: t.update({"k": 7}, [("k", "=", 1)]),
    "overwrite where": lambda t: t.overwrite_where(
        pa.table({"k": pa.array([3], INTS)}), [("k", "=", 1)]
    ),
}


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
@pytest.mark.parametrize("path", ["secret", "s.secret"])
@pytest.mark.parametrize("late", COPIES.values(), ids=COPIES.keys())
def test_copied_rows_do_not_lose_a_restored_column(
    late: Callable[[Table], Any], path: str, isolation: str
) -> None:
    """A rewrite planned while a column was dropped copied its rows without the column's values."""
    folder, properties = f"memory://{uuid4()}", {"isolation": isolation}
    columns = "k INT, secret STRING, s STRUCT<a: INT, secret: STRING>"
    table = Catalog.create_path(folder, columns, properties=properties)
    inner = pa.struct({"a": INTS, "secret": pa.string()})
    values = {"k": [1, 2], "secret": ["x", "y"], "s": [{"a": 1, "secret": "x"}] * 2}
    before = pa.table(values, pa.schema({"k": INTS, "secret": pa.string(), "s": inner}))
    table.append(before)
    table.alter().drop_column(path).commit()
    writer = again(table)
    table.rollback(1)
    with pytest.raises(CommitConflictError, match=f"rollback restored the column {path}"):
        late(writer)
    assert again(table).scan().to_arrow() == before
    late(again(table))
    left = again(table).scan(filters=[("k", "=", 2)]).to_arrow()
    assert left == before.slice(1), "a rewrite planned after the rollback keeps the values"


def test_a_commit_without_copies_may_follow_a_restored_column(table: Table) -> None:
    """Neither removed segments nor new rows had values of the column."""
    table.append(rows((4, 4)))
    table.alter().drop_column("v").commit()
    late = [again(table) for _ in range(3)]
    table.rollback(2)
    late[0].append(pa.table({"k": pa.array([3], INTS)}))
    late[1].transaction().delete_whole([("k", "=", 4)])
    assert shown(table) == [(1, 1), (2, None), (3, None)]
    with pytest.raises(CommitConflictError, match="removed by another commit"):
        late[2].overwrite(pa.table({"k": pa.array([5], INTS)}))


def test_a_column_that_is_newer_than_the_rewrite_is_no_conflict(table: Table) -> None:
    """The copied rows had no values of a column that was added later, dropped and restored."""
    writer = again(table)
    table.alter().add_column("w", "int", default=5).commit()
    table.alter().drop_column("w").commit()
    table.rollback(2)
    writer.delete([("k", "=", 1)])
    assert shown(table) == [(2, None, 5)]


def test_writes_after_a_rollback_to_a_narrower_type(table: Table) -> None:
    """Without the check the table would become unreadable."""
    table.alter().change_type("k", "long").commit()
    late = [again(table) for _ in range(3)]
    table.rollback(1)
    wide = rows((2**40, 3), kind=pa.int64())
    for write in (late[0].append, late[1].overwrite):
        with pytest.raises(CommitConflictError, match="rolled back from BIGINT to INT"):
            write(wide)
    late[2].truncate()
    with pytest.raises(CommitConflictError):
        again(table).at(2) and late[0].alter().set_default("k", 2**40).commit()
    late[0].refresh().append(rows((3, 3)))
    assert shown(table) == [(3, 3)]


def test_writes_after_a_rollback_to_not_null() -> None:
    table = Catalog.create_path(f"memory://{uuid4()}", "k INT NOT NULL, v INT")
    table.append(rows((1, 1)))
    table.alter().drop_not_null("k").commit()
    late = [again(table) for _ in range(2)]
    table.rollback(1)
    with pytest.raises(CommitConflictError, match="NOT NULL"):
        late[0].append(rows((None, 2)))
    late[1].append(rows((3, 3)))
    assert shown(table) == [(1, 1), (3, 3)]


# Tags


def test_tags_are_set_moved_and_dropped(table: Table) -> None:
    assert table.tags == {}
    assert table.set_tag("first", 0) == 2
    assert table.set_tag("Größe 1") == 3
    table.append(rows((3, 3)))
    assert table.tags == again(table).tags == {"first": 0, "Größe 1": 2}
    assert entry(table, 3)["tags"] == {"first": 0, "Größe 1": 2}
    assert "tags" not in entry(table, 4)
    assert table.scan(version="first").count() == 0
    assert table.scan(version="Größe 1").count() == 2
    assert table.at("first").version == 0
    assert table.set_tag("first", "Größe 1") == 5
    assert table.set_tag("first", 2, commit_id="none") == 5, "the tag is unchanged"
    assert table.drop_tag("first", commit_id="me") == 6
    assert (table.tags, table.find_commit("me")) == ({"Größe 1": 2}, 6)
    assert entry(table, 6)["tags"] == {"Größe 1": 2}
    table.drop_tag("Größe 1")
    assert entry(table, 7)["tags"] == {}
    assert again(table).tags == {}
    assert table.inspect.history()["operation"].to_pylist()[5:] == ["tag"] * 3


@pytest.mark.parametrize("name", ["", "7", "007", "a\nb", "\x7f", "\x85", "\ud800", None, 7, b"x"])
def test_invalid_names_of_tags_are_refused(table: Table, name: Any) -> None:
    for act in (table.set_tag, table.drop_tag):
        with pytest.raises(InvalidRequestError, match="tag"):
            act(name)
    assert again(table).version == 1


def test_unknown_tags_are_refused(table: Table) -> None:
    table.set_tag("there")
    for act in (table.drop_tag, table.at, lambda name: table.scan(version=name)):
        with pytest.raises(NotFoundError, match=r"has no tag 'gone' \(the tags: there\)"):
            act("gone")
    for version, error in ((9, NotFoundError), (-1, NotFoundError), (1.5, InvalidRequestError)):
        with pytest.raises(error):
            table.set_tag("new", version)  # type: ignore[arg-type]


def test_a_tag_survives_checkpoints_and_ends_with_the_table(table: Table) -> None:
    table.set_tag("kept", 1)
    table = checkpointed(table)
    assert table.tags == {"kept": 1}
    for path in table.store.list("_versioned/log"):
        table.store.overwrite(f"_versioned/log/{path}", b"not looked at")
    assert again(table).tags == {"kept": 1}
    meta = table.store.read(table.log.checkpoint_path(2)) or b""
    said = pq.read_schema(pa.BufferReader(meta)).metadata[b"versioned.state"]
    assert json.loads(said)["tags"] == {"kept": 1}


def test_tags_of_former_incarnations(table: Table) -> None:
    table.set_tag("old", 1)
    late, gone = again(table), again(table)
    replacement = Replace(creation("x INT"), table.state.created_uuid, table.version)
    table = create_at(table.store, replacement, "t", str(uuid4()))
    assert table.scan(version="old").count() == 2
    assert late.set_tag("older", 0) == 4
    assert again(table).tags == {"old": 1, "older": 0}
    again(table).drop()
    with pytest.raises(CommitConflictError, match="dropped"):
        gone.set_tag("older", 0)
    created = Catalog.create_path(table.location, "x INT")
    assert created.tags == {}
    with pytest.raises(CommitConflictError, match="dropped"):
        late.set_tag("older", 0)


def test_concurrent_changes_of_tags(table: Table) -> None:
    one, two, three = again(table), again(table), again(table)
    one.set_tag("a", 0)
    two.set_tag("b", 1)
    assert again(table).tags == {"a": 0, "b": 1}
    three.set_tag("a", 1)
    assert again(table).tags == {"a": 1, "b": 1}
    two.drop_tag("a")
    with pytest.raises(NotFoundError, match="no tag 'a'"):
        three.drop_tag("a")
