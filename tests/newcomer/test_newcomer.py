"""The first day of a user of Iceberg or Delta: the wheel, SQL and beeline."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from newcomer.installation import Installation

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SECONDS_TO_START = 180


def check(errors: dict[str, str | None]) -> None:
    """Fail if there are errors."""
    assert errors, "nothing ran"
    wrong = {name: error for name, error in errors.items() if error}
    assert not wrong, "\n\n".join(f"{name}: {error}" for name, error in wrong.items())


def test_the_first_day(installation: Installation) -> None:
    output = installation.run(installation.environment.python, HERE / "day.py")
    steps = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    check({step["step"]: step["error"] for step in steps})


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
