"""Entries of a table's log: one commit each (FORMAT.md, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.log.consumers import Consumer
from versioned_catalog.log.head import Head
from versioned_catalog.log.imported import ImportedFile, LedgerChange
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.pins import Pin
from versioned_catalog.schema.schema import Schema

REWRITES = ("delete", "update", "merge", "overwrite")
"""Operations that replace segments."""

NEW_INCARNATION = frozenset({"create", "replace"})
"""Operations that begin an incarnation of a table: a new UUID, and no segments."""

OPERATIONS = NEW_INCARNATION | {
    "append",
    *REWRITES,
    "compact",
    "alter",
    "rollback",
    "tag",
    "drop",
    "fence",
    "expire",
}
"""The operations of a table's log."""


@dataclass(frozen=True)
class Batch:
    """A batch of an exactly-once sink."""

    application: str
    id: int


@dataclass(frozen=True)
class Manifest:
    """The file that holds the last of the segment records of a commit.

    Args:
        path: its path in the table's folder.
        bytes, checksum: its size, and ``crc32:`` and 8 hex digits.
        records: number of records in it; 0 before it is read.
    """

    path: str
    bytes: int
    checksum: str
    records: int = 0


@dataclass(frozen=True)
class Commit:
    """One commit of a table. None and empty mean that the commit does not change the member.

    ``added`` includes the records of the manifest, once that is read. ``roots`` are the URLs of external
    roots, as they were when segments below them were added. ``imported`` is the change of the ledger;
    its files stand in ``paged``, which is not stored, once they were put in a page.
    """

    head: Head
    next_column_id: int
    schema: Schema | None = None
    properties: Mapping[str, str] | None = None
    comment: str | None = None
    sets_comment: bool = False
    added: tuple[SegmentRecord, ...] = ()
    removed: tuple[str, ...] = ()
    batch: Batch | None = None
    fence: int | None = None
    floor: int | None = None
    tags: Mapping[str, int] | None = None
    pins: Mapping[str, Pin] | None = None
    consumers: Mapping[str, Consumer] | None = None
    roots: Mapping[str, str] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    manifest: Manifest | None = None
    imported: LedgerChange | None = None
    paged: tuple[ImportedFile, ...] = field(default=(), compare=False, repr=False)

    @property
    def attached_bytes(self) -> int:
        """Size of the manifest, which is read with the entry; 0 without one."""
        return 0 if self.manifest is None else self.manifest.bytes
