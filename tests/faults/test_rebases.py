"""Commits planned before others landed: corner cases of the rules in FORMAT.md, section 11."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    Table,
    VersionedError,
)
from versioned_catalog.commit.table_entries import head_after
from versioned_catalog.log.entry import Batch, Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.storage.opening import open_store
from versioned_catalog.storage.store import Put


@pytest.fixture
def pair() -> tuple[Table, Table]:
    """The same table twice; the first handle does not see what the second commits."""
    folder = f"memory://{uuid4()}"
    Catalog.create_path(folder, "id LONG, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<e: INT>>")
    return Catalog.load_path(folder), Catalog.load_path(folder)


def fresh(table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Catalog.load_path(table.location).scan().to_arrow().to_pylist()
    return rows


ROW = pa.table(
    {"id": [1], "s": pa.array([{"x": 1, "y": 2}]), "l": pa.array([[{"e": 1}]])},
    pa.schema(
        {
            "id": pa.int64(),
            "s": pa.struct({"x": pa.int32(), "y": pa.int32()}),
            "l": pa.list_(pa.struct({"e": pa.int32()})),
        }
    ),
)


@pytest.mark.parametrize("path", ["new", "s.new"])
@pytest.mark.parametrize("operation", ["append", "overwrite"])
def test_a_concurrently_added_not_null_column_is_a_conflict(
    operation: str, path: str, pair: tuple[Table, Table]
) -> None:
    """The rows lack the column, so it would show null."""
    old, new = pair
    new.alter().add_column(path, "int").commit()
    new.alter().set_not_null(path).commit()
    with pytest.raises(CommitConflictError, match=f"{path} was made NOT NULL"):
        getattr(old, operation)(ROW)
    assert fresh(old) == []
    assert old.refresh().version == 2


@pytest.mark.parametrize("path", ["new", "s.new", "l.element.new"])
def test_a_concurrently_added_column_with_a_default_is_no_conflict(
    path: str, pair: tuple[Table, Table]
) -> None:
    old, new = pair
    new.alter().add_column(path, "int", nullable=False, default=7).commit()
    assert old.append(ROW) == 2
    (row,) = fresh(old)
    assert {"new": row.get("new"), "s": row["s"].get("new"), "l": row["l"][0].get("new")} == {
        "new": 7 if path == "new" else None,
        "s": 7 if path == "s.new" else None,
        "l": 7 if path.startswith("l") else None,
    }


def test_a_concurrently_added_struct_with_not_null_fields_is_no_conflict(
    pair: tuple[Table, Table],
) -> None:
    """The struct is null in these rows, so its NOT NULL field is not violated."""
    old, new = pair
    new.alter().add_column("t", "STRUCT<z: INT NOT NULL>").commit()
    assert old.append(ROW) == 2
    assert fresh(old)[0]["t"] is None


def test_columns_added_by_a_write_do_not_reuse_ids(pair: tuple[Table, Table]) -> None:
    """The schema is unchanged but the next ID is not: older writers left it so when an ALTER added
    a column and dropped it."""
    old, new = pair

    def entry(state: TableState | None) -> Commit:
        assert state is not None
        head = head_after(state, identity, "alter", state.version)
        return Commit(head, state.next_column_id + 1)

    identity = str(uuid4())
    new.log.commit(new.loaded, identity, entry)
    assert new.refresh().schema.version == old.schema.version
    with pytest.raises(CommitConflictError, match="run it again"):
        old.append(ROW.append_column("new", ROW["id"]), merge_schema=True)
    old.refresh().append(ROW.append_column("new", ROW["id"]), merge_schema=True)
    assert fresh(old) == [{**ROW.to_pylist()[0], "new": 1}]


def test_columns_added_by_a_write_after_a_rename(pair: tuple[Table, Table]) -> None:
    """The next ID is unchanged but the schema is not."""
    old, new = pair
    new.alter().rename_column("l", "m").commit()
    assert new.state.next_column_id == old.state.next_column_id
    with pytest.raises(CommitConflictError, match="run it again"):
        old.append(ROW.append_column("new", ROW["id"]), merge_schema=True)
    assert fresh(old) == []


@pytest.mark.parametrize("path", ["s.x", "s"])
def test_nested_not_null_is_checked(path: str, pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().set_not_null(path).commit()
    bad = ROW.set_column(
        1,
        ROW.schema.field("s"),
        pa.array([None if path == "s" else {"x": None, "y": 1}], ROW.schema.field("s").type),
    )
    with pytest.raises(CommitConflictError, match="NOT NULL"):
        old.append(bad)
    old.append(ROW)
    assert fresh(old) == ROW.to_pylist()


def test_a_not_null_that_was_dropped_again_is_no_conflict(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().set_not_null("s").commit()
    new.alter().drop_not_null("s").commit()
    assert old.append(pa.table({"id": [1]})) == 3


@pytest.mark.parametrize("rows", [0, 1])
def test_set_not_null_checks_concurrent_commits(rows: int, pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.append(ROW)
    if rows:
        new.append(pa.table({"id": pa.array([None], pa.int64())}))
        with pytest.raises((CommitConflictError, InvalidRequestError), match="null"):
            old.alter().set_not_null("id").commit()
    else:
        assert old.alter().set_not_null("id").commit() == 2


def test_column_ids_are_never_reused(pair: tuple[Table, Table]) -> None:
    old, new = pair
    new.alter().add_column("a", "int").commit()
    old.alter().add_column("b", "int").add_column("b2", "STRUCT<q: INT>").commit()
    new.refresh().append(ROW.append_column("c", pa.array([1])), merge_schema=True)
    schemas = new.inspect.schemas().to_pylist()
    by_id: dict[int, set[str]] = {}
    for row in schemas:
        by_id.setdefault(row["column_id"], set()).add(row["physical_path"])
    assert all(len(names) == 1 for names in by_id.values()), by_id
    assert {"a", "b", "b2", "c"} <= set(new.schema.names)


def test_a_refused_write_with_new_columns_changes_nothing(pair: tuple[Table, Table]) -> None:
    old, new = pair
    before = new.append(ROW.append_column("c", pa.array([1])), merge_schema=True)
    with pytest.raises(CommitConflictError):
        old.append(ROW.append_column("c", pa.array(["text"])), merge_schema=True)
    table = Catalog.load_path(old.location)
    assert table.version == before
    assert str(table.schema.columns[-1].type) == str(new.schema.columns[-1].type)
    assert table.count() == 1


def test_an_append_with_new_columns_and_concurrent_appends(pair: tuple[Table, Table]) -> None:
    """Commits that change no schema do not abort it."""
    old, new = pair
    new.append(ROW)
    new.alter().set_property("a", "b").commit()
    assert old.append(ROW.append_column("c", pa.array([5])), merge_schema=True) == 3
    assert [row["c"] for row in fresh(old)] == [None, 5]


@pytest.mark.parametrize(
    "theirs",
    [
        lambda t: t.alter().add_column("n", "int").commit(),
        lambda t: t.append(ROW),
        lambda t: t.overwrite(ROW),
    ],
)
def test_a_drop_succeeds_after_any_commit(
    theirs: Callable[[Table], int], pair: tuple[Table, Table]
) -> None:
    old, new = pair
    theirs(new)
    assert old.drop() == 2
    with pytest.raises(VersionedError, match="dropped"):
        new.append(ROW)


def test_an_overwrite_of_an_overwritten_table(pair: tuple[Table, Table]) -> None:
    """Its base had no rows, so it removes none, and the other overwrite's rows stay."""
    old, new = pair
    new.overwrite(ROW)
    assert old.overwrite(ROW) == 2
    assert len(fresh(old)) == 2


