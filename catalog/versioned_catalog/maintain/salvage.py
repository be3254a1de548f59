"""Salvage a broken table: the readable part of its log, and the footers of its segments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import CorruptTableError, StorageError, VersionedError
from versioned_catalog.log.branches import branch_of_file
from versioned_catalog.log.clones import cloned_from, is_copy
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.entry import ABORT, NEW_INCARNATION, Commit, LastBatch, Stub
from versioned_catalog.log.ledger import Ledger, LedgerChange
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.state import TableState, applications_after, apply
from versioned_catalog.log.times import EARLIEST
from versioned_catalog.maintain.log_check import entry_versions, in_parallel, stored_states
from versioned_catalog.maintain.orphans import DATA
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import schema_from_json
from versioned_catalog.read.segment_layout import SCHEMA, SCHEMA_VERSION, TABLE_UUID
from versioned_catalog.storage.failures import is_media_error
from versioned_catalog.storage.parquet import open_parquet
from versioned_catalog.storage.store import PREFIX, Store, StoredFile

_NAME = re.compile(r"([0-9]{1,20})-([0-9a-f-]{32,36})\.parquet")


@dataclass(frozen=True)
class LogRemains:
    """The readable part of a log.

    Args:
        state: the newest state that follows from a checkpoint, or from the first entry, without gaps.
        later: readable entries after it, in order.
        mentioned: segments that an entry or checkpoint names.
        unreadable: paths of entries that are damaged or missing.
        newest: commit time of the newest state, or modification time of its entry if that is earlier.
        discarded: segments of transactions that were not committed.
    """

    state: TableState | None
    later: tuple[Commit, ...]
    mentioned: frozenset[str]
    unreadable: tuple[str, ...]
    newest: datetime
    discarded: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Footer:
    """The footer of a segment.

    Args:
        base: the version that its writer planned on.
        rows, bytes: its size.
        modified: its modification time, by the store's clock.
        table_uuid: the incarnation of the table that it belongs to.
        schema: the schema that it was written under.
    """

    path: str
    base: int
    rows: int
    bytes: int
    modified: datetime
    table_uuid: str
    schema: Schema


@dataclass(frozen=True)
class Segments:
    """The segments of a folder by path: readable footers, and why the others cannot be read."""

    footers: Mapping[str, Footer] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)


def read_log(timeline: TableLog) -> LogRemains:
    """Read as much of a log as possible, from the start that leads furthest."""
    entries, unreadable, discarded = _entries(timeline)
    loaded = (timeline.restore(version, path) for version, path in stored_states(timeline))
    states = [each.state for each in loaded if each is not None and each.state is not None]
    reached = (_furthest(start, entries) for start in (None, *states))
    followed = (candidate for candidate in reached if candidate is not None)
    state = max(followed, key=lambda candidate: candidate.version, default=None)
    newest = -1 if state is None else state.version
    later = tuple(commit for version, commit in sorted(entries.items()) if version > newest)
    mentioned = {record.path for commit in entries.values() for record in commit.added}
    mentioned.update(path for commit in entries.values() for path in commit.removed)
    for stored_state in states:
        mentioned.update(stored_state.segments.paths)
    return LogRemains(
        state,
        later,
        frozenset(mentioned),
        tuple(unreadable),
        _newest_time(timeline, state),
        frozenset(record.path for commit in discarded for record in commit.added),
    )


def _newest_time(timeline: TableLog, state: TableState | None) -> datetime:
    """The time of the newest state, by its entry and by the store's clock."""
    if state is None:
        return EARLIEST
    date = timeline.store.modified(timeline.entry_path(state.version))
    return state.time if date is None else min(state.time, date)


def _entries(timeline: TableLog) -> tuple[dict[int, Commit], list[str], list[Commit]]:
    """The entries by version, paths of unreadable ones, and those that are not committed."""
    entries: dict[int, Commit] = {}
    discarded: list[Commit] = []
    unreadable: list[str] = []
    versions, begins_at = entry_versions(timeline), 0
    for version in versions:
        try:
            read = timeline.read(version)
        except VersionedError as error:
            check_lost(error, timeline.store)
            unreadable.append(timeline.entry_path(version))
            continue
        if read is None or _is_aborted(read[0]):
            put = timeline.as_put(version)
            discarded += [put] if isinstance(put, Commit) else []
        if read is None:
            continue  # its transaction is not decided
        if isinstance(read[0], Commit):
            entries[version] = read[0]
        else:
            begins_at = read[0].begins_at or begins_at
    for before, after in zip([-1, *versions], versions, strict=False):
        if before == 0 and after == begins_at:
            continue
        unreadable += [timeline.entry_path(v) for v in range(before + 1, min(after, before + 1000))]
    return entries, sorted(unreadable), discarded


