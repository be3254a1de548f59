"""A snapshot with changes of the schema that a statement will commit together with its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark_versioned.sql.changes import parse_changes
from versioned_catalog.conflicts.incarnation import evolution_of
from versioned_catalog.evolution.bind import plan_changes
from versioned_catalog.evolution.evolution import BoundChange
from versioned_catalog.log.state import TableState


def evolve(
    state: TableState, pending: Sequence[dict[str, Any]], table: str
) -> tuple[TableState, tuple[BoundChange, ...]]:
    """A snapshot as it will be after changes, and the changes bound to it.

    Args:
        state: the snapshot.
        pending: changes as the jar sends them.
        table: the table, for errors.

    Raises:
        InvalidRequestError: a change is not legal.
    """
    if not pending:
        return state, ()
    changes = parse_changes(pending, state.schema, table)
    bound, after = plan_changes(changes, evolution_of(state), state.schemas.newest.version + 1)
    same = after.schema.version == state.schema_version
    grown = state.schemas if same else state.schemas.grown(after.schema)
    evolved = replace(
        state,
        schemas=grown,
        schema_version=after.schema.version,
        next_column_id=after.next_column_id,
    )
    return evolved, bound
