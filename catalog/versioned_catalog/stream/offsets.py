"""The settings and offsets of streams, and the limits of a micro-batch."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.schema_json import member, optional
from versioned_catalog.storage.text import parse_json


class OnRewrite(enum.Enum):
    """The action of a stream at a commit that removed or rewrote rows."""

    FAIL = "fail"
    SKIP = "skip"


class OnDrop(enum.Enum):
    """The action of a stream at newer rows after a column that it reads was dropped."""

    NULL = "null"
    FAIL = "fail"


class SchemaMode(enum.Enum):
    """The action of a stream at a change of the schema."""

    FOLLOW = "follow"
    STOP = "stop"


LATEST = "latest"
"""``startingVersion`` of a stream that reads the commits from now on."""


@dataclass(frozen=True)
class Settings:
    """The settings of a stream.

    Args:
        schema_version: the schema that the stream has from its start to its end; None for the newest.
        starting_version: the first version whose commit is read, a tag, or ``latest``; None to read a
            snapshot of the table first.
        starting_time: the commits at this time or later are read; without ``starting_version``.
        on_rewrite, on_drop, schema_mode: see their types.
        consumer: the consumer that moves as the stream reads; None for none.
    """

    schema_version: int | None = None
    starting_version: int | str | None = None
    starting_time: datetime | str | None = None
    on_rewrite: OnRewrite = OnRewrite.FAIL
    on_drop: OnDrop = OnDrop.NULL
    schema_mode: SchemaMode = SchemaMode.FOLLOW
    consumer: str | None = None


@dataclass(frozen=True)
class Limits:
    """The most that one micro-batch reads; None for no limit. At least one segment is always read.

    Args:
        segments: number of segments.
        rows: number of rows in them.
        bytes: size of their files.
    """

    segments: int | None = None
    rows: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        named = {"Segments": self.segments, "Rows": self.rows, "Bytes": self.bytes}
        for name, limit in named.items():
            if limit is not None and limit < 1:
                raise InvalidRequestError(
                    f"max{name}PerTrigger is {limit}; it must be 1 or more",
                    condition="INVALID_OPTION",
                )


NO_LIMITS = Limits()
"""A batch without limits."""


Size = tuple[int, int, int]
"""A number of segments, and the rows and bytes in them."""

Sizes = list[Size]
"""Parts of a batch, of which each is read whole."""


def sizes_of(records: Iterable[SegmentRecord]) -> Sizes:
    """The size of each segment."""
    return [(1, record.rows, record.bytes) for record in records]


def total_of(sizes: Sizes) -> Size:
    """The size of all parts together."""
    segments, rows, size = (sum(size[at] for size in sizes) for at in range(3))
    return segments, rows, size


@dataclass
class Admission:
    """What was admitted to a micro-batch so far."""

    limits: Limits
    segments: int = 0
    rows: int = 0
    bytes: int = 0

    def admit(self, size: Size) -> bool:
        """Count more segments; False if they are beyond a limit."""
        limits = self.limits
        after = total_of([(self.segments, self.rows, self.bytes), size])
        most = limits.segments, limits.rows, limits.bytes
        if self.segments and any(
            limit is not None and value > limit for value, limit in zip(after, most, strict=True)
        ):
            return False
        self.segments, self.rows, self.bytes = after
        return True


@dataclass(frozen=True)
class Offset:
    """The place of a stream in the log of its table: everything before it is read.

    Delta's offsets are similar. They hold no schema, since columns match by ID whatever their version.

    Args:
        table_uuid: the incarnation of the table.
        version: commits before this version are read.
        ordinal: number of segments of this version that are read, in the order of the log.
        schema_version: the schema version that the query reads, when it wrote this offset.
        snapshot: whether the segments are those of the snapshot that the stream starts with; else those
            that the commit added.
        first: version and snapshot of the offset with which the stream started; see ``beginning``.

    >>> text = Offset("u", 7, 2, 0, first=(5, True)).to_json()
    >>> text.startswith('{"table_uuid": "u", "version": 7, "ordinal": 2, "schema_version": 0, ')
    True
    >>> text.endswith('"snapshot": false, "first": [5, true]}')
    True
    >>> Offset.from_json(text)
    Offset(table_uuid='u', version=7, ordinal=2, schema_version=0, snapshot=False, first=(5, True))
    """

    table_uuid: str
    version: int
    ordinal: int
    schema_version: int
    snapshot: bool = False
    first: tuple[int, bool] | None = field(default=None, compare=False)

    def as_first(self) -> Offset:
        """This offset as the one with which a stream starts."""
        return replace(self, first=(self.version, self.snapshot))

    def beginning(self, end: Offset) -> Offset:
        """The start of the batch from this offset to ``end``.

        Spark asks for the start of a query several times, also after a crash, and stores only where
        batches end. The table changes meanwhile, so the first answer counts, and ``end`` holds it.
        """
        if not self.is_first or end.first is None:
            return self
        return replace(self, first=end.first)._start()

    @property
    def is_first(self) -> bool:
        """Whether a stream that is here has read nothing yet."""
        return self.first is not None and self.place == self._start().place

    def _start(self) -> Offset:
        assert self.first is not None
        version, snapshot = self.first
        return replace(self, version=version, ordinal=0, snapshot=snapshot)

    @property
    def place(self) -> tuple[int, bool, int]:
        """Offsets of one stream in order: a snapshot comes before the commits after it."""
        return self.version, not self.snapshot, self.ordinal

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, whose members are text, integers and a boolean."""
        return {**vars(self), "first": None if self.first is None else list(self.first)}

    def to_json(self) -> str:
        """The text in a checkpoint."""
        return json.dumps(self.to_dict())

    @staticmethod
    def from_dict(value: Any) -> Offset:
        """The offset of a JSON object.

        Raises:
            InvalidRequestError: it is not an offset of a versioned table.
        """
        try:
            offset = Offset(
                member(value, "table_uuid", str),
                member(value, "version", int),
                member(value, "ordinal", int),
                member(value, "schema_version", int),
                member(value, "snapshot", bool),
                _first(optional(value, "first", list)),
            )
        except (CorruptTableError, TypeError, ValueError, AttributeError):
            offset = None
        if offset is None or min(offset.version, offset.ordinal, offset.schema_version) < 0:
            raise InvalidRequestError(
                f"the checkpoint holds {str(value)[:200]}, which is not an offset of a versioned table; "
                "give the query the checkpoint that it was started with, or a new one"
            )
        return offset

    @staticmethod
    def from_json(text: str) -> Offset:
        """The offset in a checkpoint.

        Raises:
            InvalidRequestError: the text is not an offset of a versioned table.
        """
        try:
            value: Any = parse_json(text.encode(), "an offset")
        except CorruptTableError:
            value = text
        return Offset.from_dict(value)


def _first(value: list[Any] | None) -> tuple[int, bool] | None:
    if value is None:
        return None
    version, snapshot = value
    if type(version) is not int or type(snapshot) is not bool:
        raise TypeError("first")
    return version, snapshot
