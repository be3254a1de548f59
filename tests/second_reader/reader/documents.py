"""JSON objects and files with their checksums (FORMAT.md, sections 1, 5.1, 8)."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from .problems import Corrupt, Unsupported

ENTRY_CHECKSUM = re.compile(rb',"checksum":"(crc32:[0-9a-f]{8})"\}\Z')
PAIR = b"\x18\x12versioned.checksum\x18\x0ecrc32:"

# The features of section 3 that concern readers.
READ_FEATURES = frozenset(
    {
        *("manifest", "id-map", "patch", "external-roots", "adoptions", "keyed", "hidden", "marks"),
        *("resolved", "application-retention", "branches", "tag-retention", "undrop", "restore"),
        *("default-expressions", "clones", "schema-deltas", "narrowed", "void", "row-ids"),
        *("collations", "year-month-intervals", "transactions"),
    }
)


def crc32(data: bytes) -> str:
    return f"crc32:{zlib.crc32(data):08x}"


def read_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise Corrupt(f"{path.name} is missing")
    return path.read_bytes()


def parse(data: bytes | str, what: str) -> Any:
    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise Corrupt(f"{what}: a member is repeated")
        return dict(pairs)

    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return json.loads(text, object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{what}: no JSON: {error}") from error


def members(value: Any, required: str, optional: str, what: str) -> dict[str, Any]:
    """``value`` if it is an object with the required members, and no unknown ones."""
    if not isinstance(value, dict):
        raise Corrupt(f"{what}: not an object")
    lacking, unknown = (
        set(required.split()) - set(value),
        set(value) - set(f"{required} {optional}".split()),
    )
    if lacking or unknown:
        raise Corrupt(f"{what}: lacks {sorted(lacking)}, has unknown {sorted(unknown)}")
    return value


def check_format(document: dict[str, Any], what: str) -> None:
    if document.get("format") != 1:
        raise Unsupported(f"{what}: format {document.get('format')}")


def check_features(document: dict[str, Any], what: str) -> frozenset[str]:
    """All features that the document lists; refuse what only a newer reader understands."""
    check_format(document, what)
    features = members(document.get("features"), "read write", "", f"{what}: features")
    for name in features["read"]:
        if name not in READ_FEATURES:
            raise Unsupported(f"{what}: feature {name}")
    return frozenset(features["read"]) | frozenset(features["write"])


def read_entry(path: Path) -> dict[str, Any]:
    """The object of a log entry, stub or decision, with its checksum checked."""
    data = read_bytes(path)
    end = ENTRY_CHECKSUM.search(data)
    if end and crc32(data[: end.start()]) != end[1].decode():
        raise Corrupt(f"{path.name}: wrong checksum")
    entry = parse(data, path.name)
    if not isinstance(entry, dict):
        raise Corrupt(f"{path.name}: not an object")
    if not end and ("checksum" in entry or "checksums" in str(entry.get("features"))):
        raise Corrupt(f"{path.name}: no checksum at its end")
    return entry


def checkpoint_checksum(data: bytes) -> str | None:
    """The checksum that a checkpoint records, if it is right; None if there is none."""
    start = data.rfind(PAIR) + len(PAIR)
    if start < len(PAIR):
        return None
    recorded = f"crc32:{data[start : start + 8].decode('latin-1')}"
    if crc32(data[:start] + b"0" * 8 + data[start + 8 :]) != recorded:
        raise Corrupt("a checkpoint with a wrong checksum")
    return recorded
