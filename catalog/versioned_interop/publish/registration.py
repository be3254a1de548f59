"""Registration of a publication in a catalog, where other engines look for tables by name.

The publication says which entry shall name it, so that each publisher moves the same one. An entry is
ours if it names a file of the table's publication; no other one is moved or removed.
"""

from __future__ import annotations

from collections.abc import Mapping

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import (
    CommitConflictError,
    InvalidRequestError,
    StorageError,
    VersionedError,
)
from versioned_catalog.model.iceberg import (
    PUBLISH_CATALOG,
    PUBLISH_CATALOG_TABLE,
    nameless,
)
from versioned_catalog.model.type_text import ColumnPath, parse_path
from versioned_catalog.observe.records import INTEROP, WARNING, record
from versioned_catalog.storage.store import Store, root_url
from versioned_interop.publish.catalogs import Entries, opened
from versioned_interop.publish.manifests import METADATA
from versioned_interop.publish.publication import (
    Publication,
    Registration,
    find_publication,
    number_of,
)

_TRIES = 16
"""The most attempts of a registration while others are faster."""


def wanted(
    properties: Mapping[str, str], publication: Publication | None, name: ColumnPath | None
) -> Registration | None:
    """The entry that shall name a publication; None for none.

    Args:
        properties: of the table.
        publication: the last one; the name that it has in the catalog stays.
        name: namespace and name of the table, if they are known.
    """
    catalog = properties.get(PUBLISH_CATALOG)
    if catalog is None:
        return None
    table = properties.get(PUBLISH_CATALOG_TABLE)
    if table is not None:
        return Registration(catalog, parse_path(table))
    last = None if publication is None else publication.registration
    if last is not None and last.catalog == catalog:
        return last
    return None if name is None else Registration(catalog, name)


def register(handle: TableHandle) -> str | None:
    """Point the entry of a table to its newest publication, and return the entry, if it has one.

    An entry never moves back: the publication is looked for after the entry was read, and where the
    catalog does not compare before it moves an entry, once more afterwards.

    Raises:
        InvalidRequestError: the catalog is not configured here, or the table has no name in it.
        CommitConflictError: the entry is of another table, or another engine has moved it.
        StorageError: the catalog failed.
    """
    state = handle.loaded.state
    if state is None or PUBLISH_CATALOG not in state.properties:
        return None
    store, root = handle.store, root_url(handle.store)
    publication, former, refused = find_publication(store), None, 0
    for _ in range(_TRIES):
        entry = None if publication is None else publication.registration
        if former is not None and former != entry:
            _remove(former, root)  # another publisher left it, maybe before we added it
        if entry is None:
            break
        former = entry
        with opened(entry.catalog) as entries:
            location = entries.location(entry.table)
            publication = find_publication(store)
            if publication is None or publication.registration != entry:
                continue
            if location == f"{root}/{publication.path}":
                return str(entry)
            _check_movable(handle.name, entry, location, publication, root)
            moved = _move(store, entries, entry, location, f"{root}/{publication.path}")
            if moved and entries.compares and _precedes(location, publication):
                return str(entry)
            refused += location is None and not moved
            if refused > 1:
                raise _unreadable(handle.name, entry)
        publication = find_publication(store)
    else:
        raise CommitConflictError(
            f"{handle.name}: others moved the entry {entry} {_TRIES} times meanwhile; publish again"
        )
    if publication is None:
        return None  # withdrawn meanwhile
    raise nameless(handle.name, state.properties[PUBLISH_CATALOG])


def check_entry(handle: TableHandle, properties: Mapping[str, str]) -> None:
    """Check that a table can be registered as its new properties say, if its catalog can be reached.

    Raises:
        InvalidRequestError: the table has no name in the catalog, or the catalog is not configured.
        CommitConflictError: the name is that of another table.
    """
    if PUBLISH_CATALOG not in properties:
        return
    publication = find_publication(handle.store)
    entry = wanted(properties, publication, handle.own_name)
    if entry is None:
        raise nameless(handle.name, properties[PUBLISH_CATALOG])
    try:
        with opened(entry.catalog) as entries:
            location = entries.location(entry.table)
    except StorageError:
        return  # what depends on the catalog's being there is told by the publication
    root = root_url(handle.store)
    if location is not None and not location.startswith(f"{root}/"):
        raise _of_another(handle.name, entry, location)


