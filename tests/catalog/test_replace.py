"""CREATE OR REPLACE: one commit of the table's log; its history and its name stay."""

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
from versioned_catalog.catalog.declaration import creation
from versioned_catalog.catalog.locations import Mode, Placement, create_at
from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.storage.local import LocalStore

INTS = pa.int32()
OLD = pa.table({"a": pa.array([1, 2], INTS), "b": ["x", None]})
NEW = pa.table({"b": pa.array([7], pa.int64())})
TABLE_LOG = "put n/t/_versioned/log/N.json"
NAMES = "put _versioned/log/N.json"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A warehouse with the table n.t: (1, x), (2, null)."""
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a INT, b STRING", properties={"k": "v"}, comment="old")
    table.append(OLD)
    return tmp_path


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted((folder / "_versioned/log").iterdir())]


def rows(place: Path, name: str = "n.t", **how: Any) -> list[dict[str, Any]]:
    return Catalog(place).load_table(name).scan(**how).to_arrow().to_pylist()


def test_a_new_life(place: Path) -> None:
    old = Catalog(place).load_table("n.t")
    names = len(log(place))
    table = Catalog(place).replace_table(
        "n.t", "b LONG, c INT DEFAULT 5", partitioned_by=["bucket(4, b)"], properties={"l": "w"}
    )
    assert (table.version, table.count(), table.properties, table.comment) == (
        *(2, 0, {"l": "w"}),
        None,
    )
    assert [(c.id, c.name, c.physical_name) for c in table.schema.columns] == [
        (3, "b", "b"),  # of this life only, so that the name is free
        (4, "c", "c"),
    ]
    assert table.schema.version == 1
    assert table.state.table_uuid != old.state.table_uuid == table.state.created_uuid
    assert table.partitioning == ["bucket(4, b)"]
    table.append(NEW)
    assert rows(place) == [{"b": 7, "c": 5}]
    assert rows(place, filters=[("b", "=", 7)]) == [{"b": 7, "c": 5}]
    assert rows(place, version=1) == OLD.to_pylist()
    assert table.inspect.history()["operation"].to_pylist() == [
        "create",
        "append",
        "replace",
        "append",
    ]
    assert len(log(place)) == names, "the warehouse's log has nothing to say"


def test_the_entry(place: Path) -> None:
    before = Catalog(place).load_table("n.t").state
    Catalog(place).replace_table("n.t", "b LONG", comment="new")
    entry = log(place / "n/t")[2]
    assert (entry["operation"], entry["base_version"], entry["next_column_id"]) == ("replace", 1, 4)
    assert entry["table_uuid"] != before.table_uuid
    assert entry["schema"]["schema_version"] == 1
    assert entry["schema"]["columns"] == [{"id": 3, "name": "b", "type": "long", "nullable": True}]
    assert entry["comment"] == "new"
    assert not entry.keys() & {"added", "removed", "properties"}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_the_name_holds_through_every_life(checkpoint: bool, place: Path) -> None:
    for number in range(3):
        table = Catalog(place).replace_table("n.t", f"c{number} INT")
        if checkpoint:
            table.log.write_checkpoint(table.state)
            shutil.rmtree(place / "n/t/_versioned/log")
        assert Catalog(place).load_table("n.t").schema.names == [f"c{number}"]
    Catalog(place).rename_table("n.t", "n.u")
    assert Catalog(place).load_table("n.u").schema.names == ["c2"]
    Catalog(place).drop_table("n.u")
    assert Catalog(place).list_tables("n") == []
    with pytest.raises(NotFoundError):
        Catalog.load_path(place / "n/t")


def test_a_name_is_not_that_of_a_later_table_in_the_folder(place: Path) -> None:
    table = Catalog(place).replace_table("n.t", "c INT")
    table.drop()
    Catalog.create_path(table.location, "other INT")
    with pytest.raises(NotFoundError):
        Catalog(place).load_table("n.t")
    with pytest.raises(NotFoundError, match="drop_table"):
        Catalog(place).replace_table("n.t", "c INT", or_create=True)
    Catalog(place).drop_table("n.t")
    assert Catalog.load_path(table.location).schema.names == ["other"]


def test_what_must_be_there(place: Path) -> None:
    catalog = Catalog(place)
    with pytest.raises(NotFoundError, match=r"there is no table n\.no"):
        catalog.replace_table("n.no", "a INT")
    with pytest.raises(NotFoundError, match="there is no namespace m"):
        catalog.replace_table("m.no", "a INT", or_create=True)
    assert catalog.replace_table("n.no", "a INT", or_create=True).version == 0
    assert catalog.replace_table("n.no", "b INT", or_create=True).version == 1
    assert catalog.load_table("n.no").schema.names == ["b"]
    with pytest.raises(InvalidRequestError):
        catalog.replace_table("n.t", "a NONSENSE")
    assert rows(place) == OLD.to_pylist()


# Planned in one process, committed in another.


@dataclasses.dataclass(frozen=True)
class Sent:
    """What travels: JSON."""

    text: str

    @staticmethod
    def of(placement: Placement) -> Sent:
        return Sent(json.dumps(dataclasses.asdict(placement)))

    @property
    def placement(self) -> Placement:
        return Placement(**json.loads(self.text))


def operation() -> Create:
    return creation("b LONG, c INT DEFAULT 5", ["identity(b)"], {"l": "w"}, "new")


def planned(place: Path, mode: Mode, name: str = "n.t") -> tuple[Sent, Create]:
    """A plan whose row is written."""
    catalog = Catalog(place)
    placement = catalog.plan_creation(name, mode)
    plan = catalog.plan_rows(name, placement, operation(), NEW.schema)
    records = plan.write(NEW.schema, iter(NEW.to_batches()))
    return Sent.of(placement), dataclasses.replace(operation(), records=tuple(records))


def commit(
    place: Path | Catalog, sent: Sent, made: Create, commit_id: str = "", name: str = "n.t"
) -> Table:
    catalog = place if isinstance(place, Catalog) else Catalog(place)
    return catalog.commit_creation(name, sent.placement, made, commit_id or str(uuid4()))


@pytest.mark.parametrize(
    "mode, name", [("create", "n.v"), ("create or replace", "n.v"), ("replace", "n.t")]
)
def test_rows_come_in_the_same_commit(mode: Mode, name: str, place: Path) -> None:
    versions = 2 if name == "n.t" else 0
    sent, made = planned(place, mode, name)
    assert name == "n.v" or rows(place) == OLD.to_pylist(), "a plan changes nothing"
    table = commit(place, sent, made, name=name)
    assert table.version == versions
    assert rows(place, name) == [{"b": 7, "c": 5}]
    assert (table.properties, table.comment) == ({"l": "w"}, "new")
    assert table.state.table_uuid == sent.placement.table_uuid
    assert table.inspect.segments()["partition"].to_pylist() == [["7"]]


def test_rows_that_do_not_fit_are_refused_by_the_plan(place: Path) -> None:
    catalog = Catalog(place)
    placement = catalog.plan_creation("n.t", "replace")
    with pytest.raises(InvalidRequestError, match=r"n\.t"):
        catalog.plan_rows("n.t", placement, operation(), pa.schema({"no": INTS}))
    assert catalog.plan_rows("n.t", placement, operation()).spec.schema.ids == {3, 4}


def test_plan_table_takes_all_that_create_table_takes(place: Path) -> None:
    catalog = Catalog(place)
    plan, made = catalog.plan_table(
        "n.v",
        "b LONG",
        NEW.schema,
        partitioned_by=["bucket(2, b)"],
        properties={"sort_by": "b", "k": "v"},
        comment="hm",
    )
    records = plan.write(NEW.schema, iter(NEW.to_batches()))
    made = dataclasses.replace(made, records=tuple(records))
    table = catalog.commit_table("n.v", plan.location, made, str(uuid4()))
    assert (table.partitioning, table.properties, table.comment) == (
        *(["bucket(2, b)"], {"sort_by": "b", "k": "v"}),
        "hm",
    )
    assert rows(place, "n.v") == [{"b": 7}]


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
HARMLESS = {"append", "alter of properties", "overwrite"}  # to rows that come along
ENDING = {"drop", "drop and create", "rename", "rename and create"}


@pytest.mark.parametrize("theirs", ACTIONS)
def test_what_comes_before_a_replacement(theirs: str, place: Path) -> None:
    """Without rows, nothing stands in its way but the end of the table or of its name."""
    sent = Sent.of(Catalog(place).plan_creation("n.t", "replace"))
    ACTIONS[theirs](Catalog(place))
    if theirs in ENDING:
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(place, sent, creation("c INT"))
        return
    before = max(
        c["id"] for e in log(place / "n/t") if "schema" in e for c in e["schema"]["columns"]
    )
    table = commit(place, sent, creation("c INT"))
    assert rows(place) == []
    assert table.schema.names == ["c"]
    assert table.schema.columns[0].id > before
    table.append(pa.table({"c": pa.array([3], INTS)}))
    assert rows(place) == [{"c": 3}]


@pytest.mark.parametrize("theirs", ACTIONS)
def test_what_comes_in_the_middle_of_a_replacement(theirs: str, place: Path) -> None:
    """The same between the look at the name and the commit; a rename then comes after it."""
    interruption = Interruption(TABLE_LOG, before=lambda: ACTIONS[theirs](Catalog(place)))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), interruption))
    if theirs.startswith("drop"):
        with pytest.raises(CommitConflictError, match="run it again"):
            catalog.replace_table("n.t", "c INT")
        return
    catalog.replace_table("n.t", "c INT")
    name = "n.u" if theirs.startswith("rename") else "n.t"
    assert Catalog(place).load_table(name).schema.names == ["c"]
    assert rows(place, name) == []


@pytest.mark.parametrize("mode", ["replace", "create or replace"])
@pytest.mark.parametrize("theirs", ACTIONS)
def test_what_comes_before_a_replacement_with_rows(theirs: str, mode: Mode, place: Path) -> None:
    sent, made = planned(place, mode)
    ACTIONS[theirs](Catalog(place))
    if theirs not in HARMLESS:
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(place, sent, made)
        return
    commit(place, sent, made)
    assert rows(place) == [{"b": 7, "c": 5}]


@pytest.mark.parametrize("theirs", ACTIONS)
def test_create_or_replace_without_rows_always_lands(theirs: str, place: Path) -> None:
    sent = Sent.of(Catalog(place).plan_creation("n.t", "create or replace"))
    ACTIONS[theirs](Catalog(place))
    table = commit(place, sent, creation("c INT"))
    table.append(pa.table({"c": pa.array([3], INTS)}))
    assert rows(place) == [{"c": 3}]
    assert Catalog(place).list_tables("n") == (["t", "u"] if "rename" in theirs else ["t"])


@pytest.mark.parametrize("at", ["put n/v/_versioned/log/N.json", NAMES])
@pytest.mark.parametrize("with_rows", [False, True])
def test_a_table_that_appears(with_rows: bool, at: str, place: Path) -> None:
    """CREATE OR REPLACE planned where nothing was, while another one makes the table."""
    interruption = Interruption(at, before=lambda: Catalog(place).create_table("n.v", "z INT"))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), interruption))
    if with_rows:
        sent, made = planned(place, "create or replace", "n.v")
        with pytest.raises(CommitConflictError, match="run it again"):
            commit(catalog, sent, made, name="n.v")
        assert Catalog(place).load_table("n.v").schema.names == ["z"]
        return
    catalog.replace_table("n.v", "c INT", or_create=True)
    assert Catalog(place).load_table("n.v").schema.names == ["c"]
    alive = []
    for folder in (place / "n").iterdir():
        if (folder / "_versioned").exists() and log(folder)[-1]["operation"] != "drop":
            alive.append(folder)
    assert len(alive) == 2, "n.t and n.v, and none without a name"


def test_a_replacement_by_folder_is_of_that_table(place: Path) -> None:
    table = Catalog.load_path(place / "n/t")
    replacement = Replace(creation("c INT"), table.state.created_uuid, table.version)
    table.drop()
    Catalog.create_path(table.location, "z INT")
    with pytest.raises(CommitConflictError, match="run it again"):
        create_at(table.store, replacement, "n.t", str(uuid4()))
    assert Catalog.load_path(table.location).schema.names == ["z"]


def test_a_fence_stops_rows_only(place: Path) -> None:
    sent, made = planned(place, "replace")
    bare = Sent.of(Catalog(place).plan_creation("n.t", "replace"))
    table = Catalog(place).load_table("n.t")
    entry = log(place / "n/t")[1]
    fence = {k: entry[k] for k in ("format", "features", "table_uuid", "time", "next_column_id")}
    fence |= {"version": 2, "base_version": 1, "commit_id": "f", "operation": "fence", "fence": 2}
    path = f"_versioned/log/{2:020d}.json"
    table.store.put_if_absent(path, json.dumps({**fence, "writer": "x"}).encode())
    with pytest.raises(CommitConflictError, match="fence 2"):
        commit(place, sent, made)
    commit(place, bare, operation())
    assert rows(place) == []


def test_what_was_planned_on_the_old_life(place: Path) -> None:
    table = Catalog(place).load_table("n.t")
    alteration = table.alter().drop_column("a")
    plan = table.transaction().plan_write(OLD.schema)
    records = plan.write(OLD.schema, iter(OLD.to_batches()))
    Catalog(place).replace_table("n.t", "a INT, b STRING")
    for late in (
        alteration.commit,
        table.drop,
        lambda: table.transaction().commit_append(plan, records),
        lambda: table.transaction().commit_overwrite(plan, records),
    ):
        with pytest.raises(CommitConflictError, match="replaced"):
            late()
    assert rows(place) == []


def test_a_drop_of_the_name_ends_what_replaced_the_table(place: Path) -> None:
    """DROP TABLE means the name; a replacement that lands in between is dropped with it."""
    interruption = Interruption(
        TABLE_LOG, before=lambda: Catalog.load_path(place / "n/t") and replaced(place)
    )
    catalog = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), interruption))
    catalog.drop_table("n.t")
    assert log(place / "n/t")[-2]["operation"] == "replace"
    with pytest.raises(NotFoundError):
        Catalog.load_path(place / "n/t")


def replaced(place: Path) -> None:
    """A replacement whose look at the name came before the name went."""
    table = Catalog.load_path(place / "n/t")
    placement = Placement(
        "replace", "n/t", str(uuid4()), table.version, 3, table.state.created_uuid
    )
    create_at(table.store, placement.operation(creation("c INT")), "n.t", str(uuid4()))


# A worker that dies in a commit: the same question is asked again.


@pytest.mark.parametrize("mode, name", [("create", "n.v"), ("replace", "n.t")])
def test_asked_again(mode: Mode, name: str, place: Path, tmp_path_factory: Any) -> None:
    """A fault at every storage call; then the same commit ID again, from plain data."""
    sent, made = planned(place, mode, name)
    counted = Plan()
    whole = tmp_path_factory.mktemp("whole") / "w"
    shutil.copytree(place, whole)
    commit(Catalog.over(FaultyStore(LocalStore(str(whole)), counted)), sent, made, "me", name)
    assert len(counted.calls) > 4
    for at in range(len(counted.calls)):
        for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
            copy = tmp_path_factory.mktemp("copy") / "w"
            shutil.copytree(place, copy)
            catalog = Catalog.over(FaultyStore(LocalStore(str(copy)), Plan(at, fault)))
            try:
                commit(catalog, sent, made, "me", name)
            except StorageError:
                commit(copy, sent, made, "me", name)
            commit(copy, sent, made, "me", name)
            assert rows(copy, name) == [{"b": 7, "c": 5}], (counted.calls[at], fault)
            folder = copy / name.replace(".", "/")
            assert [e["commit_id"] for e in log(folder)].count("me") == 1
            assert Catalog(copy).list_tables("n") == sorted({"t", name[2:]})
            shutil.rmtree(copy)


def test_asked_again_after_it_was_renamed(place: Path) -> None:
    sent, made = planned(place, "create", "n.v")
    commit(place, sent, made, "me", "n.v")
    Catalog(place).rename_table("n.v", "n.w")
    commit(place, sent, made, "me", "n.v")
    assert Catalog(place).list_tables("n") == ["t", "w"]


def test_asked_again_after_it_was_replaced(place: Path) -> None:
    sent, made = planned(place, "replace")
    commit(place, sent, made, "me")
    Catalog(place).replace_table("n.t", "z INT")
    commit(place, sent, made, "me")
    assert Catalog(place).load_table("n.t").schema.names == ["z"]


@pytest.mark.parametrize("half", [False, True])
def test_asked_again_after_it_was_dropped(half: bool, place: Path) -> None:
    """A dropped name does not come back, and lead to a table that is no more."""
    sent, made = planned(place, "create", "n.v")
    commit(place, sent, made, "me", "n.v")
    dropping = Catalog(place)

    def ask_again() -> None:
        commit(place, sent, made, "me", "n.v")

    if half:
        last = Interruption("put n/v/_versioned/log/N.json", before=ask_again)
        dropping = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), last))
    dropping.drop_table("n.v")
    ask_again()
    assert Catalog(place).list_tables("n") == ["t"]
    Catalog(place).create_table("n.v", "a INT")
    ask_again()
    assert Catalog(place).load_table("n.v").schema.names == ["a"]


def test_asked_again_after_its_name_was_taken(place: Path) -> None:
    """Who finds the name taken ends the table; asked again, it gets no name, even if that is free."""
    sent, made = planned(place, "create", "n.v")
    rival = Interruption(NAMES, before=lambda: Catalog(place).create_table("n.v", "a INT"))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), rival))
    with pytest.raises(AlreadyExistsError):
        commit(catalog, sent, made, "me", "n.v")
    Catalog(place).rename_table("n.v", "n.w")
    with pytest.raises(NotFoundError):
        commit(place, sent, made, "me", "n.v")
    assert Catalog(place).list_tables("n") == ["t", "w"]


def test_one_commit_id_for_two_makers_at_once(place: Path) -> None:
    """The first is slow, not dead."""
    sent, made = planned(place, "create", "n.v")
    for at in ("put n/v/_versioned/log/N.json", NAMES):
        interruption = Interruption(at, before=lambda: commit(place, sent, made, "me", "n.v"))
        catalog = Catalog.over(InterruptedStore(LocalStore(str(place)), Plan(), interruption))
        assert commit(catalog, sent, made, "me", "n.v").version == 0
        assert rows(place, "n.v") == [{"b": 7, "c": 5}]


# Stored entries that can't be.


@pytest.mark.parametrize(
    "change",
    [
        lambda entry, first: entry.update(table_uuid=first["table_uuid"]),
        lambda entry, first: entry.pop("schema"),
        lambda entry, first: entry.update(next_column_id=1),
        lambda entry, first: entry["schema"].update(schema_version=0),
    ],
)
def test_bad_replacements(change: Callable[..., object], place: Path) -> None:
    Catalog(place).replace_table("n.t", "c INT")
    path = place / "n/t/_versioned/log" / f"{2:020d}.json"
    entry = json.loads(path.read_text())
    change(entry, log(place / "n/t")[0])
    path.write_text(json.dumps(entry))
    with pytest.raises(CorruptTableError):
        Catalog(place).load_table("n.t")


def test_a_log_does_not_begin_with_a_replacement(place: Path) -> None:
    path = place / "n/t/_versioned/log" / f"{0:020d}.json"
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"operation": "replace"}))
    with pytest.raises(CorruptTableError, match="does not begin"):
        Catalog(place).load_table("n.t")


def test_a_name_that_is_taken(place: Path) -> None:
    with pytest.raises(AlreadyExistsError):
        Catalog(place).plan_creation("n.t")
