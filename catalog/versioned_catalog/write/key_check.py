"""Compare the row keys of segments by reading them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from versioned_catalog.conflicts.operations import KeyCheck
from versioned_catalog.datafile.arrange import key_columns
from versioned_catalog.datafile.reader import read_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.datafile.segment_writer import WriteSpec
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.scan.tasks import record_task
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_schema
from versioned_catalog.types.types import Column

MOST_KEYS = 5_000_000
"""The most keys held in memory; beyond, segments with overlapping key ranges count as conflicting."""


def key_check(
    store: Store, state: TableState, written: Schema, records: Sequence[SegmentRecord]
) -> KeyCheck:
    """Return the check of written row keys against those of other commits.

    ``written`` is the schema of the commit. Segments of another version have that schema of the table.
    """
    return KeyCheck(state.version, tuple(records), _Keys(store, written, records).meet)


def share_keys(store: Store, spec: WriteSpec, parts: Sequence[Sequence[SegmentRecord]]) -> bool:
    """Whether parts of a write, each with different keys, hold a row key that another one holds, too.

    Beyond ``MOST_KEYS`` rows, they count as holding one.
    """
    records = [record for part in parts for record in part]
    if len(parts) < 2 or sum(record.rows for record in records) > MOST_KEYS:
        return len(parts) > 1
    wanted = tuple(map(spec.schema.column, spec.schema.row_key))
    keys = pa.concat_tables(
        _keys_of(store, record_task(spec.table_uuid, spec.schema, record, wanted), wanted)
        for record in records
    )
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)


class _Keys:
    """The row keys of written segments, read when they are first needed."""

    def __init__(self, store: Store, written: Schema, records: Sequence[SegmentRecord]) -> None:
        self._store = store
        self._written = written
        self._records = records
        self._disjoint: set[str] = set()

    def meet(self, others: Sequence[SegmentRecord], state: TableState) -> bool:
        """Whether other segments hold one of the keys; each segment is read once."""
        if sum(record.rows for record in self._records) > MOST_KEYS:
            return True
        own: pa.Table | None = None
        for other in others:
            if other.path in self._disjoint:
                continue
            own = self._own(state) if own is None else own
            theirs = self._read(other, state.schemas[other.schema_version], state)
            names = theirs.column_names
            if theirs.join(own, names, join_type="left semi").num_rows:
                return True
            self._disjoint.add(other.path)
        return False

    def _own(self, state: TableState) -> pa.Table:
        tables = [
            self._read(record, self._schema(record, state), state) for record in self._records
        ]
        return pa.concat_tables(tables)

    def _schema(self, record: SegmentRecord, state: TableState) -> Schema:
        """The schema of a segment: one of the table, or the new one of its commit."""
        is_new = record.schema_version == self._written.version
        return self._written if is_new else state.schemas[record.schema_version]

    def _read(self, record: SegmentRecord, schema: Schema, state: TableState) -> pa.Table:
        wanted = tuple(map(state.schema.column, state.schema.row_key))
        task = record_task(state.table_uuid, schema, record, wanted)
        return _keys_of(self._store, task, wanted)


def _keys_of(store: Store, task: SegmentTask, wanted: tuple[Column, ...]) -> pa.Table:
    """The row keys of a segment, in columns that kernels compare."""
    key = Schema(wanted, primary_key=tuple(column.id for column in wanted))
    found = pa.Table.from_batches(read_segment(store, task), to_arrow_schema(wanted))
    columns = key_columns(found, key)
    return pa.table(columns, names=[f"k{at}" for at in range(len(columns))])
