"""Rows, tombstones and change feeds in the stored schema of a table with a primary key.

As in Delta and Paimon, the last change of a key in a batch wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log import features
from versioned_catalog.log.features import DELETE_ROW
from versioned_catalog.model.arrow import (
    array_of,
    integers,
    scalar_of,
    to_arrow_schema,
    to_arrow_type,
)
from versioned_catalog.model.generated import Generated
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.read.metadata_columns import (
    CHANGE_COLUMNS,
    CHANGE_TYPE,
    COMMIT_VERSION,
    DELETE,
    PREIMAGE,
    TYPES,
)
from versioned_catalog.read.newest_rows import last_of_keys, sorted_order
from versioned_catalog.read.row_hashes import indices, split_by_hash
from versioned_catalog.write.row_schema import RowConverter
from versioned_catalog.write.segment_writer import key_columns
from versioned_catalog.write.unseen import converter_of
from versioned_catalog.write.writer import SORT_BUFFER_BYTES, Spill, buffered


class DeltaConverter:
    """Converts batches of rows with operation types, in the last column, to a table's schema.

    ``now`` is the value of ``current_timestamp`` and ``current_date`` in this write, and ``generated``
    the columns that are computed.

    Raises:
        InvalidRequestError: as for ``RowConverter``.
    """

    def __init__(
        self,
        arrow: pa.Schema,
        seen: Seen,
        table: str,
        now: datetime,
        generated: Sequence[Generated] = (),
    ) -> None:
        columns = pa.schema(list(arrow)[:-1])
        key = key_schema(seen)
        names = {name_key(column.name) for column in key.columns}
        self._schema = seen.stored
        self._key_positions = [
            at for at, name in enumerate(columns.names) if name_key(name) in names
        ]
        self._rows = converter_of(columns, seen, table, now, generated)
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
        deletes = pc.equal(ops, scalar_of(DELETE_ROW, pa.int8()))
        deleted = self._keys.convert(rows.filter(deletes).select(self._key_positions))
        put = self._rows.convert(rows.filter(pc.invert(deletes)))
        both = pa.Table.from_batches([tombstones(deleted, self._schema), put])
        ops = pa.concat_arrays([ops.filter(deletes), ops.filter(pc.invert(deletes))])
        converted = both.append_column("op", ops).combine_chunks().to_batches()
        return converted[0] if converted else with_op(put, DELETE_ROW)


def key_schema(seen: Seen) -> Schema:
    """The columns of the row key in the order of the stored schema, as they are seen."""
    stored = seen.stored
    ids = (column.id for column in stored.columns if column.id in stored.row_key)
    return Schema(tuple(map(seen.schema.column, ids)))


def tombstones(keys: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Return rows of a schema that are null except for their row keys, which are in schema order."""
    key_arrays = iter(keys.columns)
    arrays = [
        next(key_arrays)
        if column.id in schema.row_key
        else pa.nulls(keys.num_rows, to_arrow_type(column.type))
        for column in schema.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(schema.columns))


def with_op(rows: pa.RecordBatch, op: int) -> pa.RecordBatch:
    """Append a column with one operation type to rows."""
    ops = pa.repeat(scalar_of(op, pa.int8()), rows.num_rows)
    return pa.RecordBatch.from_arrays([*rows.columns, ops], [*rows.schema.names, "op"])


PARTS = 64
"""Parts into which changes are split by key if they do not fit in memory."""

_TYPES = array_of(TYPES, pa.string())
_PREIMAGE, _DELETE = (scalar_of(name, pa.string()) for name in (PREIMAGE, DELETE))
_OP = pa.field("op", pa.int8())


def row_fields(arrow: pa.Schema, change_column: str) -> pa.Schema:
    """The columns of changes that are columns of the table: all but those of the feed."""
    feed_names = _of_feed(change_column)
    return pa.schema([field for field in arrow if name_key(field.name) not in feed_names])


def check_feed(
    arrow: pa.Schema, change_column: str, table: str, *, versioned: bool = False
) -> None:
    """Refuse changes without change types.

    Args:
        versioned: whether they must have versions, since their order is not known.

    Raises:
        InvalidRequestError: there is no such column, or it holds no text.
    """
    if versioned and COMMIT_VERSION not in map(name_key, arrow.names):
        raise InvalidRequestError(
            f"{table}: changes need the column {COMMIT_VERSION}, a whole number by which the last "
            "change of a key counts, since rows have no order in Spark; rename or add one",
            condition="INVALID_OPTION",
        )
    fields = [field for field in arrow if name_key(field.name) == name_key(change_column)]
    if len(fields) != 1 or not _is_text(fields[0].type):
        reason = f"is {fields[0].type}" if len(fields) == 1 else "is not one of their columns"
        raise InvalidRequestError(
            f"{table}: changeColumn names the column {change_column}, which {reason}; name the column "
            f"that says what each row is: {', '.join(TYPES)}",
            condition="INVALID_OPTION",
        )


def _is_text(arrow: pa.DataType) -> bool:
    if pa.types.is_dictionary(arrow):
        return _is_text(arrow.value_type)
    kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(kind(arrow) for kind in kinds)


def _of_feed(change_column: str) -> set[str]:
    return {name_key(name) for name in (change_column, CHANGE_TYPE, *CHANGE_COLUMNS.names)}


