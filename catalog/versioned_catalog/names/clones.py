"""Clones: tables that begin as another one is (FORMAT.md, section 18)."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from versioned_catalog.commit.authorship import signed
from versioned_catalog.commit.operations import Base, Tag
from versioned_catalog.commit.segment_entries import records_in_order
from versioned_catalog.commit.table_entries import features_of
from versioned_catalog.commit.table_handle import Progress, TableHandle
from versioned_catalog.errors import (
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    StorageError,
)
from versioned_catalog.interop import interop
from versioned_catalog.log.clones import (
    Protection,
    cloned_path,
    copy_tag,
    protections,
    sources_of,
)
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.log.entry import WRITER, Commit, Head, before_first, stub_to_bytes
from versioned_catalog.log.entry_json import commit_to_bytes
from versioned_catalog.log.features import (
    ADOPTIONS,
    BRANCHES,
    CLONES,
    CONSUMERS,
    EXTERNAL_ROOTS,
    MANIFEST,
    RESOLVED,
    WITH_CHECKSUMS,
    Features,
    features_of_properties,
)
from versioned_catalog.log.ledger import (
    Ledger,
    LedgerChange,
    Taken,
    imported_files,
    write_page,
)
from versioned_catalog.log.manifest import write_manifest
from versioned_catalog.log.marks import Mark, mark_of, marked_rows
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.times import next_time
from versioned_catalog.maintain.clone_release import PENDING, folder_below
from versioned_catalog.maintain.log_check import entry_versions, in_parallel
from versioned_catalog.maintain.segment_check import opened
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import SetProperty
from versioned_catalog.model.iceberg import PUBLISH, PUBLISH_CATALOG, REGISTRATION
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import render_path
from versioned_catalog.names.changes import check_droppable, drop_unnamed
from versioned_catalog.names.creation import add_name, name_commit
from versioned_catalog.names.folders import Mode, discard_at, load_at
from versioned_catalog.names.locations import check_empty, external_location
from versioned_catalog.names.names import Names, check_free, head_of, safe_folder
from versioned_catalog.names.names_log import (
    Name,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.storage.local import make_reserve
from versioned_catalog.storage.store import WAREHOUSE_ROOT, Put, Store, new_name, split_root
from versioned_catalog.table import Table
from versioned_catalog.write.properties import check_properties

_CHUNK = 1 << 20
_THREADS = 4


@dataclass(frozen=True)
class Cloned:
    """Result of a clone.

    Args:
        table: the clone.
        source: the name of the table that it was cloned from.
        version: the version of the source.
        shallow: whether it reads the files of the source.
        source_bytes, source_files: size and number of the files of the source's version.
        removed_files, removed_bytes: those of the table that it replaced.
        copied_files, copied_bytes: those that were copied.
    """

    table: Table
    source: str
    version: int
    shallow: bool
    source_bytes: int
    source_files: int
    removed_files: int
    removed_bytes: int
    copied_files: int
    copied_bytes: int


@dataclass(frozen=True)
class Cloning:
    """A clone that is asked for.

    Args:
        source: the table to clone, of this warehouse or another one, or a branch of one.
        state: its version to clone.
        shallow: whether the clone reads the source's files instead of copying them.
        properties: properties that the clone has besides those of the source, or instead.
        commit_id: idempotency key.
        location: the folder of the clone that a user chose, or None.
    """

    source: TableHandle
    state: TableState
    shallow: bool
    properties: Mapping[str, str]
    commit_id: str
    location: str | None = None

    @property
    def table_uuid(self) -> str:
        """The UUID of the clone; the same in any attempt."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"the clone of {self.commit_id}"))


