"""How far a stream has read a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.schema.wire import member, optional
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
        """Where the batch that starts here and ends there does start.

        Spark asks several times where a query starts, after a crash also, and keeps only where batches
        end. Meanwhile the table goes on, so the first answer counts, which ``end`` knows.
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
        return {
            "table_uuid": self.table_uuid,
            "version": self.version,
            "ordinal": self.ordinal,
            "schema_version": self.schema_version,
            "snapshot": self.snapshot,
            "first": None if self.first is None else list(self.first),
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
                _first(optional(value, "first", list)),
            )
        except (CorruptTableError, TypeError, ValueError, AttributeError):
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


def _first(value: list[Any] | None) -> tuple[int, bool] | None:
    if value is None:
        return None
    version, snapshot = value
    if type(version) is not int or type(snapshot) is not bool:
        raise TypeError("first")
    return version, snapshot
