"""Requests to an object store: each is a span of the operation that waits for it, also in threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from observe.spans import Forest, of_sdk
from s3.server import SECRET, Server

HERE = Path(__file__).parent

CODE = """
import json, logging, os, sys, pyarrow as pa
import file_spans
file_spans.start()
logging.basicConfig(level=logging.DEBUG, filename=sys.argv[3])
from opentelemetry import trace
import versioned_catalog as vc
options = json.loads(sys.argv[2])
table = vc.Catalog.create_path(
    sys.argv[1], "n BIGINT, s BINARY", partitioned_by=["n"], storage_options=options
)
keyed = vc.Catalog.create_path(
    sys.argv[1] + "k", "n BIGINT", primary_key=["n"], storage_options=options
)
for n in range(3):
    keyed.upsert(pa.table({"n": [0, 9]}))
mine = trace.get_tracer("mine")
with mine.start_as_current_span("insert"):
    table.append(pa.table({"n": [1, 2, 3], "s": [os.urandom(200_000) for _ in range(3)]}))
other = vc.open(sys.argv[1], storage_options=options)
with mine.start_as_current_span("select"):
    assert other.scan().to_arrow().num_rows == 3
with mine.start_as_current_span("batches"):
    assert sum(batch.num_rows for batch in other.scan().to_batches()) == 3
with mine.start_as_current_span("merged"):
    assert keyed.scan().to_arrow().num_rows == 2
"""


@pytest.mark.thorough
def test_requests_are_spans_of_what_waits_for_them(
    s3: Server, s3_place: str, tmp_path: Path
) -> None:
    spans, log = tmp_path / "spans", tmp_path / "log"
    done = subprocess.run(
        [sys.executable, "-c", CODE, s3_place, json.dumps(s3.options), log],
        env={"PYTHONPATH": str(HERE), "SPANS": str(spans), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    forest = Forest(of_sdk(spans))
    roots = {root.name for root in forest.roots()}
    assert {name for name in roots if "storage" in name} == set()
    requests = {
        name: [
            (span.name.rpartition(".")[2], span["bytes"])
            for span in forest.spans
            if span.name.startswith("versioned.storage") and forest.path(span)[0] == name
        ]
        for name in ("insert", "select", "batches", "merged")
    }
    kinds = [kind for kind, _ in requests["insert"]]
    assert (kinds.count("write"), kinds.count("put")) == (3, 1)
    assert [kind for kind, _ in requests["merged"]] == ["read"] * 3
    for name in ("select", "batches"):
        assert {kind for kind, _ in requests[name]} == {"read"}
        assert len(requests[name]) >= 6, "the end of each file, then the rest of it"
        assert all(size > 0 for _, size in requests[name])
    assert SECRET not in spans.read_text() + log.read_text()
    assert "committed append as version 1" in log.read_text()
