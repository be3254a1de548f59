"""Update or withdraw a publication after a commit and before a vacuum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Head
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg import PUBLISH_CATALOG, publishes
from versioned_catalog.observe.records import INTEROP, WARNING, record
from versioned_catalog.storage.store import Store, root_url
from versioned_interop.publish.data_files import DELETES
from versioned_interop.publish.manifests import METADATA, Writer
from versioned_interop.publish.publication import HINT, Publication, find_publication, number_of
from versioned_interop.publish.publish import publish_metadata
from versioned_interop.publish.registration import leave, register, remove_entry

_HEX = "[0-9a-f]"
_OWN = re.compile(
    rf"[0-9]+-{_HEX}{{32}}-(data|deletes)\.avro|snap-[0-9]+-{_HEX}{{32}}\.avro"
    rf"|dv-{_HEX}{{40}}-{_HEX}{{32}}\.puffin"
)
"""Names of manifests, manifest lists and deletion vectors that this library writes."""


def unpublish(store: Store) -> int:
    """Delete all published metadata of a table, and return the number of files.

    The entry of a catalog that names it goes first; if that fails, it is only logged. Files with other
    names, which other engines have written, stay.
    """
    leave(store, find_publication(store), store.url)
    return _delete_metadata(store)


def withdraw(handle: TableHandle) -> int:
    """Withdraw a publication on request. See ``Maintenance.unpublish``."""
    remove_entry(handle.store, find_publication(handle.store), handle.name)
    return _delete_metadata(handle.store)


def _delete_metadata(store: Store) -> int:
    names = [file.name for file in store.files(METADATA)]
    hint = HINT.rpartition("/")[2]
    written = [name for name in names if _OWN.fullmatch(name) or number_of(name) is not None]
    removed = ([hint] if hint in names else []) + written
    store.delete_all([f"{METADATA}/{name}" for name in removed])
    return len(removed)


def withdraw_earlier(store: Store, state: TableState) -> None:
    """Withdraw the publication of an earlier incarnation of a table, if there is one."""
    publication = find_publication(store)
    if publication is not None and _is_of_another(publication, state):
        unpublish(store)


def keep_readable(handle: TableHandle, cutoff: datetime) -> None:
    """Before a vacuum: publish again, so that no published version needs what it deletes.

    Then delete published metadata that was written before ``cutoff`` and is not needed any more. A
    publication of an earlier incarnation of the table is withdrawn.

    Raises:
        InvalidRequestError: a published version is expired, and the newest one can't be published.
    """
    publication, state = find_publication(handle.store), handle.state
    if publication is None:
        return
    if _is_of_another(publication, state) and not publishes(state.properties):
        unpublish(handle.store)
        return
    _publish_again(handle, publication)
    newest = find_publication(handle.store)
    if newest is not None and newest.metadata is not None:
        _clean(handle.store, newest, cutoff)


def _is_of_another(publication: Publication, state: TableState) -> bool:
    metadata = publication.metadata
    return metadata is not None and metadata["table-uuid"] != state.table_uuid


def _publish_again(handle: TableHandle, publication: Publication) -> None:
    try:
        publish_metadata(handle)
    except Exception as error:
        snapshots = (publication.metadata or {}).get("snapshots", ())
        versions = [snapshot["snapshot-id"] for snapshot in snapshots]
        expired = [version for version in versions if not handle.state.keeps(version)]
        is_ours = publication.foreign is None and not _is_of_another(publication, handle.state)
        if is_ours and not expired:
            return
        raise InvalidRequestError(
            f"{handle.name}: other engines may read published versions that are expired, and no newer "
            f"one can be published ({error}). Nothing was deleted; publish again, or withdraw the "
            "publication with unpublish"
        ) from error
    try:
        register(handle)
    except Exception as error:
        raise InvalidRequestError(
            f"{handle.name}: other engines may read expired versions through a catalog, and its entry "
            f"can't be moved to the newest one ({error}). Nothing was deleted; publish again, or unset "
            f"the property {PUBLISH_CATALOG}"
        ) from error


def _clean(store: Store, newest: Publication, cutoff: datetime) -> None:
    """Delete our files that the newest metadata file does not lead to."""
    old = [file.name for file in store.files(METADATA) if file.modified < cutoff]
    needed = set(_reachable(store, newest))
    removed = [name for name in old if _OWN.fullmatch(name) and name not in needed]
    removed += [name for name in old if (number_of(name) or newest.number) < newest.number]
    store.delete_all([f"{METADATA}/{name}" for name in removed])


def _reachable(store: Store, newest: Publication) -> Iterator[str]:
    """The names of the manifest lists, manifests and deletion vectors of all published versions."""
    assert newest.metadata is not None
    reader = Writer(store, root_url(store), newest.metadata["format-version"], {})
    lists = {snapshot["manifest-list"] for snapshot in newest.metadata["snapshots"]}
    manifests = {row["manifest_path"]: row for url in lists for row in reader.read(url)[0]}
    vectors = (
        entry["data_file"]["file_path"]
        for row in manifests.values()
        if row["content"] == DELETES
        for entry in reader.live_entries(row)[0]
    )
    for url in (*lists, *manifests, *vectors):
        yield url.rpartition("/")[2]


def publish_if_asked(handle: TableHandle) -> None:
    """Publish the newest version if the property ``publish`` asks for it; failures are only logged.

    The commit is durable whatever happens here, and the next publication includes it. What is published
    is withdrawn where other engines would go on to read rows of an earlier incarnation of the table, or
    rows that a rollback took back.
    """
    state = handle.loaded.state
    if state is None or handle.store.is_staging:
        return
    try:
        if state.dropped:
            leave(handle.store, find_publication(handle.store), handle.name)
        elif publishes(state.properties):
            _publish(handle, state)
        elif _began(state):
            withdraw_earlier(handle.store, state)
    except Exception as error:
        record(
            WARNING,
            "%s: version %s was not published: %s",
            handle.name,
            state.version,
            error,
            logger=INTEROP,
            table=handle.name,
            version=state.version,
        )


def _publish(handle: TableHandle, state: TableState) -> None:
    # A separate handle, so that the table keeps the version that was committed.
    newest = TableHandle(handle.log, handle.loaded, handle.name)
    newest.own_name = handle.own_name
    try:
        publish_metadata(newest)
    except InvalidRequestError:
        if _began(state) or _rolled_back(handle, state.version):
            unpublish(handle.store)
        raise
    _register(newest)
    later = newest.refresh().loaded.state
    is_replaced = later is not None and later.table_uuid != state.table_uuid
    if later is not None and is_replaced and not later.dropped and not publishes(later.properties):
        # The process that replaced the table may have withdrawn before we published.
        withdraw_earlier(handle.store, later)


def _register(handle: TableHandle) -> None:
    """Register what was published; a failure is only logged, and the next publication catches up."""
    try:
        register(handle)
    except Exception as error:
        record(
            WARNING,
            "%s: version %s was published, but not registered in its catalog: %s",
            handle.name,
            handle.loaded.version,
            error,
            logger=INTEROP,
            table=handle.name,
            version=handle.loaded.version,
        )


def _began(state: TableState) -> bool:
    """Whether a version began an incarnation of the table after an earlier one."""
    return 0 < state.version == state.created_version


def _rolled_back(handle: TableHandle, version: int) -> bool:
    head = handle.log.head(version)
    return isinstance(head, Head) and head.operation == "rollback"
