"""Replies that are lost, late or wrong: a commit succeeds once, or its outcome is unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, CommitOutcomeUnknown, CorruptTableError, StorageError, Table
from versioned_catalog.limits import ENTRY_BYTES
from versioned_catalog.log.commit_log import TABLE_CODEC
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.observe.events import CommitEvent
from versioned_catalog.observe.hooks import on_commit
from versioned_catalog.storage.failures import PUT_TRIES
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Put, Store

LOG = "put n/t/_versioned/log/N.json"


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", "id LONG").append(ids(1))
    return tmp_path


def interrupted(warehouse: Path, fault: Fault, after: Callable[[], object]) -> Table:
    """The table, on a store whose first put to its log is interrupted after it took effect."""
    plan, interruption = Plan(0, fault, only=LOG), Interruption(LOG, after=after)
    store = InterruptedStore(LocalStore(str(warehouse)), plan, interruption)
    return Catalog.over(store).load_table("n.t")


def fresh(warehouse: Path) -> Table:
    return Catalog(warehouse).load_table("n.t")


def shown(table: Table) -> list[int]:
    return [int(row["id"]) for row in table.scan().to_arrow().to_pylist()]


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.REPLY_TAKEN])
def test_the_acknowledged_version_is_our_own(fault: Fault, warehouse: Path) -> None:
    rival = fresh(warehouse)
    table = interrupted(warehouse, fault, lambda: rival.refresh().append(ids(3)))
    assert table.append(ids(2)) == 2, "not the version of the other writer, which came after"
    assert table.version == 2
    assert shown(table) == [1, 2], "concurrent commits are visible after refresh()"
    assert shown(table.refresh()) == [1, 2, 3]
    assert table.inspect.history()["operation"].to_pylist() == [
        "create",
        "append",
        "append",
        "append",
    ]


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.REPLY_TAKEN])
def test_the_acknowledged_version_was_expired_meanwhile(fault: Fault, warehouse: Path) -> None:
    told: list[CommitEvent] = []

    def rival() -> None:
        fresh(warehouse).append(ids(3))
        fresh(warehouse).maintenance.expire(timedelta(0), dry_run=False, force=True)

    table = interrupted(warehouse, fault, rival)
    with on_commit(told.append):
        assert table.append(ids(2)) == 2, "not the version of the one that expired it"
    assert [event.version for event in told] == [3, 4, 2]
    assert fresh(warehouse).version == 4
    assert shown(table) == [1, 2, 3]


def test_another_writer_commits_while_the_outcome_is_unknown(warehouse: Path) -> None:
    rival = fresh(warehouse)
    table = interrupted(warehouse, Fault.LOST_REQUEST, lambda: rival.append(ids(3)))
    assert table.append(ids(2)) == 3
    assert shown(fresh(warehouse)) == [1, 3, 2]


def test_a_conflicting_commit_while_the_outcome_is_unknown(warehouse: Path) -> None:
    rival = fresh(warehouse)
    table = interrupted(
        warehouse, Fault.LOST_REQUEST, lambda: rival.alter().set_not_null("id").commit()
    )
    with pytest.raises(Exception, match="NOT NULL"):
        table.append(pa.table({"id": pa.array([None], pa.int64())}))
    assert fresh(warehouse).version == 2


@pytest.mark.parametrize("landed", [True, False])
def test_a_store_that_stops_replying(landed: bool, warehouse: Path) -> None:
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

    table = Catalog.over(Gone(LocalStore(str(warehouse)), Plan())).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert caught.value.commit_id in str(caught.value)
    found = fresh(warehouse).find_commit(caught.value.commit_id, 1)
    assert found == (2 if landed else None)
    assert shown(fresh(warehouse)) == ([1, 2] if landed else [1])
    fresh(warehouse).append(ids(3))


def test_a_lost_reply_and_then_a_store_that_can_not_be_read(warehouse: Path) -> None:
    """The retried put is answered "taken", but the entry there can't be read."""

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

    store = Blind(LocalStore(str(warehouse)), Plan(0, Fault.REPLY_TAKEN, only=LOG))
    table = Catalog.over(store).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert fresh(warehouse).find_commit(caught.value.commit_id) == 2


def test_a_request_that_arrives_late(warehouse: Path) -> None:
    """It takes effect after the outcome was reported as unknown: it is found, and it is there once."""
    late: list[tuple[str, bytes]] = []

    class Late(FaultyStore):
        def child(self, path: str) -> Store:
            return Late(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            late.append((path, data))
            return Put.UNKNOWN

    store = Late(LocalStore(str(warehouse)), Plan())
    table = Catalog.over(store).load_table("n.t")
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(ids(2))
    assert {path for path, _ in late} == {f"_versioned/log/{2:020d}.json"}
    assert len({data for _, data in late}) == 1, "the same entry every time"
    assert len(late) == PUT_TRIES
    assert fresh(warehouse).find_commit(caught.value.commit_id) is None
    outcomes = [LocalStore(str(warehouse / "n/t")).put_if_absent(*request) for request in late]
    assert outcomes == [Put.WON] + [Put.TAKEN] * (len(late) - 1)
    assert fresh(warehouse).find_commit(caught.value.commit_id) == 2
    assert shown(fresh(warehouse)) == [1, 2]


def test_a_store_that_reports_a_missing_entry_as_taken(warehouse: Path) -> None:
    """A store that contradicts itself causes an error, not an endless loop."""

    puts: list[str] = []

    class Liar(FaultyStore):
        def child(self, path: str) -> Store:
            return Liar(self._inner.child(path), self._plan, f"{self._prefix}{path}/")

        def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
            puts.append(path)
            assert len(puts) < 100
            return Put.TAKEN

    with pytest.raises(CommitOutcomeUnknown):
        Catalog.over(Liar(LocalStore(str(warehouse)), Plan())).load_table("n.t").append(ids(2))


WAREHOUSE: dict[str, Callable[[Catalog], object]] = {
    "create_namespace": lambda c: c.create_namespace("m"),
    "create_table": lambda c: c.create_table("n.v", "a INT"),
    "rename_table": lambda c: c.rename_table("n.t", "n.u"),
    "drop_table": lambda c: c.drop_table("n.t"),
}


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize("operation", WAREHOUSE)
def test_changes_of_names_take_effect_once(
    operation: str, fault: Fault, warehouse: Path, tmp_path: Path
) -> None:
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
        ), "no second table"
        assert len(list((folder / "_versioned/log").iterdir())) == 3


def test_an_unreadable_entry_is_not_written(warehouse: Path) -> None:
    table = fresh(warehouse)
    plan = table.transaction().plan_write(ids(2).schema)
    (record,) = plan.write(ids(2).schema, iter(ids(2).to_batches()), table.store)
    with pytest.raises(CorruptTableError):
        table.transaction().commit_append(plan, [replace(record, schema_version=7)])
    assert fresh(warehouse).version == 1
    assert table.transaction().commit_append(plan, [record]) == 2


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a checkpoint after every commit."""
    monkeypatch.setattr(LoadedState, "wants_checkpoint", True)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "error", [pa.ArrowInvalid("x"), MemoryError(), OSError(28, "full"), KeyError("bug")]
)
def test_a_failure_after_a_commit_does_not_fail_it(
    error: Exception, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr(TABLE_CODEC, "encode_checkpoint", fail)
    table = fresh(warehouse)
    assert table.append(ids(2)) == 2
    assert table.append(ids(3)) == 3
    assert shown(fresh(warehouse)) == [1, 2, 3]
