"""An ID that is left on the wrong line of a schema file renames nothing."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table


@pytest.fixture
def table() -> Table:
    catalog = Catalog(f"memory://{uuid4()}")
    table = catalog.create_table(
        "people", "id BIGINT, name STRING, home STRUCT<zip: INT, town: STRING>, city STRING"
    )
    table.append(pa.table({"id": [1], "name": ["Ada"], "city": ["Bonn"]}))
    return table


def edited(table: Table, *edits: tuple[str, str]) -> str:
    text = table.ddl(ids=True)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


NAME = "  name STRING,  -- id 2\n"


@pytest.mark.parametrize(
    "old, new, message",
    [
        # Enter after the comma, and a new column before the comment.
        (NAME, "  name STRING,\n  nick STRING,  -- id 2\n",
         "nick (line 5) has the comment -- id 2, which is name in the table, but there still is name "
         "(line 4), without an ID. Move the comment to name, or write -- new after name if it is "
         "another column from now on"),
        (NAME, "  nick STRING,  -- id 2\n  NAME STRING,\n", "Move the comment to NAME, or"),
        # Not an error about widening STRING to INT.
        (NAME, "  name STRING,\n  age INT,  -- id 2\n", "age (line 5) has the comment -- id 2"),
        ("    zip: INT,  -- id 4\n", "    zip: INT,\n    code: INT,  -- id 4\n",
         "home.code (line 7) has the comment -- id 4, which is home.zip in the table, but there still "
         "is home.zip (line 6), without an ID"),
    ],
)  # fmt: skip
def test_a_comment_that_was_left_behind_is_refused(
    table: Table, old: str, new: str, message: str
) -> None:
    ddl = edited(table, (old, new))
    for text in (ddl, ddl.partition("\n")[2]):  # also without the line that names the table
        with pytest.raises(InvalidRequestError) as caught:
            table.evolve_to(text, dry_run=True, allow_drop=["name"])
        expected = message
        if text != ddl:
            for line in range(3, 9):
                expected = expected.replace(f"(line {line})", f"(line {line - 1})")
        assert expected in str(caught.value)


def test_a_comment_in_a_renamed_struct_that_was_left_behind_is_refused(table: Table) -> None:
    ddl = edited(
        table,
        ("  home STRUCT<", "  place STRUCT<"),
        ("    town: STRING  -- id 5\n", "    town: STRING,\n    street: STRING  -- id 5\n"),
    )
    with pytest.raises(
        InvalidRequestError, match=r"place\.street .*which is home\.town .*place\.to"
    ):
        table.evolve_to(ddl)


def test_a_comment_after_the_other_line_says_that_it_is_another_column(table: Table) -> None:
    renamed = "  nick STRING,  -- id 2\n  name STRING,"
    new = edited(table, (NAME, f"{renamed}  -- new\n"))
    assert [change.kind for change in table.evolve_to(new, dry_run=True).changes] == [
        "rename",
        "add",
    ]
    city = (",\n  city STRING  -- id 6\n", "\n")
    table.evolve_to(edited(table, (NAME, f"{renamed}  -- was city\n"), city))
    rows = table.scan(["nick", "name"]).to_arrow().to_pylist()
    assert rows == [{"nick": "Ada", "name": "Bonn"}]


def test_a_rename_that_is_said_twice_is_certain(table: Table) -> None:
    moved = edited(table, (NAME, "  nick STRING,  -- id 2\n  name STRING,\n"))
    plan = table.evolve_to(moved, renames={"name": "nick"}, dry_run=True)
    assert [change.kind for change in plan.changes] == ["rename", "add"]
    said = edited(table, (NAME, "  nick STRING,  -- id 2, was name\n  name STRING,\n"))
    assert table.evolve_to(said, dry_run=True).sql == plan.sql
    with pytest.raises(InvalidRequestError, match="Move the comment to name"):
        table.evolve_to(said.replace("was name", "was town"), dry_run=True)


def test_a_line_with_an_id_in_another_table_is_another_column() -> None:
    staging, production = (
        Catalog(f"memory://{uuid4()}").create_table("t", "id BIGINT, name STRING") for _ in range(2)
    )
    uuids = [each.state.table_uuid for each in (staging, production)]
    lines = "".join(f"-- table {uuid}\n" for uuid in uuids)
    columns = "  id BIGINT,  -- id 1\n  nick STRING,  -- id 2\n  name STRING  -- id 3 | -\n"
    plan = production.evolve_to(f"{lines}CREATE TABLE t (\n{columns})", dry_run=True)
    assert [(change.kind, change.detail) for change in plan.changes] == [
        ("rename", "name -> nick"),
        ("add", "name STRING"),
    ]


def test_a_swap_of_names_is_not_called_safe(table: Table) -> None:
    swapped = edited(
        table,
        ("name STRING,  -- id 2", "city STRING,  -- id 2"),
        ("city STRING  -- id 6", "name STRING  -- id 6"),
    )
    plan = table.evolve_to(swapped, dry_run=True)
    assert [(change.detail, change.safety.value) for change in plan.changes] == [
        ("name -> name_2", "safe"),  # a name that no column has
        ("city -> name", "may surprise"),
        ("name_2 -> city", "may surprise"),
    ]
    assert (
        "may surprise: name is another column now (id 2); its readers get the values of city"
        in plan.text()
    )
    assert plan.to_json()["changes"][2]["surprise"] == (
        "city is another column now (id 6); its readers get the values of name"
    )
    table.evolve_to(swapped)
    assert table.scan(["name", "city"]).to_arrow().to_pylist() == [{"name": "Bonn", "city": "Ada"}]


def test_a_name_that_is_handed_on_is_not_called_safe(table: Table) -> None:
    passed = edited(
        table,
        ("    zip: INT,  -- id 4", "    ZIP_CODE: INT,  -- id 4"),
        ("    town: STRING  -- id 5", "    Zip: STRING  -- id 5"),
    )
    plan = table.evolve_to(passed, dry_run=True)
    assert [(change.detail, change.safety.value) for change in plan.changes] == [
        ("home.zip -> ZIP_CODE", "safe"),
        ("home.town -> Zip", "may surprise"),
    ]
    assert plan.changes[1].surprise.startswith("home.zip is another column now (id 4)")
    case = edited(table, ("  name STRING", "  NAME STRING"))
    assert [c.safety.value for c in table.evolve_to(case, dry_run=True).changes] == ["safe"]
