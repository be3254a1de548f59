"""Opening the files of segments, in the table's folder or below a root (FORMAT.md, section 1.1).

Only the roots of the store's own location are used, which come from the reader's configuration. What a
table records about its roots is shown in errors and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.root_paths import RootPath, split_root
from versioned_catalog.storage.store import Store, safe_path


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
    known = dict(store.location.roots)
    if place.root not in known:
        raise missing_root(place, recorded)
    if place.root not in store.opened_roots:
        store.opened_roots[place.root] = reopen(known[place.root])
    return store.opened_roots[place.root]


def missing_root(place: RootPath, recorded: Mapping[str, str] | None) -> InvalidRequestError:
    """The error of a reader that was not given a root."""
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
    known = {name for name, _ in store.location.roots}
    for place in map(split_root, paths):
        if place is not None and place.root not in known:
            raise missing_root(place, recorded)


def check_apart(store: Store, root: Store, place: RootPath) -> None:
    """Refuse a file of the table's own: it would be read as one of somebody else.

    Raises:
        CorruptTableError: the path leads into a folder of the table.
    """
    full = root.resolved(place.path)
    for own in store.own_folders:
        if full == own or full.startswith(f"{own}/"):
            raise CorruptTableError(
                f"the path root:{place.root}/{place.path} leads into the table's own folder {own}"
            )
