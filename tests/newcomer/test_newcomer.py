"""The first day of a user of Iceberg or Delta: the wheel, SQL, dbt and beeline."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments import Environment, build, run

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SECONDS_TO_START = 180


class Installation:
    """An environment with the wheel, dbt, a warehouse and Spark's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = Environment.new(folder / "venv")
        wheel, _ = build(folder / "built")
        # The installation of newer dbt-core downloads a parser from GitHub.
        dbt = ("dbt-spark[session]", "dbt-core<1.12")
        self.environment.install(f"pyspark-versioned[spark] @ {wheel.as_uri()}", *dbt)
        self._write_settings()

    def run(self, *command: str | Path) -> str:
        return run(*command, cwd=self.folder, **self.settings)

    @property
    def settings(self) -> dict[str, str]:
        python = str(self.environment.python)
        return {"SPARK_CONF_DIR": str(self.folder / "conf"), "PYSPARK_PYTHON": python}

    def program(self, name: str) -> Path:
        return self.environment.folder / "bin" / name

    def _write_settings(self) -> None:
        arguments = ("-m", "pyspark_versioned", "conf", "--warehouse", self.folder / "warehouse")
        conf = self.folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(
            run(self.environment.python, *arguments, cwd=self.folder)
            + "spark.sql.defaultCatalog versioned\n"
            + "spark.master local[2]\nspark.driver.memory 2g\nspark.ui.enabled false\n"
            + "spark.log.level ERROR\nspark.sql.shuffle.partitions 4\n"
            + "spark.sql.session.timeZone UTC\n"
            + "spark.hadoop.javax.jdo.option.ConnectionURL "
            + f"jdbc:derby:{self.folder}/metastore;create=true\n"
        )


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("newcomer"))


def check(errors: dict[str, str | None]) -> None:
    """Fail if there are errors."""
    assert errors, "nothing ran"
    wrong = {name: error for name, error in errors.items() if error}
    assert not wrong, "\n\n".join(f"{name}: {error}" for name, error in wrong.items())


def test_the_first_day(installation: Installation) -> None:
    output = installation.run(installation.environment.python, HERE / "day.py")
    steps = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    check({step["step"]: step["error"] for step in steps})


def dbt(installation: Installation, *arguments: str) -> str | None:
    """Run dbt; return its output if it fails."""
    options = ("--profiles-dir", str(installation.folder / "dbt"), "--no-use-colors")
    try:
        installation.run(
            installation.program("dbt"),
            *arguments,
            "--project-dir",
            installation.folder / "dbt",
            *options,
        )
    except AssertionError as failed:
        return str(failed)
    return None


def test_a_dbt_project(installation: Installation) -> None:
    """Seeds, tables, both incremental strategies, tests and a view; the second run is incremental."""
    shutil.copytree(HERE / "dbt", installation.folder / "dbt")
    tables = ("--exclude", "recent")
    errors = {
        "dbt seed": dbt(installation, "seed"),
        "dbt run": dbt(installation, "run", *tables),
        "dbt run again": dbt(installation, "run", *tables),
        "dbt test": dbt(installation, "test", *tables),
        "dbt view": dbt(installation, "run", "--select", "recent"),
    }
    model = installation.folder / "dbt/models/recent.sql"
    view = model.read_text()
    model.write_text(view.replace('"view"', '"table"'))
    errors["dbt view to table"] = dbt(installation, "run", "--select", "recent")
    model.write_text(view)
    errors["dbt table to view"] = dbt(installation, "run", "--select", "recent")
    check(errors)
    arguments = (
        "from pyspark.sql import SparkSession as S; s = S.builder.getOrCreate(); "
        "print([[tuple(r) for r in s.sql(f'SELECT id, amount FROM marts.{t} ORDER BY id').collect()]"
        " for t in ('merged', 'replaced')])"
    )
    found = installation.run(installation.environment.python, "-c", arguments).splitlines()[-1]
    assert found == str([[(1, 100), (2, 200)], [(1, 10), (2, 25)]])


@pytest.fixture
def thriftserver(installation: Installation) -> Iterator[int]:
    """The port of a running thriftserver."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    command = (
        *(str(installation.program("spark-submit")), "--master", "local[2]"),
        *("--conf", "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1"),
        *("--conf", f"spark.hadoop.hive.server2.thrift.port={port}"),
        # It opens sessions before Spark has loaded its jars, so the catalog can't be the default one.
        *("--conf", "spark.sql.defaultCatalog=spark_catalog"),
        *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"),
    )
    with open(installation.folder / "thriftserver.log", "wb") as log:
        server = subprocess.Popen(
            command,
            cwd=installation.folder,
            env={**kept, **installation.settings, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not is_listening(port):
            log_text = (installation.folder / "thriftserver.log").read_text()
            assert server.poll() is None, log_text[-3000:]
            assert time.monotonic() < end, log_text[-3000:]
            time.sleep(0.5)
        yield port
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_sql_by_beeline(installation: Installation, thriftserver: int) -> None:
    url = f"jdbc:hive2://127.0.0.1:{thriftserver}/default"
    options = ("--silent=true", "--outputformat=tsv2", "-u", url, "-n", "me")
    output = installation.run(installation.program("beeline"), *options, "-f", HERE / "beeline.sql")
    assert "found\tlabel\n9\ta\n" in output
    assert "label\tstring" in output
