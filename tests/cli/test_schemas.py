"""``ddl``, ``plan`` and ``apply``: schema files, exit codes and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import Catalog

TABLE = """CREATE TABLE db.people (
  id INT NOT NULL COMMENT 'who',  -- id 1
  name STRING DEFAULT 'x',  -- id 2
  home STRUCT<  -- id 3
    zip: INT  -- id 4
  >
)
USING versioned
PARTITIONED BY (name)
COMMENT 'all of them'
TBLPROPERTIES (
  'sort_by' = 'id'
);
"""
FILE = Path("schemas/db/people.sql")


@pytest.fixture
def files(run: Run) -> Path:
    assert run("ddl", "--out", "schemas").code == 0
    return FILE


def replace(old: str, new: str) -> None:
    text = FILE.read_text()
    assert old in text
    FILE.write_text(text.replace(old, new))


def uuid_of(warehouse: Path) -> str:
    return Catalog(warehouse).load_table("db.people").state.table_uuid


def test_ddl_prints_and_writes(run: Run, files: Path, warehouse: Path) -> None:
    named = f"-- table {uuid_of(warehouse)}\n{TABLE}"
    assert run("ddl", "db.people", "--ids").out == named == files.read_text()
    assert "  home STRUCT<zip: INT>\n" in run("ddl").out
    assert run("ddl", "--ids", "--json").json == [{"table": "db.people", "ddl": named}]
    assert run("ddl", "db.nobody").code == 3


def test_plan_exits_by_what_there_is_to_do(run: Run, files: Path) -> None:
    assert run("plan", "schemas").code == 0
    replace("id INT NOT NULL", "id BIGINT NOT NULL")
    assert run("plan", "schemas").code == 7
    replace("  home STRUCT<  -- id 3\n    zip: INT  -- id 4\n  >\n", "")
    replace("DEFAULT 'x',", "DEFAULT 'x'")
    refused = run("plan", "schemas")
    assert refused.code == 4
    assert "Refused without --allow-drop home." in refused.out
    assert refused.err.startswith("error: db.people: the plan drops home with the values")
    assert run("plan", "schemas", "--allow-drop", "home").code == 7
    assert run("apply", "schemas").code == 4
    assert run("plan", "nowhere").code == 3
    assert run("plan").code == 2


def test_a_plan_as_json(run: Run, files: Path) -> None:
    replace("id INT NOT NULL", "id BIGINT NOT NULL")
    planned = run("plan", "schemas", "--json")
    assert planned.code == 7
    assert planned.json["changes"] == 1
    (plan,) = planned.json["plans"]
    (change,) = plan["changes"]
    assert change == {
        "kind": "widen",
        "column": "id",
        "column_id": 1,
        "detail": "id INT -> BIGINT",
        "sql": ["ALTER TABLE db.people ALTER COLUMN id TYPE BIGINT"],
        "safety": "safe",
        "segments": 0,
        "rows": 0,
        "pins": [],
        "surprise": "",
    }
    assert (plan["version"], plan["schema_version"], plan["new_schema_version"]) == (1, 0, 1)


def test_apply_writes_the_new_ids_and_keeps_the_header(
    run: Run, files: Path, warehouse: Path
) -> None:
    header = f"-- who we know\n\n-- table {uuid_of(warehouse)} production\n"
    files.write_text(header + TABLE)
    replace("  name STRING", "  age INT,\n  name STRING")
    assert run("apply", "schemas").code == 0
    assert files.read_text().startswith(f"{header}CREATE TABLE db.people (\n")
    assert "  age INT,  -- id 5\n" in files.read_text()
    assert run("plan", "schemas").code == 0


def test_a_plan_is_refused_if_the_table_was_altered_but_not_if_rows_were_written(
    run: Run, files: Path, warehouse: Path
) -> None:
    table = Catalog(warehouse).load_table("db.people")
    replace("id INT NOT NULL", "id BIGINT NOT NULL")
    assert run("plan", "schemas", "--out", "plan.json").code == 7
    table.delete([("id", "=", 1)])
    replace("id BIGINT NOT NULL", "id INT NOT NULL")  # the plan counts, not the file
    edited = files.read_text()
    applied = run("apply", "plan.json")
    assert applied.code == 0
    assert "is not the file that was planned, so it was left as it is" in applied.err
    assert files.read_text() == edited  # an edit is never overwritten
    assert table.refresh().schema.columns[0].type.name == "LONG"
    assert run("ddl", "--out", "schemas").code == 0
    replace("name STRING", "name STRING COMMENT 'n'")
    assert run("plan", "schemas", "--out", "plan.json").code == 7
    table.alter().add_column("x", "INT").commit()
    stale = run("apply", "plan.json")
    assert (stale.code, table.refresh().version) == (5, 4)
    assert "is at schema 2, but the plan in plan.json was made on schema 1" in stale.err


def test_a_plan_that_was_edited_is_refused(run: Run, files: Path) -> None:
    replace("id INT NOT NULL", "id BIGINT NOT NULL")
    run("plan", "schemas", "--out", "plan.json")
    document = json.loads(Path("plan.json").read_text())
    document["plans"][0]["changes"] = []
    Path("plan.json").write_text(json.dumps(document))
    assert run("apply", "plan.json").code == 5
    Path("plan.json").write_text("{}")
    assert run("apply", "plan.json").code == 4
    assert run("apply", "other.json").code == 3


def test_a_missing_file_drops_nothing_and_a_new_one_creates(
    run: Run, files: Path, warehouse: Path
) -> None:
    files.unlink()
    new = Path("schemas/shop/eu/orders.sql")
    new.parent.mkdir(parents=True)
    new.write_text(
        "CREATE TABLE shop.eu.orders (id INT, ts TIMESTAMP, n INT DEFAULT 3, PRIMARY KEY (id))\n"
        "TBLPROPERTIES ('time_index' = 'ts', 'a.b' = 'c') PARTITIONED BY (days(ts)) COMMENT 'o'"
    )
    planned = run("plan", "schemas")
    assert planned.code == 7
    assert planned.lines[0] == "shop.eu.orders new table"
    assert planned.lines[-1] == "Plan: 1 to create."
    assert run("apply", "schemas").code == 0
    table = Catalog(warehouse).load_table("shop.eu.orders")
    assert (table.primary_key, table.time_index, table.comment) == (["id"], "ts", "o")
    assert (table.partitioning, table.properties["a.b"]) == (["days(ts)"], "c")
    assert new.read_text() == table.ddl(ids=True)
    assert Catalog(warehouse).table_exists("db.people")
    assert run("plan", "schemas").code == 0


def test_two_files_of_one_table_are_refused(run: Run, files: Path) -> None:
    Path("schemas/again.sql").write_text(files.read_text())
    twice = run("plan", "schemas")
    assert twice.code == 4
    assert "are both of db.people; keep one of them" in twice.err


def test_an_error_names_the_file(run: Run, files: Path) -> None:
    replace("id INT NOT NULL", "id INTEGR NOT NULL")
    assert run("plan", "schemas").err.startswith(
        "error: schemas/db/people.sql: column id: unknown type INTEGR"
    )


def test_errors_of_a_file_name_the_line_and_show_it(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.sql"
    file.write_text("-- ours\nCREATE TABLE t (\n  id BIGINT,\n  n INTT\n)\n")
    done = run("plan", str(file))
    assert done.code == 4
    assert done.err == (
        f"error: {file}: column n: unknown type INTT, at line 4, column 5 ('n INTT')\n"
    )
    file.write_text("CREATE TABLE t (\n  id BIGINT\n  n INT\n)\n")
    assert "found n at line 3, column 3 ('n INT') of the CREATE TABLE" in run("plan", str(file)).err
