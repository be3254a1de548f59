"""What all streams of a table share: its log, the schema of the stream, and places in the log."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from versioned_catalog.consuming import advance, register
from versioned_catalog.errors import NotFoundError, VersionedError
from versioned_catalog.handle import TableHandle
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.log.through import Through, check_schema_version
from versioned_catalog.schema.schema import Schema
from versioned_catalog.streaming.batch import View
from versioned_catalog.streaming.effects import gone
from versioned_catalog.streaming.follower import Follower
from versioned_catalog.streaming.limits import Admission, Sizes
from versioned_catalog.streaming.offset import Offset
from versioned_catalog.streaming.settings import OnDrop, SchemaMode, Settings
from versioned_catalog.streaming.shape import check_no_drop, check_same, shown
from versioned_catalog.streaming.start import since, starting_version
from versioned_catalog.types.types import Column


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
        self._handle = TableHandle(handle.log, handle.loaded, handle.name)
        self.follower = Follower(TableHandle(handle.log, handle.loaded, handle.name))
        self.view = _view(handle, state, settings)
        self._snapshot: TableState | None = None

    @property
    def name(self) -> str:
        """The table's name in errors."""
        return self.follower.name

    def initial(self) -> Offset:
        """Where a new stream starts. See ``TableStream.initial``."""
        state = self.follower.refresh()
        first = starting_version(self.follower, self.settings)
        place = (
            replace(self.offset(state.version), snapshot=True)
            if first is None
            else self.offset(first)
        )
        if self.settings.consumer is not None:
            register(self._handle, self.settings.consumer, _read_before(place))
        return place.as_first()

    def catch_up(self, offset: Offset) -> None:
        """Read the log as far as an offset, which may come from another process."""
        if self._is_ahead(offset):
            self.follower.refresh()
        self._check_there(offset)

    def begun(self, start: Offset) -> Offset:
        """Where a stream that starts at a time does start, once a commit of that time is there.

        Before, ``initial`` knows only that it is a later version than the newest. The place is in the
        offset at which the first batch ends, so any process finds it again; see ``Offset.beginning``.
        """
        time = self.settings.starting_time
        if time is None or not start.is_first or self.follower.state.version < start.version:
            return start
        first = since(self.follower, time)
        return start if first <= start.version else replace(start, version=first).as_first()

    def beginning(self, start: Offset, end: Offset) -> Offset:
        """Where the batch between two offsets does start. See ``Offset.beginning``.

        Spark before 4.2 ends batches without their start, so ``end`` does not know the first place.
        """
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

    def consumed(self, place: Offset) -> None:
        """Move the consumer of the stream on, if it has one: everything before a place is done with."""
        if self.settings.consumer is not None:
            advance(self._handle, self.settings.consumer, _read_before(place), self.uuid)

    def newest(self) -> Offset:
        """Where a stream that has read everything is."""
        return self.offset(self.follower.refresh().version + 1)

    def offset(self, version: int) -> Offset:
        """The place before a version."""
        return Offset(self.uuid, version, 0, self.view.schema.version)

    def here(self, place: Offset, ordinal: int) -> Offset:
        """A place of this stream, whatever schema another query read before."""
        return replace(place, ordinal=ordinal, schema_version=self.view.schema.version)

    def after(self, place: Offset) -> Offset:
        """The place after the version of another one."""
        return self.here(replace(place, version=place.version + 1, snapshot=False), ordinal=0)

    def check_incarnation(self, start: Offset) -> None:
        """Refuse an offset of a table that was here before. Raises NotFoundError."""
        if start.table_uuid != self.uuid:
            raise gone(self.name, self.follower.state.created_version, replaced=True)

    def check_start(self, start: Offset) -> None:
        """Refuse an offset of another table, or of versions that are not there. Raises NotFoundError."""
        self.check_incarnation(start)
        self._check_there(start)

    def snapshot(self, start: Offset) -> TableState:
        """The snapshot that a stream starts with."""
        if self._snapshot is None or self._snapshot.version != start.version:
            self._snapshot = self.follower.at(start.version)
        return self._snapshot

    def rest(self, start: Offset) -> pa.Table:
        """The core columns of the segments of the first snapshot that are not read yet."""
        return self.snapshot(start).segments.core.slice(start.ordinal)

    def admit(self, place: Offset, sizes: Sizes, admission: Admission) -> Offset:
        """The offset after as many of some segments as are admitted."""
        for admitted, (rows, size) in enumerate(sizes):
            if not admission.admit(rows, size):
                return self.here(place, ordinal=place.ordinal + admitted)
        return self.after(place)

    def refusal(self, commit: Commit, columns: tuple[Column, ...] | None) -> VersionedError | None:
        """Why the stream can't go on at a change of the schema; None if it can.

        Args:
            columns: those that are read, for ``onDrop = fail``; None for all.
        """
        now = commit.schema
        if now is None or self.view.pinned or now.version <= self.view.schema.version:
            return None
        try:
            self._check_schema(now, columns, commit.head.version)
        except VersionedError as error:
            return error
        return None

    def _check_schema(self, now: Schema, columns: tuple[Column, ...] | None, version: int) -> None:
        schema = self.view.schema
        if self.settings.schema_mode is SchemaMode.STOP:
            check_same(schema, now, self.name, version)
        if self.settings.on_drop is OnDrop.FAIL:
            wanted = shown(schema).columns if columns is None else columns
            check_no_drop(wanted, now, self.name, version)


def _read_before(place: Offset) -> int:
    """The version from whose snapshot a stream goes on at a place."""
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
