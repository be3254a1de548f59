"""Which segments of a bag of rows are put together: small ones of one partition, by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from versioned_catalog.schema.schema import Schema

Row = dict[str, Any]

SMALL = 0.5
"""A segment is small that has less than so much of the size that is wanted."""


def bins(
    rows: Iterable[Row], schemas: Mapping[int, Schema], target: int, *, every: bool
) -> list[list[Row]]:
    """Segments in bins of about a size, each of one partition, in the order of the segments.

    Args:
        rows: the core columns of the segments.
        schemas: every schema of the table, by version.
        target: the wanted size, in bytes.
        every: also those that are of the wanted size, or alone.
    """
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if every or row["bytes"] < SMALL * target:
            key = (schemas[row["schema_version"]].partitioning, *(row["partition"] or ()))
            parts.setdefault(key, []).append(row)
    packed = (one for part in parts.values() for one in fill(part, target))
    return [one for one in packed if every or len(one) > 1]


def fill(rows: Sequence[Row], target: int) -> list[list[Row]]:
    """Segments in bins, in order, each of up to the wanted size or of one segment."""
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
