"""Distribution of rows over the tasks of an engine before a write."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from versioned_catalog.schema.schema import Schema
from versioned_catalog.spelling import one_of

DISTRIBUTION_MODE = "distribution_mode"
"""Table property: which rows go to the same task."""


class DistributionMode(Enum):
    """Which rows go to the same task.

    NONE: no shuffle. HASH: rows of a partition. RANGE: rows of a range of the sort order.
    """

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


def parse_mode(text: str, what: str) -> DistributionMode:
    """Parse a mode; ``what`` names the property or option in errors.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    return one_of(DistributionMode, text.lower() if isinstance(text, str) else text, what)


def mode_of(properties: Mapping[str, str]) -> DistributionMode | None:
    """Return the mode that the table property sets; None if it is not set.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    text = properties.get(DISTRIBUTION_MODE)
    return None if text is None else parse_mode(text, f"the property {DISTRIBUTION_MODE}")


def default_mode(schema: Schema, *, ordered: bool) -> DistributionMode:
    """Return the mode of a table that sets none; ``ordered`` says whether the order of the rows matters.

    In a table with a primary key the last row of a key wins, and a shuffle loses the order.
    """
    if not schema.partitioning or (schema.is_keyed and ordered):
        return DistributionMode.NONE
    return DistributionMode.HASH
