"""The repository is in order: lint, format, types, light imports, required files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pairwise import some

ROOT = Path(__file__).parents[1]
TOOLS = ["ruff check", "ruff format --check", "mypy"]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


@pytest.mark.parametrize("tool", some(TOOLS[:2], TOOLS))
def test_the_tool_finds_nothing(tool: str) -> None:
    run(sys.executable, "-m", *tool.split())


@pytest.mark.parametrize(
    "package, heavy",
    [
        ("versioned_catalog", {"pyspark", "pandas", "pyarrow.dataset"}),
        ("pyspark_versioned", {"pyspark"}),
        ("pyspark_versioned.jar", {"pyspark"}),
    ],
)
def test_import_is_light(package: str, heavy: set[str]) -> None:
    check = f"import sys, {package}; sys.exit(', '.join({heavy!r} & set(sys.modules)) or None)"
    run(sys.executable, "-c", check)


def test_spark_can_find_the_data_source() -> None:
    # Spark looks for data sources in the modules that pkgutil lists.
    check = "import pkgutil; assert 'pyspark_versioned' in {m.name for m in pkgutil.iter_modules()}"
    run(sys.executable, "-c", check)


def readme_commands() -> list[str]:
    blocks = re.findall(r"^```\w*\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    return [line.strip() for block in blocks for line in block.splitlines()]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in readme_commands() if line.endswith("pytest")]
    assert len(commands) == 1, "README.md shows one command that runs the tests"
    assert commands[0] in (ROOT / ".ci" / "run").read_text().splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_licence_exists() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def project_files() -> list[Path]:
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for d in ("catalog", "connector", "tests") for p in (ROOT / d).rglob("*")]


def test_no_file_is_large() -> None:
    files = [path for path in project_files() if path.is_file()]
    large = [p for p in files if p.stat().st_size > 200_000 and p != ROOT / "uv.lock"]
    assert files
    assert not large
