from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 6: 300 rows of which 100 were written before the schema changed."""
    catalog = Catalog(tmp_path / "warehouse")
    catalog.create_namespace("metrics")
    made = catalog.create_table(
        "metrics.cpu",
        f"host STRING, usage INT, `{HOSTILE}` INT, note STRING",
        partitioned_by=["host"],
        comment=f"load of <b>hosts</b> {HOSTILE}",
    )
    rows = {
        "host": ["a"] * 100,
        "usage": pa.array(range(100), pa.int32()),
        "note": ["n" * 50] * 100,
    }
    made.append(pa.table(rows))
    made.alter().rename_column("usage", "usage_user").drop_column("note").commit()
    made.append(pa.table({"host": ["b"] * 200, "usage_user": pa.array(range(200), pa.int32())}))
    made.alter().add_column("day", "DATE", default=dt.date(2026, 1, 2)).commit()
    made.delete([("host", "=", "nobody")])
    made.set_tag("release <1>", 3)
    return made
