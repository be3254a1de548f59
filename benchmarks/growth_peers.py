"""Compare what metadata costs with deltalake and pyiceberg, by number of files and of commits.

Each table has four columns with bounds. The files of the first tables do not exist: their records are
committed as each library offers it. Cold loads are measured in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyiceberg.expressions as ice
from deltalake.transaction import AddAction
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType

from benchmarks.common import UNMAINTAINED, Figure, Report, seconds
from benchmarks.curve import Panel, picture
from benchmarks.growth import milliseconds, powers
from benchmarks.planning import BASE, MINUTE, bounds, ddl, segments
from versioned_catalog import Catalog, Table
from versioned_catalog.model.arrow import to_arrow_type

PICTURE = Path(__file__).parent.parent / "docs" / "growth_peers.svg"
COLUMNS = 4
APPENDS = 16
CALLS = ("load and plan, cold", "plan, warm", "append", "ALTER")

Costs = dict[str, float]
"""Milliseconds by what is measured."""


def declared() -> list[Any]:
    """The columns of all tables."""
    folder = tempfile.mkdtemp()
    try:
        return list(Catalog.create_path(folder, ddl(COLUMNS)).schema.columns)
    finally:
        shutil.rmtree(folder)


def arrow_schema() -> pa.Schema:
    """The same as Arrow's schema."""
    return pa.schema([(column.name, to_arrow_type(column.type)) for column in declared()])


def one_row() -> pa.Table:
    """A row of nulls."""
    return pa.table({field.name: pa.nulls(1, field.type) for field in arrow_schema()})


def file_bounds(count: int) -> list[tuple[list[Any], list[Any]]]:
    """Least and greatest value in each file, by column."""
    random = np.random.default_rng(0)
    found = (bounds(column, count, random) for column in declared())
    return [(low.to_pylist(), high.to_pylist()) for low, high in found]


def minutes(count: int) -> tuple[datetime, datetime]:
    """Ten minutes, which as many files hold."""
    begun = BASE + count // 2 * MINUTE
    return tuple(datetime.fromtimestamp((begun + of) / 1e6, UTC) for of in (0, 10 * MINUTE))  # type: ignore[return-value]


class Library(Protocol):
    """A table of one library."""

    def create(self, count: int) -> None: ...
    def open(self) -> None: ...
    def plan(self, count: int) -> int: ...
    def append(self) -> None: ...
    def alter(self, name: str) -> None: ...


class Ours:
    """A table of ours."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ours"
        self.table: Table

    def create(self, count: int) -> None:
        self.table = Catalog.create_path(self.path, ddl(COLUMNS), properties=UNMAINTAINED)
        if count:
            state = replace(self.table.state, segments=segments(self.table, count))
            self.table.log.write_checkpoint(state)

    def open(self) -> None:
        self.table = Catalog.load_path(self.path)

    def plan(self, count: int) -> int:
        low, high = minutes(count)
        where = [("c0", ">=", low), ("c0", "<", high), ("c1", ">=", "host-0100"), ("c3", "<", 0.9)]
        return len(self.table.refresh().scan(filters=[where]).tasks())

    def append(self) -> None:
        self.table.append(one_row())

    def alter(self, name: str) -> None:
        self.table.alter().add_column(name, "INT").commit()


class Delta:
    """A table of deltalake."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "delta")
        self.table: deltalake.DeltaTable

    def create(self, count: int) -> None:
        schema = deltalake.Schema.from_arrow(arrow_schema())
        self.table = deltalake.DeltaTable.create(self.path, schema)
        if count:
            actions = [
                self._action(*each) for each in enumerate(zip(*_by_file(count), strict=True))
            ]
            self.table.create_write_transaction(actions, "append", schema)  # type: ignore[arg-type]
            self.table.create_checkpoint()

    @staticmethod
    def _action(number: int, ends: Sequence[tuple[Any, Any]]) -> AddAction:
        names = [f"c{n}" for n in range(COLUMNS)]
        low, high = (
            {n: _json(v) for n, v in zip(names, side, strict=True)}
            for side in zip(*ends, strict=True)
        )
        stats = {
            "numRecords": 1_000_000,
            "minValues": low,
            "maxValues": high,
            "nullCount": dict.fromkeys(names, 0),
        }
        return AddAction(
            f"{number:032x}.parquet", 100 << 20, {}, BASE // 1000, True, json.dumps(stats)
        )

    def open(self) -> None:
        self.table = deltalake.DeltaTable(self.path)

    def plan(self, count: int) -> int:
        low, high = (pa.scalar(end, pa.timestamp("us", "UTC")) for end in minutes(count))
        self.table.update_incremental()
        where = (ds.field("c0") >= low) & (ds.field("c0") < high)
        where &= (ds.field("c1") >= "host-0100") & (ds.field("c3") < 0.9)
        return len(list(self.table.to_pyarrow_dataset().get_fragments(where)))

    def append(self) -> None:
        deltalake.write_deltalake(self.table, one_row(), mode="append", schema_mode="merge")

    def alter(self, name: str) -> None:
        self.table.alter.add_columns([deltalake.Field(name, "integer")])


