"""How far a stream has read a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.schema.wire import member
from versioned_catalog.storage.json_text import parse_json


@dataclass(frozen=True)
class Offset:
    """How far a stream has read a table: everything before a place in its log.

    Delta's offsets are alike. They hold no schema, since columns match by ID whatever their version.

    Args:
        table_uuid: the incarnation of the table.
        version: commits before this version are read.
        ordinal: number of segments of this version that are read, in the order of the log.
        schema_version: the schema version that the query reads, when it wrote this offset.
        snapshot: whether the segments are those of the snapshot that the stream starts with; else those
            that the commit added.

    >>> Offset("u", 7, 2, 0).to_json()
    '{"table_uuid": "u", "version": 7, "ordinal": 2, "schema_version": 0, "snapshot": false}'
    >>> Offset.from_json(Offset("u", 7, 2, 0).to_json())
    Offset(table_uuid='u', version=7, ordinal=2, schema_version=0, snapshot=False)
    """

    table_uuid: str
    version: int
    ordinal: int
    schema_version: int
    snapshot: bool = False

    @property
    def place(self) -> tuple[int, bool, int]:
        """Offsets of one stream in order: a snapshot comes before the commits after it."""
        return self.version, not self.snapshot, self.ordinal

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, whose members are text, integers and a boolean."""
        return {
            "table_uuid": self.table_uuid,
            "version": self.version,
            "ordinal": self.ordinal,
            "schema_version": self.schema_version,
            "snapshot": self.snapshot,
        }

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
            )
        except (CorruptTableError, TypeError, AttributeError):
            found = None
        if found is None or min(found.version, found.ordinal, found.schema_version) < 0:
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
