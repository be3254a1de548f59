"""A table as a stream of the rows that are added to it."""

from __future__ import annotations

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.log.segment_table import core_table
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column
from versioned_catalog.read.scan import Scan
from versioned_catalog.stream.follower import added_segments
from versioned_catalog.stream.offsets import Offset, Settings, Sizes, sizes_of
from versioned_catalog.stream.stream_log import Stream, shown


class TableStream(Stream):
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
        super().__init__(handle, settings)
        _check_not_keyed(handle.state, handle.name)

    @property
    def schema(self) -> Schema:
        """The columns of the stream; all are nullable."""
        return shown(self._log.view.schema)

    @property
    def declared(self) -> Schema:
        """The same columns as the table had them at the start, some of them NOT NULL."""
        return self._log.view.schema.visible

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as an Arrow schema."""
        return to_arrow_schema(self.schema.columns)

    def states(
        self, start: Offset, end: Offset, columns: tuple[Column, ...] | None = None
    ) -> list[TableState]:
        """The rows between two offsets, as snapshots that are seen in the schema of the stream.

        There is one for each schema version of the segments. See ``latest``.
        """
        start = self._log.beginning(start, end)
        tables, added = list[pa.Table](), list[LiveSegment]()
        if start.snapshot:
            rest = self._log.rest(start)
            tables.append(rest.slice(0, end.ordinal - start.ordinal) if end.snapshot else rest)
            start = self._log.after(start)
        last = end.version - (end.snapshot or not end.ordinal)
        for commit in self._log.follower.commits(start.version, last):
            segments, version = self._added(commit, columns), commit.head.version
            first = start.ordinal if version == start.version else 0
            added += segments[first : end.ordinal if version == end.version else None]
        segments = pa.concat_tables([*tables, core_table(added)])
        return list(self._log.view.states(self._log.follower.incarnation, segments))

    def read(self, start: Offset, end: Offset) -> pa.Table:
        """The rows between two offsets, in one Arrow table. See ``states``."""
        scans = [Scan(self.store, s, s.seen.schema.columns) for s in self.states(start, end)]
        tables = [scan.to_arrow() for scan in scans]
        return pa.concat_tables(tables) if tables else self.arrow_schema.empty_table()

    def _sizes(self, commit: Commit, columns: tuple[Column, ...] | None) -> Sizes:
        return sizes_of(segment.record for segment in self._added(commit, columns))

    def _added(self, commit: Commit, columns: tuple[Column, ...] | None) -> tuple[LiveSegment, ...]:
        """The segments whose rows a commit adds to the stream; raises if the stream can't pass it."""
        log = self._log
        segments = added_segments(
            commit, log.follower.incarnation, log.settings.on_rewrite, log.name
        )
        log.check_schema(commit, columns)
        return segments


def _check_not_keyed(state: TableState, table: str) -> None:
    if state.schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has a primary key, so its rows are replaced, and a stream of added rows would "
            "show them twice; read its changes, by readStream.changes or with the option readChanges "
            "(in Python, Table.change_stream)",
            condition="NOT_SUPPORTED",
        )
