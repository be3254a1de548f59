"""What streams share: the log of a table, the schema, and the frame of micro-batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import (
    InvalidRequestError,
    NotFoundError,
    SchemaChangedError,
    VersionedError,
)
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.pinned_state import Through, check_schema_version
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.pins import Overflow, Seen, without_dropped
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import Column, is_nested, walk
from versioned_catalog.read.metadata_columns import nullable
from versioned_catalog.stream.consumers import advance, register
from versioned_catalog.stream.follower import Follower, gone, since, starting_version
from versioned_catalog.stream.offsets import (
    NO_LIMITS,
    Admission,
    Limits,
    Offset,
    OnDrop,
    SchemaMode,
    Settings,
    Sizes,
    total_of,
)


def shown(schema: Schema) -> Schema:
    """The columns of a stream: those of a schema, all nullable, since a column may be dropped later."""
    return Schema(tuple(map(nullable, schema.visible.columns)), schema.version)


def check_no_drop(columns: tuple[Column, ...], now: Schema, table: str, version: int) -> None:
    """Refuse a commit that dropped a column that is read.

    Raises:
        InvalidRequestError: naming the column.
    """
    ids = now.visible.ids
    for column, above in walk(columns):
        if column.id > 0 and column.id not in ids:
            path = render_path((*(parent.name for parent in above), column.name))
            raise InvalidRequestError(
                f"{table}: the column {path} was dropped at version {version}; start the query with a "
                "DataFrame that does not read it, or leave out onDrop = 'fail' to read null",
                condition="COLUMN_NOT_FOUND",
            )


def check_same(before: Schema, now: Schema, table: str, version: int) -> None:
    """Refuse a commit after which a new DataFrame would have other columns.

    Raises:
        SchemaChangedError: saying what changed.
    """
    changes = list(_differences(before.visible, now.visible))
    if changes:
        raise SchemaChangedError(
            f"{table}: the schema changed at version {version} ({'; '.join(changes)}), and schemaMode "
            "is 'stop'; all rows before are read: start the query with a new DataFrame and the same "
            "checkpoint, or let pyspark_versioned.follow do so"
        )


def _differences(before: Schema, now: Schema) -> Iterator[str]:
    """How the columns of two schemas differ for a reader that names them."""
    for column_id in sorted(before.ids - now.ids):
        if not {ancestor.id for ancestor in before.ancestors(column_id)} - now.ids:
            yield f"{before.path_text(column_id)} was dropped"
    for column_id in sorted(now.ids - before.ids):
        if not {ancestor.id for ancestor in now.ancestors(column_id)} - before.ids:
            yield f"{now.path_text(column_id)} was added"
    for column_id in sorted(before.ids & now.ids):
        old, new = before.column(column_id), now.column(column_id)
        if old.name != new.name:
            yield f"{before.path_text(column_id)} was renamed to {now.path_text(column_id)}"
        if not is_nested(old.type) and old.type != new.type:
            text = render_type(new.type)
            yield f"{now.path_text(column_id)} is {text} now, and was {render_type(old.type)}"
    both = before.ids & now.ids
    if [c.id for c, _ in walk(before.columns) if c.id in both] != [
        c.id for c, _ in walk(now.columns) if c.id in both
    ]:
        yield "columns were moved"


@dataclass(frozen=True)
class View:
    """How a stream sees segments of any schema version.

    Args:
        schema: the schema version that the stream has.
        pinned: whether it is that of a schema pin, which also sees columns that are hidden now.
        overflow: how a value that does not fit its type there is shown.
    """

    schema: Schema
    pinned: bool = False
    overflow: Overflow = Overflow.ERROR

    def stored(self, schemas: Schemas, version: int) -> Schema:
        """A schema version as this stream sees it: without a pin, hidden columns count as dropped."""
        return schemas[version] if self.pinned else schemas[version].visible

    def states(self, state: TableState, segments: pa.Table) -> Iterator[TableState]:
        """Snapshots that together hold some segments, one for each schema version.

        A batch is read as a scan of such snapshots, so streams filter, project, narrow and read natively
        as scans do.

        Args:
            state: the newest snapshot of the incarnation, which knows the schemas.
            segments: their core columns; they need not be live, nor live together.
        """
        versions, label = segments["schema_version"], str(self.schema.version)
        for version in sorted(pc.unique(versions).to_pylist()):
            columns, stored = shown(self.schema), self.stored(state.schemas, version)
            if version > self.schema.version:
                columns = replace(columns, columns=without_dropped(columns.columns, stored.ids))
            of_version = segments.filter(pc.equal(versions, array_of([version], pa.int32())[0]))
            yield replace(
                state,
                schemas=Schemas.of([stored]),
                schema_version=version,
                segments=SegmentSet.of(of_version),
                lens=Lens(label, Seen(columns, stored), self.overflow),
            )


class StreamLog:
    """The log of a table as one stream follows it.

    Args:
        handle: the table; a pin that it is seen through is the schema of the stream.

    Attributes:
        uuid: the incarnation of the table that is read.
        view: the schema of the stream.

    Raises:
        NotFoundError: there is no such schema version.
    """

    def __init__(self, handle: TableHandle, settings: Settings) -> None:
        state = handle.state
        self.settings = settings
        self.uuid = state.table_uuid
        self.follower = Follower(TableHandle(handle.log, handle.loaded, handle.name))
        self.view = _view(handle, state, settings)
        self._snapshot: TableState | None = None

    @property
    def name(self) -> str:
        """The table's name in errors."""
        return self.follower.name

    def catch_up(self, offset: Offset) -> None:
        """Read the log as far as an offset, which may come from another process."""
        if self._is_ahead(offset):
            self.follower.refresh()
        self._check_there(offset)

    def begun(self, start: Offset) -> Offset:
        """The start of a stream with a starting time, once a commit of that time exists.

        Before, ``initial`` knows only that it is later than the newest version. The place is in the
        offset at which the first batch ends, so any process finds it again; see ``Offset.beginning``.
        """
        time = self.settings.starting_time
        if time is None or not start.is_first or self.follower.state.version < start.version:
            return start
        first = since(self.follower, time)
        return start if first <= start.version else replace(start, version=first).as_first()

    def beginning(self, start: Offset, end: Offset) -> Offset:
        """The start of the batch between two offsets, of this incarnation. See ``Offset.beginning``.

        Spark before 4.2 ends batches without their start, so ``end`` does not know the first place.
        """
        self.check_incarnation(start)
        self.catch_up(end)
        if end.first is not None:
            return start.beginning(end)
        begun = self.begun(start)
        return begun if begun.place <= end.place else end

    def _is_ahead(self, offset: Offset) -> bool:
        """Whether an offset is beyond the place after the newest version."""
        return offset.version > self.follower.state.version + (not offset.snapshot)

    def _check_there(self, offset: Offset) -> None:
        if self._is_ahead(offset):
            raise NotFoundError(
                f"{self.name}: the checkpoint says that version {offset.version - 1} was read, and the "
                f"newest version is {self.follower.state.version}: the table was restored from an older "
                "copy, or the checkpoint is that of another one; start the query with a new checkpoint",
                condition="VERSION_NOT_FOUND",
            )

    def offset(self, version: int) -> Offset:
        """The place before a version."""
        return Offset(self.uuid, version, 0, self.view.schema.version)

    def here(self, place: Offset, ordinal: int) -> Offset:
        """A place with the schema of this stream, whatever schema an earlier query read."""
        return replace(place, ordinal=ordinal, schema_version=self.view.schema.version)

    def after(self, place: Offset) -> Offset:
        """The place after the version of ``place``."""
        return self.here(replace(place, version=place.version + 1, snapshot=False), ordinal=0)

    def check_incarnation(self, start: Offset) -> None:
        """Refuse an offset of an earlier incarnation of the table. Raises NotFoundError."""
        if start.table_uuid != self.uuid:
            raise gone(self.name, self.follower.state.created_version, replaced=True)

    def check_start(self, start: Offset) -> None:
        """Refuse an offset of another table, or of versions that do not exist. Raises NotFoundError."""
        self.check_incarnation(start)
        self._check_there(start)

    def snapshot(self, start: Offset) -> TableState:
        """The snapshot that a stream starts with."""
        if self._snapshot is None or self._snapshot.version != start.version:
            self._snapshot = self.follower.at(start.version)
        return self._snapshot

    def rest(self, start: Offset) -> pa.Table:
        """The core columns of the unread segments of the first snapshot."""
        return self.snapshot(start).segments.core.slice(start.ordinal)

    def check_schema(self, commit: Commit, columns: tuple[Column, ...] | None) -> None:
        """Refuse a commit whose change of the schema the stream can't pass.

        Args:
            columns: those that are read, for ``onDrop = fail``; None for all.
        """
        now, schema, version = commit.schema, self.view.schema, commit.head.version
        if now is None or self.view.pinned or now.version <= schema.version:
            return
        if self.settings.schema_mode is SchemaMode.STOP:
            check_same(schema, now, self.name, version)
        if self.settings.on_drop is OnDrop.FAIL:
            wanted = shown(schema).columns if columns is None else columns
            check_no_drop(wanted, now, self.name, version)