def clone(names: Names, name: Name, mode: Mode, cloning: Cloning, progress: Progress) -> Cloned:
    """Clone a table. See ``Catalog.clone_table``.

    The clone's log is complete before it gets its name, which makes it appear or replaces a table.
    """
    warehouse, shown = names.state(), render_path(name)
    replaced = warehouse.tables.get(full_key(name))
    identity = cloning.table_uuid
    is_done = replaced is not None and replaced.table_uuid == identity
    if is_done:
        replaced = None
    elif mode == "create" or replaced is None:
        if mode == "replace":
            names.find(warehouse, name)
        check_free(warehouse, name)
    if replaced is not None:
        if cloning.shallow and replaced.location == folder_below(cloning.source.store):
            raise InvalidRequestError(
                f"{shown} can't be replaced by a shallow clone of itself, whose files would be those of "
                "a dropped table; roll it back, or make a deep clone (DEEP CLONE, shallow=False)",
                condition="NOT_SUPPORTED",
            )
        if replaced.is_external:
            raise InvalidRequestError(
                f"{shown} is at {names.folder(replaced.location).url}, and a clone would be in a "
                "folder of its own; drop the table first, whose files stay, or clone under another name",
                condition="NOT_SUPPORTED",
            )
        check_droppable(names, [replaced])
    removed = (
        None if replaced is None else load_at(names.store.child(replaced.location), shown).state
    )
    folder = _folder(names, name, cloning)
    store = names.folder(folder)
    if table_log(store).load().state is None:
        check_clonable(cloning)
        _described(cloning)  # refuses properties before anything is written
        made = store.now()
        if cloning.shallow and entry_versions(table_log(store)):
            made = _protected_since(cloning.source, identity)
        elif cloning.shallow:
            below = folder_below(store)
            assert below is not None, "no other folder is accepted for a shallow clone"
            _protect(names, cloning, Protection(identity, made, below))
        _write(store, cloning, made, progress)
    table = load_at(store, shown, identity)
    if not is_done:
        _name(names, TableName(name, folder, identity), replaced, table, cloning.commit_id)
    interop("publish_if_asked")(table.handle)
    first, source = table.at(table.state.created_version), cloning.state
    copied = not cloning.shallow
    return Cloned(
        table,
        cloning.source.name,
        source.version,
        cloning.shallow,
        source.segments.bytes,
        source.segments.count,
        0 if removed is None else removed.segments.count,
        0 if removed is None else removed.segments.bytes,
        first.segments.count if copied else 0,
        first.segments.bytes if copied else 0,
    )


def _folder(names: Names, name: Name, cloning: Cloning) -> str:
    """The folder of a clone, which no other table has.

    Raises:
        AlreadyExistsError, InvalidRequestError: the folder that a user chose can't be that of the clone.
    """
    if cloning.location is None:
        return f"{safe_folder(name)}-{cloning.table_uuid[:8]}"
    shown = render_path(name)
    location = external_location(names.store, cloning.location, shown)
    store = names.folder(location)
    state = table_log(store).load().state
    if state is None or state.created_uuid != cloning.table_uuid:
        check_empty(store, shown)
        if state is not None:
            raise InvalidRequestError(
                f"{shown}: there was a table at {store.url}, whose log can't be that of a clone; choose "
                "another location",
                condition="NOT_SUPPORTED",
            )
    if cloning.shallow and folder_below(store) is None:
        raise InvalidRequestError(
            f"{shown}: LOCATION {store.url} is outside the warehouse {names.store.url}, in which a "
            "shallow clone stays; choose a location there, or make a deep clone (DEEP CLONE, "
            "shallow=False)",
            condition="NOT_SUPPORTED",
        )
    return location


def check_clonable(cloning: Cloning) -> None:
    """Refuse what can't be cloned in this way.

    Raises:
        InvalidRequestError: saying what to do instead.
    """
    source, state = cloning.source, cloning.state
    if source.through is not None:
        raise InvalidRequestError(
            f"{source.name} is seen in an earlier schema, and a clone has the current one; load the "
            "table without it, and pin the schema of the clone",
            condition="NOT_SUPPORTED",
        )
    if cloning.shallow and state.branch is not None:
        raise InvalidRequestError(
            f"{source.name} is a branch, of which no version can be kept for a shallow clone; make a "
            "deep clone (DEEP CLONE, shallow=False), or merge the branch and clone the table",
            condition="NOT_SUPPORTED",
        )


