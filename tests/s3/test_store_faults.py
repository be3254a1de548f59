"""The S3 store with one fault per request: it returns a correct result, or reports that it has none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from s3.proxied import Proxied
from s3.rules import Fault, Rule
from s3.server import BUCKET, Server
from versioned_catalog import (
    Catalog,
    CommitOutcomeUnknown,
    CorruptTableError,
    NotFoundError,
    StorageError,
    VersionedError,
)
from versioned_catalog.storage import remote
from versioned_catalog.storage.opening import open_store
from versioned_catalog.storage.store import Put, Store

OURS, THEIRS = b"ours" * 1000, b"theirs" * 1000
LATE = 0.15

NO_EFFECT = (
    Fault.DROP_REQUEST,
    Fault.CUT_REQUEST,
    Fault.ERROR_500,
    Fault.ERROR_503,
)
EFFECT = (
    Fault.DELAY,
    Fault.LATE,
    Fault.DROP_REPLY,
    Fault.CUT_REPLY,
    Fault.ERROR_500_AFTER,
    Fault.ERROR_503_AFTER,
)
PASSING = (*NO_EFFECT, *EFFECT)
ALL = (*PASSING, Fault.ERROR_403)


@dataclass(frozen=True)
class Folder:
    """The same folder through the proxy and without it."""

    store: Store
    direct: Store

    def child(self, name: str) -> Folder:
        return Folder(self.store.child(name), self.direct.child(name))


@pytest.fixture(scope="module")
def bucket(one_proxy: Proxied, s3: Server) -> Folder:
    """A client that has checked that the server supports put-if-absent."""
    one_proxy.set_rules()
    url = f"s3://{BUCKET}/{uuid4().hex}"
    store = open_store(url, one_proxy.options)
    assert store.put_if_absent("first", b"") is Put.WON
    return Folder(store, open_store(url, s3.options))


def result_of(act: Callable[[], Any]) -> Any:
    """The result of a call, or the StorageError that it raised."""
    try:
        return act()
    except StorageError as error:
        return error


def folders_for(
    proxy: Proxied, bucket: Folder, faults: tuple[Fault, ...], **rule: Any
) -> Iterator[Any]:
    """A folder for each fault, which the first matching request in it meets."""
    folders = {fault: uuid4().hex for fault in faults}
    fits = rule.pop("path", "")
    rules = [
        Rule(fault, path=f"^(?=.*{folder})(?=.*{fits})", seconds=LATE, **rule)
        for fault, folder in folders.items()
    ]
    proxy.set_rules(*rules)
    return iter([(fault, bucket.child(folder)) for fault, folder in folders.items()])


def at_once(check: Callable[[Fault, Folder], None], cases: Iterator[Any]) -> None:
    """Check all cases in threads, since they mostly wait."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda case: check(*case), cases))


def were_applied(proxy: Proxied, faults: tuple[Fault, ...]) -> bool:
    return {one.fault for one in proxy.seen()} >= set(faults)


# Written by hand: possible results of a put of a free name. The log finds out who has TAKEN it.
FREE: dict[Fault, set[Put]] = {
    Fault.DELAY: {Put.WON},
    Fault.DROP_REQUEST: {Put.WON},
    Fault.CUT_REQUEST: {Put.WON},
    Fault.ERROR_500: {Put.WON},
    Fault.ERROR_503: {Put.WON},
    Fault.LATE: {Put.WON, Put.TAKEN},
    Fault.DROP_REPLY: {Put.TAKEN},
    Fault.CUT_REPLY: {Put.WON},  # the response to a put has no body
    Fault.ERROR_500_AFTER: {Put.TAKEN},
    Fault.ERROR_503_AFTER: {Put.TAKEN},
    Fault.ERROR_409: {Put.UNKNOWN},
    Fault.ERROR_409_AFTER: {Put.UNKNOWN},
    Fault.ERROR_403: {Put.UNKNOWN},
}


