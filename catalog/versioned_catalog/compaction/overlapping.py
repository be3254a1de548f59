"""Choose the segments of a table with a primary key to compact: those whose key ranges overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from versioned_catalog.log.delta import Delta
from versioned_catalog.log.op_types import DELETE
from versioned_catalog.merge_on_read.overlaps import overlapping_groups

Order = tuple[int, int]


@dataclass(frozen=True)
class Levels:
    """The live segments of a table with a primary key.

    Args:
        ranges: bounds of each column of the row key, one element a segment.
        orders: (sequence, ordinal) of each segment.
        deltas: the delta metadata of each segment.
        bytes: the size of each segment.
        partitioned: whether the first range is that of the partition.
    """

    ranges: Sequence[tuple[Sequence[int], Sequence[int]]]
    orders: Sequence[Order]
    deltas: Sequence[Delta]
    bytes: Sequence[int]
    partitioned: bool = False

    def overlaps(self, one: int, other: int) -> bool:
        """Whether the ranges of two segments overlap in every column of the row key."""
        return all(low[one] <= high[other] and low[other] <= high[one] for low, high in self.ranges)

    def groups(self, positions: Sequence[int]) -> list[list[int]]:
        """Group segments so that segments of different groups do not overlap."""
        return overlapping_groups(self.ranges, positions)

    def closure(self, chosen: Iterable[int]) -> set[int]:
        """Closure of segments that must be compacted together.

        A PATCH needs all older rows of its keys, or it would become a row of its own. Segments of one
        commit are ordered by their ordinals only, so overlapping ones stay together.
        """
        found, waiting = set[int](), list(chosen)
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            found.add(one)
            waiting += [at for at in self._near(one) if self._needs(one, at)]
        return found

    def _near(self, one: int) -> Sequence[int]:
        """The segments that one may need: those of its commit; all for a PATCH."""
        if self.deltas[one].patch is not None:
            return range(len(self.orders))
        return self._commits[self.orders[one][0]]

    @cached_property
    def _commits(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for at, (sequence, _) in enumerate(self.orders):
            found.setdefault(sequence, []).append(at)
        return found

    def _needs(self, one: int, other: int) -> bool:
        if one == other or not self.overlaps(one, other):
            return False
        patches = self.deltas[one].patch is not None and self._older(other, one)
        alone = self.deltas[one].sequences is None and self.deltas[other].sequences is None
        return patches or (alone and self.orders[one][0] == self.orders[other][0])

    def _older(self, other: int, one: int) -> bool:
        """Whether ``other`` may hold rows older than the newest of ``one``."""
        return self.least_sequence(other) <= self.orders[one][0]

    def least_sequence(self, position: int) -> int:
        """The least sequence of the rows of a segment."""
        sequences = self.deltas[position].sequences
        return self.orders[position][0] if sequences is None else sequences[0]

    def needs_tombstones(self, chosen: set[int]) -> bool:
        """Whether a segment that stays may hold a row that a tombstone in the chosen ones deletes."""
        deletes = [at for at in chosen if DELETE in self.deltas[at].ops]
        others = [at for at in range(len(self.orders)) if at not in chosen]
        return any(
            self._older(other, one) and self.overlaps(other, one)
            for one in deletes
            for other in others
        )

    def neighbours(self, alone: Sequence[int], target: int) -> list[list[int]]:
        """Group small segments that overlap nothing, adjacent in key order, up to ``target`` bytes."""
        every = range(len(self.orders))
        ordered = sorted(every, key=lambda at: [low[at] for low, _ in self.ranges])
        small, found = set(alone), list[list[int]]()
        size = 0
        for at in ordered:
            fits = size + self.bytes[at] <= target
            if at in small and found and found[-1] and fits and self._together(found[-1][-1], at):
                found[-1].append(at)
                size += self.bytes[at]
            else:
                found.append([at] if at in small else [])
                size = self.bytes[at]
        return [one for one in found if len(one) > 1 and self._is_clear(one)]

    def _together(self, one: int, other: int) -> bool:
        """Whether two segments are of one partition; others would be split again."""
        return not self.partitioned or self.ranges[0][0][one] == self.ranges[0][0][other]

    def _is_clear(self, positions: list[int]) -> bool:
        """Whether no other segment overlaps the joint range of the given ones."""
        inside = set(positions)
        hull = [
            (low, high, min(map(low.__getitem__, positions)), max(map(high.__getitem__, positions)))
            for low, high in self.ranges
        ]
        return not any(
            all(low[at] <= to and fro <= high[at] for low, high, fro, to in hull)
            for at in range(len(self.orders))
            if at not in inside
        )
