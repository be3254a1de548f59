"""A table as a stream of the rows that are added to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.log.segment_table import CORE, core_table
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column
from versioned_catalog.read.scan import Scan
from versioned_catalog.stream.follower import Added, Effect, Ends, effect_of
from versioned_catalog.stream.offsets import (
    NO_LIMITS,
    Admission,
    Limits,
    Offset,
    Settings,
    sizes_in,
    sizes_of,
)
from versioned_catalog.stream.stream_log import StreamLog, shown, states_of

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


class TableStream:
    """Reads what is added to a table, in micro-batches that end at offsets.

    The schema stays that of the start, and columns are matched by ID. So a batch has the same rows
    whenever it is planned, and a schema change needs no restart.

    >>> table = catalog.create_table("t", "id BIGINT, celsius DOUBLE")
    >>> table.append(pa.table({"id": [1], "celsius": [20.5]}))
    1
    >>> stream = table.stream()
    >>> first = stream.latest(stream.initial())
    >>> table.alter().rename_column("celsius", "temperature").commit()
    2
    >>> table.append(pa.table({"id": [2], "temperature": [21.0]}))
    3
    >>> stream.read(first, stream.latest(first)).to_pylist()
    [{'id': 2, 'celsius': 21.0}]

    Args:
        handle: the table; a pin that it is seen through is the schema of the stream.

    Raises:
        InvalidRequestError: the table has a primary key.
        NotFoundError: there is no such schema version.
    """

    def __init__(self, handle: TableHandle, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        state = handle.state
        _check_not_keyed(state, handle.name)
        self.store = handle.store
        self._log = StreamLog(handle, self._settings)
        self._follower, self._view = self._log.follower, self._log.view

    @property
    def schema(self) -> Schema:
        """The columns of the stream; all are nullable."""
        return shown(self._view.schema)

    @property
    def declared(self) -> Schema:
        """The same columns as the table had them at the start, some of them NOT NULL."""
        return self._view.schema.visible

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as an Arrow schema."""
        return to_arrow_schema(self.schema.columns)

    def initial(self) -> Offset:
        """Where a new stream starts.

        Raises:
            NotFoundError: the version to start with does not exist, is expired or of another table.
            InvalidRequestError: two places to start with are given, or one is malformed.
        """
        return self._log.initial()

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
            InvalidRequestError: the next commit removed rows or wrote rows again, or dropped a column.
            SchemaChangedError: the next commit changes the schema, and the stream stops there.
            NotFoundError: the table was dropped or replaced, or the next commit is expired.
        """
        newest = self._follower.refresh().version
        self._log.check_start(start)
        origin, start = start, self._log.begun(start)
        self._follower.forget(start.version)
        until = newest if until is None else min(until, newest)
        place, admission = start, Admission(limits)
        if start.snapshot:
            place = self._log.admit(start, sizes_in(self._log.rest(start)), admission)
        if not place.snapshot:
            place = self._through_commits(place, until, admission, columns, start)
        return origin if place.place == start.place else place

    def consumed(self, place: Offset) -> None:
        """Mark everything before a place as processed; this advances the stream's consumer, if any.

        Raises:
            StorageError: the move could not be committed.
        """
        self._log.consumed(place)

    def newest(self) -> Offset:
        """The offset of a stream that has read everything."""
        return self._log.newest()

    def states(
        self, start: Offset, end: Offset, columns: tuple[Column, ...] | None = None
    ) -> list[TableState]:
        """The rows between two offsets, as snapshots that are seen in the schema of the stream.

        There is one for each schema version of the segments. See ``latest``.
        """
        self._log.check_incarnation(start)
        self._log.catch_up(end)
        start = self._log.beginning(start, end)
        tables = [table for table in self._tables(start, end, columns) if table.num_rows]
        segments = pa.concat_tables(tables) if tables else CORE.empty_table()
        return list(states_of(self._view, self._follower.incarnation, segments))

    def read(self, start: Offset, end: Offset) -> pa.Table:
        """The rows between two offsets, in one Arrow table. See ``states``."""
        scans = [Scan(self.store, s, s.seen.schema.columns) for s in self.states(start, end)]
        tables = [scan.to_arrow() for scan in scans]
        return pa.concat_tables(tables) if tables else self.arrow_schema.empty_table()

    def behind(self, offset: Offset) -> Behind:
        """The backlog after an offset, as far as the log was read."""
        self._log.catch_up(offset)
        offset = self._log.begun(offset)
        newest = self._follower.state.version
        sizes = sizes_in(self._log.rest(offset)) if offset.snapshot else []
        first = offset.version + offset.snapshot
        for commit in self._follower.commits(first, min(newest, first + LOOK_AHEAD - 1)):
            effect = self._effect(commit, None)
            if isinstance(effect, Ends):
                break
            skipped = offset.ordinal if commit.head.version == offset.version else 0
            sizes += sizes_of(effect.segments[skipped:])
        rows, size = (sum(segment[at] for segment in sizes) for at in range(2))
        return Behind(max(newest - first + 1, 0) + offset.snapshot, len(sizes), rows, size)

    def _through_commits(
        self,
        place: Offset,
        until: int,
        admission: Admission,
        columns: tuple[Column, ...] | None,
        start: Offset,
    ) -> Offset:
        """Admit the segments that commits added, from a place on."""
        for commit in self._follower.commits(place.version, until):
            effect = self._effect(commit, columns)
            if isinstance(effect, Ends):
                if place.place == start.place:
                    raise effect.error
                return place
            after = self._log.admit(place, sizes_of(effect.segments[place.ordinal :]), admission)
            if after.version == place.version:
                return after
            place = after
        return place

    def _tables(
        self, start: Offset, end: Offset, columns: tuple[Column, ...] | None
    ) -> Iterator[pa.Table]:
        """The core columns of the segments between two offsets."""
        place = start
        if start.snapshot:
            rest = self._log.rest(start)
            yield rest.slice(0, end.ordinal - start.ordinal) if end.snapshot else rest
            place = replace(start, version=start.version + 1, ordinal=0, snapshot=False)
        if end.snapshot:
            return
        last, added = end.version if end.ordinal else end.version - 1, list[LiveSegment]()
        for commit in self._follower.commits(place.version, last):
            effect = self._effect(commit, columns)
            if isinstance(effect, Ends):
                raise effect.error
            version = commit.head.version
            first = start.ordinal if version == start.version and not start.snapshot else 0
            until = end.ordinal if version == end.version else len(effect.segments)
            added += effect.segments[first:until]
        yield core_table(added)

    def _effect(self, commit: Commit, columns: tuple[Column, ...] | None) -> Effect:
        """The effect of a commit on this stream."""
        log = self._log
        effect = effect_of(commit, log.uuid, self._settings.on_rewrite, log.name)
        refusal = self._log.refusal(commit, columns) if isinstance(effect, Added) else None
        return effect if refusal is None else Ends(refusal)


def _check_not_keyed(state: TableState, table: str) -> None:
    if state.schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has a primary key, so its rows are replaced, and a stream of added rows would "
            "show them twice; read its changes, by readStream.changes or with the option readChanges "
            "(in Python, Table.change_stream)",
            condition="NOT_SUPPORTED",
        )
