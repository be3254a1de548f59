"""On S3, commits are dated by the server's clock, without additional requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pairwise import some
from s3.counting import Requests
from s3.server import Server
from sealing import resealed
from versioned_catalog import Catalog, Table
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import entry_path
from versioned_catalog.log.times import time_to_text
from versioned_catalog.storage.opening import open_store
from wrong_clocks import HOUR, YEAR, ages, make, readings, set_own_clock

SECOND = timedelta(seconds=1)


@pytest.fixture
def requests(s3: Server) -> Requests:
    return Requests(s3)


def forget_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a process that has had no response of the server yet."""
    monkeypatch.setattr("versioned_catalog.storage.remote._CLOCKS", {})


def put_ahead(table: Table) -> None:
    """Date the newest entry a year ahead, as an older library with a wrong clock did."""
    path = entry_path(table.version)
    data = table.store.read(path)
    assert data is not None
    before = time_to_text(table.state.time)
    assert before in data.decode()
    edited = data.decode().replace(before, time_to_text(table.state.time + YEAR))
    table.store.overwrite(path, resealed(edited).encode())


def times(table: Table) -> list[datetime]:
    entries = table.log.entries(0, table.version)
    return [one.head.time for one in entries if isinstance(one, Commit)]


@pytest.mark.parametrize("by", some({YEAR}, [YEAR, -YEAR]), ids=["ahead", "behind"])
def test_commits_are_dated_by_the_server(
    s3_place: str, s3: Server, requests: Requests, monkeypatch: pytest.MonkeyPatch, by: timedelta
) -> None:
    forget_clocks(monkeypatch)
    before = datetime.now(UTC)
    set_own_clock(monkeypatch, by)
    sent = requests.of(lambda: make(s3_place, storage_options=s3.options))
    assert sent.keys() == {"GetObject", "PutObject"}, "no request for the time"
    table = Catalog.load_path(s3_place, s3.options)
    assert requests.of(lambda: table.set_tag("x")) == {"PutObject": 1}
    table.upsert(readings(HOUR, host="b"))
    found = times(table)
    assert before - SECOND < found[0] < found[1] < found[2] < found[3]
    assert found[3] < datetime.now(UTC) + SECOND
    assert ages(table) == [0, 0, 5]


def test_a_commit_from_the_future_hides_no_row(
    s3_place: str, s3: Server, requests: Requests
) -> None:
    make(s3_place, storage_options=s3.options)
    put_ahead(Catalog.load_path(s3_place, s3.options))
    table = Catalog.load_path(s3_place, s3.options)
    assert requests.of(lambda: table.scan(["age"])) == {"HeadObject": 1}, (
        "for the date of its entry"
    )
    assert ages(table) == [0, 5]
    assert table.at(timestamp=datetime.now(UTC) + SECOND).version == 1
    table.append(readings(HOUR, host="b"))
    table.maintenance.compact(strategy="full")
    assert (ages(table), table.state.segments.rows) == ([0, 0, 5], 3)


def test_reads_send_no_request_for_the_time(s3_place: str, s3: Server, requests: Requests) -> None:
    """Every response has the time, and a commit that is not in the future needs no other."""
    table = make(s3_place, storage_options=s3.options)
    table = Catalog.load_path(s3_place, s3.options)
    assert requests.of(lambda: table.scan(["age"])) == {}
    later = datetime.now(UTC) + 2 * SECOND
    assert requests.of(lambda: table.at(timestamp=later)).keys() == {"GetObject"}


def test_the_time_of_an_error_response_is_used(
    s3_place: str, s3: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store("s3://no-such-bucket-anywhere/x", s3.options)
    assert abs(store.now() - datetime.now(UTC)) < 2 * SECOND
    forget_clocks(monkeypatch)
    set_own_clock(monkeypatch, YEAR)
    store = open_store(s3_place, s3.options)
    assert store.read("nothing") is None
    monkeypatch.setattr(type(store), "now", None)
    assert abs(store.time() - datetime.now(UTC)) < 2 * SECOND
