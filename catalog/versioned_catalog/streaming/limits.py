"""How much one micro-batch may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.record import LiveSegment


@dataclass(frozen=True)
class Limits:
    """The most that one micro-batch reads; None for no limit. At least one segment is always read.

    Args:
        segments: number of segments.
        rows: number of rows in them.
        bytes: size of their files.
    """

    segments: int | None = None
    rows: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        named = {"Segments": self.segments, "Rows": self.rows, "Bytes": self.bytes}
        for name, limit in named.items():
            if limit is not None and limit < 1:
                raise InvalidRequestError(
                    f"max{name}PerTrigger is {limit}; it must be 1 or more",
                    condition="INVALID_OPTION",
                )


NO_LIMITS = Limits()
"""Everything that is there."""


@dataclass
class Admission:
    """What was admitted to a micro-batch so far."""

    limits: Limits
    segments: int = 0
    rows: int = 0
    bytes: int = 0

    def admit(self, rows: int, size: int, segments: int = 1) -> bool:
        """Count more segments of some rows and bytes; False if they are beyond a limit."""
        limits = self.limits
        after = self.segments + segments, self.rows + rows, self.bytes + size
        most = limits.segments, limits.rows, limits.bytes
        if self.segments and any(
            limit is not None and value > limit for value, limit in zip(after, most, strict=True)
        ):
            return False
        self.segments, self.rows, self.bytes = after
        return True


Sizes = list[tuple[int, int]]
"""The rows and bytes of segments."""


def sizes_in(segments: pa.Table) -> Sizes:
    """The sizes of the segments of a snapshot, by their core columns."""
    return list(zip(segments["rows"].to_pylist(), segments["bytes"].to_pylist(), strict=True))


def sizes_of(segments: Sequence[LiveSegment]) -> Sizes:
    """The sizes of segments that a commit added."""
    return [(one.record.rows, one.record.bytes) for one in segments]
