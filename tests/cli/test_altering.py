"""``alter``: each command makes the change that it is named after."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from versioned_catalog import Catalog, Table


def people(warehouse: Path) -> Table:
    return Catalog(warehouse).load_table("db.people")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("add n INT", "ADD COLUMN n INT"),
        ("add n INT --first", "ADD COLUMN n INT FIRST"),
        ("add n INT --after id", "ADD COLUMN n INT AFTER id"),
        ("add n INT --default -5", "ADD COLUMN n INT DEFAULT -5"),
        (
            "add n INT --default 1 --not-null --comment c",
            "ADD COLUMN n INT NOT NULL DEFAULT 1 COMMENT 'c'",
        ),
        ("add home.street STRING", "ADD COLUMN home.street STRING"),
        ("drop home", "DROP COLUMN home"),
        ("rename name first", "RENAME COLUMN name TO first"),
        ("type id BIGINT", "ALTER COLUMN id TYPE BIGINT"),
        ("move name --first", "ALTER COLUMN name FIRST"),
        ("move id --after name", "ALTER COLUMN id AFTER name"),
        ("set-not-null name", "ALTER COLUMN name SET NOT NULL"),
        ("drop-not-null id", "ALTER COLUMN id DROP NOT NULL"),
        ("drop-default name", "ALTER COLUMN name DROP DEFAULT"),
        ("comment name who", "ALTER COLUMN name COMMENT 'who'"),
        ("comment id", "ALTER COLUMN id COMMENT NULL"),
        ("set-property a b", "SET TBLPROPERTIES ('a' = 'b')"),
        ("unset-property sort_by", "UNSET TBLPROPERTIES ('sort_by')"),
        ("partition-by bucket(4,id) name", "PARTITIONED BY (bucket(4,id), name)"),
        ("partition-by", "PARTITIONED BY ()"),
    ],
)
def test_each_change(run: Run, arguments: str, message: str) -> None:
    done = run("alter", "db.people", *arguments.split())
    assert (done.code, done.out, done.err) == (0, "db.people is at version 2\n", "")
    last = run("history", "db.people", "--json").json[-1]
    assert last["changes"] == [message]


@pytest.mark.parametrize(
    "path, value, default",
    [
        ("id", "-5", "-5"),
        ("id", "7", "7"),
        ("name", "'it''s'", r"'it\'s'"),
        ("name", "NULL", None),
        ("home.zip", "1", "1"),
    ],
)
def test_set_default(run: Run, path: str, value: str, default: str | None) -> None:
    before = {row["path"]: row for row in run("schema", "db.people", "--json").json}
    assert run("alter", "db.people", "set-default", path, value).code == 0
    after = {row["path"]: row for row in run("schema", "db.people", "--json").json}
    assert after[path]["write_default"] == default
    assert after[path]["read_default"] == before[path]["read_default"]


def test_json_output(run: Run) -> None:
    done = run("alter", "db.people", "drop", "home", "--json")
    assert done.json == {"table": "db.people", "version": 2}
    done = run("--json", "alter", "db.people", "rename", "name", "n")
    assert done.json == {"table": "db.people", "version": 3}


def test_a_dropped_column_does_not_come_back(run: Run, warehouse: Path) -> None:
    homes = pa.array([{"zip": 5}], pa.struct({"zip": pa.int32()}))
    people(warehouse).append(pa.table({"id": pa.array([3], pa.int32()), "home": homes}))
    run("alter", "db.people", "drop", "home")
    run("alter", "db.people", "add", "home", "STRING", "--default", "'new'")
    assert people(warehouse).scan(["home"]).to_arrow().to_pylist() == [{"home": "new"}] * 3


@pytest.mark.parametrize(
    "arguments, code",
    [
        ("add id INT", 4),
        ("add n NOTYPE", 4),
        ("add n INT --default 'x'", 4),
        ("add n INT --default 1+1", 4),
        ("add n INT --not-null", 4),
        ("add n INT --first --after id", 2),
        ("move id", 2),
        ("move id --first --after name", 2),
        ("drop nobody", 3),
        ("type name INT", 4),
        ("set-default nobody 5", 3),
        ("set-default id 'x'", 4),
        ("set-default id 5 --bogus", 2),
        ("set-not-null home", 4),
        ("set-property target_segment_bytes x", 4),
        ("explode", 2),
        ("", 2),
    ],
)
def test_a_refused_change_commits_nothing(
    run: Run, warehouse: Path, arguments: str, code: int
) -> None:
    done = run("alter", "db.people", *arguments.split())
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert people(warehouse).version == 1


def test_a_drop_under_a_pin_says_that_the_column_is_hidden(run: Run, warehouse: Path) -> None:
    run("alter", "db.people", "add", "nick", "STRING")
    run("alter", "db.people", "drop", "home")
    run("pin", "set", "db.people", "app1", "--until", "2027-03-31")
    run("alter", "db.people", "rename", "nick", "alias")
    assert run("describe", "db.people", "--json").json["hidden_columns"] == []
    text = "nick is hidden, since the schema pin app1 (until 2027-03-31) needs it"
    dropped = run("alter", "db.people", "drop", "alias")
    assert dropped.out == "db.people is at version 6\n"
    assert (
        dropped.err
        == f"note: alias {text[5:]}; it is dropped for good when no pin needs it any more\n"
    )
    assert run("describe", "db.people", "--json").json["hidden_columns"] == [text]
    assert f"hidden_columns {text}" in run("describe", "db.people").lines
    shown = run("schema", "db.people")
    assert shown.err == f"note: {text}\n"
    assert "nick" not in shown.out
    assert run("schema", "db.people", "--as-of", "2").err == ""
    run("alter", "db.people", "add", "later", "INT")
    assert run("alter", "db.people", "drop", "later").err == ""