def test_put_if_absent_of_a_free_name(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        found = folder.store.put_if_absent("x", OURS)
        assert found in FREE[fault], fault
        time.sleep(LATE * 2)
        expected = None if fault in (Fault.ERROR_409, Fault.ERROR_403) else OURS
        assert folder.direct.read("x") == expected, fault

    at_once(check, folders_for(proxy, bucket, tuple(FREE), method="PUT"))
    assert were_applied(proxy, tuple(FREE))


def test_put_if_absent_of_a_name_that_is_taken(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        folder.direct.overwrite("x", THEIRS)
        found = folder.store.put_if_absent("x", OURS)
        assert found is Put.TAKEN or (found is Put.UNKNOWN and "09" in fault.name), fault
        time.sleep(LATE * 2)
        assert folder.direct.read("x") == THEIRS, fault

    faults = tuple(fault for fault in FREE if fault is not Fault.ERROR_403)
    at_once(check, folders_for(proxy, bucket, faults, method="PUT", path="/x"))


def test_a_read_returns_the_object_or_an_error(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        folder.direct.overwrite("x", OURS)
        found = result_of(lambda: folder.store.read("x"))
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found == OURS, fault

    at_once(check, folders_for(proxy, bucket, ALL, method="GET", path="/x"))
    assert were_applied(proxy, ALL)


def test_read_of_a_missing_file(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        found = result_of(lambda: folder.store.read("x"))
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found is None, fault

    at_once(check, folders_for(proxy, bucket, ALL, method="GET", path="/x"))


def test_a_file_is_read_whole_or_an_error(proxy: Proxied, bucket: Folder) -> None:
    """A file is read by ranges: its end first, then the requested range."""
    content = bytes(range(256)) * 1024

    def check(fault: Fault, folder: Folder) -> None:
        folder.direct.overwrite("x", content)

        def read() -> Any:
            file = folder.store.open("x")
            file.seek(5)
            return file.read(100_000)

        found = result_of(read)
        right = content[5:100_005]
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found == right, (
            fault
        )

    for skip in (0, 1):
        at_once(check, folders_for(proxy, bucket, ALL, method="GET", path="/x", skip=skip))
        assert were_applied(proxy, ALL)


def test_deleted_files_are_reported_as_missing(bucket: Folder) -> None:
    """A file may be deleted before or after it was opened, as by vacuum."""
    folder = bucket.child(uuid4().hex)
    with pytest.raises(CorruptTableError, match="x is missing"):
        folder.store.open("x")
    folder.store.overwrite("x", bytes(100_000))
    file = folder.store.open("x")
    folder.store.delete("x")
    with pytest.raises(CorruptTableError, match="x is missing"):
        file.read(10)


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.read("x"),
        lambda store: store.files("x"),
    ],
    ids=["read", "files"],
)
def test_a_missing_bucket_is_an_error(ask: Callable[[Store], object], proxy: Proxied) -> None:
    store = open_store(f"s3://nothing-{uuid4().hex}/folder", proxy.options)
    with pytest.raises(StorageError, match="there is no bucket nothing-"):
        ask(store)


@pytest.mark.thorough
def test_an_overwrite_takes_effect_or_is_an_error(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        folder.direct.overwrite("x", THEIRS)
        found = result_of(lambda: folder.store.overwrite("x", OURS))
        time.sleep(LATE * 2)
        refused = fault is Fault.ERROR_403
        assert isinstance(found, StorageError) == refused, fault
        assert folder.direct.read("x") == (THEIRS if refused else OURS), fault

    at_once(check, folders_for(proxy, bucket, ALL, method="PUT", path="/x"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "method, path",
    [
        pytest.param("PUT", "/x$", id="one put"),
        pytest.param("POST", "uploads", id="first request", marks=pytest.mark.nightly),
        pytest.param("PUT", "partNumber=2", id="a part", marks=pytest.mark.nightly),
        pytest.param("POST", "uploadId", id="last request"),
    ],
)
def test_a_file_is_created_whole_or_an_error(
    method: str, path: str, proxy: Proxied, bucket: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one put or several parts are written whole, or an error is raised."""
    monkeypatch.setattr(remote, "_BLOCK", 5 << 20)
    content = OURS * (10 if path == "/x$" else 2800)

    def check(fault: Fault, folder: Folder) -> None:
        def write() -> None:
            with folder.store.create("x") as sink:
                for start in range(0, len(content), 1 << 20):
                    sink.write(content[start : start + (1 << 20)])

        failed = isinstance(result_of(write), StorageError)
        assert failed == (fault is Fault.ERROR_403), fault
        found = folder.direct.read("x")
        assert found == (None if failed else content), fault

    at_once(check, folders_for(proxy, bucket, ALL, method=method, path=path))
    assert were_applied(proxy, ALL)


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_upload_whose_completion_was_lost(
    is_seen: bool, proxy: Proxied, bucket: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MinIO forgets an upload that was completed, so the store looks for the file."""
    monkeypatch.setattr(remote, "_BLOCK", 5 << 20)
    name, content = uuid4().hex, OURS * 2800
    folder = bucket.child(name)
    ended = Rule(Fault.NO_UPLOAD_AFTER, method="POST", path=f"{name}/x.*uploadId")
    unseen = Rule(Fault.ERROR_403, method="GET", path=f"{name}/x$")
    proxy.set_rules(ended, *([] if is_seen else [unseen]))

    def write() -> None:
        with folder.store.create("x") as sink:
            sink.write(content)

    assert isinstance(result_of(write), StorageError) == (not is_seen)
    assert folder.direct.read("x") == content


@pytest.mark.thorough
def test_a_listing_is_complete_or_an_error(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        for name in "ab":
            folder.direct.overwrite(f"data/{name}", b"1")
        found = result_of(lambda: [file.name for file in folder.store.files("data")])
        if fault is Fault.ERROR_403:
            assert isinstance(found, StorageError)
        else:
            assert found == ["a", "b"], fault

    at_once(check, folders_for(proxy, bucket, ALL, method="GET", path="list-type"))
    assert were_applied(proxy, ALL)


def test_a_delete_takes_effect_or_is_an_error(proxy: Proxied, bucket: Folder) -> None:
    def check(fault: Fault, folder: Folder) -> None:
        folder.direct.overwrite("x", OURS)
        found = result_of(lambda: folder.store.delete("x"))
        assert isinstance(found, StorageError) == (fault is Fault.ERROR_403), fault
        assert (folder.direct.read("x") is None) == (fault is not Fault.ERROR_403), fault

    at_once(check, folders_for(proxy, bucket, ALL, method="DELETE", path="/x"))
    assert were_applied(proxy, ALL)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_deletion_is_complete_or_an_error(fault: Fault, proxy: Proxied, bucket: Folder) -> None:
    """The request is for the bucket, so that faults can't be chosen by folder."""
    folder = bucket.child(uuid4().hex)
    names = ["a", "b", "c"]
    for name in names:
        folder.direct.overwrite(name, b"")
    proxy.set_rules(Rule(fault, "POST", "delete", seconds=0.1))
    found = result_of(lambda: folder.store.delete_all([*names, "missing"]))
    assert were_applied(proxy, (fault,))
    assert isinstance(found, StorageError) == (fault is Fault.ERROR_403)
    left = [name for name in names if folder.direct.read(name) is not None]
    assert left == (names if fault is Fault.ERROR_403 else [])


@pytest.mark.parametrize(
    "fault", [Fault.DROP_REPLY, Fault.ERROR_500_AFTER], ids=lambda fault: fault.name
)
def test_the_time_of_the_store_survives_a_lost_reply(
    fault: Fault, proxy: Proxied, bucket: Folder
) -> None:
    proxy.set_rules(Rule(fault, "HEAD"))
    assert abs((bucket.store.now() - datetime.now(UTC)).total_seconds()) < 10
    assert were_applied(proxy, (fault,))


# Commits


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture
def options(bucket: Folder) -> dict[str, Any]:
    return dict(bucket.store.location.options)


@pytest.mark.thorough
def test_a_commit_succeeds_once(proxy: Proxied, bucket: Folder, s3: Server) -> None:
    """A commit is acknowledged and exists once, whatever fault its put meets."""

    def check(fault: Fault, folder: Folder) -> None:
        url = folder.store.url
        table = Catalog.create_path(
            url, "id LONG", storage_options=dict(folder.store.location.options)
        )
        found = result_of(lambda: table.append(ids(7)))
        assert found == 1, fault
        time.sleep(LATE * 2)
        now = Catalog.load_path(url, storage_options=s3.options)
        assert now.version == 1, fault
        assert now.scan().to_arrow()["id"].to_pylist() == [7], fault

    at_once(check, folders_for(proxy, bucket, tuple(FREE), method="PUT", path="log/0*1[.]json"))
    assert were_applied(proxy, tuple(FREE))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "first", [Fault.DROP_REPLY, Fault.ERROR_500_AFTER, Fault.LATE], ids=lambda fault: fault.name
)
def test_a_refused_retry_leaves_the_outcome_unknown(
    first: Fault, proxy: Proxied, s3: Server, s3_place: str, options: dict[str, Any]
) -> None:
    """The S3 library retries lost requests, and the retry of one that took effect may be refused."""
    table = Catalog.create_path(s3_place, "id LONG", storage_options=options)
    proxy.set_rules(
        Rule(first, "PUT", "log/", seconds=LATE),
        Rule(Fault.ERROR_403, "PUT", "log/", times=1000),
        Rule(Fault.ERROR_403, "GET", "log/", times=1000),
    )
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(7))
    assert "check the credentials" in str(caught.value.__cause__)
    proxy.set_rules()
    time.sleep(LATE * 2)
    now = Catalog.load_path(s3_place, storage_options=s3.options)
    assert now.find_commit(caught.value.commit_id, 0) == 1
    assert now.count() == 1


def test_missing_write_access_is_reported_before_a_commit(proxy: Proxied, s3_place: str) -> None:
    """Write access is checked before the first commit, so that its outcome is known."""
    Catalog.create_path(s3_place, "id LONG", storage_options=proxy.options)
    table = Catalog.load_path(s3_place, storage_options=proxy.options)
    proxy.set_rules(Rule(Fault.ERROR_403, "PUT", times=1000))
    with pytest.raises(StorageError, match=r"can't write .*check the credentials"):
        table.alter().add_column("a", "int").commit()


@pytest.mark.thorough
def test_a_server_that_ignores_the_condition_is_refused(proxy: Proxied, s3_place: str) -> None:
    Catalog.create_path(s3_place, "id LONG", storage_options=proxy.options)
    table = Catalog.load_path(s3_place, storage_options=proxy.options)
    proxy.set_rules(Rule(Fault.UNCONDITIONAL, "PUT", times=1000))
    for act in (
        lambda: Catalog.create_path(f"{s3_place}/new", "id LONG", storage_options=proxy.options),
        lambda: table.append(ids(7)),
    ):
        with pytest.raises(VersionedError, match="ignores If-None-Match"):
            act()
    proxy.set_rules()
    assert table.refresh().version == 0
    assert open_store(s3_place, proxy.options).list("new/_versioned/log") == []


@pytest.mark.thorough
def test_a_server_that_does_not_respond(proxy: Proxied, bucket: Folder) -> None:
    """A request that gets no response is retried after the configured timeout."""
    folder = bucket.child(uuid4().hex)
    proxy.set_rules(Rule(Fault.HANG))
    begin = time.monotonic()
    assert folder.store.put_if_absent("x", OURS) is Put.WON
    assert 5 <= time.monotonic() - begin < 15


@pytest.mark.thorough
def test_a_segment_that_is_vacuumed_during_a_read(
    proxy: Proxied, s3: Server, s3_place: str
) -> None:
    """The version of a segment that is deleted during a read is reported as expired, not as damaged."""
    noise = pa.table(
        {"id": pa.array([b"%064x" % hash((n, "x")) for n in range(9000)], pa.binary())}
    )
    direct = Catalog.create_path(s3_place, "id BINARY", storage_options=s3.options)
    direct.append(noise)
    options = {**proxy.options, "config_kwargs.read_timeout": 30}
    reader = Catalog.load_path(s3_place, storage_options=options)
    proxy.set_rules(Rule(Fault.DELAY, "GET", "data/", skip=1, seconds=5.0))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: reader.scan().to_arrow())
        direct.overwrite(noise[:1])
        zero = timedelta(0)
        while not were_applied(proxy, (Fault.DELAY,)):
            time.sleep(0.05)
        time.sleep(1.5)  # servers date objects by the second
        direct.maintenance.expire(zero, dry_run=False, force=True)
        assert direct.maintenance.vacuum(zero, dry_run=False, force=True).segments
        with pytest.raises(NotFoundError, match="was expired"):
            reading.result()
