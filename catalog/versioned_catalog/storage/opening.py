"""Opening the store of a URL, of a table's folder and of its external roots, and the options of roots.

Only the roots of the store's own location are used, which come from the reader's configuration. What a
table records about its roots is shown in errors and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fsspec.core import split_protocol, url_to_fs

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.observe.setup import set_up
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.memory import MemoryStore
from versioned_catalog.storage.secrets import check_url
from versioned_catalog.storage.store import (
    WAREHOUSE_ROOT,
    Location,
    RootPath,
    Store,
    is_root_name,
    safe_path,
    split_root,
)

ROOT_OPTION = "root."
"""How the options begin that configure roots: ``root.<name>`` is a URL, ``root.<name>.<option>`` an
option of its file system."""

Roots = Mapping[str, str | os.PathLike[str] | tuple[str | os.PathLike[str], Mapping[str, Any]]]
"""External roots as users give them: by name, a URL or path, or a pair of it and storage options."""


def check_root_name(name: str) -> None:
    """Refuse a name that no root can have.

    Raises:
        InvalidRequestError: saying which names roots have.
    """
    if not is_root_name(name):
        raise InvalidRequestError(
            f"{name[:100]!r} is not the name of an external root: it has up to 64 characters out of "
            "a-z, 0-9, _ and -, and starts with a letter or digit",
            condition="INVALID_NAME",
        )


def with_roots(options: Mapping[str, Any] | None, roots: Roots | None) -> dict[str, Any]:
    """Storage options that also configure external roots.

    Args:
        roots: external roots; they replace those of the options.

    Raises:
        InvalidRequestError: a name or a URL is invalid.

    >>> with_roots({"anon": True}, {"lake": "s3://bucket/raw"})
    {'anon': True, 'root.lake': 's3://bucket/raw'}
    """
    if not isinstance(roots, Mapping | None):
        raise InvalidRequestError(
            f"roots must be a mapping of names to URLs, got {roots!r}", condition="INVALID_OPTION"
        )
    out = dict(options or {})
    for name, root in (roots or {}).items():
        check_root_name(name)
        match root:
            case (url, inner):
                out |= {f"{ROOT_OPTION}{name}.{key}": value for key, value in inner.items()}
            case url:
                pass
        out[f"{ROOT_OPTION}{name}"] = os.fspath(url)
    return out


class RootOptions(NamedTuple):
    """The URL of a root, and the options of its file system; None for those of the table's."""

    url: str
    options: dict[str, Any] | None


def split_options(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, RootOptions]]:
    """Storage options without those of roots, and the roots that these configure, by name.

    Raises:
        InvalidRequestError: a root has an invalid name, or options but no URL.
    """
    others: dict[str, Any] = {}
    urls: dict[str, str] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in options.items():
        if not key.startswith(ROOT_OPTION):
            others[key] = value
            continue
        name, dot, option = key.removeprefix(ROOT_OPTION).partition(".")
        check_root_name(name)
        if dot:
            inner.setdefault(name, {})[option] = value
        else:
            urls[name] = str(value)
    if lost := inner.keys() - urls.keys():
        raise InvalidRequestError(
            f"the external root {min(lost)} has options, but no URL; give root.{min(lost)} as well",
            condition="INVALID_OPTION",
        )
    return others, {name: RootOptions(url, inner.get(name)) for name, url in urls.items()}


def options_of(location: Location) -> dict[str, Any]:
    """The storage options that open a location again by its URL, with its roots.

    >>> here = Location("/w", roots=(("lake", Location("s3://b/raw", (("anon", True),))),))
    >>> options_of(here)
    {'root.lake': 's3://b/raw', 'root.lake.anon': True}
    """
    options = dict(location.options)
    for name, root in location.roots:
        options[f"{ROOT_OPTION}{name}"] = root.url
        options |= {f"{ROOT_OPTION}{name}.{key}": value for key, value in root.options}
    return options


