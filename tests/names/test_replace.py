"""CREATE OR REPLACE is one commit of the table's log; the table keeps its history and its name."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, FaultyStore, Plan
from sealing import sealed
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
    Table,
)
from versioned_catalog.commit.operations import Create, Replace
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import Mode, Placement, create_at
from versioned_catalog.storage.local import LocalStore

INTS = pa.int32()
OLD = pa.table({"a": pa.array([1, 2], INTS), "b": ["x", None]})
NEW = pa.table({"b": pa.array([7], pa.int64())})
TABLE_LOG = "put n/t/_versioned/log/N.json"
NAMES = "put _versioned/log/N.json"
ENDED = ("drop", "purge")


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with the table n.t: (1, x), (2, null)."""
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a INT, b STRING", properties={"k": "v"}, comment="old")
    table.append(OLD)
    return tmp_path


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted((folder / "_versioned/log").iterdir())]


def rows(warehouse: Path, name: str = "n.t", **how: Any) -> list[dict[str, Any]]:
    return Catalog(warehouse).load_table(name).scan(**how).to_arrow().to_pylist()


def test_a_replacement_starts_a_new_incarnation(warehouse: Path) -> None:
    old = Catalog(warehouse).load_table("n.t")
    names = len(log(warehouse))
    table = Catalog(warehouse).replace_table(
        "n.t", "b LONG, c INT DEFAULT 5", partitioned_by=["bucket(4, b)"], properties={"l": "w"}
    )
    assert (table.version, table.count(), table.properties, table.comment) == (
        *(2, 0, {"l": "w"}),
        None,
    )
    assert [(c.id, c.name, c.physical_name) for c in table.schema.columns] == [
        (3, "b", "b"),  # only names of this incarnation are used
        (4, "c", "c"),
    ]
    assert table.schema.version == 1
    assert table.state.table_uuid != old.state.table_uuid == table.state.created_uuid
    assert table.partitioning == ["bucket(4, b)"]
    table.append(NEW)
    assert rows(warehouse) == [{"b": 7, "c": 5}]
    assert rows(warehouse, filters=[("b", "=", 7)]) == [{"b": 7, "c": 5}]
    assert rows(warehouse, version=1) == OLD.to_pylist()
    assert table.inspect.history()["operation"].to_pylist() == [
        "create",
        "append",
        "replace",
        "append",
    ]
    assert len(log(warehouse)) == names, "the warehouse's log has no new entry"


def test_the_entry_of_a_replacement(warehouse: Path) -> None:
    before = Catalog(warehouse).load_table("n.t").state
    Catalog(warehouse).replace_table("n.t", "b LONG", comment="new")
    entry = log(warehouse / "n/t")[2]
    assert (entry["operation"], entry["base_version"], entry["next_column_id"]) == ("replace", 1, 4)
    assert entry["table_uuid"] != before.table_uuid
    assert entry["schema"]["schema_version"] == 1
    assert entry["schema"]["columns"] == [{"id": 3, "name": "b", "type": "long", "nullable": True}]
    assert entry["comment"] == "new"
    assert not entry.keys() & {"added", "removed", "properties"}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_name_survives_repeated_replacements(checkpoint: bool, warehouse: Path) -> None:
    for number in range(3):
        table = Catalog(warehouse).replace_table("n.t", f"c{number} INT")
        if checkpoint:
            table.log.write_checkpoint(table.state)
            shutil.rmtree(warehouse / "n/t/_versioned/log")
        assert Catalog(warehouse).load_table("n.t").schema.names == [f"c{number}"]
    Catalog(warehouse).rename_table("n.t", "n.u")
    assert Catalog(warehouse).load_table("n.u").schema.names == ["c2"]
    Catalog(warehouse).drop_table("n.u")
    assert Catalog(warehouse).list_tables("n") == []
    with pytest.raises(NotFoundError):
        Catalog.load_path(warehouse / "n/t")


def test_a_name_does_not_lead_to_a_later_table_in_its_folder(warehouse: Path) -> None:
    table = Catalog(warehouse).replace_table("n.t", "c INT")
    table.drop()
    Catalog.create_path(table.location, "other INT")
    with pytest.raises(NotFoundError):
        Catalog(warehouse).load_table("n.t")
    with pytest.raises(NotFoundError, match="drop_table"):
        Catalog(warehouse).replace_table("n.t", "c INT", or_create=True)
    Catalog(warehouse).drop_table("n.t")
    assert Catalog.load_path(table.location).schema.names == ["other"]


