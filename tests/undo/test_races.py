"""Races of undrops, vacuums, creations, drops, restores and writes, one in the middle of the other."""

from __future__ import annotations

from collections.abc import Callable
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
    CommitConflictError,
    NotFoundError,
)
from versioned_catalog.names.changes import drop_unnamed
from versioned_catalog.names.folders import vacuum_at
from versioned_catalog.names.names import Names
from versioned_catalog.storage.local import LocalStore

NAME = "put _versioned/log/N.json"
LOG = "put n/t/_versioned/log/N.json"
INTS = pa.int32()
Action = Callable[[Catalog], object]


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, INTS)})


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "id INT").append(ids(1, 2))
    return tmp_path


def racing(warehouse: Path, at: str, theirs: Action, **when: Any) -> Catalog:
    """A catalog in the middle of whose put somebody else acts."""
    act = {"after" if when.get("after") else "before": lambda: theirs(Catalog(warehouse))}
    return Catalog.over(
        InterruptedStore(LocalStore(str(warehouse)), Plan(), Interruption(at, **act))
    )


def vacuum(catalog: Catalog) -> object:
    store = catalog._store.child("n/t")
    return vacuum_at(store, timedelta(0), dry_run=False, force=True, progress=lambda *_: None)


def undrop(catalog: Catalog) -> object:
    return catalog.undrop("n.t")


def drop(catalog: Catalog) -> object:
    return catalog.drop_table("n.t")


def shown(warehouse: Path, name: str = "n.t") -> list[int]:
    found = Catalog(warehouse).load_table(name).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def operations(warehouse: Path) -> list[str]:
    table = Catalog.load_path(warehouse / "n/t")
    found: list[str] = table.inspect.history()["operation"].to_pylist()
    return found


@pytest.mark.parametrize(("at", "after"), [(LOG, False), (LOG, True), (NAME, False)])
def test_two_undrops(warehouse: Path, at: str, after: bool) -> None:
    drop(Catalog(warehouse))
    undrop(racing(warehouse, at, undrop, after=after))
    assert shown(warehouse) == [1, 2]
    assert operations(warehouse) == ["create", "append", "drop", "undrop"]


def test_two_undrops_under_different_names(warehouse: Path) -> None:
    drop(Catalog(warehouse))
    mine = racing(warehouse, NAME, undrop)
    with pytest.raises(AlreadyExistsError, match=r"was undropped as n\.t meanwhile"):
        mine.undrop("n.t", new_name="n.u")
    assert Catalog(warehouse).list_tables("n") == ["t"]
    assert shown(warehouse) == [1, 2]


def test_a_table_is_dropped_while_an_undrop_names_it(warehouse: Path) -> None:
    """The drop that had removed its name finds none, and drops the table before the undrop names it."""

    def die() -> None:
        raise KeyboardInterrupt

    names = Names(LocalStore(str(warehouse)))
    table = names.find(names.state(), ("n", "t"))
    dying = InterruptedStore(LocalStore(str(warehouse)), Plan(), Interruption(LOG, before=die))
    with pytest.raises(KeyboardInterrupt):
        drop(Catalog.over(dying))
    undrop(racing(warehouse, NAME, lambda _: drop_unnamed(names, [table])))
    assert shown(warehouse) == [1, 2]
    assert operations(warehouse) == ["create", "append", "drop", "undrop"]


@pytest.mark.parametrize("after", [False, True])
def test_an_undrop_while_a_vacuum_is_to_purge(warehouse: Path, after: bool) -> None:
    """Whichever entry is put first decides."""
    drop(Catalog(warehouse))
    if after:
        with pytest.raises(NotFoundError, match="vacuum has begun"):
            vacuum(racing(warehouse, LOG, undrop, after=True))
        vacuum(Catalog(warehouse))
        assert list((warehouse / "n/t/data").iterdir()) == []
        assert Catalog(warehouse).list_tables("n") == []
    else:
        vacuum(racing(warehouse, LOG, undrop))
        assert shown(warehouse) == [1, 2]
        table = Catalog(warehouse).load_table("n.t")
        assert table.maintenance.verify(deep=True).findings == ()


@pytest.mark.parametrize("at", [LOG, NAME])
def test_a_vacuum_while_a_table_is_undropped(warehouse: Path, at: str) -> None:
    drop(Catalog(warehouse))
    mine = racing(warehouse, at, vacuum)
    if at == LOG:
        with pytest.raises(NotFoundError, match="vacuum has begun"):
            undrop(mine)
        assert Catalog(warehouse).list_tables("n") == []
    else:
        undrop(mine)
        assert shown(warehouse) == [1, 2]
        assert Catalog(warehouse).load_table("n.t").scan(version=1).count() == 2


