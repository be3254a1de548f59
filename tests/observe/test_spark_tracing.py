"""What an application of Spark shows: spans of the driver and of tasks, hooks, and log records.

``SparkSession`` is in ``run_spark.py``, a process of its own, so that its environment is set before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from observe.spans import Forest, Span, of_sdk

HERE = Path(__file__).parent

pytestmark = pytest.mark.nightly


def run_application(folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, HERE / "run_spark.py", folder],
        env={
            **os.environ,
            "VERSIONED_OBSERVE": "file_spans:start,file_spans:commits,file_spans:logs",
            "PYTHONPATH": f"{HERE}:{HERE.parent}",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "COMMITS": str(folder / "commits"),
            "LOGS": str(folder / "logs"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an application has left behind."""
    folder = tmp_path_factory.mktemp("application")
    run_application(folder, SPANS=str(folder / "spans"))
    return folder


@pytest.fixture(scope="module")
def forest(folder: Path) -> Forest:
    return Forest(of_sdk(folder / "spans"))


def below(forest: Forest, statement: str) -> list[Span]:
    return forest.children(forest.only(statement))


def test_durations_add_up(forest: Forest) -> None:
    """But those of writes by the data source, whose tasks run after the driver has planned them."""
    planned = forest.only("versioned.plan_write")
    later = {"versioned.write", "versioned.commit_write"}
    after = {span.id for span in forest.children(planned) if span.name in later}
    assert len(after) == 2
    Forest(span for span in forest.spans if span.id not in after).check_that_they_add_up()


def test_an_insert_is_two_requests_and_one_commit(forest: Forest) -> None:
    requests = below(forest, "insert")
    assert [span.name for span in requests] == [
        "versioned.request.load_to_write",
        "versioned.request.commit_write",
    ]
    commit = next(span for span in forest.children(requests[1]) if span.name == "versioned.commit")
    assert (commit["table"], commit["operation"], commit["rows"]) == (
        "versioned.db.t",
        "append",
        2,
    )
    (attempt,) = forest.children(commit)
    assert attempt["outcome"] == "won"
    assert [span.name for span in forest.children(attempt)][-1] == "versioned.storage.put"


def test_a_select_is_planned_once(forest: Forest) -> None:
    names = [span.name for span in below(forest, "select")]
    assert names.count("versioned.request.plan_scan") == 1
    assert names[-1] == "versioned.request.plan_scan"
    plan = below(forest, "select")[-1]
    (pruned,) = [span for span in forest.children(plan) if span.name == "versioned.prune"]
    assert (pruned["segments"], pruned["skipped"]) == (2, 1)


def test_tasks_continue_the_spans_of_the_driver(forest: Forest) -> None:
    planned = forest.only("versioned.plan_write")
    names = [span.name for span in forest.children(planned)]
    assert names == ["versioned.load_table", "versioned.write", "versioned.commit_write"]
    assert forest.only("versioned.write")["rows"] == 2
    assert sum(span["rows"] for span in below(forest, "load")) == 4
    assert {span.name for span in below(forest, "load")} == {"versioned.read"}


def test_hooks_see_the_commits_of_statements(folder: Path) -> None:
    assert (folder / "commits").read_text().splitlines() == [
        "db.t create 0 0",
        "versioned.db.t append 1 2",
        f"{folder}/w/db/t append 2 2",
    ]


def test_records_come_from_the_workers(folder: Path) -> None:
    records = (folder / "logs").read_text().splitlines()
    assert "INFO versioned_catalog versioned.db.t: committed append as version 1" in records
    assert records[-1] == (
        "INFO pyspark_versioned versioned.db.t: Python reads 3 of 3 segments, since the option io, or "
        "the kind of storage, asks for it"
    )
