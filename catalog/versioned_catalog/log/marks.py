"""Marks: which rows of a live segment are deleted (FORMAT.md, section 6.4).

In a table with a primary key, they are those that a merge would hide (section 13, *Resolving*).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import MARK_BYTES, MIB, SEGMENT_ROWS, VERSIONS
from versioned_catalog.log.bitmaps import Positions, blob_of, positions_in, puffin_file
from versioned_catalog.log.features import MARK_NAME, MARKS_FOLDER
from versioned_catalog.model.schema_json import Json, check_members, member
from versioned_catalog.storage.store import Store, new_name, root_url, safe_path
from versioned_catalog.storage.text import parse_json

INLINE_BYTES = 2048
"""The size of a blob up to which it is stored in the entry."""


bytes_ = bytes
"""The type, where ``FileMark.bytes`` hides it."""


@dataclass(frozen=True)
class InlineMark:
    """A mark in an entry.

    Args:
        rows: the number of marked rows; 0 only if the mark has ``resolved``.
        blob: a bitmap of their positions, as ``bitmaps`` describes it; empty if there are none.
        resolved: in a table with a primary key, the version up to which all hidden rows are marked.
    """

    rows: int
    blob: bytes
    resolved: int | None = None


@dataclass(frozen=True)
class FileMark:
    """A mark in a Puffin file of its own.

    Args:
        rows: the number of marked rows.
        path: the file, in the table's folder.
        offset, bytes: where the blob is in it.
        resolved: as of ``InlineMark``.
    """

    rows: int
    path: str
    offset: int
    bytes: int
    resolved: int | None = None

    def blob_in(self, data: bytes_) -> bytes_:
        """The bitmap in the content of the file."""
        return data[self.offset : self.offset + self.bytes]


Mark = InlineMark | FileMark

_FOOTER = MIB
"""The most bytes that are read of a file after the blob."""


def files_of(marks: Iterable[Mark | None]) -> set[str]:
    """The files of some marks; None for no mark."""
    return {mark.path for mark in marks if isinstance(mark, FileMark)}


def mark_of(
    store: Store,
    base_version: int,
    segment: str,
    positions: Positions,
    resolved: int | None = None,
) -> Mark:
    """The mark of the rows at some positions of a segment; a large one is written to a file, durably.

    Args:
        base_version: the version that the marking was planned on.
        segment: the path of the segment.
        positions: not empty without ``resolved``.
        resolved: as of ``InlineMark``.
    """
    blob, rows = blob_of(positions) if len(positions) else b"", len(positions)
    if len(blob) <= INLINE_BYTES:
        return InlineMark(rows, blob, resolved)
    file = puffin_file(f"{root_url(store)}/{segment}", blob, rows)
    path = f"{MARKS_FOLDER}/{new_name(base_version, store.name_tag)}.puffin"
    with store.create(path) as sink:
        sink.write(file.data)
    return FileMark(rows, path, file.offset, file.length, resolved)


def mark_file(store: Store, mark: FileMark, segment: str) -> bytes:
    """The content of the file of a mark. Raises CorruptTableError if it is missing."""
    data = store.read(mark.path, mark.offset + mark.bytes + _FOOTER)
    if data is None:
        raise CorruptTableError(f"{store.url}/{mark.path}, the marks of {segment}, is missing")
    return data


def marked_rows(store: Store, mark: Mark | None, segment: str, rows: int) -> Positions:
    """The positions of the marked rows of a segment that has ``rows`` rows.

    Raises:
        CorruptTableError: the mark is damaged, or its file is missing.
    """
    match mark:
        case None | InlineMark(rows=0):
            return NO_POSITIONS
        case InlineMark():
            blob = mark.blob
        case FileMark():
            blob = mark.blob_in(mark_file(store, mark, segment))
    try:
        positions = positions_in(blob, rows)
    except CorruptTableError as error:
        raise CorruptTableError(f"{store.url}/{segment}: {error}") from None
    if len(positions) != mark.rows:
        raise CorruptTableError(
            f"{store.url}/{segment}: a bitmap marks {len(positions)} rows, and the log says {mark.rows}"
        )
    return positions


NO_POSITIONS: Positions = np.empty(0, np.int64)

_IN_ENTRY = frozenset({"rows", "blob", "resolved"})
_IN_FILE = frozenset({"rows", "path", "offset", "bytes", "resolved"})
_NOWHERE = frozenset({"rows", "resolved"})


def mark_to_json(mark: Mark) -> Json:
    """The JSON of a mark."""
    resolved = {} if mark.resolved is None else {"resolved": mark.resolved}
    match mark:
        case InlineMark(rows=0):
            return {"rows": 0, **resolved}
        case InlineMark():
            blob = base64.b64encode(mark.blob).decode()
            return {"rows": mark.rows, "blob": blob, **resolved}
        case FileMark():
            return {
                "rows": mark.rows,
                "path": mark.path,
                "offset": mark.offset,
                "bytes": mark.bytes,
                **resolved,
            }


def mark_from_json(value: Json) -> Mark:
    """A mark.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    resolved = _number(value, "resolved", 0, VERSIONS) if "resolved" in value else None
    rows = _number(value, "rows", 1 if resolved is None else 0, SEGMENT_ROWS)
    if rows == 0:
        check_members(value, _NOWHERE)
        return InlineMark(0, b"", resolved)
    if "blob" in value:
        check_members(value, _IN_ENTRY)
        try:
            blob = base64.b64decode(member(value, "blob", str), validate=True)
        except binascii.Error:
            raise CorruptTableError("the blob of a mark is not Base64") from None
        return InlineMark(rows, blob, resolved)
    check_members(value, _IN_FILE)
    path = safe_path(member(value, "path", str))
    folder, _, name = path.rpartition("/")
    if folder != MARKS_FOLDER or not MARK_NAME.fullmatch(name):
        raise CorruptTableError(
            f"a mark is in the file {path[:100]!r}; it must be a file of {MARKS_FOLDER}/"
        )
    offset = _number(value, "offset", 0, MARK_BYTES)
    return FileMark(rows, path, offset, _number(value, "bytes", 1, MARK_BYTES), resolved)


def _number(value: Json, name: str, low: int, high: int) -> int:
    number: int = member(value, name, int)
    if not low <= number <= high:
        raise CorruptTableError(f"a mark has an impossible number {name}: {str(number)[:50]}")
    return number


def mark_to_text(mark: Mark) -> str:
    """A mark as one JSON text, as checkpoints and plans hold it."""
    return json.dumps(mark_to_json(mark), separators=(",", ":"))


def mark_from_text(text: str) -> Mark:
    """A mark in the JSON text of a checkpoint. Raises CorruptTableError: see ``mark_from_json``."""
    value = parse_json(text, "the column mark of a checkpoint")
    if not isinstance(value, dict):
        raise CorruptTableError("a value of the checkpoint's column 'mark' is not a JSON object")
    return mark_from_json(value)
