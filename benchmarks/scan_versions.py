"""Compare scans of ten schema versions with the same rows under one, and with deltalake."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa

from benchmarks.common import DATA, UNMAINTAINED, Report
from versioned_catalog import Catalog, Table

STEPS = 10


def rows_of(step: int, count: int) -> dict[str, pa.Array]:
    """Columns of one tenth of the rows, in the first schema."""
    random = np.random.default_rng(step)
    first = step * count
    return {
        "id": pa.array(np.arange(first, first + count)),
        "n": pa.array(random.integers(0, 1000, count), pa.int32()),
        "x": pa.array(random.random(count).astype(np.float32)),
        "y": pa.array(random.random(count)),
        "s": pa.array(random.integers(0, 5000, count)).cast(pa.string()),
    }


def evolve(table: Table, step: int) -> None:
    """Alter the table before each tenth: add, rename, widen, drop and add again."""
    change = table.alter()
    match step:
        case 1:
            change.add_column("c1", "double", default=0.5)
        case 2:
            change.rename_column("y", "why")
        case 3:
            change.change_type("n", "long")
        case 4:
            change.add_column("c4", "string", default="none")
        case 5:
            change.change_type("x", "double")
        case 6:
            change.drop_column("c1").add_column("c1", "double", default=1.5)
        case 7:
            change.rename_column("s", "text")
        case 8:
            change.add_column("c8", "int")
        case _:
            change.move_column("c8", first=True)
    change.commit()


def shaped(table: Table, columns: dict[str, pa.Array], step: int) -> pa.Table:
    """One tenth of the rows in the table's current schema."""
    random = np.random.default_rng(100 + step)
    count = len(columns["id"])
    renamed = {"why": "y", "text": "s"}
    out: dict[str, pa.Array] = {}
    for field in pa.schema(
        [(c.name, t) for c, t in zip(table.schema.columns, table.scan().schema.types, strict=True)]
    ):
        source = columns.get(renamed.get(field.name, field.name))
        if source is None:
            source = pa.array(random.integers(0, 100, count))
        out[field.name] = source.cast(field.type)
    return pa.table(out)


def prepare(folder: Path, rows: int) -> tuple[Table, Table]:
    """Create a table of ten schema versions, and one of the same rows under one."""
    shutil.rmtree(folder, ignore_errors=True)
    ddl = "id LONG, n INT, x FLOAT, y DOUBLE, s STRING"
    many = Catalog.create_path(folder / "many", ddl, properties=UNMAINTAINED)
    for step in range(STEPS):
        if step:
            evolve(many, step)
        many.append(shaped(many, rows_of(step, rows // STEPS), step))
    shown = many.scan().to_arrow()
    one = Catalog.create_path(folder / "one", many.schema, properties=UNMAINTAINED)
    for step in range(STEPS):
        one.append(shown.slice(step * rows // STEPS, rows // STEPS))
    return many, one


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    many, one = prepare(DATA / "scan", options.rows)
    assert many.scan().to_arrow().num_rows == one.scan().to_arrow().num_rows == options.rows
    shown = one.scan().to_arrow()
    shutil.rmtree(DATA / "delta", ignore_errors=True)
    for step in range(STEPS):
        part = shown.slice(step * options.rows // STEPS, options.rows // STEPS)
        deltalake.write_deltalake(str(DATA / "delta"), part, mode="append")
    delta = deltalake.DeltaTable(str(DATA / "delta"))
    report = Report("scan_versions")
    wanted = [("id", ">=", options.rows - 1000)]
    report.compare(
        "scan, all columns",
        lambda: many.scan().to_arrow(),
        {
            "the same under one version": (lambda: one.scan().to_arrow(), 1.15),
            "deltalake, one version": (delta.to_pyarrow_table, None),
        },
        options.runs,
    )
    report.compare(
        "scan, one column",
        lambda: many.scan(columns=["why"]).to_arrow(),
        {
            "the same under one version": (lambda: one.scan(columns=["why"]).to_arrow(), 1.15),
            "deltalake, one version": (lambda: delta.to_pyarrow_table(columns=["why"]), None),
        },
        options.runs,
    )
    report.compare(
        "scan, selective filter",
        lambda: many.scan(filters=wanted).to_arrow(),
        {"the same under one version": (lambda: one.scan(filters=wanted).to_arrow(), 1.15)},
        options.runs,
    )
    report.save()


if __name__ == "__main__":
    main()