def test_replace_needs_the_table_and_create_or_replace_its_namespace(warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    with pytest.raises(NotFoundError, match=r"there is no table n\.no"):
        catalog.replace_table("n.no", "a INT")
    with pytest.raises(NotFoundError, match="there is no namespace m"):
        catalog.replace_table("m.no", "a INT", or_create=True)
    assert catalog.replace_table("n.no", "a INT", or_create=True).version == 0
    assert catalog.replace_table("n.no", "b INT", or_create=True).version == 1
    assert catalog.load_table("n.no").schema.names == ["b"]
    with pytest.raises(InvalidRequestError):
        catalog.replace_table("n.t", "a NONSENSE")
    assert rows(warehouse) == OLD.to_pylist()


# Planned in one process, committed in another.


@dataclasses.dataclass(frozen=True)
class SerializedPlacement:
    """A placement that is sent to another process as JSON."""

    text: str

    @staticmethod
    def of(placement: Placement) -> SerializedPlacement:
        return SerializedPlacement(json.dumps(dataclasses.asdict(placement)))

    @property
    def placement(self) -> Placement:
        return Placement(**json.loads(self.text))


def operation() -> Create:
    return creation("b LONG, c INT DEFAULT 5", ["identity(b)"], {"l": "w"}, "new")


def planned(warehouse: Path, mode: Mode, name: str = "n.t") -> tuple[SerializedPlacement, Create]:
    """A planned creation with its rows written."""
    catalog = Catalog(warehouse)
    placement = catalog.plan_creation(name, mode)
    plan = catalog.plan_rows(name, placement, operation(), NEW.schema)
    records = plan.write(NEW.schema, iter(NEW.to_batches()))
    return SerializedPlacement.of(placement), dataclasses.replace(
        operation(), records=tuple(records)
    )


def commit(
    warehouse: Path | Catalog,
    sent: SerializedPlacement,
    creation_: Create,
    commit_id: str = "",
    name: str = "n.t",
) -> Table:
    catalog = warehouse if isinstance(warehouse, Catalog) else Catalog(warehouse)
    return catalog.commit_creation(name, sent.placement, creation_, commit_id or str(uuid4()))


@pytest.mark.parametrize(
    "mode, name", [("create", "n.v"), ("create or replace", "n.v"), ("replace", "n.t")]
)
def test_rows_are_part_of_the_same_commit(mode: Mode, name: str, warehouse: Path) -> None:
    versions = 2 if name == "n.t" else 0
    sent, creation_ = planned(warehouse, mode, name)
    assert name == "n.v" or rows(warehouse) == OLD.to_pylist(), "a plan changes nothing"
    table = commit(warehouse, sent, creation_, name=name)
    assert table.version == versions
    assert rows(warehouse, name) == [{"b": 7, "c": 5}]
    assert (table.properties, table.comment) == ({"l": "w"}, "new")
    assert table.state.table_uuid == sent.placement.table_uuid
    assert table.inspect.segments()["partition"].to_pylist() == [["7"]]


def test_planning_refuses_rows_that_do_not_fit(warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    placement = catalog.plan_creation("n.t", "replace")
    with pytest.raises(InvalidRequestError, match=r"n\.t"):
        catalog.plan_rows("n.t", placement, operation(), pa.schema({"no": INTS}))
    assert catalog.plan_rows("n.t", placement, operation()).spec.schema.ids == {3, 4}


def test_plan_table_takes_all_that_create_table_takes(warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    plan, creation_ = catalog.plan_table(
        "n.v",
        "b LONG",
        NEW.schema,
        partitioned_by=["bucket(2, b)"],
        properties={"sort_by": "b", "k": "v"},
        comment="hm",
    )
    records = plan.write(NEW.schema, iter(NEW.to_batches()))
    creation_ = dataclasses.replace(creation_, records=tuple(records))
    table = catalog.commit_table("n.v", plan.location, creation_, str(uuid4()))
    assert (table.partitioning, table.properties, table.comment) == (
        *(["bucket(2, b)"], {"sort_by": "b", "k": "v"}),
        "hm",
    )
    assert rows(warehouse, "n.v") == [{"b": 7}]


Action = Callable[[Catalog], object]
ACTIONS: dict[str, Action] = {
    "append": lambda c: c.load_table("n.t").append(OLD),
    "append that adds columns": lambda c: c.load_table("n.t").append(
        OLD.append_column("d", OLD["b"]), merge_schema=True
    ),
    "alter": lambda c: c.load_table("n.t").alter().drop_column("b").commit(),
    "alter back and forth": lambda c: (
        c.load_table("n.t").alter().add_column("d", "int").commit(),
        c.load_table("n.t").alter().drop_column("d").commit(),
    ),
    "alter of properties": lambda c: c.load_table("n.t").alter().set_property("k", "w").commit(),
    "overwrite": lambda c: c.load_table("n.t").overwrite(OLD),
    "replace": lambda c: c.replace_table("n.t", "z INT"),
    "drop": lambda c: c.drop_table("n.t"),
    "drop and create": lambda c: (c.drop_table("n.t"), c.create_table("n.t", "z INT")),
    "rename": lambda c: c.rename_table("n.t", "n.u"),
    "rename and create": lambda c: (c.rename_table("n.t", "n.u"), c.create_table("n.t", "z INT")),
}
HARMLESS = {"append", "alter of properties", "overwrite"}  # no conflict with rows of a replacement
ENDING = {"drop", "drop and create", "rename", "rename and create"}


@pytest.mark.parametrize("theirs", ACTIONS)
def test_commits_before_a_replacement(theirs: str, warehouse: Path) -> None:
    """A replacement without rows conflicts only with the end of the table or of its name."""
    sent = SerializedPlacement.of(Catalog(warehouse).plan_creation("n.t", "replace"))
    ACTIONS[theirs](Catalog(warehouse))
    if theirs in ENDING:
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(warehouse, sent, creation("c INT"))
        return
    before = max(
        c["id"] for e in log(warehouse / "n/t") if "schema" in e for c in e["schema"]["columns"]
    )
    table = commit(warehouse, sent, creation("c INT"))
    assert rows(warehouse) == []
    assert table.schema.names == ["c"]
    assert table.schema.columns[0].id > before
    table.append(pa.table({"c": pa.array([3], INTS)}))
    assert rows(warehouse) == [{"c": 3}]


@pytest.mark.parametrize("theirs", ACTIONS)
def test_commits_between_lookup_and_replacement(theirs: str, warehouse: Path) -> None:
    """The same between the lookup of the name and the commit; a rename is then ordered after it."""
    interruption = Interruption(TABLE_LOG, before=lambda: ACTIONS[theirs](Catalog(warehouse)))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interruption))
    if theirs.startswith("drop"):
        with pytest.raises(CommitConflictError, match="run it again"):
            catalog.replace_table("n.t", "c INT")
        return
    catalog.replace_table("n.t", "c INT")
    name = "n.u" if theirs.startswith("rename") else "n.t"
    assert Catalog(warehouse).load_table(name).schema.names == ["c"]
    assert rows(warehouse, name) == []


@pytest.mark.parametrize("mode", ["replace", "create or replace"])
@pytest.mark.parametrize("theirs", ACTIONS)
def test_commits_before_a_replacement_with_rows(theirs: str, mode: Mode, warehouse: Path) -> None:
    sent, creation_ = planned(warehouse, mode)
    ACTIONS[theirs](Catalog(warehouse))
    if theirs not in HARMLESS:
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(warehouse, sent, creation_)
        return
    commit(warehouse, sent, creation_)
    assert rows(warehouse) == [{"b": 7, "c": 5}]


@pytest.mark.parametrize("theirs", ACTIONS)
def test_create_or_replace_without_rows_always_commits(theirs: str, warehouse: Path) -> None:
    sent = SerializedPlacement.of(Catalog(warehouse).plan_creation("n.t", "create or replace"))
    ACTIONS[theirs](Catalog(warehouse))
    table = commit(warehouse, sent, creation("c INT"))
    table.append(pa.table({"c": pa.array([3], INTS)}))
    assert rows(warehouse) == [{"c": 3}]
    assert Catalog(warehouse).list_tables("n") == (["t", "u"] if "rename" in theirs else ["t"])


@pytest.mark.parametrize("at", ["put n/v/_versioned/log/N.json", NAMES])
@pytest.mark.parametrize("with_rows", [False, True])
def test_a_concurrently_created_table_is_a_conflict(
    with_rows: bool, at: str, warehouse: Path
) -> None:
    """CREATE OR REPLACE was planned without a table, and another writer creates one concurrently."""
    interruption = Interruption(at, before=lambda: Catalog(warehouse).create_table("n.v", "z INT"))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interruption))
    if with_rows:
        sent, creation_ = planned(warehouse, "create or replace", "n.v")
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(catalog, sent, creation_, name="n.v")
        assert Catalog(warehouse).load_table("n.v").schema.names == ["z"]
        return
    catalog.replace_table("n.v", "c INT", or_create=True)
    assert Catalog(warehouse).load_table("n.v").schema.names == ["c"]
    alive = []
    for folder in (warehouse / "n").iterdir():
        if (folder / "_versioned").exists() and log(folder)[-1]["operation"] not in ENDED:
            alive.append(folder)
    assert len(alive) == 2, "n.t and n.v, and no table without a name"


