"""Spans and metrics of plain Python: what they are, how they nest, and that they import nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from observe.spans import Forest, of_sdk

HERE = Path(__file__).parent


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own: a process has one provider, for good."""
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env={"PYTHONPATH": str(HERE), "SPANS": str(folder / "spans"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


START = """
import sys, pyarrow as pa
import file_spans
from opentelemetry import trace
provider = file_spans.start()
from versioned_catalog import Catalog, VersionedError
catalog = Catalog(sys.argv[1] + "/w")
mine = trace.get_tracer("mine")
def rows(*n): return pa.table({"n": pa.array(n, pa.int64())})
"""


def traced(tmp_path: Path, code: str) -> Forest:
    done = run(tmp_path, START + code)
    assert done.returncode == 0, done.stderr
    return Forest(of_sdk(tmp_path / "spans"))


def test_an_insert_and_a_select(tmp_path: Path) -> None:
    forest = traced(
        tmp_path,
        """
table = catalog.create_table("t", "n BIGINT")
table.append(rows(1, 2))
with mine.start_as_current_span("insert"):
    table.append(rows(3, 4, 5))
with mine.start_as_current_span("select"):
    table.scan(filters=[("n", ">", 2)]).to_arrow()
""",
    )
    forest.check_that_they_add_up()
    insert, select = forest.only("insert"), forest.only("select")
    under = [(span, forest.path(span)) for span in forest.spans if span.trace == insert.trace]
    assert [path for _, path in under] == [
        ["insert"],
        ["insert", "versioned.append"],
        ["insert", "versioned.append", "versioned.write"],
        ["insert", "versioned.append", "versioned.write", "versioned.storage.write"],
        ["insert", "versioned.append", "versioned.commit"],
        ["insert", "versioned.append", "versioned.commit", "versioned.commit.attempt"],
        [
            *("insert", "versioned.append", "versioned.commit"),
            *("versioned.commit.attempt", "versioned.storage.put"),
        ],
    ]
    spans = {span.name: span for span, _ in under}
    files = list(tmp_path.glob("w/t/data/*"))
    entry = tmp_path / "w/t/_versioned/log/00000000000000000002.json"
    write, commit = spans["versioned.write"], spans["versioned.commit"]
    assert (write["rows"], write["segments"]) == (3, 1)
    assert write["bytes"] in [file.stat().st_size for file in files]
    assert spans["versioned.storage.write"]["bytes"] == write["bytes"]
    assert spans["versioned.storage.put"]["bytes"] == entry.stat().st_size
    assert (commit["table"], commit["operation"], commit["version"]) == ("t", "append", 2)
    assert (commit["attempts"], commit["rows"]) == (1, 3)
    assert [forest.path(span) for span in forest.spans if span.trace == select.trace] == [
        ["select"],
        ["select", "versioned.read"],
        ["select", "versioned.read", "versioned.plan"],
        ["select", "versioned.read", "versioned.plan", "versioned.prune"],
    ]
    pruned = forest.named("versioned.prune")[-1]
    assert (pruned["segments"], pruned["skipped"]) == (2, 1)
    assert forest.named("versioned.read")[-1]["rows"] == 3


def test_merges_and_threads_stay_in_the_trace(tmp_path: Path) -> None:
    forest = traced(
        tmp_path,
        """
keyed = catalog.create_table("k", "n BIGINT, s STRING", primary_key=["n"])
for s in "ab":
    keyed.upsert(pa.table({"n": [1, 2], "s": [s, s]}))
split = catalog.create_table("p", "n BIGINT", partitioned_by=["n"])
with mine.start_as_current_span("job"):
    keyed.scan().to_arrow()
    split.append(rows(*range(20)))
    list(split.scan().to_batches())
""",
    )
    forest.check_that_they_add_up()
    job = forest.only("job")
    inside = [span for span in forest.spans if span.trace == job.trace]
    (merge,) = [span for span in inside if span.name == "versioned.merge"]
    assert (merge["segments"], merge["rows"]) == (2, 2)
    assert forest.path(merge) == ["job", "versioned.read", "versioned.merge"]
    writes = [span for span in inside if span.name == "versioned.storage.write"]
    assert len(writes) == 20


def test_conflicts_are_errors_and_lost_races_attempts(tmp_path: Path) -> None:
    forest = traced(
        tmp_path,
        """
table = catalog.create_table("t", "n BIGINT")
late = catalog.load_table("t")
table.append(rows(1))
with mine.start_as_current_span("race"):
    late.append(rows(2))
stale = catalog.load_table("t")
plan = stale.transaction().plan_write(rows(1).schema)
paths = stale.state.segments.core["path"].to_pylist()
table.refresh().delete(None)
with mine.start_as_current_span("conflict"):
    try:
        stale.transaction().commit_rewrite(plan, [], paths, kind="delete")
    except VersionedError:
        pass
""",
    )
    forest.check_that_they_add_up()
    race = forest.only("race")
    attempts = [s for s in forest.named("versioned.commit.attempt") if s.trace == race.trace]
    assert [(span["attempt"], span["outcome"]) for span in attempts] == [(1, "taken"), (2, "won")]
    conflict = forest.only("conflict")
    (commit,) = [s for s in forest.named("versioned.commit") if s.trace == conflict.trace]
    assert commit.failed
    assert commit["attempts"] == 2


def test_spans_of_what_failed_have_no_values_of_rows(tmp_path: Path) -> None:
    forest = traced(
        tmp_path,
        """
table = catalog.create_table("t", "n BIGINT", checks={"small": "n < 10"})
try:
    table.append(rows(4711))
except VersionedError as error:
    assert "4711" in str(error), error
else:
    raise AssertionError
""",
    )
    assert forest.only("versioned.append").failed
    text = "".join(file.read_text() for file in tmp_path.rglob("*spans*"))
    assert "VERSIONED_CHECK_VIOLATION: its message may hold values of rows" in text
    assert "exception.stacktrace" in text
    assert "4711" not in text


def test_nothing_is_imported_by_itself(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import sys, pyarrow as pa
from versioned_catalog import Catalog, on_commit
table = Catalog(sys.argv[1]).create_table("t", "n BIGINT")
with on_commit(lambda event: None):
    table.append(pa.table({"n": [1]}))
table.scan().to_arrow()
print([m for m in sys.modules if m.partition(".")[0] in ("opentelemetry", "openlineage", "attr")])
""",
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_the_api_without_an_sdk_changes_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import sys, pyarrow as pa
import opentelemetry.trace, opentelemetry.metrics
from versioned_catalog import Catalog
table = Catalog(sys.argv[1]).create_table("t", "n BIGINT")
table.append(pa.table({"n": [1]}))
print(table.scan().to_arrow().to_pylist())
""",
    )
    assert (done.returncode, done.stdout) == (0, "[{'n': 1}]\n"), done.stderr


def test_the_environment_names_the_parent(tmp_path: Path) -> None:
    """As the specification says of processes that others start."""
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    forest = traced(
        tmp_path,
        f"""
import os
os.environ["TRACEPARENT"] = {parent!r}
from versioned_catalog.observe.tracing import continuing
with continuing(None):
    catalog.create_table("t", "n BIGINT")
""",
    )
    create = forest.only("versioned.create")
    assert create.trace == "0x0af7651916cd43dd8448eb211c80319c"
    assert create.parent == "0xb7ad6b7169203331"


def test_metrics(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import sys, json, pyarrow as pa
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
import opentelemetry.trace
from versioned_catalog import Catalog, VersionedError
catalog = Catalog(sys.argv[1])
table = catalog.create_table("t", "n BIGINT")
late = catalog.load_table("t")
for n in range(3):
    table.append(pa.table({"n": [n]}))
late.append(pa.table({"n": [9]}))
found = {}
for resource in reader.get_metrics_data().resource_metrics:
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            for point in metric.data.data_points:
                labels = "/".join(str(v) for _, v in sorted(point.attributes.items()))
                value = getattr(point, "value", None)
                found[f"{metric.name} {labels}"] = point.count if value is None else value
print(json.dumps(found))
""",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    entries = list((tmp_path / "t/_versioned/log").iterdir())
    # The names of tables are a log, too: one entry, put in one attempt.
    assert found["versioned.commits append/committed"] == 4
    assert found["versioned.commits create/committed"] == 1
    assert found["versioned.races.lost "] == 1
    assert found["versioned.commit.attempts "] == len(entries) + 1 + 1
    assert found["versioned.storage.requests write"] >= 4
    sizes = sum(file.stat().st_size for file in (tmp_path / "t/data").iterdir())
    assert found["versioned.storage.bytes write"] >= sizes
    assert found["versioned.duration False/versioned.commit"] == 5


@pytest.mark.parametrize("module", ["tracing", "requests", "events", "hooks", "setup", "records"])
def test_the_room_imports_no_library(module: str) -> None:
    text = (HERE.parents[1] / "catalog/versioned_catalog/observe" / f"{module}.py").read_text()
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in imports if "opentelemetry" in line or "openlineage" in line]
