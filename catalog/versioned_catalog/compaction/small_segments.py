"""Bin-pack the small segments of a partition, in a table without a primary key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from versioned_catalog.schema.schema import Schema

Row = dict[str, Any]

SMALL = 0.5
"""A segment is small below this fraction of the target size."""


def bins(
    rows: Iterable[Row], schemas: Mapping[int, Schema], target: int, *, every: bool
) -> list[list[Row]]:
    """Pack segments into bins of about ``target`` bytes, each of one partition, keeping their order.

    ``every`` includes large segments, and bins of one segment.
    """
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if every or row["bytes"] < SMALL * target:
            key = (schemas[row["schema_version"]].partitioning, *(row["partition"] or ()))
            partitions.setdefault(key, []).append(row)
    packed = (one for same in partitions.values() for one in fill(same, target))
    return [one for one in packed if every or len(one) > 1]


def fill(rows: Sequence[Row], target: int) -> list[list[Row]]:
    """Fill bins in order; a bin is larger than the target only if it holds a single segment."""
    found: list[list[Row]] = []
    size = 0
    for row in rows:
        if found and size + row["bytes"] <= target:
            found[-1].append(row)
            size += row["bytes"]
        else:
            found.append([row])
            size = row["bytes"]
    return found
