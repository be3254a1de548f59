"""Rows as a DuckDB relation."""

from __future__ import annotations

from typing import Any

from versioned_catalog.export.optional import require
from versioned_catalog.export.readable import Readable


def to_duckdb(rows: Readable, connection: Any = None) -> Any:
    """A relation that reads the rows when it is queried: the columns and rows of a query only.

    Args:
        connection: of DuckDB; None for its default one.
    """
    duckdb = require("duckdb", "to_duckdb()")
    # PyArrow's datasets take long to import.
    from versioned_catalog.export.duckdb_dataset import ScanDataset

    target = duckdb.default_connection() if connection is None else connection
    return target.from_arrow(ScanDataset(rows))
