"""Opening the store of a URL, of a table's folder and of its external roots.

Only the roots of the store's own location are used, which come from the reader's configuration. What a
table records about its roots is shown in errors and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fsspec.core import split_protocol, url_to_fs

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.memory import MemoryStore
from versioned_catalog.storage.root_paths import RootOptions, RootPath, split_options, split_root
from versioned_catalog.storage.secrets import check_url
from versioned_catalog.storage.store import Location, Store, safe_path


def open_store(url: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Store:
    """Open the store of a folder, given by a local path, or a URL such as ``s3://bucket/folder``.

    Args:
        options: of the file system; ``root.<name>`` and ``root.<name>.<option>`` are external roots.

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
    store_options, roots = split_options(options or {})
    protocol, path = split_protocol(text)
    store = _open(protocol, path, text, store_options)
    return store.allow_roots(_locations(roots, protocol, store_options)) if roots else store


def _open(protocol: str | None, path: str, url: str, options: Mapping[str, Any]) -> Store:
    match protocol:
        case None | "file" | "local":
            return LocalStore(os.path.expanduser(path))
        case "memory":
            return MemoryStore(path)
        case "s3" | "s3a":
            from versioned_catalog.storage.s3 import open_s3

            return open_s3(path.partition("://")[2] or path, options)
        case _:
            return _other(protocol, url, options)


def _locations(
    roots: Mapping[str, RootOptions], protocol: str | None, defaults: Mapping[str, Any]
) -> tuple[tuple[str, Location], ...]:
    """The locations of external roots; they are opened when a segment below them is read.

    A root without options, on a file system of the table's kind, is reached with the table's options.
    """
    locations: dict[str, Location] = {}
    for name, root in sorted(roots.items()):
        check_url(root.url)
        is_alike = split_protocol(root.url)[0] == protocol
        options = root.options if root.options is not None else (defaults if is_alike else {})
        locations[name] = Location(_absolute(root.url), tuple(sorted(options.items())))
    return tuple(locations.items())


def _absolute(url: str) -> str:
    """A local path as other processes find it."""
    return url if "://" in url else os.path.abspath(os.path.expanduser(url))


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
    return open_store(location.url, dict(location.options)).allow_roots(location.roots)


def open_file(store: Store, path: str, recorded: Mapping[str, str] | None = None) -> Any:
    """Open the file of a segment for random access, as ``Store.open`` does.

    Args:
        store: the table's folder.
        recorded: where the roots were when the segments were added, for the error.

    Raises:
        CorruptTableError: it is missing, or its path leads outside its root or into the table's folder.
        InvalidRequestError: the reader has no such root.
    """
    place = split_root(safe_path(path))
    if place is None:
        return store.open(path)
    root = root_store(store, place, recorded)
    check_apart(store, root, place)
    return root.open(place.path)


def root_store(store: Store, place: RootPath, recorded: Mapping[str, str] | None = None) -> Store:
    """The store of an external root.

    Raises:
        InvalidRequestError: the reader has no such root.
    """
    locations = dict(store.location.roots)
    if place.root not in locations:
        raise missing_root(place, recorded)
    if place.root not in store.opened_roots:
        store.opened_roots[place.root] = reopen(locations[place.root])
    return store.opened_roots[place.root]


def missing_root(place: RootPath, recorded: Mapping[str, str] | None) -> InvalidRequestError:
    """The error of a reader without a root that a segment needs."""
    was = (recorded or {}).get(place.root)
    origin = "" if was is None else f", which was {was[:500]} when it was imported"
    return InvalidRequestError(
        f"the segment root:{place.root}/{place.path} needs the external root {place.root!r}{origin}. "
        f'Allow it if you trust it: roots={{"{place.root}": ...}} in Python, --root {place.root}=... in '
        f"the command line, spark.sql.catalog.<catalog>.root.{place.root} or "
        f'option("root.{place.root}", ...) in Spark',
        condition="INVALID_OPTION",
    )


def check_roots(store: Store, paths: Iterable[str], recorded: Mapping[str, str]) -> None:
    """Refuse segments below roots that the reader does not have, before any of them is read.

    Raises:
        InvalidRequestError: naming the first one.
    """
    names = {name for name, _ in store.location.roots}
    for place in map(split_root, paths):
        if place is not None and place.root not in names:
            raise missing_root(place, recorded)


def check_apart(store: Store, root: Store, place: RootPath) -> None:
    """Refuse a root path to a file in the table's own folders: it would be read as a file of others.

    Raises:
        CorruptTableError: the path leads into a folder of the table.
    """
    full = root.resolved(place.path)
    for folder in store.own_folders:
        if full == folder or full.startswith(f"{folder}/"):
            raise CorruptTableError(
                f"the path root:{place.root}/{place.path} leads into the table's own folder {folder}"
            )
