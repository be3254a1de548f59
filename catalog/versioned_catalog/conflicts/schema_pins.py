"""Rule: where pins are to be kept, their table is neither replaced nor dropped (section 4.6)."""

from __future__ import annotations

from typing import Any

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.apply_pins import PINS, refuses_breaks
from versioned_catalog.log.state import TableState


def no_pins_lost(attempt: Attempt[Any]) -> None:
    """Refuse to end a pinned incarnation of a table whose property ``pins`` is ``refuse``."""
    check_no_pins_lost(attempt.state, attempt.table)


def check_no_pins_lost(state: TableState, table: str) -> None:
    """Refuse to replace or drop a table for the sake of its pins.

    Raises:
        InvalidRequestError: naming the first pin.
    """
    if state.pins and refuses_breaks(state.properties):
        label = min(state.pins)
        raise InvalidRequestError(
            f"{table} can't be replaced or dropped, since the schema pin {label!r} is in force and the "
            f"table property {PINS} is 'refuse'; retire the pin with retire_schema({label!r}) first",
            condition="NOT_SUPPORTED",
        )
