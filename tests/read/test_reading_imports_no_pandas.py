"""Reading and compacting in a fresh worker does not import pandas, which takes over a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from versioned_catalog import Catalog

READ = """
import sys
from versioned_catalog import Catalog
table = Catalog.load_path(sys.argv[1])
columns = ["id", "added", "list", "_row_position", "_commit_time", "_segment", "_sequence"]
found = table.scan(columns=columns, filters=[("id", ">", 1)]).to_arrow()
assert found.num_rows == 3, found
assert "pandas" not in sys.modules
assert Catalog.load_path(sys.argv[2]).maintenance.compact().removed == 2
assert "pandas" not in sys.modules
"""


def test_reading_and_compacting_do_not_import_pandas(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id LONG, list ARRAY<INT>", partitioned_by=["bucket(2, id)"]
    )
    lists = pa.array([[1], None, [2]], pa.list_(pa.int32()))
    table.append(pa.table({"id": [1, 2, 3], "list": lists}))
    table.alter().add_column("added", "date", default="2024-01-01").commit()
    table.append(pa.table({"id": [9]}))
    keyed = Catalog.create_path(tmp_path / "keyed", "id LONG", primary_key=["id"])
    for number in (1, 2):
        keyed.append(pa.table({"id": [number]}))
    subprocess.run([sys.executable, "-c", READ, str(tmp_path / "t"), keyed.location], check=True)
