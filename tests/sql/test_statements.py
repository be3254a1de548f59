"""Run ``statements.sql`` in classic PySpark, Spark Connect and the ``spark-sql`` CLI.

Needs a JVM in each of the three, which parse and run statements differently.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jar import ROOT, built_jar
from sql.statements import check, statements

COUNT = 235
"""The number of statements, so that a truncated file fails."""

pytestmark = [pytest.mark.spark, pytest.mark.thorough]


def environment() -> dict[str, str]:
    paths = [str(ROOT / "connector"), str(ROOT / "catalog"), str(ROOT / "tests")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TZ": "UTC",
    }


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind, module",
    [("classic", "pyspark.sql.session"), ("connect", "pyspark.sql.connect.session")],
)
def test_statements_in_a_session(tmp_path: Path, kind: str, module: str) -> None:
    built_jar()
    done = subprocess.run(
        [sys.executable, "-m", "sql.run_statements", kind, str(tmp_path / "w")],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["session"] == module
    assert report["ran"] == COUNT
    assert not report["wrong"], "\n".join(report["wrong"])
    assert not re.findall(r"Failed to set spark\.(?:jars|sql).*", done.stderr)


@pytest.mark.nightly
def test_statements_in_the_command_line(tmp_path: Path) -> None:
    """Run ``spark-sql``, without a Python driver, with the settings that the ``conf`` command prints."""
    import pyspark

    built_jar()
    conf, script = tmp_path / "spark.conf", tmp_path / "all.sql"
    printed = subprocess.run(
        [sys.executable, "-m", "pyspark_versioned", "conf", "--warehouse", str(tmp_path / "w")],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    conf.write_text(
        printed.stdout + "spark.ui.enabled false\nspark.log.level OFF\n"
        "spark.sql.session.timeZone UTC\nspark.sql.shuffle.partitions 2\n"
        "spark.sql.catalogImplementation in-memory\n"
    )
    found = statements()
    script.write_text("".join(f"SELECT '--- {n}';\n{s.sql};\n" for n, s in enumerate(found)))
    cli = Path(pyspark.__file__).parent / "bin" / "spark-sql"
    done = subprocess.run(
        [
            *(cli, "-S", "--properties-file", conf),
            *("--hiveconf", "hive.cli.errors.ignore=true", "-f", script),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment(), "SPARK_HOME": str(cli.parents[1])},
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    output = re.sub(r"^Time taken: .*\n", "", done.stdout, flags=re.MULTILINE)
    parts = re.split(r"^--- (\d+)\n", output, flags=re.MULTILINE)
    shown = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    assert len(shown) == len(found) == COUNT, done.stdout[-3000:]
    wrong = [
        check(s, shown[n].splitlines(), shown[n] if s.error is not None else None)
        for n, s in enumerate(found)
    ]
    assert not any(wrong), "\n".join(filter(None, wrong))
