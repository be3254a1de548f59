"""Namespaces: created, described, listed, and dropped with all that they contain."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.storage.local import LocalStore

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
ONE = pa.table({"a": pa.array([1], pa.int32())})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted((folder / "_versioned/log").iterdir())]


def test_namespaces_and_their_contents_are_listed(catalog: Catalog) -> None:
    catalog.create_namespace("a")
    catalog.create_namespace("a.`b.c`")
    catalog.create_table(("a", "b.c", "t"), "a INT")
    catalog.create_table("top", "a INT")
    assert catalog.namespace_exists("A")
    assert catalog.namespace_exists(("a", "b.c"))
    assert not catalog.namespace_exists("a.b")
    assert not catalog.namespace_exists("top")
    assert catalog.table_exists("TOP")
    assert catalog.table_exists(("a", "b.c", "T"))
    assert not catalog.table_exists("a")
    assert not catalog.table_exists("nowhere.t")
    assert catalog.list_namespaces() == ["a"]
    assert catalog.list_namespaces("a") == ["a.`b.c`"]
    assert catalog.list_tables("a") == []
    assert catalog.list_tables(("a", "b.c")) == ["t"]


@pytest.mark.parametrize("top", [None, ()])
def test_the_top_level_is_a_namespace(catalog: Catalog, top: Any) -> None:
    assert catalog.namespace_exists(top)
    assert catalog.namespace_properties(top) == {}
    catalog.create_table("t", "a INT")
    assert catalog.list_tables(top) == ["t"]
    assert catalog.list_namespaces(top) == []


def test_properties_are_set_and_unset(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_namespace("n", properties={"owner": "ops", "color": "é"})
    assert Catalog(tmp_path).namespace_properties("N") == {"owner": "ops", "color": "é"}
    catalog.alter_namespace("N", {"owner": "dev", "size": ""}, ["color", "never there"])
    assert Catalog(tmp_path).namespace_properties("n") == {"owner": "dev", "size": ""}
    catalog.alter_namespace("n", unset=["owner", "size"])
    assert Catalog(tmp_path).namespace_properties("n") == {}
    assert Catalog(tmp_path).list_namespaces() == ["n"]


def test_a_property_that_is_set_and_unset_at_once_is_set(catalog: Catalog) -> None:
    catalog.create_namespace("n", properties={"k": "old"})
    catalog.alter_namespace("n", {"k": "new"}, ["k"])
    assert catalog.namespace_properties("n") == {"k": "new"}


def test_properties_in_the_log(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_namespace("m")
    catalog.create_namespace("N", properties={"k": "v"})
    catalog.alter_namespace("n", {"l": "w"})
    entries = log(tmp_path)
    assert [(e["operation"], e["namespaces"]) for e in entries] == [
        ("create_namespace", {"add": [["m"]], "remove": []}),
        (
            "create_namespace",
            {
                "add": [["N"]],
                "remove": [],
                "set": [{"name": ["N"], "properties": {"k": "v"}}],
            },
        ),
        (
            "alter_namespace",
            {
                "add": [],
                "remove": [],
                "set": [{"name": ["n"], "properties": {"k": "v", "l": "w"}}],
            },
        ),
    ]
    catalog._names.log.write_checkpoint(catalog._names.state())
    stored = json.loads((tmp_path / f"_versioned/checkpoint/{2:020d}.json").read_text())
    assert stored["namespaces"] == [["m"], ["N"]]
    assert stored["namespace_properties"] == [{"name": ["N"], "properties": {"k": "v", "l": "w"}}]
    shutil.rmtree(tmp_path / "_versioned/log")
    assert Catalog(tmp_path).namespace_properties("n") == {"k": "v", "l": "w"}
    assert Catalog(tmp_path).namespace_properties("m") == {}


def test_dropping_a_namespace_drops_its_properties(catalog: Catalog) -> None:
    catalog.create_namespace("n", properties={"k": "v"})
    catalog.drop_namespace("n")
    with pytest.raises(NotFoundError):
        catalog.namespace_properties("n")
    catalog.create_namespace("n")
    assert catalog.namespace_properties("n") == {}


def test_creating_an_existing_namespace_changes_nothing(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_namespace("n", properties={"k": "v"})
    catalog.create_namespace("N", if_not_exists=True, properties={"k": "other"})
    assert catalog.namespace_properties("n") == {"k": "v"}
    assert len(log(tmp_path)) == 1
    with pytest.raises(AlreadyExistsError, match="N already exists"):
        catalog.create_namespace("N")
    with pytest.raises(NotFoundError, match="there is no namespace a"):
        catalog.create_namespace("a.b", if_not_exists=True)


@pytest.mark.parametrize("properties", [5, ["k"], {"k": 5}, {5: "v"}, {"k": None}])
def test_properties_must_be_text(catalog: Catalog, properties: Any) -> None:
    catalog.create_namespace("n")
    with pytest.raises(InvalidRequestError, match="text to text"):
        catalog.create_namespace("m", properties=properties)
    with pytest.raises(InvalidRequestError, match="text to text"):
        catalog.alter_namespace("n", properties)


@pytest.mark.parametrize("keys", ["k", [5]])
def test_the_keys_to_unset_must_be_a_list(catalog: Catalog, keys: Any) -> None:
    catalog.create_namespace("n")
    with pytest.raises(InvalidRequestError, match="keys to unset must be a list"):
        catalog.alter_namespace("n", unset=keys)


def test_a_missing_namespace_is_reported(catalog: Catalog) -> None:
    for request in (
        lambda: catalog.namespace_properties("no"),
        lambda: catalog.alter_namespace("no", {"k": "v"}),
        lambda: catalog.drop_namespace("no", cascade=True),
        lambda: catalog.list_tables("no"),
        lambda: catalog.list_namespaces("no"),
    ):
        with pytest.raises(NotFoundError, match="there is no namespace no"):
            request()


def test_a_namespace_with_contents_is_dropped_only_by_cascade(
    catalog: Catalog, tmp_path: Path
) -> None:
    for name in ("n", "n.m", "other", "other.m", "nn"):
        catalog.create_namespace(name)
    inside = [catalog.create_table(name, "a INT") for name in ("n.t", "n.m.t", "n.m.u")]
    outside = [catalog.create_table(name, "a INT") for name in ("t", "other.m.t", "nn.t")]
    for name in ("n", "n.m", "other"):
        with pytest.raises(InvalidRequestError, match="is not empty"):
            catalog.drop_namespace(name)
    entries = len(log(tmp_path))
    catalog.drop_namespace("N", cascade=True)
    assert len(log(tmp_path)) == entries + 1, "one commit removes all names"
    assert catalog.list_namespaces() == ["nn", "other"]
    for table in inside:
        with pytest.raises(NotFoundError):
            Catalog.load_path(table.location)
    for table in outside:
        assert Catalog.load_path(table.location).count() == 0
    catalog.create_namespace("n")
    catalog.create_table("n.t", "a INT").append(ONE)
    assert Catalog(tmp_path).load_table("n.t").scan().to_arrow().to_pylist() == [{"a": 1}]


def test_cascade_drops_concurrently_created_tables(tmp_path: Path) -> None:
    """A table that is created just before the commit of the drop is dropped with the others."""
    Catalog(tmp_path).create_namespace("n")
    late: list[str] = []

    def theirs() -> None:
        late.append(Catalog(tmp_path).create_table("n.late", "a INT").location)

    interruption = Interruption("put _versioned/log/N.json", before=theirs)
    store = InterruptedStore(LocalStore(str(tmp_path)), Plan(), interruption)
    Catalog.over(store).drop_namespace("n", cascade=True)
    assert Catalog(tmp_path).list_namespaces() == []
    with pytest.raises(NotFoundError):
        Catalog.load_path(late[0])


def test_concurrent_changes_of_properties_are_merged(tmp_path: Path) -> None:
    """Concurrent changes of different keys are both kept."""
    Catalog(tmp_path).create_namespace("n", properties={"k": "v"})
    interruption = Interruption(
        "put _versioned/log/N.json",
        before=lambda: Catalog(tmp_path).alter_namespace("n", {"theirs": "1"}, ["k"]),
    )
    store = InterruptedStore(LocalStore(str(tmp_path)), Plan(), interruption)
    Catalog.over(store).alter_namespace("n", {"mine": "2"})
    assert Catalog(tmp_path).namespace_properties("n") == {"theirs": "1", "mine": "2"}


def test_the_name_of_a_dropped_table_can_be_freed(catalog: Catalog) -> None:
    catalog.create_table("t", "a INT").drop()
    catalog.drop_table("t")
    assert catalog.list_tables() == []
    assert catalog.create_table("t", "b INT").schema.names == ["b"]


def test_warehouses_older_than_properties_are_readable(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "w")
    catalog = Catalog(tmp_path / "w")
    assert catalog.namespace_properties("metrics") == {}
    catalog.alter_namespace("metrics", {"k": "v"})
    assert Catalog(tmp_path / "w").namespace_properties("metrics") == {"k": "v"}
    assert Catalog(tmp_path / "w").load_table("metrics.cpu").count() == 7


def test_a_namespace_with_a_damaged_table_is_dropped_once_its_folder_is_deleted(
    tmp_path: Path,
) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    location = Path(catalog.create_table("n.t", "a INT").location)
    next((location / "_versioned/log").iterdir()).write_bytes(b"damaged")
    with pytest.raises(CorruptTableError, match=r"n\.t can't be dropped.*delete its folder"):
        catalog.drop_namespace("n", cascade=True)
    assert catalog.list_tables("n") == ["t"]
    shutil.rmtree(location)
    catalog.drop_namespace("n", cascade=True)
    assert catalog.list_namespaces() == []
