"""A batch that is written again and again is there once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, InvalidRequestError, Table, VersionedError
from versioned_catalog.names.folders import timeline_at
from versioned_catalog.storage.local import LocalStore

COLUMNS = "id BIGINT NOT NULL, n BIGINT"


def rows(*ids: int, n: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([n] * len(ids), pa.int64())})


def ids(table: Table) -> list[int]:
    found: list[int] = table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist()
    return sorted(found)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Catalog(tmp_path).create_table("t", COLUMNS)


def test_a_batch_is_written_once(table: Table) -> None:
    assert table.append(rows(1), batch=("job", 0)) == 1
    assert table.append(rows(1), batch=("job", 0)) == 1, "the newest version; nothing is written"
    assert table.append(rows(2), batch=("job", 5)) == 2
    assert table.append(rows(3), batch=("job", 4)) == 2, "an earlier batch was committed before it"
    assert ids(table) == [1, 2]
    files = list(Path(table.location, "data").iterdir())
    assert len(files) == 2, "a batch that is known to be done writes no files"


def test_applications_count_for_themselves(table: Table) -> None:
    table.append(rows(1), batch=("a", 3))
    table.append(rows(2), batch=("b", 1))
    table.append(rows(3), batch=("a", 4))
    table.append(rows(4))
    assert ids(table) == [1, 2, 3, 4]


def test_an_overwrite_is_not_repeated_over_later_rows(table: Table) -> None:
    table.overwrite(rows(1), batch=("job", 0))
    table.append(rows(2))
    table.overwrite(rows(1), batch=("job", 0))
    assert ids(table) == [1, 2]
    table.overwrite(rows(3), batch=("job", 1))
    assert ids(table) == [3]


def test_an_upsert_is_not_repeated_over_later_values(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", COLUMNS, primary_key=["id"])
    table.upsert(rows(1, n=1), batch=("job", 0))
    table.upsert(rows(1, n=2))
    table.upsert(rows(1, n=1), batch=("job", 0))
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "n": 2}]


WRITES: dict[str, Callable[[Table], int]] = {
    "append": lambda table: table.append(rows(1), batch=("job", 7)),
    "overwrite": lambda table: table.overwrite(rows(1), batch=("job", 7)),
}


@pytest.mark.parametrize("write", WRITES)
def test_two_writers_of_one_batch(table: Table, write: str) -> None:
    """The second loaded the table before the first one committed, and learns of it when it commits."""
    second = Catalog.load_path(table.location)
    assert WRITES[write](table) == 1
    table.append(rows(2))
    assert WRITES[write](second) == 2
    assert ids(table) == [1, 2]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("fault", [f for f in Fault if not f.name.startswith("KILL")])
def test_a_fault_at_every_call_and_then_the_batch_again(
    tmp_path: Path, write: str, fault: Fault
) -> None:
    counted = Plan()
    Catalog.create_path(tmp_path / "counted", COLUMNS)
    WRITES[write](opened(tmp_path / "counted", counted))
    assert len(counted.calls) > 3
    for at in range(len(counted.calls)):
        place = tmp_path / str(at)
        Catalog.create_path(place, COLUMNS)
        plan = Plan(at, fault)
        with suppress(VersionedError):
            WRITES[write](opened(place, plan))
        WRITES[write](opened(place, Plan()))
        assert ids(Catalog.load_path(place)) == [1], counted.calls[at]


def opened(place: Path, plan: Plan) -> Table:
    log = timeline_at(FaultyStore(LocalStore(str(place)), plan))
    return Table(log, log.load(), "t")


@pytest.mark.parametrize("batch", [("", 0), ("job", -1), ("job", 2**63)])
def test_malformed_batches_are_refused(table: Table, batch: tuple[str, int]) -> None:
    with pytest.raises(InvalidRequestError, match="the name of an application and a number"):
        table.append(rows(1), batch=batch)
    assert ids(table) == []
