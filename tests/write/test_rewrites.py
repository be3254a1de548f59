"""Copy on write: DELETE, UPDATE, and the commit of rewrites that were planned elsewhere."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.read.filters import Comparison, Op
from versioned_catalog.write import copy_on_write, marking

INTS = pa.int32()
Rows = list[tuple[Any, ...]]
K = pc.field("k")


def make(ddl: str = "k INT, v INT", **more: Any) -> Table:
    return Catalog.create_path(f"memory://{uuid4()}", ddl, **more)


def data(*pairs: tuple[Any, Any]) -> pa.Table:
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(keys, INTS), "v": pa.array(values, INTS)})


def again(table: Table) -> Table:
    return Catalog.load_path(table.location)


def shown(table: Table, **how: Any) -> Rows:
    found = again(table).scan(**how).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def paths(table: Table) -> set[str]:
    return set(again(table).inspect.segments()["path"].to_pylist())


@pytest.fixture
def days() -> Table:
    """Three segments: 1 to 3, 4 to 6 with a null, 7 and 9."""
    table = make()
    table.append(data((1, 0), (2, 0), (3, 0)))
    table.append(data((4, 0), (6, 0), (None, 0)))
    table.append(data((7, 0), (9, 0)))
    return table


KEYS = {1, 2, 3, 4, 6, None, 7, 9}

FILTERS: list[tuple[Any, set[Any], int]] = [
    ([("k", "<", 4)], {1, 2, 3}, 1),
    ([("k", "<", 3)], {1, 2}, 1),
    ([("k", ">=", 6)], {6, 7, 9}, 2),
    ([("k", "!=", 6)], KEYS - {6, None}, 3),
    ([("k", "not in", [1, None])], set(), 0),
    ([("k", "in", [1, None])], {1}, 1),
    ([("k", "is null")], {None}, 1),
    ([("k", "=", 5)], set(), 0),
    ([("k", "=", 50)], set(), 0),
    ([("k", "=", None)], set(), 0),
    ([[("k", "=", 1)], [("k", "=", 9), ("v", "=", 0)]], {1, 9}, 2),
    ([("_row_position", "=", 2)], {3, None}, 2),
    (Comparison(("k",), Op.GT, 6), {7, 9}, 1),
    (None, KEYS, 3),
]


# DELETE


@pytest.mark.parametrize("filters, gone, rewritten", FILTERS)
def test_delete_removes_the_matching_rows(
    days: Table, filters: Any, gone: set[Any], rewritten: int
) -> None:
    before, version = paths(days), days.version
    assert days.delete(filters, commit_id="me") == version + bool(gone)
    assert shown(days) == sorted([(k, 0) for k in KEYS - gone], key=repr)
    assert len(before - paths(days)) == rewritten
    assert days.find_commit("me") == (version + 1 if gone else None)
    assert days.scan(version=version).count() == 8
    if gone:
        assert again(days).inspect.history()["operation"].to_pylist()[-1] == "delete"


def test_delete_reads_only_segments_that_match_in_part(
    days: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics show that all of one segment matches, and nothing of another."""
    read: list[str] = []
    real = copy_on_write.read_with_matches

    def reading(store: Any, task: Any) -> Any:
        read.append(task.path)
        return real(store, task)

    monkeypatch.setattr(copy_on_write, "read_with_matches", reading)
    monkeypatch.setattr(copy_on_write, "read_segment", pytest.fail)
    monkeypatch.setattr(marking, "read_segment", pytest.fail)
    files = days.inspect.segments()["path"].to_pylist()
    days.delete([("k", "<", 4)])
    assert (read, days.inspect.segments()["path"].to_pylist()) == ([], files[1:])
    monkeypatch.undo()
    monkeypatch.setattr(copy_on_write, "read_with_matches", reading)
    days.delete([("k", "<=", 6)])
    assert read == [files[1]]
    assert shown(days) == [(7, 0), (9, 0), (None, 0)]
    days.delete([("k", "=", 8)])
    assert read == [files[1]], "the segment is read, and not copied since no row of it matches"


