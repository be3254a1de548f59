"""Create the table and files of tests/golden/v1-imports: ``python tests/golden/make_v1_imports.py``.

They are created in memory, so that no path of a machine is recorded.
"""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem
from saving import save

from versioned_catalog import Catalog
from versioned_catalog.log import ledger as imported

FOLDER = Path(__file__).parent / "v1-imports"
PLACE = "/golden-imports"
LAKE = f"memory:/{PLACE}/raw"


def put(name: str, ids: list[int]) -> None:
    sink = io.BytesIO()
    rows = pa.table({"id": pa.array(ids, pa.int64()), "a": [10 * one for one in ids]})
    pq.write_table(rows.append_column("b", rows["a"]), sink, store_schema=False)
    MemoryFileSystem().pipe_file(f"{PLACE}/raw/{name}", sink.getvalue())


def main() -> None:
    imported.PAGE_FROM = 3  # so that there is a page
    table = Catalog.create_path(
        f"memory:/{PLACE}/table", "id BIGINT, v BIGINT", storage_options={"root.lake": LAKE}
    )
    for at in range(3):
        put(f"copied/{at}.parquet", [at] if at else [])
    put("placed.parquet", [7, 8])
    table.import_files(f"{LAKE}/copied", copy=True, aliases={"a": "v"}, exclude=["b"])
    table.import_files(f"{LAKE}/placed.parquet", aliases={"a": "v"}, exclude=["b"])
    table.refresh().remove_external(["root:lake/placed.parquet"])
    table.import_files(f"{LAKE}/placed.parquet", aliases={"b": "v"}, exclude=["a"], again="all")
    table.refresh().log.write_checkpoint(table.state)
    table.delete([("id", "=", 1)])
    save(PLACE, FOLDER)


if __name__ == "__main__":
    main()
