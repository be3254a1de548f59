"""Other engines read the published marks of a table without a primary key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from marking import mark, marks_of
from publish.conftest import PUBLISHED
from publish.engines import ENGINES, PYICEBERG, metadata_of, published_versions
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.log import marks
from versioned_catalog.log.bitmaps import PUFFIN_OFFSET
from versioned_catalog.log.marks import FileMark
from versioned_catalog.storage.local import LocalStore
from versioned_interop.publish.manifests import DELETES, Writer


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture(params=["in entries", "in files"])
def in_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether marks are in files."""
    if request.param == "in files":
        monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    return bool(request.param == "in files")


def shown(table: Table, version: int | None = None) -> list[list[int]]:
    """The rows that each engine shows."""
    metadata = metadata_of(table)
    return [sorted(row["id"] for row in engine.read(metadata, version, None)) for engine in ENGINES]


def vectors(table: Table) -> Iterator[dict[str, Any]]:
    """The deletion vectors of the newest snapshot, as manifests hold them."""
    document = json.loads(Path(metadata_of(table)).read_text())
    store = LocalStore(table.location)
    writer = Writer(store, f"file://{table.location}", 3, {})
    lists = {one["snapshot-id"]: one["manifest-list"] for one in document["snapshots"]}
    for row in writer.read(lists[document["current-snapshot-id"]])[0]:
        if row["content"] == DELETES:
            yield from (entry["data_file"] for entry in writer.live_entries(row)[0])


def two_segments(catalog: Catalog) -> Table:
    table = catalog.create_table("n.t", "id BIGINT", properties=PUBLISHED)
    table.append(ids(0, 1, 2, 3, 4))
    table.append(ids(5, 6, 7, 8, 9))
    return table


def test_engines_leave_out_marked_rows(catalog: Catalog, in_files: bool) -> None:
    table = two_segments(catalog)
    first, second = table.state.segments.paths
    one = mark(table, {first: [1, 2]})
    two = mark(table, {first: [0], second: [4]})
    three = mark(table, {first: [3, 4]})
    four = table.append(ids(10))
    assert table.state.segments.paths[0] == second
    expected = {
        one: [0, 3, 4, 5, 6, 7, 8, 9],
        two: [3, 4, 5, 6, 7, 8],
        three: [5, 6, 7, 8],
        four: [5, 6, 7, 8, 10],
    }
    for version, rows in expected.items():
        assert shown(table, version) == [rows] * len(ENGINES), version
    back = table.rollback(one)
    assert shown(table) == [expected[one]] * len(ENGINES)
    assert table.rollback(2) == back + 1
    assert shown(table) == [list(range(10))] * len(ENGINES)
    assert not list(vectors(table))


def test_a_filter_finds_rows_beside_marked_ones(catalog: Catalog, in_files: bool) -> None:
    table = two_segments(catalog)
    first, _ = table.state.segments.paths
    mark(table, {first: [1, 2]})
    for engine in ENGINES:
        found = {
            value: [row["id"] for row in engine.read(metadata_of(table), None, ("id", "=", value))]
            for value in (1, 3, 9)
        }
        assert found == {1: [], 3: [3], 9: [9]}, engine.name


def test_the_first_publication_has_the_marks(catalog: Catalog, in_files: bool) -> None:
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(ids(0, 1, 2, 3, 4))
    (path,) = table.state.segments.paths
    mark(table, {path: [2]})
    mark(table, {path: [4]})
    table.maintenance.publish()
    assert published_versions(table) == [0, 1, 2, 3]
    assert shown(table, 2) == [[0, 1, 3, 4]] * len(ENGINES)
    assert shown(table) == [[0, 1, 3]] * len(ENGINES)
    shutil.rmtree(Path(table.location, "iceberg"))
    table.maintenance.publish()
    assert shown(table) == [[0, 1, 3]] * len(ENGINES)


def test_the_file_of_a_mark_is_handed_over(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    table = two_segments(catalog)
    first, second = table.state.segments.paths
    mark(table, {second: [0, 4]})
    before = puffin_files(table)
    mark(table, {first: [1, 2]})
    assert puffin_files(table) == before == set()
    stored = table.state.segments.mark_of(first)
    assert isinstance(stored, FileMark)
    found = {one["referenced_data_file"]: one for one in vectors(table)}
    assert {*found} == {f"file://{table.location}/{path}" for path in (first, second)}
    described = found[f"file://{table.location}/{first}"]
    file = Path(table.location, stored.path)
    assert described["file_path"] == f"file://{file}"
    assert described["record_count"] == 2
    assert described["file_size_in_bytes"] == file.stat().st_size
    assert described["content_offset"] == PUFFIN_OFFSET
    assert described["content_size_in_bytes"] == stored.bytes


def puffin_files(table: Table) -> set[str]:
    """The deletion vectors that a publication has written."""
    return {file.name for file in Path(table.location, "iceberg/metadata").glob("*.puffin")}


def test_an_unchanged_mark_is_not_written_again(catalog: Catalog) -> None:
    table = two_segments(catalog)
    first, second = table.state.segments.paths
    mark(table, {first: [1, 2]})
    before = puffin_files(table)
    assert len(before) == 1
    mark(table, {second: [3]})
    table.append(ids(10))
    table.alter().add_column("x", "INT").commit()
    assert len(puffin_files(table)) == 2
    assert puffin_files(table) > before


def test_the_marks_of_a_moved_table_are_written_anew(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyIceberg finds the segment by the URL inside the file of the mark."""
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    table = two_segments(catalog)
    mark(table, {table.state.segments.paths[0]: [1, 2]})
    shutil.move(table.location, tmp_path / "moved")
    moved = Catalog.load_path(tmp_path / "moved")
    moved.maintenance.publish()
    assert len(puffin_files(moved)) == 1
    rows = PYICEBERG.read(metadata_of(moved), None, None)
    assert sorted(row["id"] for row in rows) == [0, 3, 4, 5, 6, 7, 8, 9]


def test_marks_need_format_version_3(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "id BIGINT")
    table.append(ids(0, 1, 2, 3, 4))
    table.maintenance.publish(format_version=2)
    mark(table, {table.state.segments.paths[0]: [1, 2]})
    refused = "need Iceberg v3's deletion vectors; set the property row_changes to copy, compact"
    with pytest.raises(InvalidRequestError, match=refused):
        table.maintenance.publish()
    assert marks_of(table)
    table.alter().set_property("row_changes", "copy").commit()
    table.maintenance.compact(strategy="full")
    table.delete([("id", "=", 0)])
    assert table.maintenance.publish().format_version == 2


def test_compacted_marks_leave_the_publication(catalog: Catalog, in_files: bool) -> None:
    table = two_segments(catalog)
    first, _ = table.state.segments.paths
    mark(table, {first: [0, 1]})
    table.overwrite(ids(1, 2))
    assert shown(table) == [[1, 2]] * len(ENGINES)
    assert not list(vectors(table))


def test_a_vacuum_keeps_published_marks(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    table = two_segments(catalog)
    first, second = table.state.segments.paths
    mark(table, {first: [0, 1]})
    mark(table, {second: [0]})
    mark(table, {first: [4]})
    assert len(list(Path(table.location, "_versioned/marks").iterdir())) == 3
    now = timedelta(0)
    table.maintenance.expire(now, 1, dry_run=False, force=True)
    table.maintenance.vacuum(now, dry_run=False, force=True)
    assert len(list(Path(table.location, "_versioned/marks").iterdir())) == 2
    assert min(published_versions(table)) == 5
    assert shown(table) == [[2, 3, 6, 7, 8, 9]] * len(ENGINES)
