"""The options of a stream that reads a table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from versioned_catalog import InvalidRequestError
from versioned_catalog.conflicts.tags import version_or_tag
from versioned_catalog.streaming.limits import Limits
from versioned_catalog.streaming.settings import (
    Settings,
    on_drop_of,
    on_rewrite_of,
    schema_mode_of,
)

OF_STREAMS = (
    "startingVersion",
    "startingTimestamp",
    "onRewrite",
    "onDrop",
    "schemaMode",
    "maxSegmentsPerTrigger",
    "maxRowsPerTrigger",
    "maxBytesPerTrigger",
)
"""Options that only streams have."""

_SIZE = re.compile(r"([0-9]{1,18})([kmgt]?)b?", re.IGNORECASE)


def stream_options(given: Mapping[str, str]) -> dict[str, str]:
    """Those of some options that are for streams, under their own spelling."""
    lower = {key.lower(): value for key, value in given.items()}
    return {name: lower[name.lower()] for name in OF_STREAMS if name.lower() in lower}


def stream_settings(options: Mapping[str, str], schema_version: int | None, table: str) -> Settings:
    """What a stream reads.

    Args:
        options: of ``stream_options``.
        schema_version: the schema of the stream; None for the one that the table is seen in.

    Raises:
        InvalidRequestError: an option is invalid.
    """
    version = options.get("startingVersion")
    return Settings(
        schema_version,
        None if version is None else version_or_tag(version),
        options.get("startingTimestamp"),
        on_rewrite_of(options.get("onRewrite", "fail"), table),
        on_drop_of(options.get("onDrop", "null"), table),
        schema_mode_of(options.get("schemaMode", "follow"), table),
    )


def stream_limits(options: Mapping[str, str], table: str) -> Limits:
    """How much a micro-batch may read.

    Raises:
        InvalidRequestError: an option is not a number of 1 or more.
    """
    return Limits(
        _size(options, "maxSegmentsPerTrigger", table),
        _size(options, "maxRowsPerTrigger", table),
        _size(options, "maxBytesPerTrigger", table),
    )


def _size(options: Mapping[str, str], name: str, table: str) -> int | None:
    """A number, of which ``k``, ``m``, ``g`` and ``t`` are multiples of 1024, as in Spark's sizes."""
    text = options.get(name)
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidRequestError(
            f"{table}: {name} is {text!r}; it must be a number, such as 1000 or 512m",
            condition="INVALID_OPTION",
        )
    power = " kmgt".index(found[2].lower() or " ")
    return int(found[1]) << 10 * power
