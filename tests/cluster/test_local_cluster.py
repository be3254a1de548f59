"""``make cluster``: the demo runs on a cluster with an object store, which is removed afterwards."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jar import ROOT, built_jar
from sql.test_statements import environment

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SCRIPT = str(ROOT / "examples" / "local_cluster.py")


CLIENT = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.sql("CREATE NAMESPACE versioned.n")
rows = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 AS n")
rows.writeTo("versioned.n.t").create()
spark.sql("ALTER TABLE versioned.n.t RENAME COLUMN n TO m")
spark.sql("DELETE FROM versioned.n.t WHERE m = 3")
for io in ("native", "python"):
    rows = spark.read.option("io", io).table("versioned.n.t")
    print(io, *rows.selectExpr("count(id + m)", "sum(id)").first())
"""


@pytest.mark.nightly
def test_connect_on_a_cluster_with_an_object_store() -> None:
    """A Connect server, two workers and an object store work together, as the demo needs."""
    built_jar()
    done = subprocess.run(
        [
            *(sys.executable, SCRIPT, "--store", "--connect", "--"),
            *(sys.executable, "-c", CLIENT, "{remote}"),
        ],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    # Computed by hand: 0 to 999 without 3, 10, ... 997.
    wanted = f"{1000 - 143} {499_500 - 143 * 500}"
    assert done.stdout.splitlines()[-2:] == [f"native {wanted}", f"python {wanted}"]


@pytest.mark.nightly
def test_the_demo_on_a_cluster() -> None:
    """Run the command of the Makefile with this Python.

    The default tests run the same demo without a cluster (tests/test_demo.py), and a smaller test of the
    cluster, above.
    """
    built_jar()
    recipe = re.search(
        r"^cluster:\n\t.*?python (examples.*)$", (ROOT / "Makefile").read_text(), re.M
    )
    assert recipe
    command = [sys.executable if word == "python" else word for word in shlex.split(recipe[1])]
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    results = [line for line in done.stdout.splitlines() if line.endswith(("same", "DIFFERENT"))]
    assert len(results) == 5
    assert all(line.endswith("same") for line in results)
    assert "all rows and columns, through Spark  336,776 rows  same" in done.stdout


def is_up(master: str) -> bool:
    host, port = master.removeprefix("spark://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def servers(master: str) -> list[int]:
    """The Java processes of a master and its workers."""
    host, port = master.removeprefix("spark://").split(":")
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0].endswith("java") and (master in words or {host, port} <= set(words)):
            found.append(int(line.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.nightly), signal.SIGKILL]
)
def test_a_killed_cluster_leaves_no_servers_or_files(number: int) -> None:
    wait = "import sys, time; print(*sys.argv[1:], flush=True); time.sleep(600)"
    script = subprocess.Popen(
        [
            sys.executable,
            SCRIPT,
            "--workers",
            "1",
            "--",
            sys.executable,
            "-c",
            wait,
            "{master}",
            "{warehouse}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    assert script.stdout is not None
    master, warehouse = script.stdout.readline().split()
    try:
        assert is_up(master)
        assert len(servers(master)) == 2
        script.send_signal(number)
        assert script.wait(30) in (-number, 128 + number)
        end = time.monotonic() + 30
        while is_up(master) or servers(master) or Path(warehouse).parent.exists():
            assert time.monotonic() < end, "servers or files of the cluster are left"
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)  # the command is in its own session
        script.wait()
        for server in servers(master):
            os.kill(server, signal.SIGKILL)


@pytest.mark.nightly
def test_the_exit_code_is_that_of_the_command() -> None:
    command = [sys.executable, "-c", "raise SystemExit(7)"]
    done = subprocess.run(
        [sys.executable, SCRIPT, "--workers", "0", "--", *command], env=environment(), check=False
    )
    assert done.returncode == 7
