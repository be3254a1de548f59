"""The schema pins that a planned change touches."""

from __future__ import annotations

from versioned_catalog.evolution.diff import Step
from versioned_catalog.log.state import TableState


def touched_pins(state: TableState, step: Step) -> tuple[str, ...]:
    """What a change does to each pin that it touches, such as ``billing: may overflow``."""
    del state, step
    return ()