class Iceberg:
    """A table of pyiceberg in a catalog in SQLite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "iceberg"
        self.folder.mkdir(exist_ok=True)
        self.table: Any

    def _catalog(self) -> SqlCatalog:
        uri = f"sqlite:///{self.folder}/catalog.db"
        return SqlCatalog("bench", uri=uri, warehouse=f"file://{self.folder}")

    def create(self, count: int) -> None:
        catalog = self._catalog()
        catalog.create_namespace("n")
        self.table = catalog.create_table("n.t", schema=arrow_schema())
        if count:
            with self.table.transaction() as tx, tx.update_snapshot().fast_append() as append:
                for number, ends in enumerate(zip(*_by_file(count), strict=True)):
                    append.append_data_file(self._file(number, ends))

    def _file(self, number: int, ends: Sequence[tuple[Any, Any]]) -> DataFile:
        fields = self.table.schema().fields
        low, high = (
            {
                f.field_id: to_bytes(f.field_type, _number(v))
                for f, v in zip(fields, side, strict=True)
            }
            for side in zip(*ends, strict=True)
        )
        ids = [field.field_id for field in fields]
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file://{self.folder}/{number:032x}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=1_000_000,
            file_size_in_bytes=100 << 20,
            column_sizes=dict.fromkeys(ids, 1 << 20),
            value_counts=dict.fromkeys(ids, 1_000_000),
            null_value_counts=dict.fromkeys(ids, 0),
            nan_value_counts={},
            lower_bounds=low,
            upper_bounds=high,
        )

    def open(self) -> None:
        self.table = self._catalog().load_table("n.t")

    def plan(self, count: int) -> int:
        low, high = (end.isoformat() for end in minutes(count))
        self.table.refresh()
        where = ice.And(
            ice.And(ice.GreaterThanOrEqual("c0", low), ice.LessThan("c0", high)),
            ice.And(ice.GreaterThanOrEqual("c1", "host-0100"), ice.LessThan("c3", 0.9)),
        )
        return len(list(self.table.scan(row_filter=where).plan_files()))

    def append(self) -> None:
        self.table.append(one_row())

    def alter(self, name: str) -> None:
        with self.table.update_schema() as update:
            update.add_column(name, IntegerType())


LIBRARIES: dict[str, Callable[[Path], Library]] = {
    "ours": Ours,
    "deltalake": Delta,
    "pyiceberg": Iceberg,
}


def _by_file(count: int) -> list[Any]:
    """Pairs of bounds, by column and file."""
    return [zip(low, high, strict=True) for low, high in file_bounds(count)]


def _json(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


def _number(value: Any) -> Any:
    return round(value.timestamp() * 1e6) if isinstance(value, datetime) else value


def cold(name: str, folder: Path, count: int) -> float:
    """Milliseconds to load a table and plan a selective filter, in a process that has done neither."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.growth_peers",
        "--cold",
        name,
        str(folder),
        str(count),
    ]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure_cold(name: str, folder: Path, count: int) -> float:
    """The same in this process; imports and their code are warm."""
    small = Path(tempfile.mkdtemp())
    try:
        warm_up = LIBRARIES[name](small)
        warm_up.create(1)
        warm_up.open()
        warm_up.plan(1)
    finally:
        shutil.rmtree(small)
    library = LIBRARIES[name](folder)

    def work() -> None:
        library.open()
        library.plan(count)

    return seconds(work) * 1000


def measure(name: str, library: Library, folder: Path, count: int) -> Costs:
    """The costs of one table."""
    costs = {"load and plan, cold": cold(name, folder, count)}
    library.open()
    library.plan(count)
    names = iter(f"x{n}" for n in range(count, count + 100))
    costs["plan, warm"] = statistics.median(milliseconds(lambda: library.plan(count), 5))
    costs["append"] = statistics.median(milliseconds(library.append, APPENDS))
    costs["ALTER"] = statistics.median(milliseconds(lambda: library.alter(next(names)), 5))
    return costs


def by_files(name: str, last: int) -> dict[int, Costs]:
    """Costs by number of files."""
    costs = {}
    for count in powers(1, last):
        folder = Path(tempfile.mkdtemp())
        library = LIBRARIES[name](folder)
        library.create(count)
        costs[count] = measure(name, library, folder, count)
        shutil.rmtree(folder)
    return costs


def by_commits(name: str, last: int) -> dict[int, Costs]:
    """Costs by number of commits, of one row each."""
    costs: dict[int, Costs] = {}
    folder = Path(tempfile.mkdtemp())
    library = LIBRARIES[name](folder)
    library.create(0)
    done = 0
    for count in powers(10, last):
        for _ in range(count - done):
            library.append()
        costs[count] = measure(name, library, folder, count)
        done = count + APPENDS
    shutil.rmtree(folder)
    return costs


def main() -> None:
    """Print and save the results, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--commits", type=int, default=1_000)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--cold", nargs=3, metavar=("LIBRARY", "FOLDER", "FILES"))
    options = parser.parse_args()
    if options.cold:
        name, folder, count = options.cold
        cost = measure_cold(name, Path(folder), int(count))
        os.write(1, f"{cost}\n".encode())
        return
    report = Report("growth_peers")
    found = {}
    for what, measured, last in (
        ("files", by_files, options.files),
        ("commits", by_commits, options.commits),
    ):
        for name in LIBRARIES:
            found[what, name] = measured(name, last)
            for size, costs in found[what, name].items():
                for call, cost in costs.items():
                    report.record(Figure(f"{size:,} {what}: {name}: {call}", cost))
    report.save()
    options.picture.write_text(
        picture(
            [
                Panel(
                    f"{what}: {call}",
                    {
                        name: [(n, c[call]) for n, c in found[what, name].items()]
                        for name in LIBRARIES
                    },
                )
                for what in ("files", "commits")
                for call in CALLS
            ]
        )
    )


if __name__ == "__main__":
    main()
