"""Rule: where pins are to be kept, their table is neither replaced nor dropped (section 4.6)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Drop, Replace
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.apply_pins import PINS, refuses_breaks


def no_pins_lost(attempt: Attempt[Drop | Replace]) -> None:
    """Refuse to end a pinned incarnation of a table whose property ``pins`` is ``refuse``.

    Raises:
        InvalidRequestError: naming the first pin.
    """
    state = attempt.state
    if state.pins and refuses_breaks(state.properties):
        label = min(state.pins)
        raise InvalidRequestError(
            f"{attempt.table} can't be replaced or dropped, since the schema pin {label!r} is in force "
            f"and the table property {PINS} is 'refuse'; retire the pin with "
            f"retire_schema({label!r}) first",
            condition="NOT_SUPPORTED",
        )
