"""Create the table and files of tests/golden/v1-external: ``python tests/golden/make_v1_external.py``.

They are created in memory, so that no path of a machine is recorded as that of the root.
"""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem
from saving import save

from versioned_catalog import Catalog, ExternalFile, Table
from versioned_catalog.log.foreign_statistics import foreign_stats
from versioned_catalog.model.id_map import Held, IdMap, file_columns
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import Atom
from versioned_catalog.read.foreign_file import open_foreign

FOLDER = Path(__file__).parent / "v1-external"
ROOTS = {"lake": "memory://golden/raw"}
PLAIN = IdMap({1: Held(), 2: Held(), 4: Held(), 6: Held()})
OTHER = IdMap(
    {
        1: Held("ID", Atom.INT),
        2: Held("Host"),
        7: Held(form=Form.UINT32),
        8: Held(form=Form.MILLIS),
    }
)


def put(name: str, rows: pa.Table) -> None:
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="zstd", store_schema=False)
    MemoryFileSystem().pipe_file(f"/golden/raw/{name}", sink.getvalue())


def adopted(
    table: Table, name: str, id_map: IdMap, constants: dict[int, str | None]
) -> ExternalFile:
    opened = open_foreign(table.store, f"root:lake/{name}")
    schema = table.schema
    stats = foreign_stats(opened.footer, file_columns(schema, id_map), id_map, schema.columns)
    path, version = f"root:lake/{name}", schema.version
    return ExternalFile(path, opened.rows, opened.bytes, version, id_map, constants, stats)


def main() -> None:
    table = Catalog.create_path(
        "memory://golden/table",
        "id BIGINT NOT NULL, host STRING, day DATE, s STRUCT<x: INT, y: STRING>, u BIGINT, "
        "ts TIMESTAMP, late STRING DEFAULT 'late'",
        storage_options={"root.lake": ROOTS["lake"]},
    )
    for day in (1, 2):
        rows = {"id": [day * 10, day * 10 + 1], "host": ["a", None], "s": [{"y": "z"}, None]}
        put(f"day={day}/part-0.parquet", pa.table(rows))
    put(
        "other.parquet",
        pa.table(
            {
                "ts": pa.array([1, None], pa.timestamp("ms", "UTC")),
                "u": pa.array([2**32 - 1, 0], pa.uint32()),
                "Host": ["b", "c"],
                "ID": pa.array([5, 6], pa.int32()),
            }
        ),
    )
    days = [adopted(table, f"day={n}/part-0.parquet", PLAIN, {3: str(n)}) for n in (1, 2)]
    table.append_external(days)
    table.append_external([adopted(table, "other.parquet", OTHER, {3: None})])
    table.append(pa.table({"id": [100], "host": ["own"]}))
    table.delete([("id", "=", 10)])
    table.log.write_checkpoint(table.state)
    table.alter().rename_column("host", "name").change_type("day", "TIMESTAMP_NTZ").commit()
    save("/golden", FOLDER)


if __name__ == "__main__":
    main()
