"""Export to plain Parquet: files with the current names and types, in folders by partition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from versioned_catalog.errors import InvalidRequestError
from versioned_interop.export.source import Source

FILE_BYTES, GROUP_BYTES = 512 * 1024**2, 64 * 1024**2
"""About how large a file and a row group become, by the mean size of a stored row."""

MOST_GROUP_ROWS = 1_000_000
OPEN_FILES = 64
MOST_PARTITIONS = 1_000_000
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows whose partition value is null, as Hive and Spark name it."""

SUCCESS, SCHEMA = "_SUCCESS", "_common_metadata"


def write_parquet(source: Source, folder: Path, *, partition_folders: bool) -> list[str]:
    """Write the rows, and return what of the table is left out."""
    schema = source.schema
    columns = folder_columns(source) if partition_folders else []
    group = max(1, min(MOST_GROUP_ROWS, int(GROUP_BYTES / source.bytes_a_row())))
    options = ds.ParquetFileFormat().make_write_options(compression="zstd")
    partitioning = None
    if columns:
        partitioning = ds.partitioning(pa.schema([schema.field(c) for c in columns]), flavor="hive")
    ds.write_dataset(
        _checked(source, columns),
        folder,
        schema=schema,
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
    pq.write_metadata(schema, folder / SCHEMA)
    (folder / SUCCESS).touch()
    comment = ["comment of the table"] if source.snapshot.comment else []
    return [*source.undeclared(columns), *comment]


def folder_columns(source: Source) -> list[str]:
    """The partition columns whose values can be read back from the names of folders."""
    schema = source.schema
    names = [name for name in source.folders() if _is_plain(schema.field(name).type)]
    return names if len(names) < len(schema) else []


def _is_plain(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)
    return any(is_kind(type_) for is_kind in kinds)


def _checked(source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The batches; refuses a value that would be another one in the name of a folder."""
    for batch in source.reader():
        for name in columns:
            values = batch.column(name)
            if not pa.types.is_string(values.type):
                continue
            if pc.any(pc.is_in(values, pa.array(["", NULL_FOLDER]))).as_py():
                raise InvalidRequestError(
                    f"{source.table} can't be exported into folders by {name}, which has an empty text "
                    f"or {NULL_FOLDER}, and these read as null there; export without folders "
                    "(partition_folders=False, --no-partition-folders)",
                    condition="INVALID_VALUE",
                )
        yield batch
