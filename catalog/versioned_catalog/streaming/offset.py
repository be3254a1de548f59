"""How far a stream has read a table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.schema.wire import member
from versioned_catalog.storage.json_text import parse_json


@dataclass(frozen=True)
class Begin:
    """Where a stream began: with a commit, or with the snapshot of a version."""

    version: int
    snapshot: bool

    @staticmethod
    def from_dict(value: Any) -> Begin | None:
        """The member ``began`` of an offset."""
        if value is None:
            return None
        return Begin(member(value, "version", int), member(value, "snapshot", bool))


@dataclass(frozen=True)
class Offset:
    """How far a stream has read a table: everything before a place in its log.

    Delta's offsets are alike. They hold no schema, since columns match by ID whatever their version.

    Spark stores where its first batch ends, but not where it starts. If that batch is run again, it asks
    the source again, whose table has other versions then. So every offset says where its stream began.

    Args:
        table_uuid: the incarnation of the table.
        version: commits before this version are read.
        ordinal: number of segments of this version that are read, in the order of the log.
        schema_version: the schema version that the query reads, when it wrote this offset.
        snapshot: whether the segments are those of the snapshot that the stream starts with; else those
            that the commit added.
        began: where the stream began; None if that is not known.

    >>> print(Offset("u", 7, 2, 0, began=Begin(3, snapshot=True)).to_json())
    {"table_uuid": "u", "version": 7, "ordinal": 2, "schema_version": 0, "snapshot": false,
     "began": {"version": 3, "snapshot": true}}
    >>> Offset.from_json(Offset("u", 7, 2, 0).to_json()) == Offset("u", 7, 2, 0)
    True
    """

    table_uuid: str
    version: int
    ordinal: int
    schema_version: int
    snapshot: bool = False
    began: Begin | None = None

    @staticmethod
    def initial(table_uuid: str, began: Begin, schema_version: int) -> Offset:
        """Where a stream begins."""
        return Offset(table_uuid, began.version, 0, schema_version, began.snapshot, began)

    def start_of(self, end: Offset) -> Offset:
        """Where a batch starts that ends at ``end``, if Spark says that it starts here.

        If the two began at different places, this is where a stream would begin now, and the batch is
        the first one of the stream of ``end``.
        """
        if end.began is None or end.began == self.began:
            return self
        return Offset.initial(end.table_uuid, end.began, end.schema_version)

    @property
    def place(self) -> tuple[int, bool, int]:
        """Offsets of one stream in order: a snapshot comes before the commits after it."""
        return self.version, not self.snapshot, self.ordinal

    @property
    def numbers(self) -> tuple[int, ...]:
        """The integers, none of which is negative."""
        began = () if self.began is None else (self.began.version,)
        return self.version, self.ordinal, self.schema_version, *began

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return asdict(self)

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
            found = Offset(
                member(value, "table_uuid", str),
                member(value, "version", int),
                member(value, "ordinal", int),
                member(value, "schema_version", int),
                member(value, "snapshot", bool),
                Begin.from_dict(value["began"]),
            )
        except (CorruptTableError, KeyError, TypeError, AttributeError):
            found = None
        if found is None or min(found.numbers) < 0:
            raise InvalidRequestError(
                f"the checkpoint holds {str(value)[:200]}, which is not an offset of a versioned table; "
                "give the query the checkpoint that it was started with, or a new one"
            )
        return found

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