def test_a_batch_is_committed_once(pair: tuple[Table, Table]) -> None:
    old, new = pair

    def write(table: Table, application: str, batch: int) -> int:
        plan = table.transaction().plan_write(ROW.schema)
        records = plan.write(ROW.schema, iter(ROW.to_batches()), table.store)
        return table.transaction().commit_append(plan, records, batch=Batch(application, batch))

    assert write(new, "a", 7) == 1
    for batch in (7, 6):
        with pytest.raises(AlreadyExistsError, match=f"batch {batch} of a"):
            write(old, "a", batch)
    assert write(old, "b", 7) == 2
    new.log.write_checkpoint(new.refresh().state)
    with pytest.raises(AlreadyExistsError):
        write(Catalog.load_path(new.location), "a", 7)
    assert write(Catalog.load_path(new.location), "a", 8) == 3
    assert len(fresh(new)) == 3


@pytest.mark.parametrize("meanwhile", ["nothing", "append", "compact", "truncate", "rollback"])
def test_written_segments_are_committed_once(meanwhile: str, pair: tuple[Table, Table]) -> None:
    """A retried job does not add its written segments twice."""
    old, new = pair
    plan = old.transaction().plan_write(ROW.schema)
    records = plan.write(ROW.schema, iter(ROW.to_batches()), old.store)
    assert Catalog.load_path(old.location).transaction().commit_append(plan, records) == 1
    match meanwhile:
        case "append":
            new.append(ROW)
        case "compact":
            new.refresh().append(ROW)
            assert new.maintenance.compact().removed == 2
        case "truncate":
            new.refresh().truncate()
        case "rollback":
            new.refresh().truncate()
            new.rollback(1)
    before = fresh(old)
    for again in (old, Catalog.load_path(old.location)):
        with pytest.raises(AlreadyExistsError, match="committed already, by version 1 "):
            again.transaction().commit_append(plan, records)
        with pytest.raises(AlreadyExistsError, match="committed already, by version 1 "):
            again.transaction().commit_overwrite(plan, records)
    with pytest.raises(AlreadyExistsError, match="committed already, by version 1 "):
        again.transaction().commit_rewrite(plan, records, (), kind="merge")
    later = Catalog.load_path(old.location).transaction().plan_write(ROW.schema)
    with pytest.raises(AlreadyExistsError, match="committed already, by version 1 "):
        again.transaction().commit_append(later, records)
    with pytest.raises(AlreadyExistsError, match="twice in one commit"):
        again.transaction().commit_append(
            later, later.write(ROW.schema, ROW.to_batches(), old.store) * 2
        )
    assert fresh(old) == before