def test_a_replacement_by_path_is_bound_to_its_table(warehouse: Path) -> None:
    table = Catalog.load_path(warehouse / "n/t")
    replacement = Replace(creation("c INT"), table.state.created_uuid, table.version)
    table.drop()
    Catalog.create_path(table.location, "z INT")
    with pytest.raises(CommitConflictError, match="run it again"):
        create_at(table.store, replacement, "n.t", str(uuid4()))
    assert Catalog.load_path(table.location).schema.names == ["z"]


def test_a_fence_refuses_only_replacements_with_rows(warehouse: Path) -> None:
    sent, creation_ = planned(warehouse, "replace")
    bare = SerializedPlacement.of(Catalog(warehouse).plan_creation("n.t", "replace"))
    table = Catalog(warehouse).load_table("n.t")
    entry = log(warehouse / "n/t")[1]
    fence = {k: entry[k] for k in ("format", "features", "table_uuid", "time", "next_column_id")}
    fence |= {"version": 2, "base_version": 1, "commit_id": "f", "operation": "fence", "fence": 2}
    path = f"_versioned/log/{2:020d}.json"
    table.store.put_if_absent(path, sealed({**fence, "writer": "x"}).encode())
    with pytest.raises(CommitConflictError, match="fence 2"):
        commit(warehouse, sent, creation_)
    commit(warehouse, bare, operation())
    assert rows(warehouse) == []


