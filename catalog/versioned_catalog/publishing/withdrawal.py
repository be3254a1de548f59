"""What becomes of published metadata: before a vacuum, and when it is withdrawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.handle import TableHandle
from versioned_catalog.iceberg.property import publishes
from versioned_catalog.log.state import TableState
from versioned_catalog.publishing.data_files import DELETES
from versioned_catalog.publishing.manifests import METADATA, Writer
from versioned_catalog.publishing.publication import HINT, Publication, find_publication, number_of
from versioned_catalog.publishing.publish import publish, root_url
from versioned_catalog.storage.store import Store

_HEX = "[0-9a-f]"
_OWN = re.compile(
    rf"[0-9]+-{_HEX}{{32}}-(data|deletes)\.avro|snap-[0-9]+-{_HEX}{{32}}\.avro"
    rf"|dv-{_HEX}{{40}}-{_HEX}{{32}}\.puffin"
)
"""Names of manifests, manifest lists and deletion vectors that this library writes."""


def unpublish(store: Store) -> int:
    """Delete all published metadata of a table, and return the number of files.

    Files with other names, which other engines have written, stay.
    """
    names = [file.name for file in store.files(METADATA)]
    hint = HINT.rpartition("/")[2]
    own = [name for name in names if _OWN.fullmatch(name) or number_of(name) is not None]
    gone = ([hint] if hint in names else []) + own
    store.delete_all([f"{METADATA}/{name}" for name in gone])
    return len(gone)


def withdraw_earlier(store: Store, state: TableState) -> None:
    """Withdraw the publication of an earlier incarnation of a table, if there is one."""
    found = find_publication(store)
    if found is not None and _is_of_another(found, state):
        unpublish(store)


def keep_readable(handle: TableHandle, cutoff: datetime) -> None:
    """Before a vacuum: publish again, so that no published version needs what it deletes.

    Then delete published metadata that was written before ``cutoff`` and is not needed any more. A
    publication of an earlier incarnation of the table is withdrawn.

    Raises:
        InvalidRequestError: a published version is expired, and the newest one can't be published.
    """
    found, state = find_publication(handle.store), handle.state
    if found is None:
        return
    if _is_of_another(found, state) and not publishes(state.properties):
        unpublish(handle.store)
        return
    _publish_again(handle, found)
    newest = find_publication(handle.store)
    if newest is not None and newest.metadata is not None:
        _clean(handle.store, newest, cutoff)


def _is_of_another(found: Publication, state: TableState) -> bool:
    return found.metadata is not None and found.metadata["table-uuid"] != state.table_uuid


def _publish_again(handle: TableHandle, found: Publication) -> None:
    try:
        publish(handle)
    except Exception as error:
        versions = [one["snapshot-id"] for one in (found.metadata or {}).get("snapshots", ())]
        expired = [version for version in versions if not handle.state.keeps(version)]
        if found.foreign is None and not expired and not _is_of_another(found, handle.state):
            return
        raise InvalidRequestError(
            f"{handle.name}: other engines may read published versions that are expired, and no newer "
            f"one can be published ({error}). Nothing was deleted; publish again, or withdraw the "
            "publication with unpublish"
        ) from error


def _clean(store: Store, newest: Publication, cutoff: datetime) -> None:
    """Delete our files that the newest metadata file does not lead to."""
    old = [file.name for file in store.files(METADATA) if file.modified < cutoff]
    needed = set(_reachable(store, newest))
    gone = [name for name in old if _OWN.fullmatch(name) and name not in needed]
    gone += [name for name in old if (number_of(name) or newest.number) < newest.number]
    store.delete_all([f"{METADATA}/{name}" for name in gone])


def _reachable(store: Store, newest: Publication) -> Iterator[str]:
    """The names of the manifest lists, manifests and deletion vectors of all published versions."""
    assert newest.metadata is not None
    reader = Writer(store, root_url(store), newest.metadata["format-version"], {})
    lists = {one["manifest-list"] for one in newest.metadata["snapshots"]}
    manifests = {row["manifest_path"]: row for url in lists for row in reader.read(url)[0]}
    vectors = (
        entry["data_file"]["file_path"]
        for row in manifests.values()
        if row["content"] == DELETES
        for entry in reader.live_entries(row)[0]
    )
    for url in (*lists, *manifests, *vectors):
        yield url.rpartition("/")[2]
