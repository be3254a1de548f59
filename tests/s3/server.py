"""A local S3 server: SeaweedFS, whose binary comes with the extra ``test``.

``VERSIONED_S3=minio pytest tests/s3`` uses the MinIO on the path instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEY, SECRET = "tester", "a-secret-that-nothing-may-show"
BUCKET = "warehouses"
CHOICE = "VERSIONED_S3"
_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A running server.

    Args:
        endpoint: its URL.
        process: its process.
        options: the storage options of ``Catalog`` for it.
    """

    endpoint: str
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def options(self) -> dict[str, Any]:
        return {"endpoint_url": self.endpoint, "key": KEY, "secret": SECRET}


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """Run a server that stores its data in a folder, and create one bucket."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    port = free_ports()
    command, environment = (_minio if os.environ.get(CHOICE) == "minio" else _seaweed)(folder, port)
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **environment}
        ) as process,
    ):
        try:
            server = Server(f"http://127.0.0.1:{port}", process)
            _wait(server, folder / "log.txt")
            yield server
        finally:
            process.kill()


Command = tuple[list[str], dict[str, str]]
"""A command and its additional environment variables."""


def _minio(folder: Path, port: int) -> Command:
    program = shutil.which("minio")
    assert program, f"{CHOICE} is minio, and there is none on the path"
    addresses = [f"--address=127.0.0.1:{port}", f"--console-address=127.0.0.1:{port + 1}"]
    account = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_UPDATE": "off"}
    return [program, "server", *addresses, str(folder / "data")], account


def _seaweed(folder: Path, port: int) -> Command:
    accounts = [{"accessKey": KEY, "secretKey": SECRET}]
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    config = {"identities": [{"name": KEY, "credentials": accounts, "actions": actions}]}
    (folder / "s3.json").write_text(json.dumps(config))
    names = ("s3.port", "master.port", "volume.port", "filer.port")
    return [
        weed(),
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *(f"-{name}={port + at}" for at, name in enumerate(names)),
        "-s3",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-s3.config={folder / 's3.json'}",
        "-master.telemetry=false",
        "-master.volumeSizeLimitMB=512",
        "-volume.max=40",
    ], {}


def weed() -> str:
    """The path of SeaweedFS, beside this Python or on the path."""
    beside = Path(sys.executable).parent / "weed"
    found = str(beside) if beside.exists() else shutil.which("weed")
    assert found, "there is no SeaweedFS: install the extra `test`"
    return found


def _wait(server: Server, log: Path) -> None:
    """Wait until the server responds and has the bucket."""
    from s3fs import S3FileSystem

    end = time.monotonic() + _SECONDS
    while True:
        assert server.process.poll() is None, f"the server stopped: {log.read_text()[-2000:]}"
        try:
            urllib.request.urlopen(server.endpoint, timeout=5)
        except urllib.error.HTTPError:
            break
        except OSError:
            assert time.monotonic() < end, f"the server does not answer: {log.read_text()[-2000:]}"
            time.sleep(0.1)
        else:
            break
    fs = S3FileSystem(**server.options, skip_instance_cache=True, use_listings_cache=False)
    while True:
        try:
            if not fs.exists(BUCKET):
                fs.mkdir(BUCKET)
            fs.pipe_file(f"{BUCKET}/ready", b"")
            return
        except OSError:
            assert time.monotonic() < end, f"no bucket: {log.read_text()[-2000:]}"
            time.sleep(0.2)


def free_ports() -> int:
    """The first of four free ports whose counterparts 10,000 above are free, too."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = probe.getsockname()[1] % 20_000 + 20_000
        if all(_is_free(first + i + above) for i in range(4) for above in (0, 10_000)):
            return first
    raise AssertionError("no ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False