def test_segments_that_an_expired_version_added_are_refused(pair: tuple[Table, Table]) -> None:
    old, new = pair
    plan = old.transaction().plan_write(ROW.schema)
    records = plan.write(ROW.schema, iter(ROW.to_batches()), old.store)
    Catalog.load_path(old.location).transaction().commit_append(plan, records)
    new.refresh().append(ROW)
    new.maintenance.expire(timedelta(0), 1, dry_run=False, force=True)
    with pytest.raises(AlreadyExistsError, match="by a version that is expired"):
        Catalog.load_path(old.location).transaction().commit_append(plan, records)
    assert len(fresh(old)) == 2


def test_a_rewrite_with_an_expired_base_is_a_conflict() -> None:
    """The read rows can't be checked any more: a conflict, after which the write is run again."""
    folder, kinds = f"memory://{uuid4()}", pa.schema({"a": pa.int32()})
    new = Catalog.create_path(folder, "a INT", properties={"isolation": "serializable"})
    new.append(pa.table({"a": [1, 2]}, kinds))
    new.append(pa.table({"a": [7, 8]}, kinds))
    late = Catalog.load_path(folder)
    plan = late.transaction().plan_write(kinds)
    (path, _) = late.inspect.segments()["path"].to_pylist()
    new.delete([("a", "=", 7)])
    new.maintenance.expire(timedelta(0), 1, dry_run=False, force=True)
    with pytest.raises(CommitConflictError, match="whose base is expired"):
        late.delete([("a", "=", 1)])
    with pytest.raises(CommitConflictError, match="was expired meanwhile"):
        late.refresh().transaction().commit_rewrite(plan, (), [path], kind="delete")
    with pytest.raises(CommitConflictError, match="was expired meanwhile"):
        late.transaction().commit_overwrite_where(plan, (), [("a", "=", 1)])


def test_threads_that_read_the_same_files_of_memory() -> None:
    """Each reader has its own position in a file."""
    store = Catalog.create_path(f"memory://{uuid4()}", "id LONG").store
    with store.create("data/x") as sink:
        sink.write(b"abcdef")
    one, two = store.open("data/x"), store.open("data/x")
    assert one.read(2) == b"ab"
    assert two.read(3) == b"abc"
    assert one.read() == b"cdef"


def test_one_thread_wins_a_name_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"memory://{uuid4()}")
    real = MemoryFileSystem.exists

    def slow(self: Any, path: str) -> bool:
        found = bool(real(self, path))
        time.sleep(0.02)
        return found

    monkeypatch.setattr(MemoryFileSystem, "exists", slow)
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda n: store.put_if_absent("x", b"%d" % n), range(4)))
    assert replies.count(Put.WON) == 1
    assert store.read("x") == b"%d" % replies.index(Put.WON)


def test_threads_that_write_and_read_at_once() -> None:
    folder = f"memory://{uuid4()}"
    Catalog.create_path(folder, "id LONG")
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        seen = 0
        try:
            while not done.is_set():
                table = Catalog.load_path(folder)
                found = sorted(row["id"] for row in table.scan().to_arrow().to_pylist())
                assert len(found) == len(set(found)) == table.count() >= seen
                seen = len(found)
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    table = Catalog.load_path(folder)
    for number in range(40):
        table.append(pa.table({"id": [number]}))
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []
