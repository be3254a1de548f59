"""A quick start: open or read a table by its folder, in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.catalog import Catalog
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.pinned_state import overflow_of
from versioned_catalog.model.pins import Overflow
from versioned_catalog.storage.opening import Roots
from versioned_catalog.table import Table


def open(
    path: str | os.PathLike[str],
    *,
    schema: str | int | None = None,
    overflow: str = "error",
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
) -> Table:
    """Open a table by its folder, at its newest version.

    Args:
        path: a local path, or a URL such as ``s3://bucket/folder``; inside a warehouse or not.
        schema: the pin or schema version in which it is seen; the current schema if omitted.
        overflow: of an earlier schema; see ``Table.seen_as``.
        storage_options, roots: as for ``Catalog``.

    Raises:
        NotFoundError: there is no table, or no such pin or schema version.
        InvalidRequestError: the path or an option is invalid, or the folder is a warehouse.

    >>> import versioned_catalog as vc
    >>> vc.Catalog.create_path("memory://quick/cities", "name STRING, people BIGINT").append(
    ...     pa.table({"name": ["Rome", "Oslo"], "people": [2_800_000, 700_000]})
    ... )
    1
    >>> vc.open("memory://quick/cities")
    Table('memory://quick/cities', version=1, columns: name, people)
    """
    try:
        table = Catalog.load_path(path, storage_options, roots=roots)
    except (NotFoundError, InvalidRequestError) as error:
        names = _tables_in(path, storage_options)
        if names is None:
            raise
        raise InvalidRequestError(
            f"{os.fspath(path)} is a warehouse, not a table; its tables: {names}; use "
            f'Catalog({os.fspath(path)!r}).load_table("...")',
            condition="TABLE_NOT_FOUND",
        ) from error
    if schema is not None:
        return table.seen_as(schema, overflow=overflow)
    if overflow_of(overflow, table.name) is not Overflow.ERROR:
        raise InvalidRequestError(
            f"{table.name}: overflow is {overflow!r}, and says what is shown of values that do not fit "
            "an earlier schema; give schema, too, or leave it out",
            condition="INVALID_OPTION",
        )
    return table


def _tables_in(
    path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None
) -> str | None:
    """The first names in a warehouse; None if there is no warehouse, or an empty one."""
    try:
        catalog = Catalog(path, storage_options)
        names = [*catalog.list_tables()]
        names += [f"{space}.*" for space in catalog.list_namespaces()]
    except (NotFoundError, InvalidRequestError):
        return None
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "") or None


_SHOWN = 10
"""How many names an error shows."""


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filters: Any = None,
    *,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    limit: int | None = None,
    schema: str | int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
) -> pa.Table:
    """Read a table by its folder to Arrow.

    Args:
        path, schema, storage_options, roots: as for ``open``.
        columns, filters, version, timestamp, limit: as for ``Table.scan``.

    Raises:
        NotFoundError: there is no such table, column, version, pin or schema version.
        InvalidRequestError: the path, the filters or an option are invalid.

    >>> import versioned_catalog as vc
    >>> vc.Catalog.create_path("memory://quick/rivers", "name STRING, km INT").append(
    ...     pa.table({"name": ["Tiber", "Po"], "km": pa.array([405, 652], pa.int32())})
    ... )
    1
    >>> vc.read_table("memory://quick/rivers", ["name"], [("km", ">", 500)]).to_pylist()
    [{'name': 'Po'}]
    """
    table = open(path, schema=schema, storage_options=storage_options, roots=roots)
    return table.scan(columns, filters, version, timestamp, limit=limit).to_arrow()
