"""Journals: synced JSON lines of the intents, outcomes and reads of actors."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any


class Journal:
    """An append-only file of JSON lines, each synced before the next call.

    Args:
        path: the file; it is created if absent.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, kind: str, **members: Any) -> None:
        """Append one line in one call, so that a kill leaves it whole or absent."""
        line = json.dumps({"kind": kind, "at": time.time(), **members}, default=str)
        os.write(self._file, line.encode() + b"\n")
        os.fsync(self._file)


def read_journals(folder: Path) -> list[dict[str, Any]]:
    """Read the lines of all journals in a folder, ordered by time."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in _lines(path)]
    return sorted(lines, key=lambda line: float(line["at"]))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            yield {**json.loads(line), "who": path.stem}
        except ValueError:
            continue  # a kill truncated the line


def canonical(value: Any) -> Any:
    """A JSON value that is equal for equal values: NaN equals NaN, and -0.0 equals 0.0."""
    match value:
        case float():
            return repr(value + 0.0)
        case Decimal():
            return f"{value:f}"
        case date():
            return value.isoformat()
        case dict():
            return {name: canonical(one) for name, one in value.items()}
        case _:
            return value


def row_texts(rows: Iterable[Iterable[Any]]) -> list[str]:
    """Render rows as sorted texts, which can be compared and hashed as a multiset."""
    return sorted(json.dumps([canonical(value) for value in row]) for row in rows)


def digest(texts: Iterable[str]) -> str:
    """Hash the rows that ``row_texts`` returned."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def packed(texts: Iterable[str]) -> str:
    """Compress rows for a journal."""
    return b64encode(zlib.compress("\n".join(texts).encode(), 1)).decode()


def unpacked(text: str) -> list[str]:
    """Decompress the rows of ``packed``."""
    return zlib.decompress(b64decode(text)).decode().splitlines()
