"""Schema pins: declarations that a job uses the table in an earlier schema (FORMAT.md, section 4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.schema.schema import Schema
from versioned_catalog.spelling import listed
from versioned_catalog.types.paths import has_control_characters


@dataclass(frozen=True, slots=True)
class Pin:
    """A declaration that some job reads and writes a table in a schema version.

    Args:
        schema_version: the schema version that the job was written for.
        owner: who to ask about the job.
        until: when the job will follow the current schema, for people: a pin stays until it is retired.
    """

    schema_version: int
    owner: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PinnedSchema:
    """A pin, and the columns that it needs: those of its schema version that are not hidden."""

    pin: Pin
    schema: Schema


PinnedSchemas = Mapping[str, PinnedSchema]
"""Pins by label."""


def check_label(label: object) -> str:
    """The label of a pin.

    Raises:
        InvalidRequestError: it is empty, digits alone, or holds control characters.
    """
    if not isinstance(label, str) or not label:
        raise InvalidRequestError(
            f"the label of a pin must be text that is not empty, got {label!r}"
        )
    if label.isdigit():
        raise InvalidRequestError(
            f"a pin can't be called {label!r}, since digits alone are a schema version; call it "
            f"'v{label}'"
        )
    if has_control_characters(label):
        raise InvalidRequestError(
            f"the pin {label!r} holds control characters; choose another label"
        )
    return label


def check_pinned(pins: Mapping[str, object], label: str) -> None:
    """Check that there is a pin of this label.

    Raises:
        NotFoundError: there is none; the message lists the pins.
    """
    if label not in pins:
        known = listed(label, sorted(pins), none="none so far")
        raise NotFoundError(
            f"there is no schema pin {label!r} (the pins: {known}); declare it with "
            f"pin_schema({label!r}, schema_version)"
        )


def pins_on(pins: PinnedSchemas, ids: frozenset[int]) -> list[str]:
    """The labels of the pins that need one of some columns, sorted."""
    return sorted(label for label, one in pins.items() if not ids.isdisjoint(one.schema.ids))
