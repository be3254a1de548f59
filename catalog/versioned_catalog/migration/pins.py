"""The schema pins that a planned change touches."""

from __future__ import annotations

from collections.abc import Iterator

from versioned_catalog.evolution.changes import DropColumn
from versioned_catalog.evolution.diff import Step
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.pins import PinnedSchema
from versioned_catalog.schema.seen import breaks


def touched_pins(state: TableState, step: Step) -> tuple[str, ...]:
    """What a change does to each pin that it touches, such as ``billing: n is BIGINT, ...``."""
    return tuple(
        f"{label}: {effect}"
        for label, pinned in sorted(state.pinned_schemas.items())
        for effect in _effects(pinned, step)
    )


def _effects(pinned: PinnedSchema, step: Step) -> Iterator[str]:
    if isinstance(step.change, DropColumn) and step.column_id in pinned.schema.ids:
        yield "stays, hidden, until it is retired"
    known = set(breaks(pinned.schema, step.before.schema))
    yield from (
        f"may fail, since {reason}"
        for reason in breaks(pinned.schema, step.after.schema)
        if reason not in known
    )
