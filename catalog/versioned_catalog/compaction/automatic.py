"""Automatic compaction by writers: the property ``auto_compact``."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from versioned_catalog.compaction.small_segments import SMALL
from versioned_catalog.datafile.writer import target_bytes
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.types.arrow_values import scalar_of

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
    bytes_ = state.segments.core["bytes"]
    small = pc.less(bytes_, scalar_of(int(SMALL * target_bytes(state.properties)), bytes_.type))
    count: int = pc.sum(small).as_py() or 0
    return count >= wanted
