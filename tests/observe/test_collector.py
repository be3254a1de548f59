"""Spans in a file of an OpenTelemetry collector, from Python and from Spark.

The collector is built from ``collector``, which needs Go and its module proxy.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from observe.spans import Forest, of_collector
from observe.test_spark_tracing import run_application

HERE = Path(__file__).parent

pytestmark = pytest.mark.nightly

CONFIGURATION = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{file: {{path: {file}, flush_interval: 100ms}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [file]}}}}
"""

PYTHON = """
import sys, pyarrow as pa
import file_spans
file_spans.start()
from opentelemetry import trace
import versioned_catalog as vc
table = vc.Catalog.create_path(sys.argv[1] + "/p", "n BIGINT")
mine = trace.get_tracer("mine")
with mine.start_as_current_span("insert"):
    table.append(pa.table({"n": [1, 2, 3]}))
with mine.start_as_current_span("select"):
    vc.read_table(sys.argv[1] + "/p", filters=[("n", ">", 1)])
"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The binary of a collector with the file exporter."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    folder = tmp_path_factory.mktemp("collector")
    shutil.copytree(HERE / "collector", folder / "source")
    build = [go, "build", "-mod=mod", "-o", folder / "otelcol", "."]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
    return folder / "otelcol"


@contextmanager
def collecting(collector: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """A running collector: its endpoint, and the file that has the spans once it has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file, configuration = folder / "spans.jsonl", folder / "collector.yaml"
    configuration.write_text(CONFIGURATION.format(port=port, file=file))
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([collector, "--config", configuration], stderr=log, stdout=log)
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}", file
        finally:
            process.terminate()
            process.wait(30)


def test_python(collector: Path, tmp_path: Path) -> None:
    with collecting(collector, tmp_path) as (endpoint, file):
        done = subprocess.run(
            [sys.executable, "-c", PYTHON, tmp_path],
            env={**os.environ, "PYTHONPATH": str(HERE), "COLLECTOR": endpoint},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    forest = Forest(of_collector(file))
    forest.check_that_they_add_up()
    commit = forest.named("versioned.commit")[-1]
    assert forest.path(commit) == ["insert", "versioned.append", "versioned.commit"]
    assert (commit["version"], commit["rows"]) == (1, 3)
    read = forest.only("versioned.read")
    assert forest.path(read) == ["select", "versioned.read"]
    assert read["rows"] == 2


def test_spark(collector: Path, tmp_path: Path) -> None:
    with collecting(collector, tmp_path) as (endpoint, file):
        run_application(tmp_path, COLLECTOR=endpoint)
    forest = Forest(of_collector(file))
    insert = [span.name for span in forest.children(forest.only("insert"))]
    assert insert == ["versioned.request.load_to_write", "versioned.request.commit_write"]
    select = [span.name for span in forest.children(forest.only("select"))]
    assert select[-1] == "versioned.request.plan_scan"
    planned = forest.only("versioned.plan_write")
    later = {"versioned.write", "versioned.commit_write"}
    after = {span.id for span in forest.children(planned) if span.name in later}
    Forest(span for span in forest.spans if span.id not in after).check_that_they_add_up()
