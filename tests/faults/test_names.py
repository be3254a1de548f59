"""Two catalogs that change the same names, one in the middle of the other."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    InvalidRequestError,
    NotFoundError,
    VersionedError,
)
from versioned_catalog.names.creation import creation
from versioned_catalog.names.folders import create_at
from versioned_catalog.storage.local import LocalStore

NAMES = "put _versioned/log/N.json"
Action = Callable[[Catalog], object]


def create(name: str, column: str = "a") -> Action:
    return lambda catalog: catalog.create_table(name, f"{column} INT")


def rename(old: str, new: str) -> Action:
    return lambda catalog: catalog.rename_table(old, new)


def drop(name: str) -> Action:
    return lambda catalog: catalog.drop_table(name)


def namespace(name: str) -> Action:
    return lambda catalog: catalog.create_namespace(name)


def drop_namespace(name: str) -> Action:
    return lambda catalog: catalog.drop_namespace(name)


# my operation, theirs (just before my put), my error, the resulting tables
RACES: list[tuple[Action, Action, type[VersionedError] | None, list[str]]] = [
    (create("n.v"), create("n.V"), AlreadyExistsError, ["V", "t"]),
    (create("n.v"), create("n.w"), None, ["t", "v", "w"]),
    (create("n.v"), rename("n.t", "n.v"), AlreadyExistsError, ["v"]),
    (rename("n.t", "n.u"), rename("n.t", "n.v"), NotFoundError, ["v"]),
    (rename("n.t", "n.u"), create("n.u"), AlreadyExistsError, ["t", "u"]),
    (rename("n.t", "n.u"), drop("n.t"), NotFoundError, []),
    (drop("n.t"), rename("n.t", "n.u"), NotFoundError, ["u"]),
    (drop("n.t"), drop("n.t"), NotFoundError, []),
    (namespace("m"), namespace("M"), AlreadyExistsError, ["t"]),
    (namespace("m"), namespace("o"), None, ["t"]),
]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "id INT")
    return tmp_path


def racing(warehouse: Path, theirs: Action, at: str = NAMES) -> Catalog:
    other = Catalog(warehouse)
    interruption = Interruption(at, before=lambda: theirs(other))
    return Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interruption))


def act(mine: Action, catalog: Catalog, error: type[VersionedError] | None) -> None:
    """Run our operation, which raises the named error, if any."""
    with nullcontext() if error is None else pytest.raises(error):
        mine(catalog)


@pytest.mark.parametrize("mine, theirs, error, names", RACES, ids=range(len(RACES)))
def test_the_second_change_is_refused_or_independent(
    mine: Action,
    theirs: Action,
    error: type[VersionedError] | None,
    names: list[str],
    warehouse: Path,
) -> None:
    catalog = racing(warehouse, theirs)
    act(mine, catalog, error)
    now = Catalog(warehouse)
    assert now.list_tables("n") == names
    for name in names:
        table = now.load_table(("n", name))
        before = table.count()
        column = table.schema.names[0]
        table.append(pa.table({column: pa.array([1], pa.int32())}))
        assert Catalog(warehouse).load_table(("n", name)).count() == before + 1


def view(name: str, *reads: str) -> Action:
    below: dict[Any, Any] = dict.fromkeys(reads, ())
    return lambda catalog: catalog.create_view(name, "…", "a INT", reads=below, or_replace=True)


# my operation, theirs, my error, the resulting tables and views
VIEW_RACES: list[tuple[Action, Action, type[VersionedError] | None, list[str], list[str]]] = [
    (view("n.v"), create("n.V"), AlreadyExistsError, ["V", "t"], ["one", "two"]),
    (create("n.v"), view("n.V"), AlreadyExistsError, ["t"], ["V", "one", "two"]),
    (rename("n.t", "n.v"), view("n.v"), AlreadyExistsError, ["t"], ["one", "two", "v"]),
    (view("n.v"), rename("n.t", "n.v"), AlreadyExistsError, ["v"], ["one", "two"]),
    (view("n.v"), view("n.V"), None, ["t"], ["one", "two", "v"]),
    (view("n.one"), lambda c: c.drop_view("n.one"), None, ["t"], ["one", "two"]),
    (lambda c: c.drop_view("n.one"), view("n.ONE"), None, ["t"], ["two"]),
    (
        lambda c: c.alter_view("n.one", {"k": "v"}),
        lambda c: c.drop_view("n.one"),
        *(NotFoundError, ["t"], ["two"]),
    ),
    (
        lambda c: c.rename_view("n.one", "n.v"),
        create("n.v"),
        *(AlreadyExistsError, ["t", "v"], ["one", "two"]),
    ),
    (view("n.one", "n.two"), view("n.two", "n.one"), InvalidRequestError, ["t"], ["one", "two"]),
]


@pytest.mark.parametrize(
    "mine, theirs, error, tables, views", VIEW_RACES, ids=range(len(VIEW_RACES))
)
def test_views_and_tables_never_share_a_name(
    mine: Action,
    theirs: Action,
    error: type[VersionedError] | None,
    tables: list[str],
    views: list[str],
    warehouse: Path,
) -> None:
    for name in ("n.one", "n.two"):
        view(name)(Catalog(warehouse))
    catalog = racing(warehouse, theirs)
    act(mine, catalog, error)
    now = Catalog(warehouse)
    assert (now.list_tables("n"), now.list_views("n")) == (tables, views)


@pytest.mark.parametrize("at", ["put n/v/_versioned/log/N.json", NAMES])
def test_the_loser_of_a_race_for_a_name_drops_its_table(at: str, warehouse: Path) -> None:
    """Two creations of one name; the other one runs between any two steps of the first."""
    catalog = racing(warehouse, create("n.v", "theirs"), at)
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("n.v", "mine INT")
    assert Catalog(warehouse).load_table("n.v").schema.names == ["theirs"]
    alive = []
    for folder in (warehouse / "n").iterdir():
        try:
            alive.append(Catalog.load_path(folder).schema.names)
        except NotFoundError:
            continue
    assert sorted(alive) == [["id"], ["theirs"]]


def test_a_namespace_dropped_during_the_creation_of_a_table(warehouse: Path) -> None:
    Catalog(warehouse).create_namespace("m")
    catalog = racing(warehouse, drop_namespace("m"))
    with pytest.raises(NotFoundError):
        catalog.create_table("m.v", "a INT")
    assert Catalog(warehouse).list_namespaces() == ["n"]
    with pytest.raises(NotFoundError):
        Catalog.load_path(warehouse / "m/v")


def test_a_table_created_during_the_drop_of_its_namespace(warehouse: Path) -> None:
    Catalog(warehouse).create_namespace("m")
    catalog = racing(warehouse, create("m.v"))
    with pytest.raises(VersionedError, match="not empty"):
        catalog.drop_namespace("m")
    assert Catalog(warehouse).list_tables("m") == ["v"]


def test_a_view_created_during_the_drop_of_its_namespace(warehouse: Path) -> None:
    Catalog(warehouse).create_namespace("m")
    with pytest.raises(VersionedError, match="not empty"):
        racing(warehouse, view("m.v")).drop_namespace("m")
    with pytest.raises(NotFoundError):
        racing(warehouse, lambda c: c.drop_namespace("m", cascade=True)).create_view(
            "m.w", "…", "a INT"
        )
    assert Catalog(warehouse).list_namespaces() == ["n"]


def test_a_table_replaced_during_its_drop(warehouse: Path) -> None:
    """The table to be dropped is not the one that has the name now."""

    def replace(catalog: Catalog) -> None:
        catalog.drop_table("n.t")
        catalog.create_table("n.t", "other INT")

    with pytest.raises(NotFoundError, match="replaced"):
        racing(warehouse, replace).drop_table("n.t")
    assert Catalog(warehouse).load_table("n.t").schema.names == ["other"]


def test_concurrent_first_commits_of_a_warehouse(tmp_path: Path) -> None:
    """Two writers of the first commit agree on one warehouse."""
    racing(tmp_path, namespace("m")).create_namespace("n")
    assert Catalog(tmp_path).list_namespaces() == ["m", "n"]


# A folder belongs to a table or to a warehouse


def whole(folder: Path) -> list[Any]:
    table = Catalog.load_path(folder)
    table.append(pa.table({"a": pa.array([table.version], pa.int32())}))
    return sorted(Catalog.load_path(folder).scan().to_arrow()["a"].to_pylist())


@pytest.mark.parametrize("state", ["young", "checkpointed", "expired", "dropped"])
@pytest.mark.parametrize(
    "action", [namespace("n"), create("t"), lambda catalog: catalog.list_tables()]
)
def test_a_folder_of_a_table_is_refused_as_a_warehouse(
    action: Action, state: str, tmp_path: Path
) -> None:
    """An entry of a warehouse in the table's log would destroy the table."""
    table = Catalog.create_path(tmp_path / "t", "a INT")
    assert whole(tmp_path / "t") == [0]
    match state:
        case "checkpointed":
            table.log.write_checkpoint(table.refresh().state)
        case "expired":
            time.sleep(0.02)
            table.maintenance.expire(timedelta(0), dry_run=False, force=True)
            shutil.rmtree(tmp_path / "t/_versioned/checkpoint", ignore_errors=True)
        case "dropped":
            table.refresh().drop()
    entries = len(list((tmp_path / "t/_versioned/log").iterdir()))
    for catalog in (Catalog(tmp_path / "t"), Catalog(f"{tmp_path}/t/")):
        with pytest.raises(InvalidRequestError, match=r"t.* belongs to a table"):
            action(catalog)
    assert len(list((tmp_path / "t/_versioned/log").iterdir())) == entries
    if state != "dropped":
        assert whole(tmp_path / "t")[0] == 0


