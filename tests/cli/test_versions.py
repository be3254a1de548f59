"""Tags and rollback on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run
from versioned_catalog import Catalog


def paths(run: Run, *options: str) -> list[str]:
    return [row["path"] for row in run("schema", "db.people", *options, "--json").json]


def test_tags_are_set_listed_and_dropped(run: Run) -> None:
    assert run("tag", "list", "db.people").lines == ["tag version keep_hours"]
    assert run("tag", "set", "db.people", "now").out == "db.people is at version 2\n"
    done = run("tag", "set", "db.people", "empty", "--version", "0", "--json")
    assert done.json == {"table": "db.people", "version": 3}
    assert run("tag", "list", "db.people").lines == ["tag version keep_hours", "empty 0", "now 1"]
    assert run("describe", "db.people", "--json").json["tags"] == {"empty": 0, "now": 1}
    assert run("tag", "drop", "db.people", "empty").out == "db.people is at version 4\n"
    assert run("tag", "list", "db.people", "--json").json == [
        {"tag": "now", "version": 1, "keep_hours": None}
    ]
    assert run("tag", "set", "db.people", "now", "--keep-hours", "48").code == 0
    assert run("tag", "list", "db.people").lines == ["tag version keep_hours", "now 4 48.0"]


def test_a_pin_that_stays_on_its_schema_is_said_to(run: Run) -> None:
    assert run("pin", "set", "db.people", "billing").code == 0
    run("alter", "db.people", "add", "age", "INT")
    refused = run("pin", "set", "db.people", "billing")
    assert (refused.code, "the pin billing is there already, of schema 0" in refused.err) == (
        4,
        True,
    )
    done = run("pin", "set", "db.people", "billing", "--owner", "me")
    assert done.err == (
        "note: billing stays on schema 0, and the current one is 1; --schema-version 1 moves it\n"
    )
    assert run("pin", "set", "db.people", "billing", "--schema-version", "1").err == ""


def test_schema_as_of_a_tag(run: Run) -> None:
    run("tag", "set", "db.people", "full")
    run("alter", "db.people", "drop", "home")
    assert paths(run) == ["id", "name"]
    assert paths(run, "--as-of", "full") == ["id", "name", "home", "home.zip"]


@pytest.mark.parametrize("how", ["--to", "--to-version", "--to-tag", "--to-timestamp"])
def test_a_rollback_restores_rows_and_columns(run: Run, warehouse: Path, how: str) -> None:
    run("tag", "set", "db.people", "full", "--version", "1")
    times = [row["time"] for row in run("history", "db.people", "--json").json]
    run("alter", "db.people", "rename", "name", "first")
    run("alter", "db.people", "drop", "home")
    Catalog(warehouse).load_table("db.people").truncate()
    there = {"--to": "full", "--to-version": "1", "--to-tag": "full", "--to-timestamp": times[1]}[
        how
    ]
    shown = {"--to-version": "version 1", "--to-timestamp": times[1]}.get(how, "the tag full")
    assert run("rollback", "db.people", how, there).out == (
        "db.people is at version 6\n"
        f"  rows are those of {shown}\n"
        "  column first: first STRING DEFAULT 'x' becomes name STRING DEFAULT 'x'\n"
        "  column home is added: home STRUCT<zip: INT>\n"
    )
    assert paths(run) == ["id", "name", "home", "home.zip"]
    assert run("describe", "db.people", "--json").json["rows"] == 2
    assert run("history", "db.people", "--json").json[-1]["operation"] == "rollback"


def test_a_rollback_of_rows_alone_says_what_it_did(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).load_table("db.people").truncate()
    assert run("rollback", "db.people", "--to", "1").out == (
        "db.people is at version 3\n  rows are those of version 1\n"
    )
    assert run("rollback", "db.people", "--to", "3").out == (
        "db.people is at version 3\n  nothing to take back\n"
    )


@pytest.mark.parametrize(
    "arguments, code",
    [
        ("rollback db.people", 2),
        ("rollback db.people --to 0 --to-tag x", 2),
        ("rollback db.people --to nothing", 3),
        ("rollback db.people --to-version 0 --to-tag x", 2),
        ("rollback db.people --to-version x", 2),
        ("rollback db.people --to-version 9", 3),
        ("rollback db.people --to-tag nothing", 3),
        ("rollback db.people --to-timestamp 1999-01-01", 3),
        ("rollback db.people --to-timestamp soon", 4),
        ("rollback db.nobody --to-version 1", 3),
        ("tag set db.people 12", 4),
        ("tag set db.people x --version 9", 3),
        ("tag drop db.people nothing", 3),
        ("schema db.people --as-of nothing", 3),
        ("tag", 2),
        ("tag list", 2),
    ],
)
def test_a_refused_command_commits_nothing(
    run: Run, warehouse: Path, arguments: str, code: int
) -> None:
    done = run(*arguments.split())
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert Catalog(warehouse).load_table("db.people").version == 1
