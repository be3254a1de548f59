"""Write the rows and tombstones of DELETE and UPDATE on tables with a primary key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from versioned_catalog.datafile.segment_writer import WriteSpec
from versioned_catalog.datafile.writer import write_segments
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.op_types import DELETE
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.scan.scan import Scan
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.storage.store import Store
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.write.delta_rows import key_schema, tombstones, with_op
from versioned_catalog.write.plan import WritePlan
from versioned_catalog.write.row_schema import RowConverter
from versioned_catalog.write.update import RowUpdater


def delete_rows(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec
) -> list[SegmentRecord]:
    """Write tombstones for the rows that match a filter; if ``bound`` is None, for every row."""
    keys = [column for column in state.schema.columns if column.id in state.schema.row_key]

    def gone() -> Iterator[pa.RecordBatch]:
        for batch in Scan(store, state, keys, bound).to_batches():
            yield with_op(tombstones(batch, state.schema), DELETE)

    return write_segments(store, spec, gone())


def write_tombstones(
    store: Store, plan: WritePlan, arrow: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> list[SegmentRecord]:
    """Write tombstones for batches of row keys.

    Raises:
        InvalidRequestError: they do not fit the row key of the table.
    """
    schema, keys = plan.spec.schema, key_schema(plan.seen)
    converter = RowConverter(arrow, keys, plan.table, plan.now)
    gone = (with_op(tombstones(converter.convert(one), schema), DELETE) for one in batches)
    return write_segments(store, plan.spec, gone)


def update_rows(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec, updater: RowUpdater
) -> list[SegmentRecord]:
    """Write the rows that match a filter with new values; if ``bound`` is None, every row.

    Raises:
        InvalidRequestError: a new value does not fit its column.
    """

    def changed() -> Iterator[pa.RecordBatch]:
        for batch in Scan(store, state, state.schema.columns, bound).to_batches():
            yield updater.update(batch)

    return write_segments(store, spec, changed())


def check_assigns_no_key(assignments: object, schema: Schema, table: str) -> None:
    """Refuse assignments to the row key, as Kudu does.

    Raises:
        InvalidRequestError: a column of the row key is assigned to.
    """
    keys = {name_key(schema.column(column_id).name) for column_id in schema.row_key}
    for path in assignments if isinstance(assignments, dict) else ():
        parts = parse_path(path)
        if name_key(parts[0]) in keys:
            raise InvalidRequestError(
                f"{table}: {render_path(parts)} is part of the row key and cannot be updated; "
                "delete the rows, and write them with their new keys",
                condition="KEY_NOT_UPDATABLE",
            )