@pytest.mark.parametrize("at", [LOG, NAME])
def test_the_name_is_taken_while_a_table_is_undropped(warehouse: Path, at: str) -> None:
    """The undrop is taken back, and can be done under another name."""
    drop(Catalog(warehouse))
    mine = racing(warehouse, at, lambda c: c.create_table("n.t", "q INT"))
    with pytest.raises(AlreadyExistsError, match=r"n\.t is there already"):
        undrop(mine)
    now = Catalog(warehouse)
    assert now.load_table("n.t").schema.names == ["q"]
    with pytest.raises(NotFoundError):
        Catalog.load_path(warehouse / "n/t")
    (dropped,) = now.dropped_tables()
    assert dropped.name == ("n", "t")
    now.undrop("n.t", new_name="n.u")
    assert shown(warehouse, "n.u") == [1, 2]


def test_a_table_is_undropped_while_one_of_its_name_is_created(warehouse: Path) -> None:
    drop(Catalog(warehouse))
    mine = racing(warehouse, NAME, undrop)
    with pytest.raises(AlreadyExistsError):
        mine.create_table("n.t", "q INT")
    assert shown(warehouse) == [1, 2]
    assert Catalog(warehouse).list_tables("n") == ["t"]


def test_the_namespace_is_dropped_while_a_table_is_undropped(warehouse: Path) -> None:
    drop(Catalog(warehouse))
    with pytest.raises(NotFoundError, match="no namespace n"):
        undrop(racing(warehouse, NAME, lambda c: c.drop_namespace("n")))
    Catalog(warehouse).create_namespace("n")
    undrop(Catalog(warehouse))
    assert shown(warehouse) == [1, 2]


@pytest.mark.parametrize(("at", "after"), [(NAME, True), (LOG, False), (LOG, True)])
def test_an_undrop_during_a_drop(warehouse: Path, at: str, after: bool) -> None:
    """It came after the name was removed, so the table exists in the end, with its name."""
    drop(racing(warehouse, at, undrop, after=after))
    assert Catalog(warehouse).list_tables("n") == ["t"]
    assert shown(warehouse) == [1, 2]


def test_a_drop_that_died_during_an_undrop_is_settled_by_another_undrop(warehouse: Path) -> None:
    """The name came back, and then the slow drop ended the table."""
    drop(Catalog(warehouse))
    undrop(Catalog(warehouse))
    Catalog.load_path(warehouse / "n/t").drop()
    assert Catalog(warehouse).list_tables("n") == ["t"]
    with pytest.raises(NotFoundError):
        Catalog(warehouse).load_table("n.t")
    undrop(Catalog(warehouse))
    assert shown(warehouse) == [1, 2]


def test_a_folder_that_was_taken_by_path(warehouse: Path) -> None:
    drop(Catalog(warehouse))
    other = Catalog.create_path(warehouse / "n/t", "q INT")
    with pytest.raises(CommitConflictError, match="another table was created in the folder"):
        undrop(Catalog(warehouse))
    assert Catalog(warehouse).dropped_tables() == ()
    other.rollback(1)
    assert sorted(other.scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_an_append_while_a_table_is_dropped_and_undropped(warehouse: Path) -> None:
    """It was planned before, and nothing of the table has changed: it commits."""

    def theirs(catalog: Catalog) -> None:
        drop(catalog)
        undrop(catalog)

    racing(warehouse, LOG, theirs).load_table("n.t").append(ids(3))
    assert shown(warehouse) == [1, 2, 3]
    assert operations(warehouse) == ["create", "append", "drop", "undrop", "append"]


def replaced(warehouse: Path) -> None:
    Catalog(warehouse).replace_table("n.t", "id INT, q INT").append(ids(7))


def restore(catalog: Catalog) -> object:
    return catalog.load_table("n.t").rollback(1)


def append(catalog: Catalog) -> object:
    return catalog.load_table("n.t").append(ids(8))


def test_a_restore_sees_an_append_that_was_faster(warehouse: Path) -> None:
    replaced(warehouse)
    with pytest.raises(CommitConflictError, match="would be taken back with the rest"):
        restore(racing(warehouse, LOG, append))
    assert shown(warehouse) == [7, 8]


def test_an_append_is_refused_after_a_restore_that_was_faster(warehouse: Path) -> None:
    replaced(warehouse)
    with pytest.raises(CommitConflictError, match="was replaced since version 3"):
        append(racing(warehouse, LOG, restore))
    assert shown(warehouse) == [1, 2]


def test_an_append_is_refused_after_a_replacement_and_a_restore(warehouse: Path) -> None:
    """The table has the UUID of the base of the append again."""

    def theirs(catalog: Catalog) -> None:
        catalog.replace_table("n.t", "id INT, q INT").append(ids(7))
        restore(catalog)

    with pytest.raises(CommitConflictError, match="was replaced since version 1"):
        append(racing(warehouse, LOG, theirs))
    assert shown(warehouse) == [1, 2]


@pytest.mark.parametrize("theirs", [restore, append, drop], ids=lambda a: a.__name__)
def test_two_restores_and_other_ends(warehouse: Path, theirs: Action) -> None:
    replaced(warehouse)
    with pytest.raises(CommitConflictError):
        restore(racing(warehouse, LOG, theirs))
