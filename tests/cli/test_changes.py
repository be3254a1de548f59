"""``versioned changes``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cli.conftest import Run
from versioned_catalog import Catalog


def test_changes_as_a_table_and_as_json(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).create_table("db.t", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1, 2], "n": [1, 2]}))
    table.append(pa.table({"id": [2], "n": [5]}))
    assert "update_postimage" in run("changes", "db.t", "--from", "2").out
    rows = run("changes", "db.t", "--from", "1", "--to", "2", "--net", "--json").json
    assert [(row["id"], row["n"], row["_change_type"]) for row in rows] == [
        (1, 1, "insert"),
        (2, 5, "insert"),
    ]
    assert len(run("changes", "db.t", "--from", "1", "--limit", "1", "--json").json) == 1


def test_a_range_that_does_not_exist(run: Run) -> None:
    found = run("changes", "db.people", "--from", "99")
    assert (found.code, found.out) != (0, "")
    assert "the first version must be from 0 up to the last one" in found.err
