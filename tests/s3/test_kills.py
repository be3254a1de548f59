"""Processes killed with SIGKILL at each request to S3 leave the old or the new state, and usable tables.

The proxy kills the process *before* it forwards a request or *after* the server responded, so that none
of the process's code runs in between. ``tests/faults/test_crashes.py`` does the same on a local disk.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from s3fs import S3FileSystem

from faults.test_crashes import (
    OPERATIONS,
    checkpoint,
    leave_orphan_files,
    next_works,
    prepare,
    seen_in,
    vacuum,
    vacuum_dropped,
)
from s3.proxied import Proxied
from s3.racing import Place
from s3.rules import Fault, Rule
from s3.server import BUCKET, Server
from versioned_catalog import Catalog, VersionedError

pytestmark = pytest.mark.thorough

BY_NAME = {operation.__name__: operation for operation in OPERATIONS}
WRITES = ("PUT", "POST", "DELETE")


def _run_until_killed(
    url: str, endpoint: str, options: dict[str, Any], name: str, at: tuple[str, int], fault: str
) -> None:
    """Run an operation in its own process, which is killed at the n-th request of a name."""
    rule = Rule(Fault(fault), name=at[0], skip=at[1], client=os.getpid())
    Proxied(endpoint).set_rules(rule)
    try:
        BY_NAME[name](Catalog(url, options))
    except VersionedError:
        os._exit(1)
    os._exit(0)


@dataclass(frozen=True)
class Warehouses:
    """Creates copies of a prepared warehouse, and runs operations on them.

    Args:
        root: the URL below which they are.
        options, proxied: storage options without the proxy and through it.
        fs: a file system of fsspec that bypasses the proxy.
        prepared: the files of the warehouse.
    """

    root: str
    options: dict[str, Any]
    proxy: Proxied
    proxied: dict[str, Any]
    fs: Any
    prepared: dict[str, bytes]

    def new(self) -> str:
        """Create a copy of the prepared warehouse; return its URL."""
        url = f"{self.root}/{uuid4().hex}"
        folder = self.folder(url)
        self.fs.pipe({f"{folder}/{path}": data for path, data in self.prepared.items()})
        return url

    def folder(self, url: str) -> str:
        return Place(url, self.fs, {}, {}).folder

    def direct(self, url: str) -> Catalog:
        return Catalog(url, self.options)

    def seen(self, url: str) -> dict[str, Any]:
        return seen_in(self.direct(url))

    def is_clean(self, url: str) -> bool:
        """Whether the logs, checkpoints and segments of all tables agree, dropped ones included."""
        folders = self.fs.ls(f"{self.folder(url)}/n", detail=False, refresh=True)
        names = [folder.rstrip("/").rpartition("/")[2] for folder in folders]
        found = [
            Catalog.verify_path(f"{url}/n/{name}", storage_options=self.options).findings
            for name in names
        ]
        return bool(found) and not any(found)

    def requests(self, url: str, operation: Callable[[Catalog], None]) -> list[str]:
        """The requests of an operation without faults."""
        self.proxy.set_rules()
        operation(Catalog(url, self.proxied))
        return [one.name for one in self.proxy.seen()]

    def kill(
        self, url: str, operation: Callable[[Catalog], None], at: tuple[str, int], fault: Fault
    ) -> bool:
        """Run an operation in a process that is to be killed; return whether it was acknowledged."""
        context = mp.get_context("forkserver")
        context.set_forkserver_preload(["s3.test_kills", "s3fs"])
        arguments = (url, self.proxy.endpoint, self.proxied, operation.__name__, at, fault)
        process = context.Process(target=_run_until_killed, args=arguments)
        process.start()
        process.join(60)
        self.proxy.set_rules()
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode == 0


def read_all(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    files = read_all(folder)
    leave_orphan_files(folder)
    return {"prepared": files, "expired": read_all(folder)}


@pytest.fixture(params=OPERATIONS, ids=lambda operation: operation.__name__)
def operation(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def warehouses(
    operation: Callable[[Catalog], None],
    prepared: dict[str, dict[str, bytes]],
    s3: Server,
    proxy: Proxied,
) -> Warehouses:
    fs = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    files = prepared["expired" if operation is vacuum else "prepared"]
    return Warehouses(f"s3://{BUCKET}", s3.options, proxy, proxy.options, fs, files)


def check(warehouses: Warehouses, operation: Callable[[Catalog], None], *, reads: bool) -> int:
    """Kill the operation at each request; return how often it was killed."""
    whole, kills = warehouses.new(), 0
    before = warehouses.seen(whole)
    requests = warehouses.requests(whole, operation)
    after = warehouses.seen(whole)
    assert before != after or operation in (checkpoint, vacuum_dropped)
    for number, name in enumerate(requests):
        at = name, requests[:number].count(name)
        writes = name.startswith(WRITES)
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
            if not writes and (fault is Fault.KILL_AFTER or not reads):
                continue
            kills += 1
            copy = warehouses.new()
            acknowledged = warehouses.kill(copy, operation, at, fault)
            found, when = warehouses.seen(copy), f"{fault} {name}"
            # Requests that read ahead are not sent each time.
            assert not acknowledged or (not writes and found == after), f"not killed: {when}"
            assert found in (before, after), when
            if writes:
                next_works(lambda copy=copy: warehouses.direct(copy), after)
                assert warehouses.is_clean(copy), when
    return kills


@pytest.mark.nightly
def test_an_operation_killed_at_every_request(
    operation: Callable[[Catalog], None], warehouses: Warehouses
) -> None:
    assert check(warehouses, operation, reads=True) > 4


@pytest.mark.parametrize(
    "operation",
    [BY_NAME["alter"], pytest.param(BY_NAME["overwrite_where"], marks=pytest.mark.nightly)],
    indirect=True,
    ids=lambda operation: operation.__name__,
)
def test_an_operation_killed_at_every_write(
    operation: Callable[[Catalog], None], warehouses: Warehouses
) -> None:
    """A sample of the nightly test.

    Two puts check that the server supports put-if-absent; then come two segments, if any, and the entry.
    """
    assert check(warehouses, operation, reads=False) == (6 if operation is BY_NAME["alter"] else 10)
