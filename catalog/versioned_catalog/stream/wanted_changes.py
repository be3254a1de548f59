"""Which changes a reader wants, by the columns of the feed; others need not be planned or read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from versioned_catalog.errors import NotFoundError
from versioned_catalog.model.arrow import from_numpy
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Column
from versioned_catalog.read.evaluators import Lookup, keep_mask
from versioned_catalog.read.filters import BoundFilter, filter_on
from versioned_catalog.read.metadata_columns import (
    CHANGE_COLUMNS,
    TYPES,
    feed_columns,
    microseconds,
    type_names,
)
from versioned_catalog.stream.change_tasks import Stamp

FEED = feed_columns(())
_, _VERSION, _ = FEED


def feed_column(path: ColumnPath) -> Column:
    """The column of the feed at a path.

    Raises:
        NotFoundError: there is none.
    """
    for column in FEED:
        if len(path) == 1 and column.name == path[0].lower():
            return column
    raise NotFoundError(f"the feed has no column {render_path(path)}", condition="COLUMN_NOT_FOUND")


@dataclass(frozen=True)
class Wanted:
    """The types and the commits of the changes that a reader wants.

    Args:
        filter: over ``FEED``; None for all changes.
    """

    filter: BoundFilter | None = None

    def versions(self, first: int, last: int) -> tuple[int, int]:
        """The first and the last version whose changes may be wanted; none if the first is the later."""
        by_version = None if self.filter is None else filter_on(self.filter, {_VERSION.id})
        if by_version is None or first > last:
            return first, last
        versions = np.arange(first, last + 1)
        batch = pa.RecordBatch.from_arrays([from_numpy(versions)], names=[_VERSION.name])
        kept = keep_mask(by_version, Lookup((_VERSION,), batch), len(versions))
        wanted = versions[kept.to_numpy(zero_copy_only=False)]
        return (int(wanted[0]), int(wanted[-1])) if len(wanted) else (first, first - 1)

    def types(self, stamps: Sequence[Stamp]) -> list[frozenset[str]]:
        """The wanted types of the changes of each commit."""
        if self.filter is None:
            return [frozenset(TYPES)] * len(stamps)
        each = len(TYPES)
        codes = np.tile(np.arange(each), len(stamps))
        versions = np.repeat(np.array([stamp.version for stamp in stamps], np.int64), each)
        times = np.repeat(np.array([microseconds(stamp.time) for stamp in stamps], np.int64), each)
        columns = [
            type_names(from_numpy(codes)),
            from_numpy(versions),
            from_numpy(times).view(CHANGE_COLUMNS[-1].type),
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=CHANGE_COLUMNS)
        kept = keep_mask(self.filter, Lookup(FEED, batch), len(codes)).to_pylist()
        rows = (kept[at : at + each] for at in range(0, len(kept), each))
        return [frozenset(t for t, keep in zip(TYPES, row, strict=True) if keep) for row in rows]
