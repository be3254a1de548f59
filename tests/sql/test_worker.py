"""What a request costs the worker that responds to it, apart from its work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog

PLAN = """
import json, sys
from pyspark_versioned.sql.dispatch import respond
from pyspark_versioned.sql.protocol.codec import encode
from pyspark_versioned.sql.protocol.messages import *
from pyspark_versioned.sql.table_description import describe
from versioned_catalog import Catalog

ID = PredicateTerm(">=", [ColumnTerm(["id"]), LiteralTerm(TypedValue("long", "2"))])
STRUCT = {"type": "struct", "fields": [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
for table in sys.argv[1:]:
    table = Catalog.load_path(table)
    loaded = describe(table, table.state, {})
    scan = PlanScan(loaded.table, STRUCT, [ID], None, True, False, False, None)
    response = respond({"request": "plan_scan", "body": json.loads(encode(scan))})
    assert '"native_group"' in response, response
    assert "pandas" not in sys.modules, table.location
"""


@pytest.mark.thorough
def test_planning_a_scan_does_not_import_pandas(tmp_path: Path) -> None:
    """It takes 0.8 s, and the worker of a session plans most of the session's scans."""
    pytest.importorskip("pandas")
    for name, key in (("plain", []), ("keyed", ["id"])):
        table = Catalog.create_path(tmp_path / name, "id LONG, n INT", primary_key=key)
        for n in range(3):
            rows = pa.table({"id": [n, n + 2], "n": pa.array([n, n], pa.int32())})
            table.upsert(rows) if key else table.append(rows)
        table.log.write_checkpoint(table.state)
    tables = [str(tmp_path / name) for name in ("plain", "keyed")]
    subprocess.run([sys.executable, "-c", PLAN, *tables], check=True)


COLLECT = """
import gc, sys, types
from pyspark_versioned.sql import worker

def is_collected(value):
    return any(tracked is value for tracked in gc.get_objects())

of_a_request, module = [[]], types.ModuleType("imported_by_a_request")
worker._freeze_imports()
assert is_collected(of_a_request)
sys.modules[module.__name__] = module
worker._freeze_imports()
assert not is_collected(module)
"""


@pytest.mark.thorough
def test_collections_skip_what_a_request_has_imported() -> None:
    """The daemon collects after each request; with pandas imported that took 20 ms each time."""
    subprocess.run([sys.executable, "-c", COLLECT], check=True)
