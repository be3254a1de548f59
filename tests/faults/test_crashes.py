"""A fault before and after every storage call of every operation leaves the old state or the new."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from faults.store import Fault, FaultyStore, Plan
from marking import mark
from pairwise import most_at_night
from versioned_catalog import Catalog, NotFoundError, Table, VersionedError
from versioned_catalog.commit.table_handle import silent
from versioned_catalog.log import marks
from versioned_catalog.maintain.vacuum import vacuum_dropped as vacuum_of_dropped
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import timeline_at
from versioned_catalog.storage.local import LocalStore

ROWS = pa.table({"id": pa.array([7, 8], pa.int64()), "b": ["x", None]})


def append(catalog: Catalog) -> None:
    catalog.load_table("n.t").append(ROWS)


def move_consumer(catalog: Catalog) -> None:
    catalog.load_table("n.t").move_consumer("c", 1)


def append_merging(catalog: Catalog) -> None:
    catalog.load_table("n.t").append(ROWS.append_column("c", ROWS["b"]), merge_schema=True)


def overwrite(catalog: Catalog) -> None:
    catalog.load_table("n.t").overwrite(ROWS)


def overwrite_where(catalog: Catalog) -> None:
    catalog.load_table("n.t").overwrite_where(ROWS, [("id", "=", 1)])


def delete(catalog: Catalog) -> None:
    catalog.load_table("n.t").delete([("id", "=", 1)])


def delete_whole(catalog: Catalog) -> None:
    catalog.load_table("n.t").transaction().delete_whole([("id", ">", 10)])


def update(catalog: Catalog) -> None:
    catalog.load_table("n.t").update({"b": "y"}, [("id", "in", [1, 10])])


def mark_rows(catalog: Catalog) -> None:
    table = catalog.load_table("n.t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "INLINE_BYTES", 0)
        mark(table, {table.state.segments.paths[0]: [1], table.state.segments.paths[1]: [0]})


def rollback(catalog: Catalog) -> None:
    catalog.load_table("n.t").rollback(1)


def set_tag(catalog: Catalog) -> None:
    catalog.load_table("n.t").set_tag("x", 1)


def drop_tag(catalog: Catalog) -> None:
    catalog.load_table("n.t").drop_tag("there")


def alter(catalog: Catalog) -> None:
    catalog.load_table("n.t").alter().drop_column("b").add_column("b", "int", default=5).commit()


def drop(catalog: Catalog) -> None:
    catalog.drop_table("n.t")


def undrop(catalog: Catalog) -> None:
    catalog.undrop("n.d")


def rename(catalog: Catalog) -> None:
    catalog.rename_table("n.t", "n.u")


def create(catalog: Catalog) -> None:
    catalog.create_table("n.v", "x INT")


def replace(catalog: Catalog) -> None:
    catalog.replace_table("n.t", "id LONG, z INT")


def replace_with_rows(catalog: Catalog) -> None:
    operation = creation("id LONG, b STRING")
    placement = catalog.plan_creation("n.t", "replace")
    plan = catalog.plan_rows("n.t", placement, operation, ROWS.schema)
    store = catalog._store.child(placement.folder)
    records = plan.write(ROWS.schema, iter(ROWS.to_batches()), store)
    with_rows = dataclasses.replace(operation, records=tuple(records))
    catalog.commit_creation("n.t", placement, with_rows, str(uuid4()))


def create_namespace(catalog: Catalog) -> None:
    catalog.create_namespace("m", properties={"k": "v"})


def alter_namespace(catalog: Catalog) -> None:
    catalog.alter_namespace("n", {"k": "v"})


def drop_namespace(catalog: Catalog) -> None:
    catalog.drop_namespace("n", cascade=True)


def create_view(catalog: Catalog) -> None:
    catalog.create_view("n.w", "SELECT b FROM t", "b STRING", reads={"n.t": ["b"], "n.ids": []})


def replace_view(catalog: Catalog) -> None:
    catalog.create_view("n.IDS", "SELECT 1 AS x", "x INT", or_replace=True)


def rename_view(catalog: Catalog) -> None:
    catalog.rename_view("n.ids", "n.w")


def drop_view(catalog: Catalog) -> None:
    catalog.drop_view("n.ids")


def expire(catalog: Catalog) -> None:
    time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
    catalog.load_table("n.t").maintenance.expire(
        timedelta(0), keep_last=2, dry_run=False, force=True
    )


def vacuum(catalog: Catalog) -> None:
    time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
    catalog.load_table("n.t").maintenance.vacuum(timedelta(0), dry_run=False, force=True)


def vacuum_dropped(catalog: Catalog) -> None:
    time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
    folder = catalog._store.child("n/d")
    loaded = timeline_at(folder).load()
    assert loaded.state is not None
    clean = {"dry_run": False, "progress": silent}
    vacuum_of_dropped(timeline_at(folder), loaded.state, "d", timedelta(0), **clean)


def checkpoint(catalog: Catalog) -> None:
    table = catalog.load_table("n.t")
    table.log.write_checkpoint(table.state)


OPERATIONS = [
    append,
    append_merging,
    overwrite,
    overwrite_where,
    delete,
    delete_whole,
    update,
    mark_rows,
    rollback,
    set_tag,
    move_consumer,
    drop_tag,
    alter,
    drop,
    undrop,
    rename,
    create,
    replace,
    replace_with_rows,
    create_namespace,
    alter_namespace,
    drop_namespace,
    create_view,
    replace_view,
    rename_view,
    drop_view,
    expire,
    vacuum,
    vacuum_dropped,
    checkpoint,
]

LOAD = [
    "read _versioned/last_checkpoint.json",
    "read _versioned/log/N.json",
    "list _versioned/checkpoint",
]
LOAD_TABLE = ["read n/t/_versioned/last_checkpoint.json", "read n/t/_versioned/log/N.json"]
OLD = [*LOAD_TABLE, "list n/t/_versioned/checkpoint"]
COPY = ["open n/t/data/N-ID.parquet"]
WRITE = ["create n/t/data/N-ID.parquet", "put n/t/_versioned/log/N.json"]
MARK = "create n/t/_versioned/marks/N-ID.puffin"
NAME = ["put _versioned/log/N.json"]
PUBLISHED = ["list n/t/iceberg/metadata", "read n/t/iceberg/metadata/version-hint.text"]

CLOCK = {"now ", "now n/t/", "now n/v/"}
EXPECTED: dict[str, set[str]] = {
    "append": {*LOAD, *LOAD_TABLE, *WRITE},
    "append_merging": {*LOAD, *LOAD_TABLE, *WRITE},
    "overwrite": {*LOAD, *LOAD_TABLE, *WRITE},
    "overwrite_where": {*LOAD, *LOAD_TABLE, *COPY, *WRITE},
    "delete": {*LOAD, *LOAD_TABLE, *COPY, *WRITE},
    "delete_whole": {*LOAD, *LOAD_TABLE, "put n/t/_versioned/log/N.json"},
    "update": {*LOAD, *LOAD_TABLE, *COPY, *WRITE},
    "mark_rows": {*LOAD, *LOAD_TABLE, MARK, "put n/t/_versioned/log/N.json"},
    "rollback": {*LOAD, *OLD, "put n/t/_versioned/log/N.json"},
    "set_tag": {*LOAD, *OLD, "put n/t/_versioned/log/N.json"},
    "move_consumer": {*LOAD, *LOAD_TABLE, "now n/t/", "put n/t/_versioned/log/N.json"},
    "drop_tag": {*LOAD, *LOAD_TABLE, "put n/t/_versioned/log/N.json"},
    "alter": {*LOAD, *LOAD_TABLE, "put n/t/_versioned/log/N.json"},
    "drop": {*LOAD, *LOAD_TABLE, *NAME, "put n/t/_versioned/log/N.json"},
    "undrop": {
        *LOAD,
        *NAME,
        "read n/d/_versioned/last_checkpoint.json",
        "read n/d/_versioned/log/N.json",
        "list n/d/_versioned/checkpoint",
        "now n/d/",
        "put n/d/_versioned/log/N.json",
    },
    "rename": {*LOAD, *NAME},
    "create": {
        *LOAD,
        *NAME,
        "read n/v/_versioned/last_checkpoint.json",
        "read n/v/_versioned/log/N.json",
        "put n/v/_versioned/log/N.json",
    },
    "replace": {*LOAD, *LOAD_TABLE, "put n/t/_versioned/log/N.json", *PUBLISHED},
    "replace_with_rows": {*LOAD, *LOAD_TABLE, *WRITE, *PUBLISHED},
    "create_namespace": {*LOAD, *NAME},
    "alter_namespace": {*LOAD, *NAME},
    "drop_namespace": {*LOAD, *NAME, *LOAD_TABLE, "put n/t/_versioned/log/N.json"},
    "create_view": {*LOAD, *LOAD_TABLE, *NAME},
    "replace_view": {*LOAD, *NAME},
    "rename_view": {*LOAD, *NAME},
    "drop_view": {*LOAD, *NAME},
    "checkpoint": {
        *LOAD,
        *LOAD_TABLE,
        "overwrite n/t/_versioned/checkpoint/N.parquet",
        "overwrite n/t/_versioned/last_checkpoint.json",
        "files n/t/_versioned/checkpoint",
        "delete n/t/_versioned/checkpoint/N.parquet",
        "read n/t/_versioned/checkpoint/N.parquet",
    },
}
LISTED = ["data", "_versioned", "_versioned/log", "_versioned/checkpoint", "_versioned/kept"]
LISTED += [f"_versioned/{name}" for name in ("manifest", "imports", "marks", "delta")]
EXPECTED["expire"] = {
    *LOAD,
    *OLD,
    "now n/t/",
    "files n/t/_versioned/log",
    "read n/t/_versioned/kept/N.parquet",
    "overwrite n/t/_versioned/kept/N.parquet",
    "put n/t/_versioned/log/N.json",
    "overwrite n/t/_versioned/log/N.json",
}
EXPECTED["vacuum"] = {
    *LOAD,
    *OLD,
    "now n/t/",
    *(f"files n/t/{folder}" for folder in LISTED),
    "walk n/t/_versioned/branch",
    *PUBLISHED,
    "read n/t/_versioned/kept/N.parquet",
    "put n/t/_versioned/log/N.json",
    "delete n/t/data/N-ID.parquet",
    "delete n/t/data/.x.tmp",
    "delete n/t/_versioned/marks/N-ID.puffin",
    "delete n/t/_versioned/kept/N.parquet",
    "delete n/t/_versioned/checkpoint/N.parquet",
}
EXPECTED["vacuum_dropped"] = {
    "read n/d/_versioned/last_checkpoint.json",
    "read n/d/_versioned/log/N.json",
    "list n/d/_versioned/checkpoint",
    "now n/d/",
    *(f"files n/d/{folder}" for folder in LISTED),
    "files n/d/iceberg/metadata",
    "walk n/d/_versioned/branch",
    "put n/d/_versioned/log/N.json",
    "overwrite n/d/_versioned/kept/N.parquet",
    "overwrite n/d/_versioned/log/N.json",
    "delete n/d/data/N-ID.parquet",
}
WITHOUT_CHECKPOINTS = {
    *("rename", "create", "create_namespace", "alter_namespace", "vacuum_dropped", "undrop"),
}
for _name in EXPECTED.keys() - WITHOUT_CHECKPOINTS:
    EXPECTED[_name].add("read n/t/_versioned/checkpoint/N.parquet")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


def prepare(folder: Path) -> None:
    """Create a warehouse with a table of some history and two checkpoints."""
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id LONG, b STRING")
    for ids in ([0, 1], [10], [20]):
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "b": pa.nulls(len(ids))}))
        table.log.write_checkpoint(table.state)
    table.set_tag("there", 2)
    catalog.create_table("n.d", "id LONG").append(pa.table({"id": pa.array([1], pa.int64())}))
    catalog.drop_table("n.d")
    catalog.create_view("n.ids", "SELECT id FROM t", "id LONG", reads={"n.t": ["id"]})


@pytest.fixture(scope="module")
def expired(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expired") / "w"
    shutil.copytree(prepared, folder)
    leave_orphan_files(folder)
    return folder


def leave_orphan_files(folder: Path) -> None:
    """Expire old versions of the table, and leave the orphan files of dead writers."""
    table = Catalog(folder).load_table("n.t")
    for _ in range(2):
        table.transaction().plan_write(ROWS.schema).write(
            ROWS.schema, iter(ROWS.to_batches()), table.store
        )
        table.overwrite(ROWS)
        time.sleep(0.015)
        table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    (folder / "n/t/data/.x.tmp").write_bytes(b"x")
    (folder / "n/t/_versioned/marks").mkdir()
    (folder / f"n/t/_versioned/marks/0-{uuid4().hex}.puffin").write_bytes(b"x")


def readable(table: Table) -> list[int]:
    """The versions of a partly expired table that can be read."""
    versions: list[int] = (
        table.inspect.snapshots()["version"].to_pylist() if table.state.floor else []
    )
    return versions


def seen(folder: Path) -> dict[str, Any]:
    """Everything that a reader can see of a warehouse."""
    return seen_in(Catalog(folder))


def seen_in(catalog: Catalog) -> dict[str, Any]:
    """Everything that a reader can see of a table."""
    names = catalog.list_namespaces()
    found: dict[str, Any] = {"namespaces": [(n, catalog.namespace_properties(n)) for n in names]}
    if "n" in names:
        found["views"] = [catalog.load_view(("n", name)) for name in catalog.list_views("n")]
    for name in catalog.list_tables("n") if "n" in names else ():
        table = catalog.load_table(("n", name))
        found[name] = (
            table.version,
            [(c.id, c.name, c.type) for c in table.schema.columns],
            table.scan().to_arrow().to_pylist(),
            table.inspect.history()["operation"].to_pylist()[table.state.floor :],
            table.tags,
            {name: one.version for name, one in table.state.consumers.items()},
            {v: table.scan(version=v).to_arrow().num_rows for v in readable(table)},
        )
    return found


READING = ("read", "list", "files", "now", "open")
"""How calls that write nothing begin."""


def faults_at(calls: Sequence[str], every: bool) -> Iterator[tuple[int, Fault]]:
    """The faults to try, and the position of the call that each one hits.

    Unless ``every``, calls that write nothing fail once for each name, and others the first and the last
    time, and nothing is killed before a write: that leaves the files that a kill after the write before
    it leaves.
    """
    for at, call in enumerate(calls):
        if every:
            tried = [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.KILL_BEFORE, Fault.KILL_AFTER]
        elif call.startswith(READING):
            tried = [] if call in calls[:at] else [Fault.FAIL_BEFORE]
        elif call in calls[:at] and call in calls[at + 1 :]:
            tried = []
        else:
            tried = [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.KILL_AFTER]
        yield from ((at, fault) for fault in tried)


def run(folder: Path, operation: Callable[[Catalog], None], plan: Plan) -> bool:
    """Run the operation, and return whether it was acknowledged."""
    try:
        operation(Catalog.over(FaultyStore(LocalStore(str(folder)), plan)))
    except VersionedError:
        return False
    return True


def run_killed(folder: Path, operation: Callable[[Catalog], None], plan: Plan) -> bool:
    """Run the operation in a process of its own, which the plan may kill."""
    child = os.fork()
    if child == 0:
        os._exit(0 if run(folder, operation, plan) else 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def assert_clean(folder: Path) -> None:
    """Check that logs, checkpoints and segments agree, also of dropped tables."""
    for table in (folder / "n").iterdir():
        assert Catalog.verify_path(table, every_version=True).findings == ()


def next_commit_works(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    next_works(lambda: Catalog(folder), after)
    assert_clean(folder)


def next_works(again: Callable[[], Catalog], after: dict[str, Any]) -> None:
    """Commit to the tables that exist, loaded anew."""
    catalog = again()
    catalog.create_namespace("n", if_not_exists=True)
    for name in catalog.list_tables("n"):
        table = catalog.load_table(("n", name))
        rows = table.count()
        table.alter().add_column("later", "int", default=1).commit()
        table.append(pa.table({"later": pa.array([2], pa.int32())}))
        assert again().load_table(("n", name)).count() == rows + 1
    if "v" in after and "v" not in catalog.list_tables("n"):
        catalog.create_table("n.v", "x INT")
    if "t" not in catalog.list_tables("n"):
        catalog.create_table("n.t", "again INT").append(
            pa.table({"again": pa.array([1], pa.int32())})
        )
        assert again().load_table("n.t").scan().to_arrow().to_pylist() == [{"again": 1}]


OF_EACH_KIND = {
    *(append, overwrite_where, delete, mark_rows, rollback, alter, drop, create, expire, vacuum),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "operation", most_at_night(OF_EACH_KIND, OPERATIONS), ids=lambda o: o.__name__
)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call(
    operation: Callable[[Catalog], None],
    every: bool,
    prepared: Path,
    expired: Path,
    tmp_path: Path,
) -> None:
    prepared = expired if operation is vacuum else prepared
    recorded = Plan()
    whole = tmp_path / "whole"
    shutil.copytree(prepared, whole)
    assert run(whole, operation, recorded)
    assert set(recorded.calls) <= EXPECTED[operation.__name__] | CLOCK, (
        "a storage call without a case"
    )
    before, after = seen(prepared), seen(whole)
    assert before != after or operation in (checkpoint, vacuum_dropped)
    for at, fault in faults_at(recorded.calls, every):
        copy = tmp_path / f"{at}-{fault.name}"
        shutil.copytree(prepared, copy)
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation, Plan(at, fault))
        found = seen(copy)
        where = f"{recorded.calls[at]}, {fault.value}"
        assert found in (before, after), where
        assert not acknowledged or found == after, where
        next_commit_works(copy, before, after)
        shutil.rmtree(copy)


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize(
    "operation",
    [append, overwrite, alter, delete, update, mark_rows, rollback, set_tag],
    ids=lambda o: o.__name__,
)
def test_a_lost_reply_is_success_once(
    operation: Callable[[Catalog], None], fault: Fault, prepared: Path, tmp_path: Path
) -> None:
    for folder in ("whole", "lost"):
        shutil.copytree(prepared, tmp_path / folder)
    assert run(tmp_path / "whole", operation, Plan())
    assert run(tmp_path / "lost", operation, Plan(0, fault, only="put n/t"))
    assert seen(tmp_path / "lost") == seen(tmp_path / "whole")


def test_an_unknown_outcome_is_reported_and_resolved(prepared: Path, tmp_path: Path) -> None:
    from versioned_catalog import CommitOutcomeUnknown

    folder = tmp_path / "w"
    shutil.copytree(prepared, folder)
    for fault, landed in ((Fault.LOST_REQUEST, False), (Fault.LOST_REPLY, True)):
        plan = Plan(0, fault, times=1000, only="put n/t")
        catalog = Catalog.over(FaultyStore(LocalStore(str(folder)), plan))
        table = catalog.load_table("n.t")
        base = table.version
        if landed:
            table.append(ROWS)  # put again until the name is taken, then the entry is read back
            assert table.version == base + 1
            continue
        with pytest.raises(CommitOutcomeUnknown) as caught:
            table.append(ROWS)
        assert caught.value.commit_id
        assert table.find_commit(caught.value.commit_id, base) is None


def test_another_writer_takes_the_version_while_the_outcome_is_unknown(
    prepared: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "w"
    shutil.copytree(prepared, folder)
    plan = Plan(0, Fault.LOST_REQUEST, only="put n/t")
    table = Catalog.over(FaultyStore(LocalStore(str(folder)), plan)).load_table("n.t")
    rival = Catalog(folder).load_table("n.t")
    rival.append(ROWS)
    table.append(ROWS)
    assert Catalog(folder).load_table("n.t").count() == 8


@pytest.mark.thorough
@pytest.mark.parametrize("call", ["link", "fsync", "unlink", "replace"])
def test_faults_of_the_disk(
    call: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w"
    shutil.copytree(prepared, folder)
    before = seen(folder)
    real = getattr(os, call)
    for at in range(12):
        copy = tmp_path / f"{call}{at}"
        shutil.copytree(folder, copy)
        count = iter(range(1000))

        def failing(*given: Any, at: int = at, count: Any = count, **more: Any) -> Any:
            if next(count) == at:
                raise OSError(28, "No space left on device")
            return real(*given, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            done = run(copy, append, Plan())
        found = seen(copy)
        assert found["t"][0] - before["t"][0] in (0, 1)
        assert len(found["t"][2]) == 4 + 2 * (found["t"][0] - before["t"][0])
        assert not done or found["t"][0] == before["t"][0] + 1
        next_commit_works(copy, before, before)


def test_a_disk_without_hard_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: Any) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    with pytest.raises(VersionedError, match="no hard links"):
        Catalog.create_path(tmp_path / "t", "a INT")


def test_a_partial_entry_is_never_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry is complete before it gets its name."""
    table = Catalog.create_path(tmp_path / "t", "a INT")
    log = tmp_path / "t/_versioned/log"
    sizes: list[int] = []
    real = os.link

    def looking(source: str, target: str) -> None:
        assert not os.path.exists(target)
        sizes.append(os.path.getsize(source))
        real(source, target)

    monkeypatch.setattr(os, "link", looking)
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    assert sizes == [os.path.getsize(log / f"{1:020d}.json")]
    assert sorted(os.listdir(log)) == [f"{n:020d}.json" for n in range(2)]


def test_a_missing_table_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        Catalog.load_path(tmp_path / "none")