def _protect(names: Names, cloning: Cloning, protection: Protection) -> None:
    """Keep the files of a shallow clone: by a tag of the source, and of those whose files that reads.

    Raises:
        InvalidRequestError: a table can't be written, or does not keep its files for the source.
    """
    source, state = cloning.source, cloning.state
    warehouse = names.store.url.rstrip("/")
    if folder_below(source.store) is None or not source.location.startswith(f"{warehouse}/"):
        raise InvalidRequestError(
            f"{source.name} is not a table of the warehouse {names.store.url}, and a shallow clone "
            "stays in the warehouse of its source, which must know it; make a deep clone "
            "(DEEP CLONE, shallow=False)",
            condition="NOT_SUPPORTED",
        )
    _tag(source, state.version, protection)
    for folder in sorted(sources_of(state.segments.paths)):
        origin = load_at(names.store.child(folder), folder).handle
        tags = protections(origin.state.tags)
        kept = [origin.state.tags[tag] for tag, p in tags.items() if p.clone == state.created_uuid]
        if not kept:
            raise InvalidRequestError(
                f"{source.name} reads files of the table in {folder}, which does not keep them for it "
                "any more; make a deep clone (DEEP CLONE, shallow=False)",
                condition="NOT_SUPPORTED",
            )
        _tag(origin, max(kept), protection)


def _protected_since(source: TableHandle, clone: str) -> datetime:
    """The time of the tag of an attempt that wrote the clone's first entry, and did not end.

    Raises:
        CommitConflictError: the source has dropped it.
    """
    tags = protections(source.refresh().state.tags).values()
    made = [known.made for known in tags if known.clone == clone]
    if not made:
        raise CommitConflictError(
            f"{source.name} does not keep its files any more for a clone that was begun too long ago; "
            "run it again, as another commit"
        )
    return min(made)


def _tag(handle: TableHandle, version: int, protection: Protection) -> None:
    try:
        handle.commit(Tag(Base.of(handle.state), protection.tag, version))
    except StorageError as error:
        raise InvalidRequestError(
            f"{handle.name} can't be written, so it can't keep its files for a shallow clone: {error}; "
            "make a deep clone (DEEP CLONE, shallow=False)",
            condition="NOT_SUPPORTED",
        ) from error


def _write(store: Store, cloning: Cloning, made: datetime, progress: Progress) -> None:
    """Write the log of a clone, and copy the files of a deep one. Version 0 makes it a table."""
    log = table_log(store)
    version = max(entry_versions(log), default=0)
    if not version:  # no earlier attempt got so far
        entry = signed(_first_entry(store, cloning, progress))
        entry = write_page(write_manifest(entry, None, store), None, store)
        version = entry.head.version
        _put(store, log.entry_path(version), commit_to_bytes(entry))
    late = store.now() - made
    if late > PENDING / 2:
        raise CommitConflictError(
            f"{store.url}: writing the clone of {cloning.source.name} took {late}, too long for its "
            "source to keep its files; run it again"
        )
    (first,) = log.entries(version, version)
    assert isinstance(first, Commit), "nothing is expired before the table exists"
    state = apply(None, first)
    log.write_kept(state)
    _put(store, log.entry_path(0), stub_to_bytes(before_first(0, state.version)))
    make_reserve(store)


def _put(store: Store, path: str, data: bytes) -> None:
    if store.put_if_absent(path, data) is Put.UNKNOWN:
        raise StorageError(f"{store.url}/{path}: the store did not say whether it was written")


