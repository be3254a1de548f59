"""``last_checkpoint.json``: a hint where to start reading (FORMAT.md, section 8)."""

from __future__ import annotations

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import check_version
from versioned_catalog.log.document import dump_json
from versioned_catalog.schema.wire import member
from versioned_catalog.storage.json_text import parse_json


def hint_to_bytes(version: int) -> bytes:
    """The content of the hint."""
    return dump_json({"version": version})


def hint_from_bytes(data: bytes | None) -> int | None:
    """The version that a hint names, or None if it is missing or bad: a hint is never the truth."""
    try:
        version: int = member(parse_json(data or b"null", "the hint"), "version", int)
        return check_version(version)
    except CorruptTableError:
        return None
