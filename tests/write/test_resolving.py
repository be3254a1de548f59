"""Resolving overlapping segments of a keyed table: which rows are marked, and when marks count."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from marking import marks_of
from sealing import sealed
from versioned_catalog import Catalog, InvalidRequestError, MaintenanceBounds, Table
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log import marks, segment_set
from versioned_catalog.log.bitmaps import blob_of
from versioned_catalog.log.marks import InlineMark, mark_to_json
from versioned_catalog.read.aggregates import count_rows, count_values, extreme
from versioned_catalog.write import auto_maintain, resolving

Rows = list[tuple[int, int]]


def upsert(table: Table, *rows: tuple[int, int], **how: Any) -> int:
    k, v = zip(*rows, strict=True)
    return table.upsert(
        pa.table({"k": pa.array(k, pa.int64()), "v": pa.array(v, pa.int64())}), **how
    )


def shown(table: Table, **how: Any) -> Rows:
    return sorted((row["k"], row["v"]) for row in table.scan(**how).to_arrow().to_pylist())


def merged(table: Table, **how: Any) -> list[tuple[int, ...]]:
    return list(table.scan(**how).selected.groups)


def resolved(table: Table) -> list[int | None]:
    segments = table.state.segments
    found = [segments.mark_of(path) for path in segments.paths]
    return [None if mark is None else mark.resolved for mark in found]


def hidden(table: Table) -> list[list[int] | None]:
    """The marked rows of each segment, in order."""
    found = marks_of(table)
    return [found.get(path) for path in table.state.segments.paths]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Versions 1 to 3 write the keys 1, 2, 3 and 2, 4, and delete 3 and 9; 10 to 12 lie apart."""
    made = Catalog.create_path(tmp_path / "t", "k LONG, v LONG", primary_key=["k"])
    upsert(made, (1, 10), (2, 20), (3, 30))
    upsert(made, (2, 21), (4, 40))
    made.delete_keys(pa.table({"k": [3, 9]}))
    upsert(made, (10, 1), (11, 1), (12, 1))
    return made


EXPECTED = [(1, 10), (2, 21), (4, 40), (10, 1), (11, 1), (12, 1)]


def test_the_rows_that_others_hide_are_marked_and_tombstones(table: Table) -> None:
    assert (shown(table), merged(table)) == (EXPECTED, [(0, 1, 2)])
    done = table.maintenance.resolve()
    assert (done.groups, done.segments, done.hidden_rows) == (1, 3, 4)
    assert (done.version, done.skipped, done.left) == (5, 0, 0)
    assert hidden(table) == [[1, 2], [], [0, 1], None]
    assert resolved(table) == [4, 4, 4, None]
    assert (shown(table), merged(table)) == (EXPECTED, [])
    assert shown(Catalog.load_path(table.location)) == EXPECTED
    assert shown(table, version=3) == EXPECTED[:3]
    entry = json.loads(
        (Path(table.location) / "_versioned/log/00000000000000000005.json").read_text()
    )
    assert (entry["operation"], "added" in entry, "removed" in entry) == ("compact", False, False)
    assert list(entry["marked"].values())[1] == {"rows": 0, "resolved": 4}
    assert {"marks", "resolved"} <= set(entry["features"]["read"]) & set(entry["features"]["write"])
    assert table.maintenance.resolve().version == 5
    assert table.maintenance.verify(deep=True).findings == ()


def test_columns_outside_the_key_skip_segments_and_statistics_answer(table: Table) -> None:
    assert count_rows(table.scan()) is None
    table.maintenance.resolve()
    assert table.scan(filters=[("v", ">", 35)]).report().pruned == 3
    assert shown(table, filters=[("v", ">", 35)]) == [(4, 40)]
    assert shown(table, filters=[("v", "=", 30)]) == []
    assert (count_rows(table.scan()), table.count()) == (6, 6)
    _, v = table.scan().columns
    assert count_values(table.scan(), v) == 6
    assert extreme(table.scan(), v, False) == (True, "1")
    assert extreme(table.scan(), v, True) == (True, "40")
    assert [len(shown(table, limit=n)) for n in (0, 1, 2, 3, 9)] == [0, 1, 2, 3, 6]
    assert table.scan(limit=1).report().pruned == 3