def test_operations_planned_on_the_old_incarnation_are_refused(warehouse: Path) -> None:
    table = Catalog(warehouse).load_table("n.t")
    alteration = table.alter().drop_column("a")
    plan = table.transaction().plan_write(OLD.schema)
    records = plan.write(OLD.schema, iter(OLD.to_batches()))
    Catalog(warehouse).replace_table("n.t", "a INT, b STRING")
    for late in (
        alteration.commit,
        table.drop,
        lambda: table.transaction().commit_append(plan, records),
        lambda: table.transaction().commit_overwrite(plan, records),
    ):
        with pytest.raises(CommitConflictError, match="replaced"):
            late()
    assert rows(warehouse) == []


def test_drop_table_also_drops_a_concurrent_replacement(warehouse: Path) -> None:
    """DROP TABLE ends the table of that name, also a replacement committed concurrently."""
    interruption = Interruption(
        TABLE_LOG, before=lambda: Catalog.load_path(warehouse / "n/t") and replaced(warehouse)
    )
    catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interruption))
    catalog.drop_table("n.t")
    assert log(warehouse / "n/t")[-2]["operation"] == "replace"
    with pytest.raises(NotFoundError):
        Catalog.load_path(warehouse / "n/t")


def replaced(warehouse: Path) -> None:
    """Replace the table by a writer that looked up the name before it was dropped."""
    table = Catalog.load_path(warehouse / "n/t")
    placement = Placement(
        "replace", "n/t", str(uuid4()), table.version, 3, table.state.created_uuid
    )
    create_at(table.store, placement.operation(creation("c INT")), "n.t", str(uuid4()))


# A worker that dies during its commit: the same commit is requested again.


@pytest.mark.thorough
@pytest.mark.parametrize("mode, name", [("create", "n.v"), ("replace", "n.t")])
def test_a_retried_commit_takes_effect_once(
    mode: Mode, name: str, warehouse: Path, tmp_path_factory: Any
) -> None:
    """A fault at every storage call; then the same commit ID again, from serialized data."""
    sent, creation_ = planned(warehouse, mode, name)
    counted = Plan()
    whole = tmp_path_factory.mktemp("whole") / "w"
    shutil.copytree(warehouse, whole)
    commit(Catalog.over(FaultyStore(LocalStore(str(whole)), counted)), sent, creation_, "me", name)
    assert len(counted.calls) > 4
    for at in range(len(counted.calls)):
        for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
            copy = tmp_path_factory.mktemp("copy") / "w"
            shutil.copytree(warehouse, copy)
            catalog = Catalog.over(FaultyStore(LocalStore(str(copy)), Plan(at, fault)))
            try:
                commit(catalog, sent, creation_, "me", name)
            except StorageError:
                commit(copy, sent, creation_, "me", name)
            commit(copy, sent, creation_, "me", name)
            assert rows(copy, name) == [{"b": 7, "c": 5}], (counted.calls[at], fault)
            folder = copy / name.replace(".", "/")
            assert [e["commit_id"] for e in log(folder)].count("me") == 1
            assert Catalog(copy).list_tables("n") == sorted({"t", name[2:]})
            shutil.rmtree(copy)


