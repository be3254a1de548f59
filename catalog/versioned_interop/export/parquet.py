"""Export to plain Parquet: files with the current names and types, in folders by partition."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from versioned_interop.export.source import Source

FILE_BYTES, GROUP_BYTES = 512 * 1024**2, 64 * 1024**2
"""About how large a file and a row group become, by the mean size of a stored row."""

MOST_GROUP_ROWS = 1_000_000
OPEN_FILES = 64
MOST_PARTITIONS = 1_000_000
SUCCESS, SCHEMA = "_SUCCESS", "_common_metadata"


def write_parquet(source: Source, folder: Path, *, partition_folders: bool) -> list[str]:
    """Write the rows, and return what of the table is left out."""
    schema = source.schema
    columns = source.partition_columns() if partition_folders else []
    group = max(1, min(MOST_GROUP_ROWS, int(GROUP_BYTES / source.bytes_a_row())))
    options = ds.ParquetFileFormat().make_write_options(compression="zstd")
    partitioning = None
    if columns:
        partitioning = ds.partitioning(pa.schema([schema.field(c) for c in columns]), flavor="hive")
    ds.write_dataset(
        source.divided(columns, "Parquet"),
        folder,
        format="parquet",
        basename_template="part-{i}.parquet",
        partitioning=partitioning,
        file_options=options,
        use_threads=False,  # keeps the order of rows
        max_open_files=OPEN_FILES,
        max_partitions=MOST_PARTITIONS,
        max_rows_per_group=group,
        min_rows_per_group=max(1, group // 2),
        max_rows_per_file=max(group, int(FILE_BYTES / source.bytes_a_row())),
        existing_data_behavior="overwrite_or_ignore",  # the folder is new, and marked
    )
    if not source.rows:  # most readers take the columns from a file
        pq.write_table(schema.empty_table(), folder / "part-0.parquet", compression="zstd")
    pq.write_metadata(schema, folder / SCHEMA)
    (folder / SUCCESS).touch()
    comment = ["comment of the table"] if source.snapshot.comment else []
    return [*source.undeclared(columns), *comment]
