"""A worker that dies in a commit leaves a question that is settled, not a guess."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from jar import ROOT, built_jar
from sql.run_dying import STATEMENTS
from sql.test_statements import environment

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

ONE = {"commits": 0, "columns": ["a", "k"], "rows": [[1, "x"]]}

# By hand: what each statement leaves behind when it was carried out exactly once.
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
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    built_jar()
    folder = tmp_path_factory.mktemp("dying")
    paths = [str(ROOT / "tests" / "sql" / "dying"), environment()["PYTHONPATH"]]
    done = subprocess.run(
        [sys.executable, "-m", "sql.run_dying", str(folder / "w")],
        capture_output=True,
        text=True,
        env={**environment(), "PYTHONPATH": os.pathsep.join(paths), "DYING": str(folder)},
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_it_is_carried_out_once(told: dict[str, Any], name: str, when: str) -> None:
    found = told[f"{name}, {when}"]
    assert found["deaths left"] == {when: "0"}, "nothing was killed"
    assert found["error"] is None
    assert found["tables"] == EXPECTED[name]
    assert bool(found["namespaces"]) == (name == "create namespace")


def test_workers_that_keep_dying_end_in_an_error_that_says_what_is_not_known(
    told: dict[str, Any],
) -> None:
    found = told["always"]
    assert "it is unknown whether the commit" in found["error"]
    assert "find_commit" in found["error"]
    assert found["tables"] == {"t": ONE}
