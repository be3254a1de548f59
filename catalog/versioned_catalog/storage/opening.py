"""Opening the store of a URL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fsspec.core import split_protocol, url_to_fs

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.memory import MemoryStore
from versioned_catalog.storage.secrets import check_url
from versioned_catalog.storage.store import Location, Store


def open_store(url: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Store:
    """Open the store of a folder, given by a local path, or a URL such as ``s3://bucket/folder``.

    Raises:
        InvalidRequestError: the URL is invalid, or no file system for it is installed.
    """
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequestError(
            f"{url!r} is not a location; give a path or URL as text", condition="INVALID_NAME"
        )
    if "\0" in text or any(0xD800 <= ord(ch) <= 0xDFFF for ch in text):
        raise InvalidRequestError(
            f"{text!r} is not a location: it holds a null character or a lone surrogate",
            condition="INVALID_NAME",
        )
    check_url(text)
    protocol, path = split_protocol(text)
    match protocol:
        case None | "file" | "local":
            return LocalStore(os.path.expanduser(path))
        case "memory":
            return MemoryStore(path)
        case "s3" | "s3a":
            from versioned_catalog.storage.s3 import open_s3

            return open_s3(path.partition("://")[2] or path, options or {})
        case _:
            return _other(protocol, text, options or {})


def _other(protocol: str, url: str, options: Mapping[str, Any]) -> Store:
    from versioned_catalog.storage.remote import RemoteStore

    try:
        fs, root = url_to_fs(url, **{**options, "use_listings_cache": False})
    except (ImportError, ValueError) as error:
        raise InvalidRequestError(
            f"no file system for {protocol}:// is installed ({type(error).__name__}); install "
            "fsspec's for it, or use a local path, s3://, gs:// or abfs://"
        ) from None
    return RemoteStore(fs, protocol, root, dict(options))


def reopen(location: Location) -> Store:
    """Open the store of a location again, possibly in another process."""
    return open_store(location.url, dict(location.options))