def _is_aborted(entry: Commit | Stub) -> bool:
    return isinstance(entry, Commit) and entry.head.operation == ABORT


def check_lost(error: Exception, store: Store) -> None:
    """Raise an error that may be transient, rather than a sign of a lost or damaged file.

    Raises:
        StorageError: any but a bad block of a local disk.
    """
    if isinstance(error, StorageError) and (store.is_remote or not is_media_error(error)):
        raise error


def _furthest(state: TableState | None, entries: Mapping[int, Commit]) -> TableState | None:
    """Apply entries to a state for as long as they follow without a gap."""
    while (entry := entries.get(0 if state is None else state.version + 1)) is not None:
        try:
            state = apply(state, entry)
        except CorruptTableError:
            return state
    return state


def read_segments(store: Store, progress: Progress) -> Segments:
    """Read the footers of all segments in a folder, of whatever table."""
    files = [file for file in store.files(DATA) if _NAME.fullmatch(file.name)]
    footers: dict[str, Footer] = {}
    damaged: dict[str, str] = {}

    def read(file: StoredFile) -> Footer | str:
        try:
            return _footer(store, file)
        except Exception as error:  # damaged files make libraries raise anything
            check_lost(error, store)
            return f"{type(error).__name__}: {error}"

    for number, (file, outcome) in enumerate(zip(files, in_parallel(read, files), strict=True), 1):
        path = f"{DATA}/{file.name}"
        if isinstance(outcome, Footer):
            footers[path] = outcome
        else:
            damaged[path] = outcome
        progress("read footers", number, len(files))
    return Segments(footers, damaged)


def _footer(store: Store, file: StoredFile) -> Footer:
    path = f"{DATA}/{file.name}"
    source = store.open(path)
    meta: Any = open_parquet(source, "the file").metadata
    metadata = meta.metadata or {}
    if TABLE_UUID not in metadata or SCHEMA not in metadata or SCHEMA_VERSION not in metadata:
        raise CorruptTableError("its footer names no table and schema")
    schema = schema_from_json(json.loads(metadata[SCHEMA]))
    if str(schema.version).encode() != metadata[SCHEMA_VERSION]:
        raise CorruptTableError("its footer names two schema versions")
    return Footer(
        path=path,
        base=int(file.name.partition("-")[0]),
        rows=meta.num_rows,
        bytes=file.bytes,
        modified=file.modified,
        table_uuid=metadata[TABLE_UUID].decode(),
        schema=schema,
    )


