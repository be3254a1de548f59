"""Many concurrent writers, and races found in the review of the design, each forced."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from faults.checker import Outcome, findings
from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
    VersionedError,
)

WRITERS, APPENDS, ALTERS = 8, 50, 50


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def appender(folder: str, writer: int, results: Any) -> None:
    table = Catalog.load_path(folder)
    for number in range(APPENDS):
        row = writer * 1000 + number
        results.put(("append", table.append(ids(row)), (row,)))


def alterer(folder: str, results: Any) -> None:
    table = Catalog.load_path(folder)
    for number in range(ALTERS):
        change = table.refresh().alter()
        match number % 4:
            case 0:
                change.add_column(f"c{number}", "int", default=number)
            case 1:
                change.rename_column(f"c{number - 1}", f"r{number}")
            case 2:
                change.change_type(f"r{number - 1}", "long")
            case _:
                change.drop_column(f"r{number - 2}")
        results.put(("alter", change.commit(), ()))


def outcome(table: Table, replies: list[tuple[str, int, tuple[int, ...]]]) -> Outcome:
    return Outcome(
        acknowledged=[(version, rows) for kind, version, rows in replies if kind == "append"],
        altered=[version for kind, version, _ in replies if kind == "alter"],
        rows=table.scan(columns=["id"]).to_arrow()["id"].to_pylist(),
        history=table.inspect.history()
        .select(["version", "operation", "time", "schema_version"])
        .to_pylist(),
    )


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome, list[Any]]:
    """8 processes append 50 times each, and one alters 50 times."""
    folder = tmp_path_factory.mktemp("race") / "t"
    Catalog.create_path(folder, "id LONG", properties={"auto_maintain": "off"})
    fork = mp.get_context("fork")
    results = fork.Queue()
    workers = [
        fork.Process(target=appender, args=(str(folder), writer, results))
        for writer in range(WRITERS)
    ]
    workers.append(fork.Process(target=alterer, args=(str(folder), results)))
    for worker in workers:
        worker.start()
    replies = [results.get(timeout=120) for _ in range(WRITERS * APPENDS + ALTERS)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * (WRITERS + 1)
    return folder, outcome(Catalog.load_path(folder), replies), replies


@pytest.mark.thorough
def test_concurrent_appends_and_alters_all_succeed(race: tuple[Path, Outcome, list[Any]]) -> None:
    folder, result, _ = race
    assert findings(result) == []
    table = Catalog.load_path(folder)
    assert table.count() == WRITERS * APPENDS
    assert max(table.inspect.schemas()["schema_version"].to_pylist()) == ALTERS


@pytest.mark.thorough
def test_the_checker_rejects_planted_faults(race: tuple[Path, Outcome, list[Any]]) -> None:
    _, result, _ = race
    assert findings(replace(result, rows=result.rows[1:]))
    assert findings(replace(result, rows=[*result.rows, result.rows[0]]))
    assert findings(replace(result, history=[h for h in result.history if h["version"] != 100]))
    without = [h for h in result.history if h["operation"] != "alter"]
    assert findings(replace(result, history=without))
    assert findings(replace(result, acknowledged=result.acknowledged[1:]))


@pytest.mark.thorough
def test_the_checker_rejects_a_real_lost_commit(
    race: tuple[Path, Outcome, list[Any]], tmp_path: Path
) -> None:
    folder, _, replies = race
    copy = tmp_path / "t"
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / "_versioned/checkpoint")
    os.unlink(copy / "_versioned/last_checkpoint.json")
    log = sorted((copy / "_versioned/log").iterdir())
    lost = next(p for p in log if json.loads(p.read_text())["operation"] == "append")
    at = log.index(lost)
    for path in log[at:]:
        entry = json.loads(path.read_text())
        if path != lost:
            entry["version"] -= 1
            entry["base_version"] -= 1
            path.with_name(f"{entry['version']:020d}.json").write_text(sealed(entry))
    log[-1].unlink()
    assert findings(outcome(Catalog.load_path(copy), replies))


@pytest.mark.thorough
def test_threads_in_memory() -> None:
    folder = f"memory://{uuid4()}"
    Catalog.create_path(folder, "id LONG")
    replies: list[tuple[str, int, tuple[int, ...]]] = []

    def work(writer: int) -> None:
        table = Catalog.load_path(folder)
        for number in range(50):
            row = writer * 1000 + number
            replies.append(("append", table.append(ids(row)), (row,)))

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert findings(outcome(Catalog.load_path(folder), replies)) == []


# Races by hand: ``old`` was loaded before ``new`` committed.


@pytest.fixture
def pair() -> tuple[Table, Table]:
    folder = f"memory://{uuid4()}"
    Catalog.create_path(folder, "id LONG, b STRING").append(ids(1))
    return Catalog.load_path(folder), Catalog.load_path(folder)


def fresh(table: Table) -> list[dict[str, Any]]:
    return Catalog.load_path(table.location).scan().to_arrow().to_pylist()


def test_nulls_against_set_not_null(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.overwrite(pa.table({"id": [1], "b": ["x"]}))
    old.refresh()
    new.alter().set_not_null("b").commit()
    with pytest.raises(CommitConflictError, match="NOT NULL"):
        old.append(ids(2))
    old.append(pa.table({"id": [2], "b": ["y"]}))
    assert [row["b"] for row in fresh(old)] == ["x", "y"]


def test_set_not_null_against_nulls(pair: tuple[Table, Table]) -> None:
    old, new = pair
    old.overwrite(pa.table({"id": [1], "b": ["x"]}))
    new.refresh().append(ids(2))
    with pytest.raises((CommitConflictError, InvalidRequestError), match="null"):
        old.alter().set_not_null("b").commit()


@pytest.mark.parametrize("same", [True, False])
def test_two_writers_that_add_columns(pair: tuple[Table, Table], same: bool) -> None:
    old, new = pair
    new.append(pa.table({"id": [2], "c": [5]}), merge_schema=True)
    rows = pa.table({"id": [3], "c" if same else "d": [6]})
    with pytest.raises(CommitConflictError, match="run it again"):
        old.append(rows, merge_schema=True)
    assert [row["id"] for row in fresh(old)] == [1, 2]
    old.refresh().append(rows, merge_schema=True)
    shown = fresh(old)
    assert [row["c"] for row in shown] == [None, 5, 6 if same else None]
    columns = [column.id for column in old.schema.columns]
    assert len(columns) == len(set(columns)) == (3 if same else 4)


def test_a_drop_removes_the_column_that_it_was_bound_to(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().rename_column("b", "kept").add_column("b", "int", default=7).commit()
    old.alter().drop_column("b").commit()
    assert fresh(old) == [{"id": 1, "b": 7}]


def test_drop_and_create_against_an_append(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.drop()
    again = Catalog.create_path(new.location, "id LONG, b STRING")
    with pytest.raises(CommitConflictError, match="replaced"):
        old.append(ids(9))
    assert fresh(again) == []
    assert again.version == 3
    assert min(column.id for column in again.schema.columns) == 3


def test_drop_against_an_append(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.drop()
    with pytest.raises(CommitConflictError, match="dropped"):
        old.append(ids(9))
    with pytest.raises(NotFoundError):
        Catalog.load_path(new.location)


def test_an_overwrite_keeps_rows_added_after_its_base(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.append(ids(2))
    old.overwrite(ids(3))
    assert [row["id"] for row in fresh(old)] == [2, 3]


def test_the_second_of_two_overwrites_is_a_conflict(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.overwrite(ids(2))
    with pytest.raises(CommitConflictError, match="removed"):
        old.overwrite(ids(3))
    assert [row["id"] for row in fresh(old)] == [2]


@pytest.mark.parametrize(
    ("first", "second", "lands"),
    [
        (lambda a: a.add_column("c", "int"), lambda a: a.add_column("C", "int"), False),
        (lambda a: a.add_column("c", "int"), lambda a: a.add_column("d", "int"), True),
        (lambda a: a.drop_column("b"), lambda a: a.rename_column("b", "x"), False),
        (lambda a: a.rename_column("b", "x"), lambda a: a.drop_column("b"), True),
        (lambda a: a.rename_column("b", "x"), lambda a: a.set_comment("b", "hm"), True),
        (lambda a: a.drop_column("b"), lambda a: a.drop_column("b"), False),
        (lambda a: a.add_column("x", "int"), lambda a: a.rename_column("b", "x"), False),
    ],
)
def test_the_second_of_two_alters_lands_if_it_is_still_legal(
    pair: tuple[Table, Table],
    first: Callable[[Any], Any],
    second: Callable[[Any], Any],
    lands: bool,
) -> None:
    old, new = pair
    first(new.alter()).commit()
    if lands:
        assert second(old.alter()).commit() == 3
        return
    with pytest.raises(CommitConflictError):
        second(old.alter()).commit()
    assert Catalog.load_path(old.location).version == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.drop_column("b"),
        lambda a: a.rename_column("b", "x"),
        lambda a: a.add_column("c", "int", default=9),
        lambda a: a.move_column("b", first=True),
        lambda a: a.set_default("b", "later"),
        lambda a: a.drop_column("b").add_column("b", "int", default=5),
        lambda a: a.set_property("sort_by", "id"),
        lambda a: a.set_partitioning(["bucket(4, id)"]),
    ],
)
def test_no_alter_aborts_a_concurrent_append(
    pair: tuple[Table, Table], change: Callable[[Any], Any]
) -> None:
    old, new = pair
    change(new.alter()).commit()
    old.append(pa.table({"id": [2], "b": ["y"]}))
    rows = fresh(old)
    assert [row["id"] for row in rows] == [1, 2]
    shown = rows[1].get("b", rows[1].get("x"))
    assert shown in ("y", None, 5)
    assert ("c" not in rows[1]) or rows[1]["c"] == 9


def fence(table: Table, at: int) -> None:
    """Write a fence to the log, as FORMAT.md describes it."""
    last = table.version
    entry = json.loads(table.store.read(f"_versioned/log/{last:020d}.json") or b"")
    for name in ("added", "removed", "schema", "properties", "details"):
        entry.pop(name, None)
    later = "2999-01-01T00:00:00.000000Z"
    entry |= {
        "version": last + 1,
        "operation": "fence",
        "fence": at,
        "commit_id": "f",
        "time": later,
    }
    table.store.put_if_absent(f"_versioned/log/{last + 1:020d}.json", sealed(entry).encode())


def test_a_fence_refuses_a_slow_writer(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().set_comment("b", "x").commit()
    fence(new, 2)
    with pytest.raises(CommitConflictError, match="fence"):
        old.append(ids(2))
    new.refresh().append(ids(2))
    times = Catalog.load_path(new.location).inspect.history()["time"].to_pylist()
    assert times == sorted(set(times)), "a commit is later than the one before, whatever the clocks"


def test_two_creations_of_one_name(tmp_path: Path) -> None:
    one, two = Catalog(tmp_path), Catalog(tmp_path)
    one.create_namespace("n")
    two.list_namespaces()
    created: list[str] = []
    errors: list[VersionedError] = []

    def work(catalog: Catalog, column: str) -> None:
        try:
            catalog.create_table("n.t", f"{column} INT")
            created.append(column)
        except AlreadyExistsError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(c, n)) for c, n in ((one, "a"), (two, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(created) == len(errors) == 1
    assert Catalog(tmp_path).load_table("n.t").schema.names == created


def test_rename_against_rename_and_drop(tmp_path: Path) -> None:
    one, two = Catalog(tmp_path), Catalog(tmp_path)
    one.create_namespace("n")
    one.create_table("n.t", "a INT")
    two.list_tables("n")
    one.rename_table("n.t", "n.u")
    with pytest.raises(NotFoundError):
        two.rename_table("n.t", "n.v")
    with pytest.raises(NotFoundError):
        two.drop_table("n.t")
    assert Catalog(tmp_path).list_tables("n") == ["u"]


# Hints, checkpoints and stubs


def many(tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    for number in range(4):
        table.append(ids(number))
        if number in (1, 3):
            table.log.write_checkpoint(table.state)
    table.append(ids(4))
    return table


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / "last_checkpoint.json").unlink(),
        lambda f: (f / "last_checkpoint.json").write_text("rubbish"),
        lambda f: (f / "last_checkpoint.json").write_text('{"version": 999}'),
        lambda f: (f / "last_checkpoint.json").write_text('{"version": -1}'),
        lambda f: (f / f"checkpoint/{4:020d}.parquet").write_bytes(b"PAR1 rubbish"),
        lambda f: (f / f"checkpoint/{4:020d}.parquet").write_bytes(b""),
        lambda f: shutil.rmtree(f / "checkpoint"),
        lambda f: shutil.copy(
            f / f"checkpoint/{2:020d}.parquet", f / f"checkpoint/{4:020d}.parquet"
        ),
    ],
)
def test_damaged_checkpoints_are_ignored(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    many(tmp_path)
    damage(tmp_path / "t/_versioned")
    table = Catalog.load_path(tmp_path / "t")
    assert table.version == 5
    assert [row["id"] for row in fresh(table)] == [0, 1, 2, 3, 4]
    table.append(ids(5))


def test_a_checkpoint_is_used(tmp_path: Path) -> None:
    many(tmp_path)
    for number in range(4):
        (tmp_path / f"t/_versioned/log/{number:020d}.json").write_text("not looked at")
    table = Catalog.load_path(tmp_path / "t")
    assert table.count() == 5
    assert table.scan(version=4).count() == 4


def test_versions_from_the_oldest_retained_on_are_read_beside_stubs(tmp_path: Path) -> None:
    table = many(tmp_path)
    stub = {"format": 1, "stub": True, "commit_id": "x", "time": "2020-01-01T00:00:00.000000Z"}
    for number in range(4):
        path = tmp_path / f"t/_versioned/log/{number:020d}.json"
        path.write_text(sealed(stub | {"version": number, "floor": 4}))
    os.unlink(tmp_path / "t/_versioned/last_checkpoint.json")
    os.unlink(tmp_path / f"t/_versioned/checkpoint/{2:020d}.parquet")
    table = Catalog.load_path(tmp_path / "t")
    assert table.count() == 5
    assert table.scan(version=4).count() == 4
    with pytest.raises(NotFoundError, match="expired"):
        table.scan(version=1)
    assert table.inspect.history()["version"].to_pylist() == [0, 1, 2, 3, 4, 5]
