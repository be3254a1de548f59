"""Projection to stored rows, for writers that see only a part of the columns, or other types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql.types import StructType

from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.unseen import carried_columns, unseen_columns
from versioned_catalog import InvalidRequestError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.keys import ROW_ID_COLUMNS
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    Map,
    Struct,
    children,
    is_metadata,
    is_nested,
    walk,
)
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.write.row_schema import default_value

_Sources = list[messages.ColumnSource]


class _InPython(Exception):
    """The jar can't project the rows."""


@dataclass(frozen=True)
class _Rows:
    """The columns of the rows, or the fields of a struct in them, and those that hold old values."""

    seen: tuple[Column, ...]
    carried: tuple[Column, ...]
    names: Sequence[str]

    def index(self, stored: Column) -> int | None:
        """The index of a stored column among those of the rows, if it is seen."""
        return next((at for at, column in enumerate(self.seen) if column.id == stored.id), None)

    def carried_index(self, stored: Column) -> int | None:
        """The index of the old value of a stored column, or of the unseen parts of it."""
        carried = next((column for column in self.carried if column.id == stored.id), None)
        return None if carried is None else self.names.index(carried.name)

    def inside(self, stored: Column) -> _Rows:
        """The children of a nested column."""
        seen = next(column for column in self.seen if column.id == stored.id)
        carried = next((children(c.type) for c in self.carried if c.id == stored.id), ())
        return _Rows(children(seen.type), carried, [column.name for column in carried])


@dataclass(frozen=True)
class _Planner:
    table: str
    now: datetime
    replaces: bool

    def sources(self, stored: Sequence[Column], rows: _Rows, above: ColumnPath = ()) -> _Sources:
        return [self._source(column, rows, (*above, column.name)) for column in stored]

    def _source(self, stored: Column, rows: _Rows, path: ColumnPath) -> messages.ColumnSource:
        at = rows.index(stored)
        carried = rows.carried_index(stored)
        if at is None:
            return messages.UnseenColumn(carried, self._default(stored, path))
        seen = rows.seen[at]
        if _is_cast(seen, stored):
            return messages.GivenColumn(at, None, None)
        match stored.type:
            case Map():
                raise _InPython
            case Array() if carried is not None and not _is_comparable(stored):
                raise _InPython
            case Struct() | Array():
                inner = self.sources(children(stored.type), rows.inside(stored), path)
                return messages.GivenColumn(at, carried, inner)
            case _:
                raise InvalidRequestError(
                    f"{self.table} can't be written in an earlier schema, since a rollback or a "
                    f"narrowing made the column {render_path(path)} {type_name(stored.type)}, "
                    f"narrower than {type_name(seen.type)} in that schema; write in the current schema"
                )

    def _default(self, column: Column, path: ColumnPath) -> str | None:
        """The write default as SQL.

        A statement that replaces rows may add none, so Spark refuses a new row if there is no value.
        """
        try:
            value = default_value(column, path, self.table, self.now)
        except InvalidRequestError:
            if self.replaces:
                return None
            raise
        return None if value is None else to_sql(value, column.type)


def stored_rows(
    seen: Seen,
    carried: Sequence[str] | None,
    table: str,
    now: datetime,
) -> messages.StoredRows | None:
    """The projection of seen columns to stored ones; None if the jar can't do it.

    Args:
        carried: the metadata columns that come with rows which replace others; None if all rows are new.

    Raises:
        InvalidRequestError: the rows can't be stored.
    """
    names = carried or ()
    if carried is not None:
        _check_unpadded(seen, table)
    carried_columns = tuple(column for column in unseen_columns(seen) if column.name in names)
    rows = _Rows(seen.schema.columns, carried_columns, names)
    planner = _Planner(table, now, replaces=carried is not None)
    try:
        sources = planner.sources(seen.stored.columns, rows)
    except _InPython:
        return None
    return messages.StoredRows(SparkType(to_spark_schema(seen.stored.columns).jsonValue()), sources)


def with_row_ids(
    rows: messages.StoredRows, state: TableState, carried: Sequence[str]
) -> messages.StoredRows:
    """The projection followed by the IDs and versions of rows; null in a new row, and the latter also in
    one that is changed.

    Args:
        carried: the metadata columns that come with rows which replace others.
    """
    row_id, updated = (column.name for column in carried_columns(state) if is_metadata(column))
    schema = StructType.fromJson(rows.schema)  # type: ignore[arg-type]
    for column in ROW_ID_COLUMNS:
        schema = schema.add(column.name, to_spark(column.type), True)
    sources = [
        *rows.sources,
        messages.UnseenColumn(carried.index(row_id), None),
        messages.NextVersion(carried.index(updated)),
    ]
    return messages.StoredRows(SparkType(schema.jsonValue()), sources)


def stored_keys(seen: Seen) -> messages.StoredRows:
    """The projection of the keys of deleted rows to stored columns, null but for the key."""
    rows = _Rows(seen.schema.columns, (), ())
    sources: _Sources = []
    for column in seen.stored.columns:
        at = rows.index(column) if column.id in seen.stored.row_key else None
        none = messages.UnseenColumn(None, None)
        sources.append(none if at is None else messages.GivenColumn(at, None, None))
    return messages.StoredRows(SparkType(to_spark_schema(seen.stored.columns).jsonValue()), sources)


def _check_unpadded(seen: Seen, table: str) -> None:
    """Refuse to rewrite texts that are shown as CHAR and stored otherwise; Spark reads them padded.

    Raises:
        InvalidRequestError: naming the column.
    """
    for column, _ in walk(seen.schema.columns):
        stored = seen.stored.column(column.id) if column.id in seen.stored.ids else column
        if isinstance(column.type, Char) and not isinstance(stored.type, Char):
            raise InvalidRequestError(
                f"{table}: {seen.schema.path_text(column.id)} is {type_name(stored.type)} now and "
                f"{type_name(column.type)} in the schema in which it is seen, and Spark would pad the "
                "texts of rows that it rewrites; use update(), delete() and upsert() in Python, or the "
                "current schema",
                condition="NOT_SUPPORTED",
            )


def check_projected(rows: messages.StoredRows | None, table: str) -> messages.StoredRows:
    """Refuse a statement that replaces rows whose unseen parts the jar can't keep.

    Raises:
        InvalidRequestError: always for None.
    """
    if rows is None:
        raise InvalidRequestError(
            f"{table}: Spark can't keep fields that it does not see, in a map or an array with maps, "
            "of rows that a statement changes; use update(), delete() and upsert() in Python",
            condition="NOT_SUPPORTED",
        )
    return rows


def _is_cast(seen: Column, stored: Column) -> bool:
    """Whether a cast by position converts a seen value to a stored one, without checks for null."""
    if not is_nested(stored.type):
        return widens(seen.type, stored.type)
    inner = list(zip(children(seen.type), children(stored.type), strict=False))
    return len(children(seen.type)) == len(children(stored.type)) and all(
        left.id == right.id and (right.nullable or not left.nullable) and _is_cast(left, right)
        for left, right in inner
    )


def _is_comparable(column: Column) -> bool:
    """Whether Spark can compare values of the column's type."""
    return not any(
        isinstance(part.type, Map) or part.type is Atom.VARIANT for part, _ in walk((column,))
    )
