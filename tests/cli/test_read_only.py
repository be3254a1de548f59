"""Commands that change nothing need no write access, dry runs among them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from read_only import make_read_only, readable_by_all, without_privileges
from versioned_catalog import Catalog
from versioned_catalog.cli.main import main

COMMANDS = [
    "namespaces", "tables db", "describe db.t", "schema db.t", "segments db.t", "partitions db.t",
    "views", "views --broken", "history db.t", "snapshots db.t", "lineage db.t id",
    "changes db.t --from 1 --to 2", "tag list db.t", "pin list db.t", "pin retire db.t p --dry-run",
    "consumers db.t", "advise db.t", "advise --all {warehouse}", "maintain db.t --dry-run",
    "compact db.t --dry-run", "expire db.t --older-than 0 --force",
    "vacuum db.t --retention 0 --force", "vacuum {gone} --retention 0 --force",
    "verify db.t --deep", "ddl", "ddl db.t --ids", "plan {schemas}", "page db.t -o /dev/null",
]  # fmt: skip


@pytest.fixture
def warehouse() -> Iterator[Path]:
    with readable_by_all() as folder:
        catalog = Catalog(folder / "warehouse")
        catalog.create_namespace("db")
        table = catalog.create_table(
            "db.t",
            "id INT, ts TIMESTAMP",
            primary_key=["id"],
            time_index="ts",
            properties={"ttl": "40000 days"},
        )
        rows = pa.table(
            {"id": pa.array([1], pa.int32()), "ts": pa.array([0], pa.timestamp("us", "UTC"))}
        )
        for _ in range(2):
            table.upsert(rows)
        table.set_tag("x")
        table.pin_schema("p")
        table.move_consumer("billing")
        catalog.create_view("db.v", "SELECT id FROM t", "id INT", reads={"db.t": ["id"]})
        catalog.create_table("db.gone", "id INT").append(
            pa.table({"id": pa.array([1], pa.int32())})
        )
        catalog.drop_table("db.gone")
        run(folder, "ddl --out {schemas}")
        yield folder


def run(folder: Path, command: str) -> tuple[int, str]:
    filled = command.format(
        warehouse=folder / "warehouse",
        gone=folder / "warehouse/db/gone",
        schemas=folder / "schemas",
    )
    arguments = ["--warehouse", str(folder / "warehouse"), *filled.split()]
    done = CliRunner().invoke(main, arguments)
    return done.exit_code, done.output


def test_commands_that_change_nothing_need_no_write_access(warehouse: Path) -> None:
    expected = {command: run(warehouse, command) for command in COMMANDS}
    assert {code for code, _ in expected.values()} == {0}, expected
    make_read_only(warehouse)
    with without_privileges():
        assert not os.access(warehouse, os.W_OK, effective_ids=True)
        for command in COMMANDS:
            assert run(warehouse, command) == expected[command], command
        refused = run(warehouse, "rollback db.t --to-version 1")
        assert (refused[0], "Permission denied" in refused[1]) == (6, True)
        assert run(warehouse, "vacuum db.t --execute")[0] == 6
