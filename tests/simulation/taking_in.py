"""Imports of files of others, which other actors write."""

from __future__ import annotations

import io
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from simulation.history import Request
from simulation.operations import GROUPS
from simulation.scene import LAKE, Op, Process, Scene, folder_of
from simulation.world import SimulatedStore
from versioned_catalog import Table


def feed(scene: Scene, process: Process, op: Op, request: Request, draw: Random) -> None:
    """Write a file of others, which imports may take in from then on."""
    first = 100 + request.number * 10
    rows = [
        {"id": first + at, "k": draw.randrange(GROUPS), "v": draw.randrange(1000)}
        for at in range(draw.choice([0, 1, 2, 3]))
    ]
    folder = f"{LAKE}/{op.table}"
    name = f"{request.actor}-{request.number}.parquet"
    scene.lake.setdefault(folder, {})[name] = rows
    buffer = io.BytesIO()
    schema = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("v", pa.int64())])
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer)
    store = SimulatedStore(scene.world, process.actor, f"{folder}/")
    store.overwrite(name, buffer.getvalue())


def import_files(scene: Scene, table: Table, request: Request, draw: Random) -> None:
    """Import the files of a folder, in place or copied."""
    folder = next(f"{LAKE}/{name}" for name in scene.tables if folder_of(name) == request.table)
    request.details["files"] = scene.lake.setdefault(folder, {})
    copies = bool(table.primary_key) or draw.random() < 0.5
    options = {"copy": True} if copies else {}
    source = f"sim://{folder}" if copies and draw.random() < 0.5 else f"root:{folder}"
    table.import_files(source, batch_files=draw.choice([1, 2, 100]), **options)
