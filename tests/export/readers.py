"""Rows of exported folders, as pyarrow, PyIceberg, DuckDB and deltalake read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from publish.engines import ENGINES

Row = Mapping[str, Any]


def parquet_rows(folder: Path) -> list[Row]:
    """The rows, with the types that the folder says it has."""
    schema = pq.read_schema(folder / "_common_metadata")
    partitioning = ds.partitioning(
        pa.schema([field for field in schema if list(folder.glob(f"**/{field.name}=*"))]),
        flavor="hive",
    )
    files = ds.dataset(folder, schema=schema, partitioning=partitioning)
    return list(files.to_table().to_pylist())


def iceberg_rows(folder: Path) -> list[Row]:
    """The rows, once all engines agree on them."""
    metadata = str(folder / "metadata" / "v1.metadata.json")
    results = [engine.read(metadata, None, None) for engine in ENGINES]
    assert all(in_order(rows) == in_order(results[0]) for rows in results)
    return results[0]


def delta_rows(folder: Path) -> list[Row]:
    return list(DeltaTable(folder).to_pyarrow_table().to_pylist())


READERS = {"parquet": parquet_rows, "iceberg": iceberg_rows, "delta": delta_rows}


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))