def test_delete_by_a_column_that_was_dropped_and_added_again() -> None:
    """Old values of the dropped column match nothing, in rows or in statistics."""
    table = make()
    table.append(data((1, 5), (2, 6)))
    table.append(data((3, 5), (4, 5)))
    table.alter().drop_column("v").add_column("v", "int", default=50).commit()
    before, version = paths(table), table.version
    assert table.delete([("v", "=", 5)]) == version
    assert table.delete([("v", "<", 50)]) == version
    assert not table.scan(filters=[("v", "=", 5)]).tasks()
    assert (paths(table), shown(table)) == (before, [(1, 50), (2, 50), (3, 50), (4, 50)])
    table.append(data((5, 5)))
    table.delete([("v", "=", 5)])
    assert shown(table) == [(1, 50), (2, 50), (3, 50), (4, 50)]
    table.delete([("v", "=", 50), ("k", "<", 2)])
    assert shown(table) == [(2, 50), (3, 50), (4, 50)]
    table.delete([("v", "=", 50)])
    assert shown(table) == []


def test_copies_have_the_current_schema_and_partitioning(days: Table) -> None:
    days.alter().rename_column("k", "key").add_column("w", "int", default=5).commit()
    days.alter().set_partitioning(["key"]).set_property("sort_by", "key DESC").commit()
    days.delete([("key", "=", 2)])
    assert shown(days, filters=[("key", "<", 4)]) == [(1, 0, 5), (3, 0, 5)]
    new = [s for s in days.inspect.segments().to_pylist() if s["schema_version"] == 2]
    assert [(s["partition"], s["rows"]) for s in new] == [(["1"], 1), (["3"], 1)]
    days.alter().set_default("w", 6).drop_column("v").commit()
    days.delete([("key", "=", 1)])
    assert shown(days, filters=[("key", "<", 4)]) == [(3, 5)], "the segment is removed unread"


def test_copies_keep_values_of_every_type() -> None:
    table = make(
        "k INT, s STRUCT<x: INT, l: ARRAY<STRUCT<e: STRING>>>, m MAP<STRING, INT>, c CHAR(3)"
    )
    rows = [
        {"k": 1, "s": {"x": 1, "l": [{"e": "a"}, None]}, "m": [("a", 1)], "c": "x"},
        {"k": 2, "s": None, "m": None, "c": None},
        {"k": 3, "s": {"x": None, "l": None}, "m": [], "c": "abc"},
    ]
    kinds = table.scan().schema
    table.append(pa.Table.from_pylist(rows, schema=kinds))
    table.alter().change_type("s.x", "long").add_column("s.y", "int", default=7).commit()
    table.delete([("s.x", "=", 1)])
    assert again(table).scan().to_arrow().to_pylist() == [
        {"k": 2, "s": None, "m": None, "c": None},
        {"k": 3, "s": {"x": None, "l": None, "y": 7}, "m": [], "c": "abc"},
    ]
    table.delete([("s.y", "=", 7)])
    assert shown(table) == [(2, None, None, None)]


