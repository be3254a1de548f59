"""How an engine spreads rows over its tasks before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.schema.schema import Schema

DISTRIBUTION_MODE = "distribution_mode"
"""The table property that says which rows go to one task."""


class DistributionMode(Enum):
    """Which rows go to one task: NONE, they stay where they are; HASH, those of a partition; RANGE,
    those of a range of the order in which segments are sorted."""

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


def parse_mode(text: str, what: str) -> DistributionMode:
    """The mode that a user named; ``what`` names the property or option in the error.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    try:
        return DistributionMode(text.lower())
    except (ValueError, AttributeError):
        modes = ", ".join(mode.value for mode in DistributionMode)
        raise InvalidRequestError(f"{what} is {text!r}; it must be one of {modes}") from None


def mode_of(properties: Mapping[str, str]) -> DistributionMode | None:
    """The mode that a table's property names; None without one.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    text = properties.get(DISTRIBUTION_MODE)
    return None if text is None else parse_mode(text, f"the property {DISTRIBUTION_MODE}")


def default_mode(schema: Schema, *, ordered: bool) -> DistributionMode:
    """The mode of a table that names none.

    Args:
        schema: of the table.
        ordered: whether the rows have an order that counts. In a table with a primary key the last of
            several rows of a key wins, and rows that change tasks lose their order.
    """
    if not schema.partitioning or (schema.is_keyed and ordered):
        return DistributionMode.NONE
    return DistributionMode.HASH
