"""A fault before and after every storage call of every write to a table with a primary key.

The table has the old state or the new, never half; a retry works, and so does the next operation.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.store import Fault, Plan
from faults.test_crashes import LOAD, LOAD_TABLE, assert_clean, faults_at, run, run_killed
from pairwise import matrix, most_at_night, values
from versioned_catalog import Catalog
from versioned_catalog.log import marks

Operation = Callable[[Catalog], object]


def rows(*given: tuple[int, int, int | None], names: str = "gkn") -> pa.Table:
    columns = zip(*given, strict=True)
    return pa.table([pa.array(list(one), pa.int32()) for one in columns], list(names))


def upsert(catalog: Catalog) -> object:
    return catalog.load_table("n.t").upsert(rows((0, 1, 100), (0, 9, 101)))


def partial_upsert(catalog: Catalog) -> object:
    return catalog.load_table("n.t").upsert(rows((0, 1, 100), (0, 9, 101)), partial=True)


def delete(catalog: Catalog) -> object:
    return catalog.load_table("n.t").delete([("n", ">=", 30)])


def update(catalog: Catalog) -> object:
    return catalog.load_table("n.t").update({"m": 5}, [("n", "<", 30)])


def overwrite_where(catalog: Catalog) -> object:
    table = catalog.load_table("n.t")
    return table.overwrite_where(rows((0, 1, 100), (0, 9, 101)), [("n", ">=", 30)])


def truncate(catalog: Catalog) -> object:
    return catalog.load_table("n.t").truncate()


def rollback(catalog: Catalog) -> object:
    return catalog.load_table("n.t").rollback(2)


def compact(catalog: Catalog) -> object:
    return catalog.load_table("n.t").maintenance.compact()


def compact_full(catalog: Catalog) -> object:
    return catalog.load_table("n.t").maintenance.compact(strategy="full")


def compact_paths(catalog: Catalog) -> object:
    table = catalog.load_table("n.t")
    return table.maintenance.compact(paths=table.state.segments.paths[-1:])


def resolve(catalog: Catalog) -> object:
    return catalog.load_table("n.t").maintenance.resolve()


def resolve_to_files(catalog: Catalog) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "INLINE_BYTES", 0)
        return resolve(catalog)


OPERATIONS: list[Operation] = [
    upsert,
    partial_upsert,
    delete,
    update,
    overwrite_where,
    truncate,
    rollback,
    compact,
    compact_full,
    compact_paths,
    resolve,
    resolve_to_files,
]
COMMIT = {"put n/t/_versioned/log/N.json"}
WRITE = {"create n/t/data/N-ID.parquet", *COMMIT}
READ = {*LOAD, *LOAD_TABLE, "now n/t/", "read n/t/_versioned/checkpoint/N.parquet"}
KEYS = {"open n/t/data/N-ID.parquet"}
COPY = {*KEYS, *WRITE}
READS = ("read", "list", "open")
EXPECTED: dict[str, set[str]] = {
    "upsert": READ | WRITE,
    "partial_upsert": READ | WRITE,
    "resolve": READ | KEYS | COMMIT,
    "resolve_to_files": READ | KEYS | {"create n/t/_versioned/marks/N-ID.puffin"} | COMMIT,
    "truncate": READ | COMMIT,
    "rollback": READ | COMMIT | {"list n/t/_versioned/checkpoint"},
}


def prepare(folder: Path) -> None:
    """A table with rows, tombstones and partial rows, some of them compacted, and two checkpoints."""
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "g INT, k LONG, n LONG, m INT", primary_key=["g", "k"])
    table.upsert(rows((0, 1, 10), (0, 2, 20), (1, 1, 30)))
    table.upsert(rows((0, 2, 21), (0, 3, 30)))
    table.delete([("n", "=", 21)])
    table.log.write_checkpoint(table.state)
    table.maintenance.compact()
    table.upsert(rows((0, 1, 11), (0, 2, 22)), partial=True)
    table.alter().drop_column("m").add_column("m", "int", default=7).commit()
    table.log.write_checkpoint(table.state)
    table.upsert(rows((0, 3, 31, 1), (1, 2, 40, 2), names="gknm"))
    table.delete([("n", "=", 22)])
    table.upsert(rows((5, 1, 12), (5, 3, 13)))
    table.upsert(rows((5, 1, 14), (5, 2, 15)))


def seen(folder: Path) -> dict[str, Any]:
    """Everything that a reader can see."""
    table = Catalog(folder).load_table("n.t")
    versions = {2, 5, table.version - 1, table.version}
    return {
        "version": table.version,
        "history": table.inspect.history()["operation"].to_pylist(),
        "segments": table.state.segments.count,
        "rows": {v: rows_at(table, v) for v in versions},
    }


def rows_at(table: Any, version: int) -> list[Any]:
    found: list[Any] = table.scan(version=version).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["g"], row["k"]))


def retry_and_next_work(folder: Path, operation: Operation, after: dict[str, Any]) -> None:
    """A retry gives the result of the operation, and the next operation continues from there."""
    operation(Catalog(folder))
    table = Catalog(folder).load_table("n.t")
    found = rows_at(table, table.version)
    assert found == after["rows"][after["version"]]
    table.upsert(rows((7, 7, 7)))
    table.upsert(rows((7, 7, 8)), partial=True)
    table.delete([("n", "=", 8)])
    table.maintenance.compact(strategy="full")
    assert rows_at(Catalog(folder).load_table("n.t"), table.version) == found
    assert_clean(folder)
    assert Catalog(folder).load_table("n.t").maintenance.verify(deep=True).findings == ()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize(
    "operation",
    most_at_night({upsert, delete, overwrite_where, compact, resolve, rollback}, OPERATIONS),
    ids=lambda o: o.__name__,
)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call(
    operation: Operation, every: bool, prepared: Path, tmp_path: Path
) -> None:
    recorded, whole = Plan(), tmp_path / "whole"
    shutil.copytree(prepared, whole)
    assert run(whole, operation, recorded)
    expected = EXPECTED.get(operation.__name__, READ | COPY)
    assert set(recorded.calls) == expected | set(recorded.calls) & READ, "a call without a case"
    before, after = seen(prepared), seen(whole)
    assert before != after
    for at, fault in faults_at(recorded.calls, every):
        call, copy = recorded.calls[at], tmp_path / f"{at}-{fault.name}"
        shutil.copytree(prepared, copy)
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation, Plan(at, fault))
        found, where = seen(copy), f"{call}, {fault.value}"
        assert found in (before, after), where
        assert not acknowledged or found == after, where
        # If a call that writes nothing fails, the table is unchanged.
        if operation is not rollback and (every or not call.startswith(READS)):
            retry_and_next_work(copy, operation, after)
        shutil.rmtree(copy)


LOST = [
    (operation, fault)
    for operation in OPERATIONS
    for fault in (Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN)
]


@pytest.mark.parametrize(
    "operation, fault", matrix(LOST, lambda o, f: f"{o.__name__}-{f.name}", values)
)
def test_a_lost_reply_is_success_once(
    operation: Operation, fault: Fault, prepared: Path, tmp_path: Path
) -> None:
    for folder in ("whole", "lost"):
        shutil.copytree(prepared, tmp_path / folder)
    assert run(tmp_path / "whole", operation, Plan())
    assert run(tmp_path / "lost", operation, Plan(0, fault, only="put n/t"))
    assert seen(tmp_path / "lost") == seen(tmp_path / "whole")


@pytest.mark.thorough
def test_compactions_change_no_rows(prepared: Path, tmp_path: Path) -> None:
    for operation in (compact, compact_full, compact_paths, resolve):
        copy = tmp_path / operation.__name__
        shutil.copytree(prepared, copy)
        before = seen(copy)
        operation(Catalog(copy))
        after = seen(copy)
        newest = before["rows"][before["version"]]
        assert after["rows"][after["version"]] == after["rows"][before["version"]] == newest