def test_nothing_of_it_is_a_change(table: Table) -> None:
    before = table.changes(1, 4).to_arrow()
    version = table.maintenance.resolve().version
    assert table.changes(version, version).to_arrow().num_rows == 0
    assert table.changes(1, version).to_arrow() == before
    assert table.changes(1, version, net=True).to_arrow().num_rows == len(EXPECTED)
    upsert(table, (3, 31))
    table.rollback(4)
    changed = table.changes(version, table.version).to_arrow().to_pylist()
    assert [(row["k"], row["_change_type"]) for row in changed] == [(3, "insert"), (3, "delete")]


def test_a_later_upsert_makes_only_what_it_overlaps_unresolved(table: Table) -> None:
    upsert(table, (11, 2))
    table.maintenance.resolve()
    assert merged(table) == []
    upsert(table, (3, 31))
    assert merged(table) == [(0, 1, 2, 5)]
    assert shown(table) == [(1, 10), (2, 21), (3, 31), (4, 40), (10, 1), (11, 2), (12, 1)]
    # A filter on the key leaves segments that are resolved.
    assert merged(table, filters=[("k", "=", 4)]) == []
    assert shown(table, filters=[("k", "=", 4)]) == [(4, 40)]
    table.maintenance.resolve()
    assert merged(table) == []
    assert resolved(table) == [7, 7, 7, 5, 5, 7]


def test_a_marked_tombstone_hides_what_a_compaction_has_written_again(table: Table) -> None:
    table.maintenance.resolve()
    first, second, tombstones, _ = table.state.segments.paths
    table.maintenance.compact(paths=[first])
    (new,) = set(table.state.segments.paths) - {first, second, tombstones} - set(hidden_free(table))
    assert hidden(table).count([0, 1]) == 1
    assert marks_of(table).get(new) is None
    assert merged(table) == [(0, 1, 3)]
    assert shown(table) == EXPECTED
    table.maintenance.resolve()
    assert (merged(table), shown(table)) == ([], EXPECTED)


def hidden_free(table: Table) -> list[str]:
    """The segment of the keys 10 to 12."""
    low = [("k", ">", 9)]
    return list(table.scan(filters=low).kept["path"].to_pylist())


