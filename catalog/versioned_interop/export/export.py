"""Export a version of a table to a folder of its own, which needs neither the table nor this library."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from versioned_catalog.commit.table_handle import Progress
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.snapshot import Snapshot
from versioned_catalog.spelling import meant
from versioned_interop.export.delta import check_delta, write_delta
from versioned_interop.export.iceberg import check_iceberg, write_iceberg
from versioned_interop.export.parquet import write_parquet
from versioned_interop.export.source import Source
from versioned_interop.export.target import local_folder, unfinished

Format = Literal["parquet", "iceberg", "delta"]


@dataclass(frozen=True)
class Exported:
    """Result of an export.

    Args:
        table: name of the table.
        version: the version that was exported.
        format: ``parquet``, ``iceberg`` or ``delta``.
        folder: the local folder that has it.
        rows: number of rows.
        files, bytes: number and size of the data files.
        left_out: what the table declares and the target does not, such as ``CHECK positive``.
    """

    table: str
    version: int
    format: str
    folder: str
    rows: int
    files: int
    bytes: int
    left_out: tuple[str, ...]


def export(
    snapshot: Snapshot,
    path: str | os.PathLike[str],
    *,
    format: str,
    partition_folders: bool,
    progress: Progress,
) -> Exported:
    """Export a version of a table. See ``Table.export``."""
    kind = _format(format, snapshot.name)
    if not partition_folders and kind == "iceberg":
        raise InvalidRequestError(
            f"{snapshot.name}: partition_folders is for parquet and delta; iceberg keeps partitions in "
            "its metadata, so leave it out",
            condition="INVALID_OPTION",
        )
    folder = local_folder(path, snapshot.name, snapshot.store.url)
    source = Source(snapshot, progress)
    write = _prepared(kind, source, partition_folders)
    with unfinished(folder, snapshot.name):
        left_out = _run(write, source, folder)
    files = [file for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts]
    return Exported(
        snapshot.name,
        snapshot.version,
        kind,
        str(folder),
        source.rows,
        len(files),
        sum(file.stat().st_size for file in files),
        tuple(left_out),
    )


def _run(write: Callable[[Path], list[str]], source: Source, folder: Path) -> list[str]:
    """Write the rows; a failure to read them is raised as it is."""
    try:
        return write(folder)
    except BaseException:
        if source.failure is not None:
            raise source.failure from None
        raise


def _format(format: str, table: str) -> Format:
    for known in get_args(Format):
        if format == known:
            checked: Format = known
            return checked
    near = meant(format, get_args(Format)) if isinstance(format, str) else None
    hint = f"; did you mean {near}?" if near else ""
    raise InvalidRequestError(
        f"{table} can't be exported as {format!r}; the formats are {', '.join(get_args(Format))}{hint}",
        condition="INVALID_OPTION",
    )


def _prepared(kind: Format, source: Source, partition_folders: bool) -> Callable[[Path], list[str]]:
    """What writes a format, once the table was checked to fit it."""
    match kind:
        case "parquet":
            return lambda folder: write_parquet(source, folder, partition_folders=partition_folders)
        case "iceberg":
            check_iceberg(source)
            return lambda folder: write_iceberg(source, folder)
        case "delta":
            check_delta(source)
            return lambda folder: write_delta(source, folder, partition_folders=partition_folders)
