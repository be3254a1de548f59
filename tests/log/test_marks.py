"""Marks of segments: their JSON, and how segment sets, entries and checkpoints hold them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.commit.table_entries import head_after
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log import segment_set
from versioned_catalog.log.bitmaps import PUFFIN_OFFSET, Positions, blob_of
from versioned_catalog.log.checkpoint import state_from_bytes, state_to_bytes
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.entry_json import commit_from_bytes, commit_to_bytes
from versioned_catalog.log.features import MARKS, Features
from versioned_catalog.log.marks import (
    INLINE_BYTES,
    FileMark,
    InlineMark,
    Mark,
    mark_from_json,
    mark_from_text,
    mark_of,
    mark_to_json,
    mark_to_text,
    marked_rows,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.maintain.log_check import differences
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.storage.local import LocalStore

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def at(*positions: int) -> Positions:
    """Positions."""
    return np.array(positions, np.int64)


def inline(*positions: int) -> InlineMark:
    """The mark of some positions, inside the entry."""
    return InlineMark(len(positions), blob_of(at(*positions)))


@pytest.fixture
def schemas() -> Schemas:
    """Schemas of a table of one column."""
    return Schemas(Schema((Column(1, "x", Atom.INT),)), {})


def records(*rows: int) -> list[SegmentRecord]:
    """Records of segments ``s0``, ``s1``, ... with these numbers of rows."""
    return [SegmentRecord(f"s{place}", 0, count, 10) for place, count in enumerate(rows)]


@pytest.fixture(params=["tail", "base", "folded marks"])
def segments(
    request: pytest.FixtureRequest, schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> SegmentSet:
    """Segments ``s0``, ``s1`` and ``s2`` of 10, 20 and 30 rows: newer ones, or in a table."""
    found = SegmentSet().add(records(10, 20, 30), 1, NOW, schemas, 0)
    if request.param == "folded marks":
        monkeypatch.setattr(segment_set, "FOLD_AT", 1)
    return found if request.param == "tail" else found.folded(schemas, 0)


def check(segments: SegmentSet, marks: dict[str, Mark], hidden: int, rows: int) -> None:
    """Check what a set says of its marks, each way to ask."""
    assert segments.marks == marks
    assert segments.has_marks == bool(marks)
    assert {p: segments.mark_of(p) for p in segments.paths if segments.mark_of(p)} == marks
    texts = [mark_to_text(marks[path]) if path in marks else None for path in segments.paths]
    assert segments.column("mark").to_pylist() == texts
    assert segments.core["mark"].to_pylist() == texts
    assert (segments.rows, segments.shown_rows) == (rows, rows - hidden)


def test_marks_replace_each_other(segments: SegmentSet) -> None:
    check(segments, {}, 0, 60)
    one = segments.marked({"s1": inline(3, 4)})
    check(one, {"s1": inline(3, 4)}, 2, 60)
    two = one.marked({"s1": inline(3, 4, 5), "s2": inline(29)})
    check(two, {"s1": inline(3, 4, 5), "s2": inline(29)}, 4, 60)
    check(two.marked({"s1": None}), {"s2": inline(29)}, 1, 60)
    check(segments, {}, 0, 60)


def test_marks_leave_with_their_segments(segments: SegmentSet, schemas: Schemas) -> None:
    marked = segments.marked({"s0": inline(0), "s1": inline(1, 2)})
    check(marked.remove(["s1", "s2"]), {"s0": inline(0)}, 1, 10)
    again = marked.remove(["s1"]).add([SegmentRecord("s1", 0, 20, 10)], 2, NOW, schemas, 0)
    check(again, {"s0": inline(0)}, 1, 60)
    check(again.folded(schemas, 0), {"s0": inline(0)}, 1, 60)
    check(marked.remove(["s0", "s1", "s2"]), {}, 0, 0)


def test_marks_stay_when_segments_are_folded(segments: SegmentSet, schemas: Schemas) -> None:
    marks = {"s0": inline(0), "s2": FileMark(5, f"_versioned/marks/1-{'a' * 32}.puffin", 4, 99)}
    check(segments.marked(marks).folded(schemas, 0), dict(marks), 6, 60)
    check(segments.marked(marks).only(["s1", "s2"]), {"s2": marks["s2"]}, 5, 50)


def test_marks_of_dead_segments_are_refused(segments: SegmentSet) -> None:
    for path in ("s3", "s0"):
        with pytest.raises(CorruptTableError, match="does not have"):
            segments.remove(["s0"]).marked({path: inline(1)})
        with pytest.raises(CorruptTableError, match="does not have"):
            segments.remove(["s0"]).marked({path: None})


def test_marks_of_more_rows_than_there_are_are_refused(segments: SegmentSet) -> None:
    check(segments.marked({"s0": inline(*range(10))}), {"s0": inline(*range(10))}, 10, 60)
    with pytest.raises(CorruptTableError, match="11 rows are marked in s0, which has 10"):
        segments.marked({"s0": inline(*range(11))})


def test_marks_are_folded_into_the_table(schemas: Schemas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_set, "FOLD_AT", 2)
    found = SegmentSet().add(records(10, 20, 30), 1, NOW, schemas, 0).folded(schemas, 0)
    one = found.marked({"s0": inline(1)})
    assert one.base is found.base
    assert set(one.newer_marks) == {"s0"}
    two = one.marked({"s2": inline(2)})
    assert not two.newer_marks
    assert two.base["mark"].to_pylist() == [
        mark_to_text(inline(1)),
        None,
        mark_to_text(inline(2)),
    ]
    check(two, {"s0": inline(1), "s2": inline(2)}, 2, 60)


def test_large_marks_are_files(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    small = mark_of(store, 7, "s0", at(1, 5))
    assert small == inline(1, 5)
    assert marked_rows(store, small, "s0", 6).tolist() == [1, 5]
    rows = np.arange(0, 10_000, 3, dtype=np.int64)
    large = mark_of(store, 7, "s0", rows)
    assert isinstance(large, FileMark)
    assert large.rows == len(rows)
    assert large.path.startswith("_versioned/marks/7-")
    assert large.offset == PUFFIN_OFFSET
    assert large.bytes == len(blob_of(rows)) > INLINE_BYTES
    assert marked_rows(store, large, "s0", 10_000).tolist() == rows.tolist()
    (tmp_path / large.path).unlink()
    with pytest.raises(CorruptTableError, match="the marks of s0, is missing"):
        marked_rows(store, large, "s0", 10_000)


def test_the_rows_of_a_mark_are_those_of_its_bitmap(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    with pytest.raises(CorruptTableError, match="marks 2 rows, and the log says 3"):
        marked_rows(store, replace(inline(1, 5), rows=3), "s0", 6)
    with pytest.raises(CorruptTableError, match="row 5 is marked in a segment of 5 rows"):
        marked_rows(store, inline(1, 5), "s0", 5)


FILE = {"rows": 5, "path": f"_versioned/marks/1-{'a' * 32}.puffin", "offset": 4, "bytes": 99}


def test_the_json_of_marks() -> None:
    assert mark_to_json(inline(0)) == {"rows": 1, "blob": BLOB}
    assert mark_from_json({"rows": 1, "blob": BLOB}) == inline(0)
    file = FileMark(5, f"_versioned/marks/1-{'a' * 32}.puffin", 4, 99)
    assert mark_to_json(file) == FILE
    assert mark_from_text(mark_to_text(file)) == file


BLOB = "AAAAItHTOWQBAAAAAAAAAAAAAAA6MAAAAQAAAAAAAAAQAAAAAAD3prS1"
"""Row 0: see ``test_bitmaps`` for the bytes."""


@pytest.mark.parametrize(
    "value",
    [
        {"rows": 0, "blob": BLOB},
        {"rows": True, "blob": BLOB},
        {"blob": BLOB},
        {"rows": 1, "blob": BLOB + "!"},
        {"rows": 1, "blob": 5},
        {"rows": 1, "blob": BLOB, "path": FILE["path"]},
        FILE | {"path": "data/x.puffin"},
        FILE | {"path": "_versioned/marks/../log/1.json"},
        FILE | {"path": f"_versioned/marks/1-{'a' * 32}.parquet"},
        FILE | {"offset": -1},
        FILE | {"bytes": 0},
        FILE | {"more": 1},
    ],
)
def test_damaged_marks_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(CorruptTableError):
        mark_from_json(value)


def table_of_segments(tmp_path: Path) -> Table:
    """A table with segments of 3 and of 4 rows."""
    table = Catalog.create_path(tmp_path / "t", "id BIGINT")
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
    table.append(pa.table({"id": pa.array([4, 5, 6, 7], pa.int64())}))
    return table


def entry(table: Table, marked: dict[str, Mark | None], **members: object) -> Commit:
    """The next entry of a table, which marks rows."""
    state = table._handle.state
    head = head_after(state, "00000000-0000-4000-8000-000000000000", "delete", state.version)
    needed = Features(frozenset({MARKS}), frozenset({MARKS}))
    head = replace(head, time=state.time + timedelta(seconds=1), features=head.features | needed)
    return replace(Commit(head, state.next_column_id, marked=marked), **members)


def test_entries_and_checkpoints_hold_marks(tmp_path: Path) -> None:
    table = table_of_segments(tmp_path)
    first, second = table._handle.state.segments.paths
    marks = {first: inline(0, 2), second: FileMark(3, FILE["path"], 4, 99)}
    commit = entry(table, dict(marks))
    assert commit_from_bytes(commit_to_bytes(commit), "it") == commit
    assert json.loads(commit_to_bytes(commit))["marked"][second] == FILE | {"rows": 3}
    state = apply(table._handle.state, commit)
    assert state.segments.marks == marks
    data = state_to_bytes(state)
    assert pq.read_schema(pa.BufferReader(data)).field("mark").type == pa.string()
    stored = state_from_bytes(data, "it")
    assert stored.segments.marks == marks
    assert not list(differences(state, stored))
    assert MARKS in stored.features.read & stored.features.write
    cleared = entry(table, {first: None})
    assert json.loads(commit_to_bytes(cleared))["marked"] == {first: None}
    assert commit_from_bytes(commit_to_bytes(cleared), "it") == cleared
    assert "mark" not in pq.read_schema(pa.BufferReader(state_to_bytes(table._handle.state))).names


def test_marks_are_in_the_way_of_older_readers(tmp_path: Path) -> None:
    table = table_of_segments(tmp_path)
    first, _ = table._handle.state.segments.paths
    value = json.loads(commit_to_bytes(entry(table, {first: inline(0)})))
    del value["checksum"]
    for features in ({"read": ["marks"], "write": []}, {"read": [], "write": ["marks"]}):
        without = value | {"features": features}
        with pytest.raises(CorruptTableError, match="without the feature marks"):
            commit_from_bytes(json.dumps(without).encode(), "it")


@pytest.mark.parametrize(
    ("marked", "problem"),
    [
        ({"data/0-none.parquet": None}, "does not have"),
        ({"data/0-none.parquet": inline(0)}, "does not have"),
        ({"first": inline(0, 1, 2, 3)}, "4 rows are marked in data/"),
    ],
)
def test_marks_that_can_not_follow_are_refused(
    tmp_path: Path, marked: dict[str, Mark | None], problem: str
) -> None:
    table = table_of_segments(tmp_path)
    first, _ = table._handle.state.segments.paths
    named = {first if path == "first" else path: mark for path, mark in marked.items()}
    with pytest.raises(CorruptTableError, match=problem):
        apply(table._handle.state, entry(table, named))


def test_keyed_tables_have_no_marks(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT NOT NULL", primary_key=["id"])
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
    (path,) = table._handle.state.segments.paths
    with pytest.raises(CorruptTableError, match="primary key"):
        apply(table._handle.state, entry(table, {path: inline(0)}))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "rows"),
        ("[]", "not a JSON object"),
        (json.dumps({"rows": 4, "blob": BLOB}, separators=(",", ":")), "more rows than it has"),
        (json.dumps({"rows": 1, "blob": BLOB, "x": 1}), "x"),
        (json.dumps(FILE | {"path": "data/x"}), "must be a file of"),
    ],
)
def test_damaged_marks_of_checkpoints_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    table = table_of_segments(tmp_path)
    state = apply(table._handle.state, entry(table, {}))
    with pytest.raises(CorruptTableError, match=problem):
        state_from_bytes(state_to_bytes(with_texts(state, text)), "it")


def with_texts(state: TableState, text: str) -> TableState:
    """A state whose first segment has a mark, as a text of its checkpoint."""
    base, _ = state.segments.table(state.schemas, state.schema_version)
    texts = pa.chunked_array([pa.array([text, None], pa.string())])
    columns = SegmentColumns.of_table(base).with_column("mark", texts)
    return replace(state, segments=replace(state.segments, base=columns, tail=(), stored=None))


def test_other_texts_of_a_mark_are_understood(tmp_path: Path) -> None:
    table = table_of_segments(tmp_path)
    state = apply(table._handle.state, entry(table, {}))
    text = json.dumps({"blob": BLOB, "rows": 1})
    stored = state_from_bytes(state_to_bytes(with_texts(state, text)), "it")
    first, _ = stored.segments.paths
    assert stored.segments.marks == {first: inline(0)}
    assert (stored.segments.rows, stored.segments.shown_rows) == (7, 6)
    assert stored.segments.marked_counts.tolist() == [1, 0]


def test_checkpoints_with_marks_need_the_feature(tmp_path: Path) -> None:
    table = table_of_segments(tmp_path)
    state = table._handle.state
    text = json.dumps({"blob": BLOB, "rows": 1})
    with pytest.raises(CorruptTableError, match="without the feature marks"):
        state_from_bytes(state_to_bytes(with_texts(state, text)), "it")
