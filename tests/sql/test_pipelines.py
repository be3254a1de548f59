"""AUTO CDC of Spark 4.3's pipelines, on the change feed of a table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jar import built_jar
from sql.test_statements import environment
from versioned_catalog import Catalog

pytestmark = [pytest.mark.spark, pytest.mark.nightly]


def run(folder: Path) -> None:
    arguments = [str(folder / "w"), (folder / "storage").as_uri()]
    done = subprocess.run(
        [sys.executable, "-m", "sql.run_pipeline", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def rows(*found: tuple[Any, ...]) -> pa.Table:
    return pa.table({"k": [row[0] for row in found], "v": [row[1] for row in found]})


def test_auto_cdc_replicates_a_table(tmp_path: Path) -> None:
    built_jar()
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    source = catalog.create_table("n.source", "k BIGINT NOT NULL, v STRING", primary_key=["k"])
    source.upsert(rows((1, "a"), (2, "b"), (3, "c")))
    source.upsert(rows((1, "A")))
    source.delete([("k", "=", 2)])
    run(tmp_path)
    assert replica(catalog) == [(1, "A"), (3, "c")]

    source.maintenance.compact()
    source.upsert(rows((3, "C"), (4, "d")))
    run(tmp_path)
    assert replica(catalog) == [(1, "A"), (3, "C"), (4, "d")]


def replica(catalog: Catalog) -> list[tuple[Any, ...]]:
    found = catalog.load_table("n.target").scan().to_arrow().to_pylist()
    return sorted((row["k"], row["v"]) for row in found)
