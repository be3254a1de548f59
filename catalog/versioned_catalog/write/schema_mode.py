"""Schema modes: whether writers of rows may add columns and widen types."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from versioned_catalog.log.state import TableState
from versioned_catalog.spelling import one_of

SCHEMA_MODE = "schema_mode"
"""The table property that says whether writes add the columns that the table lacks."""


class SchemaMode(enum.Enum):
    """What happens to rows with columns that the table lacks, or with wider types."""

    STRICT = "strict"
    """They are refused."""
    LIVE = "live"
    """Their columns are added, and types widened, in the commit of the rows."""


def schema_mode_of(properties: Mapping[str, str]) -> SchemaMode:
    """The schema mode that a table's properties set.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(SCHEMA_MODE, SchemaMode.STRICT.value)
    return one_of(SchemaMode, text, f"the property {SCHEMA_MODE}")


def is_live(properties: Mapping[str, str]) -> bool:
    """Whether writes change the schema unless they ask not to."""
    return schema_mode_of(properties) is SchemaMode.LIVE


def merges_schema(asked: bool | None, state: TableState) -> bool:
    """Whether a write changes the schema: as it asks, else (None) by the table's mode.

    A writer that sees an earlier schema changes nothing unless it asks, and is then refused.
    """
    return (state.lens is None and is_live(state.properties)) if asked is None else asked
