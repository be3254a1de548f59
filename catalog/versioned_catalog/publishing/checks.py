"""Whether a snapshot can be said in Iceberg."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.iceberg.schemas import unreadable, unsayable
from versioned_catalog.log.op_types import PATCH
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges, overlapping
from versioned_catalog.schema.ttl import TTL, TTL_FLOOR
from versioned_catalog.storage.root_paths import PREFIX

_COMPACT = "compact the table with the strategy full, and publish again"


def obstacles(state: TableState, format_version: int) -> Iterator[str]:
    """Yield what of a snapshot can't be said in Iceberg, each with the way out."""
    yield from unsayable(state.schema)
    if TTL in state.properties:
        yield (
            "its rows expire without a commit (the property ttl), which Iceberg can't say; delete old "
            "rows by a job instead, and unset the property"
        )
    for version in pc.unique(state.segments.column("schema_version")).to_pylist():
        for sentence in unreadable(state.schemas[version], state.schema, format_version):
            yield f"{sentence}; {_COMPACT}"
    if pc.any(pc.starts_with(state.segments.column("path"), PREFIX)).as_py():
        yield f"some of its segments are in external roots ({PREFIX}…); {_COMPACT}"
    if format_version < 3 and _may_hide_rows(state):
        yield f"rows that were replaced or deleted need Iceberg v3's deletion vectors; {_COMPACT}"
    if state.schema.is_keyed and any(
        PATCH in delta.ops for delta in state.segments.deltas.decode()
    ):
        yield f"some of its segments hold partial upserts (PATCH rows); {_COMPACT}"


def hides_rows(state: TableState) -> bool:
    """Whether segments of a snapshot may hold rows that it does not show."""
    return state.schema.is_keyed or TTL_FLOOR in state.properties


def _may_hide_rows(state: TableState) -> bool:
    """Whether a snapshot may need deletion vectors: clean segments do not (FORMAT.md, section 13)."""
    if TTL_FLOOR in state.properties:
        return True
    if not state.schema.is_keyed:
        return False
    count = state.segments.count
    groups = overlapping(key_ranges(state), np.arange(count))
    return bool(state.segments.deltas.has_ops.any()) or len(np.unique(groups)) < count


def check_snapshot(state: TableState, table: str, format_version: int) -> None:
    """Refuse a snapshot that can't be published.

    Raises:
        InvalidRequestError: naming the table, and where it applies the column.
    """
    for sentence in obstacles(state, format_version):
        raise InvalidRequestError(
            f"{table} can't be published as Iceberg v{format_version}: {sentence}",
            condition="NOT_SUPPORTED",
        )