def _first_entry(store: Store, cloning: Cloning, progress: Progress) -> Commit:
    """The first entry of a clone's log: all that the source had at the version."""
    source, then = cloning.source, cloning.state
    schemas, properties, comment, next_id = _described(cloning)
    records = records_in_order(then, source.log)
    if cloning.shallow:
        folder = folder_below(source.store)
        assert folder is not None, "it is of the warehouse"
        moved = [replace(record, path=_shared(folder, record.path)) for record in records]
    else:
        moved = _copied(store, cloning, records, progress)
    marks = _marks(store, cloning, records, moved)
    ledger = _ledger(cloning)
    schema, keeps = schemas[-1], frozenset({BRANCHES, CONSUMERS, MANIFEST, RESOLVED})
    features = Features(then.features.read - keeps, then.features.write - keeps)
    if not cloning.shallow:
        outside = frozenset({EXTERNAL_ROOTS, ADOPTIONS})
        features = Features(features.read - outside, features.write - outside)
    features |= features_of(schema, moved, marks) | WITH_CHECKSUMS
    features |= features_of_properties(properties)
    features |= Features(frozenset({CLONES}), frozenset({CLONES}))
    kind = "shallow" if cloning.shallow else "deep"
    batches = {} if cloning.shallow else {name: b.id for name, b in then.applications.items()}
    return Commit(
        Head(
            cloning.table_uuid,
            then.version + 1,
            cloning.commit_id,
            -1,
            next_time(then.time, store.now()),
            "create",
            WRITER,
            features,
        ),
        next_id,
        schema=schema,
        schemas=schemas[:-1],
        properties=dict(properties) or None,
        comment=comment,
        sets_comment=comment is not None,
        added=tuple(moved),
        marked=marks,
        pins=dict(then.pins) or None,
        roots=_roots(cloning, moved) or None,
        imported=LedgerChange(ledger) if ledger else None,
        batches=batches,
        row_ids=_row_ids(then),
        details={
            "changes": [f"{kind.upper()} CLONE OF {source.name} VERSION AS OF {then.version}"],
            "clone": {
                "kind": kind,
                "source": source.name,
                "location": source.location,
                "table_uuid": then.table_uuid,
                "version": then.version,
            },
        },
    )


def _row_ids(then: TableState) -> tuple[int, int] | None:
    """The row ID that a clone goes on from; None if rows have none."""
    return (then.next_row_id, then.next_row_id) if then.has_row_ids else None


def _described(
    cloning: Cloning,
) -> tuple[tuple[Schema, ...], Mapping[str, str], str | None, int]:
    """The schemas of a clone, the current one last, its properties, comment, and next column ID."""
    then, table = cloning.state, cloning.source.name
    properties = dict(then.properties)
    for key in REGISTRATION:
        properties.pop(key, None)  # the name in the catalog is that of the source
    if cloning.shallow:
        properties.pop(PUBLISH, None)  # other engines could not read its files
    schemas, newest = then.own_schemas, then.schemas.newest.version
    if newest != then.schema_version:
        schemas.append(then.schema.numbered(newest + 1))
    if not cloning.properties:
        return tuple(schemas), properties, then.comment, then.next_column_id
    asked = [key for key in (PUBLISH, PUBLISH_CATALOG) if key in cloning.properties]
    if cloning.shallow and asked:
        raise InvalidRequestError(
            f"{table}: a shallow clone can't be published, since other engines can't read the files of "
            f"another table; leave out {asked[0]}, or make a deep clone",
            condition="NOT_SUPPORTED",
        )
    check_properties(dict(cloning.properties), keyed=then.schema.is_keyed)
    before = replace(then.evolution, schema=schemas[-1], properties=properties)
    requests = [SetProperty(key, text) for key, text in cloning.properties.items()]
    _, after = plan_changes(requests, before, schemas[-1].version + 1)
    if after.schema.version != schemas[-1].version:
        schemas.append(after.schema)
    return tuple(schemas), after.properties, after.comment, after.next_column_id


