"""Export to Delta, by the library ``deltalake``."""

from __future__ import annotations

from pathlib import Path

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.interop import optional_import
from versioned_catalog.model.type_text import render_type
from versioned_catalog.model.types import (
    Column,
    DayTimeInterval,
    Family,
    Geography,
    Geometry,
    NestedType,
    Time,
    walk,
)
from versioned_interop.export.source import Source

_UNSAYABLE = Time | DayTimeInterval | Geometry | Geography
_IN_NAMES = set(" ,;{}()\n\t=")
"""Characters that Delta's readers refuse in names of columns without a column mapping."""


def check_delta(source: Source) -> None:
    """Refuse a table that Delta can't express, before anything is written.

    Raises:
        InvalidRequestError: naming the column; or the library is not installed.
    """
    optional_import("deltalake", "an export to Delta", "'pyspark-versioned[delta]'")
    schema = source.snapshot.schema
    for column, _ in walk(schema.columns):
        problem = _problem(column)
        if problem is not None:
            raise InvalidRequestError(
                f"{source.table} can't be exported as Delta: the column {schema.path_text(column.id)} "
                f"{problem}",
                condition="NOT_SUPPORTED",
            )


def _problem(column: Column) -> str | None:
    if _IN_NAMES & set(column.name):
        return "has a character in its name that Delta refuses; rename it, or export as Iceberg"
    type_ = column.type
    if isinstance(type_, NestedType):
        return None
    if isinstance(type_, _UNSAYABLE) or type_.leaf.family in (Family.OPAQUE, Family.VOID):
        return f"is {render_type(type_)}, which Delta lacks; export as Parquet, or drop the column"
    return None


def write_delta(source: Source, folder: Path, *, partition_folders: bool) -> list[str]:
    """Write the rows in one commit, and return what of the table is left out."""
    deltalake = optional_import("deltalake", "an export to Delta", "'pyspark-versioned[delta]'")
    columns = source.partition_columns() if partition_folders else []
    try:
        deltalake.write_deltalake(
            str(folder),
            source.divided(columns, "Delta"),
            partition_by=columns or None,
            mode="error",
            name=source.table.rpartition("/")[2],
            description=source.snapshot.comment,
        )
    except deltalake.exceptions.DeltaError as error:
        raise StorageError(
            f"{source.table} was not exported to {folder}: deltalake failed: {error}"
        ) from error
    return source.undeclared(columns)