def test_a_segment_that_yields_fewer_rows_is_not_rewritten(
    days: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that a read leaves out would be lost."""
    from versioned_catalog.read import tasks

    real = tasks._adapted

    def lossy(*given: Any) -> Any:
        return (batch.slice(0, 2) for batch in real(*given))

    before = paths(days)
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "_adapted", lossy)
        for change in (
            lambda: days.delete([("k", "=", 1)]),
            lambda: days.update({"v": 1}, [("k", "=", 1)]),
            lambda: days.overwrite_where(data(), [("k", "=", 1)]),
        ):
            with pytest.raises(CorruptTableError, match="2 rows were read, and 3 were committed"):
                change()
    assert paths(days) == before
    days.delete([("k", "=", 1)])


def test_a_missing_segment_is_not_rewritten(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "k INT, v INT")
    table.append(data((1, 0), (2, 0)))
    next((tmp_path / "t/data").iterdir()).unlink()
    for change in (
        lambda: table.delete([("k", "=", 1)]),
        lambda: table.update({"v": 1}),
        lambda: table.overwrite_where(data(), [("k", "=", 1)]),
    ):
        with pytest.raises(CorruptTableError):
            change()
    assert again(table).version == 1


# By metadata alone


@pytest.mark.parametrize(
    "filters, whole, gone",
    [
        ([("k", "<", 4)], True, {1, 2, 3}),
        ([("k", "<", 3)], False, set()),
        ([("k", "=", 5)], False, set()),
        ([("k", "=", 50)], True, set()),
        ([("k", ">", 6)], True, {7, 9}),
        ([("v", "=", 0)], True, KEYS),
        (None, True, KEYS),
    ],
)
def test_delete_by_metadata_alone(days: Table, filters: Any, whole: bool, gone: set[Any]) -> None:
    version = days.version
    assert days.transaction().can_delete_whole(filters) is whole
    if whole:
        assert days.transaction().delete_whole(filters, commit_id="me") == version + bool(gone)
        assert days.find_commit("me") == (version + 1 if gone else None)
        assert len(again(days).inspect.history()) == version + 1 + bool(gone)
    else:
        with pytest.raises(InvalidRequestError) as caught:
            days.transaction().delete_whole(filters)
        for part in (days.name, "filter on k", "Table.delete", "partitioning (none)"):
            assert part in str(caught.value)
    assert shown(days) == sorted([(k, 0) for k in KEYS - gone], key=repr)


# UPDATE


@pytest.mark.parametrize("filters, changed, rewritten", FILTERS)
def test_update_changes_the_matching_rows(
    days: Table, filters: Any, changed: set[Any], rewritten: int
) -> None:
    before, version = paths(days), days.version
    assert days.update({"v": 9}, filters, commit_id="me") == version + bool(changed)
    assert shown(days) == sorted([(k, 9 if k in changed else 0) for k in KEYS], key=repr)
    assert len(before - paths(days)) == rewritten
    assert days.find_commit("me") == (version + 1 if changed else None)
    if changed:
        assert again(days).inspect.history()["operation"].to_pylist()[-1] == "update"


def test_an_update_keeps_the_order_of_rows(days: Table) -> None:
    days.update({"v": K}, [("k", "in", [1, 3, 6])])
    found = again(days).scan().to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [
        (7, 0), (9, 0), (1, 1), (2, 0), (3, 3), (4, 0), (6, 6), (None, 0),
    ]  # fmt: skip


def test_all_expressions_read_the_values_from_before_the_update(days: Table) -> None:
    days.update({"k": pc.field("v"), "v": K + 100})
    assert shown(days) == sorted([(0, None if k is None else k + 100) for k in KEYS], key=repr)
    days.update({"v": pc.field("v") - pc.scalar(100), "k": pa.scalar(5)}, [("v", "<", 103)])
    assert shown(days, filters=[("k", "=", 5)]) == [(5, 1), (5, 2)]


def test_an_expression_sees_matching_rows_only() -> None:
    table = make()
    table.append(data((2**31 - 1, 1), (1, 2)))
    table.update({"k": K + 1}, [("v", "=", 2)])
    assert shown(table) == [(2, 2), (2**31 - 1, 1)]
    with pytest.raises(InvalidRequestError, match="overflow"):
        table.update({"k": K + 1})
    with pytest.raises(InvalidRequestError, match="not in range"):
        table.update({"v": pc.if_else(pc.field("v") > 1, 2**40, 0).cast(INTS)})
    assert shown(table) == [(2, 2), (2**31 - 1, 1)]


def test_update_of_fields_of_structs() -> None:
    table = make("k INT, s STRUCT<x: INT, t: STRUCT<y: INT NOT NULL, z: STRING>>")
    kinds = pa.schema(
        {
            "k": INTS,
            "s": pa.struct({"x": INTS, "t": pa.struct({"y": INTS, "z": pa.string()})}),
        }
    )
    rows = [
        {"k": 1, "s": {"x": 1, "t": {"y": 1, "z": "a"}}},
        {"k": 2, "s": None},
        {"k": 3, "s": {"x": 3, "t": None}},
    ]
    table.append(pa.Table.from_pylist(rows, schema=kinds))
    table.update({"s.x": pc.field("k") * 10, "S.t.y": 7})
    assert again(table).scan().to_arrow().to_pylist() == [
        {"k": 1, "s": {"x": 10, "t": {"y": 7, "z": "a"}}},
        {"k": 2, "s": None},
        {"k": 3, "s": {"x": 30, "t": None}},
    ]
    table.update({("s", "t"): {"y": 5}}, [("k", "=", 3)])
    table.update({"s": None, "k": 4}, [("k", "=", 1)])
    assert again(table).scan().to_arrow().to_pylist() == [
        {"k": 4, "s": None},
        {"k": 2, "s": None},
        {"k": 3, "s": {"x": 30, "t": {"y": 5, "z": None}}},
    ]
    with pytest.raises(InvalidRequestError, match=r"s\.t\.y is NOT NULL"):
        table.update({"s.t.y": None})
    with pytest.raises(InvalidRequestError, match=r"s\.t\.y is NOT NULL"):
        table.update({"s.t.y": None}, [("k", "=", 100)])  # no row matches
    table.update({"s.t.y": pc.field("k")}, [("k", "=", 2)])  # the struct around it is null


def test_update_to_values_of_all_types() -> None:
    table = make(
        "b BOOLEAN, y TINYINT, f FLOAT, d DECIMAL(10,2), s STRING, c CHAR(3), x BINARY, day DATE, "
        "ts TIMESTAMP, n TIMESTAMP_NTZ, i INTERVAL DAY TO SECOND, a ARRAY<INT>, m MAP<STRING, INT>, "
        "st STRUCT<p: INT>"
    )
    schema = table.scan().schema
    table.append(pa.table({f.name: pa.nulls(1, f.type) for f in schema}, schema=schema))
    values: dict[str, Any] = {
        "b": True, "y": 5, "f": 0.5, "d": Decimal("1.50"), "s": "é", "c": "a", "x": b"\0",
        "day": dt.date(2024, 2, 29), "ts": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "n": dt.datetime(2024, 1, 1), "i": dt.timedelta(seconds=5), "a": [1, None],
        "m": {"k": 1}, "st": {"p": 7},
    }  # fmt: skip
    table.update(values)
    expected = values | {"c": "a  ", "m": [("k", 1)]}
    assert again(table).scan().to_arrow().to_pylist() == [expected]
    table.update(dict.fromkeys(values))
    assert again(table).scan().to_arrow().to_pylist() == [dict.fromkeys(values)]


@pytest.mark.parametrize(
    "assignments, message",
    [
        ({"y": 200}, "200 does not fit the column y of type TINYINT"),
        ({"y": "x"}, "does not fit the column y"),
        ({"y": pc.field("k") + 1000}, "y is TINYINT, and INT does not widen"),
        ({"y": pc.field("u") + 1}, "y is TINYINT, and BIGINT does not widen"),
        ({"c": "abcd"}, "does not fit the column c"),
        ({"w": pc.field("t")}, "w is VARCHAR.2., and a value has 3 characters"),
        ({"k": None}, "k is NOT NULL; assign a value"),
        ({"k": pc.field("y")}, "k is NOT NULL and 1 of the rows hold null"),
        ({"k": pc.field("nope") + 1}, "cannot be computed.*the columns are 'k', 'y'"),
        ({"k": pc.field("t") + 1}, "cannot be computed"),
        ({"k": 1, "K": 2}, "K is assigned to twice"),
        ({"s": None, "s.x": 2}, "s.x is assigned to twice"),
        ({"s.x": 2, "s": None}, "s is assigned to twice"),
        ({"l.element": 2}, "l.element has many values in one row.*whole of l"),
        ({}, "assignments must be a mapping"),
        ([("k", 1)], "assignments must be a mapping"),
        ("k", "assignments must be a mapping"),
    ],
)
def test_invalid_updates_are_refused(assignments: Any, message: str) -> None:
    table = make(
        "k INT NOT NULL, y TINYINT, u BIGINT, c CHAR(3), w VARCHAR(2), t STRING, "
        "s STRUCT<x: INT>, l ARRAY<INT>"
    )
    one = {"k": [1], "y": [None], "u": [2**40], "c": [None], "w": [None], "t": ["abc"]}
    kinds = pa.schema({f.name: f.type for f in table.scan().schema})
    table.append(pa.table(one | {"s": [None], "l": [None]}, schema=kinds))
    with pytest.raises(InvalidRequestError, match=message) as caught:
        table.update(assignments)
    assert table.name in str(caught.value)
    assert again(table).version == 1


def test_an_update_of_an_unknown_column_is_refused(days: Table) -> None:
    days.alter().add_column("usage_user", "int").add_column("s", "struct<x: int>").commit()
    for path, close in (
        ("usage_usr", "did you mean usage_user"),
        ("s.y", "did you mean s.x"),
        ("zzzz", "the columns are k, v, usage_user, s, s.x"),
        ("_segment", "the columns are k"),
    ):
        with pytest.raises(NotFoundError, match=close) as caught:
            days.update({path: 1})
        assert f"{days.name} has no column {path}" in str(caught.value)
    for act in (
        days.delete,
        lambda filters: days.update({"v": 1}, filters),
        days.transaction().delete_whole,
    ):
        with pytest.raises(NotFoundError, match="nope"):
            act([("nope", "=", 1)])


def test_updated_rows_move_to_their_partitions_and_are_sorted() -> None:
    table = make(partitioned_by=["k"], properties={"sort_by": "v"})
    table.append(data((1, 1), (1, 2), (1, 3), (2, 1)))
    table.update({"k": 2, "v": pc.field("v") * -1}, [("v", ">=", 2)])
    found = {(s["partition"][0], s["rows"]) for s in table.inspect.segments().to_pylist()}
    assert found == {("1", 1), ("2", 1), ("2", 2)}
    assert shown(table) == [(1, 1), (2, -2), (2, -3), (2, 1)]
    (path,) = [s["path"] for s in table.inspect.segments().to_pylist() if s["rows"] == 2]
    scan = table.scan(filters=[("_segment", "=", path)])
    assert scan.to_arrow()["v"].to_pylist() == [-3, -2]


def test_update_of_a_column_that_old_segments_lack(days: Table) -> None:
    days.alter().add_column("w", "int", default=5).commit()
    days.update({"w": pc.field("w") + pc.field("v")}, [("w", "=", 5), ("k", "=", 1)])
    days.alter().set_default("w", 6).commit()
    days.update({"w": 1}, [("k", "=", 2)])
    assert shown(days, filters=[("k", "<", 4)]) == [(1, 0, 5), (2, 0, 1), (3, 0, 5)]


# Rewrites planned elsewhere


def test_a_rewrite_planned_elsewhere_is_committed(days: Table) -> None:
    plan = days.transaction().plan_write(data().schema)
    (first, *_) = days.inspect.segments()["path"].to_pylist()
    records = plan.write(data().schema, iter(data((1, 7)).to_batches()), days.store)
    assert (
        days.transaction().commit_rewrite(
            plan, records, [first, first], kind="merge", commit_id="me"
        )
        == 4
    )
    assert shown(days) == sorted([(k, 0) for k in KEYS - {1, 2, 3}] + [(1, 7)], key=repr)
    entry = json.loads(days.store.read(f"_versioned/log/{4:020d}.json") or b"")
    assert (entry["operation"], entry["removed"], entry["base_version"]) == ("merge", [first], 3)
    assert days.find_commit("me") == 4
    assert (
        days.transaction().commit_rewrite(
            days.transaction().plan_write(data().schema), [], [], kind="update"
        )
        == 4
    )
    with pytest.raises(CommitConflictError, match="removed by another commit since version 3"):
        days.transaction().commit_rewrite(plan, records, [first], kind="merge")
    with pytest.raises(InvalidRequestError, match=r"kind must be one of .*, got 'compact'"):
        days.transaction().commit_rewrite(plan, records, [], kind="compact")
    with pytest.raises(InvalidRequestError, match="data/x is not a segment of version 3"):
        days.transaction().commit_rewrite(plan, records, ["data/x"], kind="delete")
    with pytest.raises(NotFoundError, match="nope"):
        days.transaction().commit_rewrite(plan, records, [], kind="merge", reads=[("nope", "=", 1)])


# Isolation: FORMAT.md, section 11, the row of DELETE, UPDATE and MERGE


def pair(level: str | None = None, **more: Any) -> tuple[Table, Table]:
    """The same table twice; the first handle does not see what the second commits."""
    properties = {} if level is None else {"isolation": level}
    table = make(properties=properties, **more)
    table.append(data((1, 0), (2, 0)))
    table.append(data((5, 0), (6, 0)))
    return again(table), again(table)


LEVELS = [None, "snapshot", "serializable"]
CHANGES: dict[str, Callable[[Table, Any], int]] = {
    "delete": lambda table, filters: table.delete(filters),
    "update": lambda table, filters: table.update({"v": pc.field("v") + 1}, filters),
    "overwrite": lambda table, filters: table.overwrite_where(data((1, 9)), filters),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("late", CHANGES)
@pytest.mark.parametrize("early", CHANGES)
def test_a_lost_update_is_a_conflict(level: str | None, early: str, late: str) -> None:
    """Two updates of one segment, even of different rows: the second would undo the first."""
    old, new = pair(level)
    CHANGES[early](new, [("k", "=", 1)])
    after = shown(new)
    with pytest.raises(CommitConflictError) as caught:
        CHANGES[late](old, [("k", "=", 2)])
    assert old.name in str(caught.value)
    assert "run it again" in str(caught.value)
    assert shown(new) == after
    CHANGES[late](old.refresh(), [("k", "=", 2)])
    assert shown(new) != after


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("late", CHANGES)
def test_write_skew_is_a_conflict_under_serializable_isolation(
    level: str | None, late: str
) -> None:
    """A matching row is added concurrently: no serial order of the two gives that result."""
    old, new = pair(level)
    new.append(data((1, 5)))
    if level == "serializable":
        with pytest.raises(CommitConflictError, match=r"version 3 \(append\)") as caught:
            CHANGES[late](old, [("k", "=", 1)])
        assert "run it again" in str(caught.value)
        assert shown(new) == [(1, 0), (1, 5), (2, 0), (5, 0), (6, 0)]
    else:
        CHANGES[late](old, [("k", "=", 1)])
        assert (1, 5) in shown(new)


@pytest.mark.parametrize("late", CHANGES)
@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda t: t.append(data((3, 5))),
        lambda t: t.delete([("k", ">", 4)]),
        lambda t: t.update({"k": 7}, [("k", "=", 5)]),
        lambda t: t.alter().add_column("w", "int", default=1).commit(),
        lambda t: t.alter().rename_column("k", "v2").rename_column("v", "k").commit(),
        lambda t: t.set_tag("x"),
        lambda t: t.append(data()),
    ],
)
def test_serializable_isolation_allows_commits_that_match_nothing_read(
    late: str, meanwhile: Callable[[Table], Any]
) -> None:
    old, new = pair("serializable")
    meanwhile(new)
    CHANGES[late](old, [("k", "=", 1)])
    assert again(old).version == new.version + 1


@pytest.mark.parametrize(
    "meanwhile, why",
    [
        # a matching row was added and removed again
        (lambda t: (t.append(data((1, 5))), t.delete([("v", "=", 5)])), "append"),
        # the column of the condition was dropped, so the added row can't be checked
        (
            lambda t: (t.alter().drop_column("k").commit(), t.append(data((0, 3)).select(["v"]))),
            "append",
        ),
        # or it has another type now
        (lambda t: (t.alter().change_type("k", "long").commit(), t.append(data((9, 3)))), "append"),
        (lambda t: (t.append(data((1, 5))), t.rollback(2)), "append"),
        # an update made a row match
        (lambda t: t.update({"k": 1}, [("k", "=", 5)]), "update"),
        # the statistics are unknown
        (lambda t: t.append(data((0, 0), (3, 0))), "append"),
    ],
)
def test_serializable_isolation_refuses_commits_that_may_match(
    meanwhile: Callable[[Table], Any], why: str
) -> None:
    old, new = pair("serializable")
    meanwhile(new)
    with pytest.raises(CommitConflictError, match=rf"\({why}\)"):
        old.delete([("k", "=", 1)])


def test_a_column_added_again_says_nothing_about_the_dropped_one() -> None:
    """Bounds or the default of the new column must not stand for the dropped one."""
    old, new = pair("serializable")
    new.alter().drop_column("k").add_column("k", "int", default=50).commit()
    new.append(data((60, 5)))
    with pytest.raises(CommitConflictError, match=r"version 4 \(append\)"):
        old.delete([("k", "=", 1)])


def test_concurrently_removed_rows_that_were_read_are_a_conflict() -> None:
    """A MERGE found a row, so it inserts none; the row is deleted concurrently, and none is left."""
    for level, lands in (("snapshot", True), ("serializable", False)):
        old, new = pair(level)
        plan = old.transaction().plan_write(data().schema)
        new.delete([("k", ">", 4)])
        for reads, is_other in (([("k", "=", 5)], False), ([("k", "=", 1)], True), (None, False)):
            records = plan.write(data().schema, iter(data((8, 8)).to_batches()), old.store)
            if lands or is_other:
                old.transaction().commit_rewrite(plan, records, [], kind="merge", reads=reads)
            else:
                with pytest.raises(CommitConflictError, match=r"version 3 \(delete\)"):
                    old.transaction().commit_rewrite(plan, records, [], kind="merge", reads=reads)


def test_rows_removed_by_a_concurrent_rewrite_are_a_conflict() -> None:
    """The DELETE copies the rest of the segment, and the copy holds no row that the MERGE read."""
    for level, lands in (("snapshot", True), ("serializable", False)):
        old, new = pair(level)
        plan = old.transaction().plan_write(data().schema)
        records = plan.write(data().schema, iter(data((8, 8)).to_batches()), old.store)
        new.delete([("k", "=", 5)])
        assert shown(new) == [(1, 0), (2, 0), (6, 0)]
        if lands:
            old.transaction().commit_rewrite(plan, records, [], kind="merge", reads=[("k", "=", 5)])
        else:
            with pytest.raises(CommitConflictError, match=r"version 3 \(delete\)"):
                old.transaction().commit_rewrite(
                    plan, records, [], kind="merge", reads=[("k", "=", 5)]
                )


def test_without_a_condition_any_concurrent_row_is_a_conflict() -> None:
    for level, lands in (("snapshot", True), ("serializable", False)):
        old, new = pair(level)
        new.append(data((99, 9)))
        if lands:
            old.update({"v": 1})
            assert shown(old) == [(1, 1), (2, 1), (5, 1), (6, 1), (99, 9)]
        else:
            with pytest.raises(CommitConflictError, match="serializable"):
                old.update({"v": 1})


def test_writes_that_read_nothing_are_not_isolated() -> None:
    """Appends and overwrites of all rows read nothing, so they do not conflict."""
    old, new = pair("serializable")
    new.append(data((1, 5)))
    again(old).append(data((1, 6)))
    old.overwrite(data((0, 0)))
    assert shown(old) == [(0, 0), (1, 5), (1, 6)]


def test_appends_into_other_buckets_are_no_conflict() -> None:
    """Bounds can't show that an append into another bucket does not match; its partition does."""
    old, new = pair("serializable", partitioned_by=["bucket(64, k)"])
    new.append(data((0, 1), (7, 1)))
    old.delete([("k", "=", 1)])
    assert again(old).version == 4


def test_the_newest_isolation_level_applies() -> None:
    old, new = pair()
    new.alter().set_property("isolation", "serializable").commit()
    new.append(data((1, 5)))
    with pytest.raises(CommitConflictError):
        old.delete([("k", "=", 1)])
    old, new = pair("serializable")
    new.alter().unset_property("isolation").commit()
    new.append(data((1, 5)))
    old.delete([("k", "=", 1)])
    assert shown(old) == [(1, 5), (2, 0), (5, 0), (6, 0)]


@pytest.mark.parametrize("value", ["", "Serializable", "repeatable read", "SNAPSHOT"])
def test_unknown_isolation_levels_are_refused(value: str, days: Table) -> None:
    with pytest.raises(InvalidRequestError, match=r"isolation.*'snapshot' or 'serializable'"):
        make(properties={"isolation": value})
    with pytest.raises(InvalidRequestError, match=r"isolation.*'snapshot' or 'serializable'"):
        days.alter().set_property("isolation", value).commit()
    assert "isolation" not in again(days).properties


@pytest.mark.parametrize("late", [*CHANGES, "whole"])
@pytest.mark.parametrize(
    "meanwhile, message",
    [
        (lambda t: t.drop(), "dropped"),
        (lambda t: (t.drop(), Catalog.create_path(t.location, "k INT, v INT")), "replaced"),
        (lambda t: t.truncate(), "removed"),
        (lambda t: t.rollback(0), "removed"),
    ],
)
def test_a_concurrent_drop_or_truncate_is_a_conflict(
    late: str, meanwhile: Callable[[Table], Any], message: str
) -> None:
    old, new = pair()
    meanwhile(new)
    with pytest.raises(CommitConflictError, match=message):
        (CHANGES | {"whole": lambda t, filters: t.transaction().delete_whole(filters)})[late](
            old, [("k", "<", 3)]
        )


def test_a_concurrent_not_null_is_a_conflict() -> None:
    table = make()
    table.append(data((1, None), (2, 0)))
    old = again(table)
    late = again(table)
    table.update({"v": 5}, [("v", "is null")])
    table.rollback(1)
    table.delete([("k", "=", 1)])
    table.alter().set_not_null("v").commit()
    table.append(data((3, 3)))
    with pytest.raises(CommitConflictError):
        old.update({"v": None}, [("k", "=", 2)])
    plan = late.transaction().plan_write(data().schema)
    records = plan.write(data().schema, iter(data((1, None)).to_batches()), late.store)
    with pytest.raises(CommitConflictError, match="NOT NULL"):
        late.transaction().commit_rewrite(plan, records, [], kind="merge")
    assert shown(table) == [(2, 0), (3, 3)]