def _read_before(place: Offset) -> int:
    """The version whose snapshot a stream at a place continues from."""
    return place.version if place.snapshot else max(place.version - 1, 0)


def _view(handle: TableHandle, state: TableState, settings: Settings) -> View:
    """The schema of a stream: that of the pin through which the table is seen, or a schema version."""
    if isinstance(handle.through, Through):
        return View(handle.through.schema, pinned=True, overflow=handle.through.overflow)
    number = settings.schema_version
    if number is None:
        number = state.schema_version
    check_schema_version(state, number, handle.name)
    return View(state.schemas[number].visible)


LOOK_AHEAD = 256
"""Number of commits that are read to say how many rows a stream is behind, at most."""


@dataclass(frozen=True)
class Behind:
    """The backlog of a stream.

    Args:
        versions: number of commits.
        segments, rows, bytes: of the rows that they added; of the next 256 commits only.
    """

    versions: int
    segments: int
    rows: int
    bytes: int


def _check_no_branch(handle: TableHandle) -> None:
    """Refuse to read a branch as a stream: its versions end when it is replaced.

    Raises:
        InvalidRequestError: naming the branch.
    """
    if handle.state.branch is not None:
        raise InvalidRequestError(
            f"{handle.name} is a branch, which can't be read as a stream; read the table as one, or the "
            "changes of a range of versions of the branch",
            condition="NOT_SUPPORTED",
        )


