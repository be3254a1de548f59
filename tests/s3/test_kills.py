"""Processes killed by -9 at each request to a real server: old or new, never half, and the next works.

The proxy kills: *before* it hands a request on, or *after* the server answered, so that no code of ours
or of a library stands between. ``tests/faults/test_crashes.py`` does the same on a local disk.
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
from s3.rules import Fault, Rule
from s3.server import BUCKET, Server
from versioned_catalog import Catalog, VersionedError

pytestmark = pytest.mark.thorough

BY_NAME = {operation.__name__: operation for operation in OPERATIONS}
WRITES = ("PUT", "POST", "DELETE")


def _dies(
    place: str, endpoint: str, options: dict[str, Any], name: str, at: tuple[str, int], fault: str
) -> None:
    """In a process of its own: do it, and be killed at the n-th request of a name."""
    rule = Rule(Fault(fault), name=at[0], skip=at[1], client=os.getpid())
    Proxied(endpoint).tell(rule)
    try:
        BY_NAME[name](Catalog(place, options))
    except VersionedError:
        os._exit(1)
    os._exit(0)


@dataclass(frozen=True)
class Place:
    """Where warehouses are put, ready for an operation."""

    s3: Server
    proxy: Proxied
    fs: Any
    prepared: dict[str, bytes]

    def new(self) -> str:
        """A warehouse like the one that was prepared."""
        folder = f"{BUCKET}/{uuid4().hex}"
        self.fs.pipe({f"{folder}/{path}": data for path, data in self.prepared.items()})
        return f"s3://{folder}"

    def straight(self, place: str) -> Catalog:
        return Catalog(place, self.s3.options)

    def seen(self, place: str) -> dict[str, Any]:
        return seen_in(self.straight(place))

    def is_clean(self, place: str) -> bool:
        """Whether logs, checkpoints and segments agree, in tables that were dropped, too."""
        folders = self.fs.ls(place.removeprefix("s3://") + "/n", refresh=True)
        found = [
            Catalog.verify_path(f"s3://{folder}", storage_options=self.s3.options).findings
            for folder in folders
        ]
        return bool(found) and not any(found)

    def requests(self, place: str, operation: Callable[[Catalog], None]) -> list[str]:
        """What an operation asks for when nothing happens to it."""
        self.proxy.tell()
        operation(Catalog(place, self.proxy.options))
        return [one.name for one in self.proxy.seen()]

    def kill(
        self, place: str, operation: Callable[[Catalog], None], at: tuple[str, int], fault: Fault
    ) -> bool:
        """Whether the operation was acknowledged; else it was killed."""
        context = mp.get_context("forkserver")
        context.set_forkserver_preload(["s3.test_kills", "s3fs"])
        given = (place, self.proxy.endpoint, self.proxy.options, operation.__name__, at, fault)
        process = context.Process(target=_dies, args=given)
        process.start()
        process.join(60)
        self.proxy.tell()
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode == 0


def read_all(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def warehouses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    prepared = read_all(folder)
    leave_orphan_files(folder)
    return {"prepared": prepared, "expired": read_all(folder)}


@pytest.fixture(params=OPERATIONS, ids=lambda operation: operation.__name__)
def operation(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def place(
    operation: Callable[[Catalog], None],
    warehouses: dict[str, dict[str, bytes]],
    s3: Server,
    proxy: Proxied,
) -> Place:
    fs = S3FileSystem(**s3.options, skip_instance_cache=True, use_listings_cache=False)
    return Place(s3, proxy, fs, warehouses["expired" if operation is vacuum else "prepared"])


def check(place: Place, operation: Callable[[Catalog], None], *, reads: bool) -> int:
    """Kill at each request; how often."""
    whole, kills = place.new(), 0
    before = place.seen(whole)
    requests = place.requests(whole, operation)
    after = place.seen(whole)
    assert before != after or operation in (checkpoint, vacuum_dropped)
    for number, name in enumerate(requests):
        at = name, requests[:number].count(name)
        writes = name.startswith(WRITES)
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
            if not writes and (fault is Fault.KILL_AFTER or not reads):
                continue
            kills += 1
            copy = place.new()
            acknowledged = place.kill(copy, operation, at, fault)
            found, where = place.seen(copy), f"{fault} {name}"
            # What is read ahead need not be asked for each time.
            assert not acknowledged or (not writes and found == after), f"not killed: {where}"
            assert found in (before, after), where
            if writes:
                next_works(lambda copy=copy: place.straight(copy), after)
                assert place.is_clean(copy), where
    return kills


@pytest.mark.nightly
def test_every_request(operation: Callable[[Catalog], None], place: Place) -> None:
    assert check(place, operation, reads=True) > 4


@pytest.mark.parametrize(
    "operation",
    [BY_NAME["alter"], BY_NAME["overwrite_where"]],
    indirect=True,
    ids=lambda operation: operation.__name__,
)
def test_every_write(operation: Callable[[Catalog], None], place: Place) -> None:
    """A share of them, for every day.

    Two puts prove that the server obeys; then come two segments, where there are any, and the entry.
    """
    assert check(place, operation, reads=False) == (6 if operation is BY_NAME["alter"] else 10)
