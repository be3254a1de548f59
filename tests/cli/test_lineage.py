"""``lineage``: the history of one column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Run
from versioned_catalog import Catalog


@pytest.fixture
def renamed(run: Run, warehouse: Path) -> None:
    """``id`` is renamed to ``key`` and widened; ``city`` is added; one segment has the old schema."""
    run("alter", "db.people", "rename", "id", "key")
    run("alter", "db.people", "type", "key", "BIGINT")
    run("alter", "db.people", "add", "city", "STRING", "--default", "'Bonn'")
    rows = pa.table({"key": [5], "name": ["Bo"], "city": ["Rome"]})
    Catalog(warehouse).load_table("db.people").append(rows)


@pytest.mark.usefixtures("renamed")
def test_lineage_shows_names_types_and_projections(run: Run) -> None:
    shown = run("lineage", "db.people", "key", "--json").json
    assert (shown["column_id"], shown["path"], shown["names"]) == (1, "key", ["id", "key"])
    shapes = [(row["schema_version"], row["path"], row["type"]) for row in shown["schemas"]]
    assert shapes == [
        (0, "id", "INT"),
        (1, "key", "INT"),
        (2, "key", "BIGINT"),
        (3, "key", "BIGINT"),
    ]
    held = [(row["schema_version"], row["type"], row["rows"]) for row in shown["segments"]]
    assert sorted(held) == [(0, "INT", 2), (3, "BIGINT", 1)]


@pytest.mark.usefixtures("renamed")
def test_a_segment_without_the_column(run: Run) -> None:
    shown = run("lineage", "db.people", "city", "--json").json
    assert (shown["column_id"], shown["names"]) == (5, ["city"])
    old, new = sorted(shown["segments"], key=lambda row: row["schema_version"])
    assert (old["held"], old["type"], old["filled_with"]) == (False, None, "'Bonn'")
    assert (new["held"], new["type"], new["filled_with"]) == (True, "STRING", None)


def test_a_dropped_column_by_its_id(run: Run) -> None:
    run("alter", "db.people", "drop", "home")
    shown = run("lineage", "db.people", "4", "--json").json
    assert (shown["column_id"], shown["path"], shown["names"]) == (4, None, ["home.zip"])
    assert [row["schema_version"] for row in shown["schemas"]] == [0]
    lines = run("lineage", "db.people", "4").lines
    assert lines[0] == "column 4: dropped; names so far: home.zip"


@pytest.mark.usefixtures("renamed")
def test_readable_output(run: Run) -> None:
    lines = run("lineage", "db.people", "key").lines
    assert lines[0] == "column 1: key; names so far: id, key"
    assert lines.count("") == 2
    assert lines[2] == "schema_version version path type nullable read_default write_default"
    assert lines[3] == "0 0 id INT no"
    assert lines[8] == "path schema_version rows held type filled_with"
    assert lines[9].endswith(".parquet 0 2 yes INT")


@pytest.mark.parametrize("column", ["nobody", "home", "99", "home.nothing"])
def test_an_unknown_column_is_reported(run: Run, column: str) -> None:
    run("alter", "db.people", "drop", "home")
    done = run("lineage", "db.people", column)
    assert (done.code, done.out) == (3, "")
    assert done.err.count("\n") == 1


def test_a_column_named_by_digits(run: Run) -> None:
    run("alter", "db.people", "rename", "name", "1")
    assert run("lineage", "db.people", "`1`", "--json").json["column_id"] == 2
    assert run("lineage", "db.people", "1", "--json").json["column_id"] == 1
