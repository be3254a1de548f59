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
    scan = PlanScan(loaded.table, STRUCT, [ID], None, True, False, False, True, None)
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
import gc, sys, types, weakref
from pyspark_versioned.sql import worker

class Cycle:
    def __init__(self):
        self.itself = self

def is_collected(value):
    return any(tracked is value for tracked in gc.get_objects())

of_a_request, module, cycle = [[]], types.ModuleType("imported_by_a_request"), Cycle()
worker._spare_the_collector()
assert not is_collected(of_a_request)
sys.modules[module.__name__] = module
worker._spare_the_collector()
assert not is_collected(module)
forgotten = weakref.ref(cycle)
del cycle
gc.collect()
assert forgotten() is not None
for _ in range(worker._COLLECTED_EVERY):
    worker._spare_the_collector()
assert forgotten() is None
"""


@pytest.mark.thorough
def test_collections_skip_what_requests_leave_but_for_cycles() -> None:
    """The daemon collects after each request; with pandas imported that took 20 ms each time."""
    subprocess.run([sys.executable, "-c", COLLECT], check=True)


SEND = """
import os, socket, sys
from pyspark_versioned.sql import worker

listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
for connection in (client, *socket.socketpair()):
    worker._send_at_once(os.fdopen(os.dup(connection.fileno()), "wb"))
assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
client.sendall(b"still open")
"""


def test_a_large_response_is_sent_at_once() -> None:
    """Else its end waits 40 ms for an acknowledgement of its beginning."""
    subprocess.run([sys.executable, "-c", SEND], check=True)
