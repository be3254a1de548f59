"""Create the table of tests/golden/v1-keyed: ``python tests/golden/make_v1_keyed.py``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa

from versioned_catalog import Catalog

FOLDER = Path(__file__).parent / "v1-keyed"


def rows(**columns: list[object]) -> pa.Table:
    """Rows; integers are Spark's INT."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {n: a.cast(pa.int32()) if pa.types.is_int64(a.type) else a for n, a in arrays.items()}
    )


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    table = Catalog.create_path(
        FOLDER,
        "v INT DEFAULT 7, host STRING, day DATE, w STRING",
        primary_key=["host"],
        time_index="day",
    )
    day = pa.array([19800] * 4, pa.int32()).cast(pa.date32())

    def upsert(partial: bool = False, **columns: list[object]) -> None:
        data = rows(**columns)
        table.upsert(data.append_column("day", day.slice(0, data.num_rows)), partial=partial)

    upsert(host=["a", "b", "c", "d"], v=[1, 2, 3, 4], w=["x"] * 4)
    upsert(host=["b"], v=[20], w=["y"])
    table.delete([("host", "=", "c")])
    upsert(partial=True, host=["a", "e"], w=["patched", "new"])
    table.maintenance.compact(paths=table.state.segments.paths[1:3])
    table.log.write_checkpoint(table.state)
    table.alter().rename_column("host", "name").drop_column("w").commit()
    table.alter().add_column("w", "string", default="again").commit()
    data = rows(name=["d"], w=["late"]).append_column("day", day.slice(0, 1))
    table.upsert(data, partial=True)


if __name__ == "__main__":
    main()
