"""Streams that keep their place in a table: expiry waits for their consumers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintain.tables import expire, ids, later, load, tick
from versioned_catalog import Catalog, NotFoundError, Table
from versioned_catalog.stream import consumers as consuming
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.consumers import EVERY
from versioned_catalog.stream.offsets import Settings
from versioned_catalog.stream.row_stream import TableStream

NAMED = Settings(consumer="c")


@pytest.fixture(params=["rows", "changes"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def opened(root: Path, kind: str, settings: Settings = NAMED) -> TableStream | ChangeStream:
    table = load(root)
    return table.stream(settings) if kind == "rows" else table.change_stream(settings)


def make(root: Path) -> Table:
    table = Catalog.create_path(root / "t", "id LONG, b STRING")
    table.append(ids(1))
    return table


def found(rows: pa.Table) -> list[int]:
    return sorted(rows["id"].to_pylist())


def test_a_stream_that_stopped_goes_on_after_an_expiry(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path)
    stream = opened(tmp_path, kind)
    start = stream.initial()
    assert load(tmp_path).state.consumers["c"].version == 1
    read = stream.latest(start)
    assert found(stream.read(start, read)) == [1]
    for number in (2, 3, 4):
        table.append(ids(number))
        table.refresh().maintenance.compact()
    assert expire(table, 1) == 1
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    again = opened(tmp_path, kind)
    assert found(again.read(read, again.latest(read))) == [2, 3, 4]


def test_the_consumer_moves_with_what_was_read(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    stream = opened(tmp_path, kind)
    read = stream.latest(stream.initial())
    table.append(ids(2))
    table.append(ids(3))
    end = stream.latest(read)
    later(monkeypatch, EVERY + timedelta(minutes=1))
    stream.consumed(end)
    assert load(tmp_path).state.consumers["c"].version == load(tmp_path).version - 1
    tick()
    assert expire(table, 1) == load(tmp_path).state.consumers["c"].version
    table.append(ids(4))
    again = opened(tmp_path, kind)
    assert found(again.read(end, again.latest(end))) == [4]


def test_a_stream_without_a_consumer_is_told_of_them(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path)
    stream = opened(tmp_path, kind, Settings())
    read = stream.latest(stream.initial())
    stream.consumed(read)
    table.append(ids(2))
    table.append(ids(3))
    expire(table, 1)
    again = opened(tmp_path, kind, Settings())
    with pytest.raises(NotFoundError, match="option consumer"):
        again.latest(read)
    assert load(tmp_path).state.consumers == {}


def test_a_query_that_starts_anew_keeps_what_it_starts_with(tmp_path: Path, kind: str) -> None:
    """It moves its consumer back, but not forward: another checkpoint may still need the older place."""
    table = make(tmp_path)
    table.append(ids(2))
    opened(tmp_path, kind).initial()
    assert load(tmp_path).state.consumers["c"].version == 2
    opened(tmp_path, kind, Settings(starting_version=1, consumer="c")).initial()
    assert load(tmp_path).state.consumers["c"].version == 0
    opened(tmp_path, kind).initial()
    assert load(tmp_path).state.consumers["c"].version == 0


def test_a_stream_of_a_table_that_is_gone_ends_without_its_consumer(
    tmp_path: Path, kind: str
) -> None:
    table = make(tmp_path)
    stream = opened(tmp_path, kind)
    read = stream.latest(stream.initial())
    table.refresh().drop_consumer("c")
    table.drop()
    stream.consumed(read)
    end = stream.latest(read)
    with pytest.raises(NotFoundError, match="was dropped"):
        stream.latest(end)


def test_consumers_do_not_move_past_the_moves_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two of them would commit for ever, in a table to which nobody writes."""
    monkeypatch.setattr(consuming, "EVERY", timedelta(0))
    table = Catalog(tmp_path).create_table("t", "id BIGINT")
    table.append(pa.table({"id": [1]}))
    for name in ("a", "b", "a", "b"):
        consuming.advance(table.handle, name, table.refresh().version, table.state.table_uuid)
    assert table.refresh().version == 3
    table.append(pa.table({"id": [2]}))
    consuming.advance(table.handle, "a", 4, table.state.table_uuid)
    assert table.refresh().version == 5
