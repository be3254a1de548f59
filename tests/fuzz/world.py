"""Tables in memory in which inputs are placed; after each input they are restored."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog import Catalog, Table

MADE_ONCE = Path(__file__).with_name("world.zip")
GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
EXTERNAL = Path(__file__).parents[1] / "golden" / "v1-external"
ROOT = "/fuzz"
MADE = "made/t"
DDL = (
    "id INT NOT NULL, name STRING DEFAULT 'x', d DECIMAL(12,2), day DATE, ts TIMESTAMP, f DOUBLE, "
    "b BINARY, c CHAR(2), s STRUCT<x: INT, y: STRING>, l ARRAY<STRING>, "
    "m MAP<STRING, INT>, ok BOOLEAN, i INTERVAL DAY TO SECOND, big BIGINT DEFAULT 5"
)


def rows(first: int, count: int) -> pa.Table:
    """Some rows with values of all types."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "name": pa.array([None if n % 5 == 0 else f"n{n}" * (n % 40) for n in ids]),
            "d": pa.array([Decimal(n) for n in ids], pa.decimal128(12, 2)),
            "day": pa.array(list(ids), pa.date32()),
            "ts": pa.array([n * 10**12 for n in ids], pa.timestamp("us", "UTC")),
            "f": pa.array([float("nan") if n % 7 == 0 else n / 2 for n in ids]),
            "b": pa.array([b"\xff" * (n % 70) for n in ids]),
            "s": pa.array(
                [{"x": n, "y": "v"} if n % 3 else None for n in ids],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            ),
            "l": pa.array([[["a", None], [], None][n % 3] for n in ids], pa.list_(pa.string())),
            "m": pa.array([[("k", n)] for n in ids], pa.map_(pa.string(), pa.int32())),
        }
    )


def _make() -> None:
    catalog = Catalog(f"memory:/{ROOT}")
    catalog.create_namespace("made", {"owner": "x"})
    table = catalog.create_table(
        "made.t",
        DDL,
        partitioned_by=["bucket(4, id)", "days(ts)", "truncate(3, name)"],
        properties={"sort_by": "id", "note": "n"},
        comment="all kinds",
    )
    table.append(rows(0, 2))
    table.alter().add_column("n", "int", default=7).rename_column("d", "e").add_column(
        "s.z", "string", default="q"
    ).commit()
    table.append(rows(2, 2).drop_columns(["d"]))
    table.set_tag("then", 1)
    table.alter().change_type("id", "bigint").set_partitioning([]).drop_column("c").commit()
    table.append(rows(10, 60).drop_columns(["d"]))
    table.overwrite_where(rows(90, 3).drop_columns(["d"]), [("id", "<", 2)])
    table.rollback(5)
    catalog.rename_table("made.t", "made.u")
    catalog.rename_table("made.u", "made.t")
    catalog._names.log.write_checkpoint(catalog._names.state())
    table.log.write_checkpoint(table.at(6))
    table.append(rows(100, 1).drop_columns(["d"]))


def build() -> dict[str, bytes]:
    """Put the tables into memory, and return their files by path below the root.

    They were created once and stored, so that inputs are reproducible.
    """
    fs = MemoryFileSystem()
    if fs.exists(ROOT):
        fs.rm(ROOT, recursive=True)
    with zipfile.ZipFile(MADE_ONCE) as kept:
        found = {name: kept.read(name) for name in kept.namelist()}
    for name, folder in (("golden", GOLDEN), ("external", EXTERNAL)):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                found[f"{name}/{path.relative_to(folder)}"] = path.read_bytes()
    for name, content in found.items():
        fs.pipe_file(f"{ROOT}/{name}", content)
    return found


def remake() -> None:
    """Create the tables that are not golden: ``python -m fuzz.world``."""
    fs = MemoryFileSystem()
    _make()
    with zipfile.ZipFile(MADE_ONCE, "w", zipfile.ZIP_DEFLATED) as out:
        for path in fs.find(ROOT):
            out.writestr(path.removeprefix(ROOT + "/"), bytes(fs.cat_file(path)))


@contextmanager
def planted(path: str, data: bytes, without: tuple[str, ...] = ()) -> Iterator[None]:
    """The tables with one file's content replaced, and other files missing."""
    fs = MemoryFileSystem()
    before, folders = dict(fs.store), list(fs.pseudo_dirs)
    for gone in without:
        fs.store.pop(f"{ROOT}/{gone}", None)
    fs.pipe_file(f"{ROOT}/{path}", data)
    try:
        yield
    finally:
        fs.store.clear()
        fs.store.update(before)
        fs.pseudo_dirs[:] = folders


def table_of(path: str) -> str:
    """The folder of the table to which a file belongs."""
    if path.startswith("external/"):
        return "external/table"
    return path.partition("/_versioned/")[0].partition("/data/")[0]


def load(folder: str) -> Table:
    return Catalog.load_path(
        f"memory:/{ROOT}/{folder}", roots={"lake": f"memory:/{ROOT}/external/raw"}
    )


def read(table: Table, **how: Any) -> pa.Table:
    return table.scan(**how).to_arrow()


if __name__ == "__main__":
    remake()
