"""Recover a table whose log is lost or corrupt into a new folder (FORMAT.md, section 9)."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from versioned_catalog.commit.identity_rules import past_rows
from versioned_catalog.commit.table_entries import features_of
from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import (
    AlreadyExistsError,
    CorruptTableError,
    InvalidRequestError,
    VersionedError,
)
from versioned_catalog.log.branches import branch_of_file, name_tag
from versioned_catalog.log.clones import copy_tag, is_copy
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.log.entry import WRITER, Batch, Commit, Head
from versioned_catalog.log.entry_json import commit_to_bytes
from versioned_catalog.log.features import (
    CLONES,
    IMPORTS,
    IMPORTS_FOLDER,
    LOG,
    MARKS,
    SHREDDED_VARIANTS,
    WITH_CHECKSUMS,
    Features,
    features_of_properties,
)
from versioned_catalog.log.ledger import (
    ImportedFile,
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
from versioned_catalog.maintain.log_check import in_parallel
from versioned_catalog.maintain.orphans import DATA
from versioned_catalog.maintain.salvage import (
    Footer,
    Incarnation,
    LogRemains,
    check_lost,
    read_log,
    read_segments,
    salvage,
)
from versioned_catalog.maintain.segment_check import contents_of, opened
from versioned_catalog.model.keys import ROW_IDS
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Atom, walk
from versioned_catalog.read.planning import record_task
from versioned_catalog.storage.store import Put, Store, file_of, new_name

MARGIN = 1000
"""Column IDs to skip: lost entries may have assigned them."""
_LAST_ID = 2_147_482_999
_AT_ONCE = 1000
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Recovered:
    """Result of a recovery.

    Args:
        broken, table: URLs of the old and the new table.
        version: the newest version of the new table.
        known_until: the version up to which the old log could be followed; -1 for none.
        rows, bytes: size of the new table.
        certain: recovered segments that were live by the old log.
        guessed: recovered segments that no readable entry names.
        left: why each other segment was left out, by path.
        unknown: sentences on what could not be determined.
    """

    broken: str
    table: str
    version: int
    known_until: int
    rows: int
    bytes: int
    certain: tuple[str, ...]
    guessed: tuple[str, ...]
    left: dict[str, str]
    unknown: tuple[str, ...]


def recover(broken: Store, new: Store, progress: Progress) -> Recovered:
    """See ``Catalog.recover``: nothing is written in ``broken``, and ``new`` must be empty."""
    if new.url == broken.url or new.files(LOG) or new.files(DATA):
        raise AlreadyExistsError(f"{new.url} is not empty; recover to an empty folder")
    log, segments = read_log(table_log(broken)), read_segments(broken, progress)
    incarnation = salvage(log, segments, broken.url)
    if not incarnation.schemas:
        raise CorruptTableError(f"{broken.url}: no schema can be read, so the columns are unknown")
    schemas, substituted = _without_gaps(incarnation.schemas)
    left = dict(incarnation.left)
    records: dict[str, SegmentRecord] = {}
    footers = [
        _numbered(segments.footers[path], incarnation)
        for path in (*incarnation.live, *incarnation.guessed)
    ]
    _check_unkeyed(schemas, broken.url)
    copy = partial(_copy_segment, broken, new, schemas)
    copied = zip(footers, in_parallel(copy, footers, threads=4), strict=True)
    for number, (footer, record) in enumerate(copied, 1):
        progress("copy segments", number, len(footers))
        if isinstance(record, SegmentRecord):
            records[footer.path] = record
        else:
            left[footer.path] = record
    ledger = _ledger(incarnation, broken)
    marks, unmarked = _copy_marks(broken, new, incarnation, records)
    commits = list(_commits(incarnation, schemas, list(records.values()), marks, ledger, new.time))
    state = _write_log(new, commits)
    return Recovered(
        broken=broken.url,
        table=new.url,
        version=state.version,
        known_until=-1 if log.state is None else log.state.version,
        rows=state.segments.shown_rows,
        bytes=state.segments.bytes,
        certain=tuple(path for path in incarnation.live if path in records),
        guessed=tuple(path for path in incarnation.guessed if path in records),
        left=left,
        unknown=(
            *_unknown(log, incarnation, substituted),
            *(f"which rows of {path} were deleted; they are back: {why}" for path, why in unmarked),
            *_unknown_imports(incarnation.ledger, ledger, broken),
        ),
    )


def _numbered(footer: Footer, incarnation: Incarnation) -> Footer:
    """A footer with the schema version that the log has for the segment, if a merge has given it one."""
    version = incarnation.renumbered.get(footer.path)
    return footer if version is None else replace(footer, schema=footer.schema.numbered(version))


def _check_unkeyed(schemas: dict[int, Schema], table: str) -> None:
    """Refuse a table with a primary key: the order of its rows is lost with the log."""
    if any(schema.is_keyed for schema in schemas.values()):
        raise InvalidRequestError(
            f"{table} has a primary key: copies of its segments would bring back replaced rows; restore "
            "the log from a backup, or read the segments with pyarrow.parquet and upsert their rows "
            "into a new table, in the order of the file names"
        )


def _without_gaps(known_schemas: dict[int, Schema]) -> tuple[dict[int, Schema], list[int]]:
    """Fill gaps between known schema versions by repeating the one before; return these, too."""
    schemas: dict[int, Schema] = {}
    substituted: list[int] = []
    for version in range(min(known_schemas), max(known_schemas) + 1):
        if version in known_schemas:
            schemas[version] = known_schemas[version]
        else:
            schemas[version] = replace(schemas[version - 1], version=version)
            substituted.append(version)
    return schemas, substituted


def _copy_segment(
    broken: Store, new: Store, schemas: dict[int, Schema], footer: Footer
) -> SegmentRecord | str:
    """Copy a segment, reading all its rows; return its record, or why it was left out."""
    schema = schemas[footer.schema.version]
    bare = SegmentRecord(footer.path, schema.version, footer.rows, footer.bytes)
    if footer.schema != schema:
        return f"has a schema version {schema.version} that differs from the known one"
    try:
        task = record_task(footer.table_uuid, schema, bare, schema.columns)
        contents = contents_of(broken, task, schema)
    except VersionedError as error:
        check_lost(error, broken)
        return f"is damaged: {error}"
    except Exception as error:  # damaged files make libraries raise anything
        return f"is damaged: {type(error).__name__}: {error}"
    if schema.partitioning and len(contents.partitions) != 1:
        return f"holds rows of {len(contents.partitions)} partitions"
    (partition,) = contents.partitions or {()}
    # The name starts with the base version, which vacuum compares with the fence.
    branch_id = branch_of_file(footer.path)
    tag = "" if branch_id is None else name_tag(branch_id)
    tag = copy_tag() if is_copy(footer.path) else tag  # of a deep clone
    path = f"{DATA}/{new_name(0, tag)}.parquet"
    size = crc = 0
    with opened(broken, footer.path) as source, new.create(path) as sink:
        while chunk := source.read(_CHUNK):
            sink.write(chunk)
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    return replace(
        bare,
        path=path,
        bytes=size,
        partition=partition,
        columns=contents.columns,
        checksum=f"crc32:{crc:08x}",
    )


def _copy_marks(
    broken: Store, new: Store, incarnation: Incarnation, records: Mapping[str, SegmentRecord]
) -> tuple[dict[str, Mark], list[tuple[str, str]]]:
    """Copy the marks of copied segments; return them by new path, and why others can't be read.

    Args:
        records: the records of the copies, by the path of the segment.
    """
    marks: dict[str, Mark] = {}
    lost: list[tuple[str, str]] = []
    for path, mark in incarnation.marks.items():
        record = records.get(path)
        if record is None:
            continue
        try:
            positions = marked_rows(broken, mark, path, record.rows)
        except VersionedError as error:
            check_lost(error, broken)
            lost.append((path, str(error)))
        else:
            marks[record.path] = mark_of(new, 0, record.path, positions)
    return marks, lost


def _ledger(incarnation: Incarnation, broken: Store) -> list[ImportedFile] | None:
    """Return the imported files whose rows may be in the new table; None if a page can't be read.

    Adopted files that are still segments are left out, so that they can be imported again. Adopted
    files whose rows were deleted, or rewritten to segments of the table, stay.
    """
    try:
        imported = list(imported_files(incarnation.ledger, broken))
    except CorruptTableError:
        return None
    left = {file_of(path) for path in incarnation.left}
    absent = frozenset[str]().union(*(file.keys for file in imported if file.name in left))
    return [file for file in imported if file.taken is not Taken.ADOPTED or not file.keys & absent]


def _unknown_imports(
    ledger: Ledger, kept: list[ImportedFile] | None, broken: Store
) -> Iterable[str]:
    if kept is None:
        yield "which files were imported: an import takes all of them again"
    elif len(kept) < len(ledger.files) + sum(page.files for page in ledger.pages):
        yield (
            "the rows of files that were in the table in place: an import takes these files again, as "
            "they are now"
        )
    if any(name.endswith(".json") for name in broken.list(IMPORTS_FOLDER)):
        yield (
            "which files were imported by an early version of this library: an import takes those "
            "again that the table has as copies of their rows"
        )


def _commits(
    incarnation: Incarnation,
    schemas: dict[int, Schema],
    records: list[SegmentRecord],
    marks: Mapping[str, Mark],
    ledger: list[ImportedFile] | None,
    clock: Callable[[], datetime],
) -> Iterator[Commit]:
    """Build the commits of the new table, dated by its store."""
    next_id = min(incarnation.next_column_id + MARGIN, max(_LAST_ID, incarnation.next_column_id))
    time = clock()
    version = 0

    def head(operation: str) -> Head:
        nonlocal version, time
        new_head = Head(
            incarnation.table_uuid, version, str(uuid.uuid4()), version - 1, time, operation, WRITER
        )
        version, time = version + 1, next_time(time, clock())
        return new_head

    for number, (_, schema) in enumerate(sorted(schemas.items())):
        if number:
            yield Commit(head("alter"), next_id, schema=schema)
            continue
        yield Commit(
            head("create"),
            next_id,
            schema=schema,
            properties=past_rows(_without_row_ids(incarnation.properties), records) or None,
            comment=incarnation.comment,
            sets_comment=incarnation.comment is not None,
        )
    for start in range(0, len(records), _AT_ONCE):
        added = tuple(records[start : start + _AT_ONCE])
        marked = {record.path: marks[record.path] for record in added if record.path in marks}
        yield Commit(head("append"), next_id, added=added, marked=marked)
    for application, last in sorted(incarnation.applications.items()):
        yield Commit(head("append"), next_id, batch=Batch(application, last.id))
    if ledger:
        change = LedgerChange(Ledger(files=tuple(ledger)))
        yield Commit(head("append"), next_id, imported=change)


def _without_row_ids(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in properties.items() if key != ROW_IDS}


_MAY_BE_SHREDDED = Features(frozenset({SHREDDED_VARIANTS}), frozenset({SHREDDED_VARIANTS}))
"""The features of a recovered table with a variant: nobody knows how its segments hold it."""


def _write_log(new: Store, commits: list[Commit]) -> TableState:
    """Write the log, the first entry last, so that the table appears when it is complete."""
    state: TableState | None = None
    entries: list[Commit] = []
    for commit in commits:
        # A manifest is a feature, which later entries must list, too.
        features = WITH_CHECKSUMS if state is None else state.features
        if commit.schema is not None:
            features |= features_of(commit.schema, commit.added)
            if any(column.type is Atom.VARIANT for column, _ in walk(commit.schema.columns)):
                features |= _MAY_BE_SHREDDED
        if commit.marked:
            features |= Features(frozenset({MARKS}), frozenset({MARKS}))
        if any(is_copy(record.path) for record in commit.added):
            features |= Features(frozenset({CLONES}), frozenset({CLONES}))
        if commit.imported is not None:
            features |= Features(write=frozenset({IMPORTS}))
        features |= features_of_properties(commit.properties or {})
        with_features = replace(commit, head=replace(commit.head, features=features))
        entries.append(write_page(write_manifest(with_features, None, new), None, new))
        state = apply(state, entries[-1])
    assert state is not None
    timeline = table_log(new)
    for commit in reversed(entries):
        path = timeline.entry_path(commit.head.version)
        if new.put_if_absent(path, commit_to_bytes(commit)) is not Put.WON:
            raise AlreadyExistsError(
                f"{new.url}/{path} was written by another process, or the store did not say; recover to "
                "another folder"
            )
    return state


def _unknown(log: LogRemains, incarnation: Incarnation, substituted: list[int]) -> Iterable[str]:
    """Describe what could not be determined."""
    if incarnation.properties.get(ROW_IDS) == "true":
        yield f"the IDs of rows: set the property {ROW_IDS}, and they get new ones"
    state = log.state
    if state is None:
        yield "no part of the log could be followed: everything comes from the segments alone"
        yield (
            "which segments were live: rows that were deleted, updated or overwritten may be back, "
            "along with their replacements"
        )
        yield "the order of the commits: segments are ordered by the versions they were planned on"
        yield (
            "names, defaults, types and comments that were changed after the last segment was written, "
            "and columns that were added or dropped after it"
        )
        if not any(commit.properties is not None for commit in log.later):
            yield "the table's properties and comment"
    else:
        yield (
            f"whether anything was committed after version {state.version}, up to which the log could "
            f"be followed, beyond {len(log.later)} later entries that can be read"
        )
        if incarnation.guessed:
            yield (
                f"whether {len(incarnation.guessed)} segments that no entry names were live: they are "
                "recovered, but may be left from failed writes, or may have been removed"
            )
        if state.dropped:
            yield f"whether it is still wanted: it was dropped at version {state.version}"
        if state.tags:
            named = ", ".join(f"{name} = {state.tags[name]}" for name in sorted(state.tags))
            yield f"which new versions the tags belong to; they were {named}"
        if state.pins:
            pins = {label: state.pins[label].schema_version for label in sorted(state.pins)}
            named = ", ".join(f"{label} = {version}" for label, version in pins.items())
            yield (
                f"whether the schema pins are still needed; they were {named}. Pin them again; hidden "
                "columns stay until a pin is retired"
            )
        if state.consumers:
            named = ", ".join(sorted(state.consumers))
            yield f"how far the consumers {named} have read: set them again"
    if log.unreadable:
        shown = ", ".join(log.unreadable[:20])
        yield f"the contents of these entries, which are missing or damaged: {shown}"
    if substituted:
        yield (
            f"the schema versions {', '.join(map(str, substituted))}, which no segment and no entry "
            "has; each repeats the one before"
        )
    if not incarnation.applications:
        yield "the last batch of each streaming sink: a batch that is sent again is written again"
    yield (
        "history: time travel in the new table starts with the recovery; the old folder is unchanged"
    )