def open_store(url: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Store:
    """Open the store of a folder, given by a local path, or a URL such as ``s3://bucket/folder``.

    Args:
        options: of the file system; ``root.<name>`` and ``root.<name>.<option>`` are external roots.

    Raises:
        InvalidRequestError: the URL is invalid, or no file system for it is installed.
    """
    set_up()
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
    text = in_lower_case(text)
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
        case "webhdfs":
            from versioned_catalog.storage.hdfs import open_hdfs

            return open_hdfs(url, options)
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
        url = in_lower_case(root.url)
        is_alike = split_protocol(url)[0] == protocol
        options = root.options if root.options is not None else (defaults if is_alike else {})
        if "://" not in url:
            url = os.path.abspath(os.path.expanduser(url))  # others may have another current folder
        locations[name] = Location(url, tuple(sorted(options.items())))
    return tuple(locations.items())


def _other(protocol: str, url: str, options: Mapping[str, Any]) -> Store:
    from versioned_catalog.storage.remote import RemoteStore

    arguments = {**options, "use_listings_cache": False}
    try:
        if protocol in ("gs", "gcs"):
            # The class that gcsfs registers ignores the condition in zonal buckets; this one has none.
            from gcsfs.core import GCSFileSystem

            fs = GCSFileSystem(**{"consistency": "md5", **arguments})
            root = fs._strip_protocol(url)
        else:
            fs, root = url_to_fs(url, **arguments)
    except OSError as error:
        if protocol != "hdfs":
            raise
        raise InvalidRequestError(
            "hdfs:// can only be read, and with Hadoop's libhdfs, which is not there; use "
            "webhdfs://<name node>:<port of its HTTP server>/<folder>"
        ) from error
    except (ImportError, ValueError) as error:
        raise InvalidRequestError(
            f"no file system for {protocol}:// is installed ({type(error).__name__}); install "
            "fsspec's for it, or use a local path, s3://, gs://, abfs:// or webhdfs://"
        ) from None
    return RemoteStore(fs, protocol, root, dict(options))


def reopen(location: Location) -> Store:
    """Open the store of a location again, possibly in another process."""
    return open_store(location.url, dict(location.options)).allow_roots(location.roots)


def folder_above(store: Store, levels: int) -> Store | None:
    """Open the folder that is so many levels above that of a store; None if there is none."""
    near = store.above(levels)
    if near is not None:
        return near
    url = store.location.url
    # The folder may have been opened by a link.
    scheme, colon, path = (url if "://" in url else store.address).rpartition("://")
    parts = path.rstrip("/").split("/")
    # The first part is empty, or a bucket or server.
    if levels >= len(parts):
        return None
    above = "/".join(parts[: len(parts) - levels])
    return open_store(f"{scheme}{colon}{above}" or "/", dict(store.location.options))


def allow_warehouse(store: Store) -> Store:
    """Let the tables of a warehouse share files (FORMAT.md, section 18), and return its store."""
    location = store.location
    if WAREHOUSE_ROOT in dict(location.roots):
        return store  # by the configuration
    here = (WAREHOUSE_ROOT, Location(location.url, location.options))
    return store.allow_roots((*location.roots, here))


def in_lower_case(url: str) -> str:
    """A URL with its scheme in lower case; a path for ``file:/path``, as Hadoop writes it.

    >>> in_lower_case("S3://Bucket/t"), in_lower_case("file:/lake/t"), in_lower_case("/lake/t")
    ('s3://Bucket/t', '/lake/t', '/lake/t')
    """
    match = _SCHEME.match(url)
    if match is None:
        return url
    scheme, path = match[1].lower(), url[match.end(1) + 1 :]
    if not path.startswith("//"):
        return path if scheme == "file" else url
    return f"{scheme}:{path}"


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def plain_url(url: str) -> str:
    """A URL or path in the form that places are compared in, without a slash at the end.

    Nothing in it is percent-encoded, and a pattern in it is text.

    >>> plain_url("file:/lake/t/"), plain_url("S3A://b/t"), plain_url("/lake/t")
    ('/lake/t', 's3://b/t', '/lake/t')
    """
    text = in_lower_case(str(url))
    for alias in ("s3a://", "s3n://"):
        if text.startswith(alias):
            text = "s3://" + text[len(alias) :]
    for scheme in ("file:", "local:"):
        if text.startswith(scheme):
            text = "/" + text[len(scheme) :].lstrip("/")
    if "://" not in text or text.startswith(("/", "~")):
        text = os.path.abspath(os.path.expanduser(text))
    return text.rstrip("/")


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