class Stream(ABC):
    """Micro-batches that end at offsets: what ``TableStream`` and ``ChangeStream`` share.

    A stream says which parts of a commit it reads, and reads those between two offsets.
    """

    def __init__(self, handle: TableHandle, settings: Settings | None) -> None:
        _check_no_branch(handle)
        self.store = handle.store
        self._log = StreamLog(handle, settings or Settings())
        self._handle = TableHandle(handle.log, handle.loaded, handle.name)

    @abstractmethod
    def _sizes(self, commit: Commit, columns: tuple[Column, ...] | None) -> Sizes:
        """The parts of a commit that are read. Raises VersionedError if the stream can't pass it."""

    def _snapshot_sizes(self, start: Offset) -> Sizes:
        """The parts of the first snapshot that are read from an offset on."""
        segments = self._log.snapshot(start).segments
        columns = (segments.shown_counts, segments.column("bytes"))
        rest = (column.slice(start.ordinal).to_pylist() for column in columns)
        return [(1, rows, size) for rows, size in zip(*rest, strict=True)]

    def initial(self) -> Offset:
        """Where a new stream starts.

        Raises:
            NotFoundError: the version to start with does not exist, is expired or of another table.
            InvalidRequestError: two places to start with are given, or one is malformed.
        """
        log, consumer = self._log, self._log.settings.consumer
        newest = log.follower.refresh().version
        first = starting_version(log.follower, log.settings)
        place = log.offset(newest if first is None else first)
        place = replace(place, snapshot=first is None)
        if consumer is not None:
            register(self._handle, consumer, _read_before(place))
        return place.as_first()

    def latest(
        self,
        start: Offset,
        limits: Limits = NO_LIMITS,
        *,
        columns: tuple[Column, ...] | None = None,
        until: int | None = None,
    ) -> Offset:
        """Where the next micro-batch ends; ``start`` if there is nothing new.

        It ends before a commit that the stream can't pass; a batch that would start there raises.

        Args:
            start: where it starts.
            limits: how much it may read.
            columns: those that are read, for ``onDrop = fail``; None for all.
            until: the last version to read; None for the newest.

        Raises:
            InvalidRequestError: the next commit dropped a column, or, for added rows, removed rows or
                wrote rows again.
            SchemaChangedError: the next commit changes the schema, and the stream stops there.
            NotFoundError: the table was dropped or replaced, or the next commit is expired.
        """
        log = self._log
        newest = log.follower.refresh().version
        log.check_start(start)
        origin, start = start, log.begun(start)
        log.follower.forget(start.version)
        until = newest if until is None else min(until, newest)
        place, admission = start, Admission(limits)
        if start.snapshot:
            place = self._admit(start, self._snapshot_sizes(start), admission)
        for commit in () if place.snapshot else log.follower.commits(place.version, until):
            try:
                sizes = self._sizes(commit, columns)
            except VersionedError:
                if place.place == start.place:
                    raise
                break
            version = place.version
            place = self._admit(place, sizes[place.ordinal :], admission)
            if place.version == version:
                break
        return origin if place.place == start.place else place

    def _admit(self, place: Offset, sizes: Sizes, admission: Admission) -> Offset:
        """The offset after the parts that are admitted."""
        for admitted, size in enumerate(sizes):
            if not admission.admit(size):
                return self._log.here(place, ordinal=place.ordinal + admitted)
        return self._log.after(place)

    def consumed(self, place: Offset) -> None:
        """Mark everything before a place as processed; this advances the stream's consumer, if any.

        Raises:
            StorageError: the move could not be committed.
        """
        consumer = self._log.settings.consumer
        if consumer is not None:
            advance(self._handle, consumer, _read_before(place), self._log.uuid)

    def newest(self) -> Offset:
        """The offset of a stream that has read everything."""
        return self._log.offset(self._log.follower.refresh().version + 1)

    def behind(self, offset: Offset) -> Behind:
        """The backlog after an offset, as far as the log was read."""
        log = self._log
        log.catch_up(offset)
        offset = log.begun(offset)
        newest, first = log.follower.state.version, offset.version + offset.snapshot
        sizes = self._snapshot_sizes(offset) if offset.snapshot else []
        for commit in log.follower.commits(first, min(newest, first + LOOK_AHEAD - 1)):
            try:
                parts = self._sizes(commit, None)
            except VersionedError:
                break
            sizes += parts[offset.ordinal if commit.head.version == offset.version else 0 :]
        return Behind(max(newest - first + 1, 0) + offset.snapshot, *total_of(sizes))
