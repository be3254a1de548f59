"""Convert rows and tombstones to the schema of a table with a primary key."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.op_types import DELETE
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.schema.seen import Seen
from versioned_catalog.types.arrow import to_arrow_schema, to_arrow_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.write.row_schema import RowConverter
from versioned_catalog.write.unseen import converter_of


class DeltaConverter:
    """Converts batches of rows with operation types, in the last column, to a table's schema.

    ``now`` is the value of ``current_timestamp`` and ``current_date`` in this write.

    Raises:
        InvalidRequestError: as for ``RowConverter``.
    """

    def __init__(self, arrow: pa.Schema, seen: Seen, table: str, now: datetime) -> None:
        columns = pa.schema(list(arrow)[:-1])
        key = key_schema(seen)
        names = {name_key(column.name) for column in key.columns}
        self._schema = seen.stored
        self._key_positions = [
            at for at, name in enumerate(columns.names) if name_key(name) in names
        ]
        self._rows = converter_of(columns, seen, table, now)
        self._keys = RowConverter(
            pa.schema([columns.field(at) for at in self._key_positions]), key, table, now
        )

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch as the table stores it: tombstones first, null but for their keys.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        ops = batch.column(batch.num_columns - 1).cast(pa.int8())
        rows = batch.select(range(batch.num_columns - 1))
        deletes = pc.equal(ops, scalar_of(DELETE, pa.int8()))
        deleted = self._keys.convert(rows.filter(deletes).select(self._key_positions))
        put = self._rows.convert(rows.filter(pc.invert(deletes)))
        both = pa.Table.from_batches([tombstones(deleted, self._schema), put])
        ops = pa.concat_arrays([ops.filter(deletes), ops.filter(pc.invert(deletes))])
        one = both.append_column("op", ops).combine_chunks().to_batches()
        return one[0] if one else with_op(put, DELETE)


def key_schema(seen: Seen) -> Schema:
    """The columns of the row key in the order of the stored schema, as they are seen."""
    stored = seen.stored
    ids = (column.id for column in stored.columns if column.id in stored.row_key)
    return Schema(tuple(map(seen.schema.column, ids)))


def tombstones(keys: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Return rows of a schema that are null but for their row keys, given in schema order."""
    given = iter(keys.columns)
    arrays = [
        next(given)
        if column.id in schema.row_key
        else pa.nulls(keys.num_rows, to_arrow_type(column.type))
        for column in schema.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(schema.columns))


def with_op(rows: pa.RecordBatch, op: int) -> pa.RecordBatch:
    """Append a column with one operation type to rows."""
    ops = pa.repeat(scalar_of(op, pa.int8()), rows.num_rows)
    return pa.RecordBatch.from_arrays([*rows.columns, ops], [*rows.schema.names, "op"])
