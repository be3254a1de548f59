"""Segments of several versions whose rows are changes, in few sets, so that they are planned at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from versioned_catalog.log.marks import Mark, mark_to_text
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.model.arrow import array_of
from versioned_catalog.read.metadata_columns import microseconds
from versioned_catalog.stream.change_history import Rows
from versioned_catalog.stream.change_tasks import Stamp

ChangedRows = tuple[str, int]
"""Rows of a segment that a commit changed: the path, and the version of the commit."""

Stamped = tuple[Rows, Stamp]
"""Rows that a commit changed, and the commit."""


@dataclass(frozen=True)
class _Stored:
    """Segments of one state: their places in it, the commits that changed them, and their marks."""

    columns: SegmentColumns
    packed: tuple[int, ...]
    places: list[int] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    marks: list[str | None] = field(default_factory=list)

    def add(self, place: int, stamp: Stamp, mark: Mark | None) -> None:
        """Add a segment."""
        self.places.append(place)
        self.stamps.append(stamp)
        self.marks.append(None if mark is None else mark_to_text(mark))

    def to_set(self) -> SegmentSet:
        """The segments, as if these commits had added them."""
        rows = self.columns.at(array_of(self.places, pa.int64()))
        time = array_of([microseconds(stamp.time) for stamp in self.stamps], pa.int64())
        values = {
            "sequence": array_of([stamp.version for stamp in self.stamps], pa.int64()),
            "commit_time": time.cast(rows.types["commit_time"]),
            "mark": array_of(self.marks, pa.string()),
        }
        for name, column in values.items():
            rows = rows.with_column(name, pa.chunked_array([column]))
        return SegmentSet.of(rows, self.packed)


def sets_of(changed: Iterable[Stamped]) -> list[SegmentSet]:
    """The segments of rows that commits changed, as if these commits had added them.

    The sequence and the commit time of a segment are those of the commit that changed its rows: it
    added the segment, removed it, or marked rows of it. Segments with the same columns of statistics
    are in one set.
    """
    added, stored = list[LiveSegment](), dict[int, _Stored]()
    for rows, stamp in changed:
        newer, places = rows.live.located(rows.paths)
        added += [replace(s, sequence=stamp.version, commit_time=stamp.time) for s in newer]
        base = rows.live.base
        for path, place in places.items():
            part = stored.setdefault(id(base), _Stored(base, rows.live.packed))
            part.add(place, stamp, rows.live.mark_of(path))
    sets = [part.to_set() for part in stored.values()]
    return [*sets, SegmentSet().followed_by(added)] if added else sets
