"""Create the table of tests/golden/v1-resolved: ``python tests/golden/make_v1_resolved.py``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from saving import save

from versioned_catalog import Catalog

FOLDER = Path(__file__).parent / "v1-resolved"
PLACE = "/golden-resolved"


def rows(keys: range, n: int) -> pa.Table:
    """Rows of the same value."""
    return pa.table({"id": pa.array(keys, pa.int64()), "n": pa.array([n] * len(keys), pa.int64())})


def main() -> None:
    table = Catalog.create_path(f"memory:/{PLACE}", "id BIGINT, n BIGINT", primary_key=["id"])
    table.upsert(rows(range(4000), 1))
    table.upsert(rows(range(0, 4000, 2), 2))  # it hides 2,000 rows, whose mark is a file
    table.delete([("id", "in", [1, 2])])
    table.upsert(rows(range(5000, 5003), 3))
    table.maintenance.resolve()
    table.alter().rename_column("n", "m").commit()
    table.log.write_checkpoint(table.refresh().state)
    table.upsert(pa.table({"id": [5001, 7000], "m": [4, 4]}))
    table.maintenance.resolve()
    table.upsert(pa.table({"id": [3], "m": [5]}))
    save(PLACE, FOLDER)


if __name__ == "__main__":
    main()
