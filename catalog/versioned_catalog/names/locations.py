"""Locations of tables: the folders of a warehouse, and those of external tables (FORMAT.md, section 12).

An external table is in a folder that its user chose, below a root that the reader's configuration
allows. So nobody gets access to a folder by SQL alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from versioned_catalog.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
)
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.log.features import FOLDER, LOG, OWN_NAME
from versioned_catalog.storage.failures import is_denied
from versioned_catalog.storage.opening import check_root_name, open_store, plain_url, root_store
from versioned_catalog.storage.store import (
    OWN_FOLDERS,
    PREFIX,
    WAREHOUSE_ROOT,
    RootPath,
    Store,
    check_name,
    split_root,
)


def folder_of(warehouse: Store, location: str) -> Store:
    """The store of the folder of a table, by its location in the warehouse's log.

    Raises:
        InvalidRequestError: it is below an external root that the reader does not have.
    """
    place = split_root(location)
    if place is None:
        return warehouse.child(location)
    if place.root not in dict(warehouse.location.roots):
        raise InvalidRequestError(
            f"the table is in the folder {place.path} of the external root {place.root!r}, which this "
            f'catalog does not have. Allow it if you trust it: roots={{"{place.root}": ...}} in Python, '
            f"--root {place.root}=... in the command line, spark.sql.catalog.<catalog>.root."
            f"{place.root} in Spark",
            condition="INVALID_OPTION",
        )
    return root_store(warehouse, place).child(place.path).allow_roots(warehouse.location.roots)


def external_location(warehouse: Store, text: str, table: str) -> str:
    """The location of a folder that a user gives: a path or URL, or ``root:<name>/<path>``.

    Args:
        warehouse: the warehouse, with the roots that are allowed.
        table: its name for errors.

    Raises:
        InvalidRequestError: the folder is below neither the warehouse nor an external root, or is one in
            which no table can be.
        StorageError: what is above the folder can't be looked at.
    """
    root, path = _split(warehouse, text, table)
    if not path:
        raise InvalidRequestError(
            f"{table}: LOCATION {text} is the root {root} itself; a table needs a folder below it",
            condition="INVALID_NAME",
        )
    parts = check_name(path).split("/")
    for number, part in enumerate(parts):
        own, above = part.lower(), parts[:number]
        if own == FOLDER or (own in OWN_FOLDERS and _holds_table(warehouse, root, above)):
            raise InvalidRequestError(
                f"{table}: LOCATION {text} is in the folder {'/'.join((*above, part))} of a table "
                f"below the root {root}, in which that has its own files; choose another location",
                condition="INVALID_NAME",
            )
    location = f"{PREFIX}{root}/{path}"
    try:
        inside = _own_folder_above(warehouse, root, folder_of(warehouse, location).address)
    except StorageError as error:
        raise StorageError(
            f"{table}: LOCATION {text} can't be taken, since whether it is in the folder of another "
            f"table is not known: {error}; try again, or choose another location"
        ) from error
    if inside is not None:
        raise InvalidRequestError(
            f"{table}: LOCATION {text} is in the folder {inside} of a table, in which that has its own "
            "files; choose another location",
            condition="INVALID_NAME",
        )
    return location


def _own_folder_above(warehouse: Store, root: str, address: str) -> str | None:
    """The folder of a table's own files that an address is in, however its root leads there.

    The root may lie in such a folder itself, or lead there by links. What is above it is looked at as
    far as its reader may list it.
    """
    options = dict(dict(warehouse.location.roots)[root].options)
    scheme, colon, path = address.rpartition("://")
    first, *parts = path.split("/")  # first is empty, or a bucket
    for number, part in enumerate(parts):
        above = f"{scheme}{colon}{'/'.join((first, *parts[:number])) or '/'}"
        if part.lower() in OWN_FOLDERS:
            try:
                if open_store(above, options).list(LOG):
                    return f"{above.rstrip('/')}/{part}"
            except StorageError as error:
                if not is_denied(error):
                    raise
    return None


def _holds_table(warehouse: Store, root: str, parts: Sequence[str]) -> bool:
    """Whether there is, or was, a table or a warehouse in a folder below a root."""
    above = root_store(warehouse, RootPath(root, ""))
    return bool((above.child("/".join(parts)) if parts else above).list(LOG))


def _split(warehouse: Store, text: str, table: str) -> tuple[str, str]:
    """The root that a folder lies below, and the path there."""
    roots = dict(warehouse.location.roots)
    if text.startswith(PREFIX):
        root, _, path = text.removeprefix(PREFIX).partition("/")
        check_root_name(root)
        if root in roots:
            return root, path.rstrip("/")
    else:
        url = plain_url(text)
        below = [
            (len(base), name == WAREHOUSE_ROOT, name)
            for name, location in roots.items()
            if f"{url}/".startswith((base := plain_url(location.url)) + "/")
        ]
        if below:
            length, _, root = max(below)
            return root, url[length:].strip("/")
    named = ", ".join(sorted(roots.keys() - {WAREHOUSE_ROOT})) or "there are none"
    raise InvalidRequestError(
        f"{table}: LOCATION {text} is below neither the warehouse {warehouse.url} nor an external root "
        f"of this catalog ({named}); leave out LOCATION, or let the administrator allow a folder above: "
        "spark.sql.catalog.<catalog>.root.<name> in Spark, roots={...} in Python",
        condition="NOT_SUPPORTED",
    )


def check_same_folder(store: Store, wanted: Store, table: str) -> None:
    """Refuse a LOCATION that is not that of the table to replace.

    Raises:
        InvalidRequestError: naming both.
    """
    if store.address != wanted.address:
        raise InvalidRequestError(
            f"{table} is at {store.url}, and a replacement stays there; leave out LOCATION "
            f"{wanted.url}, or drop the table first",
            condition="NOT_SUPPORTED",
        )


def check_empty(store: Store, table: str) -> None:
    """Refuse to create a table in a folder that is in use.

    Files of writes that failed do not count.

    Raises:
        AlreadyExistsError: there is a table, or a dropped one that can be undropped.
        InvalidRequestError: it is the folder of a warehouse, or has files of somebody else.
    """
    state = table_log(store).load().state
    if state is not None and not state.dropped:
        raise AlreadyExistsError(
            f"{table}: there is a table at {store.url} already; leave out the columns and AS SELECT to "
            "give it the name, or choose another location",
            condition="TABLE_ALREADY_EXISTS",
        )
    if state is not None and state.can_be_undropped:
        raise AlreadyExistsError(
            f"{table}: the table at {store.url} was dropped and can be undropped; undrop it, vacuum "
            "it, or choose another location",
            condition="TABLE_ALREADY_EXISTS",
        )
    foreign = next(_foreign_files(store), None) if state is None else None
    if foreign is not None:
        raise InvalidRequestError(
            f"{table}: LOCATION {store.url} is not empty, there is a file {foreign}; choose another "
            "folder, or take the files in with CALL system.import_files or system.convert",
            condition="NOT_SUPPORTED",
        )


def _foreign_files(store: Store) -> Iterator[str]:
    for file in store.walk(""):
        folder, _, name = file.name.rpartition("/")
        is_own = file.name.startswith(f"{FOLDER}/")
        is_own |= folder == OWN_FOLDERS[1] and (
            OWN_NAME.fullmatch(name) is not None or name[0] == "."
        )
        if not is_own:
            yield file.name


def missing_table(store: Store, table: str) -> NotFoundError:
    """The error if a table is to get a name, and is not there."""
    return NotFoundError(
        f"{table}: there is no versioned table at {store.url}; write the columns to create one, or "
        "take in an Iceberg or Delta table with CALL system.convert, and Parquet files with "
        "system.import_files",
        condition="TABLE_NOT_FOUND",
    )
