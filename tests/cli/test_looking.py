"""The commands that only show something."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from versioned_catalog import Catalog


def test_namespaces(run: Run) -> None:
    assert run("namespaces").lines == ["namespace", "db"]
    assert run("namespaces", "db").lines == ["namespace", "db.eu"]
    assert run("--json", "namespaces", "db").json == [{"namespace": "db.eu"}]
    assert run("namespaces", "db.eu", "--json").json == []


def test_list_tables(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).create_table("db.`odd.name`", "a INT")
    assert run("tables").lines == ["table", "db.`odd.name`", "db.people"]
    assert run("tables", "db").lines == ["table", "db.`odd.name`", "db.people"]
    assert run("tables", "db.eu").lines == ["table"]
    assert run("tables", "db", "--json").json == [
        {"table": "db.`odd.name`"},
        {"table": "db.people"},
    ]
    assert run("describe", "db.`odd.name`", "--json").json["rows"] == 0


def test_a_table_by_its_path(run: Run, warehouse: Path) -> None:
    for name in (
        str(warehouse / "db" / "people"),
        "./warehouse/db/people",
        f"file://{warehouse}/db/people",
    ):
        assert run("describe", name, "--json").json["rows"] == 2, name


def test_the_warehouse_as_an_option(run: Run, tmp_path: Path) -> None:
    Catalog(tmp_path / "other").create_table("t", "a INT")
    assert run("--warehouse", str(tmp_path / "other"), "tables").lines == ["table", "t"]


def test_describe_shows_version_schema_size_and_tags(run: Run, warehouse: Path) -> None:
    found = run("describe", "db.people", "--json").json
    unsteady = {"table_uuid": found["table_uuid"], "time": found["time"]}
    assert found == unsteady | {
        "table": "db.people",
        "location": str(warehouse / "db" / "people"),
        "version": 1,
        "schema_version": 0,
        "rows": 2,
        "segments": 1,
        "tags": {},
        "partitioning": ["name"],
        "properties": {"sort_by": "id"},
        "checks": {},
        "comment": "all of them",
        "hidden_columns": [],
    }
    shown = run("describe", "db.people").lines
    assert {"version 1", "properties sort_by=id", "comment all of them"} <= set(shown)


def test_schema(run: Run) -> None:
    assert run("schema", "db.people").lines == [
        "column_id path type nullable write_default read_default comment",
        "1 id INT no who",
        "2 name STRING yes 'x' 'x'",
        "3 home STRUCT<zip: INT> yes",
        "4 home.zip INT yes",
    ]
    first, *_ = run("schema", "db.people", "--json").json
    assert first["path"] == "id"
    assert first["column_id"] == 1
    assert first["parent_id"] is None
    assert first["nullable"] is False
    assert first["comment"] == "who"


def paths(run: Run, *options: str) -> list[str]:
    return [row["path"] for row in run("schema", "db.people", *options, "--json").json]


def test_schema_of_an_older_version(run: Run) -> None:
    run("alter", "db.people", "drop", "home")
    run("alter", "db.people", "rename", "name", "first_name")
    assert paths(run) == ["id", "first_name"]
    assert paths(run, "--as-of", "2") == ["id", "name"]
    assert paths(run, "--as-of", "1") == ["id", "name", "home", "home.zip"]
    times = [row["time"] for row in run("history", "db.people", "--json").json]
    assert paths(run, "--timestamp", times[2]) == ["id", "name"]
    assert paths(run, "--timestamp", times[1]) == ["id", "name", "home", "home.zip"]


def test_schema_of_a_version_before_a_replacement(run: Run, warehouse: Path) -> None:
    Catalog(warehouse).replace_table("db.people", "other DATE")
    assert paths(run) == ["other"]
    assert paths(run, "--as-of", "1") == ["id", "name", "home", "home.zip"]


def test_history_shows_each_operation_and_its_changes(run: Run) -> None:
    run("alter", "db.people", "drop", "home")
    first, second, third = run("history", "db.people", "--json").json
    assert run("history", "db.people", "--limit", "2", "--json").json == [second, third]
    assert [first["operation"], second["operation"], third["operation"]] == [
        "create",
        "append",
        "alter",
    ]
    assert second["rows_added"] == 2
    assert third["changes"] == ["DROP COLUMN home"]
    assert third["schema_version"] == 1
    assert third["time"].endswith("Z")
    assert len(third["time"]) == len("2026-01-31T12:00:00.123456Z")
    *_, last = run("history", "db.people").lines
    assert last == f"2 {third['time']} alter 1 0 0 0 DROP COLUMN home"


def test_snapshots_count_rows_and_segments_at_each_version(run: Run) -> None:
    run("tag", "set", "db.people", "full")
    run("alter", "db.people", "drop", "home")
    first, second, third, fourth = run("snapshots", "db.people", "--json").json
    assert [first["operation"], second["operation"]] == ["create", "append"]
    assert (first["rows"], first["segments"], first["tags"]) == (0, 0, [])
    assert (second["rows"], second["segments"], second["tags"]) == (2, 1, ["full"])
    assert third["version"] == 2
    assert (fourth["version"], fourth["schema_version"]) == (3, 1)
    header, line, *_ = run("snapshots", "db.people").lines
    assert header == "version time operation schema_version segments rows bytes tags"
    assert line == f"0 {first['time']} create 0 0 0 0"


def test_segments_have_the_size_and_partition_of_their_files(run: Run, warehouse: Path) -> None:
    (found,) = run("segments", "db.people", "--json").json
    assert found["rows"] == 2
    assert found["partition"] == ["Ada"]
    assert found["bytes"] == (warehouse / "db" / "people" / found["path"]).stat().st_size
    header, line = run("segments", "db.people").lines
    assert header == "path schema_version rows bytes sequence partition"
    assert line == f"{found['path']} 0 2 {found['bytes']} 1 Ada"


def test_partitions(run: Run, warehouse: Path) -> None:
    rows = pa.table({"id": pa.array([3], pa.int32()), "name": pa.array([None], pa.string())})
    Catalog(warehouse).load_table("db.people").append(rows)
    assert run("partitions", "db.people").lines == [
        "partition rows segments",
        "null 1 1",
        "Ada 2 1",
    ]
    assert run("partitions", "db.people", "--json").json == [
        {"partition": [None], "rows": 1, "segments": 1},
        {"partition": ["Ada"], "rows": 2, "segments": 1},
    ]


@pytest.mark.parametrize("command", ["schema", "segments", "partitions", "history", "describe"])
def test_every_command_has_help(run: Run, command: str) -> None:
    shown = run(command, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"Usage: versioned {command} [OPTIONS] TABLE")
    assert "--json" in shown.out
