"""An ALTER that changes nothing makes no commit (FORMAT.md, section 11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyspark_versioned.sql.dispatch import respond
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.alteration import Alteration
from versioned_catalog.model.types import Now

DDL = (
    "k INT NOT NULL DEFAULT 5 COMMENT 'here', s STRUCT<x: INT, y: VARCHAR(5)>, "
    "t TIMESTAMP DEFAULT current_timestamp(), d DECIMAL(4,2) DEFAULT 1.5"
)
Step = Callable[[Alteration], Alteration]


def makes_no_commit(table: Table, step: Step) -> bool:
    """Return whether an ALTER makes no commit and leaves the schema as it is."""
    version, schema = table.version, table.schema
    returned = step(table.alter()).commit()
    reread = Catalog.load_path(table.location)
    assert returned == table.version == reread.version
    return returned == version and reread.schema == schema


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog.create_path(
        tmp_path / "t",
        DDL,
        partitioned_by=["k"],
        properties={"sort_by": "k", "a": "1"},
        comment="all",
    )


@pytest.mark.parametrize(
    "step",
    [
        lambda a: a.rename_column("k", "k"),
        lambda a: a.rename_column("s.x", "x"),
        lambda a: a.set_not_null("k"),
        lambda a: a.drop_not_null("s.x"),
        lambda a: a.change_type("k", "INT"),
        lambda a: a.change_type("s.y", "VARCHAR(5)"),
        lambda a: a.set_comment("k", "here"),
        lambda a: a.set_comment("s.x", None),
        lambda a: a.set_default("k", 5),
        lambda a: a.set_default("d", "1.50"),
        lambda a: a.set_default("t", Now.TIMESTAMP),
        lambda a: a.set_default("s.x", None),
        lambda a: a.drop_default("s"),
        lambda a: a.move_column("k", first=True),
        lambda a: a.move_column("s", after="k"),
        lambda a: a.set_property("a", "1"),
        lambda a: a.set_property("sort_by", "k"),
        lambda a: a.set_property("comment", "all"),
        lambda a: a.unset_property("b"),
        lambda a: a.set_partitioning(["k"]),
        lambda a: a.rename_column("k", "l").rename_column("l", "k"),
        lambda a: a.set_property("b", "2").unset_property("b"),
        lambda a: a.drop_default("k").set_default("k", 5),
        lambda a: a.drop_not_null("k").set_not_null("k"),
        lambda a: a.add_column("n", "INT").drop_column("n"),
        lambda a: a.move_column("d", first=True).move_column("d", after="t"),
    ],
)
def test_an_alter_that_changes_nothing_makes_no_commit(table: Table, step: Step) -> None:
    assert makes_no_commit(table, step)


@pytest.mark.parametrize(
    "step",
    [
        lambda a: a.rename_column("k", "K"),
        lambda a: a.set_default("s.x", 0),
        lambda a: a.set_property("a", "1 "),
        lambda a: a.set_property("comment", "All"),
        lambda a: a.unset_property("comment"),
        lambda a: a.set_comment("k", ""),
        lambda a: a.drop_column("s.x").add_column("s.x", "INT"),
    ],
)
def test_a_small_change_is_committed(table: Table, step: Step) -> None:
    assert not makes_no_commit(table, step)


def test_a_column_added_and_dropped_by_one_alter_uses_no_id(table: Table) -> None:
    assert makes_no_commit(table, lambda a: a.add_column("n", "INT").drop_column("n"))
    free = table.state.next_column_id
    table.alter().add_column("n", "INT").commit()
    assert table.schema.get(("n",)).id == free
    assert table.schema.get(("n",)).physical_name == "n"


def test_a_rebase_over_the_same_change_makes_no_commit(table: Table) -> None:
    late = Catalog.load_path(table.location)
    table.alter().unset_property("a").rename_column("s", "z").set_default("k", 6).commit()
    assert late.version < table.version
    returned = late.alter().unset_property("a").rename_column("s", "z").set_default("k", 6).commit()
    assert returned == table.version == Catalog.load_path(table.location).version


def test_a_change_that_others_undid_is_committed_again(table: Table) -> None:
    late = Catalog.load_path(table.location)
    table.alter().unset_property("a").set_comment("k", "there").commit()
    late.alter().set_property("a", "1").set_comment("k", "here").commit()
    assert late.version == table.version + 1
    assert late.properties["a"] == "1"
    assert late.schema.get(("k",)).comment == "here"


def test_setting_a_property_to_its_value_with_ttl_makes_no_commit(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t",
        "k INT, ts TIMESTAMP",
        primary_key=["k"],
        time_index="ts",
        properties={"ttl": "1 day"},
    )
    assert makes_no_commit(table, lambda a: a.set_property("ttl", "1 day"))
    assert makes_no_commit(table, lambda a: a.set_not_null("k"))


def test_the_comment_of_a_table_is_set_and_removed(table: Table) -> None:
    """COMMENT ON TABLE sets a property; IS NULL comes as an empty text."""
    for text, shown in (("new", "new"), ("", None), ("again", "again")):
        table.alter().set_property("comment", text).commit()
        reread = Catalog.load_path(table.location)
        assert (table.comment, reread.comment) == (shown, shown)
        assert "comment" not in reread.properties
        assert makes_no_commit(table, lambda a, text=text: a.set_property("comment", text))
    table.alter().unset_property("comment").commit()
    assert Catalog.load_path(table.location).comment is None
    assert table.as_of(0).comment == "all"


def test_the_comment_of_a_new_table_may_be_a_property(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    made = catalog.create_table("t", "a INT", properties={"comment": "c", "k": "v"})
    assert (made.comment, made.properties) == ("c", {"k": "v"})
    assert catalog.clone_table("u", "t", properties={"comment": "d"}).comment == "d"
    assert catalog.clone_table("v", "t").comment == "c"
    with pytest.raises(InvalidRequestError, match="leave one out"):
        catalog.create_table("w", "a INT", properties={"comment": "c"}, comment="d")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "drop_column", "path": ["none"], "if_exists": True},
        {"kind": "rename_column", "path": ["k"], "new_name": "k"},
        {"kind": "set_nullable", "path": ["k"], "nullable": False},
        {"kind": "change_type", "path": ["k"], "type": "integer"},
        {"kind": "set_comment", "path": ["k"], "comment": "here"},
        {"kind": "move_column", "path": ["k"], "first": True, "after": None},
        {"kind": "drop_default", "path": ["s"]},
        {"kind": "set_property", "key": "a", "value": "1"},
        {"kind": "set_property", "key": "comment", "value": "all"},
        {"kind": "unset_property", "key": "b"},
    ],
)
def test_sql_that_changes_nothing_makes_no_commit(tmp_path: Path, change: dict[str, Any]) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", DDL, properties={"a": "1"}, comment="all")
    where = {
        "name": "versioned",
        "warehouse": str(tmp_path),
        "storage": {},
        "schema_label": None,
        "wap_branch": None,
        "wap_id": None,
    }
    request = {
        "request": "alter",
        "body": {"catalog": where, "name": ["n", "t"], "changes": [change]},
        "commit": {"id": "c" * 36, "retry": False, "by": {}},
    }
    response = json.loads(respond(request))
    assert (
        response["response"]["table"]["table"]["version"]
        == table.version
        == table.refresh().version
    )


def test_setting_namespace_properties_to_their_values_makes_no_commit(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n", properties={"a": "1"})
    log = tmp_path / "_versioned" / "log"
    entries = len(list(log.iterdir()))
    catalog.alter_namespace("n", {"a": "1"}, ["b"])
    assert len(list(log.iterdir())) == entries
    catalog.alter_namespace("n", {"a": "2"})
    assert len(list(log.iterdir())) == entries + 1
    assert catalog.namespace_properties("n") == {"a": "2"}
