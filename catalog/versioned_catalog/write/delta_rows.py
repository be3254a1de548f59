"""Rows and tombstones, fitted to a table with a primary key."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.op_types import DELETE
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types.arrow import to_arrow_schema, to_arrow_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.write.row_schema import Binder


class DeltaBinder:
    """Turns batches of rows and their types of operation into batches of a table's schema.

    Args:
        arrow: what is written: columns, and last the type of operation.
        schema: what the table is.
        table: the table, for errors.
        now: what ``current_timestamp`` and ``current_date`` are in this write.

    Raises:
        InvalidRequestError: as for ``Binder``.
    """

    def __init__(
        self, arrow: pa.Schema, schema: Schema, table: str, now: datetime | None = None
    ) -> None:
        columns = pa.schema(list(arrow)[:-1])
        key = Schema(tuple(c for c in schema.columns if c.id in schema.row_key))
        names = {name_key(column.name) for column in key.columns}
        self._schema = schema
        self._places = [at for at, name in enumerate(columns.names) if name_key(name) in names]
        self._rows = Binder(columns, schema, table, now)
        self._keys = Binder(pa.schema([columns.field(at) for at in self._places]), key, table, now)

    def bind(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as the table stores it, tombstones first; their other columns are null.

        Raises:
            InvalidRequestError: a value does not fit its column.
        """
        ops = batch.column(batch.num_columns - 1).cast(pa.int8())
        rows = batch.select(range(batch.num_columns - 1))
        deletes = pc.equal(ops, scalar_of(DELETE, pa.int8()))
        gone = self._keys.bind(rows.filter(deletes).select(self._places))
        put = self._rows.bind(rows.filter(pc.invert(deletes)))
        both = pa.Table.from_batches([tombstones(gone, self._schema), put])
        ops = pa.concat_arrays([ops.filter(deletes), ops.filter(pc.invert(deletes))])
        one = both.append_column("op", ops).combine_chunks().to_batches()
        return one[0] if one else with_op(put, DELETE)


def tombstones(keys: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Rows of a schema that hold their keys and nothing else.

    Args:
        keys: the columns of the row key, in the order of the schema.
        schema: the table's.
    """
    given = iter(keys.columns)
    arrays = [
        next(given)
        if column.id in schema.row_key
        else pa.nulls(keys.num_rows, to_arrow_type(column.type))
        for column in schema.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(schema.columns))


def with_op(rows: pa.RecordBatch, op: int) -> pa.RecordBatch:
    """Rows, and after their columns what all of them do."""
    ops = pa.repeat(scalar_of(op, pa.int8()), rows.num_rows)
    return pa.RecordBatch.from_arrays([*rows.columns, ops], [*rows.schema.names, "op"])
