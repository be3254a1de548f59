"""Expiry keeps what consumers have not read, for as long as they say."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from maintain.tables import DAY, NOW, expire, ids, later, load, make, shown, tick
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
    Table,
)
from versioned_catalog.commit.operations import Base, Expire
from versioned_catalog.stream.consumers import EVERY, advance
from versioned_catalog.stream.offsets import Settings


def expired(table: Table, **how: object) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    tick()
    done = table.maintenance.expire(NOW, 1, **{"dry_run": False, "force": True, **how})  # type: ignore[arg-type]
    return done.oldest_version, done.consumers, done.lapsed


def test_unread_versions_stay_readable(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.move_consumer("billing", 3)
    table.move_consumer("late", 5)
    assert expired(table, dry_run=True) == (3, ("billing", "late"), ())
    assert expired(table) == (3, ("billing", "late"), ())
    table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert [shown(load(tmp_path), version) for version in (3, 4, 5, 6)] == [[3], [4], [5], [6]]
    with pytest.raises(NotFoundError, match="version 2 is expired"):
        load(tmp_path).scan(version=2)
    table.move_consumer("billing")
    assert expired(table)[:2] == (5, ("billing", "late"))
    table.drop_consumer("late")
    assert expired(table)[0] > 6
    assert load(tmp_path).state.consumers.keys() == {"billing"}


def test_a_stream_goes_on_where_its_consumer_is(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.append(ids(1))
    stream = table.stream(Settings(starting_version=0))
    read = stream.latest(stream.initial())
    table.move_consumer("c", read.version - 1)
    table.append(ids(2))
    table.append(ids(3))
    expire(table, 1)
    again = load(tmp_path).stream(Settings(starting_version=0))
    assert again.read(read, again.latest(read))["id"].to_pylist() == [2, 3]


def test_versions_are_kept_no_longer_than_the_consumer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.move_consumer("c", 2, keep=2 * DAY)
    table.move_consumer("patient", 4)
    later(monkeypatch, 3 * DAY)
    assert expired(table)[1:] == (("patient",), ("c",))
    assert shown(load(tmp_path), 4) == [4]
    row = table.refresh().inspect.consumers().to_pylist()[0]
    assert (row["name"], row["lapsed"], row["rows_behind"]) == ("c", True, None)
    with pytest.raises(NotFoundError, match="'c' can't keep version 2"):
        table.move_consumer("c", 2)


def test_an_idle_consumer_does_not_lapse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is how long a version has been unread, not when the consumer was moved."""
    table = make(tmp_path, 2)
    table.move_consumer("c", 2, keep=DAY)
    later(monkeypatch, 30 * DAY)
    assert not table.inspect.consumers()["lapsed"][0].as_py()
    expired(table)
    table.overwrite(ids(7))
    assert load(tmp_path).state.floor <= 3
    assert load(tmp_path).log.head(3) is not None


