"""SQL on tables of GCS and Azure through Python, and of HDFS also by Hadoop's file system."""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
from pathlib import Path

import pytest

from emulators.servers import Emulator
from s3.test_sql import WANTED
from sql.test_statements import environment
from versioned_catalog import Catalog

pytestmark = [pytest.mark.spark, pytest.mark.thorough, pytest.mark.nightly]


@pytest.mark.parametrize("io", ["native", "python"])
def test_statements(io: str, emulator: Emulator, tmp_path: Path) -> None:
    is_hdfs, options, place = emulator.kind.scheme == "webhdfs", emulator.options, emulator.place()
    if io == "native" and not is_hdfs:
        pytest.skip("only HDFS comes with Spark")
    if io == "python" and is_hdfs:
        options["user"] = getpass.getuser()  # for which Hadoop has no setting
    ran = subprocess.run(
        [sys.executable, "-m", "s3.run_sql", io, place, json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=400,
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
    assert Catalog(place, options).load_table("n.m").maintenance.verify(deep=True).findings == ()
