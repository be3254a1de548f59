"""SQL on tables in S3: natively if Spark has Hadoop's file system for S3, else through Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from s3.server import Server
from sql.test_statements import environment
from versioned_catalog import Catalog
from versioned_catalog.log.marks import FileMark

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

WANTED = {
    "counted": [
        ["five", 1, 5],
        ["merged", 1, 5000],
        ["new", 10, 10045],
        ["none", 995, 499489],
        ["source", 2, 18001],
    ],
    "filtered": [5],
    "copied": 6,
    "marked": [[60_000, -1_299_960_000]],
    "source": 1009,
    "past": "old",
}
"""Of the rows 0 to 999, 0 to 3 are deleted and 5 is updated."""


@pytest.mark.nightly
@pytest.mark.parametrize("io", ["native", "python"])
def test_statements_on_s3(io: str, s3: Server, s3_place: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "s3.run_sql", io, s3_place, json.dumps(s3.options)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    results = json.loads(ran.stdout.splitlines()[-1])
    plans = [results.pop(name) for name in ("plan", "plan_of_source", "plan_of_marked")]
    assert results == WANTED
    for plan in plans:
        assert f"{{{io}={{" in plan, plan
    assert s3.options["secret"] not in ran.stdout + ran.stderr
    table = Catalog(s3_place, s3.options).load_table("n.m")
    assert any(isinstance(mark, FileMark) for mark in table.state.segments.marks.values())
    assert table.maintenance.verify(deep=True).findings == ()
