"""Emulators of GCS and Azure, and a small HDFS, which the tests start if they are installed.

``go install github.com/fsouza/fake-gcs-server@v1.56.1`` and ``npm install --global azurite@3.37.0`` do
that; their programs are looked for on the path. HDFS is a jar that Maven fetches.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import fsspec
import pyspark

BUCKET = "warehouses"
_SECONDS = 240
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and the key that Azurite documents."""


@dataclass(frozen=True)
class Kind:
    """A kind of emulator.

    Args:
        scheme: of its URLs.
        library: the package of its client.
        program: its program.
        command: the arguments of its program, for a free port and a folder.
        options: the storage options for a server at an endpoint, and for one in front of it.
    """

    scheme: str
    library: str
    program: str
    command: Callable[[int, Path], list[str]]
    options: Callable[[str, str], dict[str, Any]]

    @property
    def missing(self) -> str:
        """What is not installed, as the reason to skip a test; empty if all is there."""
        if importlib.util.find_spec(self.library) is None:
            return f"{self.library} is not installed"
        if shutil.which(self.program) is None:
            return f"{self.program} is not on the path"
        if self.scheme == "webhdfs" and minicluster() is None:
            return f"{MINICLUSTER} is not in ~/.m2, and there is no Maven that fetches it"
        return ""


def _gcs(port: int, folder: Path) -> list[str]:
    here = f"127.0.0.1:{port}"
    where = ["-host", "127.0.0.1", "-port", str(port), "-public-host", here]
    return [*where, "-scheme", "http", "-backend", "memory", "-external-url", f"http://{here}"]


def _gcs_options(server: str, front: str) -> dict[str, Any]:
    return {"endpoint_url": front, "token": "anon", "project": "tests"}


def _azure(port: int, folder: Path) -> list[str]:
    flags = ["--disableTelemetry", "--skipApiVersionCheck", "--disableProductStyleUrl", "--silent"]
    return ["--blobPort", str(port), "--inMemoryPersistence", *flags]


def _azure_options(server: str, front: str) -> dict[str, Any]:
    members = {
        "DefaultEndpointsProtocol": "http",
        "AccountName": _ACCOUNT,
        "AccountKey": _KEY,
        "BlobEndpoint": f"{front}/{_ACCOUNT}",
    }
    return {"connection_string": ";".join(f"{name}={value}" for name, value in members.items())}


def _hdfs(port: int, folder: Path) -> list[str]:
    jars = Path(pyspark.__file__).parent / "jars"
    names = ("hadoop-client-*.jar", "slf4j-api*.jar", "log4j-*.jar", "jcl-*.jar")
    path = [minicluster(), *(jar for name in names for jar in jars.glob(name))]
    source = Path(__file__).parent / "MiniHdfs.java"
    return ["-cp", os.pathsep.join(map(str, path)), str(source), str(port), str(folder / "data")]


def _hdfs_options(server: str, front: str) -> dict[str, Any]:
    rpc = {"name_node": f"hdfs://127.0.0.1:{(urlsplit(server).port or 0) + 1}"}
    return rpc if front == server else {**rpc, "data_proxy": {server: front}}


MINICLUSTER = "org.apache.hadoop:hadoop-client-minicluster:3.5.0"
"""A name node and data nodes for tests, of the Hadoop that PySpark 4.3 has."""


@functools.cache
def minicluster() -> Path | None:
    """The jar of HDFS for tests, which Maven fetches if it is not there yet."""
    group, name, version = MINICLUSTER.split(":")
    folder = Path.home() / ".m2" / "repository" / group.replace(".", "/") / name / version
    jar = folder / f"{name}-{version}.jar"
    if not jar.exists() and (maven := shutil.which("mvn")):
        get = ["dependency:get", "-Dtransitive=false", f"-Dartifact={MINICLUSTER}"]
        subprocess.run([maven, "-q", *get], timeout=300, check=False)
    return jar if jar.exists() else None


KINDS = {
    "gcs": Kind("gs", "gcsfs", "fake-gcs-server", _gcs, _gcs_options),
    "azure": Kind("abfs", "adlfs", "azurite-blob", _azure, _azure_options),
    "hdfs": Kind("webhdfs", "requests", "java", _hdfs, _hdfs_options),
}


@dataclass(frozen=True)
class Emulator:
    """A running emulator.

    Args:
        kind: its kind.
        endpoint: its URL.
    """

    kind: Kind
    endpoint: str

    @property
    def options(self) -> dict[str, Any]:
        return self.through(self.endpoint)

    def through(self, endpoint: str) -> dict[str, Any]:
        """The storage options for a proxy in front of the emulator."""
        return self.kind.options(self.endpoint, endpoint)

    @property
    def root(self) -> str:
        host = f"{urlsplit(self.endpoint).netloc}/" if self.kind.scheme == "webhdfs" else ""
        return f"{self.kind.scheme}://{host}{BUCKET}"

    def place(self) -> str:
        """The URL of a new folder."""
        return f"{self.root}/{uuid4().hex}"

    def fs(self) -> Any:
        """A file system of fsspec, which knows nothing of the library's code."""
        arguments = {"skip_instance_cache": True, "use_listings_cache": False}
        match self.kind.scheme:
            case "gs":
                from gcsfs.core import GCSFileSystem  # the class that is registered asks Google

                return GCSFileSystem(**self.options, **arguments)
            case "webhdfs":
                where = urlsplit(self.endpoint)
                user = getpass.getuser()
                return fsspec.filesystem(
                    "webhdfs", host=where.hostname, port=where.port, user=user, **arguments
                )
            case scheme:
                return fsspec.filesystem(scheme, **self.options, **arguments)


@contextlib.contextmanager
def serve(kind: Kind, folder: Path) -> Iterator[Emulator]:
    """Run an emulator, and create one bucket."""
    port = _free_ports()
    program = shutil.which(kind.program)
    assert program
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(
            [program, *kind.command(port, folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
        ) as process,
    ):
        try:
            emulator = Emulator(kind, f"http://127.0.0.1:{port}")
            _wait(emulator, process, folder / "log.txt")
            yield emulator
        finally:
            process.kill()


def _free_ports() -> int:
    """The first of two free ports."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            second.bind(("127.0.0.1", port + 1))
            return port
    raise AssertionError("no ports are free")


def _wait(emulator: Emulator, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the emulator has the bucket."""
    end = time.monotonic() + _SECONDS
    while True:
        assert process.poll() is None, f"the emulator stopped: {log.read_text()[-2000:]}"
        try:
            where = urlsplit(emulator.endpoint)
            socket.create_connection((str(where.hostname), where.port or 80), 1).close()
            fs = emulator.fs()
            if emulator.kind.scheme == "webhdfs":
                fs.pipe_file(f"/{BUCKET}/ready", b"x")  # there is a data node
            else:
                fs.mkdir(BUCKET)
            return
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