def test_several_rows_of_a_key_in_a_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of rows of one key may be longer than a step of the merge."""
    from versioned_catalog.read import merge

    monkeypatch.setattr(merge, "MIN_STEP", 2)
    monkeypatch.setattr(merge, "ROUND_ROWS", 2)
    table = Catalog.create_path(tmp_path / "t", "k LONG, v LONG", primary_key=["k"])
    # Tombstones and rows of one statement are in segments of one commit.
    upsert(table, *((k, k) for k in range(50)))
    upsert(table, *((k, -k) for k in range(0, 50, 7)))
    table.overwrite_where(pa.table({"k": [7, 14], "v": [0, 1]}), [("k", "in", [7, 14, 21])])
    before = shown(table)
    assert merged(table)
    table.maintenance.resolve()
    assert (merged(table), shown(table)) == ([], before)
    assert table.maintenance.verify(deep=True).findings == ()


def test_large_marks_are_files_that_vacuum_knows(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    table.maintenance.resolve()
    folder = Path(table.location, "_versioned/marks")
    assert len(list(folder.iterdir())) == 2
    orphan = folder / f"0-{'0' * 32}.puffin"
    orphan.write_bytes(b"x")
    now = {"dry_run": False, "force": True}
    table.maintenance.vacuum(dt.timedelta(0), **now)  # type: ignore[arg-type]
    assert (orphan.exists(), len(list(folder.iterdir()))) == (False, 2)
    assert (merged(table), shown(table)) == ([], EXPECTED)


def test_checkpoints_and_folded_sets_hold_them(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.maintenance.resolve()
    table.log.write_checkpoint(table.state)
    assert resolved(Catalog.load_path(table.location)) == [4, 4, 4, None]
    monkeypatch.setattr(segment_set, "FOLD_AT", 1)
    upsert(table, (2, 22))
    table.maintenance.resolve()
    assert merged(table) == []
    assert Catalog.load_path(table.location).state == table.state
    table.maintenance.compact(strategy="full")
    assert not table.state.segments.has_marks


def test_partial_upserts_are_left_to_merges(table: Table) -> None:
    table.upsert(pa.table({"k": [10], "v": [2]}), partial=True)
    done = table.maintenance.resolve()
    assert (done.segments, done.left) == (3, 2)
    assert merged(table) == [(2, 3)], "the segment of tombstones alone is not read"
    assert dict(shown(table))[10] == 2


def test_expired_rows_stay_hidden_by_age_alone(tmp_path: Path) -> None:
    ddl = "k LONG, at TIMESTAMP, v LONG"
    key: dict[str, Any] = {"primary_key": ["k"], "time_index": "at"}
    table = Catalog.create_path(tmp_path / "t", ddl, properties={"ttl": "1 days"}, **key)
    now = dt.datetime.now(dt.UTC)
    old, young = now - dt.timedelta(days=3), now + dt.timedelta(hours=1)
    at = pa.array([old, young, young], pa.timestamp("us", "UTC"))
    for v in (1, 2):
        table.upsert(pa.table({"k": [1, 1, 2], "at": at, "v": [v] * 3}))
    expected = [(1, 2), (2, 2)]
    assert shown(table) == expected
    table.maintenance.resolve()
    assert (merged(table), shown(table)) == ([], expected)
    assert [len(positions or []) for positions in hidden(table)] == [3, 0]
    assert table.maintenance.verify(deep=True).findings == ()


# Other writers


def test_two_that_resolve_unite_their_marks(table: Table) -> None:
    late = Catalog.load_path(table.location)
    upsert(table, (2, 22), (3, 32))
    table.maintenance.resolve()
    done = late.maintenance.resolve()
    assert (done.version, done.skipped) == (6, 0), "nothing is left to mark"
    assert merged(table.refresh()) == []
    upsert(table, (1, 11))
    late = Catalog.load_path(table.location)
    assert late.maintenance.resolve(commit_id="one").version == 8
    assert table.maintenance.resolve(commit_id="two").version == 8
    assert (merged(late.refresh()), resolved(late)[0]) == ([], 7)


RIVALS: dict[str, Callable[[Table], object]] = {
    "upsert": lambda t: upsert(t, (2, 29), (7, 70)),
    "delete": lambda t: t.delete([("k", "=", 2)]),
    "update": lambda t: t.update({"v": 0}, [("k", "<", 3)]),
    "delete keys": lambda t: t.delete_keys(pa.table({"k": [1]})),
    "partial upsert": lambda t: t.upsert(pa.table({"k": [4], "v": [9]}), partial=True),
    "compact all": lambda t: t.maintenance.compact(strategy="full"),
    "compact one": lambda t: t.maintenance.compact(paths=t.state.segments.paths[:1]),
    "roll back": lambda t: t.rollback(2),
    "truncate": lambda t: t.truncate(),
    "overwrite": lambda t: t.overwrite(pa.table({"k": [2, 3], "v": [1, 1]})),
    "alter": lambda t: t.alter().rename_column("v", "w").commit(),
}
REMOVING = {"compact all", "compact one", "roll back", "truncate", "overwrite"}


@pytest.mark.parametrize("rival", RIVALS)
def test_what_others_commit_meanwhile_stays_right(rival: str, table: Table) -> None:
    late = Catalog.load_path(table.location)
    RIVALS[rival](table)
    column = "w" if rival == "alter" else "v"
    before = table.scan().to_arrow().sort_by("k")
    done = late.maintenance.resolve()
    assert done.skipped == (3 if rival in REMOVING else 0)
    table.refresh()
    assert table.scan().to_arrow().sort_by("k") == before
    assert table.version == late.refresh().version
    if rival == "alter":
        assert merged(table) == []
    table.maintenance.resolve()
    assert table.scan().to_arrow().sort_by("k") == before
    assert before.column_names == ["k", column]
    assert table.maintenance.verify(deep=True).findings == ()


@pytest.mark.parametrize("rival", RIVALS)
def test_others_may_have_been_planned_before(rival: str, table: Table) -> None:
    """A write that was planned before the marks lands as if there were none."""
    late, alone = Catalog.load_path(table.location), table.location + "-alone"
    import shutil

    shutil.copytree(table.location, alone)
    RIVALS[rival](Catalog.load_path(alone))
    table.maintenance.resolve()
    if rival == "roll back":  # which takes back every commit that it has seen
        late.refresh()
    RIVALS[rival](late)
    expected = Catalog.load_path(alone).scan().to_arrow().sort_by("k")
    assert late.scan().to_arrow().sort_by("k") == expected
    assert late.maintenance.verify(deep=True).findings == ()


def test_a_rollback_brings_the_marks_of_its_version_back(table: Table) -> None:
    table.maintenance.resolve()
    upsert(table, (1, 11))
    table.set_tag("before", 5)
    table.rollback(5)
    assert (merged(table), shown(table)) == ([], EXPECTED)
    table.maintenance.compact(strategy="full")
    table.rollback(5)
    # The segments came back later than the marks: they are merged until they are resolved again.
    assert (hidden(table)[:3], shown(table)) == ([[1, 2], [], [0, 1]], EXPECTED)
    assert merged(table) != []
    table.maintenance.resolve()
    assert (merged(table), shown(table)) == ([], EXPECTED)
    assert (merged(table, version="before"), shown(table, version="before")) == ([], EXPECTED)


# Maintenance


def test_compact_has_it_as_a_strategy(table: Table) -> None:
    done = table.maintenance.compact(strategy="resolve", dry_run=True)
    assert (done.version, merged(table)) == (4, [(0, 1, 2)])
    done = table.maintenance.compact(strategy="resolve")
    assert (done.version, done.removed, done.added, done.skipped) == (5, 0, 0, 0)
    assert merged(table) == []
    assert table.maintenance.plan_compaction(strategy="resolve") == []
    with pytest.raises(InvalidRequestError, match="it can't cluster rows"):
        table.maintenance.compact(strategy="resolve", zorder=["v"])


def test_tables_without_a_key_are_refused(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "k LONG")
    for call in (table.maintenance.resolve, lambda: table.maintenance.compact(strategy="resolve")):
        with pytest.raises(
            InvalidRequestError, match="can't be resolved, since it has no primary key"
        ):
            call()


def test_some_groups_only(table: Table) -> None:
    upsert(table, (11, 2))
    assert table.maintenance.resolve([("k", ">", 20)]).segments == 0
    assert table.maintenance.resolve([("k", "=", 12)]).segments == 2
    assert merged(table) == [(0, 1, 2)]
    assert table.maintenance.resolve(paths=table.state.segments.paths[3:]).segments == 0
    assert table.maintenance.resolve(most_bytes=1).left == 3
    assert table.maintenance.resolve(paths=table.state.segments.paths[:1]).segments == 3
    assert merged(table) == []


def test_maintenance_resolves_what_it_does_not_merge(table: Table) -> None:
    bounds = MaintenanceBounds(most_bytes=0)
    jobs = {job.name: job for job in table.maintenance.advise(bounds).jobs}
    assert (jobs["merge"].is_due, jobs["resolve"].is_due) == (False, True)
    assert (jobs["resolve"].before, jobs["resolve"].after) == (3, 0)
    done = table.maintenance.maintain(bounds)
    assert (done.resolved_segments, done.removed_segments, done.version) == (3, 0, 5)
    assert (merged(table), shown(table)) == ([], EXPECTED)
    assert table.maintenance.advise(bounds).due == ()


def test_a_writer_resolves_what_it_does_not_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_maintain, "MOST_BYTES", 0)
    on = {"auto_maintain": "on"}
    table = Catalog.create_path(tmp_path / "t", "k LONG, v LONG", primary_key=["k"], properties=on)
    for n in range(15):
        upsert(table, (n, 0), (100, n))
    assert merged(table) != []
    upsert(table, (15, 0), (100, 15))
    assert (table.version, merged(table), table.count()) == (17, [], 17)

    def fail(*_: object, **__: object) -> None:
        raise CorruptTableError("no")

    monkeypatch.setattr(resolving, "hidden_rows", fail)
    for n in range(16, 33):
        upsert(table, (n, 0))
    assert table.count() == 34


def test_many_groups_are_several_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "COMMIT_ROWS", 3)
    table = Catalog.create_path(tmp_path / "t", "k LONG, v LONG", primary_key=["k"])
    for start in (0, 10, 20):
        upsert(table, (start, 1), (start + 1, 1))
        upsert(table, (start, 2))
    done = table.maintenance.resolve(dry_run=True)
    assert (done.version, done.groups, done.hidden_rows) == (6, 3, 0)
    assert table.maintenance.resolve().version == 9
    upsert(table, (0, 3), (30, 3))
    assert table.maintenance.resolve(commit_id="x").version == 11


# Damage


def edited(table: Table, change: Callable[[dict[str, Any]], None]) -> Table:
    """The table with its newest entry edited."""
    path = Path(table.location, f"_versioned/log/{table.version:020d}.json")
    entry = json.loads(path.read_text())
    change(entry)
    path.write_text(sealed(entry))
    return Catalog.load_path(table.location)


def without_feature(entry: dict[str, Any]) -> None:
    for names in entry["features"].values():
        if "resolved" in names:
            names.remove("resolved")


def each_mark(**members: Any) -> Callable[[dict[str, Any]], None]:
    def change(entry: dict[str, Any]) -> None:
        for mark in entry["marked"].values():
            mark |= members
            for name in [name for name, value in mark.items() if value is None]:
                del mark[name]

    return change


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "without resolved": (each_mark(resolved=None), "primary key are marked|impossible number rows"),
    "of the future": (each_mark(resolved=5), "not before its entry"),
    "negative": (each_mark(resolved=-1), "impossible number resolved"),
    "without the feature": (without_feature, "marked without resolved"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_marks_of_another_form_are_refused(how: str, table: Table) -> None:
    table.maintenance.resolve()
    change, words = BROKEN[how]
    with pytest.raises(CorruptTableError, match=words):
        edited(table, change)


def test_marks_of_hidden_rows_need_a_key(tmp_path: Path) -> None:
    from marking import mark

    table = Catalog.create_path(tmp_path / "t", "k LONG, v LONG")
    table.append(pa.table({"k": [1, 2], "v": [1, 2]}))
    mark(table, {table.state.segments.paths[0]: [0]})
    with pytest.raises(CorruptTableError, match="without a primary key has a member 'resolved'"):
        edited(table, each_mark(resolved=0))


@pytest.mark.parametrize(
    ("rows", "problem"), [([1], "1 rows lack a mark"), ([0, 1, 2], "and 1 have one")]
)
def test_a_deep_verification_compares_the_marks_with_a_merge(
    rows: list[int], problem: str, table: Table
) -> None:
    import numpy as np

    table.maintenance.resolve()
    first = table.state.segments.paths[0]
    wrong = mark_to_json(InlineMark(len(rows), blob_of(np.array(rows, np.int64)), 4))
    broken = edited(table, lambda entry: entry["marked"].update({first: wrong}))
    assert broken.maintenance.verify().findings == ()
    (finding,) = broken.maintenance.verify(deep=True).findings
    assert problem in finding.problem