def test_a_retry_after_a_rename(warehouse: Path) -> None:
    sent, creation_ = planned(warehouse, "create", "n.v")
    commit(warehouse, sent, creation_, "me", "n.v")
    Catalog(warehouse).rename_table("n.v", "n.w")
    commit(warehouse, sent, creation_, "me", "n.v")
    assert Catalog(warehouse).list_tables("n") == ["t", "w"]


def test_a_retry_after_a_replacement(warehouse: Path) -> None:
    sent, creation_ = planned(warehouse, "replace")
    commit(warehouse, sent, creation_, "me")
    Catalog(warehouse).replace_table("n.t", "z INT")
    commit(warehouse, sent, creation_, "me")
    assert Catalog(warehouse).load_table("n.t").schema.names == ["z"]


@pytest.mark.parametrize("half", [False, True])
def test_a_retry_after_a_drop(half: bool, warehouse: Path) -> None:
    """A dropped name is not restored to point to a dropped table."""
    sent, creation_ = planned(warehouse, "create", "n.v")
    commit(warehouse, sent, creation_, "me", "n.v")
    dropping = Catalog(warehouse)

    def retry() -> None:
        commit(warehouse, sent, creation_, "me", "n.v")

    if half:
        last = Interruption("put n/v/_versioned/log/N.json", before=retry)
        dropping = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), last))
    dropping.drop_table("n.v")
    retry()
    assert Catalog(warehouse).list_tables("n") == ["t"]
    Catalog(warehouse).create_table("n.v", "a INT")
    retry()
    assert Catalog(warehouse).load_table("n.v").schema.names == ["a"]


def test_a_retry_after_another_table_took_the_name(warehouse: Path) -> None:
    """A creation that finds its name taken drops its table; retried, it gets no name, free or not."""
    sent, creation_ = planned(warehouse, "create", "n.v")
    rival = Interruption(NAMES, before=lambda: Catalog(warehouse).create_table("n.v", "a INT"))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), rival))
    with pytest.raises(AlreadyExistsError):
        commit(catalog, sent, creation_, "me", "n.v")
    Catalog(warehouse).rename_table("n.v", "n.w")
    with pytest.raises(NotFoundError):
        commit(warehouse, sent, creation_, "me", "n.v")
    assert Catalog(warehouse).list_tables("n") == ["t", "w"]


def test_two_concurrent_processes_with_one_commit_id(warehouse: Path) -> None:
    """The first process is slow, not dead."""
    sent, creation_ = planned(warehouse, "create", "n.v")
    for at in ("put n/v/_versioned/log/N.json", NAMES):
        interruption = Interruption(
            at, before=lambda: commit(warehouse, sent, creation_, "me", "n.v")
        )
        catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interruption))
        assert commit(catalog, sent, creation_, "me", "n.v").version == 0
        assert rows(warehouse, "n.v") == [{"b": 7, "c": 5}]


# Invalid stored entries.


@pytest.mark.parametrize(
    "change",
    [
        lambda entry, first: entry.update(table_uuid=first["table_uuid"]),
        lambda entry, first: entry.pop("schema"),
        lambda entry, first: entry.update(next_column_id=1),
        lambda entry, first: entry["schema"].update(schema_version=0),
    ],
)
def test_invalid_replacement_entries_are_corrupt(
    change: Callable[..., object], warehouse: Path
) -> None:
    Catalog(warehouse).replace_table("n.t", "c INT")
    path = warehouse / "n/t/_versioned/log" / f"{2:020d}.json"
    entry = json.loads(path.read_text())
    change(entry, log(warehouse / "n/t")[0])
    path.write_text(sealed(entry))
    with pytest.raises(CorruptTableError):
        Catalog(warehouse).load_table("n.t")


def test_a_log_does_not_begin_with_a_replacement(warehouse: Path) -> None:
    path = warehouse / "n/t/_versioned/log" / f"{0:020d}.json"
    entry = json.loads(path.read_text())
    path.write_text(sealed(entry | {"operation": "replace"}))
    with pytest.raises(CorruptTableError, match="does not begin"):
        Catalog(warehouse).load_table("n.t")


def test_a_name_that_is_taken_is_refused(warehouse: Path) -> None:
    with pytest.raises(AlreadyExistsError):
        Catalog(warehouse).plan_creation("n.t")
