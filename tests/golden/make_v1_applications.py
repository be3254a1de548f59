"""Create the table of tests/golden/v1-applications: ``python tests/golden/make_v1_applications.py``.

It was run with a release that had no feature ``application-retention``.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from saving import save

from versioned_catalog import Catalog

FOLDER = Path(__file__).parent / "v1-applications"
PLACE = "/golden-applications"


def main() -> None:
    table = Catalog.create_path(f"memory:/{PLACE}", "id BIGINT")
    for number, batch in enumerate([("a", 0), ("b", 7), ("a", 1)]):
        table.append(pa.table({"id": [number]}), batch=batch)
    table.log.write_checkpoint(table.refresh().state)
    table.append(pa.table({"id": [3]}), batch=("c", 2))
    save(PLACE, FOLDER)


if __name__ == "__main__":
    main()
