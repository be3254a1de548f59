"""Schema changes that a statement commits together with its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark_versioned.sql.changes import parse_changes
from pyspark_versioned.sql.protocol.common import Change
from versioned_catalog.evolution.bind import plan_changes
from versioned_catalog.evolution.evolution import BoundChange
from versioned_catalog.log.state import TableState


def apply_pending(
    state: TableState, pending: Sequence[Change], table: str
) -> tuple[TableState, tuple[BoundChange, ...]]:
    """A snapshot as it will be after changes, and the changes bound to it.

    Raises:
        InvalidRequestError: a change is not allowed.
    """
    if not pending:
        return state, ()
    changes = parse_changes(pending, state.schema, table)
    bound, after = plan_changes(changes, state.evolution, state.schemas.newest.version + 1)
    same = after.schema.version == state.schema_version
    grown = state.schemas if same else state.schemas.grown(after.schema)
    evolved = replace(
        state,
        schemas=grown,
        schema_version=after.schema.version,
        next_column_id=after.next_column_id,
    )
    return evolved, bound
