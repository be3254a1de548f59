"""Answers that are lost, late or wrong: success once, or an outcome that is called unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import (
    Catalog,
    CommitOutcomeUnknown,
    CorruptTableError,
    StorageError,
    Table,
)
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.log.codec import LoadedState
from versioned_catalog.log.table_log import TableCodec
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.retrying import PUT_TRIES
from versioned_catalog.storage.store import Put, Store

LOG = "put n/t/_versioned/log/N.json"


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "id LONG").append(ids(1))
    return tmp_path


def interrupted(place: Path, fault: Fault, after: Callable[[], object]) -> Table:
    """The table, over a store whose first put to its log is interrupted after the effect."""
    plan, interruption = Plan(0, fault, only=LOG), Interruption(LOG, after=after)
    store = InterruptedStore(LocalStore(str(place)), plan, interruption)
    return Catalog.over(store).load_table("n.t")


def fresh(place: Path) -> Table:
    return Catalog(place).load_table("n.t")


def shown(table: Table) -> list[int]:
    return [int(row["id"]) for row in table.scan().to_arrow().to_pylist()]


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.REPLY_TAKEN])
def test_the_version_told_is_our_own(fault: Fault, place: Path) -> None:
    rival = fresh(place)
    table = interrupted(place, fault, lambda: rival.refresh().append(ids(3)))
    assert table.append(ids(2)) == 2, "not the rival's, which came after"
    assert table.version == 2
    assert shown(table) == [1, 2], "others are seen after refresh()"
    assert shown(table.refresh()) == [1, 2, 3]
    assert table.inspect.history()["operation"].to_pylist() == [
        "create",
        "append",
        "append",
        "append",
    ]


def test_a_rival_wins_during_the_silence(place: Path) -> None:
    rival = fresh(place)
    table = interrupted(place, Fault.LOST_REQUEST, lambda: rival.append(ids(3)))
    assert table.append(ids(2)) == 3
    assert shown(fresh(place)) == [1, 3, 2]


def test_a_rival_wins_with_what_we_can_not_stand_beside(place: Path) -> None:
    rival = fresh(place)
    table = interrupted(
        place, Fault.LOST_REQUEST, lambda: rival.alter().set_not_null("id").commit()
    )
    with pytest.raises(Exception, match="NOT NULL"):
        table.append(pa.table({"id": pa.array([None], pa.int64())}))
    assert fresh(place).version == 2


@pytest.mark.parametrize("landed", [True, False])
def test_a_store_that_falls_silent_for_good(landed: bool, place: Path) -> None:
    class Gone(FaultyStore):
        gone = False

        def child(self, path: str) -> Store:
            return Gone(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
            if self.gone:
                raise StorageError("no route to host")
            return super().read(path, limit)

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            if self.gone:
                raise StorageError("no route to host")
            self.gone = True
            if landed:
                self._inner.put_if_absent(path, data, dated)
            return Put.UNKNOWN

    table = Catalog.over(Gone(LocalStore(str(place)), Plan())).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert caught.value.commit_id in str(caught.value)
    found = fresh(place).find_commit(caught.value.commit_id, 1)
    assert found == (2 if landed else None)
    assert shown(fresh(place)) == ([1, 2] if landed else [1])
    fresh(place).append(ids(3))


def test_a_reply_and_then_the_store_is_lost(place: Path) -> None:
    """Put again and told "taken", but who it is can't be read."""

    class Blind(FaultyStore):
        blind = False

        def child(self, path: str) -> Store:
            return Blind(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def read(self, path: str, limit: int = ENTRY_BYTES) -> bytes | None:
            if self.blind:
                raise StorageError("no route to host")
            return super().read(path, limit)

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            self.blind = True
            return super().put_if_absent(path, data, dated)

    store = Blind(LocalStore(str(place)), Plan(0, Fault.REPLY_TAKEN, only=LOG))
    table = Catalog.over(store).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert fresh(place).find_commit(caught.value.commit_id) == 2


def test_a_request_that_arrives_late(place: Path) -> None:
    """It lands after the outcome was called unknown: it is found, and it is there once."""
    late: list[tuple[str, bytes]] = []

    class Late(FaultyStore):
        def child(self, path: str) -> Store:
            return Late(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            late.append((path, data))
            return Put.UNKNOWN

    store = Late(LocalStore(str(place)), Plan())
    table = Catalog.over(store).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert {path for path, _ in late} == {f"_versioned/log/{2:020d}.json"}
    assert len({data for _, data in late}) == 1, "the same entry every time"
    assert len(late) == PUT_TRIES
    assert fresh(place).find_commit(caught.value.commit_id) is None
    outcomes = [LocalStore(str(place / "n/t")).put_if_absent(*request) for request in late]
    assert outcomes == [Put.WON] + [Put.TAKEN] * (len(late) - 1)
    assert fresh(place).find_commit(caught.value.commit_id) == 2
    assert shown(fresh(place)) == [1, 2]


def test_a_name_that_is_taken_by_nothing(place: Path) -> None:
    """A store that contradicts itself ends in an error, not in a loop without end."""

    puts: list[str] = []

    class Liar(FaultyStore):
        def child(self, path: str) -> Store:
            return Liar(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            puts.append(path)
            assert len(puts) < 100
            return Put.TAKEN

    with pytest.raises(CommitOutcomeUnknown):
        Catalog.over(Liar(LocalStore(str(place)), Plan())).load_table("n.t").append(ids(2))


WAREHOUSE: dict[str, Callable[[Catalog], object]] = {
    "create_namespace": lambda c: c.create_namespace("m"),
    "create_table": lambda c: c.create_table("n.v", "a INT"),
    "rename_table": lambda c: c.rename_table("n.t", "n.u"),
    "drop_table": lambda c: c.drop_table("n.t"),
}


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize("operation", WAREHOUSE)
def test_names_are_changed_once(operation: str, fault: Fault, place: Path, tmp_path: Path) -> None:
    recorded = Plan(only="put")
    calls = 2 if operation in ("create_table", "drop_table") else 1
    for at in range(calls):
        folder = tmp_path / f"w{at}"
        catalog = Catalog(folder)
        catalog.create_namespace("n")
        catalog.create_table("n.t", "id LONG")
        recorded = Plan(at, fault, only="put")
        WAREHOUSE[operation](Catalog.over(FaultyStore(LocalStore(str(folder)), recorded)))
        assert len(recorded.calls) == calls + (fault is not Fault.REPLY_TAKEN)
        now = Catalog(folder)
        names = {
            "create_namespace": ["t"],
            "create_table": ["t", "v"],
            "rename_table": ["u"],
            "drop_table": [],
        }
        assert now.list_tables("n") == names[operation]
        assert len(now.list_namespaces()) == (2 if operation == "create_namespace" else 1)
        for name in now.list_tables("n"):
            assert now.load_table(("n", name)).version == 0
        assert not (folder / "n").is_dir() or len(list((folder / "n").iterdir())) == len(
            {"t", "v"} if operation == "create_table" else {"t"}
        ), "no second table beside the first"
        assert len(list((folder / "_versioned/log").iterdir())) == 3


def test_an_entry_that_can_not_be_read_is_not_put(place: Path) -> None:
    table = fresh(place)
    plan = table.transaction().plan_write(ids(2).schema)
    (record,) = plan.write(ids(2).schema, iter(ids(2).to_batches()), table.store)
    with pytest.raises(CorruptTableError):
        table.transaction().commit_append(plan, [replace(record, schema_version=7)])
    assert fresh(place).version == 1
    assert table.transaction().commit_append(plan, [record]) == 2


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every commit is followed by a checkpoint."""
    monkeypatch.setattr(LoadedState, "wants_checkpoint", True)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "error", [pa.ArrowInvalid("x"), MemoryError(), OSError(28, "full"), KeyError("bug")]
)
def test_no_failure_after_a_commit_unsays_it(
    error: Exception, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr(TableCodec, "encode_checkpoint", fail)
    table = fresh(place)
    assert table.append(ids(2)) == 2
    assert table.append(ids(3)) == 3
    assert shown(fresh(place)) == [1, 2, 3]
