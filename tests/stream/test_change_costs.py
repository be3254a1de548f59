"""Changes cost what was committed in their range, in calls and in reads of the storage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from calls import calls
from faults.store import FaultyStore, Plan
from versioned_catalog import Catalog, Table
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.offsets import Limits, Settings

COMMITS, EACH = 120, 5


def appended(folder: Path, count: int, key: list[str]) -> Table:
    off = {"auto_maintain": "off"}
    columns = "a BIGINT, b BIGINT"
    table = Catalog(folder).create_table("t", columns, primary_key=key, properties=off)
    for number in range(count):
        table.append(pa.table({"a": [number], "b": [number]}))
    return table


@pytest.mark.parametrize("key", [[], ["a"]], ids=["plain", "keyed"])
def test_a_change_stream_that_is_behind_reads_each_entry_once(
    tmp_path: Path, key: list[str]
) -> None:
    appended(tmp_path, COMMITS, key)
    plan = Plan()
    table = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)).load_table("t")
    stream = table.change_stream(Settings(starting_version=1))
    place, counted, rows = stream.initial(), list[int](), list[int]()
    plan.calls.clear()
    while place.version <= COMMITS:
        batch = list[Changes]()

        def next_batch() -> None:
            nonlocal place
            end = stream.latest(place, Limits(segments=EACH))
            batch.append(stream.changes(place, end))  # noqa: B023
            place = end

        counted.append(calls(next_batch))
        rows += batch[0].to_arrow()["a"].to_pylist()
    assert sorted(rows) == list(range(COMMITS))
    assert len(counted) == COMMITS // EACH
    entries = [call for call in plan.calls if "_versioned/log/" in call]
    probes = len(counted)  # each batch looks for an entry after the newest
    assert len(entries) <= COMMITS + probes + 10, "each batch would load the states around it"
    if not key:  # keys are compared with those of all segments that were not folded yet
        assert sum(counted[-4:]) <= 1.2 * sum(counted[4:8])


def test_planning_changes_costs_about_as_much_as_reading_their_entries(tmp_path: Path) -> None:
    table = appended(tmp_path, COMMITS, [])
    read = calls(lambda: list(table.log.entries(1, COMMITS)))
    planned = list[Changes]()
    assert calls(lambda: planned.append(table.changes(1))) < 1.75 * read
    stamps = [(task.stamp.version, task.stamp.time) for task in planned[0].plan.tasks]
    expected = [(version, table.at(version).time) for version in range(1, COMMITS + 1)]
    assert stamps == expected
