"""The commands that people expect: create, drop, query, diff, tail, config, completion."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.conftest import Run
from cli.test_process import START
from versioned_catalog import Catalog, NotFoundError, committed_by
from versioned_catalog.model.transforms import parse_transform, shown_value

SECRET = "a-secret-that-nothing-may-show"


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int32())})


# create and drop


def test_a_name_in_a_printed_command_runs_nothing(run: Run, warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    catalog.create_table(("touch pwned",), "id INT").create_branch("b")
    done = run("drop", "`touch pwned`.branch_b")
    assert done.err.endswith("drop it with: versioned branch drop '`touch pwned`' b\n"), done.err
    assert run("branch", "drop", "`touch pwned`", "b").code == 0
    done = run("drop", "`touch pwned`")
    assert done.out == (
        "`touch pwned` is dropped; versioned undrop '`touch pwned`' brings it back\n"
    )


def test_a_table_is_created_dropped_and_brought_back(run: Run, warehouse: Path) -> None:
    options = ["--partitioned-by", "bucket(4, id)", "--primary-key", "id", "--time-index", "ts"]
    options += ["--set", "team=ops", "--comment", "all"]
    done = run("create", "db.t", "id INT, ts TIMESTAMP, n INT DEFAULT 4", *options)
    assert (done.code, done.out) == (0, "db.t is at version 0\n"), done.err
    table = Catalog(warehouse).load_table("db.t")
    assert table.partitioning == ["bucket(4, id)"]
    assert (table.properties["team"], table.comment) == ("ops", "all")
    assert [column.name for column in table.schema.columns] == ["id", "ts", "n"]
    assert table.schema.is_keyed
    done = run("drop", "db.t")
    assert done.out == "db.t is dropped; versioned undrop db.t brings it back\n"
    assert run("describe", "db.t").code == 3
    assert run("undrop", "db.t").code == 0
    assert run("describe", "db.t").code == 0
    assert run("drop", "db.t", "--json").json == {
        "table": "db.t",
        "dropped": True,
        "files_stay_in": None,
    }


def test_a_table_in_a_folder_and_one_with_a_location(run: Run, warehouse: Path) -> None:
    assert run("create", "./here", "id INT").code == 0
    assert run("describe", "./here").code == 0
    done = run("create", "db.t", "id INT", "--location", str(warehouse / "elsewhere"))
    assert done.code == 0, done.err
    done = run("drop", "db.t")
    assert done.out == f"db.t is dropped; its files stay in {warehouse}/elsewhere\n"
    assert (warehouse / "elsewhere").is_dir()
    done = run("drop", "./here")
    assert (done.code, "drop takes a name" in done.err) == (4, True)
    assert run("create", "./again", "id INT", "--parents").code == 2


def test_missing_namespaces_are_created_if_asked(run: Run, warehouse: Path) -> None:
    done = run("create", "a.b.t", "id INT")
    assert (done.code, done.err.endswith("or give --parents\n")) == (3, True)
    assert Catalog(warehouse).list_namespaces() == ["db"]
    done = run("create", "db.t", "id INT", "--primary-key", "nix")
    assert (done.code, "--parents" in done.err) == (3, False)
    assert run("create", "a.b.t", "id INT", "--parents").code == 0
    assert Catalog(warehouse).list_tables("a.b") == ["t"]


def test_what_is_there_or_gone_already(run: Run) -> None:
    assert run("create", "db.people", "id INT").code == 4
    done = run("create", "db.people", "id INT", "--if-not-exists")
    assert (done.code, done.out) == (0, "db.people is not created, since there is a table\n")
    assert run("drop", "db.nobody").code == 3
    done = run("drop", "db.nobody", "--if-exists", "--json")
    assert (done.code, done.json) == (0, {"table": "db.nobody", "dropped": False})


def test_a_view_or_a_wrong_property_is_refused(run: Run, warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    catalog.create_view("db.v", "SELECT id FROM people", "id INT", reads={"db.people": ["id"]})
    for command in (["drop", "db.v"], ["drop", "db.v", "--if-exists"]):
        done = run(*command)
        assert (done.code, "is a view; to drop it, give --view" in done.err) == (4, True)
    assert run("drop", "db.people", "--view").code == 3
    assert run("create", "db.v", "id INT", "--if-not-exists").code == 4
    assert run("create", "db.t", "id INT", "--set", "team").code == 4
    assert run("create", "db.t", "id INTT").code == 4
    assert not catalog.table_exists("db.t")
    assert run("drop", "db.v", "--view").out == "the view db.v is dropped\n"
    assert catalog.list_views("db") == []
    assert run("drop", "db.v", "--view", "--if-exists").code == 0


def test_a_branch_is_not_dropped_as_a_table(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).load_table("db.people").create_branch("b")
    done = run("drop", "db.people.branch_b")
    assert (done.code, "versioned branch drop db.people b" in done.err) == (4, True)
    assert run("branch", "drop", "db.people", "b").code == 0


def test_generated_and_identity_columns(run: Run, warehouse: Path) -> None:
    columns = "id BIGINT, ts TIMESTAMP, day DATE"
    options = ["--identity", "id", "--generated", "day=CAST(ts AS DATE)"]
    assert run("create", "db.g", columns, *options).code == 0
    table = Catalog(warehouse).load_table("db.g")
    table.append(pa.table({"ts": [datetime(2026, 1, 2, 3, tzinfo=UTC)]}))
    (row,) = table.scan(["id", "day"]).to_arrow().to_pylist()
    assert row == {"id": 1, "day": date(2026, 1, 2)}
    assert run("create", "db.h", columns, "--generated", "day").code == 4


def test_a_pinned_table_is_not_dropped(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).load_table("db.people")
    table.alter().set_property("pins", "refuse").commit()
    table.refresh().pin_schema("billing")
    assert run("drop", "db.people").code == 4
    assert run("describe", "db.people").code == 0


# query


@pytest.fixture
def tables(warehouse: Path) -> Catalog:
    """``db.people`` has ids 1 and 2; ``db.eu.t`` and ``t`` have others."""
    catalog = Catalog(warehouse)
    catalog.create_table("db.eu.t", "id INT").append(ids(2, 3))
    catalog.create_table("t", "id INT").append(ids(7))
    return catalog


def rows(run: Run, sql: str) -> Any:
    done = run("query", sql, "--json")
    assert done.code == 0, done.err
    return done.json


def test_names_of_one_two_and_three_parts(run: Run, tables: Catalog) -> None:
    assert rows(run, "SELECT id, name FROM db.people ORDER BY id") == [
        {"id": 1, "name": "Ada"},
        {"id": 2, "name": "Ada"},
    ]
    assert rows(run, "FROM t") == [{"id": 7}]
    joined = "SELECT a.id FROM db.people a JOIN db.eu.t b ON a.id = b.id, t"
    assert rows(run, joined) == [{"id": 2}]
    assert rows(run, 'SELECT count(*) n FROM "db"."eu"."t" AS "x y" WHERE id > 2') == [{"n": 1}]
    assert rows(run, "WITH people AS (SELECT 5 AS five) FROM people") == [{"five": 5}]
    assert run("query", "SELECT id FROM t").lines == ["id", "7"]


def test_names_that_need_quotes(run: Run, tables: Catalog) -> None:
    tables.create_table('db.`my "own" t`', "id INT").append(ids(9))
    assert rows(run, 'FROM db."my ""own"" t"') == [{"id": 9}]


def test_a_branch_and_a_keyed_table_with_an_older_schema(run: Run, tables: Catalog) -> None:
    table = tables.create_table("k", "id INT, n INT", primary_key=["id"])
    for value in (1, 2):
        table.append(
            pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([value], pa.int32())})
        )
    table.alter().rename_column("n", "m").commit()
    assert rows(run, "SELECT * FROM k") == [{"id": 1, "m": 2}]
    table.create_branch("b")
    table.branch("b").append(pa.table({"id": pa.array([5], pa.int32())}))
    assert rows(run, "SELECT count(*) AS n FROM k.branch_b") == [{"n": 2}]


def test_columns_of_one_name_stay_apart(run: Run, tables: Catalog) -> None:
    sql = "SELECT a.id, b.id, 3 AS id_1 FROM db.eu.t a, t b WHERE a.id = 3"
    assert rows(run, sql) == [{"id": 3, "id_2": 7, "id_1": 3}]


def test_values_that_json_lacks(run: Run, tables: Catalog) -> None:
    sql = "SELECT 2.50 AS d, DATE '2026-01-02' AS day, 'nan'::DOUBLE AS x, [BLOB 'a'] AS b"
    assert rows(run, sql) == [{"d": "2.50", "day": "2026-01-02", "x": "NaN", "b": ["61"]}]
    assert run("query", sql).lines == ["d day x b", "2.50 2026-01-02 nan X'61'"]


def test_a_query_of_an_earlier_version(run: Run, tables: Catalog) -> None:
    table = tables.load_table("t")
    before, time = table.version, table.inspect.history(limit=1)["time"][0].as_py()
    table.set_tag("before", before)
    table.alter().rename_column("id", "number").commit()
    table.truncate()
    for option, value in (("--as-of", before), ("--as-of", "before"), ("--timestamp", time)):
        done = run("query", "FROM t", option, str(value), "--json")
        assert done.json == [{"id": 7}], done.err
    assert run("query", "FROM t", "--as-of", "99").code == 3
    assert run("query", "FROM t", "--as-of", "1", "--timestamp", "2026-01-01").code == 2
    for sql in ("FROM t VERSION AS OF 1", "FROM t AT (VERSION => 1)"):
        assert "--as-of VERSION|TAG" in run("query", sql).err


def test_the_error_of_a_query_has_the_lines_of_duckdb(run: Run, tables: Catalog) -> None:
    lines = run("query", "SELECT id frmo t WHERE").err.splitlines()
    assert lines[0].startswith("error: DuckDB: Parser Error: ")
    assert lines[1] == "  LINE 1: SELECT id frmo t WHERE"
    assert lines[2].strip() == "^"


@pytest.mark.parametrize(
    "sql, code, message",
    [
        ("FROM db.peopel", 3, "there is no table db.peopel"),
        ("FROM dbb.people", 3, "did you mean the table db.people?"),
        ("FROM db.people.branch_x", 3, "branch"),
        ("FROM a.b.c.d", 4, "up to 3 parts"),
        ("SELECT nix FROM t", 4, "DuckDB: Binder Error"),
        ("SELEC 1", 4, "DuckDB: Parser Error"),
        ("SELECT 1; SELECT 2", 4, "takes one statement, got 2"),
        ("", 4, "takes one statement, got 0"),
        ("DELETE FROM t", 4, "only reads, and this is DELETE"),
        ("INSERT INTO t VALUES (1)", 4, "only reads, and this is INSERT"),
        ("CREATE TABLE db.x AS SELECT 1", 4, "only reads, and this is CREATE"),
        ("COPY t TO 'x.csv'", 4, "only reads, and this is COPY"),
        ("FROM catalog", 3, "there is no table catalog"),
    ],
)
def test_what_a_query_refuses(run: Run, tables: Catalog, sql: str, code: int, message: str) -> None:
    done = run("query", sql)
    assert (done.code, message in done.err) == (code, True), done.err
    assert not Path("x.csv").exists()
    assert rows(run, "FROM t") == [{"id": 7}]


def test_errors_of_a_scan_are_ours(run: Run, tables: Catalog, warehouse: Path) -> None:
    """DuckDB would show a traceback."""
    Path("lake").mkdir()
    pq.write_table(ids(1), "lake/a.parquet")
    assert run("--root", "lake=lake", "import", "db.f", "lake").code == 0
    assert rows(lambda *words: run("--root", "lake=lake", *words), "FROM db.f") == [{"id": 1}]
    done = run("query", "FROM db.f")
    assert done.code == 4
    assert done.err.startswith("error: the segment root:lake/a.parquet needs the external root")
    (segment,) = (warehouse / "t" / "data").iterdir()
    segment.unlink()
    done = run("query", "FROM t")
    assert (done.code, "Traceback" in done.err, "DuckDB" in done.err) == (6, False, False), done.err


def test_explain_shows_that_columns_and_filters_are_pushed_down(run: Run, tables: Catalog) -> None:
    done = run("query", "EXPLAIN SELECT id FROM t WHERE id > 3")
    assert "ARROW_SCAN" in done.out
    assert "Filters: id>3" in done.out


@pytest.mark.parametrize("before", ["EXPLAIN ANALYZE", "/* ü */ explain (ANALYZE, FORMAT json)"])
def test_explain_runs_nothing_that_writes(run: Run, tables: Catalog, before: str) -> None:
    done = run("query", f"{before} COPY (SELECT 1) TO 'written.csv'")
    assert (done.code, "this is COPY" in done.err) == (4, True), done.err
    assert not Path("written.csv").exists()
    assert run("query", f"{before} SELECT id FROM t").code == 0
    assert run("query", "EXPLAIN ANALYZE (SELECT 1)").code == 0


def test_without_duckdb_the_error_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = run("query", "SELECT 1")
    assert (done.code, "pip install duckdb" in done.err) == (4, True)


# diff and tail


@pytest.fixture
def history(warehouse: Path) -> Catalog:
    """``k``: 1 adds 1 and 2; 2 updates 2 and adds 3; 3 adds a column; 4 deletes 1."""
    catalog = Catalog(warehouse)
    table = catalog.create_table("k", "id INT, n INT", primary_key=["id"])
    for keys, values in (([1, 2], [10, 20]), ([2, 3], [21, 30])):
        columns = {"id": pa.array(keys, pa.int32()), "n": pa.array(values, pa.int32())}
        table.append(pa.table(columns))
    table.alter().add_column("m", "INT").commit()
    table.delete([("id", "=", 1)])
    return catalog


def counts(document: Any) -> tuple[int, int, int]:
    return tuple(document[f"rows {kind}"] for kind in ("added", "removed", "updated"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "versions, expected",
    [
        (["0", "1"], (2, 0, 0)),
        (["1", "2"], (1, 0, 1)),
        (["1"], (1, 1, 1)),
        (["0", "4"], (2, 0, 0)),
        (["4", "1"], (1, 1, 1)),
        (["2", "0"], (0, 3, 0)),
        (["2", "2"], (0, 0, 0)),
        (["2", "3"], (0, 0, 0)),
    ],
)
def test_rows_that_differ(
    run: Run, history: Catalog, versions: list[str], expected: tuple[int, int, int]
) -> None:
    done = run("diff", "k", *versions, "--json")
    assert done.code == 0, done.err
    assert counts(done.json) == expected


def test_columns_that_differ(run: Run, history: Catalog) -> None:
    history.load_table("k").set_tag("old", 1)
    done = run("diff", "k", "old", "3", "--no-rows")
    assert done.lines == [
        "kind name before after",
        "column m m INT",
        "table k",
        "from 1",
        "to 3",
    ]
    back = run("diff", "k", "3", "old", "--json").json["differences"]
    assert back == [{"kind": "column", "name": "m", "before": "m INT", "after": None}]
    assert run("diff", "k", "99").code == 3


def test_rows_of_a_table_without_a_key(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).create_table("u", "id INT, n INT")
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "n": pa.array([1, 2], pa.int32())}))
    table.update({"n": 9}, [("id", "=", 1)])
    assert counts(run("diff", "u", "1", "2", "--json").json) == (1, 1, 0)


def test_tail_shows_the_newest_changes(run: Run, history: Catalog) -> None:
    assert [line.split()[:4] for line in run("tail", "k").lines[1:]] == [["1", "10", "delete", "4"]]
    lines = run("tail", "k", "--from", "2", "--json").out.splitlines()
    seen = [
        (row["id"], row["_change_type"], row["_commit_version"]) for row in map(json.loads, lines)
    ]
    assert sorted(seen) == [
        (1, "delete", 4),
        (2, "update_postimage", 2),
        (2, "update_preimage", 2),
        (3, "insert", 2),
    ]
    assert len(run("tail", "k", "--from", "1", "--limit", "2", "--json").out.splitlines()) == 2
    assert (run("tail", "k", "--from", "5").code, run("tail", "k", "--from", "5").out) == (0, "")
    assert run("tail", "k", "--from", "6").code == 3


@pytest.mark.usefixtures("history")
def test_tail_follows_until_ctrl_c(warehouse: Path) -> None:
    command = [sys.executable, "-c", START, "tail", "k", "--follow", "--interval", "0.05", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["_change_type"] == "delete"
        Catalog(warehouse).load_table("k").delete([("id", "=", 2)])
        line = json.loads(process.stdout.readline())
        assert (line["id"], line["_commit_version"]) == (2, 5)
        time.sleep(0.5)  # an earlier Ctrl-C would show version 5 again
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        error = json.loads(process.stderr.read())["error"]
    assert error == "interrupted; what came until version 5 was shown: --from 6 goes on"


def test_versions_on_both_sides_of_a_replacement(run: Run, history: Catalog) -> None:
    history.replace_table("k", "id BIGINT").append(pa.table({"id": [9]}))
    done = run("diff", "k", "1")
    assert (done.code, done.err.endswith("; or give --no-rows\n")) == (4, True)
    kinds = {
        one["kind"] for one in run("diff", "k", "1", "--no-rows", "--json").json["differences"]
    }
    assert {"incarnation", "column"} <= kinds


# maintain --all


def test_all_without_a_warehouse_is_that_of_the_session(run: Run, warehouse: Path) -> None:
    for command in ("maintain", "advise"):
        done = run(command, "--all", "--json")
        assert (done.code, done.json["tables"]) == (0, 1), done.err
    assert run("maintain", "--all", "--dry-run").code == 0
    assert run("maintain", "--all", str(warehouse)).code == 0


def test_all_without_any_warehouse_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERSIONED_WAREHOUSE")
    done = run("maintain", "--all")
    assert (done.code, "--all has no warehouse" in done.err) == (2, True)


# config and completion


def test_config_says_where_each_value_comes_from(
    run: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, SECRET if "SECRET" in name else "eu-west-1")
    monkeypatch.setenv("VERSIONED_STORAGE", f"secret={SECRET}")
    done = run("--root", "lake=/lake", "config", "--json")
    assert SECRET not in done.out
    shown = {row["name"]: (row["value"], row["from"]) for row in done.json}
    assert shown["warehouse"] == (str(warehouse), "VERSIONED_WAREHOUSE")
    assert shown["storage.secret"] == ("***", "VERSIONED_STORAGE")
    assert shown["root.lake"] == ("/lake", "--root")
    assert shown["AWS_REGION"] == ("eu-west-1", "environment")
    assert shown["AWS_SECRET_ACCESS_KEY"] == ("***", "environment")
    other = run("--warehouse", "x", "config", "--json").json
    assert [r["from"] for r in other if r["name"] == "warehouse"] == ["--warehouse"]


def test_config_hides_the_credentials_of_roots(run: Run) -> None:
    for before in (("--root", "a=s3://me:geheim@b/x"), ("--storage", "root.a=s3://me:geheim@b/x")):
        done = run(*before, "config", "--json")
        rows = {row["name"]: row for row in done.json}
        assert rows["root.a"] == {"name": "root.a", "value": "s3://***@b/x", "from": before[0]}
        assert "geheim" not in run(*before, "config").out


def test_config_without_a_warehouse(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERSIONED_WAREHOUSE")
    done = run("config", "--json")
    (row,) = (row for row in done.json if row["name"] == "warehouse")
    assert (row["value"], row["from"][:8]) == (None, "not set:")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0, done.err
    assert f"_VERSIONED_COMPLETE={shell}_complete" in done.out


def completed(*words: str) -> list[str]:
    """What bash offers for the last word, in the installed program."""
    program = Path(sys.executable).parent / "versioned"
    environment = {
        **os.environ,
        "_VERSIONED_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("versioned", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_options_and_tables_are_completed(tables: Catalog, warehouse: Path) -> None:
    assert completed("desc") == ["describe"]
    assert completed("compact", "--strat") == ["--strategy"]
    assert completed("describe", "db") == ["db.people", "db.eu.t"]
    assert completed("--warehouse", str(warehouse), "schema", "t") == ["t"]
    assert completed("--warehouse", "/nowhere", "schema", "t") == []
    tables.create_table(("db", "touch pwned"), "id INT")
    assert completed("describe", "db") == ["db.people", "db.eu.t"]  # a shell would run the other


# What people read


@pytest.mark.parametrize(
    "transform, text, shown",
    [
        ("years", "56", "2026"),
        ("months", "682", "2026-11"),
        ("months", "-1", "1969-12"),
        ("days", "20784", "2026-11-27"),
        ("hours", "0", "1970-01-01-00"),
        ("hours", "-1", "1969-12-31-23"),
        ("bucket(4)", "3", "3"),
        ("identity", "20784", "20784"),
        ("days", None, None),
    ],
)
def test_partition_values_as_dates(transform: str, text: str | None, shown: str | None) -> None:
    assert shown_value(parse_transform(transform), text) == shown


def test_partitions_are_shown_as_dates(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).create_table(
        "e", "ts TIMESTAMP, d DATE", partitioned_by=["days(ts)"]
    )
    moment = datetime(2026, 11, 27, 3, tzinfo=UTC)
    table.append(pa.table({"ts": [moment], "d": [date(2026, 11, 27)]}))
    assert run("partitions", "e").lines[1] == "2026-11-27 1 1"
    table.alter().set_partitioning(["months(d)"]).commit()
    table.append(pa.table({"ts": [moment], "d": [date(2026, 11, 27)]}))
    shown = {line.split()[-1] for line in run("segments", "e").lines[1:]}
    assert shown == {"2026-11-27", "2026-11"}
    assert [row["partition"] for row in run("partitions", "e", "--json").json] == [["682"]]


def test_changes_of_dates_and_decimals_as_json(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).create_table("e", "d DATE, n DECIMAL(4, 2), x DOUBLE")
    table.append(pa.table({"d": [date(2026, 1, 2)], "n": [Decimal("1.50")], "x": [math.inf]}))
    (row,) = run("changes", "e", "--from", "1", "--json").json
    assert (row["d"], row["n"], row["x"]) == ("2026-01-02", "1.50", "Infinity")


def test_a_table_in_another_namespace_is_suggested(run: Run, warehouse: Path) -> None:
    catalog = Catalog(warehouse)
    assert run("schema", "db2.people").err.endswith("; did you mean the table db.people?\n")
    assert run("schema", "bd.peopel").err.count("did you mean") == 0
    assert run("schema", "dbb.peopl").err.endswith("; did you mean the table db.people?\n")
    with pytest.raises(NotFoundError) as caught:
        catalog.list_tables("db2")
    assert "did you mean" not in str(caught.value)


def test_an_import_creates_namespaces(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "lake" / "a.parquet")
    root = ("--root", f"lake={tmp_path / 'lake'}")
    missing = run(*root, "import", "new.t", str(tmp_path / "lake"))
    assert (missing.code, missing.err.endswith("or give --parents\n")) == (3, True)
    assert run(*root, "import", "new.t", str(tmp_path / "lake"), "--parents").code == 0
    missing = run(*root, "convert", "other.t", str(tmp_path / "lake"), "--format", "delta")
    assert (missing.code, "--parents" in missing.err) == (4, False)  # there is no such table first


def test_a_plan_does_not_create_a_dropped_table_anew(run: Run, tmp_path: Path) -> None:
    assert run("ddl", "--out", "schemas").code == 0
    assert run("drop", "db.people").code == 0
    plan = run("plan", "schemas")
    assert plan.code == 4
    assert "versioned undrop db.people brings it back" in plan.err
    assert run("undrop", "db.people").code == 0
    assert run("plan", "schemas").code == 0


def test_history_says_who(run: Run) -> None:
    done = run("history", "db.people", "--who")
    assert done.out.splitlines()[0].split() == [
        "version", "time", "operation", "user", "application", "message",
    ]  # fmt: skip


def test_history_says_who_ran_a_command(
    run: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    run("alter", "db.people", "add", "nick", "STRING")
    with committed_by(user="airflow", message="nightly"):
        run("alter", "db.people", "drop", "nick")
    history = Catalog(warehouse).load_table("db.people").inspect.history(limit=2).to_pylist()
    assert sorted((row["user"], row["application"], row["message"]) for row in history) == [
        ("airflow", "versioned alter", "nightly"),
        ("ann", "versioned alter", None),
    ]
