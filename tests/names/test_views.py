"""Views: named queries in the warehouse's log, bound to the columns of tables by ID."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    InvalidRequestError,
    NotFoundError,
    Table,
    UnsupportedFeatureError,
)
from versioned_catalog.log import features as entries

QUERY = "SELECT host, usage FROM cpu WHERE usage > 90"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("m")
    return catalog


@pytest.fixture
def cpu(catalog: Catalog) -> Table:
    return catalog.create_table("m.cpu", "host STRING, usage INT, place STRUCT<x: INT, y: INT>")


def busy(catalog: Catalog, name: str = "m.busy", reads: Any = ("host", "usage")) -> None:
    catalog.create_view(name, QUERY, "host STRING, usage INT", reads={"m.cpu": reads})


def texts(catalog: Catalog) -> list[str]:
    return [problem.text for problem in catalog.view_problems()]


def entry(folder: Path) -> Any:
    return json.loads(sorted((folder / "_versioned/log").iterdir())[-1].read_text())


def test_all_properties_of_a_view_are_stored(catalog: Catalog, cpu: Table, tmp_path: Path) -> None:
    created = catalog.create_view(
        "m.busy",
        QUERY,
        "host STRING NOT NULL, percent INT COMMENT 'of all cores'",
        reads={"m.cpu": ["usage", "HOST"]},
        comment="those that have much to do",
        properties={"team": "ops"},
    )
    again = Catalog(tmp_path)
    assert again.load_view("M.Busy") == created
    assert again.list_views("m") == ["busy"]
    assert again.view_exists("m.BUSY")
    assert again.list_tables("m") == ["cpu"]
    assert entry(tmp_path)["operation"] == "create_view"
    assert entry(tmp_path)["views"]["set"] == [
        {
            "name": ["m", "busy"],
            "sql": QUERY,
            "columns": [
                {"name": "host", "type": "STRING", "nullable": False},
                {"name": "percent", "type": "INT", "nullable": True, "comment": "of all cores"},
            ],
            "query_columns": ["host", "percent"],
            "catalog": None,
            "namespace": ["m"],
            "schema_mode": "COMPENSATION",
            "properties": {"team": "ops"},
            "settings": {},
            "reads": [
                {
                    "name": ["m", "cpu"],
                    "created_uuid": cpu.state.created_uuid,
                    "table_uuid": cpu.state.table_uuid,
                    "columns": [{"id": 1, "path": ["host"]}, {"id": 2, "path": ["usage"]}],
                }
            ],
            "reads_views": [],
            "comment": "those that have much to do",
        }
    ]


def test_views_are_in_checkpoints(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    view = catalog.create_view("v", "SELECT 1 AS a", "a INT")
    for number in range(40):
        catalog.create_namespace(f"n{number}")
    assert list((tmp_path / "_versioned/checkpoint").iterdir())
    for path in sorted((tmp_path / "_versioned/log").iterdir())[:10]:
        path.unlink()
    assert Catalog(tmp_path).load_view("v") == view


def test_only_writers_of_the_warehouse_must_know_views(
    catalog: Catalog, cpu: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert entry(tmp_path)["features"] == {"read": [], "write": ["checksums"]}
    busy(catalog)
    assert entry(tmp_path)["features"] == {"read": [], "write": ["checksums", "views"]}
    catalog.create_namespace("later")
    assert entry(tmp_path)["features"] == {"read": [], "write": ["checksums", "views"]}
    monkeypatch.setattr(entries, "KNOWN_FEATURES", entries.KNOWN_FEATURES - {"views"})
    old = Catalog(tmp_path)
    old.load_table("m.cpu").alter().set_property("a", "b").commit()
    assert old.list_tables("m") == ["cpu"]
    for write in (
        lambda: old.create_table("m.other", "a INT"),
        lambda: old.drop_table("m.cpu"),
        lambda: old.create_namespace("x"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="feature views"):
            write()


def test_tables_and_views_share_names(catalog: Catalog, cpu: Table) -> None:
    busy(catalog)
    taken: list[Callable[[], object]] = [
        lambda: catalog.create_table("m.BUSY", "a INT"),
        lambda: catalog.replace_table("m.busy", "a INT", or_create=True),
        lambda: catalog.rename_table("m.cpu", "m.Busy"),
        lambda: busy(catalog),
        lambda: busy(catalog, "m.cpu"),
        lambda: catalog.create_view("m.CPU", "SELECT 1", "a INT", or_replace=True),
        lambda: catalog.rename_view("m.busy", "m.cpu"),
    ]
    for one in taken:
        with pytest.raises(AlreadyExistsError, match="is there already"):
            one()
    for one in (lambda: catalog.load_table("m.busy"), lambda: catalog.drop_table("m.busy")):
        with pytest.raises(NotFoundError, match=r"m\.busy is a view, not a table"):
            one()
    for one in (lambda: catalog.load_view("m.cpu"), lambda: catalog.drop_view("m.cpu")):
        with pytest.raises(NotFoundError, match=r"m\.cpu is a table, not a view"):
            one()
    assert (catalog.list_tables("m"), catalog.list_views("m")) == (["cpu"], ["busy"])


def test_views_are_replaced_altered_and_dropped(catalog: Catalog, cpu: Table) -> None:
    busy(catalog)
    catalog.alter_view("m.busy", {"a": "1", "b": "2"})
    catalog.alter_view("m.busy", {"c": "3"}, ["a"])
    assert catalog.load_view("m.busy").properties == {"b": "2", "c": "3"}
    catalog.rename_view("m.busy", "m.Busy")
    assert catalog.list_views("m") == ["Busy"]
    catalog.create_view("m.BUSY", "SELECT 1 AS a", "a INT", or_replace=True)
    assert catalog.list_views("m") == ["BUSY"]
    catalog.drop_view("m.busy")
    assert catalog.list_views("m") == []
    for act in (catalog.drop_view, catalog.load_view, catalog.alter_view):
        with pytest.raises(NotFoundError, match=r"there is no view m\.busy"):
            act("m.busy")
    with pytest.raises(NotFoundError, match="there is no namespace nowhere"):
        catalog.create_view("nowhere.v", "SELECT 1", "a INT")


def test_a_namespace_with_a_view_is_not_empty(catalog: Catalog) -> None:
    catalog.create_view("m.one", "SELECT 1 AS a", "a INT")
    with pytest.raises(InvalidRequestError, match="m is not empty"):
        catalog.drop_namespace("m")
    catalog.drop_namespace("m", cascade=True)
    assert not catalog.view_exists("m.one")
    assert not catalog.namespace_exists("m")


def test_a_rename_names_the_view_that_it_breaks(catalog: Catalog, cpu: Table) -> None:
    busy(catalog)
    busy(catalog, "m.hosts", ["host"])
    assert texts(catalog) == []
    cpu.alter().rename_column("usage", "load").commit()
    assert texts(catalog) == [
        "the view m.busy reads the column usage (ID 2) of m.cpu, which is now named load; rename it "
        "back with ALTER TABLE m.cpu RENAME COLUMN load TO usage, or bind it to the current columns "
        f"with CREATE OR REPLACE VIEW m.busy AS ...; its query is: {QUERY}"
    ]
    cpu.alter().rename_column("load", "USAGE").commit()
    assert texts(catalog) == []


def test_another_column_of_the_same_name_is_not_read(catalog: Catalog, cpu: Table) -> None:
    busy(catalog)
    cpu.alter().drop_column("usage").commit()
    (dropped,) = texts(catalog)
    assert "reads the column usage (ID 2) of m.cpu, which was dropped; bind" in dropped
    cpu.alter().add_column("usage", "INT").commit()
    (other,) = texts(catalog)
    assert "which was dropped, and usage is now another column (ID 6)" in other
    cpu.rollback(0)
    assert texts(catalog) == []


def test_a_view_follows_columns_that_swap_their_names(catalog: Catalog) -> None:
    table = catalog.create_table("m.cpu", "host STRING, usage STRING")
    busy(catalog)
    table.alter().rename_column("host", "h").rename_column("usage", "host").commit()
    table.alter().rename_column("h", "usage").commit()
    first, second = texts(catalog)
    assert "host (ID 1) of m.cpu, which is now named usage, and host is now another" in first
    assert "usage (ID 2) of m.cpu, which is now named host, and usage is now another" in second


def test_a_view_follows_nested_fields(catalog: Catalog, cpu: Table) -> None:
    busy(catalog, "m.field", ["place.x"])
    busy(catalog, "m.whole", ["place"])
    assert [row["column_id"] for row in catalog.views().to_pylist()] == [4, 3]
    cpu.alter().rename_column("place.y", "z").commit()
    assert texts(catalog) == []  # Spark casts the struct field by field, by position
    cpu.alter().rename_column("place", "at").commit()
    first, second = texts(catalog)
    assert "reads the column place.x (ID 4) of m.cpu, which is now named at.x" in first
    assert "ALTER TABLE m.cpu RENAME COLUMN at TO place, or" in first
    assert "reads the column place (ID 3) of m.cpu, which is now named at" in second
    cpu.alter().rename_column("at", "place").drop_column("place.x").commit()
    cpu.alter().add_column("place.x", "INT").commit()
    first, second = texts(catalog)
    assert "place.x (ID 4) of m.cpu, which was dropped, and place.x is now another" in first
    assert "place (ID 3) of m.cpu, whose fields have changed, or their order" in second


def test_a_struct_whose_fields_are_reordered(catalog: Catalog, cpu: Table) -> None:
    busy(catalog, reads=["place"])
    cpu.alter().move_column("place.y", first=True).commit()
    (text,) = texts(catalog)
    assert "whose fields have changed, or their order" in text


@pytest.mark.parametrize("mode, gone, other", [("EVOLUTION", 0, 1), ("TYPE EVOLUTION", 2, 2)])
def test_views_without_fixed_columns_follow_their_query(
    catalog: Catalog, cpu: Table, mode: str, gone: int, other: int
) -> None:
    busy(catalog, reads=["host", "usage", "place"])
    view = replace(catalog.load_view("m.busy"), schema_mode=mode)
    catalog.put_view(view, "replace", str(uuid4()))
    cpu.alter().move_column("place.y", first=True).commit()
    assert texts(catalog) == []
    cpu.alter().rename_column("usage", "load").drop_column("host").commit()
    assert len(texts(catalog)) == gone
    cpu.alter().add_column("host", "STRING").commit()
    assert len(texts(catalog)) == other


def test_views_of_tables_that_were_renamed_dropped_or_replaced(
    catalog: Catalog, cpu: Table
) -> None:
    busy(catalog)
    catalog.rename_table("m.cpu", "m.cores")
    (renamed,) = texts(catalog)
    assert "m.busy reads m.cpu, which is now named m.cores; rename it back with" in renamed
    assert "ALTER TABLE m.cores RENAME TO m.cpu, or" in renamed
    other = catalog.create_table("m.cpu", "host STRING, usage INT")
    assert texts(catalog) == []  # another table is read by column name
    other.alter().rename_column("usage", "load").commit()
    (text,) = texts(catalog)
    assert "usage (ID 2) of m.cpu, which was replaced since and no longer has it" in text
    catalog.replace_table("m.cpu", "usage INT, host STRING")
    assert texts(catalog) == []
    catalog.drop_table("m.cpu")
    catalog.drop_table("m.cores")
    (dropped,) = texts(catalog)
    assert "the view m.busy reads m.cpu, which was dropped; bind it" in dropped
    catalog.create_view("m.cpu", "SELECT 1", "host STRING, usage INT")
    assert texts(catalog) == []


def test_the_tables_that_a_view_reads_are_listed(catalog: Catalog, cpu: Table) -> None:
    catalog.create_table("m.other", "a INT")
    busy(catalog)
    catalog.create_view("m.over", "…", "h STRING", reads={"m.busy": [], "m.other": ["a"]})
    catalog.create_view("m.alone", "SELECT 1 AS a", "a INT")
    cpu.alter().drop_column("usage").commit()
    rows = [tuple(row.values()) for row in catalog.views().to_pylist()]
    assert [row[:4] for row in rows] == [
        ("m.alone", None, None, None),
        ("m.busy", "m.cpu", "host", 1),
        ("m.busy", "m.cpu", "usage", 2),
        ("m.over", "m.other", "a", 1),
        ("m.over", "m.busy", None, None),
    ]
    assert [row[0] for row in rows if row[4] is not None] == ["m.busy"]
    assert catalog.views("m.other").column("view").to_pylist() == ["m.over"]
    assert [one.column for one in catalog.view_problems("m.cpu")] == [("usage",)]
    assert catalog.view_problems("m.other") == []
    catalog.rename_view("m.busy", "m.gone")
    over = catalog.views().to_pylist()[-1]
    assert "the view m.over reads the view m.busy, which was dropped or renamed" in over["problem"]


def test_views_never_read_themselves(catalog: Catalog, cpu: Table) -> None:
    def over(name: str, *read: str) -> None:
        reads: dict[Any, Any] = {one: [] for one in read}
        catalog.create_view(name, "…", "a INT", reads=reads, or_replace=True)

    over("m.a")
    over("m.b", "m.a")
    over("m.c", "m.b")
    cycle = r"the view m\.a would read itself: m\.a reads m\.c reads m\.b reads m\.a; read"
    with pytest.raises(InvalidRequestError, match=cycle):
        over("m.a", "m.c")
    catalog.drop_view("m.a")
    catalog.create_view("m.d", "…", "a INT", reads={"m.c": []})
    with pytest.raises(InvalidRequestError, match=r"the view m\.A would read itself"):
        catalog.rename_view("m.d", "m.A")


def test_one_of_many_that_create_a_view_wins(tmp_path: Path) -> None:
    catalogs = [Catalog(tmp_path) for _ in range(4)]
    won: list[int] = []

    def create(who: int) -> None:
        try:
            if who % 2:
                catalogs[who].create_table("v", "a INT")
            else:
                catalogs[who].create_view("v", f"SELECT {who} AS a", "a INT")
        except AlreadyExistsError:
            return
        won.append(who)

    threads = [threading.Thread(target=create, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (who,) = won
    catalog = Catalog(tmp_path)
    assert catalog.table_exists("v") == bool(who % 2)
    assert catalog.view_exists("v") == (not who % 2)


def test_queries_that_can_not_be_bound_are_refused(catalog: Catalog, cpu: Table) -> None:
    with pytest.raises(NotFoundError, match="there is no column nope"):
        busy(catalog, reads=["nope"])
    with pytest.raises(NotFoundError, match=r"there is no table m\.nope"):
        catalog.create_view("m.v", "…", "a INT", reads={"m.nope": ["a"]})
    assert catalog.list_views("m") == []


def test_a_change_reports_only_the_views_that_it_breaks(catalog: Catalog) -> None:
    table = catalog.create_table("m.other", "a INT, b INT")
    catalog.create_view(
        "m.v", "SELECT a, b FROM m.other", "a INT, b INT", reads={"m.other": ["a", "b"]}
    )
    table.alter().rename_column("a", "x").commit()
    before = table.state
    table.alter().rename_column("b", "y").commit()
    (problem,) = catalog.problems_since("m.other", before)
    assert problem.column == ("b",)
    assert catalog.problems_since("m.other", table.state) == []
    assert len(catalog.view_problems("m.other")) == 2
