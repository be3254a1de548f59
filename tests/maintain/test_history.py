"""The past is read only as far back as somebody asks, whatever its length."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from faults.store import FaultyStore, Plan
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.names.folders import load_at
from versioned_catalog.storage.local import LocalStore

LENGTH = 700


@pytest.fixture(scope="module")
def long_ago(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 700 versions, of which every hundredth changes the schema."""
    folder = tmp_path_factory.mktemp("history") / "t"
    table = Catalog.create_path(folder, "id BIGINT")
    for version in range(1, LENGTH):
        if version % 100 == 0:
            table.alter().add_column(f"c{version}", "INT").commit()
        else:
            table.set_tag("newest", version - 1)
    return folder


def counted(folder: Path) -> tuple[Table, list[str]]:
    """A loaded table, and the list of the calls of its storage from now on."""
    plan = Plan()
    table = load_at(FaultyStore(LocalStore(str(folder)), plan), "t")
    plan.calls.clear()
    return table, plan.calls


READ = "read _versioned/log/N.json"


def test_the_newest_commits_are_read_alone(long_ago: Path) -> None:
    table, calls = counted(long_ago)
    rows = table.inspect.history(limit=20).to_pylist()
    assert calls == [READ] * 20
    assert [row["version"] for row in rows] == list(range(LENGTH - 20, LENGTH))
    assert rows == table.inspect.history().to_pylist()[-20:]
    assert table.as_of(10).inspect.history(limit=2)["version"].to_pylist() == [9, 10]
    assert table.as_of(1).inspect.history(limit=20)["version"].to_pylist() == [0, 1]


def test_commits_are_read_as_far_back_as_they_are_used(long_ago: Path) -> None:
    table, calls = counted(long_ago)
    commits = table.inspect.commits()
    assert calls == []
    assert next(commits)["version"] == LENGTH - 1
    assert calls == [READ] * 16
    assert [row["version"] for row in islice(commits, 15)] == list(range(698, 683, -1))
    assert calls == [READ] * 16
    assert next(commits)["version"] == 683
    assert calls == [READ] * 48
    whole = list(table.inspect.commits())
    assert whole[::-1] == table.inspect.history().to_pylist()
    assert [row["schema_version"] for row in whole[::-1]] == [n // 100 for n in range(LENGTH)]


def test_time_travel_bisects_the_log(long_ago: Path) -> None:
    """10 steps find one of 700 versions; the state is read from a checkpoint near it."""
    table, calls = counted(long_ago)
    times = table.inspect.history()["time"].to_pylist()
    calls.clear()
    for version in (0, 333, LENGTH - 1):
        calls.clear()
        assert table.version_at(times[version]) == version
        assert calls.count(READ) <= 10
        assert len(calls) <= 11, "one more call asks for the date of the newest entry"
    calls.clear()
    assert table.at(timestamp=times[333]).version == 333
    assert calls.count(READ) < 10 + 256


def test_expired_commits_have_no_schema_version(long_ago: Path, tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT")
    table.alter().add_column("a", "INT").commit()
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    table.maintenance.expire(timedelta(0), 2, dry_run=False, force=True)
    rows = table.refresh().inspect.history().to_pylist()
    assert [row["schema_version"] for row in rows] == [None, None, None, 1, 1, 1]
    assert [*table.inspect.commits()] == rows[::-1]


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3"])
def test_a_limit_is_a_number_of_commits(limit: int, long_ago: Path) -> None:
    with pytest.raises(InvalidRequestError, match="at least 1"):
        Catalog.load_path(long_ago).inspect.history(limit=limit)
