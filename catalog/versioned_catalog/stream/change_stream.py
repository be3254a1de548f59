"""The changes of a table as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.pinned_state import Through
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.state import Lens, TableState
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, walk
from versioned_catalog.read.metadata_columns import feed_schema, nullable
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_history import expired_error, first_version, schema_versions
from versioned_catalog.stream.change_planner import Request, plan_changes, plan_inserts, readable
from versioned_catalog.stream.change_tasks import Plan
from versioned_catalog.stream.follower import NO_ROWS, check_passes
from versioned_catalog.stream.offsets import Offset, Settings, Sizes, sizes_of, total_of
from versioned_catalog.stream.stream_log import Stream, View


def seen_by(view: View, end: TableState, newest: TableState, table: str) -> TableState:
    """The last state of a batch, as a stream sees it.

    Rows are read as if the schema of the stream were the last one: later columns are not seen, and
    values of widened ones are narrowed. A dropped column is null in the segments that were written
    since, whatever its default was. So a segment shows the same rows in every batch, whatever its end.

    Args:
        end: the state at the last version of the batch.
        newest: the newest state of the incarnation, which knows all schemas.

    Raises:
        InvalidRequestError: a column had two types of which neither widens to the other.
    """
    if view.pinned:
        through = Through(str(view.schema.version), end.table_uuid, view.schema, view.overflow)
        return through.over(replace(end, schemas=newest.schemas, lens=None), table)
    schemas = _visible(newest.schemas)
    number = view.schema.version
    schema = replace(view.schema, version=newest.schemas.newest.version + 1)
    state = replace(
        end,
        schemas=schemas.grown(schema),
        schema_version=schema.version,
        lens=Lens(str(number), Seen(schema, schema), view.overflow, null_after=number),
        properties={},
    )
    later = {version for version in schema_versions(end.segments) if version > number}
    return readable(state, later, table)


def _visible(schemas: Schemas) -> Schemas:
    """The schemas without hidden columns, which were dropped for a stream that sees no pin."""
    delta_columns = chain.from_iterable(delta.own for delta in schemas.deltas())
    if not any(column.hidden for column, _ in walk((*schemas.newest.columns, *delta_columns))):
        return schemas
    return Schemas.of([schemas[version].visible for version in schemas])


class ChangeStream(Stream):
    """Reads what each commit changes, in micro-batches of whole commits.

    The snapshot of a table with a primary key is one batch. Of a commit, the segments that it added
    count towards the limits, and also the number of those that it removed or of which it marked rows.

    It starts with a snapshot of the table as inserts. The schema stays that of the start, as in a
    ``TableStream``. A change of the schema changes no rows. A compaction changes those from which it
    removes the values of a column that the stream shows and that was dropped.

    >>> table = catalog.create_table("t", "id BIGINT, n BIGINT", primary_key=["id"])
    >>> table.append(pa.table({"id": [1, 2], "n": [10, 20]}))
    1
    >>> stream = table.change_stream()
    >>> first = stream.latest(stream.initial())
    >>> table.delete([("id", "=", 1)])
    2
    >>> for row in stream.read(first, stream.latest(first)).to_pylist():
    ...     print(row["id"], row["n"], row["_change_type"], row["_commit_version"])
    1 10 delete 2

    Args:
        handle: the table; a pin that it is seen through is the schema of the stream.
        settings: where it starts and how it follows the schema.
        updates, carryovers: as for ``Table.changes``.

    Raises:
        NotFoundError: there is no such schema version.
        InvalidRequestError: the schema can't be shown.
    """

    def __init__(
        self,
        handle: TableHandle,
        settings: Settings | None = None,
        *,
        updates: bool = True,
        carryovers: bool = False,
    ) -> None:
        super().__init__(handle, settings)
        self._follower = self._log.follower
        self._request = Request(carryovers=carryovers, updates=updates)
        self._keyed = self._follower.incarnation.schema.is_keyed

    @property
    def declared(self) -> Schema:
        """The columns of the table in the stream; all are nullable."""
        return Schema(tuple(map(nullable, self._log.view.schema.visible.columns)))

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema: the same columns, then those of the feed."""
        return feed_schema(self.declared.columns)

    def initial(self) -> Offset:
        """Where a new stream starts. As ``TableStream.initial``."""
        place = super().initial()
        if not place.snapshot:
            self._check_known(place.version)
        return place

    def changes(self, start: Offset, end: Offset, columns: Sequence[str] | None = None) -> Changes:
        """The changes between two offsets.

        Args:
            columns: names of top-level columns of the table; None for all.

        Raises:
            NotFoundError: the table was replaced before the stream began, or a version is expired.
        """
        start = self._log.beginning(start, end)
        request = replace(self._request, columns=columns)
        plans = []
        if start.snapshot:
            plans.append(self._snapshot(start, end, request))
        if not end.snapshot:
            plans.append(self._between(start.version + start.snapshot, end.version - 1, request))
        whole = tuple(read for plan in plans for read in plan.whole)
        compared = tuple(task for plan in plans for task in plan.compared)
        return Changes(self.store, replace(plans[-1], whole=whole, compared=compared))

    def read(self, start: Offset, end: Offset) -> pa.Table:
        """The changes between two offsets, in one Arrow table. See ``changes``."""
        return self.changes(start, end).to_arrow()

    def _snapshot_sizes(self, start: Offset) -> Sizes:
        sizes = super()._snapshot_sizes(start)
        return [total_of(sizes)] if self._keyed else sizes

    def _sizes(self, commit: Commit, columns: tuple[Column, ...] | None) -> Sizes:
        check_passes(commit, self._follower.incarnation, self._log.name)
        self._log.check_schema(commit, columns)
        if commit.head.operation in NO_ROWS and not self._loses_values(commit):
            return []
        segments, rows, size = total_of(sizes_of(commit.added))
        segments += len(commit.removed) + len(commit.marked)
        return [(segments, rows, size)] if segments else []

    def _loses_values(self, commit: Commit) -> bool:
        """Whether a compaction may have removed values of columns that were dropped."""
        view, schemas = self._log.view, self._follower.incarnation.schemas
        return commit.head.operation == "compact" and any(
            version > view.schema.version
            and not view.schema.ids <= view.stored(schemas, version).ids
            for version in {record.schema_version for record in commit.added}
        )

    def _snapshot(self, start: Offset, end: Offset, request: Request) -> Plan:
        """The rest of the first snapshot, or some segments of it, as inserts."""
        state = self._log.snapshot(start)
        segments = state.segments
        if start.ordinal or end.snapshot:
            until = end.ordinal if end.snapshot else segments.count
            segments = segments.only(segments.paths[start.ordinal : until])
        seen = seen_by(self._log.view, state, self._follower.incarnation, self._log.name)
        return plan_inserts(self.store, seen, segments, request, self._log.name)

    def _between(self, first: int, last: int, request: Request) -> Plan:
        """The changes of some versions, both included; none if the last is below the first."""
        if first <= last:
            self._check_known(first)
        end = self._follower.state_at(max(last, self._follower.incarnation.created_version))
        state = seen_by(self._log.view, end, self._follower.incarnation, self._log.name)
        begin = first if first <= last else end.version + 1
        return plan_changes(self.store, self._follower, state, begin, request, self._log.name)

    def _check_known(self, version: int) -> None:
        """Refuse a version whose changes are expired."""
        newest = self._follower.incarnation
        first = first_version(newest, newest.created_version)
        if version < first:
            raise expired_error(version, first, self._log.name)
