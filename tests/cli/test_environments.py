"""Schema files that serve several environments: tables of one name, with other UUIDs and IDs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from versioned_catalog import Catalog, Table

FILE = Path("schemas/db/t.sql")


@pytest.fixture
def staging(warehouse: Path) -> Table:
    """Here ``a`` has ID 1 and ``b`` ID 2."""
    return table_of("staging", "a STRING, b STRING")


@pytest.fixture
def production(warehouse: Path) -> Table:
    """Here ``b`` has ID 1 and ``a`` ID 2; both hold their own name."""
    table = table_of("production", "b STRING, a STRING")
    table.append(pa.table({"a": ["a"], "b": ["b"]}))
    return table


def table_of(folder: str, columns: str) -> Table:
    catalog = Catalog(folder)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", columns)


def edit(old: str, new: str) -> None:
    text = FILE.read_text()
    assert text.count(old) == 1, text
    FILE.write_text(text.replace(old, new))


def rows(table: Table) -> list[dict[str, object]]:
    return table.refresh().scan().to_arrow().to_pylist()


def uuid_of(table: Table) -> str:
    return table.state.table_uuid


def test_ids_of_another_table_swap_no_columns(run: Run, staging: Table, production: Table) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    planned = run("--warehouse", "production", "plan", "schemas")
    assert (
        f"! the column IDs in the statement are those of another table ({uuid_of(staging)}); columns "
        "are found by name"
    ) in planned.out
    assert "rename" not in planned.out
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    assert rows(production) == [{"a": "a", "b": "b"}]


def test_a_file_without_a_table_whose_ids_contradict_its_names_is_refused(
    run: Run, staging: Table, production: Table
) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    FILE.write_text(FILE.read_text().partition("\n")[2])  # as an earlier release wrote it
    refused = run("--warehouse", "production", "apply", "schemas")
    assert refused.code == 4
    assert "a has the comment -- id 1, which is b in this table" in refused.err
    assert f"write -- table {uuid_of(production)} as the first line" in refused.err
    assert production.refresh().version == 1
    # In the table that it was written from, it goes on to be applied, and names the table then.
    assert run("--warehouse", "staging", "apply", "schemas").code == 0
    assert FILE.read_text().startswith(f"-- table {uuid_of(staging)}\n")


def test_one_file_serves_two_tables(run: Run, staging: Table, production: Table) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    run("--warehouse", "production", "apply", "schemas")
    assert FILE.read_text() == (
        f"-- table {uuid_of(staging)}\n-- table {uuid_of(production)}\n"
        "CREATE TABLE db.t (\n  a STRING,  -- id 1 | 2\n  b STRING  -- id 2 | 1\n)\nUSING versioned;\n"
    )
    edit("  a STRING,  -- id 1 | 2", "  c STRING,  -- id 1 | 2\n  n INT,")
    for environment in ("staging", "production"):
        applied = run("--warehouse", environment, "apply", "schemas")
        assert (applied.code, "rename a -> c" in " ".join(applied.lines)) == (0, True)
        if environment == "staging":
            assert "  n INT,  -- id 3 | -\n" in FILE.read_text()
    assert rows(production) == [{"c": "a", "n": None, "b": "b"}]
    assert "  n INT,  -- id 3\n" in FILE.read_text()  # the same in both
    before = FILE.read_text()
    for environment in ("staging", "production"):
        assert run("--warehouse", environment, "plan", "schemas").code == 0
        assert run("--warehouse", environment, "ddl", "--out", "schemas").code == 0
    assert FILE.read_text() == before


def test_an_earlier_name_stays_until_every_table_has_the_id(
    run: Run, staging: Table, production: Table
) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    run("--warehouse", "production", "apply", "schemas")
    edit("  a STRING,  -- id 1 | 2", "  c STRING,  -- was a")
    assert run("--warehouse", "staging", "apply", "schemas").code == 0
    assert "  c STRING,  -- id 1 | -, was a\n" in FILE.read_text()
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    assert "  c STRING,  -- id 1 | 2\n" in FILE.read_text()
    assert rows(production) == [{"c": "a", "b": "b"}]


def test_a_column_that_was_made_anew_in_one_table_is_not_that_of_another(
    run: Run, staging: Table, production: Table
) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    run("--warehouse", "production", "apply", "schemas")
    staging.alter().drop_column("a").add_column("a", "STRING").commit()
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    assert "  b STRING,  -- id 2 | 1\n  a STRING  -- id 3 | -\n" in FILE.read_text()


def test_nested_columns_keep_the_ids_of_every_table(run: Run, warehouse: Path) -> None:
    columns = "tags ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>"
    table_of("staging", columns)
    table_of("production", f"z INT, {columns}").alter().drop_column("z").commit()
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    lines = FILE.read_text().splitlines()[3:7]
    assert lines == [
        "  tags ARRAY<STRUCT<  -- id 1, 2 | 2, 3",
        "    x: INT  -- id 3 | 4",
        "  >>,",
        "  m MAP<STRING, INT>  -- id 4, 5, 6 | 5, 6, 7",
    ]
    edit("    x: INT  -- id 3 | 4", "    y: BIGINT,  -- id 3 | 4\n    w: INT")
    for environment in ("staging", "production"):
        assert run("--warehouse", environment, "apply", "schemas").code == 0
        assert run("--warehouse", environment, "plan", "schemas").code == 0
    assert "    w: INT  -- id 7 | 8\n" in FILE.read_text()


def test_a_replaced_table_is_another_one(run: Run, production: Table) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    Catalog("production").replace_table("db.t", "a STRING, b STRING")
    planned = run("--warehouse", "production", "plan", "schemas", "--json")
    assert [change["kind"] for change in planned.json["plans"][0]["changes"]] == ["move"]
    assert "are those of another table" in planned.json["plans"][0]["notes"][0]


def test_a_renamed_table_is_not_created_again(run: Run, production: Table) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    Catalog("production").rename_table("db.t", "db.u")
    refused = run("--warehouse", "production", "plan", "schemas")
    assert refused.code == 4
    assert f"the table {uuid_of(production)} of the file is db.u now" in refused.err


def test_wrong_lines_are_refused(run: Run, production: Table) -> None:
    own = f"-- table {uuid_of(production)}\n"
    other = f"-- table {'0' * 8}-0000-0000-0000-{'0' * 12}\n"
    FILE.parent.mkdir(parents=True)
    for header, comment, message in (
        ("-- table 12ab-34\n", "-- id 1", "-- table 12ab-34 names no table: a UUID has 32"),
        (own + own, "-- id 1", "is given twice; keep one of them"),
        (own, "-- id 1 | 2", "gives IDs of 2 tables, but 1 lines -- table UUID say which"),
        ("", "-- id 1 | 2", "gives IDs of 2 tables, but no lines -- table UUID say which"),
        (own + other, "-- id 1 |", "has no IDs after its last bar"),
        (own + other, "-- id 1 | 2, 3", "names more columns than begin on that line"),
        (own + other, "-- id 7 | 1", "the table has no such column"),
    ):
        FILE.write_text(f"{header}CREATE TABLE db.t (\n  b STRING,  {comment}\n  a STRING\n)")
        refused = run("--warehouse", "production", "plan", "schemas")
        assert (refused.code, message in refused.err) == (4, True), refused.err


def test_a_column_is_dropped_and_added_again_in_one_plan(
    run: Run, staging: Table, production: Table
) -> None:
    run("--warehouse", "staging", "ddl", "--out", "schemas")
    run("--warehouse", "production", "apply", "schemas")
    edit("  a STRING,  -- id 1 | 2", "  a STRING,  -- new")
    refused = run("--warehouse", "staging", "apply", "schemas")
    assert (refused.code, "drops a with the values" in refused.err) == (4, True)
    for environment in ("staging", "production"):
        done = run("--warehouse", environment, "apply", "schemas", "--allow-drop", "a")
        assert done.code == 0, done.err
        text = FILE.read_text()
        if environment == "staging":
            assert "  a STRING,  -- id 3 | -, new\n" in text
    assert "  a STRING,  -- id 3\n" in text
    assert rows(production) == [{"a": None, "b": "b"}]
    # A plan that is made again with the same options drops nothing more.
    again = run("--warehouse", "production", "plan", "schemas", "--allow-drop", "a")
    assert (again.code, again.out) == (0, "Plan: nothing to change.\n")


def test_a_column_gets_a_type_that_it_can_not_become_if_its_drop_is_allowed(
    run: Run, production: Table
) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    edit("  a STRING  -- id 2", "  a BIGINT")
    assert (
        "can't change from STRING to BIGINT"
        in run("--warehouse", "production", "plan", "schemas").err
    )
    planned = run("--warehouse", "production", "plan", "schemas", "--sql", "--allow-drop", "a")
    assert [line for line in planned.lines if line.startswith("ALTER")] == [
        "ALTER TABLE db.t DROP COLUMN a;",
        "ALTER TABLE db.t ADD COLUMN a BIGINT;",
    ]
    assert run("--warehouse", "production", "apply", "schemas", "--allow-drop", "a").code == 0
    assert rows(production) == [{"b": "b", "a": None}]


def test_the_only_column_is_dropped_and_added_again(run: Run, warehouse: Path) -> None:
    table = table_of("production", "a STRING")
    table.append(pa.table({"a": ["a"]}))
    ddl = "CREATE TABLE db.t (a INT)"
    plan = table.evolve_to(ddl, allow_drop=["a"])
    assert plan.refused == ()
    assert rows(table) == [{"a": None}]
    assert str(table.schema) == "a INT"


def test_a_plan_names_the_views_that_break(run: Run, production: Table) -> None:
    catalog = Catalog("production")
    catalog.create_view("db.v", "SELECT a FROM t", "a STRING", reads={"db.t": ["a"]})
    catalog.create_view("db.w", "SELECT b FROM t", "b STRING", reads={"db.t": ["b"]})
    run("--warehouse", "production", "ddl", "--out", "schemas")
    edit("  a STRING  -- id 2", "  c STRING  -- id 2")
    planned = run("--warehouse", "production", "plan", "schemas")
    assert (
        "  ! breaks a view: the view db.v reads the column a (ID 2) of db.t, which is now named c; "
    ) in planned.out
    assert "db.w" not in planned.out
    assert run("--warehouse", "production", "plan", "schemas", "--json").json["plans"][0]["views"]
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    (problem,) = catalog.view_problems("db.t")
    assert planned.out.count(problem.text) == 1
    # A view that is broken already is not broken by the next plan.
    edit("  c STRING  -- id 2", "  d STRING  -- id 2")
    assert "breaks a view" not in run("--warehouse", "production", "plan", "schemas").out


def test_a_new_table_may_not_take_the_name_of_a_view(run: Run, production: Table) -> None:
    Catalog("production").create_view("db.v", "SELECT 1", "one INT")
    Path("v.sql").write_text("CREATE TABLE db.v (a INT)")
    refused = run("--warehouse", "production", "plan", "v.sql")
    assert (refused.code, "db.v is a view; choose another name" in refused.err) == (4, True)


def test_properties_of_others_are_shown_before_they_are_unset(run: Run, production: Table) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    edit("USING versioned;", "USING versioned\nTBLPROPERTIES ('a.b' = '1', 'c.d' = '1');")
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    production.refresh().alter().set_property("x.y", "it's").set_property("a.b", "2").commit()
    production.alter().unset_property("c.d").commit()
    drift = run("--warehouse", "production", "plan", "schemas", "--json").json["plans"][0]["drift"]
    assert drift == [
        "ALTER TABLE db.t SET TBLPROPERTIES ('a.b' = '2')",
        "ALTER TABLE db.t UNSET TBLPROPERTIES ('c.d')",
        "ALTER TABLE db.t SET TBLPROPERTIES ('x.y' = 'it\\'s')",
    ]
    assert run("--warehouse", "production", "apply", "schemas").code == 0
    assert production.refresh().properties == {"a.b": "1", "c.d": "1", "applied_schema": "0"}
    assert run("--warehouse", "production", "plan", "schemas").out == "Plan: nothing to change.\n"


def test_a_column_that_others_dropped_and_added_again_is_drift(production: Table) -> None:
    production.evolve_to(production.ddl(ids=True).replace("b STRING", "b STRING COMMENT 'x'"))
    ddl = production.ddl(ids=True)
    production.alter().drop_column("a").add_column("a", "STRING").commit()
    assert production.evolve_to(ddl.replace("  -- id 2", ""), dry_run=True).drift == (
        "ALTER TABLE db.t DROP COLUMN a",
        "ALTER TABLE db.t ADD COLUMN a STRING",
    )


def test_plans_that_are_stale_or_damaged_change_nothing(run: Run, production: Table) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    edit("USING versioned;", "USING versioned\nTBLPROPERTIES ('a.b' = '1');")
    assert run("--warehouse", "production", "plan", "schemas", "--out", "plan.json").code == 7
    document = json.loads(Path("plan.json").read_text())
    production.alter().set_property("a.b", "2").commit()
    stale = run("--warehouse", "production", "apply", "plan.json")
    assert (stale.code, "its properties were changed since the plan" in stale.err) == (5, True)
    for damage in (
        {"ddl": None},
        {"file": 1},
        {"renames": []},
        {"changes": [{"sql": 1}]},
        {"allow_drop": "a"},
        {"properties": {"a": 1}},
        {"schema_version": "0"},
    ):
        (plan,) = document["plans"]
        Path("bad.json").write_text(json.dumps({"plans": [{**plan, **damage}]}))
        refused = run("--warehouse", "production", "apply", "bad.json")
        assert (refused.code, "bad.json is not a plan" in refused.err) == (4, True), damage
    for text in ("", "[]", "{", '"x"', "[" * 100_000):
        Path("bad.json").write_text(text)
        assert run("--warehouse", "production", "apply", "bad.json").code == 4
    production.alter().unset_property("a.b").commit()
    Catalog("production").drop_table("db.t")
    gone = run("--warehouse", "production", "apply", "plan.json")
    assert (gone.code, "db.t was dropped since the plan" in gone.err) == (5, True)


def test_a_table_that_was_created_since_the_plan_is_left_alone(run: Run, production: Table) -> None:
    Path("u.sql").write_text("CREATE TABLE db.u (a INT)")
    run("--warehouse", "production", "plan", "u.sql", "--out", "plan.json")
    Catalog("production").create_table("db.u", "a INT")
    refused = run("--warehouse", "production", "apply", "plan.json")
    assert (refused.code, "db.u was created since the plan" in refused.err) == (5, True)


def test_a_plan_does_not_write_a_file_that_is_gone_or_was_never_planned(
    run: Run, production: Table
) -> None:
    run("--warehouse", "production", "ddl", "--out", "schemas")
    edit("  b STRING", "  n INT,\n  b STRING")
    run("--warehouse", "production", "plan", "schemas", "--out", "plan.json")
    FILE.unlink()
    done = run("--warehouse", "production", "apply", "plan.json", "--json")
    assert (done.code, done.json["plans"][0]["file_written"], FILE.exists()) == (0, False, False)


def test_a_ttl_that_hides_rows_is_not_safe(warehouse: Path) -> None:
    table = Catalog("production").create_table(
        "t", "id INT, ts TIMESTAMP", primary_key=["id"], time_index="ts"
    )
    old, young = (
        pa.scalar(0, pa.timestamp("us", "UTC")),
        pa.scalar(4_000_000_000_000_000, pa.timestamp("us", "UTC")),
    )
    for number, time in enumerate([old, young]):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "ts": pa.array([time])}))

    def planned(ttl: str | None, **options: object) -> list[tuple[str, int, int]]:
        ddl = table.ddl(ids=True).partition("TBLPROPERTIES")[0].rstrip(";\n ")
        own = "" if ttl is None else f", 'ttl' = '{ttl}'"
        ddl += f"\nTBLPROPERTIES ('time_index' = 'ts'{own})"
        plan = table.evolve_to(ddl, dry_run=True, **options)  # type: ignore[arg-type]
        assert plan.refused == tuple(
            f"ttl = {ttl}"
            for one in plan.changes
            if one.safety.value == "destructive" and not options
        )
        if not plan.refused:
            table.evolve_to(ddl, **options)  # type: ignore[arg-type]
        return [(one.safety.value, one.segments, one.rows) for one in plan.changes]

    assert planned("30 days") == [("destructive", 1, 1)]
    assert table.refresh().count() == 2
    assert planned("30 days", allow_drop=["ttl=720 hours"]) == [("destructive", 1, 1)]
    assert table.refresh().count() == 1
    assert planned("60 days") == [("safe", 0, 0)]
    assert planned("59 days", allow_drop=["ttl = 58 days", "ttl = 59 days"])[0][0] == "destructive"
    assert planned(None) == [("safe", 0, 0)]
