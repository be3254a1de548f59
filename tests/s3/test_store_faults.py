"""The store through a proxy that does one thing wrong: a right answer, or one that says it has none."""

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
class Through:
    """The same folder through the proxy, and straight."""

    store: Store
    straight: Store

    def child(self, name: str) -> Through:
        return Through(self.store.child(name), self.straight.child(name))


@pytest.fixture(scope="module")
def bucket(one_proxy: Proxied, s3: Server) -> Through:
    """A client that has proven the server already."""
    one_proxy.tell()
    place = f"s3://{BUCKET}/{uuid4().hex}"
    store = open_store(place, one_proxy.options)
    assert store.put_if_absent("first", b"") is Put.WON
    return Through(store, open_store(place, s3.options))


def told(ask: Callable[[], Any]) -> Any:
    """What is answered; an error of the store as what it is."""
    try:
        return ask()
    except StorageError as error:
        return error


def each(proxy: Proxied, bucket: Through, faults: tuple[Fault, ...], **rule: Any) -> Iterator[Any]:
    """A folder for each fault, which strikes the first request there that fits."""
    folders = {fault: uuid4().hex for fault in faults}
    fits = rule.pop("path", "")
    rules = [
        Rule(fault, path=f"^(?=.*{folder})(?=.*{fits})", seconds=LATE, **rule)
        for fault, folder in folders.items()
    ]
    proxy.tell(*rules)
    return iter([(fault, bucket.child(folder)) for fault, folder in folders.items()])


