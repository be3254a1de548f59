"""The installed program: it starts fast, and exits with the codes of its help."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from jar import ROOT

SCRIPT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["versioned"]
MODULE, _, FUNCTION = SCRIPT.partition(":")
START = f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"
WATCHED = f"""
import sys
from {MODULE} import {FUNCTION}
try:
    {FUNCTION}()
finally:
    heavy = {{"pyspark", "pandas", "pyarrow.dataset"}} & set(sys.modules)
    assert not heavy, heavy
"""


def versioned(*arguments: str, code: str = START) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("warehouse")
def test_output_and_exit_codes() -> None:
    done = versioned("tables", "db", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [{"table": "db.people"}])
    done = versioned("history", "db.nobody")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: there is no table db.nobody in ")
    assert done.stderr.count("\n") == 1
    assert versioned("nonsense").returncode == 2


def test_help_imports_little() -> None:
    light = WATCHED.replace('"pandas"', '"pandas", "pyarrow", "rich"')
    done = versioned("--help", code=light)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: versioned [OPTIONS] COMMAND")


@pytest.mark.thorough
@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("command", ["describe", "segments"])
def test_commands_import_no_pandas(command: str) -> None:
    done = versioned(command, "db.people", code=WATCHED)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("warehouse")
def test_a_closed_pipe_ends_the_program_quietly() -> None:
    command = f"'{sys.executable}' -c '{START}' schema db.people --json | head -c 1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "["
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("command", ["history db.people", "schema db.people --json", "--help"])
def test_output_that_nobody_reads_is_no_error(command: str) -> None:
    """As with other tools, it ends quietly with the exit code of SIGPIPE."""
    script = f"'{sys.executable}' -c '{START}' {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_its_dependencies_are_installed_with_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"click", "rich"} <= {one.split(">")[0] for one in project["dependencies"]}
