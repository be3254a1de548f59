"""What a stream reads, and what it does where it can't go on as it is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime

from versioned_catalog.spelling import one_of


class OnRewrite(enum.Enum):
    """What a stream does at a commit that removed rows, or wrote rows again."""

    FAIL = "fail"
    SKIP = "skip"


class OnDrop(enum.Enum):
    """What a stream does with newer rows when a column that it reads was dropped."""

    NULL = "null"
    FAIL = "fail"


class SchemaMode(enum.Enum):
    """What a stream does at a change of the schema."""

    FOLLOW = "follow"
    STOP = "stop"


LATEST = "latest"
"""``startingVersion`` of a stream that reads what is committed from now on."""


@dataclass(frozen=True)
class Settings:
    """What a stream reads of a table.

    Args:
        schema_version: the schema that the stream has from its start to its end; None for the newest.
        starting_version: the first version whose commit is read, a tag, or ``latest``; None to read a
            snapshot of the table first.
        starting_time: the commits at this time or later are read; without ``starting_version``.
        on_rewrite, on_drop, schema_mode: see there.
        consumer: the consumer that moves as the stream reads; None for none.
    """

    schema_version: int | None = None
    starting_version: int | str | None = None
    starting_time: datetime | str | None = None
    on_rewrite: OnRewrite = OnRewrite.FAIL
    on_drop: OnDrop = OnDrop.NULL
    schema_mode: SchemaMode = SchemaMode.FOLLOW
    consumer: str | None = None


def on_rewrite_of(text: str, table: str) -> OnRewrite:
    """The option ``onRewrite``. Raises InvalidRequestError for any other text."""
    return one_of(OnRewrite, text, f"{table}: onRewrite")


def on_drop_of(text: str, table: str) -> OnDrop:
    """The option ``onDrop``. Raises InvalidRequestError for any other text."""
    return one_of(OnDrop, text, f"{table}: onDrop")


def schema_mode_of(text: str, table: str) -> SchemaMode:
    """The option ``schemaMode``. Raises InvalidRequestError for any other text."""
    return one_of(SchemaMode, text, f"{table}: schemaMode")
