"""The properties of a table that mean something."""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.compacting.automatic import threshold
from versioned_catalog.log.isolation import isolation_of
from versioned_catalog.schema.ttl import parse_ttl
from versioned_catalog.segments.writer import target_bytes
from versioned_catalog.writing.distribution import mode_of


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse what no write could obey.

    Raises:
        InvalidRequestError: a property is not what it must be.
    """
    target_bytes(properties)
    isolation_of(properties)
    parse_ttl(properties)
    threshold(properties)
    mode_of(properties)
