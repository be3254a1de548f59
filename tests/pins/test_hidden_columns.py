"""A column that a pin keeps has its name in errors, plans and differences, and says why it is there."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.schema_json import schema_from_json

COLUMNS = "id BIGINT, name STRING, place STRUCT<lat: INT, town: STRING>"


@pytest.fixture
def table() -> Table:
    table = Catalog(f"memory://{uuid4()}").create_table("people", COLUMNS)
    table.append(pa.table({"id": [1], "name": ["Ada"]}))
    table.pin_schema("app1", until=date(2027, 3, 31))
    table.alter().rename_column("name", "fullname").commit()
    return table


def test_reading_a_hidden_column_names_the_pin_that_shows_it(table: Table) -> None:
    table.alter().drop_column("fullname").drop_column("place.town").commit()
    known = (
        r"there is no column NAME; the columns are id, place\. It was dropped, and the schema pin app1 "
        r"\(until 2027-03-31\) still shows it: read it with schema='app1'"
    )
    with pytest.raises(NotFoundError, match=known):
        table.scan(["NAME"])
    with pytest.raises(NotFoundError, match=r"no column name; .*the schema pin app1"):
        table.scan(filters=[("name", "=", "Ada")])
    with pytest.raises(
        NotFoundError, match=r"place\.town; .*\. It was dropped, and the schema pin"
    ):
        table.scan(filters=[("place.town", "=", "Bonn")])
    with pytest.raises(NotFoundError, match="the schema pin app1"):
        table.delete([("name", "=", "Ada")])
    with pytest.raises(NotFoundError, match="the schema pin app1"):
        table.changes(0, columns=["name"])
    with pytest.raises(NotFoundError) as caught:
        table.scan(["nobody"])
    assert "pin" not in str(caught.value)
    assert table.seen_as("app1").scan(["name"]).to_arrow()["name"].to_pylist() == ["Ada"]
    table.retire_schema("app1")
    with pytest.raises(NotFoundError) as caught:
        table.refresh().scan(["name"])
    assert "pin" not in str(caught.value)


def test_a_column_has_its_pinned_name_in_what_a_rollback_takes_back(table: Table) -> None:
    before = table.version
    table.pin_schema("app2", table.state.schema_version)
    table.alter().drop_column("fullname").drop_column("place.town").commit()
    texts = [str(each) for each in table.differences(before, table.version)]
    assert texts[:2] == [
        "column fullname: fullname STRING becomes name STRING (hidden, for a pin)",
        "column place: place STRUCT<lat: INT, town: STRING> becomes "
        "place STRUCT<lat: INT, town: STRING> (hidden, for a pin: place.town)",
    ]


def test_a_hidden_column_may_be_called_as_one_that_was_added_later(table: Table) -> None:
    before = table.version
    table.alter().drop_column("fullname").drop_column("place.town").commit()
    table.alter().add_column("name", "INT").add_column("place.town", "INT").commit()
    columns = table.differences(before, table.version)
    assert [(each.name, each.after) for each in columns if each.before is None] == [
        ("name", "name INT")
    ]
    assert [each.after for each in columns if each.name == "fullname"] == [
        "name STRING (hidden, for a pin)"
    ]
    assert [hidden.path for hidden in table.state.hidden_columns] == [("name",), ("place", "town")]
    with pytest.raises(NotFoundError, match="there is no column nobody; the columns are"):
        table.scan(["nobody"])
    table.alter().add_check("known", "name > 0").commit()
    with pytest.raises(InvalidRequestError, match=r"known CHECK .*: name = 0;"):
        table.append(pa.table({"id": [2], "name": pa.array([0], pa.int32())}))


def test_a_plan_says_until_when_a_pin_keeps_a_column(table: Table) -> None:
    ddl = table.ddl(ids=True).replace("  fullname STRING,  -- id 2\n", "")
    plan = table.evolve_to(ddl, allow_drop=["fullname"], dry_run=True)
    assert plan.changes[0].pins == (
        "app1: stays, hidden, until it is retired (it was declared until 2027-03-31)",
    )


def test_lineage_has_the_last_name_of_a_hidden_column(table: Table) -> None:
    table.alter().drop_column("fullname").drop_column("place.town").commit()
    assert table.inspect.lineage(2)["path"].to_pylist() == ["name", "fullname", "fullname (hidden)"]
    assert table.inspect.lineage(5)["path"].to_pylist() == [
        "place.town",
        "place.town",
        "place.town (hidden)",
    ]


@pytest.mark.parametrize(
    ("members", "why"),
    [
        (
            {"partitioning": [{"source": 2, "transform": "identity"}]},
            r"partition or sort by b \(ID 2\)",
        ),
        ({"sort_by": [{"source": 2, "descending": False}]}, r"partition or sort by b \(ID 2\)"),
        ({"primary_key": [2]}, "column ID 2, which is hidden"),
    ],
)
def test_a_stored_schema_that_is_arranged_by_a_hidden_column_is_refused(
    members: dict[str, Any], why: str
) -> None:
    shown = {"id": 1, "name": "a", "type": "int", "nullable": True}
    hidden = {"id": 2, "name": "__hidden_2", "physical": "b", "type": "string", "nullable": False}
    hidden |= {"hidden": True, "write_default": {"value": "x"}}
    arrangement = {"primary_key": [], "time_index": None, "partitioning": [], "sort_by": []}
    stored = {"schema_version": 1, "columns": [shown, hidden]} | arrangement
    assert schema_from_json(stored).visible.names == ["a"]
    with pytest.raises(CorruptTableError, match=why):
        schema_from_json(stored | members)