def test_a_table_created_before_the_first_commit_of_a_warehouse(tmp_path: Path) -> None:
    making = Interruption(NAMES, before=lambda: Catalog.create_path(tmp_path, "a INT"))
    catalog = Catalog.over(InterruptedStore(LocalStore(str(tmp_path)), Plan(), making))
    with pytest.raises(InvalidRequestError, match="belongs to a table"):
        catalog.create_namespace("n")
    assert whole(tmp_path) == [0]


def test_a_folder_of_a_warehouse_is_refused_as_a_table(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "a INT")
    for attempt in (
        lambda: Catalog.create_path(tmp_path, "a INT"),
        lambda: Catalog.load_path(tmp_path),
        lambda: Catalog.vacuum_path(tmp_path),
    ):
        with pytest.raises(InvalidRequestError, match=f"{tmp_path}.* belongs to a warehouse"):
            attempt()
    assert Catalog(tmp_path).list_tables("n") == ["t"]


def test_a_warehouse_created_before_the_first_commit_of_a_table(tmp_path: Path) -> None:
    making = Interruption(NAMES, before=lambda: Catalog(tmp_path).create_namespace("n"))
    store = InterruptedStore(LocalStore(str(tmp_path)), Plan(), making)
    with pytest.raises(InvalidRequestError, match="belongs to a warehouse"):
        create_at(store, creation("a INT"), "t", "me")
    assert Catalog(tmp_path).list_namespaces() == ["n"]


def test_a_table_named_like_the_folder_of_another_warehouse_is_refused(tmp_path: Path) -> None:
    Catalog(tmp_path / "t").create_namespace("n")
    table = Catalog(tmp_path).create_table("t", "a INT")
    assert Path(table.location).name.startswith("t-")
    assert Catalog(tmp_path / "t").list_namespaces() == ["n"]
