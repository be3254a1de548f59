"""From a URL to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fsspec.core import split_protocol

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.memory import MemoryStore
from versioned_catalog.storage.store import Location, Store


def open_store(url: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Store:
    """The store of a folder.

    Args:
        url: a path of this machine, or ``file://`` or ``memory://``.
        options: what the file system is opened with (fsspec's ``storage_options``).

    Raises:
        InvalidRequestError: no store of ours speaks that protocol.
    """
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequestError(f"{url!r} names no folder; give a path or URL as text")
    if "\0" in text or any(0xD800 <= ord(ch) <= 0xDFFF for ch in text):
        raise InvalidRequestError(f"{text!r} can't be the name of a folder")
    protocol, path = split_protocol(text)
    match protocol:
        case None | "file" | "local":
            return LocalStore(os.path.expanduser(path))
        case "memory":
            return MemoryStore(path)
        case _:
            raise InvalidRequestError(
                f"tables can't be kept on {protocol}:// yet, since two writers could both win there; "
                "use a local path, file:// or memory://"
            )


def reopen(location: Location) -> Store:
    """The store that a location was taken from."""
    return open_store(location.url, dict(location.options))
