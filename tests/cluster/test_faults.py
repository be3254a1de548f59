"""Every row is written and read once, even if tasks fail, run twice or are killed with their machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jar import built_jar
from sql.test_statements import environment

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc"),
]


def run(folder: Path, warehouse: str, rows: int, *faults: str) -> dict[str, Any]:
    built_jar()
    done = subprocess.run(
        [sys.executable, "-m", "cluster.run_faults", warehouse, str(rows), *faults],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=folder,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def check(found: dict[str, Any], rows: int, *, leaves_files: bool = True) -> None:
    """Check that the rows are the numbers from 0 on, and that failed attempts left orphan files."""
    wanted = {"rows": rows, "different": rows, "sum": rows * (rows - 1) // 2}
    for name, one in found.items():
        written = one["written"]
        assert written.pop("orphans") > 0 or not leaves_files, f"{name}: no fault took effect"
        assert written == {**wanted, "lost": [], "commits": 1, "after_vacuum": 0}, name
        assert one["read"] == wanted, name


@pytest.mark.nightly
def test_failed_duplicate_and_killed_tasks_write_each_row_once(tmp_path: Path) -> None:
    found = run(tmp_path, str(tmp_path / "w"), 100_000, "fail:python", "slow:native", "kill:native")
    assert list(found["found"]) == ["fail:python", "slow:native", "kill:native"]
    assert found["killed"] == 2
    check(found["found"], 100_000)


@pytest.mark.nightly
def test_faults_with_five_million_rows(tmp_path: Path) -> None:
    faults = [f"{fault}:{io}" for fault in ("fail", "slow", "kill") for io in ("native", "python")]
    found = run(tmp_path, str(tmp_path / "w"), 5_000_000, *faults)
    assert list(found["found"]) == faults
    assert found["killed"] == 4
    check(found["found"], 5_000_000)


@pytest.mark.nightly
def test_faults_on_an_object_store(tmp_path: Path) -> None:
    faults = ["fail:native", "slow:python", "kill:python"]
    found = run(tmp_path, "store", 400_000, *faults)
    assert list(found["found"]) == faults
    assert found["killed"] == 2
    check(found["found"], 400_000, leaves_files=False)  # incomplete uploads leave no files
