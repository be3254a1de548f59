"""Recover: a table whose log is lost or corrupt, made anew elsewhere (FORMAT.md, section 9)."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from versioned_catalog.errors import (
    AlreadyExistsError,
    CorruptTableError,
    InvalidRequestError,
    VersionedError,
)
from versioned_catalog.log.commit_log import CommitLog
from versioned_catalog.log.entry import Batch, Commit
from versioned_catalog.log.entry_json import commit_to_bytes
from versioned_catalog.log.features import Features
from versioned_catalog.log.head import WRITER, Head
from versioned_catalog.log.layout import LOG
from versioned_catalog.log.manifest import write_manifest
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.log.table_log import TableCodec
from versioned_catalog.log.times import next_time
from versioned_catalog.maintenance.orphans import DATA
from versioned_catalog.maintenance.parallel import in_parallel
from versioned_catalog.maintenance.salvage import (
    Footer,
    Life,
    Told,
    check_lost,
    life_of,
    read_log,
    read_segments,
)
from versioned_catalog.maintenance.segment_check import contents_of, opened, task_of
from versioned_catalog.progress import Progress
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.store import Put, Store

MARGIN = 1000
"""So many column IDs are left out: entries that are lost may have given them."""
_LAST_ID = 2_147_482_999
_AT_ONCE = 1000
_PIECE = 1 << 20


@dataclass(frozen=True)
class Recovered:
    """What came of a recovery.

    Args:
        broken, table: where the old and the new table are.
        version: the newest version of the new one.
        known_until: the version up to which the old log could be followed; -1 for none.
        rows, bytes: what the new table holds.
        certain: segments of the old table that its log says were live.
        guessed: segments that may have been live; no entry that can be read tells.
        left: why each other segment was left out, by path.
        unknown: what could not be known, in sentences.
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
    """See ``Catalog.recover``.

    Args:
        broken: the folder of the old table; nothing is written there.
        new: the folder of the new one, which must be empty.
        progress: is told how far it is.
    """
    if new.url == broken.url or new.files(LOG) or new.files(DATA):
        raise AlreadyExistsError(f"{new.url} is not empty; recover to a folder of its own")
    told, segments = read_log(CommitLog(broken, TableCodec())), read_segments(broken, progress)
    life = life_of(told, segments, broken.url)
    if not life.schemas:
        raise CorruptTableError(
            f"{broken.url}: nothing that can be read says what columns there were"
        )
    schemas, made_up = _filled(life.schemas)
    left = dict(life.left)
    records: dict[str, SegmentRecord] = {}
    wanted = [segments.footers[path] for path in (*life.live, *life.guessed)]
    _check_copied(schemas, broken.url)
    copier = _Copier(broken, new, schemas)
    for number, (footer, record) in enumerate(_copied(copier, wanted), 1):
        progress("copy segments", number, len(wanted))
        if isinstance(record, SegmentRecord):
            records[footer.path] = record
        else:
            left[footer.path] = record
    commits = list(_commits(life, schemas, list(records.values()), new.time))
    state = _put(new, commits)
    return Recovered(
        broken=broken.url,
        table=new.url,
        version=state.version,
        known_until=-1 if told.state is None else told.state.version,
        rows=state.segments.rows,
        bytes=state.segments.bytes,
        certain=tuple(path for path in life.live if path in records),
        guessed=tuple(path for path in life.guessed if path in records),
        left=left,
        unknown=tuple(_unknown(told, life, made_up)),
    )


def _check_copied(schemas: dict[int, Schema], table: str) -> None:
    """Refuse a table whose rows replace each other by the versions of a log that is lost."""
    if any(schema.is_keyed for schema in schemas.values()):
        raise InvalidRequestError(
            f"{table} has a primary key, and recover copies segments, which would bring back rows that "
            "others replaced; restore the log from a copy, or read what is left of its segments with "
            "pyarrow.parquet and upsert it into a new table, in the order of the files' names"
        )


def _filled(known: dict[int, Schema]) -> tuple[dict[int, Schema], list[int]]:
    """All schema versions from the first known to the last; those in between repeat the one before."""
    schemas: dict[int, Schema] = {}
    made_up: list[int] = []
    for version in range(min(known), max(known) + 1):
        if version in known:
            schemas[version] = known[version]
        else:
            schemas[version] = replace(schemas[version - 1], version=version)
            made_up.append(version)
    return schemas, made_up


