"""Consumers: readers whose unread versions expiry keeps (FORMAT.md, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.schema.wire import Json, member

LONGEST = timedelta(days=36_500)
"""The longest time for which a consumer can keep versions."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """How far somebody has read a table. Paimon has consumers, too, as files.

    Args:
        version: the last version that is read; it and all later ones are kept.
        moved: when the version was set, by the store's clock.
        keep: how long versions are kept for the consumer after they were replaced, in whole seconds.
    """

    version: int
    moved: datetime
    keep: timedelta


def consumers_to_json(consumers: Mapping[str, Consumer]) -> dict[str, Json]:
    """The JSON of consumers by name."""
    return {
        name: {
            "version": one.version,
            "moved": time_to_text(one.moved),
            "keep": int(one.keep.total_seconds()),
        }
        for name, one in consumers.items()
    }


def consumers_from_json(value: dict[str, Json], newest: int) -> dict[str, Consumer]:
    """Consumers by name.

    Raises:
        CorruptTableError: one is not as FORMAT.md says, or has read a version after ``newest``.
    """
    return {name: _from_json(name, member(value, name, dict), newest) for name in value}


def _from_json(name: str, value: Json, newest: int) -> Consumer:
    version, keep = member(value, "version", int), member(value, "keep", int)
    if not 0 <= version <= newest:
        raise CorruptTableError(
            f"the consumer {name[:100]!r} has read a version that does not exist"
        )
    if not 0 <= keep <= LONGEST.total_seconds():
        raise CorruptTableError(
            f"the consumer {name[:100]!r} keeps versions for an impossible time"
        )
    moved = time_from_text(member(value, "moved", str))
    return Consumer(version, moved, timedelta(seconds=keep))
