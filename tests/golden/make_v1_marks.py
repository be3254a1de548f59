"""Create the table of tests/golden/v1-marks: ``python tests/golden/make_v1_marks.py``.

It is created in memory, so that no path of a machine is recorded.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from saving import save

from versioned_catalog import Catalog

FOLDER = Path(__file__).parent / "v1-marks"
PLACE = "/golden-marks"


def main() -> None:
    table = Catalog.create_path(
        f"memory:/{PLACE}", "id BIGINT, n BIGINT", properties={"row_changes": "mark"}
    )
    ids = pa.array(range(3000), pa.int64())
    table.append(pa.table({"id": ids, "n": pa.array([one % 5 for one in range(3000)], pa.int64())}))
    table.append(pa.table({"id": pa.array([9001, 9002, 9003]), "n": pa.array([7, 7, 7])}))
    table.delete([("n", "<", 2)])  # 1,200 rows, whose mark is a file
    table.update({"n": 8}, [("id", "=", 9002)])
    table.alter().drop_column("n").add_column("n", "BIGINT").commit()
    table.log.write_checkpoint(table.refresh().state)
    table.delete([("id", "in", [2, 9002])])
    save(PLACE, FOLDER)


if __name__ == "__main__":
    main()
