"""Table properties: which are known, and checks of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from versioned_catalog.compaction.small_segments import AUTO_COMPACT, threshold
from versioned_catalog.conflicts.isolation import ISOLATION, isolation_of
from versioned_catalog.datafile.writer import TARGET_BYTES, target_bytes
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.apply_pins import PINS, refuses_breaks
from versioned_catalog.iceberg.property import PUBLISH, publishes
from versioned_catalog.schema.keying import PRIMARY_KEY, TIME_INDEX
from versioned_catalog.schema.sorting import SORT_BY
from versioned_catalog.schema.ttl import TTL, TTL_FLOOR, parse_ttl
from versioned_catalog.spelling import meant
from versioned_catalog.write.distribution import DISTRIBUTION_MODE, mode_of
from versioned_catalog.write.schema_mode import SCHEMA_MODE, schema_mode_of

KNOWN = (
    SORT_BY,
    TARGET_BYTES,
    DISTRIBUTION_MODE,
    SCHEMA_MODE,
    ISOLATION,
    TTL,
    AUTO_COMPACT,
    PINS,
    PUBLISH,
    PRIMARY_KEY,
    TIME_INDEX,
)
"""The known keys; other keys are free for users."""


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse invalid values of known properties, and misspelled keys.

    Raises:
        InvalidRequestError: a value is invalid, or a key looks like a misspelled one.
    """
    _check_keys(properties)
    target_bytes(properties)
    isolation_of(properties)
    parse_ttl(properties)
    threshold(properties)
    mode_of(properties)
    refuses_breaks(properties)
    schema_mode_of(properties)
    publishes(properties)


def _check_keys(keys: Iterable[str]) -> None:
    for key in keys:
        if key == TTL_FLOOR:
            raise InvalidRequestError(
                f"the property {key} is maintained by the table; set {TTL} instead"
            )
        near = _meant(key) if isinstance(key, str) else None
        if near is not None:
            raise InvalidRequestError(
                f"the property {key} is unknown; did you mean {near}? For a property of your own, use a "
                f"key with a dot, such as myteam.{key}. Known properties: {', '.join(KNOWN)}"
            )


def _meant(key: str) -> str | None:
    """Return the known key that an unknown one resembles; None for keys with a dot."""
    if key in KNOWN or "." in key:
        return None
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).casefold())
    longer = [known for known in KNOWN if plain.startswith(f"{known}_")]
    return longer[0] if longer else meant(key, KNOWN)
