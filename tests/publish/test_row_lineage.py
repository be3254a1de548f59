"""The row lineage that readers of Iceberg see is that of the table.

The published files are read by the rules of Iceberg alone: Avro, Parquet and field IDs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from publish.engines import metadata_of
from versioned_catalog import Catalog, Table

ROW_ID, LAST_UPDATED = 2147483540, 2147483539


def avro(url: str) -> list[dict[str, Any]]:
    with Path(url.removeprefix("file://")).open("rb") as file:
        return list(fastavro.reader(file))  # type: ignore[arg-type]


def inherited(values: list[int | None], others: list[int]) -> list[int]:
    return [other if value is None else value for value, other in zip(values, others, strict=True)]


def of_field(file: pa.Table, field_id: int) -> list[int | None]:
    """The values of the column with a field ID; nulls if there is none."""
    for at, field in enumerate(file.schema):
        if (field.metadata or {}).get(b"PARQUET:field_id") == str(field_id).encode():
            return file.column(at).to_pylist()
    return [None] * file.num_rows


def lineage(metadata: dict[str, Any]) -> dict[tuple[str, int], tuple[int, int]]:
    """The row ID and the sequence number of each row, by its file's name and its position."""
    current = metadata["current-snapshot-id"]
    (snapshot,) = (s for s in metadata["snapshots"] if s["snapshot-id"] == current)
    rows: dict[tuple[str, int], tuple[int, int]] = {}
    for manifest in avro(snapshot["manifest-list"]):
        following = manifest["first_row_id"]
        for entry in avro(manifest["manifest_path"]) if manifest["content"] == 0 else ():
            data = entry["data_file"]
            if entry["status"] == 2:
                continue
            first = data["first_row_id"]
            if first is None:
                first, following = following, following + data["record_count"]
            sequence = entry["sequence_number"]
            sequence = manifest["sequence_number"] if sequence is None else sequence
            path = data["file_path"].removeprefix("file://")
            file = pq.read_table(path)
            assert first + file.num_rows <= metadata["next-row-id"]
            ids = inherited(of_field(file, ROW_ID), list(range(first, first + file.num_rows)))
            updated = inherited(of_field(file, LAST_UPDATED), [sequence] * file.num_rows)
            for position, row in enumerate(zip(ids, updated, strict=True)):
                rows[Path(path).name, position] = row
    return rows


def agrees(table: Table) -> None:
    metadata = json.loads(Path(metadata_of(table)).read_bytes())
    assert metadata["current-snapshot-id"] == table.refresh().version
    published = lineage(metadata)
    columns = ["_segment", "_row_position", "_row_id", "_row_updated"]
    own = table.scan(columns).to_arrow().to_pydict()
    for path, position, row_id, updated in zip(*own.values(), strict=True):
        assert published[Path(path).name, position] == (row_id, updated + 1)
    total = 0
    for snapshot in metadata["snapshots"]:
        assert snapshot["first-row-id"] >= total
        total = snapshot["first-row-id"] + snapshot["added-rows"]
    assert total == metadata["next-row-id"]


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64()), "v": pa.array(values, pa.int64())})


@pytest.mark.thorough
@pytest.mark.parametrize("late", [False, True], ids=["from the start", "switched on later"])
@pytest.mark.parametrize("how", ["copy", "mark"])
def test_published_rows_have_the_ids_of_the_table(catalog: Catalog, how: str, late: bool) -> None:
    properties = {"publish": "iceberg", "row_changes": how}
    ids = {} if late else {"row_ids": "true"}
    table = catalog.create_table("n.t", "n BIGINT, v BIGINT", properties=properties | ids)
    table.append(numbers(1, 2, 3))
    table.append(numbers(4, 5, 6))
    table.delete([("n", "=", 5)])
    if late:
        table.alter().set_property("row_ids", "true").commit()
    agrees(table)
    table.update({"v": 0}, [("n", "in", [2, 4])])
    agrees(table)
    table.append(numbers(7))
    table.maintenance.compact(strategy="full")
    agrees(table)
    table.update({"v": 0}, [("n", "=", 7)])
    table.rollback(table.version - 1)
    agrees(table)
    if not late:
        table.create_branch("b")
        table.branch("b").append(numbers(8))
        table.refresh().merge_branch("b")
        agrees(table)
