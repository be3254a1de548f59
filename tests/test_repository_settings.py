"""The hooks before a commit and the workflow of the hosting service run what the project runs."""

from __future__ import annotations

import re
import tomllib

import test_fresh_installs
import test_repository
from jar import ROOT

HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INSTALLED = test_fresh_installs.test_sql_on_each_pyspark


def parameters(test: object) -> list[str]:
    (mark,) = (m for m in test.pytestmark if m.name == "parametrize")  # type: ignore[attr-defined]
    return list(mark.args[1])


def matrix(name: str) -> list[str]:
    (row,) = re.findall(rf"^ +{name}: \[(.*)\]$", WORKFLOW, re.MULTILINE)
    return [value.strip('" ') for value in row.split(",")]


def test_the_hooks_run_the_tools_of_the_tests_from_the_lock() -> None:
    entries = re.findall(r"entry: \.venv/bin/uv run --frozen --extra test (.*)", HOOKS)
    tools = [entry.removesuffix(" --force-exclude") for entry in entries]
    assert tools == test_repository.TOOLS


def test_a_subject_of_more_than_72_characters_is_refused() -> None:
    (pattern,) = re.findall(r"entry: '(.*)'\n +language: pygrep", HOOKS)
    body = "x" * 100
    assert not re.search(pattern, f"{'x' * 72}\n\n{body}", re.MULTILINE | re.DOTALL)
    assert re.search(pattern, f"{'x' * 73}\n\n{body}", re.MULTILINE | re.DOTALL)


def test_the_workflow_runs_all_that_must_hold() -> None:
    assert "      - run: .ci/run\n" in WORKFLOW


def test_the_workflow_installs_on_each_python_and_pyspark_that_is_supported() -> None:
    supported = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if ":: Python :: 3." in c]
    assert matrix("python") == [*supported, "3.14"]
    assert PROJECT["requires-python"] == f">={supported[0]}"
    sparks = matrix("pyspark")
    assert sparks == parameters(INSTALLED)
    assert PROJECT["optional-dependencies"]["spark"][0] == f"pyspark>={sparks[0]},<5"
    assert f"::{INSTALLED.__name__}[${{{{ matrix.pyspark }}}}]" in WORKFLOW
    pythons = f"Python {supported[0]} to {supported[-1]}"
    stability = (ROOT / "docs" / "stability.md").read_text()
    assert f"{pythons}, and PySpark {sparks[0]} to {sparks[-1]}." in stability