def test_how_far_behind(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.append(ids(1, 2))
    table.move_consumer("c", 0, keep=timedelta(hours=1))
    table.append(ids(3))
    table.maintenance.compact()
    (row,) = table.inspect.consumers().to_pylist()
    first = table.log.head(1)
    assert first is not None
    assert row["version"] == 0
    assert (row["versions_behind"], row["rows_behind"]) == (3, 3)
    assert row["unread_since"] == first.time
    assert row["kept_until"] == first.time + timedelta(hours=1)
    assert not row["lapsed"]
    table.move_consumer("c")
    (row,) = table.inspect.consumers().to_pylist()
    assert (row["versions_behind"], row["rows_behind"], row["kept_until"]) == (0, 0, None)


def test_a_consumer_that_comes_while_its_version_is_to_be_expired(tmp_path: Path) -> None:
    table = make(tmp_path)
    planned = Expire(Base.of(table.state), 4, frozenset(), {"known": 1})
    load(tmp_path).move_consumer("new", 2)
    with pytest.raises(CommitConflictError, match="'new' was set to version 2"):
        table._handle.commit(planned)
    load(tmp_path).move_consumer("new", 4)
    assert table._handle.commit(planned) == 9
    with pytest.raises(NotFoundError, match="can't keep version 3"):
        table.move_consumer("slow", 3)


def test_a_lapsed_consumer_that_moves_meanwhile_is_kept(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.move_consumer("c", 1)
    planned = Expire(Base.of(table.state), 4, frozenset(), {"c": 1})
    load(tmp_path).move_consumer("c", 3)
    with pytest.raises(CommitConflictError, match="'c' was set to version 3"):
        table._handle.commit(planned)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_consumers_move_in_any_order_with_expiries(tmp_path: Path, seed: int) -> None:
    """No acknowledged consumer loses a version, whichever handle is stale."""
    random, kept = Random(seed), {}
    handles = [make(tmp_path, 3), load(tmp_path), load(tmp_path)]
    for number in range(10, 35):
        table = random.choice(handles)
        match random.choice(["write", "move", "expire", "alter"]):
            case "write":
                table.refresh().overwrite(ids(number))
            case "alter":
                table.refresh().alter().add_column(f"c{number}", "int").commit()
            case "move":
                name, version = random.choice("ab"), random.randint(0, table.version)
                try:
                    table.move_consumer(name, version)
                    kept[name] = version
                except NotFoundError:
                    pass
            case "expire":
                expired(table)
        newest = load(tmp_path)
        assert newest.state.floor <= min(kept.values(), default=newest.version)
        for version in kept.values():
            newest.scan(version=version).to_arrow()


def test_streams_move_their_consumers_rarely_and_only_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, 2)
    handle = table._handle

    def position() -> tuple[int, int]:
        found = load(tmp_path)
        return found.state.consumers["c"].version, found.version

    advance(handle, "c", 1, table.state.table_uuid)
    assert position() == (1, 3)
    advance(handle, "c", 2, table.state.table_uuid)
    assert position() == (1, 3), "moved twice within minutes"
    later(monkeypatch, EVERY)
    advance(handle, "c", 0, table.state.table_uuid)
    assert position() == (1, 3), "moved back"
    advance(handle, "c", 2, table.state.table_uuid)
    assert position() == (2, 4)
    later(monkeypatch, 2 * EVERY)
    advance(handle, "c", 4, table.state.table_uuid)
    assert position() == (2, 4), "moved past nothing but moves"
    table.refresh().overwrite(ids(9))
    advance(handle, "c", 5, table.state.table_uuid)
    assert position() == (5, 6)


def test_a_replaced_table_has_no_consumers(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id LONG")
    table.move_consumer("c")
    replaced = catalog.replace_table("n.t", "id LONG")
    assert replaced.state.consumers == {}
    with pytest.raises(NotFoundError, match="no consumer 'c'"):
        replaced.drop_consumer("c")
    with pytest.raises(CommitConflictError, match="was replaced"):
        table.move_consumer("c")


def test_rollbacks_and_checkpoints_keep_consumers(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.move_consumer("c", 5, keep=DAY)
    table.rollback(2)
    table.log.write_checkpoint(table.state)
    found = load(tmp_path).state
    assert (found.consumers["c"].version, found.consumers["c"].keep) == (5, DAY)
    assert found.features.write == {"checksums", "consumers"}
    table.move_consumer("c", 6)
    assert load(tmp_path).state.consumers["c"].keep == DAY


def test_what_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path, 2)
    with pytest.raises(InvalidRequestError, match="the newest is 2"):
        table.move_consumer("c", 3)
    with pytest.raises(InvalidRequestError, match="text without control characters"):
        table.move_consumer("", 1)
    with pytest.raises(InvalidRequestError, match="keep must be a timedelta"):
        table.move_consumer("c", keep=timedelta(-1))
    with pytest.raises(NotFoundError, match=r"no consumer 'd' \(the consumers: none so far\)"):
        table.drop_consumer("d")
    assert load(tmp_path).version == 2