def _shared(folder: str, path: str) -> str:
    """The path by which a shallow clone knows a segment."""
    return path if split_root(path) is not None else cloned_path(folder, path)


def _roots(cloning: Cloning, records: Iterable[SegmentRecord]) -> dict[str, str]:
    """Where the external roots are, below which segments of a clone lie."""
    here = dict(cloning.source.store.location.roots)
    used = {place.root for record in records if (place := split_root(record.path)) is not None}
    known = {**cloning.state.roots, **{n: r.url for n, r in here.items() if n == WAREHOUSE_ROOT}}
    return {name: known[name] for name in sorted(used) if name in known}


def _copied(
    store: Store, cloning: Cloning, records: list[SegmentRecord], progress: Progress
) -> list[SegmentRecord]:
    """Copy the files of segments; return the records of the copies."""
    copy = partial(_copy, cloning.source.store, store, cloning.state)
    copies = []
    for number, record in enumerate(in_parallel(copy, records, _THREADS), 1):
        copies.append(record)
        progress("copy segments", number, len(records))
    return copies


def _copy(source: Store, store: Store, then: TableState, record: SegmentRecord) -> SegmentRecord:
    """Copy one file, whose bytes must be those that the log records."""
    path = f"data/{new_name(then.version, copy_tag())}.parquet"
    size = crc = 0
    with opened(source, record.path) as file, store.create(path) as sink:
        while chunk := file.read(_CHUNK):
            sink.write(chunk)
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    checksum = f"crc32:{crc:08x}"
    if size != record.bytes or record.checksum not in (None, checksum):
        raise CorruptTableError(
            f"{source.url}/{record.path} is damaged: it has {size} bytes and the checksum {checksum}, "
            f"and the log records {record.bytes} and {record.checksum}; nothing was cloned"
        )
    return replace(record, path=path, checksum=checksum)


def _marks(
    store: Store, cloning: Cloning, records: list[SegmentRecord], moved: list[SegmentRecord]
) -> dict[str, Mark]:
    """The marks of deleted rows by the path in the clone; those of hidden rows are found again."""
    then = cloning.state
    if then.schema.is_keyed or not then.segments.has_marks:
        return {}
    marks, copies = then.segments.marks, {}
    for record, copy in zip(records, moved, strict=True):
        if record.path in marks:
            mark = marks[record.path]
            positions = marked_rows(cloning.source.store, mark, record.path, record.rows)
            copies[copy.path] = mark_of(store, then.version, copy.path, positions)
    return copies


def _ledger(cloning: Cloning) -> Ledger:
    """The files of others that the clone has taken in, with the source."""
    files = imported_files(cloning.state.ledger, cloning.source.store)
    if cloning.shallow:
        return Ledger(files=tuple(files))
    adopted = (
        replace(file, taken=Taken.COPIED) if file.taken is Taken.ADOPTED else file for file in files
    )
    return Ledger(files=tuple(adopted))


def _name(
    names: Names, named: TableName, replaced: TableName | None, table: Table, commit_id: str
) -> None:
    """Give a clone its name: the commit that makes it appear."""
    if replaced is None:
        add_name(names, named, table, commit_id, again=True)
        return

    def change(state: WarehouseState) -> WarehouseEntry:
        if state.tables.get(full_key(named.name)) != replaced:
            raise CommitConflictError(
                f"{render_path(named.name)} was dropped, renamed or replaced since it was to be "
                "replaced by a clone; run it again"
            )
        return WarehouseEntry(
            head_of("create_table"), remove_tables=(named.name,), set_tables=(named,)
        )

    if not names.has_landed(name_commit(commit_id)):
        try:
            names.commit(change, name_commit(commit_id))
        except CommitConflictError:
            if not named.is_external:  # others may have written to it
                discard_at(table.store, named.table_uuid, table.name)
            raise
    drop_unnamed(names, [replaced])
