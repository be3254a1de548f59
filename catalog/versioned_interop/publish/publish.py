"""Publish a table as Iceberg metadata beside its files (FORMAT.md, section 16)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from versioned_catalog.commit.table_handle import Progress, TableHandle, silent
from versioned_catalog.errors import (
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    NotFoundError,
    StorageError,
)
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.storage.store import Put, Store, root_url
from versioned_interop.publish.draft import Draft, Listed, needs_before
from versioned_interop.publish.iceberg_specs import Specs
from versioned_interop.publish.metadata import check_snapshot, hides_rows
from versioned_interop.publish.publication import (
    Publication,
    catalog_files,
    find_publication,
    metadata_path,
    write_hint,
)
from versioned_interop.publish.registration import leave_former, register, wanted

KEPT = 100
"""How many versions a publication has, beside tagged ones, and how many metadata files stay."""

_TRIES = 16
"""The most attempts of a publication while others are faster."""

_STEP = "publish versions"

Step = tuple[Commit, TableState | None, TableState]
"""A commit, the state before it if it was loaded, and the state after it."""


@dataclass(frozen=True)
class Published:
    """Result of a publication.

    Args:
        table: name of the table.
        version: the version that is current in it.
        metadata: URL of its metadata file.
        format_version: of Iceberg.
        snapshots: number of versions that it shows.
        files, bytes: what was written; 0 if the version was published already.
        left_out: number of versions since the last publication that Iceberg can't express.
        registered: the entry of a catalog that names it, as ``lake: metrics.cpu``; None without one.
    """

    table: str
    version: int
    metadata: str
    format_version: int
    snapshots: int
    files: int
    bytes: int
    left_out: int
    registered: str | None = None


def publish(
    handle: TableHandle,
    *,
    format_version: int | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Published:
    """Publish the newest version of a table, and register it. See ``Maintenance.publish``."""
    done = publish_metadata(handle, format_version, overwrite=overwrite, progress=progress)
    return replace(done, registered=register(handle))


def publish_metadata(
    handle: TableHandle,
    format_version: int | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Published:
    """Publish the newest version of a table in its folder; leave the catalog to ``register``."""
    if format_version not in (None, 2, 3):
        raise InvalidRequestError(
            f"{handle.name}: format_version must be 2 or 3, got {format_version!r}",
            condition="INVALID_OPTION",
        )
    for _ in range(_TRIES):
        # The state is read second, so that it is not older than the publication.
        publication = find_publication(handle.store)
        state = _newest(handle)
        if publication is not None and publication.foreign is not None and not overwrite:
            raise _foreign(handle, publication.foreign)
        asked = format_version or _format_of(publication) or 3
        done = _publish_once(handle, state, publication, asked, overwrite, progress)
        if done is not None:
            return done
    raise CommitConflictError(
        f"{handle.name}: other publications were faster {_TRIES} times; publish again"
    )


def _newest(handle: TableHandle) -> TableState:
    """The newest state, in its own schema. Raises NotFoundError if the table was dropped."""
    _, state = handle.refresh().state, handle.loaded.state
    assert state is not None
    return state


def _foreign(handle: TableHandle, path: str) -> CommitConflictError:
    return CommitConflictError(
        f"{handle.name}: {path} was not written by this library: another engine has written to "
        "the published table. What it wrote is not in the table, and no later version is published. "
        "Write with this library only; to discard what the engine wrote, publish with overwrite"
    )


def _format_of(publication: Publication | None) -> int | None:
    return publication.metadata["format-version"] if publication and publication.metadata else None


def _publish_once(
    handle: TableHandle,
    state: TableState,
    publication: Publication | None,
    format_version: int,
    overwrite: bool,
    progress: Progress,
) -> Published | None:
    """Publish a state after what is published already; None if another publication was faster."""
    check_snapshot(state, handle.name, format_version)
    root = root_url(handle.store)
    last = None if overwrite else _continued(publication, state, root, format_version)
    entry = wanted(state.properties, publication, handle.own_name)
    is_newest = last is not None and last["current-snapshot-id"] == state.version
    if (
        last is not None
        and publication is not None
        and is_newest
        and publication.registration == entry
    ):
        if publication.hinted != publication.number:
            write_hint(handle.store, publication.number)
        count, url = len(last["snapshots"]), f"{root}/{publication.path}"
        return Published(handle.name, state.version, url, format_version, count, 0, 0, 0)
    try:
        draft = _draft(handle, state, root, format_version, publication, last, progress)
    except CorruptTableError:
        if last is None:
            raise
        # Anybody may delete published files: write all again.
        draft = _draft(handle, state, root, format_version, publication, None, progress)
    draft.writer.flush()
    number = 1 if publication is None else publication.number + 1
    others = catalog_files(handle.store) if publication is None else publication.others
    data = draft.metadata(state, others, entry)
    leave_former(handle, publication, entry)
    if not _put(handle.store, number, data):
        return None
    return Published(
        handle.name,
        state.version,
        f"{root}/{metadata_path(number)}",
        format_version,
        len(draft.snapshots),
        draft.writer.files + 2,
        draft.writer.size + len(data),
        draft.left_out,
    )


def _continued(
    publication: Publication | None, state: TableState, root: str, format_version: int
) -> dict[str, Any] | None:
    """The metadata that a publication can be added to; None if it must be written as a whole."""
    metadata = publication.metadata if publication is not None else None
    if metadata is None or metadata["table-uuid"] != state.table_uuid:
        return None
    same_place = metadata["location"] == f"{root}/iceberg"
    version = metadata["current-snapshot-id"]
    first = max(state.floor, state.created_version)
    newer = state.version - KEPT < version <= state.version and version >= first
    same_format = metadata["format-version"] == format_version
    return metadata if same_place and newer and same_format else None


def _draft(
    handle: TableHandle,
    state: TableState,
    root: str,
    format_version: int,
    publication: Publication | None,
    last: dict[str, Any] | None,
    progress: Progress,
) -> Draft:
    """The snapshots up to a state."""
    draft = Draft(handle.store, root, format_version, state.version)
    if publication is not None and publication.metadata is not None:
        draft.next_row_id = publication.metadata.get("next-row-id", 0)
    if last is None:
        _begin(handle, state, draft, progress)
    else:
        _resume(draft, last)
        first = last["current-snapshot-id"]
        for step in _steps(handle, first, state):
            draft.follow(*step)
            progress(_STEP, step[2].version - first, state.version - first)
    for version in set(state.tags.values()) - draft.snapshots.keys():
        if state.created_version <= version < state.version:
            _add_tagged(handle, version, draft)
    oldest = state.version - KEPT + 1
    tagged = set(state.tags.values())
    draft.snapshots = {
        version: snapshot
        for version, snapshot in draft.snapshots.items()
        if state.keeps(version) and (version >= oldest or version in tagged)
    }
    return draft


def _begin(handle: TableHandle, state: TableState, draft: Draft, progress: Progress) -> None:
    """Start with the oldest of the last versions; with the newest one, where each needs a merge."""
    oldest = max(state.floor, state.created_version, state.version - KEPT + 1)
    if hides_rows(state) or oldest == state.version:
        draft.begin(state)
        return
    first = _state_at(handle, oldest)
    draft.begin(first)
    for commit, after in _following(handle, first, state.version):
        draft.follow(commit, None, after)
        progress(_STEP, after.version - oldest, state.version - oldest)


def _state_at(handle: TableHandle, version: int) -> TableState:
    state = handle.log.load(version).state
    assert state is not None
    return state


def _add_tagged(handle: TableHandle, version: int, draft: Draft) -> None:
    """Add the snapshot of a tagged version that is older than all others."""
    newest, left_out = draft.newest, draft.left_out
    draft.begin(_state_at(handle, version))
    draft.newest, draft.left_out = newest, left_out


def _resume(draft: Draft, last: dict[str, Any]) -> None:
    """Continue from the published metadata."""
    draft.specs = Specs.from_json(last["partition-specs"])
    draft.schemas.update({schema["schema-id"]: schema for schema in last["schemas"]})
    draft.snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in last["snapshots"]}
    draft.has_row_ids = last["properties"].get(ROW_IDS) == "true"
    url = draft.snapshots[last["current-snapshot-id"]]["manifest-list"]
    draft.newest = Listed(draft.writer.read(url)[0], url)


def _steps(handle: TableHandle, done: int, state: TableState) -> Iterator[Step]:
    """The commits after a version, and the states around them as far as they are needed.

    After a small commit, the state before it is not needed.
    """
    if state.version == done + 1:
        (entry,) = handle.log.entries(state.version, state.version)
        if not isinstance(entry, Stub) and not needs_before(entry, state):
            yield entry, None, state
            return
    before = _state_at(handle, done)
    for commit, after in _following(handle, before, state.version):
        yield commit, before, after
        before = after


def _following(
    handle: TableHandle, state: TableState, until: int
) -> Iterator[tuple[Commit, TableState]]:
    """The commits after a state, and the state after each.

    Raises:
        NotFoundError: one was expired meanwhile.
    """
    for entry in handle.log.entries(state.version + 1, until):
        if isinstance(entry, Stub):
            raise NotFoundError(
                f"{handle.name}: version {entry.version} was expired while it was published; "
                "publish again",
                condition="VERSION_NOT_FOUND",
            )
        state = apply(state, entry)
        yield entry, state


def _put(store: Store, number: int, data: bytes) -> bool:
    """Put a metadata file and the hint to it; False if another publication took the number."""
    path = metadata_path(number)
    for _ in range(_TRIES):
        outcome = store.put_if_absent(path, data)
        if outcome is Put.WON or store.read(path) == data:
            break
        if outcome is Put.TAKEN:
            return False
    else:
        raise StorageError(f"{store.url} did not say whether {path} was written; publish again")
    write_hint(store, number)
    store.delete(metadata_path(number - KEPT))
    return True
