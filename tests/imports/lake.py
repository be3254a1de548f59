"""Directories of files that somebody else wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog import Catalog


class Lake:
    """A warehouse, and a folder of files beside it that is its root ``lake``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "lake"
        self.folder.mkdir()
        self.warehouse = folder / "warehouse"
        self.reopen()

    def reopen(self, **roots: Path) -> None:
        """Open the warehouse again, with the root ``lake`` or others."""
        self.catalog = Catalog(self.warehouse, roots=roots or {"lake": self.folder})

    def write(self, name: str, rows: Any, **how: Any) -> Path:
        """Write a Parquet file of a table, or of a dict of lists or arrays."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = rows if isinstance(rows, pa.Table) else pa.table(rows)
        pq.write_table(table, path, **how)
        return path

    def text(self, name: str, text: str) -> Path:
        """Write a text file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def load(self, name: str = "t", source: str = "", **options: Any) -> Any:
        """Import into a table, and return it."""
        self.catalog.import_files(name, self.folder / source, **options)
        return self.catalog.load_table(name)

    def rows(self, name: str = "t") -> list[dict[str, Any]]:
        """The rows of a table."""
        found: list[dict[str, Any]] = self.catalog.load_table(name).scan().to_arrow().to_pylist()
        return found
