"""Metadata columns, and the columns of a change feed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model import keys
from versioned_catalog.model.arrow import array_of, scalar_of, to_arrow_schema
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Array, Atom, Column, DataType, Map, Struct

METADATA_COLUMNS = (
    Column(
        -1, "_segment", Atom.STRING, False, comment="the path of the row's segment in the table"
    ),
    Column(-2, "_schema_version", Atom.INT, False, comment="the schema version of the segment"),
    Column(
        -3, "_row_position", Atom.LONG, False, comment="the row's position in the segment, from 0"
    ),
    Column(-4, "_sequence", Atom.LONG, False, comment="the version that committed the segment"),
    Column(-5, "_commit_time", Atom.TIMESTAMP, False, comment="the time of that commit"),
)

KEYED_METADATA_COLUMNS = (
    Column(-6, "__sequence", Atom.LONG, False, comment="the version that last wrote the row"),
    Column(
        -7, "__op_type", Atom.BYTE, False, comment="what that write did: 0 PUT, 1 DELETE, 2 PATCH"
    ),
)
"""More metadata columns of tables with a primary key. A segment may store them."""

ROW_ID_METADATA_COLUMNS = (
    Column(-8, "_row_id", Atom.LONG, False, comment="the row's ID, which it keeps"),
    Column(-9, "_row_updated", Atom.LONG, False, comment="the version that last wrote the row"),
)
"""More metadata columns of tables with row IDs. A segment may store them, with nulls."""

SEQUENCE_OF_ROW, OP_TYPE_OF_ROW = (c.id for c in KEYED_METADATA_COLUMNS)
ROW_ID, ROW_UPDATED = (c.id for c in ROW_ID_METADATA_COLUMNS)
STORED_AS = {
    SEQUENCE_OF_ROW: keys.SEQUENCE.id,
    OP_TYPE_OF_ROW: keys.OP_TYPE.id,
    ROW_ID: keys.ROW_ID.id,
    ROW_UPDATED: keys.ROW_UPDATED.id,
}
"""The column IDs under which a segment stores metadata columns, if it does."""

ALL_METADATA_COLUMNS = (*METADATA_COLUMNS, *KEYED_METADATA_COLUMNS, *ROW_ID_METADATA_COLUMNS)


def of_table(*, keyed: bool, row_ids: bool) -> tuple[Column, ...]:
    """The metadata columns of a table."""
    more = KEYED_METADATA_COLUMNS if keyed else ()
    return (*METADATA_COLUMNS, *more, *(ROW_ID_METADATA_COLUMNS if row_ids else ()))


SEGMENT, SCHEMA_VERSION, ROW_POSITION, SEQUENCE, COMMIT_TIME = (c.id for c in METADATA_COLUMNS)


def find_metadata(name: str) -> Column | None:
    """The metadata column of a name, or None. A table column of that name takes precedence."""
    return next((column for column in ALL_METADATA_COLUMNS if column.name == name.lower()), None)


INSERT, DELETE, PREIMAGE, POSTIMAGE = "insert", "delete", "update_preimage", "update_postimage"

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
)

TYPES = (INSERT, DELETE, PREIMAGE, POSTIMAGE)
"""The values of ``_change_type``."""

CHANGE_COLUMNS = pa.schema(
    [
        pa.field(CHANGE_TYPE, pa.string(), nullable=False),
        pa.field(COMMIT_VERSION, pa.int64(), nullable=False),
        pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)
"""The columns after those of the table."""

_NAMES = array_of(TYPES, pa.string())


def nullable(column: Column) -> Column:
    """A column that may be null, at every depth: rows of earlier versions may break NOT NULL of now."""
    return replace(column, nullable=True, type=_nullable_inside(column.type))


def _nullable_inside(type_: DataType) -> DataType:
    match type_:
        case Struct(fields):
            return Struct(tuple(map(nullable, fields)))
        case Array(element):
            return Array(nullable(element))
        case Map(key, value):
            return Map(replace(key, type=_nullable_inside(key.type)), nullable(value))
        case _:
            return type_


def stored_columns(schema: Schema, *, row_ids: bool) -> tuple[Column, ...]:
    """The columns of rows that are copied: those of the table, and their IDs if they have some."""
    more = tuple(map(nullable, ROW_ID_METADATA_COLUMNS)) if row_ids else ()
    return (*schema.columns, *more)


def feed_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of changes of rows with these columns."""
    return (
        *columns,
        Column(-1, CHANGE_TYPE, Atom.STRING, nullable=False),
        Column(-2, COMMIT_VERSION, Atom.LONG, nullable=False),
        Column(-3, COMMIT_TIMESTAMP, Atom.TIMESTAMP, nullable=False),
    )


def feed_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of changes of rows with these columns."""
    return pa.schema([*to_arrow_schema(tuple(columns)), *CHANGE_COLUMNS])


def check_names(schema: Schema, columns: Sequence[Column], table: str) -> None:
    """Refuse shown columns that have the names of columns of the feed.

    Raises:
        InvalidRequestError: naming the column.
    """
    for column in columns:
        if column.name.lower() in CHANGE_COLUMNS.names:
            others = [name for name in schema.names if name.lower() not in CHANGE_COLUMNS.names]
            raise InvalidRequestError(
                f"{table}: the changes of the column {column.name} can't be shown, since changes have a "
                f"column of that name; rename it, or leave it out: columns={others}"
            )


def type_names(codes: pa.Array) -> pa.Array:
    """The types of changes, by their places in ``TYPES``."""
    return _NAMES.take(codes)


def microseconds(time: datetime) -> int:
    """A time as a timestamp stores it."""
    return (time - UNIX_EPOCH) // timedelta(microseconds=1)


def constant_columns(type_: str, version: int, time: datetime, rows: int) -> list[pa.Array]:
    """The columns of the feed, for changes of one type in one commit."""
    stamp = zip((version, microseconds(time)), list(CHANGE_COLUMNS)[1:], strict=True)
    return [
        _repeated(type_, 1 << rows.bit_length()).slice(0, rows),
        *(pa.repeat(scalar_of(value, pa.int64()), rows).view(field.type) for value, field in stamp),
    ]


@functools.lru_cache(maxsize=4)
def _repeated(type_: str, rows: int) -> pa.Array:
    """A type of changes, many times: batches of one size share it."""
    return pa.repeat(scalar_of(type_, pa.string()), rows)