def at_once(check: Callable[[Fault, Through], None], cases: Iterator[Any]) -> None:
    """Check every case; most of the time they wait."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda case: check(*case), cases))


def was_struck(proxy: Proxied, faults: tuple[Fault, ...]) -> bool:
    return {one.fault for one in proxy.seen()} >= set(faults)


# By hand: what may be answered to a put of a name that is free. The log finds out who has `TAKEN` it.
FREE: dict[Fault, set[Put]] = {
    Fault.DELAY: {Put.WON},
    Fault.DROP_REQUEST: {Put.WON},
    Fault.CUT_REQUEST: {Put.WON},
    Fault.ERROR_500: {Put.WON},
    Fault.ERROR_503: {Put.WON},
    Fault.LATE: {Put.WON, Put.TAKEN},
    Fault.DROP_REPLY: {Put.TAKEN},
    Fault.CUT_REPLY: {Put.WON},  # the answer to a put has no body
    Fault.ERROR_500_AFTER: {Put.TAKEN},
    Fault.ERROR_503_AFTER: {Put.TAKEN},
    Fault.ERROR_409: {Put.UNKNOWN},
    Fault.ERROR_409_AFTER: {Put.UNKNOWN},
    Fault.ERROR_403: {Put.UNKNOWN},
}


def test_put_if_absent_of_a_free_name(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        found = place.store.put_if_absent("x", OURS)
        assert found in FREE[fault], fault
        time.sleep(LATE * 2)
        expected = None if fault in (Fault.ERROR_409, Fault.ERROR_403) else OURS
        assert place.straight.read("x") == expected, fault

    at_once(check, each(proxy, bucket, tuple(FREE), method="PUT"))
    assert was_struck(proxy, tuple(FREE))


def test_put_if_absent_of_a_name_that_is_taken(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        place.straight.overwrite("x", THEIRS)
        found = place.store.put_if_absent("x", OURS)
        assert found is Put.TAKEN or (found is Put.UNKNOWN and "09" in fault.name), fault
        time.sleep(LATE * 2)
        assert place.straight.read("x") == THEIRS, fault

    faults = tuple(fault for fault in FREE if fault is not Fault.ERROR_403)
    at_once(check, each(proxy, bucket, faults, method="PUT", path="/x"))


def test_read(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        place.straight.overwrite("x", OURS)
        found = told(lambda: place.store.read("x"))
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found == OURS, fault

    at_once(check, each(proxy, bucket, ALL, method="GET", path="/x"))
    assert was_struck(proxy, ALL)


def test_read_of_what_is_not_there(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        found = told(lambda: place.store.read("x"))
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found is None, fault

    at_once(check, each(proxy, bucket, ALL, method="GET", path="/x"))


def test_open(proxy: Proxied, bucket: Through) -> None:
    """By ranges: the end first, and then what is asked for."""
    content = bytes(range(256)) * 1024

    def check(fault: Fault, place: Through) -> None:
        place.straight.overwrite("x", content)

        def read() -> Any:
            file = place.store.open("x")
            file.seek(5)
            return file.read(100_000)

        found = told(read)
        right = content[5:100_005]
        assert isinstance(found, StorageError) if fault is Fault.ERROR_403 else found == right, (
            fault
        )

    for skip in (0, 1):
        at_once(check, each(proxy, bucket, ALL, method="GET", path="/x", skip=skip))
        assert was_struck(proxy, ALL)


def test_what_is_gone_is_called_missing(bucket: Through) -> None:
    """Before it is opened, and after: a vacuum may have taken it."""
    place = bucket.child(uuid4().hex)
    with pytest.raises(CorruptTableError, match="x is missing"):
        place.store.open("x")
    place.store.overwrite("x", bytes(100_000))
    file = place.store.open("x")
    place.store.delete("x")
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
def test_a_bucket_that_is_not_there(ask: Callable[[Store], object], proxy: Proxied) -> None:
    store = open_store(f"s3://nothing-{uuid4().hex}/folder", proxy.options)
    with pytest.raises(StorageError, match="there is no bucket nothing-"):
        ask(store)


def test_overwrite(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        place.straight.overwrite("x", THEIRS)
        found = told(lambda: place.store.overwrite("x", OURS))
        time.sleep(LATE * 2)
        refused = fault is Fault.ERROR_403
        assert isinstance(found, StorageError) == refused, fault
        assert place.straight.read("x") == (THEIRS if refused else OURS), fault

    at_once(check, each(proxy, bucket, ALL, method="PUT", path="/x"))


@pytest.mark.parametrize(
    "method, path",
    [("PUT", "/x$"), ("POST", "uploads"), ("PUT", "partNumber=2"), ("POST", "uploadId")],
    ids=["one put", "begin", "a part", "end"],
)
def test_create(
    method: str, path: str, proxy: Proxied, bucket: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, or an error, in one request or in parts."""
    monkeypatch.setattr(remote, "_BLOCK", 5 << 20)
    content = OURS * (10 if path == "/x$" else 2800)

    def check(fault: Fault, place: Through) -> None:
        def write() -> None:
            with place.store.create("x") as sink:
                for start in range(0, len(content), 1 << 20):
                    sink.write(content[start : start + (1 << 20)])

        failed = isinstance(told(write), StorageError)
        assert failed == (fault is Fault.ERROR_403), fault
        found = place.straight.read("x")
        assert found == (None if failed else content), fault

    at_once(check, each(proxy, bucket, ALL, method=method, path=path))
    assert was_struck(proxy, ALL)


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_upload_that_ended_unheard(
    is_seen: bool, proxy: Proxied, bucket: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MinIO knows no upload that has ended: the file is looked for."""
    monkeypatch.setattr(remote, "_BLOCK", 5 << 20)
    folder, content = uuid4().hex, OURS * 2800
    place = bucket.child(folder)
    ended = Rule(Fault.NO_UPLOAD_AFTER, method="POST", path=f"{folder}/x.*uploadId")
    unseen = Rule(Fault.ERROR_403, method="GET", path=f"{folder}/x$")
    proxy.tell(ended, *([] if is_seen else [unseen]))

    def write() -> None:
        with place.store.create("x") as sink:
            sink.write(content)

    assert isinstance(told(write), StorageError) == (not is_seen)
    assert place.straight.read("x") == content


def test_files(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        for name in "ab":
            place.straight.overwrite(f"data/{name}", b"1")
        found = told(lambda: [file.name for file in place.store.files("data")])
        if fault is Fault.ERROR_403:
            assert isinstance(found, StorageError)
        else:
            assert found == ["a", "b"], fault

    at_once(check, each(proxy, bucket, ALL, method="GET", path="list-type"))
    assert was_struck(proxy, ALL)


def test_delete(proxy: Proxied, bucket: Through) -> None:
    def check(fault: Fault, place: Through) -> None:
        place.straight.overwrite("x", OURS)
        found = told(lambda: place.store.delete("x"))
        assert isinstance(found, StorageError) == (fault is Fault.ERROR_403), fault
        assert (place.straight.read("x") is None) == (fault is not Fault.ERROR_403), fault

    at_once(check, each(proxy, bucket, ALL, method="DELETE", path="/x"))
    assert was_struck(proxy, ALL)


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_delete_all(fault: Fault, proxy: Proxied, bucket: Through) -> None:
    """Its request is for the bucket, so that only one can be told apart."""
    place = bucket.child(uuid4().hex)
    names = ["a", "b", "c"]
    for name in names:
        place.straight.overwrite(name, b"")
    proxy.tell(Rule(fault, "POST", "delete", seconds=0.1))
    found = told(lambda: place.store.delete_all([*names, "missing"]))
    assert was_struck(proxy, (fault,))
    assert isinstance(found, StorageError) == (fault is Fault.ERROR_403)
    left = [name for name in names if place.straight.read(name) is not None]
    assert left == (names if fault is Fault.ERROR_403 else [])


@pytest.mark.parametrize(
    "fault", [Fault.DROP_REPLY, Fault.ERROR_500_AFTER], ids=lambda fault: fault.name
)
def test_now(fault: Fault, proxy: Proxied, bucket: Through) -> None:
    proxy.tell(Rule(fault, "HEAD"))
    assert abs((bucket.store.now() - datetime.now(UTC)).total_seconds()) < 10
    assert was_struck(proxy, (fault,))


# Commits.


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture
def options(bucket: Through) -> dict[str, Any]:
    return dict(bucket.store.location.options)


def test_a_commit_succeeds_once(proxy: Proxied, bucket: Through, s3: Server) -> None:
    """Whatever happens to its put."""

    def check(fault: Fault, place: Through) -> None:
        url = place.store.url
        table = Catalog.create_path(
            url, "id LONG", storage_options=dict(place.store.location.options)
        )
        found = told(lambda: table.append(ids(7)))
        assert found == 1, fault
        time.sleep(LATE * 2)
        now = Catalog.load_path(url, storage_options=s3.options)
        assert now.version == 1, fault
        assert now.scan().to_arrow()["id"].to_pylist() == [7], fault

    at_once(check, each(proxy, bucket, tuple(FREE), method="PUT", path="log/0*1[.]json"))
    assert was_struck(proxy, tuple(FREE))


@pytest.mark.parametrize(
    "first", [Fault.DROP_REPLY, Fault.ERROR_500_AFTER, Fault.LATE], ids=lambda fault: fault.name
)
def test_a_refusal_after_a_request_that_took_effect_is_no_failure(
    first: Fault, proxy: Proxied, s3: Server, s3_place: str, options: dict[str, Any]
) -> None:
    """The library that sends requests sends lost ones again by itself, and the second may be refused."""
    table = Catalog.create_path(s3_place, "id LONG", storage_options=options)
    proxy.tell(
        Rule(first, "PUT", "log/", seconds=LATE),
        Rule(Fault.ERROR_403, "PUT", "log/", times=1000),
        Rule(Fault.ERROR_403, "GET", "log/", times=1000),
    )
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(7))
    assert "check the credentials" in str(caught.value.__cause__)
    proxy.tell()
    time.sleep(LATE * 2)
    now = Catalog.load_path(s3_place, storage_options=s3.options)
    assert now.find_commit(caught.value.commit_id, 0) == 1
    assert now.count() == 1


def test_who_may_not_write_is_told_so(proxy: Proxied, s3_place: str) -> None:
    """Before anything is committed, so that it is no question whether it was."""
    Catalog.create_path(s3_place, "id LONG", storage_options=proxy.options)
    table = Catalog.load_path(s3_place, storage_options=proxy.options)
    proxy.tell(Rule(Fault.ERROR_403, "PUT", times=1000))
    with pytest.raises(StorageError, match=r"can't write .*check the credentials"):
        table.alter().add_column("a", "int").commit()


def test_a_server_that_ignores_the_condition_is_refused(proxy: Proxied, s3_place: str) -> None:
    Catalog.create_path(s3_place, "id LONG", storage_options=proxy.options)
    table = Catalog.load_path(s3_place, storage_options=proxy.options)
    proxy.tell(Rule(Fault.UNCONDITIONAL, "PUT", times=1000))
    for act in (
        lambda: Catalog.create_path(f"{s3_place}/new", "id LONG", storage_options=proxy.options),
        lambda: table.append(ids(7)),
    ):
        with pytest.raises(VersionedError, match="ignores If-None-Match"):
            act()
    proxy.tell()
    assert table.refresh().version == 0
    assert open_store(s3_place, proxy.options).list("new/_versioned/log") == []


def test_a_server_that_falls_silent(proxy: Proxied, bucket: Through) -> None:
    """It is waited for as long as the options say, and asked again."""
    place = bucket.child(uuid4().hex)
    proxy.tell(Rule(Fault.HANG))
    begin = time.monotonic()
    assert place.store.put_if_absent("x", OURS) is Put.WON
    assert 5 <= time.monotonic() - begin < 15


def test_a_segment_that_is_vacuumed_while_it_is_read(
    proxy: Proxied, s3: Server, s3_place: str
) -> None:
    """It was opened, and is gone when its rows are asked for: the version was given up, no damage."""
    noise = pa.table(
        {"id": pa.array([b"%064x" % hash((n, "x")) for n in range(9000)], pa.binary())}
    )
    straight = Catalog.create_path(s3_place, "id BINARY", storage_options=s3.options)
    straight.append(noise)
    patient = {**proxy.options, "config_kwargs.read_timeout": 30}
    reader = Catalog.load_path(s3_place, storage_options=patient)
    proxy.tell(Rule(Fault.DELAY, "GET", "data/", skip=1, seconds=5.0))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: reader.scan().to_arrow())
        straight.overwrite(noise[:1])
        zero = timedelta(0)
        while not was_struck(proxy, (Fault.DELAY,)):
            time.sleep(0.05)
        time.sleep(1.5)  # servers date objects by the second
        straight.maintenance.expire(zero, dry_run=False, force=True)
        assert straight.maintenance.vacuum(zero, dry_run=False, force=True).segments
        with pytest.raises(NotFoundError, match="was expired"):
            reading.result()
