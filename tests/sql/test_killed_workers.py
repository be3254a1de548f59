"""Python workers that are killed while they commit: the commit is retried and lands exactly once.

Needs a JVM because Spark restarts the workers and the jar retries the commit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from jar import ROOT, built_jar
from sql.run_killed_workers import STATEMENTS
from sql.test_statements import environment

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

ONE = {"commits": 0, "columns": ["a", "k"], "rows": [[1, "x"]]}

# Written by hand: the tables after each statement ran exactly once.
EXPECTED: dict[str, dict[str, Any]] = {
    "append": {"t": {**ONE, "commits": 1, "rows": [[1, "x"], [2, "y"]]}},
    "overwrite": {"t": {**ONE, "commits": 1, "rows": [[2, "y"]]}},
    "truncate": {"t": {**ONE, "commits": 1, "rows": []}},
    "alter": {"t": {"commits": 1, "columns": ["a", "k", "c"], "rows": [[1, "x", 7]]}},
    "rename column": {"t": {**ONE, "commits": 1, "columns": ["a", "a2"]}},
    "properties": {"t": {**ONE, "commits": 1}},
    "replace": {"t": {"commits": 1, "columns": ["n"], "rows": []}},
    "replace as": {"t": {"commits": 1, "columns": ["n"], "rows": [[5]]}},
    "create": {"t": ONE, "new": {"commits": -1, "columns": ["n"], "rows": []}},
    "create as": {"t": ONE, "new": {"commits": -1, "columns": ["n"], "rows": [[5]]}},
    "rename": {"renamed": ONE},
    "drop": {},
    "create namespace": {"t": ONE},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    built_jar()
    folder = tmp_path_factory.mktemp("killed_workers")
    paths = [str(ROOT / "tests" / "sql" / "killed_workers"), environment()["PYTHONPATH"]]
    done = subprocess.run(
        [sys.executable, "-m", "sql.run_killed_workers", str(folder / "w")],
        capture_output=True,
        text=True,
        env={**environment(), "PYTHONPATH": os.pathsep.join(paths), "KILL_FOLDER": str(folder)},
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_whose_worker_is_killed_commits_once(
    outcomes: dict[str, Any], name: str, when: str
) -> None:
    found = outcomes[f"{name}, {when}"]
    assert found["kills left"] == {when: "0"}, "nothing was killed"
    assert found["error"] is None
    assert found["tables"] == EXPECTED[name]
    assert bool(found["namespaces"]) == (name == "create namespace")


def test_workers_that_keep_dying_leave_the_outcome_unknown(
    outcomes: dict[str, Any],
) -> None:
    found = outcomes["always"]
    assert "it is unknown whether the commit" in found["error"]
    assert "find_commit" in found["error"]
    assert found["tables"] == {"t": ONE}
