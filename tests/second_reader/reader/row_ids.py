"""The IDs and versions of rows, and how segments get them (FORMAT.md, section 4.11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from .problems import Corrupt, Unavailable
from .segment_records import Segment
from .types import Column

ROW_IDS = (
    Column(2147483540, "_row_id", "__row_id", "long", nullable=False),
    Column(2147483539, "_row_updated", "__row_updated", "long", nullable=False),
)
MOST = 2**62


def of_segment(segment: Segment) -> dict[str, int]:
    return dict(segment.record.get("row_ids", {}))


def assigned(
    segments: Iterable[Segment], numbers: Any, next_row_id: int, what: str
) -> dict[str, Segment]:
    """The segments that have no first row ID, by path, with those out of ``numbers``."""
    try:
        first, end = map(int, numbers)
    except (TypeError, ValueError) as error:
        raise Corrupt(f"{what}: row_ids {numbers}") from error
    if not next_row_id <= first <= end <= MOST:
        raise Corrupt(f"{what}: row_ids {numbers} after {next_row_id}")
    after = {}
    for segment in segments:
        if "first" not in of_segment(segment):
            row_ids = {**of_segment(segment), "first": first}
            after[segment.path] = replace(segment, record={**segment.record, "row_ids": row_ids})
            first += segment.record["rows"]
    if first > end:
        raise Corrupt(f"{what}: row_ids {numbers} are too few")
    return after


def identities(segment: Segment, table: pa.Table) -> dict[int, pa.Array]:
    """The ID and the version of each row of a segment, by the IDs of their columns."""
    row_ids, rows = of_segment(segment), table.num_rows
    if "first" not in row_ids:
        raise Unavailable(f"{segment.path}: its rows have no IDs")
    ids = [row_ids["first"] + position for position in range(rows)]
    versions = [row_ids.get("updated", segment.sequence)] * rows
    if (stored := row_ids.get("stored")) is not None:
        columns = (table.column(column.physical).to_pylist() for column in ROW_IDS)
        for at, (number, updated) in enumerate(zip(*columns, strict=True)):
            ids[at] = ids[at] if number is None else number
            if updated is not None and updated - 1 <= stored:
                versions[at] = updated - 1
    values = zip(ROW_IDS, (ids, versions), strict=True)
    return {column.id: pa.array(numbers, pa.int64()) for column, numbers in values}