def _unreadable(table: str, entry: Registration) -> CommitConflictError:
    return CommitConflictError(
        f"{table}: the catalog has the entry {entry}, but does not say what it names, as if its "
        "metadata file was deleted; drop the entry from the catalog, without files, and publish again"
    )


def _move(
    store: Store, entries: Entries, entry: Registration, before: str | None, location: str
) -> bool:
    """Point an entry to a file; False if that must be looked at again."""
    if before is None:
        return entries.add(entry.table, location)
    if store.modified(f"{METADATA}/{_file(before)}") is None:
        # The file was deleted, so that no engine could open the table. This does not compare.
        entries.remove(entry.table)
        entries.add(entry.table, location)
        return False
    return entries.move(entry.table, before, location)


def _precedes(location: str | None, publication: Publication) -> bool:
    """Whether an entry named an earlier file; after ``unpublish``, numbers begin with 1 again."""
    number = None if location is None else number_of(_file(location))
    return number is not None and number < publication.number


def _check_movable(
    table: str, entry: Registration, location: str | None, publication: Publication, root: str
) -> None:
    """Refuse to move an entry that is not ours."""
    if publication.foreign is not None:
        raise CommitConflictError(
            f"{table}: {publication.foreign} was not written by this library: another engine has "
            f"written to the entry {entry}. To discard what it wrote, publish with overwrite"
        )
    if location is None or is_ours(location, root, publication.discarded):
        return
    if location.startswith(f"{root}/"):
        raise CommitConflictError(
            f"{table}: another engine has written to the entry {entry}: it names {location}. To discard "
            "what it wrote, publish with overwrite"
        )
    raise _of_another(table, entry, location)


def _of_another(table: str, entry: Registration, location: str) -> CommitConflictError:
    return CommitConflictError(
        f"{table} can't be registered as {entry}: that is another table, at {location}; set "
        f"{PUBLISH_CATALOG_TABLE} to another name, or drop that table from the catalog, without its "
        "files, if it is what this table was before it moved",
        condition="TABLE_ALREADY_EXISTS",
    )


def is_ours(location: str, root: str, discarded: tuple[str, ...] = ()) -> bool:
    """Whether an entry names a file of our publication, or one that we discarded."""
    if location.rpartition("/")[0] != f"{root}/{METADATA}":
        return False
    return number_of(_file(location)) is not None or _file(location) in discarded


def _file(location: str) -> str:
    return location.rpartition("/")[2]


def _remove(entry: Registration, root: str, discarded: tuple[str, ...] = ()) -> None:
    """Remove an entry, if it is ours."""
    with opened(entry.catalog) as entries:
        location = entries.location(entry.table)
        if location is not None and is_ours(location, root, discarded):
            entries.remove(entry.table)


def leave_former(
    handle: TableHandle, publication: Publication | None, entry: Registration | None
) -> None:
    """Remove the entry that names the last publication, if the next one has another or none."""
    former = None if publication is None else publication.registration
    if former is not None and former != entry:
        leave(handle.store, publication, handle.name)


def remove_entry(store: Store, publication: Publication | None, table: str) -> None:
    """Remove the entry that names a publication, if it is ours.

    Raises:
        InvalidRequestError: the catalog is not configured here, or it failed.
    """
    entry = None if publication is None else publication.registration
    if publication is None or entry is None:
        return
    try:
        _remove(entry, root_url(store), publication.discarded)
    except VersionedError as error:
        raise InvalidRequestError(
            f"{table}: the entry {entry} can't be removed from its catalog ({error}). Nothing was "
            f"deleted; try again, or give the entry up: unset {PUBLISH_CATALOG}, and publish once more"
        ) from error


def leave(store: Store, publication: Publication | None, table: str) -> None:
    """Remove the entry that names a publication, if it is ours; a failure is only logged.

    What it names is withdrawn in any case: engines then get an error.
    """
    entry = None if publication is None else publication.registration
    try:
        remove_entry(store, publication, table)
    except VersionedError as error:
        record(
            WARNING,
            "%s: the entry %s is still in its catalog, drop it there: %s",
            table,
            entry,
            error,
            logger=INTEROP,
            table=table,
            entry=str(entry),
        )