class FeedConverter:
    """Converts batches of changes to rows and tombstones, as a table stores them.

    ``insert`` and ``update_postimage`` become rows, ``delete`` becomes a tombstone, and
    ``update_preimage`` is left out. The type of operation and the version of each follow its columns.

    Attributes:
        versioned: whether the changes have versions; else they are in their order.

    Args:
        arrow: the schema of the changes.
        change_column: the column that holds their types.
        now: the value of ``current_timestamp`` and ``current_date`` in this write.
        generated: the columns that are computed.

    Raises:
        InvalidRequestError: as for ``RowConverter``.
    """

    def __init__(
        self,
        arrow: pa.Schema,
        change_column: str,
        seen: Seen,
        table: str,
        now: datetime,
        generated: Sequence[Generated] = (),
    ) -> None:
        names = [name_key(name) for name in arrow.names]
        feed_names = _of_feed(change_column)
        version = name_key(COMMIT_VERSION)
        self._type = names.index(name_key(change_column))
        self._version = names.index(version) if version in names else None
        self._places = [at for at, name in enumerate(names) if name not in feed_names]
        self._change_column, self._table = change_column, table
        self.versioned = self._version is not None
        rows = row_fields(arrow, change_column)
        with_ops = pa.schema([*rows, _OP])
        self._names = with_ops.names
        self._rows = DeltaConverter(with_ops, seen, table, now, generated)

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The changes of a batch, in their order.

        Raises:
            InvalidRequestError: a type of change is unknown, or a value does not fit its column.
        """
        types = batch.column(self._type).cast(pa.string())
        self._check(types)
        kept = pc.not_equal(types, _PREIMAGE)
        batch, types = batch.filter(kept), types.filter(kept)
        ops = pc.equal(types, _DELETE).cast(pa.int8())
        columns = [batch.column(at) for at in self._places]
        converted = self._rows.convert(pa.RecordBatch.from_arrays([*columns, ops], self._names))
        converted = converted.take(_former_order(ops)) if len(ops) else converted
        versions = self._versions(batch)
        names = [str(at) for at in range(converted.num_columns + 1)]
        return pa.RecordBatch.from_arrays([*converted.columns, versions], names)

    def _versions(self, batch: pa.RecordBatch) -> pa.Array:
        if self._version is None:
            return pa.repeat(scalar_of(0, pa.int64()), batch.num_rows)
        versions = batch.column(self._version)
        if not pa.types.is_integer(versions.type) or versions.null_count:
            raise InvalidRequestError(
                f"{self._table}: {COMMIT_VERSION} must be a whole number in every change, since the "
                "last change of a key counts; leave it out if the changes are in their order"
            )
        return versions.cast(pa.int64())

    def _check(self, types: pa.Array) -> None:
        is_known = pc.is_in(types, _TYPES)
        if is_known.true_count < len(types):
            other = types.filter(pc.invert(is_known))[0].as_py()
            raise InvalidRequestError(
                f"{self._table}: the column {self._change_column} holds "
                f"{'null' if other is None else repr(other)}; it must be one of {', '.join(TYPES)}",
                condition="INVALID_VALUE",
            )


def _former_order(ops: pa.Array) -> pa.Array:
    """Positions that restore the order of rows whose tombstones were put first."""
    order = np.argsort(-integers(ops.cast(pa.int64())), kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return indices(places)


def last_changes(
    batches: Iterable[pa.RecordBatch],
    schema: Schema,
    scratch: str | None = None,
    *,
    versioned: bool,
) -> Iterator[pa.RecordBatch]:
    """The last change of each key, as rows followed by their types of operation.

    The highest version wins, and within a version a row wins over a tombstone: an update may come as a
    delete and an insert. Changes without versions are in order.

    Args:
        batches: as ``FeedConverter`` returns them.
        schema: the stored schema.
        scratch: local folder for rows that do not fit in memory; Python's default if omitted.

    Raises:
        StorageError: the local disk is full, or fails.
    """
    tables = buffered(batches, SORT_BUFFER_BYTES)
    first, second = next(tables, None), next(tables, None)
    if first is None:
        return
    if second is None:
        yield from _last(first, schema, versioned).to_batches()
        return
    with Spill[int](scratch) as spill:
        for table in chain((first, second), tables):
            batch = table.combine_chunks().to_batches()[0]
            keys = key_columns(table, schema)
            for part, rows in split_by_hash(batch, keys, PARTS):
                spill.add(part, pa.Table.from_batches([rows]))
        for _, spilled in spill.drain():
            yield from _last(pa.Table.from_batches(spilled), schema, versioned).to_batches()


def _last(table: pa.Table, schema: Schema, versioned: bool) -> pa.Table:
    keys, (ops, versions) = key_columns(table, schema), table.columns[-2:]
    by = [*keys]
    if versioned:
        puts = pc.not_equal(ops, features.DELETE_OP).cast(pa.int8())
        by += [versions.combine_chunks(), puts.combine_chunks()]
    order = sorted_order(by)  # stable
    last = last_of_keys((column.take(order) for column in keys), table.num_rows)
    return table.select(range(table.num_columns - 1)).take(order.filter(last))