@dataclass(frozen=True)
class Incarnation:
    """The incarnation of a table to recover.

    Args:
        properties, comment: the last known ones.
        live: segments that are live according to the log, in order.
        marks: their marks.
        guessed: segments that no entry names, in their likely order.
        left: why other segments are left out, by path.
        next_column_id: above every known ID.
        applications: the last known batch of each application.
        ledger: the files that the table had imported.
        renumbered: the schema versions of segments that were written on branches, by path.
    """

    table_uuid: str
    schemas: dict[int, Schema] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    live: tuple[str, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    next_column_id: int = 1
    applications: Mapping[str, LastBatch] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    renumbered: Mapping[str, int] = field(default_factory=dict)


def _why_absent(path: str) -> str:
    source = cloned_from(path)
    if source is not None:
        return f"is a file of the table in {source}, which is still where it was: clone that again"
    if path.startswith(PREFIX):
        return "is a file of somebody else, which is still where it was: import it again"
    return "is missing"


def salvage(log: LogRemains, segments: Segments, table: str) -> Incarnation:
    """Determine what to recover from a log and segments.

    Raises:
        CorruptTableError: no schema is known.
    """
    state = log.state
    incarnation = Incarnation("") if state is None else _incarnation_of_state(state)
    for commit in log.later:
        incarnation = _after_commit(incarnation, commit)
    incarnation = incarnation if incarnation.table_uuid else _newest_incarnation(segments, table)
    left = {path: f"is damaged: {why}" for path, why in segments.damaged.items()}
    live = [path for path in incarnation.live if path in segments.footers]
    absent = (path for path in incarnation.live if path not in {*live, *left})
    left |= {path: _why_absent(path) for path in absent}
    schemas = dict(incarnation.schemas)
    guessed: list[Footer] = []
    for footer in segments.footers.values():
        is_of_branch = branch_of_file(footer.path) is not None
        if footer.table_uuid == incarnation.table_uuid and not is_of_branch:
            schemas.setdefault(footer.schema.version, footer.schema)
        if footer.path in live:
            continue
        if footer.table_uuid != incarnation.table_uuid:
            left[footer.path] = "is of another table, or of an earlier incarnation of this one"
        elif footer.path in log.discarded:
            left[footer.path] = "is of a transaction that was not committed"
        elif footer.path in log.mentioned:
            left[footer.path] = "was removed by a commit"
        elif is_of_branch:
            left[footer.path] = "was written on a branch, and no readable entry has merged it"
        elif state is not None and footer.base < state.version and footer.modified < log.newest:
            left[footer.path] = (
                f"is older than version {state.version}, and no entry up to there names it: it is left "
                "from a failed write or an expired version"
            )
        else:
            guessed.append(footer)
    guessed.sort(key=lambda footer: (footer.base, footer.modified, footer.path))
    highest = max((max(schema.ids, default=0) for schema in schemas.values()), default=0)
    return replace(
        incarnation,
        schemas=schemas,
        live=tuple(live),
        guessed=tuple(footer.path for footer in guessed),
        left=left,
        next_column_id=max(incarnation.next_column_id, highest + 1),
    )


def _incarnation_of_state(state: TableState) -> Incarnation:
    return Incarnation(
        table_uuid=state.table_uuid,
        schemas={schema.version: schema for schema in state.own_schemas},
        properties=state.properties,
        comment=state.comment,
        live=tuple(state.segments.paths),
        marks=state.segments.marks,
        next_column_id=state.next_column_id,
        applications=state.applications,
        ledger=state.ledger,
        renumbered=_renumbered(
            zip(
                state.segments.paths,
                state.segments.column("schema_version").to_pylist(),
                strict=True,
            )
        ),
    )


def _renumbered(versions: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The schema versions of segments whose footers may have others: of branches, and copies."""
    return {p: version for p, version in versions if branch_of_file(p) is not None or is_copy(p)}


def _after_commit(incarnation: Incarnation, commit: Commit) -> Incarnation:
    """Apply a readable entry after a gap."""
    if commit.head.operation in NEW_INCARNATION or commit.head.table_uuid != incarnation.table_uuid:
        next_id = incarnation.next_column_id
        incarnation = Incarnation(commit.head.table_uuid, next_column_id=next_id)
    removed = set(commit.removed)
    marks: dict[str, Mark | None] = {p: m for p, m in incarnation.marks.items() if p not in removed}
    marks |= commit.marked
    schemas = commit.schemas if commit.schema is None else (*commit.schemas, commit.schema)
    added = ((record.path, record.schema_version) for record in commit.added)
    return replace(
        incarnation,
        schemas={**incarnation.schemas, **{schema.version: schema for schema in schemas}},
        properties=incarnation.properties if commit.properties is None else commit.properties,
        comment=commit.comment if commit.sets_comment else incarnation.comment,
        live=(
            *(path for path in incarnation.live if path not in removed),
            *(record.path for record in commit.added),
        ),
        marks={path: mark for path, mark in marks.items() if mark is not None},
        next_column_id=max(incarnation.next_column_id, commit.next_column_id),
        applications=applications_after(incarnation.applications, commit, commit.head.version),
        ledger=incarnation.ledger.after(commit.imported or LedgerChange(Ledger())),
        renumbered={**incarnation.renumbered, **_renumbered(added)},
    )


def _newest_incarnation(segments: Segments, table: str) -> Incarnation:
    """The newest incarnation that segments belong to."""
    newest = max(
        segments.footers.values(),
        key=lambda footer: (footer.schema.version, footer.base, footer.modified),
        default=None,
    )
    if newest is None:
        raise CorruptTableError(
            f"{table}: neither a log entry nor a segment can be read, so the columns are unknown"
        )
    return Incarnation(newest.table_uuid)
