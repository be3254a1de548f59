"""Small segments: bin-pack those of a partition, and compact them if ``auto_compact`` asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from versioned_catalog.datafile.writer import target_bytes
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.root_paths import PREFIX
from versioned_catalog.types.arrow_values import scalar_of

Row = dict[str, Any]

SMALL = 0.5
"""A segment is small below this fraction of the target size."""


def bins(
    rows: Iterable[Row], schemas: Mapping[int, Schema], target: int, *, every: bool
) -> list[list[Row]]:
    """Pack segments into bins of about ``target`` bytes, each of one partition, keeping their order.

    ``every`` includes large segments, bins of one segment, and files that were adopted in place: these
    are copied on demand only, since their owner goes on to have them.
    """
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        is_own_and_small = row["bytes"] < SMALL * target and not row["path"].startswith(PREFIX)
        if every or is_own_and_small:
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


AUTO_COMPACT = "auto_compact"


def threshold(properties: Mapping[str, str]) -> int | None:
    """Return the number of small segments at which a writer compacts; None for never.

    Raises:
        InvalidRequestError: the property is not an integer of at least 2.
    """
    text = properties.get(AUTO_COMPACT)
    if text is None:
        return None
    if not isinstance(text, str) or not text.isdecimal() or not 2 <= int(text) < 10**9:
        raise InvalidRequestError(
            f"the property {AUTO_COMPACT} must be a number of small segments, at least 2, "
            f"got {text!r}",
            condition="INVALID_OPTION",
        )
    return int(text)


def is_due(state: TableState) -> bool:
    """Whether the table has as many small segments as ``auto_compact`` says."""
    wanted = threshold(state.properties)
    if wanted is None:
        return False
    core = state.segments.core
    bytes_, adopted = core["bytes"], pc.starts_with(core["path"], PREFIX)
    small = pc.less(bytes_, scalar_of(int(SMALL * target_bytes(state.properties)), bytes_.type))
    count: int = pc.sum(pc.and_not(small, adopted)).as_py() or 0
    return count >= wanted
