"""Rows as a pandas DataFrame."""

from __future__ import annotations

from typing import Any

from versioned_catalog.export.optional import require
from versioned_catalog.export.readable import Readable


def to_pandas(rows: Readable, **options: Any) -> Any:
    """Read all rows to a DataFrame; ``options`` are those of ``pyarrow.Table.to_pandas``."""
    require("pandas", "to_pandas()")
    return rows.to_arrow().to_pandas(**options)
