"""Tables of others in a folder, written by PyIceberg and deltalake, and comparisons with them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from versioned_catalog import Catalog, Table

UNPARTITIONED = PartitionSpec()


@dataclass(frozen=True)
class Lake:
    """A folder with tables of others, and a warehouse of our own beside it."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "lake"

    @property
    def catalog(self) -> Catalog:
        """A reader that allows the folder."""
        return Catalog(self.folder / "warehouse", roots={"lake": self.root})

    def iceberg(self) -> SqlCatalog:
        self.root.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{self.folder}/iceberg.db"
        found = SqlCatalog("lake", uri=uri, warehouse=f"file://{self.root}")
        found.create_namespace_if_not_exists("n")
        return found

    def iceberg_table(
        self, schema: Schema, spec: PartitionSpec = UNPARTITIONED, version: int = 2
    ) -> Any:
        properties = {"format-version": str(version)}
        return self.iceberg().create_table(
            "n.t", schema, partition_spec=spec, properties=properties
        )

    @property
    def delta_path(self) -> str:
        return str(self.root / "d")

    def write_delta(self, rows: pa.Table, **options: Any) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        write_deltalake(self.delta_path, rows, **options)

    def delta(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self.delta_path, version=version)

    def listing(self) -> dict[str, tuple[int, int]]:
        """Size and modification time of every file of the others."""
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {str(one): (one.stat().st_size, one.stat().st_mtime_ns) for one in paths}


def sorted_rows(rows: pa.Table) -> list[str]:
    """Rows as texts, in an order of their own; columns by name, NaN equal to itself."""
    return sorted(repr(sorted(row.items())) for row in rows.to_pylist())


def rows_of(table: Table) -> list[str]:
    return sorted_rows(table.scan().to_arrow())


def delta_rows(table: DeltaTable) -> list[str]:
    """The rows as deltalake reads them, with deletion vectors applied."""
    found = QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    return sorted_rows(pa.table(found))


def check_filters(table: Table, *filters: Any) -> None:
    """Filters give the same with and without pruning."""
    for one in filters:
        pruned = sorted_rows(table.scan(filters=one).to_arrow())
        assert pruned == sorted_rows(table.scan(filters=one, prune=False).to_arrow()), one
        assert pruned, f"the filter {one} finds nothing, so it tests nothing"


def touch(path: Path) -> None:
    """Make a file look changed."""
    os.utime(path, ns=(1, 1))
