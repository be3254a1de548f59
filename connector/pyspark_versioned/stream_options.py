"""The options of a stream that reads a table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark_versioned.option_names import names_of_topic
from pyspark_versioned.sql.protocol.table import VersionRange
from versioned_catalog import InvalidRequestError, Table
from versioned_catalog.commit.version_rules import version_or_tag
from versioned_catalog.spelling import one_of
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.consumers import check_name
from versioned_catalog.stream.offsets import Limits, OnDrop, OnRewrite, SchemaMode, Settings
from versioned_catalog.stream.row_stream import TableStream

READ_CHANGES = "readChanges"

OF_CHANGES = (READ_CHANGES, "computeUpdates", "deduplicationMode")
"""Options of reads of changes; the last two are called as in Spark's SQL, with the same defaults."""

OF_STREAMS = names_of_topic("Streams and changes")
"""Options that only streams and reads of changes have."""

_SIZE = re.compile(r"([0-9]{1,18})([kmgt]?)b?", re.IGNORECASE)


def stream_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of streams among others, in their documented spelling."""
    lower = {key.lower(): value for key, value in options.items()}
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
        one_of(OnRewrite, options.get("onRewrite", "fail"), f"{table}: onRewrite"),
        one_of(OnDrop, options.get("onDrop", "null"), f"{table}: onDrop"),
        one_of(SchemaMode, options.get("schemaMode", "follow"), f"{table}: schemaMode"),
        None if "consumer" not in options else check_name(options["consumer"], table),
    )


def wanted_changes(options: Mapping[str, str], table: str) -> Request | None:
    """Which changes are read, and how; None to read rows.

    Args:
        options: of ``stream_options``.

    Raises:
        InvalidRequestError: an option is invalid.
    """
    if not _flag(options, READ_CHANGES, table):
        names = [name for name in OF_CHANGES if name in options and name != READ_CHANGES]
        if names:
            raise InvalidRequestError(
                f"{table}: {names[0]} is an option of reads of changes; add the option readChanges, "
                "or leave it out",
                condition="INVALID_OPTION",
            )
        return None
    mode = options.get("deduplicationMode", "dropCarryovers").lower()
    if mode not in ("none", "dropcarryovers", "netchanges"):
        raise InvalidRequestError(
            f"{table}: deduplicationMode is {mode!r}; it must be none, dropCarryovers or netChanges",
            condition="INVALID_OPTION",
        )
    updates = _flag(options, "computeUpdates", table)
    return Request(mode == "netchanges", mode == "none", updates)


def changes_asked(options: Mapping[str, str], table: Table, end: int) -> VersionRange | None:
    """The changes that a read without the jar asks for; None to read rows.

    Args:
        options: of ``stream_options``.
        end: the version that is read.

    Raises:
        InvalidRequestError: an option is invalid, or no version to start with is given.
    """
    wanted = wanted_changes(options, table.name)
    if wanted is None:
        if "startingVersion" in options:
            raise InvalidRequestError(
                f"{table.name}: startingVersion is an option of streams and of reads of changes; leave "
                "it out, or add the option readChanges",
                condition="INVALID_OPTION",
            )
        return None
    version = options.get("startingVersion")
    if version is None:
        raise InvalidRequestError(
            f"{table.name}: changes need a first version; add the option startingVersion",
            condition="INVALID_OPTION",
        )
    start = table.version_of(version_or_tag(version))
    return VersionRange(start, end, wanted.net, wanted.carryovers, wanted.updates)


def _flag(options: Mapping[str, str], name: str, table: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise InvalidRequestError(
            f"{table}: {name} is {text!r}; it must be true or false", condition="INVALID_OPTION"
        )
    return text == "true"


def stream_of(
    table: Table, options: Mapping[str, str], schema_version: int | None, name: str
) -> TableStream | ChangeStream:
    """The stream that options ask for: of added rows, or of changes.

    Args:
        options: of ``stream_options``.
        schema_version: the schema of the stream; None for the one that the table is seen in.

    Raises:
        InvalidRequestError: an option is invalid, or the table has no such stream.
    """
    settings = stream_settings(options, schema_version, name)
    wanted = wanted_changes(options, name)
    if wanted is None:
        return table.stream(settings)
    if wanted.net:
        raise InvalidRequestError(
            f"{name}: net changes of a stream would depend on where its batches end; leave out "
            "deduplicationMode, and apply the changes of a batch by key, as changeColumn does",
            condition="NOT_SUPPORTED",
        )
    if "onRewrite" in options:
        raise InvalidRequestError(
            f"{name}: changes show what a commit rewrote, so they have no onRewrite; leave it out",
            condition="INVALID_OPTION",
        )
    return table.change_stream(settings, updates=wanted.updates, carryovers=wanted.carryovers)


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
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise InvalidRequestError(
            f"{table}: {name} is {text!r}; it must be a number, such as 1000 or 512m",
            condition="INVALID_OPTION",
        )
    power = " kmgt".index(size[2].lower() or " ")
    return int(size[1]) << 10 * power
