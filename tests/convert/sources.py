"""Tables of others in a folder, written by PyIceberg and deltalake, and comparisons with them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

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


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _AppendDeletes(_FastAppendFiles):
    """A commit of position-delete files, which PyIceberg reads and does not write."""

    delete_files: list[DataFile]

    def _manifests(self) -> list[ManifestFile]:
        spec = self._transaction.table_metadata.spec()
        place = self.new_manifest_output()
        with _DeleteManifest(
            spec, self.schema(), place, self._snapshot_id, self._compression
        ) as out:
            for one in self.delete_files:
                out.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self._snapshot_id,
                        data_file=one,
                    )
                )
        return [out.to_manifest_file(), *self._existing_manifests()]


def delete_positions(table: Any, *files: Sequence[tuple[str, int]]) -> None:
    """Commit position deletes of an unpartitioned Iceberg table: a file for each list of rows.

    Args:
        files: of each the rows that it names, by data file and position.
    """
    made = []
    for rows in files:
        path = f"{table.location()}/data/{uuid.uuid4()}-deletes.parquet"
        held = {"file_path": [one for one, _ in rows], "pos": [pos for _, pos in rows]}
        local = path.removeprefix("file://")
        pq.write_table(pa.table(held), local)
        made.append(
            DataFile.from_args(
                content=DataFileContent.POSITION_DELETES,
                file_path=path,
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=len(rows),
                file_size_in_bytes=os.path.getsize(local),
            )
        )
        made[-1].spec_id = table.spec().spec_id
    with table.transaction() as changing:
        commit = _AppendDeletes(Operation.DELETE, changing, table.io)
        commit.delete_files = made
        commit.commit()


def drop_log(lake: Lake) -> None:
    """Keep only a checkpoint of the newest version, as Delta's clean-up does."""
    table = lake.delta()
    table.create_checkpoint()
    for path in (lake.root / "d/_delta_log").glob("*.json"):
        if int(path.stem) < table.version():
            path.unlink()
    for path in (lake.root / "d/_delta_log").glob("*.checkpoint.parquet"):
        if int(path.name.partition(".")[0]) < table.version():
            path.unlink()


def data_files(table: Any) -> list[str]:
    """The data files of an Iceberg table as its manifests name them."""
    return sorted(task.file.file_path for task in table.scan().plan_files())


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
