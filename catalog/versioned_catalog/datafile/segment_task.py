"""The task of reading one segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.projection.narrowing import Narrowing
from versioned_catalog.projection.resolver import SegmentPlan
from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.types.types import Constant

WHOLE = 1_000_000
"""``SegmentTask.part`` counts in millionths of a file."""


@dataclass(frozen=True)
class SegmentTask:
    """The task of reading one segment, or a part of one. The driver decides its values, executors read.

    Args:
        path, table_uuid, schema_version, rows: as recorded in the log.
        sequence, commit_time: of the commit that added the segment.
        plan: how its rows become rows of the wanted columns.
        filter: which rows are wanted, over the plan's outputs; None for all.
        shown: how many of the plan's outputs are shown; only the filter needs the others.
        nan_free: the columns that hold no NaN in this segment.
        prune: whether row groups are skipped by their statistics.
        version: of the snapshot that holds the segment; -1 for none.
        row_sequence: of its rows, if the file holds no sequences.
        narrowing: the columns that are shown in narrower types than the plan's outputs; None for none.
        bytes: of the file, as recorded; checked for files that somebody else wrote.
        id_map: how a file that somebody else wrote holds the columns; None for one of our own.
        constants: the values of columns that such a file does not hold, in the types of the outputs.
        recorded_roots: where external roots were, for the error of a reader that does not have one.
        part: (first, end) in millionths of the file: read the row groups whose middle lies in it.
    """

    path: str
    table_uuid: str
    schema_version: int
    rows: int
    sequence: int
    commit_time: datetime
    plan: SegmentPlan
    filter: BoundFilter | None
    shown: int
    nan_free: frozenset[int]
    prune: bool
    version: int
    row_sequence: int
    narrowing: Narrowing | None = None
    bytes: int = 0
    id_map: IdMap | None = None
    constants: Mapping[int, Constant | None] = field(default_factory=dict)
    recorded_roots: Mapping[str, str] = field(default_factory=dict, repr=False)
    part: tuple[int, int] = (0, WHOLE)
