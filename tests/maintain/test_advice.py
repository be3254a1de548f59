"""Advice names the maintenance that is due, with its figures, and changes nothing."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintain.steps import Died, calls_of, die, stepped
from maintain.tables import DAY, NOW, everything, ids, later, load, make, write
from read.keyed_table import make as make_keyed
from read.keyed_table import rows
from versioned_catalog import (
    Catalog,
    InvalidRequestError,
    MaintenanceBounds,
    NotFoundError,
    Table,
)
from versioned_catalog.maintain.advice import Advice, Job
from versioned_catalog.write.bounded_compaction import is_worth_merging

WEEK = 8 * DAY
"""More than the default retention."""


def sizes(root: Path) -> list[int]:
    """The sizes of the data files."""
    return [file.stat().st_size for file in (root / "t/data").iterdir()]


def jobs(advice: Advice) -> dict[str, Job]:
    return {job.name: job for job in advice.jobs}


def due(table: Table, **bounds: object) -> list[str]:
    return [job.name for job in table.maintenance.advise(MaintenanceBounds(**bounds)).due]  # type: ignore[arg-type]


def small(root: Path, count: int = 5) -> Table:
    """Create a table with a small segment a row."""
    table = Catalog.create_path(root / "t", "id LONG")
    for number in range(count):
        table.append(ids(number))
    return table


def test_small_segments_are_due_with_their_figures(tmp_path: Path) -> None:
    table, total = small(tmp_path), sum(sizes(tmp_path))
    before = everything(tmp_path)
    advice = table.maintenance.advise()
    assert everything(tmp_path) == before
    assert (advice.table, advice.version) == (table.name, 5)
    assert (advice.segments, advice.bytes) == (5, total)
    assert list(jobs(advice)) == ["compact", "merge", "resolve", "expire", "vacuum"]
    assert jobs(advice)["compact"] == Job(
        name="compact",
        is_due=True,
        why=f"5 segments under 67,108,864 bytes, {total:,} bytes in all",
        unit="segments",
        before=5,
        after=1,
        rewritten_bytes=total,
        freed_bytes=0,
        figures={
            "small_segments": 5,
            "small_bytes": total,
            "rewritten_segments": 5,
            "beyond_the_limit": 0,
        },
    )
    assert [job.name for job in advice.due] == ["compact"]
    assert jobs(advice)["merge"].why == "the table has no primary key"
    assert jobs(advice)["expire"].why == "0 versions of 6 older than the retention"
    assert (jobs(advice)["expire"].before, jobs(advice)["expire"].after) == (6, 6)
    assert jobs(advice)["vacuum"].why.endswith("can be deleted, 0 bytes")


def test_an_empty_table_needs_nothing(tmp_path: Path) -> None:
    assert due(Catalog.create_path(tmp_path / "t", "id LONG")) == []
    assert due(make_keyed(tmp_path / "k")) == []


def test_advice_opens_no_segment(tmp_path: Path) -> None:
    small(tmp_path)
    calls = calls_of(tmp_path, lambda table: table.maintenance.advise())
    assert not [call for call in calls if "data/" in call]
    assert "files data" in calls


def test_advice_sees_the_newest_version(tmp_path: Path) -> None:
    table = small(tmp_path, 1)
    other = load(tmp_path)
    for number in range(3):
        other.append(ids(number))
    assert table.maintenance.advise().version == 4


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([10, 10], True),
        ([30, 10], True),  # three quarters are as much as one may have
        ([31, 10], False),
        ([60, 1, 1], False),
        ([60, 1, 1, 1], True),  # enough have gathered
        ([60], False),
    ],
)
def test_a_large_segment_waits_until_enough_others_have_gathered(
    segments: list[int], expected: bool
) -> None:
    assert is_worth_merging(segments) is expected


def test_overlapping_segments_are_due_with_their_figures(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t")
    table.upsert(rows(("z", 9, 1.0)))
    for n in range(3):
        table.upsert(rows(("a", 1, float(n)), ("b", 1, float(n))))
    core = table.state.segments.core
    merged = sum(core["bytes"].to_pylist()[1:])
    job = jobs(table.maintenance.advise())["merge"]
    assert (job.is_due, job.before, job.after, job.rewritten_bytes) == (True, 4, 2, merged)
    assert job.why == (f"3 segments with overlapping row keys in 1 group, {merged:,} bytes in all")
    assert dict(job.figures) == {
        "overlapping_segments": 3,
        "overlapping_groups": 1,
        "overlapping_bytes": merged,
        "rewritten_segments": 3,
        "beyond_the_limit": 0,
    }
    assert due(table) == ["merge"]


def test_neighbours_that_overlap_nothing_are_small_segments(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t")
    for n in range(4):
        table.upsert(rows((f"h{n}", 1, 1.0)))
    advice = table.maintenance.advise()
    assert [job.name for job in advice.due] == ["compact"]
    assert (jobs(advice)["compact"].before, jobs(advice)["compact"].after) == (4, 1)


def test_what_is_beyond_the_limit_of_bytes_is_left(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG, p INT", partitioned_by=["p"])
    for number in range(8):
        table.append(pa.table({"id": [number], "p": pa.array([number % 2], pa.int32())}))
    one = max(sizes(tmp_path))
    half = MaintenanceBounds(most_bytes=4 * one)
    job = jobs(table.maintenance.advise(half))["compact"]
    assert (job.is_due, job.before, job.after) == (True, 8, 5)
    assert (job.figures["rewritten_segments"], job.figures["beyond_the_limit"]) == (4, 4)
    assert job.why.endswith("; 4 segments beyond the limit of bytes")
    job = jobs(table.maintenance.advise(MaintenanceBounds(most_bytes=0)))["compact"]
    assert (job.is_due, job.after, job.figures["beyond_the_limit"]) == (False, 8, 8)


def test_a_segment_without_a_row_that_is_young_enough_is_due(tmp_path: Path) -> None:
    table = make_keyed(tmp_path / "t", properties={"ttl": "1000 days"})
    table.upsert(rows(("a", -900, 1.0), ("b", 900, 1.0)))  # of 2021 and 2026
    assert table.count() == 1
    assert due(table) == [], "it would be rewritten for each row that gets too old"
    table.upsert(rows(("c", -900, 1.0)))
    job = jobs(table.maintenance.advise())["merge"]
    assert (job.is_due, job.figures["rewritten_segments"]) == (True, 1)
    done = table.maintenance.maintain()
    assert (done.removed_segments, done.added_segments, table.count()) == (1, 0, 1)


def test_old_versions_are_due_with_the_bytes_that_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, 6)
    assert due(table) == []
    later(monkeypatch, WEEK)
    live = table.state.segments.bytes
    job = jobs(table.maintenance.advise())["expire"]
    assert (job.is_due, job.unit, job.before, job.after) == (True, "versions", 7, 1)
    assert job.freed_bytes == sum(sizes(tmp_path)) - live
    assert dict(job.figures) == {
        "oldest_version": 6,
        "expired_versions": 6,
        "tagged_versions": 0,
        "freed_files": 5,
    }
    assert job.why == "6 versions of 7 older than the retention"
    assert due(table, retention=9 * DAY) == []
    kept = table.maintenance.advise(MaintenanceBounds(keep_last=3))
    assert (jobs(kept)["expire"].before, jobs(kept)["expire"].after) == (7, 3)


def test_versions_for_tags_and_consumers_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, 6)
    table.set_tag("two", 2)  # 7
    table.move_consumer("billing", 4)  # 8
    later(monkeypatch, WEEK)
    job = jobs(table.maintenance.advise())["expire"]
    assert (job.before, job.after) == (9, 6), "0, 1 and 3 go; 2, and 4 to 8 stay"
    assert job.figures["freed_files"] == 2, "the segments of 1 and 3"
    assert job.why == (
        "3 versions of 9 older than the retention; 1 kept by tags; kept for consumers: billing"
    )
    later(monkeypatch, 40 * DAY)
    job = jobs(table.maintenance.advise())["expire"]
    assert job.why.endswith("; 1 kept by tags; consumers whose time is over: billing")


def test_a_few_versions_that_hold_no_file_are_not_worth_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    for number in range(100):
        if number == 99:
            later(monkeypatch, WEEK)
            assert due(table) == [], "99 versions"
        table.alter().set_property("team", str(number)).commit()
    assert due(table) == ["expire"]


def test_an_expiry_that_died_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, 6)
    later(monkeypatch, WEEK)
    calls = calls_of(tmp_path, lambda table: table.maintenance.expire(dry_run=False))
    (commit,) = [at for at, call in enumerate(calls) if re.match("put.*log/N", call)]
    dying = stepped(tmp_path, commit + 2, die)
    with pytest.raises(Died):
        dying.maintenance.expire(dry_run=False)
    assert load(tmp_path).state.floor == 6
    job = jobs(load(tmp_path).maintenance.advise())["expire"]
    assert (job.is_due, job.why) == (
        True,
        "0 versions of 2 older than the retention; an expiry was interrupted",
    )


def test_orphan_files_are_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, 1)
    _, records = write(table, 7)
    table.append(ids(2))
    assert due(table) == ["compact"]
    later(monkeypatch, WEEK)
    assert due(table) == ["compact", "vacuum"]
    job = jobs(table.maintenance.advise())["vacuum"]
    size = os.stat(tmp_path / "t" / records[0].path).st_size
    assert (job.is_due, job.unit, job.freed_bytes) == (True, "files", size)
    assert job.before - job.after == 1
    assert job.why == f"1 file of {job.before} can be deleted, {size:,} bytes"


def test_invalid_bounds_are_refused(tmp_path: Path) -> None:
    table = small(tmp_path, 1)
    for bounds, message in [
        (
            MaintenanceBounds(retention=NOW),
            r"a retention of 0:00:00 is shorter than 1:00:00: .* now \(force => true in CALL, --force",
        ),
        (MaintenanceBounds(retention=timedelta(-1), force=True), "non-negative timedelta"),
        (MaintenanceBounds(keep_last=0), "keep_last must be a number of versions"),
        (MaintenanceBounds(most_bytes=-1), "most_bytes must be a number of bytes"),
    ]:
        with pytest.raises(InvalidRequestError, match=message):
            table.maintenance.advise(bounds)
        with pytest.raises(InvalidRequestError, match=message):
            table.maintenance.maintain(bounds)
        with pytest.raises(InvalidRequestError, match=message):
            Catalog(tmp_path / "w").maintain(bounds)
    assert table.version == 1


def test_a_dropped_table_has_no_advice(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "w")
    table = catalog.create_table("t", "id LONG")
    catalog.drop_table("t")
    with pytest.raises(NotFoundError):
        table.maintenance.advise()
