"""The rows of a micro-batch: some segments, projected by ID into the schema of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.seen import Overflow, Seen, without_dropped
from versioned_catalog.streaming.shape import shown
from versioned_catalog.types.arrow_values import array_of


@dataclass(frozen=True)
class View:
    """How a stream sees segments of any schema version.

    Args:
        schema: the schema version that the stream has.
        pinned: whether it is that of a schema pin, which also sees columns that are hidden now.
        overflow: what is shown of a value that does not fit its type there.
    """

    schema: Schema
    pinned: bool = False
    overflow: Overflow = Overflow.ERROR

    def stored(self, schemas: Schemas, version: int) -> Schema:
        """A schema version as this stream knows it: a hidden column is one that was dropped."""
        return schemas[version] if self.pinned else schemas[version].visible

    def over(self, state: TableState, segments: SegmentSet, version: int) -> TableState:
        """A snapshot of nothing but some segments of one schema version, seen in the stream's schema.

        A batch is read as a scan of such snapshots, so that what scans do is what streams do: filters,
        projection, narrowing, native reads.
        """
        columns, stored = shown(self.schema), self.stored(state.schemas, version)
        if version > self.schema.version:
            columns = replace(columns, columns=without_dropped(columns.columns, stored.ids))
        return replace(
            state,
            schemas=Schemas.of([stored]),
            schema_version=version,
            segments=segments,
            lens=Lens(str(self.schema.version), Seen(columns, stored), self.overflow),
        )


def states_of(view: View, state: TableState, segments: pa.Table) -> Iterator[TableState]:
    """Snapshots that together hold some segments, one a schema version, as a stream sees them.

    Args:
        state: the newest snapshot of the incarnation, which knows the schemas.
        segments: their core columns; they need not be live, nor live together.
    """
    versions = segments["schema_version"]
    for version in sorted(pc.unique(versions).to_pylist()):
        own = segments.filter(pc.equal(versions, array_of([version], pa.int32())[0]))
        yield view.over(state, SegmentSet.of(own), version)
