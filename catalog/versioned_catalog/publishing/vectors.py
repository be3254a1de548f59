"""Which rows of a keyed table's segments are superseded: deletion vectors of the groups that changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.iceberg.deletion_vectors import Positions
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges, overlapping
from versioned_catalog.projection.metadata_columns import find_metadata
from versioned_catalog.scan.scan import Scan
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow_values import array_of

Mask = npt.NDArray[np.bool_]


def neighbours(state: TableState, paths: Collection[str]) -> set[str]:
    """Return the live segments in the groups of overlapping segments that some paths are in."""
    live = state.segments.paths
    if not live or not paths or not state.schema.is_keyed:
        return set(paths).intersection(live)
    groups = overlapping(key_ranges(state), np.arange(len(live)))
    touched = {int(groups[place]) for place, path in enumerate(live) if path in paths}
    return {path for place, path in enumerate(live) if int(groups[place]) in touched}


def superseded(store: Store, state: TableState, paths: Collection[str]) -> dict[str, Positions]:
    """Return the positions of the rows that a snapshot does not show, by segment, where there are any.

    Args:
        paths: whole groups of overlapping segments, if the table has a primary key.
    """
    if not paths:
        return {}
    part = _restricted(state, paths)
    columns = [find_metadata(name) for name in ("_segment", "_row_position")]
    scan = Scan(store, part, [column for column in columns if column is not None])
    core = part.segments.core
    rows: Mapping[str, int] = dict(
        zip(core["path"].to_pylist(), core["rows"].to_pylist(), strict=True)
    )
    dead = {path: np.ones(count, np.bool_) for path, count in rows.items()}
    for batch in scan.to_batches():
        _mark_shown(batch, dead)
    found = {path: np.flatnonzero(mask).astype(np.int64) for path, mask in dead.items()}
    return {path: positions for path, positions in found.items() if len(positions)}


def _mark_shown(batch: pa.RecordBatch, dead: Mapping[str, Mask]) -> None:
    encoded = pc.dictionary_encode(batch.column(0))
    codes = encoded.indices.to_numpy()
    positions = batch.column(1).to_numpy()
    for code, path in enumerate(encoded.dictionary.to_pylist()):
        dead[path][positions[codes == code]] = False


def _restricted(state: TableState, paths: Collection[str]) -> TableState:
    """The snapshot with some of its segments only."""
    table, packed = state.segments.table(state.schemas)
    wanted = pc.is_in(table["path"], array_of(list(paths), pa.string()))
    return replace(state, segments=SegmentSet.of(table.filter(wanted), packed), lens=None)
