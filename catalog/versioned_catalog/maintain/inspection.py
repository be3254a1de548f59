"""Inspection of a table: its metadata as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError, names_table_in_errors
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain import column_tables, metadata_tables
from versioned_catalog.maintain.expiry import tagged_below
from versioned_catalog.maintain.metadata_tables import consumers, schema_pins


@names_table_in_errors(lambda inspection: inspection._handle.error_names)
class Inspection:
    """The metadata of a table, one Arrow table a method. Obtained as ``table.inspect``.

    >>> table = catalog.create_table("events", "id BIGINT, kind STRING")
    >>> table.append(pa.table({"id": [1, 2], "kind": ["click", "view"]}))
    1
    >>> table.alter().rename_column("kind", "type").commit()
    2
    >>> table.inspect.history()["operation"].to_pylist()
    ['create', 'append', 'alter']
    >>> next(table.inspect.commits())["changes"]
    ['RENAME COLUMN kind TO type']
    >>> table.inspect.segments().select(["schema_version", "rows"]).to_pylist()
    [{'schema_version': 0, 'rows': 2}]
    >>> table.inspect.lineage("type")["path"].to_pylist()
    ['kind', 'type']
    """

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle

    def history(self, limit: int | None = None) -> pa.Table:
        """List the commits, or the newest of them, oldest first.

        Columns: ``version`` (int64), ``time`` (timestamp, UTC), ``operation``, ``schema_version``
        (int32), ``rows_added``, ``segments_added``, ``segments_removed``, ``base_version`` (int64),
        ``changes`` (list of text), ``writer``, ``commit_id``; and ``user``, ``application`` and
        ``message``, as ``committed_by`` says them and Spark's SQL does by itself; ``parameters`` (list
        of text), what else a commit says, such as ``seen_as=billing`` for a write through a pin or
        ``to=3`` for a rollback. ``condition`` is that of a DELETE, UPDATE, MERGE or REPLACE WHERE, in
        SQL; ``rows_inserted``, ``rows_updated`` and ``rows_deleted`` are the rows that it changed, while
        ``rows_added`` also counts those that it copied; ``bytes_added``, ``bytes_removed`` are of
        segments; ``duration_ms`` is how long it ran until its commit. They are null where the writer did
        not know them. Of expired commits, only version, time and commit ID are known.

        Args:
            limit: list only so many of the newest commits, and read the log no further back.

        Raises:
            InvalidRequestError: ``limit`` is not a positive integer.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InvalidRequestError(
                f"{self._handle.name}: limit must be a number of commits, at least 1, got {limit!r}"
            )
        newest = self._state
        first = 0 if limit is None else max(newest.version + 1 - limit, 0)
        entries = self._handle.log.entries(first, newest.version)
        return metadata_tables.history(entries, newest.schema_version)

    def commits(self) -> Iterator[dict[str, Any]]:
        """Iterate over the commits, newest first, each with the columns of ``history`` as a dict.

        The log is read page by page, only as far back as the iterator is used.
        """
        newest = self._state
        entries = self._handle.log.newest_first(newest.version)
        return metadata_tables.commits(entries, newest.schema_version)

    def snapshots(self) -> pa.Table:
        """List the versions that can be read, oldest first.

        Columns: ``version`` (int64), ``time`` (timestamp, UTC), ``operation`` (null if the version is
        kept by a tag only), ``schema_version`` (int32), ``segments``, ``rows``, ``bytes`` (int64),
        ``tags`` (list of text).
        """
        return metadata_tables.snapshots(self.readable(), self._state.tags)

    def segments(self) -> pa.Table:
        """List the live segments.

        Columns: ``path``, ``schema_version`` (int32), ``rows``, ``bytes``, ``sequence`` (int64: the
        version that added the segment), ``commit_time`` (timestamp, UTC), ``partition`` (list of text),
        ``checksum``, ``marked_rows`` (int64: how many of the rows are deleted by a mark).
        """
        return metadata_tables.segments(self._state)

    def partitions(self) -> pa.Table:
        """List the partitions of the current partitioning, ordered by value.

        Segments that were written under another partitioning are not counted.

        Columns: ``partition`` (list of text, null for null: value texts as in FORMAT.md, section 4.2),
        ``rows``, ``segments`` (int64).
        """
        return metadata_tables.partitions(self._state)

    def schemas(self) -> pa.Table:
        """List the columns of every schema version.

        Columns: ``schema_version`` (int32), ``position`` (int32, in pre-order from 0), ``column_id``
        (int32), ``parent_id`` (int32, null at the top level), ``path``, ``physical_path``, ``type``,
        ``nullable``, ``read_default``, ``write_default`` (as SQL), ``comment``, ``since_version``
        (int64: the commit that added the column, null if that is expired), ``names`` (list of text: all
        paths that the column ever had, oldest first).
        """
        return column_tables.schemas(self._state, self._schema_commits())

    def lineage(self, path: str | tuple[str, ...] | int) -> pa.Table:
        """List what a column was in each schema version that holds it, oldest first.

        Columns: ``schema_version`` (int32), ``version`` (int64: the commit that made the schema, null if
        that is expired), ``path``, ``type``, ``nullable``, ``read_default``, ``write_default`` (as SQL).

        Args:
            path: the current path of the column, or its ID, which also finds a dropped column.

        Raises:
            NotFoundError: there is no such column.
        """
        column_id = column_tables.find_column(self._state, path, self._handle.name)
        return column_tables.lineage(self._state, column_id, self._schema_commits())

    def holding(self, path: str | tuple[str, ...] | int) -> pa.Table:
        """List how the live segments hold a column.

        Columns: ``path``, ``schema_version`` (int32), ``rows`` (int64), ``held`` (whether the segment
        holds the column), ``type`` (as written, null if not held), ``filled_with`` (the read default as
        SQL; null if the column is held or was dropped).

        Args:
            path: as for ``lineage``.

        Raises:
            NotFoundError: there is no such column.
        """
        column_id = column_tables.find_column(self._state, path, self._handle.name)
        return column_tables.holding(self._state, column_id)

    def schema_pins(self) -> pa.Table:
        """List the schema pins, those that were retired, and the schemas through which others wrote.

        Columns: ``label``, ``schema_version`` (int32), ``owner``, ``until`` (timestamp, UTC),
        ``declared`` (false for a schema through which rows were written without a pin, or with one
        that was retired), ``needs_hidden`` (list of text: dropped columns that are kept for it),
        ``may_fail`` (list of text: why reads or writes through it may fail), ``writes``,
        ``last_version`` (int64), ``last_time`` (timestamp, UTC): the number of retained commits through
        it, and the last one, ``retired_version`` (int64): the version that retired the pin, as long as
        the commits that declared and retired it are retained. Reads leave no trace.
        """
        state = self._state
        return schema_pins(state, self._handle.log.entries(state.created_version, state.version))

    def consumers(self) -> pa.Table:
        """List the consumers, and how far behind each one is.

        Columns: ``name``, ``version`` (int64, the last that it has read), ``moved`` (timestamp, UTC),
        ``versions_behind`` and ``rows_behind`` (int64; without the moves of consumers and the
        rows of compactions), ``unread_since`` (when the first unread version was committed),
        ``kept_until`` (when expiry may pass it), ``lapsed`` (whether that time has passed).
        """
        state, log = self._state, self._handle.log
        first = min((c.version for c in state.consumers.values()), default=state.version)
        entries = log.entries(max(first + 1, state.floor), state.version)
        return consumers(state, entries, log.store.time())

    @property
    def _state(self) -> TableState:
        return self._handle.state

    def readable(self) -> Iterator[tuple[Commit | None, TableState]]:
        """Iterate over the states that can be read: those that tags keep, then others, with commits."""
        state = self._state
        for version in sorted(tagged_below(state, state.floor)):
            yield None, self._handle.at(version)
        yield from self._handle.log.walk(state.version, state.floor)

    def _schema_commits(self) -> dict[int, int]:
        return column_tables.schema_commits(self._handle.log.entries(0, self._state.version))
