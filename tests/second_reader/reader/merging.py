"""Merging the rows of a table with a primary key (FORMAT.md, section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .problems import Corrupt
from .segment_records import Segment

PUT, DELETE, PATCH = 0, 1, 2


@dataclass(frozen=True)
class StoredRows:
    """The rows of a segment, projected to the wanted schema, with what a merge needs to know."""

    segment: Segment
    table: pa.Table
    columns: dict[int, pa.Array]

    def order(self) -> list[tuple[int, int, int]]:
        """Sequence, ordinal and position of each row."""
        record, rows = self.segment.record, self.table.num_rows
        sequence, ordinal = record.get("order", [self.segment.sequence, self.segment.ordinal])
        sequences = [sequence] * rows
        if "sequences" in record:
            sequences = self.table.column("__sequence").to_pylist()
            if sequences and [min(sequences), max(sequences)] != record["sequences"]:
                raise Corrupt(f"{self.segment.path} has other sequences than its record says")
        return [(number, ordinal, position) for position, number in enumerate(sequences)]

    def operations(self) -> list[int]:
        record, rows = self.segment.record, self.table.num_rows
        if "ops" not in record:
            return [PUT] * rows
        operations: list[int] = self.table.column("__op_type").to_pylist()
        counts = {str(kind): operations.count(kind) for kind in set(operations)}
        if counts != record["ops"] or not set(operations) <= {PUT, DELETE, PATCH}:
            raise Corrupt(f"{self.segment.path} has other operations than its record says")
        return operations


def comparable(array: pa.Array) -> list[Any]:
    """Key values that are equal exactly if the keys are."""
    if (
        pa.types.is_timestamp(array.type)
        or pa.types.is_time(array.type)
        or pa.types.is_duration(array.type)
    ):
        array = array.cast(pa.int64())
    return list(array.to_pylist())


def merge(
    parts: Sequence[StoredRows], key: Sequence[int] | None, wanted: Sequence[int]
) -> dict[int, pa.Array]:
    """The wanted columns of the last row of each key, or of all rows if there is no key."""
    columns = {
        column: pa.concat_arrays([part.columns[column] for part in parts]) for column in wanted
    }
    if key is None:
        return columns
    rows: list[tuple[tuple[int, int, int], int, int, frozenset[int]]] = []
    for part in parts:
        patched = frozenset(part.segment.record.get("patch", {}).get("columns", ()))
        for order, operation in zip(part.order(), part.operations(), strict=True):
            rows.append((order, len(rows), operation, patched))
    keys = list(zip(*(comparable(columns[column]) for column in key), strict=True))
    if len({(at, order) for at, (order, *_) in zip(keys, rows, strict=True)}) < len(rows):
        raise Corrupt("two rows of one key without an order")
    merged: dict[tuple[Any, ...], dict[int, int]] = {}  # of each key: where each column comes from
    for _, number, operation, patched in sorted(rows, key=lambda row: row[0]):
        at = keys[number]
        if operation == DELETE:
            merged.pop(at, None)
        elif operation == PATCH and at in merged:
            merged[at] |= {column: number for column in wanted if column in patched}
        else:
            merged[at] = dict.fromkeys(wanted, number)
    return {
        column: columns[column].take(pa.array([row[column] for row in merged.values()], pa.int64()))
        for column in wanted
    }