@dataclass(frozen=True)
class _Copier:
    """Copies segments, and looks at all their rows."""

    broken: Store
    new: Store
    schemas: dict[int, Schema]

    def copy(self, footer: Footer) -> SegmentRecord | str:
        """The record of the copy, or why there is none."""
        schema = self.schemas[footer.schema.version]
        bare = SegmentRecord(footer.path, schema.version, footer.rows, footer.bytes)
        if footer.schema != schema:
            return f"says another schema version {schema.version} than is known otherwise"
        try:
            task = task_of(footer.table_uuid, schema, bare)
            contents = contents_of(self.broken, task, schema)
        except VersionedError as error:
            check_lost(error, self.broken)
            return f"is damaged: {error}"
        except Exception as error:  # whatever a damaged file makes a library do
            return f"is damaged: {type(error).__name__}: {error}"
        if schema.partitioning and len(contents.partitions) != 1:
            return f"holds rows of {len(contents.partitions)} partitions"
        (partition,) = contents.partitions or {()}
        path, size, checksum = self._copy_bytes(footer.path)
        return replace(
            bare,
            path=path,
            bytes=size,
            partition=partition,
            columns=contents.columns,
            checksum=checksum,
        )

    def _copy_bytes(self, path: str) -> tuple[str, int, str]:
        # The new log begins at version 0, and vacuum goes by the number before the dash.
        target = f"{DATA}/0-{uuid.uuid4().hex}.parquet"
        size = crc = 0
        with opened(self.broken, path) as source, self.new.create(target) as sink:
            while piece := source.read(_PIECE):
                sink.write(piece)
                size, crc = size + len(piece), zlib.crc32(piece, crc)
        return target, size, f"crc32:{crc:08x}"


def _copied(copier: _Copier, wanted: list[Footer]) -> Iterator[tuple[Footer, SegmentRecord | str]]:
    yield from zip(wanted, in_parallel(copier.copy, wanted, threads=4), strict=True)


def _commits(
    life: Life,
    schemas: dict[int, Schema],
    records: list[SegmentRecord],
    clock: Callable[[], datetime],
) -> Iterator[Commit]:
    """The log of the new table, dated by its store."""
    next_id = min(life.next_column_id + MARGIN, max(_LAST_ID, life.next_column_id))
    time = clock()
    version = 0

    def head(operation: str) -> Head:
        nonlocal version, time
        identity = str(uuid.uuid4())
        made = Head(life.table_uuid, version, identity, version - 1, time, operation, WRITER)
        version, time = version + 1, next_time(time, clock())
        return made

    for number, schema in enumerate(schemas[one] for one in sorted(schemas)):
        if number:
            yield Commit(head("alter"), next_id, schema=schema)
            continue
        yield Commit(
            head("create"),
            next_id,
            schema=schema,
            properties=dict(life.properties) or None,
            comment=life.comment,
            sets_comment=life.comment is not None,
        )
    for start in range(0, len(records), _AT_ONCE):
        yield Commit(head("append"), next_id, added=tuple(records[start : start + _AT_ONCE]))
    for application, batch in sorted(life.applications.items()):
        yield Commit(head("append"), next_id, batch=Batch(application, batch))


def _put(new: Store, commits: list[Commit]) -> TableState:
    """Write the log, the first entry last: so the table is there when it is whole."""
    state: TableState | None = None
    whole: list[Commit] = []
    for commit in commits:
        # A manifest is a feature, which later entries name, too.
        features = Features() if state is None else state.features
        whole.append(
            write_manifest(replace(commit, head=replace(commit.head, features=features)), None, new)
        )
        state = apply(state, whole[-1])
    assert state is not None
    timeline = CommitLog(new, TableCodec())
    for commit in reversed(whole):
        path = timeline.entry_path(commit.head.version)
        if new.put_if_absent(path, commit_to_bytes(commit)) is not Put.WON:
            raise AlreadyExistsError(
                f"{new.url}/{path} was written by somebody else, or the store did not say; recover to "
                "another folder"
            )
    return state


def _unknown(told: Told, life: Life, made_up: list[int]) -> Iterable[str]:
    """What could not be known."""
    state = told.state
    if state is None:
        yield "no part of the log could be followed: everything is told by the segments alone"
        yield (
            "which segments were live: rows that were deleted, updated or overwritten may be back, "
            "beside what replaced them"
        )
        yield "the order of the commits: segments stand in that of the versions they were planned on"
        yield (
            "names, defaults, types and comments that were changed after the last segment was written, "
            "and columns that were added or dropped after it"
        )
        if not any(commit.properties is not None for commit in told.later):
            yield "the table's properties and comment"
    else:
        yield (
            f"whether anything was committed after version {state.version}, up to which the log could "
            f"be followed, beyond {len(told.later)} later entries that can be read"
        )
        if life.guessed:
            yield (
                f"whether {len(life.guessed)} segments that no entry names were live: they are taken, "
                "and may be what a writer that died left, or was removed again"
            )
        if state.dropped:
            yield f"why it is wanted back: the log says that it was dropped at version {state.version}"
        if state.tags:
            named = ", ".join(f"{name} = {state.tags[name]}" for name in sorted(state.tags))
            yield f"where the tags belong in the new log; they were {named}"
    if told.unreadable:
        shown = ", ".join(told.unreadable[:20])
        yield f"what these entries said, which are missing or can't be read: {shown}"
    if made_up:
        yield (
            f"the schema versions {', '.join(map(str, made_up))}, of which there is no segment and no "
            "entry; each repeats the one before"
        )
    if not life.applications:
        yield "the last batch of each streaming sink: one that is sent again is written again"
    yield (
        "history: time travel in the new table begins with the recovery; the old folder is as it was"
    )
