"""The JSON of schema pins (FORMAT.md, section 4.6)."""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SCHEMA_VERSIONS
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.schema.pins import Pin
from versioned_catalog.schema.wire import Json, member, optional


def pins_to_json(pins: Mapping[str, Pin]) -> dict[str, Json]:
    """The JSON of pins by label."""
    return {label: _pin_to_json(pin) for label, pin in pins.items()}


def _pin_to_json(pin: Pin) -> Json:
    out: dict[str, Json] = {"schema_version": pin.schema_version}
    if pin.owner is not None:
        out["owner"] = pin.owner
    if pin.until is not None:
        out["until"] = time_to_text(pin.until)
    return out


def pins_from_json(value: dict[str, Json]) -> dict[str, Pin]:
    """Pins by label.

    Raises:
        CorruptTableError: one is not as FORMAT.md says.
    """
    return {label: _pin_from_json(member(value, label, dict)) for label in value}


def _pin_from_json(value: Json) -> Pin:
    version: int = member(value, "schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"a pin has the schema version {str(version)[:50]}")
    until = optional(value, "until", str)
    return Pin(
        version, optional(value, "owner", str), None if until is None else time_from_text(until)
    )
