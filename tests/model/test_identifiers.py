"""Identifier fields: which columns can be declared to identify a row, and what they are afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)

COLUMNS = (
    "id BIGINT NOT NULL, day DATE NOT NULL, name STRING, x DOUBLE NOT NULL, "
    "s STRUCT<a: INT NOT NULL, b: INT> NOT NULL, o STRUCT<a: INT NOT NULL>, l ARRAY<INT> NOT NULL"
)
FIELDS = "identifier_fields"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


@pytest.fixture
def table(catalog: Catalog) -> Table:
    return catalog.create_table("n.t", COLUMNS)


def declare(table: Table, fields: str) -> None:
    table.alter().set_property(FIELDS, fields).commit()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("name", "may be null"),
        ("s.b", "may be null"),
        ("o.a", "may be null"),
        ("x", "not exact"),
        ("s", "not simple"),
        ("l", "not simple"),
        ("l.element", "inside a list or map"),
        ("id, name", "may be null"),
    ],
)
def test_what_can_not_identify_a_row(table: Table, fields: str, reason: str) -> None:
    with pytest.raises(
        InvalidRequestError, match=f"can't be an identifier field, since .*{reason}"
    ):
        declare(table, fields)
    with pytest.raises(NotFoundError, match="other"):
        declare(table, "id, other")
    assert FIELDS not in table.properties


def test_they_follow_their_columns(table: Table) -> None:
    declare(table, "s.a, id")
    assert table.properties[FIELDS] == "s.a, id"
    assert table.state.properties["__identifier_fields"] == "6 1"
    table.alter().rename_column("id", "key").rename_column("s.a", "c").commit()
    assert table.properties[FIELDS] == "s.c, key"
    assert "'identifier_fields' = 's.c, key'" in table.ddl()
    for change in (
        lambda alter: alter.drop_column("key"),
        lambda alter: alter.drop_column("s"),
        lambda alter: alter.drop_not_null("key"),
        lambda alter: alter.drop_not_null("s"),
        lambda alter: alter.change_type("s.c", "DOUBLE"),
    ):
        with pytest.raises(InvalidRequestError, match="DROP IDENTIFIER FIELDS"):
            change(table.alter()).commit()
    table.alter().drop_column("key").set_property(FIELDS, "s.c").commit()
    table.alter().add_column("key", "BIGINT").commit()
    assert table.properties[FIELDS] == "s.c"
    table.alter().unset_property(FIELDS).commit()
    assert FIELDS not in table.properties
    table.alter().drop_column("s").commit()


def test_statements_of_them(table: Table) -> None:
    def run(*statements: str) -> str | None:
        table.alter_sql("; ".join(f"ALTER TABLE n.t {text}" for text in statements)).commit()
        return table.refresh().properties.get(FIELDS)

    assert run("SET IDENTIFIER FIELDS id, s.a") == "id, s.a"
    assert run("drop identifier fields id") == "s.a"
    assert run("ADD COLUMN k INT NOT NULL DEFAULT 1", "SET IDENTIFIER FIELDS k, day") == "k, day"
    assert run("RENAME COLUMN k TO key", "DROP IDENTIFIER FIELDS key") == "day"
    with pytest.raises(InvalidRequestError, match="id is no identifier field; these are: day"):
        run("DROP IDENTIFIER FIELDS id")
    assert run("DROP IDENTIFIER FIELDS day") is None


def test_they_enforce_nothing(table: Table) -> None:
    table.alter().drop_column("s").drop_column("o").drop_column("l").commit()
    declare(table, "id")
    rows = pa.table(
        {
            "id": pa.array([1, 1], pa.int64()),
            "day": pa.array([0, 0], pa.date32()),
            "name": ["a", "a"],
            "x": [1.0, 1.0],
        }
    )
    table.append(rows)
    assert table.scan().to_arrow()["id"].to_pylist() == [1, 1]


def test_a_primary_key_is_what_identifies_a_row(catalog: Catalog) -> None:
    table = catalog.create_table("n.k", COLUMNS, primary_key=["id"])
    declare(table, "id")
    assert FIELDS not in table.properties
    for fields in ("day", "id, day"):
        with pytest.raises(InvalidRequestError, match="primary key"):
            declare(table, fields)


def test_of_a_new_table_and_of_a_plan(catalog: Catalog, table: Table) -> None:
    new = catalog.create_table("n.u", COLUMNS, properties={FIELDS: "id"})
    assert new.properties[FIELDS] == "id"
    copy = catalog.clone_table("n.c", "n.u")
    assert copy.properties[FIELDS] == "id"
    with pytest.raises(InvalidRequestError, match="__identifier_fields"):
        table.alter().set_property("__identifier_fields", "1").commit()
    before = table.version
    declare(table, "id")
    assert [str(d) for d in table.differences(before, table.version)] == [
        "property identifier_fields is added: id"
    ]
    table.rollback(before)
    assert FIELDS not in table.properties


def test_both_sides_of_a_branch(table: Table) -> None:
    """One side drops a column that the other declares."""
    table.create_branch("b")
    declare(table, "id")
    branch = table.branch("b")
    branch.alter().drop_column("id").commit()
    with pytest.raises(
        CommitConflictError, match="id is an identifier field of one side, and it was"
    ):
        table.refresh().merge_branch("b")
    table.alter().unset_property(FIELDS).commit()
    table.merge_branch("b")
    assert "id" not in table.schema.names
    assert FIELDS not in table.properties


def test_iceberg_gets_them(table: Table) -> None:
    table.alter().set_property("publish", "iceberg").commit()

    def published() -> object:
        newest = max(
            Path(table.location).rglob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns
        )
        document = json.loads(newest.read_text())
        (schema,) = (
            s for s in document["schemas"] if s["schema-id"] == document["current-schema-id"]
        )
        return schema.get("identifier-field-ids")

    assert published() is None
    declare(table, "id, day")
    assert published() == [1, 2]
    declare(table, "day")
    assert published() == [2]
    table.alter().unset_property(FIELDS).commit()
    assert published() is None
